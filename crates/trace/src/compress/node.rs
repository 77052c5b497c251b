//! Events and loops of one stream while it is being compressed.
//!
//! A node knows how often it ran in each run of the row that it is in: 0 if it was skipped (the paper's dummy event), 1
//! for a loop that was not repeated (its pseudo-loop). So two iterations merge by appending values, and what happened
//! in which iteration stays exact.

use super::durations::Durations;
use crate::align::{Step, align};
use crate::budget::{CHUNK, bytes_of, make_room};
use crate::compress::LoopBody;
use crate::times::Delta;
use crate::vector::Vector;

/// An event or a loop.
#[derive(Clone, Debug)]
pub struct Node {
    /// How often it ran, for each run of the row that it is in.
    pub trips: Vector,
    /// What ran.
    pub kind: Kind,
}

/// What a node executes.
#[derive(Clone, Debug)]
pub enum Kind {
    /// An event.
    Event(Box<Event>),
    /// A row of nodes, which runs as often as all trips together say.
    Loop(Box<LoopBody>),
}

/// An event, with all that happened there.
#[derive(Clone, Debug)]
pub struct Event {
    /// Its signature.
    pub signature: u32,
    /// The number of its parameters, for each time that it ran.
    pub parameters: Vector,
    /// Its times, by the signature of the event before it.
    pub times: Vec<(u32, Durations)>,
}

/// An event that ran once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Single {
    pub signature: u32,
    pub parameters: u32,
    pub before: u32,
    pub delta: Delta,
}

impl From<&Single> for Node {
    fn from(single: &Single) -> Self {
        let mut event = Event {
            signature: single.signature,
            parameters: Vector::default(),
            times: Vec::new(),
        };
        event.add(single);
        Self {
            trips: Vector::repeated(1, 1),
            kind: Kind::Event(Box::new(event)),
        }
    }
}

impl Event {
    pub(super) fn add(&mut self, single: &Single) {
        self.parameters.push(i64::from(single.parameters));
        self.times_after(single.before).add(single.delta);
    }

    fn merge(&mut self, other: &Self) {
        self.parameters.append(&other.parameters);
        self.merge_times(other);
    }

    pub(super) fn merge_times(&mut self, other: &Self) {
        for (before, times) in &other.times {
            self.times_after(*before).merge(times);
        }
    }

    fn times_after(&mut self, before: u32) -> &mut Durations {
        let at = self.times.iter().position(|(b, _)| *b == before);
        let at = at.unwrap_or_else(|| {
            // There is mostly one.
            make_room(&mut self.times, 1);
            self.times.push((before, Durations::default()));
            self.times.len() - 1
        });
        &mut self.times[at].1
    }
}

impl Node {
    /// The signature of its first event.
    pub fn first(&self) -> Option<u32> {
        match &self.kind {
            Kind::Event(event) => Some(event.signature),
            Kind::Loop(body) => body.first()?.first(),
        }
    }

    /// The signature of its last event.
    pub fn last(&self) -> Option<u32> {
        match &self.kind {
            Kind::Event(event) => Some(event.signature),
            Kind::Loop(body) => body.last()?.last(),
        }
    }

    /// Whether iterations of the two may be merged: the same event, or loops that begin or end with the same event.
    pub fn is_like(&self, other: &Self) -> bool {
        match (&self.kind, &other.kind) {
            (Kind::Event(a), Kind::Event(b)) => a.signature == b.signature,
            (Kind::Loop(_), Kind::Loop(_)) => {
                self.first() == other.first() || self.last() == other.last()
            }
            _ => false,
        }
    }

    /// How often it ran in all.
    pub fn runs(&self) -> u64 {
        self.trips.sum().max(0) as u64
    }

    /// Whether it ran when the row that it is in ran last.
    pub fn ran_last(&self) -> bool {
        self.trips.last().is_some_and(|n| n > 0)
    }

    /// Appends what a like node did in later runs of the row that both are in.
    pub fn append(&mut self, later: Self) {
        self.trips.append(&later.trips);
        self.join(later);
    }

