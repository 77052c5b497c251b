//! What was recorded, as the trace of one rank.

use super::Recorder;
use crate::budget::CHUNK;
use crate::compress::{self, Stream};
use crate::elastic::{Elastic, Part};
use crate::lossy::LOST;
use crate::ranks::Ranks;
use crate::times::Times;
use crate::trace::{BEGIN, Body, Communicator, Event, Loss, Node, Trace};
use crate::vector::{Term, Vector};
use std::collections::BTreeMap;

/// Writing takes 5/2 of the memory of the nodes that are copied, and 9 times that of all else: each frame of a call path is
/// in several tables meanwhile. Both were measured over the programs of `tests/memory.rs`.
const TWICE_OF_NODES: usize = 5;
const OF_OTHERS: usize = 9;

/// What the histograms of an event take: a node of their map, which has room for 11, and mostly one box.
const MAP_NODE: usize = 11 * size_of::<(u64, Box<Times>)>() + size_of::<[usize; 2]>() + CHUNK;
const HISTOGRAMS: usize = size_of::<Times>() + CHUNK;

/// What values of one rank take beside their terms: the part, and its block of ranks, with an allocation each.
const PART: usize = size_of::<Part>() + Ranks::OF_ONE + CHUNK;

impl Recorder {
    /// Adds what was recorded to the trace of `rank`, as the stream of `thread`.
    pub fn finish(mut self, trace: &mut Trace, rank: u32, thread: u32) {
        let stream = std::mem::take(&mut self.stream);
        self.say_what_is_lost(&stream, trace, rank, thread);
        let row = stream.finish().into_iter();
        let row = row.map(|node| self.finished(node, &Ranks::one(rank)));
        add_row(row.collect(), trace, rank, thread);
        self.add_outliers(trace, rank, thread);
        trace.lists.append(&mut self.lists);
        trace.texts.append(&mut self.texts);
        self.add_histograms(trace, rank);
        let signatures = std::mem::take(&mut self.signatures).into_iter();
        trace
            .signatures
            .extend(signatures.map(|known| (known.identity, known.signature)));
    }

    /// Makes a trace of what was recorded so far, in `trace`, and gives it to `write`. Returns whether there was memory
    /// for that; `anyway` does it although the recorders together may take more than their budget.
    pub fn write_copy(
        &mut self,
        mut trace: Trace,
        (rank, thread): (u32, u32),
        anyway: bool,
        write: impl FnOnce(Trace),
    ) -> bool {
        self.stream.settle();
        let borrowed = self.budget.borrow(self.copy_bytes());
        if borrowed.is_none() && !anyway {
            return false;
        }
        self.say_what_is_lost(&self.stream, &mut trace, rank, thread);
        let row = self.stream.nodes();
        let row = row.map(|node| self.copied(&node, &Ranks::one(rank)));
        add_row(row.collect(), &mut trace, rank, thread);
        self.add_outliers(&mut trace, rank, thread);
        trace
            .lists
            .extend(self.lists.iter().map(|(k, v)| (*k, v.clone())));
        trace
            .texts
            .extend(self.texts.iter().map(|(k, v)| (*k, v.clone())));
        self.add_histograms(&mut trace, rank);
        let signatures = self.signatures.iter();
        trace
            .signatures
            .extend(signatures.map(|known| (known.identity, known.signature.clone())));
        write(trace);
        true
    }

    /// Bytes that a copy takes until it is written.
    fn copy_bytes(&self) -> usize {
        let nodes = self.stream.nodes().map(|node| self.node_bytes(&node));
        let others = (self.memory() - self.for_stream).saturating_mul(OF_OTHERS);
        others.saturating_add(nodes.sum::<usize>().saturating_mul(TWICE_OF_NODES) / 2)
    }

    fn node_bytes(&self, node: &compress::Node) -> usize {
        let own = size_of::<Node>() + PART + node.trips.memory();
        own + match &node.kind {
            compress::Kind::Loop(row) => {
                CHUNK + row.iter().map(|node| self.node_bytes(node)).sum::<usize>()
            }
            compress::Kind::Event(event) => {
                let known = self.signatures.get(event.signature as usize);
                let columns = known.map_or(0, |known| known.signature.kinds.len());
                // A run of row numbers may be rows without any order: each value may take a term.
                let rows = event.parameters.memory() as u64
                    + event.parameters.mapped_one_by_one() * size_of::<Term>() as u64;
                let column = size_of::<Elastic>() + PART + rows as usize;
                let times = MAP_NODE + event.times.len() * HISTOGRAMS;
                size_of::<Event>() + 2 * CHUNK + columns * column + times
            }
        }
    }

