//! What is simulated: streams of steps, and the members of communicators.

use crate::op::Step;
use std::sync::Arc;

/// The ranks of a communicator, in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Members {
    /// All ranks of the program.
    All,
    /// `count` ranks from `first` on, each `stride` above the one before.
    Range {
        /// The first.
        first: u32,
        /// The distance; 0 counts as 1.
        stride: u32,
        /// How many.
        count: u32,
    },
    /// These.
    List(Arc<[u32]>),
}

/// A program: what its ranks do, one step after the other. Nothing of it is stored.
///
/// A *stream* is a thread of a rank with a core of its own. Streams have numbers from 0. If several streams of a rank
/// send or receive with the same partner, tag and communicator, or take part in collectives of one communicator, the
/// order among them is the one in which the simulation runs them: always the same, but not by virtual time.
pub trait Program {
    /// The rank of each stream. Ranks are the numbers below the largest of these plus one.
    fn ranks(&self) -> Vec<u32>;

    /// The next step of a stream; `None` from its end on.
    fn next(&mut self, stream: u32) -> Option<Step>;

    /// The members of a communicator, asked once; `None` if there is none with this number. Numbers should be small.
    fn members(&self, comm: u32) -> Option<Members>;
}

impl<P: Program + ?Sized> Program for &mut P {
    fn ranks(&self) -> Vec<u32> {
        (**self).ranks()
    }

    fn next(&mut self, stream: u32) -> Option<Step> {
        (**self).next(stream)
    }

    fn members(&self, comm: u32) -> Option<Members> {
        (**self).members(comm)
    }
}

/// A program of iterators: one stream for each rank. Communicator 0 has all ranks; others can be added.
#[derive(Clone, Debug)]
pub struct Streams<I> {
    streams: Vec<I>,
    comms: Vec<Members>,
}

impl<I: Iterator<Item = Step>> Streams<I> {
    /// A program with one stream for each rank.
    pub fn new(streams: impl IntoIterator<Item = I>) -> Self {
        Self {
            streams: streams.into_iter().collect(),
            comms: vec![Members::All],
        }
    }

    /// The program with one more communicator; their numbers follow one another from 1 on.
    #[must_use]
    pub fn with(mut self, members: Members) -> Self {
        self.comms.push(members);
        self
    }
}

impl<I: Iterator<Item = Step>> Program for Streams<I> {
    fn ranks(&self) -> Vec<u32> {
        (0..).zip(&self.streams).map(|(rank, _)| rank).collect()
    }

    fn next(&mut self, stream: u32) -> Option<Step> {
        self.streams.get_mut(stream as usize)?.next()
    }

    fn members(&self, comm: u32) -> Option<Members> {
        self.comms.get(comm as usize).cloned()
    }
}
