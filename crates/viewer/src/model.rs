//! The data of a page, as they are in its file and as `headwater view` sends them.
//!
//! `web/src/model.ts` has the same types for the front end, and docs/schema/page.json describes them. Rules that hold
//! everywhere: times of a timeline are whole nanoseconds (`_ns`) on the time axis of their window, all others are seconds
//! (`_seconds`). What was not measured is `null`, never 0. `scale` is an index into [`Page::runs`], and `frame` one into the
//! columns of [`Contexts`]; −1 is none. Large data are columns: arrays of equal length.

pub mod causes;
pub mod contexts;
pub mod graph;
pub mod ranks;
pub mod timeline;

pub use causes::{CauseDetail, Source};
pub use contexts::Contexts;
pub use graph::Graph;
pub use ranks::RankData;
pub use timeline::ScaleTimeline;

use headwater_model::diagnosis::Diagnosis;
use headwater_model::report::Section;
use serde::Serialize;

/// Version of the JSON that these types serialise to.
pub const VERSION: u32 = 1;

/// All that a page shows.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Page {
    /// [`VERSION`].
    pub version: u32,
    /// Program that made the page, and its version.
    pub tool: String,
    /// Path of the measured program.
    pub program: String,
    /// How to request tiles from `headwater view`; `None` in a file.
    pub live: Option<Live>,
    /// What was left out to keep the file small, a sentence each.
    pub thinned: Vec<String>,
    /// One run for each scale, by ascending number of ranks.
    pub runs: Vec<RunInfo>,
    /// What is added from scale to scale: `ranks`, `threads` or `ranks × threads`.
    pub added: String,
    /// Whether the program is one process without MPI: it has no ranks.
    pub is_process: bool,
    /// As `headwater diagnose --json` prints it.
    pub diagnosis: Diagnosis,
    /// Where the time of all ranks goes, for each of `runs`.
    pub scales: Vec<ScaleTimes>,
    /// For each cause of the diagnosis, in its order.
    pub causes: Vec<CauseDetail>,
    /// The calling-context tree.
    pub contexts: Contexts,
    /// Ranks and threads, for each of `runs`.
    pub ranks: Vec<RankData>,
    /// Recorded windows, for each of `runs`.
    pub timeline: Vec<ScaleTimeline>,
    /// Parts of the parallel view, and the dataflow of the diagnosis.
    pub graph: Graph,
    /// Source text that causes refer to by index.
    pub sources: Vec<Source>,
    /// Tables of analyses, as `headwater analyse --json` prints sections.
    pub tables: Vec<Section>,
}

/// Addresses of tiles of `headwater view`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Live {
    /// Of a [`timeline::TimelineTile`].
    pub timeline: String,
    /// Of a [`ranks::RankTile`].
    pub ranks: String,
    /// Of a [`ranks::Matrix`].
    pub matrix: String,
    /// Of a [`Source`].
    pub source: String,
    /// Of a [`graph::Neighbourhood`].
    pub graph: String,
    /// Token to send with each request.
    pub token: String,
}

/// A run.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunInfo {
    /// Name of the run.
    pub name: String,
    /// Number of ranks.
    pub ranks: u32,
    /// Its scale in words: `4 ranks`, `8 threads`, `2 ranks of 4 threads`.
    pub scale: String,
    /// The same as a figure: `4`, `8`, `2×4`.
    pub figure: String,
    /// By how much it is larger than that of one thread: ranks times threads.
    pub size: u32,
    /// Threads that computed at the same time, of all ranks together.
    pub threads: u32,
    /// Cores that they had in all; 0 where unknown.
    pub cores: u32,
    /// Host names.
    pub nodes: Vec<String>,
    /// From `MPI_Init` to the end of `MPI_Finalize` on the slowest rank.
    pub duration_seconds: f64,
    /// Command line of the program.
    pub command: Vec<String>,
    /// What the MPI library calls itself.
    pub mpi_library: String,
    /// Start, seconds since 1970; `None` where unknown.
    pub started_unix: Option<f64>,
    /// How many recordings of this scale are pooled here; at least 1.
    pub recordings: u32,
    /// Whether it comes from a trace of another tool.
    pub imported: bool,
    /// Names of hardware counters.
    pub counters: Vec<String>,
    /// What was not measured, a sentence each.
    pub missing: Vec<String>,
}

/// Where the time of one scale goes: seconds of one rank on average, of one process without MPI those of one thread.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScaleTimes {
    /// Number of ranks.
    pub ranks: u32,
    /// The scale in words, as in [`RunInfo`].
    pub scale: String,
    /// The run time that is divided: wall time.
    pub seconds: f64,
    /// Run time with the smallest scale's computation divided ideally; `None` where scales cannot be compared.
    pub ideal_seconds: Option<f64>,
    /// Parts that sum to `seconds`.
    pub parts: Vec<ScalePart>,
}

/// What a part of the run time is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PartKind {
    /// Useful computation, mean over ranks.
    Computation,
    /// The slowest rank's computation beyond the mean.
    UnevenWork,
    /// Waiting in turn, with an ideal network.
    Serialisation,
    /// Moving data.
    Transfer,
    /// Threads that wait for the last one of their team, in one process without MPI.
    UnevenThreads,
    /// One thread computes while the others of its process idle.
    SerialPart,
    /// Locks, and making and waking threads.
    Scheduling,
    /// Serialisation and transfer together, where no window separates them.
    Communication,
    /// Ready to run, but without a core.
    WithoutCore,
    /// It is not known how this time divides.
    Unknown,
}

/// A part of the run time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScalePart {
    /// What it is.
    pub kind: PartKind,
    /// The same in words.
    pub words: String,
    /// Seconds.
    pub seconds: f64,
    /// The same as a share of the run time.
    pub share: f64,
}