    /// Appends what a like node executed, but not how often it ran.
    pub fn join(&mut self, later: Self) {
        let (before, after) = (self.runs_of_body(), later.runs_of_body());
        match (&mut self.kind, later.kind) {
            (Kind::Event(event), Kind::Event(later)) => event.merge(&later),
            (Kind::Loop(body), Kind::Loop(later)) => {
                let mine = std::mem::take(&mut **body).into();
                **body = merge_rows(mine, before, (*later).into(), after).into();
            }
            _ => {}
        }
    }

    /// How often its body ran.
    pub fn runs_of_body(&self) -> u64 {
        match &self.kind {
            Kind::Event(_) => 0,
            Kind::Loop(body) => body.first().map_or(0, |node| node.trips.len()),
        }
    }

    /// Loops inside of loops, itself included.
    pub fn depth(&self) -> usize {
        match &self.kind {
            Kind::Event(_) => 0,
            Kind::Loop(body) => 1 + body.depth(),
        }
    }

    /// Bytes of memory, the node itself not included.
    pub fn memory(&self) -> usize {
        self.trips.memory()
            + match &self.kind {
                Kind::Event(event) => {
                    let times = event.times.iter().map(|(_, times)| times.memory());
                    size_of::<Event>()
                        + CHUNK
                        + event.parameters.memory()
                        + bytes_of(&event.times)
                        + times.sum::<usize>()
                }
                Kind::Loop(body) => size_of::<LoopBody>() + CHUNK + body.memory(),
            }
    }
}

/// Merges two rows, of which the first ran `before` times and the second `after` times later (rules 3 and 4 of section
/// 3.2.1).
pub(super) fn merge_rows(
    mut left: Vec<Node>,
    before: u64,
    mut right: Vec<Node>,
    after: u64,
) -> Vec<Node> {
    wrap_loops(&mut left, &right, before);
    wrap_loops(&mut right, &left, after);
    let steps = align(left.len(), right.len(), |i, j| left[i].is_like(&right[j]));
    let (mut left, mut right) = (left.into_iter(), right.into_iter());
    let mut merged = Vec::with_capacity(steps.len());
    for step in steps {
        let (mine, later) = match step {
            Step::Both => (left.next(), right.next()),
            Step::Left => (left.next(), None),
            Step::Right => (None, right.next()),
        };
        match (mine, later) {
            (Some(mut mine), Some(later)) => {
                mine.append(later);
                merged.push(mine);
            }
            (Some(mut mine), None) => {
                mine.trips.push_run(0, 0, after);
                merged.push(mine);
            }
            (None, Some(mut later)) => {
                let mut trips = Vector::repeated(0, before);
                trips.append(&later.trips);
                later.trips = trips;
                merged.push(later);
            }
            (None, None) => {}
        }
    }
    merged
}

/// Makes loops of one trip (the paper's pseudo-loops) of events in `row` that are a loop in `other`: the other row
/// repeated them, this one did not. `runs` is how often `row` ran.
fn wrap_loops(row: &mut Vec<Node>, other: &[Node], runs: u64) {
    for like in other {
        let Kind::Loop(body) = &like.kind else {
            continue;
        };
        let (first, last) = (like.first(), like.last());
        if row.iter().any(|node| node.is_like(like)) {
            continue;
        }
        let is_event = |node: &Node| matches!(node.kind, Kind::Event(_));
        let Some(from) = row
            .iter()
            .position(|node| is_event(node) && node.first() == first)
        else {
            continue;
        };
        let most = body.len() * 2;
        let Some(length) = row[from..]
            .iter()
            .take(most)
            .position(|node| node.last() == last)
        else {
            continue;
        };
        // What begins like an enclosing loop is that loop, not one trip of it in itself.
        if from == 0 && length + 1 == row.len() && body.len() > row.len() {
            continue;
        }
        wrap(row, from, from + length, runs);
    }
}

/// Makes a loop of one trip of the nodes from `from` to `to`.
pub(super) fn wrap(row: &mut Vec<Node>, from: usize, to: usize, runs: u64) {
    let body: Vec<Node> = row.drain(from..=to).collect();
    row.insert(
        from,
        Node {
            trips: Vector::repeated(1, runs),
            kind: Kind::Loop(Box::new(body.into())),
        },
    );
}