    fn add_histograms(&self, trace: &mut Trace, rank: u32) {
        for known in &self.signatures {
            if let Some(watch) = &known.watch {
                watch.finish(known.identity, trace, rank);
            }
        }
    }

    fn say_what_is_lost(&self, stream: &Stream, trace: &mut Trace, rank: u32, thread: u32) {
        let (kept, lost) = (stream.events(), stream.lost());
        if lost > 0 {
            trace.losses.push(Loss {
                rank,
                thread,
                kept,
                lost,
            });
        }
    }

    fn copied(&self, node: &compress::Node, ranks: &Ranks) -> Node {
        let trips = Elastic::of(node.trips.clone(), ranks.clone());
        let body = match &node.kind {
            compress::Kind::Loop(row) => {
                Body::Loop(row.iter().map(|node| self.copied(node, ranks)).collect())
            }
            compress::Kind::Event(event) => Body::Event(Box::new(self.event_of(event, ranks))),
        };
        Node { trips, body }
    }

    fn finished(&self, node: compress::Node, ranks: &Ranks) -> Node {
        let trips = Elastic::of(node.trips, ranks.clone());
        let body = match node.kind {
            compress::Kind::Loop(row) => Body::Loop(
                Vec::from(*row)
                    .into_iter()
                    .map(|node| self.finished(node, ranks))
                    .collect(),
            ),
            compress::Kind::Event(event) => Body::Event(Box::new(self.event_of(&event, ranks))),
        };
        Node { trips, body }
    }

    fn event_of(&self, event: &compress::Event, ranks: &Ranks) -> Event {
        let known = self.signatures.get(event.signature as usize);
        let columns = known.map_or(0, |known| known.signature.kinds.len());
        let value =
            |row: i64, column: usize| self.row(row as u32).get(column).copied().unwrap_or(0);
        let watch = known.and_then(|known| known.watch.as_ref());
        let values = (0..columns).map(|column| {
            let is_lost = watch.is_some_and(|watch| watch.has_lost(column));
            let values = match is_lost {
                true => Vector::repeated(LOST, event.parameters.len()),
                false => event.parameters.map(|row| value(row, column)),
            };
            Elastic::of(values, ranks.clone())
        });
        let mut times: BTreeMap<u64, Box<Times>> = BTreeMap::new();
        for (before, some) in &event.times {
            let before = self
                .signatures
                .get(*before as usize)
                .map_or(BEGIN, |known| known.identity);
            some.add_to(times.entry(before).or_default());
        }
        Event {
            signature: known.map_or(BEGIN, |known| known.identity),
            values: values.collect(),
            times,
        }
    }

    /// Adds the computation of the stream that took much longer than usual.
    fn add_outliers(&self, trace: &mut Trace, rank: u32, thread: u32) {
        let row = trace.streams.get(&thread).map_or(&[][..], Vec::as_slice);
        let identity = |number: u32| {
            let known = self.signatures.get(number as usize);
            known.map_or(BEGIN, |known| known.identity)
        };
        let outliers = self.longest.outliers(thread, row, identity);
        if !outliers.is_empty() && self.lossy.is_none() {
            let rows = trace.outliers.entry(thread).or_default();
            rows.push((outliers, Ranks::one(rank)));
        }
    }
}

fn add_row(row: Vec<Node>, trace: &mut Trace, rank: u32, thread: u32) {
    trace.add_work(rank, thread, &row);
    trace.streams.insert(thread, row);
    trace.ranks = Ranks::one(rank);
}

impl Trace {
    /// The trace of one rank of `size`, without streams yet.
    pub fn of_rank(rank: u32, size: u32) -> Self {
        Self {
            size,
            ranks: Ranks::one(rank),
            ..Self::default()
        }
    }

    /// Says that `rank`, the only rank of the trace, is member `me` of `size` of communicator `number`.
    pub fn add_communicator(&mut self, number: i64, rank: u32, me: u32, size: u32) {
        let one = |value: u32| Elastic::of(Vector::repeated(i64::from(value), 1), Ranks::one(rank));
        self.communicators.insert(
            number,
            Communicator {
                me: one(me),
                size: one(size),
            },
        );
    }
}
