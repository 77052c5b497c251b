//! Why a trace is not replayed.

/// Why a trace is not replayed. Each names what is wrong and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Nothing has started several ranks.
    #[error(
        "the trace has {0} ranks, and no MPI launcher has started this process; put mpirun -n {0} before the command"
    )]
    NoLauncher(u32),
    /// Nothing has started a ping-pong's ranks.
    #[error(
        "no MPI launcher has started this process, and a network needs 2 ranks; start it as mpirun -n 2 headwater calibrate"
    )]
    NotLaunched,
    /// There is nobody to send to.
    #[error(
        "a network needs 2 ranks, and the MPI library sees {0}; start it as mpirun -n 2 headwater calibrate, with the launcher of the library"
    )]
    OneRank(u32),
    /// No library could be opened.
    #[error("no MPI library can be opened ({0}); name one with --mpi")]
    NoLibrary(String),
    /// The library is none that is known.
    #[error("{0} is no MPI library that the replay knows; name another one with --mpi")]
    UnknownLibrary(String),
    /// The library did not start.
    #[error("MPI_Init of {0} failed")]
    NotStarted(String),
    /// There are more or fewer ranks.
    #[error(
        "the trace has {trace} ranks, and the MPI library sees {here}; start as many, with the launcher of the library"
    )]
    Size {
        /// Ranks of the trace.
        trace: u32,
        /// Ranks of the replay.
        here: u32,
    },
    /// Some ranks are not in the trace.
    #[error(
        "rank {first} is not in the trace, which has {there} of {size} ranks; the others cannot run without its messages"
    )]
    MissingRanks {
        /// The first rank that is missing.
        first: u32,
        /// Ranks that are there.
        there: u64,
        /// Ranks of the program.
        size: u32,
    },
    /// The trace ends where the process did.
    #[error(
        "the trace of rank {rank} ends after {kept} events, because the process ended without MPI_Finalize; nothing says what it was about to do"
    )]
    Ended {
        /// The rank.
        rank: u32,
        /// Events that are there.
        kept: u64,
    },
    /// Some events are not in the trace.
    #[error(
        "the trace of rank {rank} ends after {kept} events, because there was no memory for {lost} more; record fewer steps"
    )]
    NotWhole {
        /// The rank.
        rank: u32,
        /// Events that are there.
        kept: u64,
        /// Events that are missing.
        lost: u64,
    },
    /// Threads need an order that is not in the trace.
    #[error("threads of rank {rank} {what}, and a trace does not have the order between threads")]
    Order {
        /// The rank.
        rank: u32,
        /// What they do.
        what: &'static str,
    },
    /// Another rank cannot replay its part, and reports it.
    #[error("rank {0} cannot replay its part")]
    Elsewhere(u32),
    /// The library has no threads.
    #[error(
        "{0} does not let several threads call MPI (MPI_THREAD_MULTIPLE), as the trace does; name another library with --mpi"
    )]
    NoThreads(String),
    /// Calls that cannot be made again.
    #[error("{function}, which rank {rank} calls, cannot be replayed: {why}")]
    Refused {
        /// The function.
        function: String,
        /// The first rank that calls it.
        rank: u32,
        /// Why, as the end of a sentence.
        why: &'static str,
    },
    /// The library has no such function or constant.
    #[error("{library} has no {what}, which rank {rank} needs; name another library with --mpi")]
    Lacks {
        /// The library.
        library: String,
        /// The function or constant.
        what: String,
        /// The first rank that needs it.
        rank: u32,
    },
    /// An event refers to something that no earlier one has made.
    #[error("{function} uses a handle that no call of the trace has made; the trace is damaged")]
    Handle {
        /// The function.
        function: &'static str,
    },
    /// Each thread waits for what another one makes, commits or uses.
    #[error(
        "threads wait for each other in an order that the trace does not have; the last one was about to call {function}"
    )]
    Stuck {
        /// The function.
        function: &'static str,
    },
    /// There is no memory for a buffer.
    #[error("there is no memory for the {bytes} bytes that {function} needs; use more nodes")]
    Memory {
        /// The function.
        function: &'static str,
        /// Bytes.
        bytes: usize,
    },
    /// The ranks of a lossy trace cannot agree on what they draw.
    #[error(
        "the trace is lossy, and who receives what cannot be agreed on: {0}; record it without --lossy"
    )]
    NoAgreement(String),
    /// There is no place for scratch files.
    #[error("cannot make a directory for scratch files: {0}")]
    Scratch(String),
}

impl Error {
    /// Whether all ranks find it, and none has begun to communicate.
    pub fn is_common(&self) -> bool {
        !matches!(
            self,
            Self::Handle { .. }
                | Self::Stuck { .. }
                | Self::Memory { .. }
                | Self::Scratch(_)
                | Self::Order { .. }
        )
    }
}
