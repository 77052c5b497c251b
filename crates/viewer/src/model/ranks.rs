//! Ranks and threads: heat map, messages, teams, locks.

use headwater_model::RankSet;
use serde::Serialize;
use std::collections::BTreeMap;

/// Ranks and threads of a run.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankData {
    /// Number of ranks.
    pub ranks: u32,
    /// Columns of the heat map: ranks that behave alike, ordered by likeness.
    pub groups: Vec<RankGroup>,
    /// By metric: frames by likeness.
    pub heat: BTreeMap<String, Vec<HeatRow>>,
    /// A row for each rank; `None` with very many ranks.
    pub per_rank: Option<PerRank>,
    /// Messages and waits between ranks.
    pub matrix: Option<Matrix>,
    /// Threads of ranks that have several.
    pub threads: Vec<ThreadRow>,
    /// Waits between threads of a rank, the longest first.
    pub locks: Vec<LockRow>,
    /// What is missing here and why, a sentence each.
    pub missing: Vec<String>,
}

/// Ranks that behave alike.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankGroup {
    /// What people read.
    pub name: String,
    /// The ranks.
    pub ranks: RankSet,
    /// How many.
    pub size: u32,
}

/// A frame over groups of ranks.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeatRow {
    /// The frame.
    pub frame: u32,
    /// Own figure, mean over the ranks of each group; `None` where the frame was not seen.
    pub values: Vec<Option<f64>>,
}

/// Columns by rank.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PerRank {
    /// Rank.
    pub rank: Vec<u32>,
    /// Index of the node; −1 where unknown.
    pub node: Vec<i32>,
    /// From leaving `MPI_Init` to entering `MPI_Finalize`.
    pub wall_seconds: Vec<f64>,
    /// CPU time plus time asleep outside MPI.
    pub computation_seconds: Vec<f64>,
    /// In MPI calls.
    pub mpi_seconds: Vec<f64>,
    /// Waiting for other ranks in MPI calls.
    pub wait_seconds: Vec<f64>,
    /// Ready to run, but without a core.
    pub without_core_seconds: Vec<f64>,
    /// Before `MPI_Init` returned.
    pub startup_seconds: Vec<f64>,
    /// Whether its data are complete.
    pub complete: Vec<bool>,
}

/// A part of the heat map: groups of consecutive ranks.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankTile {
    /// Index of the run.
    pub scale: u32,
    /// The metric.
    pub metric: String,
    /// Columns.
    pub groups: Vec<RankGroup>,
    /// Rows.
    pub rows: Vec<HeatRow>,
}

/// Messages and waits from ranks to ranks; cells with nothing are left out.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Matrix {
    /// Number of ranks of the run.
    pub ranks: u32,
    /// Sets of consecutive ranks.
    pub bins: Vec<RankSet>,
    /// Those of receivers where they are others.
    pub to_bins: Option<Vec<RankSet>>,
    /// Sender's bin.
    pub from: Vec<u32>,
    /// Receiver's bin.
    pub to: Vec<u32>,
    /// Messages.
    pub count: Vec<f64>,
    /// Their bytes.
    pub bytes: Vec<f64>,
    /// Seconds that receivers waited for senders.
    pub late_sender_seconds: Vec<f64>,
    /// Seconds that senders waited for receivers.
    pub late_receiver_seconds: Vec<f64>,
    /// Seconds that `to` waited for `from` in collectives.
    pub collective_seconds: Vec<f64>,
}

/// A thread in a team.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadRow {
    /// Rank.
    pub rank: u32,
    /// Thread in the rank.
    pub thread: u32,
    /// Frame of what made its team; −1 where unknown.
    pub team: i32,
    /// Wall time.
    pub wall_seconds: f64,
    /// CPU time.
    pub cpu_seconds: f64,
    /// Computing in the team.
    pub busy_seconds: f64,
    /// Waiting at the team's barriers and its end.
    pub barrier_seconds: f64,
    /// Waiting for locks and other threads.
    pub lock_seconds: f64,
    /// Ready to run, but without a core.
    pub without_core_seconds: f64,
}

/// A thread that waits for another.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LockRow {
    /// Rank.
    pub rank: u32,
    /// What was waited for.
    pub kind: String,
    /// Thread that waited.
    pub waiter: u32,
    /// Where; −1 where unknown.
    pub waiter_frame: i32,
    /// Thread that was waited for; −1 where unknown.
    pub holder: i32,
    /// Where it took the lock; −1 where unknown.
    pub holder_frame: i32,
    /// Waits.
    pub count: u64,
    /// Wall time waited.
    pub wait_seconds: f64,
    /// Longest wait.
    pub longest_seconds: f64,
}
