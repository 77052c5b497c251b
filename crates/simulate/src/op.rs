//! What a stream of operations consists of: steps, small enough to be made on the fly and thrown away.
//!
//! A call of MPI is one step or several: a `MPI_Sendrecv` is a send and a receive with requests, and a wait for each of
//! them. All steps of a call but the last have `more`. A step is never longer than [`Step`]'s 40 bytes.

use std::num::NonZeroU32;

/// A request of a nonblocking operation: a small number that the rank does not use for another operation at the same
/// time. Numbers of completed requests should be used again, as a rank has a table with an entry for each number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Request(NonZeroU32);

impl Request {
    /// Numbers are below this limit.
    pub const LIMIT: u32 = 1 << 24;

    /// The request with this number; a number that is not below [`Request::LIMIT`] is refused when it is used.
    pub fn new(number: u32) -> Self {
        Self(NonZeroU32::MIN.saturating_add(number))
    }

    /// Its number.
    pub fn number(self) -> u32 {
        self.0.get() - 1
    }
}

/// When a send completes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// At once up to the network's threshold; longer messages wait for their receive.
    #[default]
    Standard,
    /// At once, however long the message is: a buffered send, or a ready one.
    Eager,
    /// When the receive was posted: `MPI_Ssend`.
    Synchronous,
    /// At once and without the network: the message is there when it is sent. For dependencies between the threads of a
    /// rank: a thread that is created, joined, or handed a lock.
    Local,
}

/// What a collective does with data, which decides who waits for whom and how long it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No data: a barrier, a fence of a window, a collective call on a file.
    Barrier,
    /// All combine `bytes`, and all have the result.
    AllReduce,
    /// Each gives `bytes` to all.
    AllGather,
    /// Each gives `bytes` to each.
    AllToAll,
    /// All combine `bytes`, and each has a part of the result.
    ReduceScatter,
    /// The root gives the same `bytes` to all.
    Broadcast,
    /// The root gives `bytes` to each.
    Scatter,
    /// The root combines `bytes` of all.
    Reduce,
    /// Each gives `bytes` to the root.
    Gather,
    /// Each combines `bytes` of those before it in the communicator.
    Scan,
}

/// Whose arrival a member of a collective needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    All,
    Root,
    /// The root needs all, others nobody.
    RootNeedsAll,
    Lower,
}

impl Kind {
    pub(crate) fn needs(self) -> Needs {
        match self {
            Self::Barrier
            | Self::AllReduce
            | Self::AllGather
            | Self::AllToAll
            | Self::ReduceScatter => Needs::All,
            Self::Broadcast | Self::Scatter => Needs::Root,
            Self::Reduce | Self::Gather => Needs::RootNeedsAll,
            Self::Scan => Needs::Lower,
        }
    }
}

/// One operation of a rank. Ranks are those of the whole program, in every communicator.
///
/// Wildcards, `MPI_Waitany`, `MPI_Waitsome` and `MPI_Test` are given as what happened: the source and tag that were
/// received, a [`Op::Wait`] for each request that was completed, [`Op::Nothing`] for a test in vain. A persistent request is the
/// operation each time that it is started. An epoch between some ranks of a window (post, start, complete, wait) is
/// empty messages both ways.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Op {
    /// Computes.
    Compute {
        /// For how long, seconds.
        seconds: f64,
    },
    /// A call that needs nobody; or, as the last step of a call, its end.
    Nothing,
    /// Sends a message.
    Send {
        /// Receiver.
        to: u32,
        /// Tag.
        tag: i32,
        /// Communicator.
        comm: u32,
        /// Length, bytes.
        bytes: u64,
        /// When it completes.
        mode: Mode,
        /// The request, if it does not block.
        request: Option<Request>,
    },
    /// Receives a message: the first that was sent by this rank with this tag and that nobody has received.
    Recv {
        /// Sender.
        from: u32,
        /// Tag.
        tag: i32,
        /// Communicator.
        comm: u32,
        /// The request, if it does not block.
        request: Option<Request>,
    },
    /// Waits for a message that is received later.
    Probe {
        /// Sender.
        from: u32,
        /// Tag.
        tag: i32,
        /// Communicator.
        comm: u32,
    },
    /// Waits for a request.
    Wait {
        /// Which.
        request: Request,
    },
    /// Gives a request back without waiting for it.
    Free {
        /// Which.
        request: Request,
    },
    /// Takes part in a collective: the next of this rank in this communicator.
    Collective {
        /// Communicator.
        comm: u32,
        /// What it does.
        kind: Kind,
        /// The root, where there is one.
        root: u32,
        /// Length, bytes; see [`Kind`].
        bytes: u64,
        /// The request, if it does not block.
        request: Option<Request>,
        /// Whether it waits for whom it needs; `false` only in what-if questions.
        waits: bool,
    },
}

/// An operation with its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// What is done.
    pub op: Op,
    /// Where in the program it is: any small number that means something to the caller.
    pub place: u32,
    /// Whether the next step belongs to the same call.
    pub more: bool,
}

impl Step {
    /// A call that is one operation.
    pub fn new(place: u32, op: Op) -> Self {
        Self {
            op,
            place,
            more: false,
        }
    }

    /// An operation of a call that has more.
    pub fn part(place: u32, op: Op) -> Self {
        Self {
            more: true,
            ..Self::new(place, op)
        }
    }
}

const _: () = assert!(size_of::<Step>() <= 40);
