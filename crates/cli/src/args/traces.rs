//! Arguments of the commands about traces.

use super::Json;
use super::numbers::count;
use crate::network::Wanted as WantedNetwork;
use clap::{Args as ClapArgs, ValueEnum};
use std::path::PathBuf;

/// Arguments of `simulate`.
#[derive(Debug, ClapArgs)]
pub struct SimulateArgs {
    /// Directory of a run that has a trace, or the trace's file.
    pub trace: PathBuf,
    /// The network: ideal; FILE.json, as calibrate measured it; fit, from the times of the calls in the trace; or
    /// loggp:L,o,g,G[,S] with latency, overhead and gap in seconds, seconds per byte, and the bytes above which
    /// messages wait for their receive.
    #[arg(long, value_name = "NETWORK", default_value = "ideal", value_parser = WantedNetwork::of)]
    pub network: WantedNetwork,
    /// What if PLACE were different: 'PLACE balanced', 'PLACE faster F', 'PLACE gone', 'PLACE half' or
    /// 'PLACE no-wait'. Can be repeated; each question is answered on its own.
    #[arg(long, value_name = "'PLACE CHANGE'")]
    pub what_if: Vec<String>,
    /// Places of the critical path, and waits, to show.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = count)]
    pub rows: usize,
    /// Write the simulated run as a timeline for Perfetto, chrome://tracing or speedscope: a JSON file.
    #[arg(long, value_name = "FILE")]
    pub timeline: Option<PathBuf>,
    /// JSON.
    #[command(flatten)]
    pub json: Json,
}

/// Arguments of `calibrate`.
#[derive(Debug, ClapArgs)]
pub struct CalibrateArgs {
    /// The file to write; by default the parameters are printed.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The MPI library; by default the one that belongs to the launcher.
    #[arg(long, value_name = "FILE")]
    pub mpi: Option<PathBuf>,
}

/// What a replay does in place of computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Computing {
    /// Keep the core busy for as long as the rank computed: times differ as the recorded ones did, with the same sum.
    /// Each replay has the same times.
    Spin,
    /// Keep the core busy, each time as long as the rank computed there on average.
    Mean,
    /// Sleep for the times of `spin`, so that ranks can share cores.
    Sleep,
    /// Nothing: communication alone.
    None,
}

/// Arguments of `replay`.
#[derive(Debug, ClapArgs)]
pub struct ReplayArgs {
    /// The trace: its file, or the directory with it.
    pub trace: PathBuf,
    /// The MPI library to use, as the loader finds it; by default the one that belongs to the launcher.
    #[arg(long, value_name = "FILE")]
    pub mpi: Option<PathBuf>,
    /// What to do in place of computation.
    #[arg(long, value_name = "WHAT", default_value = "spin")]
    pub compute: Computing,
    /// Seed for drawing partners, tags and counts of a lossy trace [default: 0]. The same seed gives the same replay.
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// JSON.
    #[command(flatten)]
    pub json: Json,
}

/// Arguments of `show`.
#[derive(Debug, ClapArgs)]
pub struct ShowArgs {
    /// Trace, or directory of a run that has one.
    pub path: PathBuf,
    /// Show only this rank, with the parameters of its calls.
    #[arg(long)]
    pub rank: Option<u32>,
    /// Print every event of the rank in order, one on each line.
    #[arg(long, requires = "rank", conflicts_with = "json")]
    pub events: bool,
    /// JSON.
    #[command(flatten)]
    pub json: Json,
}
