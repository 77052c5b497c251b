//! A trace of one or more ranks.

use crate::elastic::Elastic;
use crate::lossy::Histograms;
use crate::outliers::Outliers;
use crate::ranks::Ranks;
use crate::times::Times;
use crate::vector::Vector;
use crate::work::Work;
use std::collections::BTreeMap;

/// What a value of an event means, as far as merging needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A number.
    Plain,
    /// A rank of the event's communicator.
    Peer,
    /// The number of a communicator; the first one of an event is its communicator.
    Comm,
    /// A list: its identity in [`Trace::lists`].
    List,
    /// A text: its identity in [`Trace::texts`].
    Text,
}

/// Where a call path goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Frame {
    /// Identity of the module, in [`Trace::modules`].
    pub module: u64,
    /// Offset in it, bytes.
    pub offset: u64,
}

/// What all executions of an event have in common.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Signature {
    /// Name of the function.
    pub function: String,
    /// What its values mean.
    pub kinds: Vec<Kind>,
    /// The call path, outermost first.
    pub frames: Vec<Frame>,
}

/// An event or a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// How often it ran, for each run of the row that it is in. Ranks that have no part never ran it.
    pub trips: Elastic,
    /// What ran.
    pub body: Body,
}

/// What a node executes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// An event.
    Event(Box<Event>),
    /// A row of nodes.
    Loop(Vec<Node>),
}

/// An event, with all that happened there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Identity of its signature.
    pub signature: u64,
    /// Its values in the order of [`Signature::kinds`], for each time that it ran.
    pub values: Vec<Elastic>,
    /// Its times, by the identity of the signature of the event before it; [`BEGIN`] is the beginning.
    /// There is mostly one, but a `BTreeMap` allocates room for eleven values at once. Boxes keep that small.
    pub times: BTreeMap<u64, Box<Times>>,
}

/// In place of a signature: before the first event of a stream.
pub const BEGIN: u64 = 0;

/// Members of a communicator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Communicator {
    /// Each rank's own rank there: one value. Relative to the rank in the program, if that is the same for many.
    pub me: Elastic,
    /// Number of members: one value.
    pub size: Elastic,
}

/// What a rank's streams have lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The rank.
    pub rank: u32,
    /// The thread.
    pub thread: u32,
    /// Events in the trace; what came after them was counted only.
    pub kept: u64,
    /// Events that are missing; 0 if nobody knows how many, because the process ended without `MPI_Finalize`.
    pub lost: u64,
}

/// A call that a thread was in when its recording ended, because the process ended without `MPI_Finalize`. It is none of
/// the thread's events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCall {
    /// The rank.
    pub rank: u32,
    /// The thread.
    pub thread: u32,
    /// Identity of its signature.
    pub signature: u64,
    /// Its values, in the order of [`Signature::kinds`]. What the library decides is not known.
    pub values: Vec<i64>,
    /// How many calls the thread made before it, without the bits above 32; `None` if that is not known.
    pub before: Option<u32>,
}

impl OpenCall {
    /// How many events are missing between the first `kept` ones of its thread and this call; `None` if that is not known.
    pub fn missing(&self, kept: u64) -> Option<u32> {
        let missing = self.before?.wrapping_sub(kept as u32);
        // The thread cannot have recorded more than it has called.
        (missing <= i32::MAX as u32).then_some(missing)
    }
}

/// The events of some or all ranks of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Ranks of the program.
    pub size: u32,
    /// Ranks that are in the trace.
    pub ranks: Ranks,
    /// By identity.
    pub signatures: BTreeMap<u64, Signature>,
    /// Names of modules, by identity.
    pub modules: BTreeMap<u64, String>,
    /// Lists of values, by identity.
    pub lists: BTreeMap<i64, Vector>,
    /// Texts, by identity.
    pub texts: BTreeMap<i64, Vec<u8>>,
    /// By number.
    pub communicators: BTreeMap<i64, Communicator>,
    /// By number of the thread: its row of nodes, which ran once.
    pub streams: BTreeMap<u32, Vec<Node>>,
    /// Streams that are not whole.
    pub losses: Vec<Loss>,
    /// Calls that did not end.
    pub open: Vec<OpenCall>,
    /// How long each rank computes at each place.
    pub work: Work,
    /// Executions that took much longer than others.
    pub outliers: Outliers,
    /// Parameters whose values are known by their histograms alone.
    pub histograms: Histograms,
}

impl Trace {
    /// Rounds the histograms of times, as is done once before a trace is written to stay
    /// ([`Histogram::round`](crate::times::Histogram::round)).
    pub fn round_times(&mut self) {
        let rows = self.streams.values_mut();
        rows.flatten().for_each(Node::round_times);
    }
}

impl Node {
    fn round_times(&mut self) {
        match &mut self.body {
            Body::Loop(row) => row.iter_mut().for_each(Self::round_times),
            Body::Event(event) => event.times.values_mut().for_each(|times| times.round()),
        }
    }

    /// The times of its events.
    pub(crate) fn times(&self) -> Box<dyn Iterator<Item = &Times> + '_> {
        match &self.body {
            Body::Loop(row) => Box::new(row.iter().flat_map(Self::times)),
            Body::Event(event) => Box::new(event.times.values().map(AsRef::as_ref)),
        }
    }

    /// The signature of its first event.
    pub fn first(&self) -> Option<u64> {
        match &self.body {
            Body::Event(event) => Some(event.signature),
            Body::Loop(row) => row.first()?.first(),
        }
    }

    /// The signature of its last event.
    pub fn last(&self) -> Option<u64> {
        match &self.body {
            Body::Event(event) => Some(event.signature),
            Body::Loop(row) => row.last()?.last(),
        }
    }

    /// Nodes below it, itself included.
    pub fn nodes(&self) -> usize {
        1 + match &self.body {
            Body::Event(_) => 0,
            Body::Loop(row) => row.iter().map(Self::nodes).sum(),
        }
    }
}

impl Trace {
    pub(crate) fn add_open(&mut self, others: Vec<OpenCall>) {
        self.open.extend(others);
        self.open.sort_by_key(|call| (call.rank, call.thread));
        self.open.dedup_by_key(|call| (call.rank, call.thread));
    }

    /// Adds the events of other threads of the same ranks. Returns whether it could: no thread may be in both.
    pub fn add_threads(&mut self, other: Self) -> bool {
        let shared = |thread| self.streams.contains_key(thread);
        if self.ranks != other.ranks || self.size != other.size || other.streams.keys().any(shared)
        {
            return false;
        }
        for (identity, signature) in other.signatures {
            self.signatures.entry(identity).or_insert(signature);
        }
        self.modules.extend(other.modules);
        self.lists.extend(other.lists);
        self.texts.extend(other.texts);
        for (number, communicator) in other.communicators {
            self.communicators.entry(number).or_insert(communicator);
        }
        self.streams.extend(other.streams);
        self.work.merge(other.work);
        self.add_outliers(other.outliers);
        for (place, theirs) in other.histograms {
            self.histograms.entry(place).or_default().merge(&theirs);
        }
        for loss in other.losses {
            if !self.losses.contains(&loss) {
                self.losses.push(loss);
            }
        }
        self.losses.sort_by_key(|loss| (loss.rank, loss.thread));
        self.add_open(other.open);
        true
    }
}

impl Signature {
    /// The position of the value that is the event's communicator.
    pub fn communicator(&self) -> Option<usize> {
        self.kinds.iter().position(|kind| *kind == Kind::Comm)
    }
}
