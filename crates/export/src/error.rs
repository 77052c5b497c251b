//! Why a run cannot be given in a format.

use headwater_model::{Rank, RankSet};

/// What is wrong, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// A format that there is not.
    #[error("there is no format {0}; there are {1}")]
    Unknown(String, String),
    /// Another number of runs.
    #[error("{0} takes {1}, and {2} were given")]
    Runs(&'static str, &'static str, usize),
    /// A setting that the format does not have.
    #[error("{0} takes no --{1}; leave it out")]
    Setting(&'static str, &'static str),
    /// Ranks that the run does not have.
    #[error("run {0} has no rank {1}; its ranks are {2}")]
    NoRank(String, Rank, RankSet),
    /// Ranks of something that sums them up.
    #[error(
        "this sums all ranks up, so --ranks cannot choose among them; give --view parallel as well, or --table by-rank"
    )]
    SummedUp,
    /// No event was recorded.
    #[error(
        "run {0} has no window of events, so there is no timeline; export a profile instead, such as speedscope or firefox"
    )]
    NoWindows(String),
    /// Nothing to fit over.
    #[error(
        "all runs have {0} ranks, and a model over the number of ranks needs several; give runs of one program at different numbers of ranks"
    )]
    OneScale(u32),
    /// Runs that do not belong together.
    #[error("runs {0} and {1} are of different programs; give runs of one program")]
    DifferentPrograms(String, String),
    /// Runs that share no vertices.
    #[error(
        "runs {0} and {1} are of different builds of the program, so they have no common tree of vertices; export each of them alone"
    )]
    DifferentBuilds(String, String),
    /// A table that there is not.
    #[error("there is no table {0} here; give --table with one of {1}")]
    NoTable(String, String),
    /// Several tables, of which none was named.
    #[error("{0} returns several tables; give --table with one of {1}")]
    WhichTable(String, String),
    /// The analysis failed.
    #[error(transparent)]
    Analysis(#[from] headwater_diagnosis::paradigm::ParadigmError),
    /// Where the bytes go does not take them.
    #[error("cannot write the result: {0}")]
    Write(#[from] std::io::Error),
    /// A rank that is not in the trace.
    #[error(
        "the trace has no events of rank {0}, and {2} needs all {1} ranks; record a run in which every rank ends with MPI_Finalize"
    )]
    MissingRank(Rank, u32, &'static str),
    /// A rank whose last calls may be missing.
    #[error(
        "the trace of rank {0} ends before MPI_Finalize, and {1} needs all calls; record a run in which every rank ends with MPI_Finalize"
    )]
    Unfinished(Rank, &'static str),
    /// Several threads of a rank.
    #[error("{2} supports one MPI thread per rank; thread {1} of rank {0} also calls MPI")]
    Threads(Rank, u32, &'static str),
    /// A communicator that is not what it seems.
    #[error("rank {0} takes part in a collective of a communicator to which it does not belong")]
    NoMember(Rank),
    /// A message that cannot be written.
    #[error("a message of {0} bytes is too long for the format, which takes 2147483647 bytes")]
    TooLong(u64),
    /// The simulation fails.
    #[error("it cannot be simulated: {0}")]
    Simulation(#[from] headwater_simulate::Error),
    /// The table cannot be made.
    #[error("cannot make the table: {0}")]
    Table(String),
}
