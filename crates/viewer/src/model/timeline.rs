//! Recorded windows: slices, messages and the critical path.

use headwater_model::RankSet;
use serde::Serialize;

/// What times are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TimeAxis {
    /// As recorded.
    Wall,
    /// With a core for each rank and an ideal network.
    Virtual,
}

/// The windows of a run.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScaleTimeline {
    /// Number of ranks.
    pub ranks: u32,
    /// Windows in which every event was recorded; last the whole run, if there is a trace of it.
    pub windows: Vec<WindowInfo>,
    /// Why there are none, or why the whole run is not among them.
    pub missing: Option<String>,
}

/// A window.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WindowInfo {
    /// Its number.
    pub window: u32,
    /// Begin in the run; `None` where unknown.
    pub begin_seconds: Option<f64>,
    /// Whether it is the whole run, in virtual time alone, from a trace.
    pub whole: bool,
    /// Recorded length; 0 where only virtual time is known.
    pub length_ns: u64,
    /// Length in virtual time; `None` without a replay.
    pub virtual_length_ns: Option<u64>,
    /// MPI calls of all ranks in it.
    pub calls: u64,
    /// As recorded; `None` for a whole run.
    pub wall: Option<TimelineTile>,
    /// As replayed.
    #[serde(rename = "virtual")]
    pub replayed: Option<TimelineTile>,
    /// Stretches with slices, where the tiles above have densities, on either time axis.
    pub detail: Vec<TimelineTile>,
    /// The same stretch of the program at other scales.
    pub alike: Vec<Alike>,
}

/// A window of another scale that shows the same stretch of the program.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Alike {
    /// Index of the run.
    pub scale: u32,
    /// Number of the window.
    pub window: u32,
    /// Time of a call here.
    pub begin_ns: u64,
    /// Time of the same call there.
    pub their_begin_ns: u64,
}

/// A part of a window: some ranks, some time. It has either slices or densities.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimelineTile {
    /// Index of the run.
    pub scale: u32,
    /// Number of the window.
    pub window: u32,
    /// What times are of.
    pub clock: TimeAxis,
    /// From.
    pub begin_ns: u64,
    /// Until.
    pub end_ns: u64,
    /// Rows from top to bottom.
    pub rows: Vec<TimelineRow>,
    /// Calls and computation.
    pub slices: Option<Slices>,
    /// Shares of time, where there are too many slices.
    pub density: Option<Density>,
    /// Messages between rows.
    pub messages: Messages,
    /// The critical path through the window.
    pub critical: Critical,
    /// Whether ranks, calls or messages were left out.
    pub thinned: bool,
}

/// A rank, a thread, or several ranks.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimelineRow {
    /// What people read.
    pub name: String,
    /// The ranks.
    pub ranks: RankSet,
    /// The thread.
    pub thread: u32,
}

/// Columns by row, then begin.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Slices {
    /// Row.
    pub row: Vec<u32>,
    /// Begin.
    pub begin_ns: Vec<u64>,
    /// Length.
    pub length_ns: Vec<u64>,
    /// 0 is computation, 1 is an MPI call.
    pub kind: Vec<u8>,
    /// Call site; for computation, that of the call before. −1 where unknown.
    pub frame: Vec<i32>,
    /// Index into `functions`; −1 for computation.
    pub function: Vec<i32>,
    /// Names of MPI functions.
    pub functions: Vec<String>,
    /// Waiting at the slice's begin.
    pub wait_ns: Vec<u64>,
    /// Index into `states`; −1 is none.
    pub state: Vec<i32>,
    /// Wait states by Scalasca's names.
    pub states: Vec<String>,
    /// Rank that was waited for, or else partner or root; −1 is none.
    pub partner: Vec<i64>,
    /// Bytes.
    pub bytes: Vec<u64>,
    /// CPU time plus time asleep of computation; 0 for a call.
    pub busy_ns: Vec<u64>,
}

/// Thousandths of time by cell, `row * columns + column`; the rest of a cell is outside.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Density {
    /// Columns.
    pub columns: u32,
    /// Computing.
    pub computing: Vec<u16>,
    /// Waiting in MPI calls.
    pub waiting: Vec<u16>,
    /// In MPI calls without waiting.
    pub calling: Vec<u16>,
}

/// Messages: columns.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Messages {
    /// Row of the sender.
    pub from_row: Vec<u32>,
    /// Begin of the sending call.
    pub sent_ns: Vec<u64>,
    /// Row of the receiver.
    pub to_row: Vec<u32>,
    /// End of the receiving call.
    pub received_ns: Vec<u64>,
    /// Bytes.
    pub bytes: Vec<u64>,
    /// 1 if the receiver waited for it.
    pub late: Vec<u8>,
}

/// The critical path: columns.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Critical {
    /// Row.
    pub row: Vec<u32>,
    /// From.
    pub begin_ns: Vec<u64>,
    /// Until.
    pub end_ns: Vec<u64>,
}
