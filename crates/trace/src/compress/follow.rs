//! Follows a loop whose iterations are equal: the next event is compared with the one that is expected, and counted.
//!
//! Two equal iterations of a loop, one after the other, become a pattern. While the events are those of the pattern,
//! nothing enters the row of the stream. Iterations that were followed are appended to the loop together, with the
//! result that they would have one by one. If an event is another one, those of the iteration that it interrupts enter
//! the row as usual.

use super::durations::Durations;
use super::node::{Event, Kind, Node, Single};
use super::{Entry, Item};
use crate::budget::bytes_of;
use crate::times::Delta;
use crate::vector::{Iter, Term, Vector};

/// Patterns of more events are not followed.
const LONGEST: u64 = 256;

/// So many patterns are remembered: loops in loops, and iterations that differ.
const PATTERNS: usize = 4;

/// So many places of loops are remembered, to see when an iteration comes again.
const PLACES: usize = 8;

/// Followed iterations are appended to their loop after so many.
const MOST_PENDING: u64 = 256;

/// Times of so many events are kept as they came: counting them one by one would need memory that the program's own
/// computation has driven from the caches meanwhile.
const KEPT: usize = 64;

/// Iterations are told apart by a polynomial in this number.
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

/// The loop in the entry at a position of the row, on a way into it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Target {
    pub position: usize,
    pub path: Vec<usize>,
}

/// All that was appended, as a number, and how many events it is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mark {
    mixed: u64,
    events: u64,
}

impl Mark {
    /// An event was appended.
    #[inline]
    pub fn add(&mut self, signature: u32, parameters: u32) {
        let event = (u64::from(signature) << 32 | u64::from(parameters)).wrapping_add(1);
        self.mixed = self.mixed.wrapping_mul(BASE).wrapping_add(event);
        self.events += 1;
    }

    /// What was appended since an earlier mark, the same as if it had been appended first.
    fn since(self, earlier: Self) -> Self {
        let events = self.events - earlier.events;
        let power = BASE.wrapping_pow(events as u32);
        Self {
            mixed: self.mixed.wrapping_sub(earlier.mixed.wrapping_mul(power)),
            events,
        }
    }

    /// Appends what another one has.
    fn append(&mut self, other: Self, power: u64) {
        self.mixed = self.mixed.wrapping_mul(power).wrapping_add(other.mixed);
        self.events += other.events;
    }

    fn is(self, other: Self) -> bool {
        (self.mixed, self.events) == (other.mixed, other.events)
    }
}

/// A loop that was seen to run again.
#[derive(Clone, Debug)]
struct Seen {
    target: Target,
    /// When it ran last, and what it ran then.
    at: Mark,
    run: Mark,
}

/// What is followed, or may be.
#[derive(Clone, Debug, Default)]
pub(super) struct Follower {
    /// The one that was followed last is the last one.
    patterns: Vec<Pattern>,
    /// Whether it is followed now.
    follows: bool,
    seen: Vec<Seen>,
    /// The place that is forgotten next.
    oldest: usize,
}

/// An iteration that is expected to come again.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    pub target: Target,
    events: Vec<Expected>,
    /// How many events of the current iteration have come.
    next: usize,
    /// Times of the last events.
    deltas: Vec<Delta>,
    /// Iterations that have come and are not part of the loop yet.
    pending: u64,
    times: Vec<Slot>,
    /// The iteration as a row that ran once, without times.
    row: Vec<Node>,
    run: Mark,
    power: u64,
}

/// An event of a pattern, and where its times are counted.
#[derive(Clone, Copy, Debug)]
struct Expected {
    signature: u32,
    parameters: u32,
    slot: u32,
}

/// Times of an event of a pattern behind another one.
#[derive(Clone, Debug)]
struct Slot {
    /// The number of the event in the pattern's row.
    event: usize,
    before: u32,
    times: Durations,
}

/// Whether an event of the stream is the next one of the pattern that is followed.
pub(super) enum Step {
    Expected,
    /// It is, and times are to be counted now.
    Full,
    Other,
}

impl Follower {
    /// Takes an event.
    #[inline]
    pub fn step(&mut self, signature: u32, parameters: u32, delta: Delta, mark: &mut Mark) -> Step {
        let Some(pattern) = self.current() else {
            return Step::Other;
        };
        let Some(expected) = pattern.events.get(pattern.next) else {
            return Step::Other;
        };
        if (expected.signature, expected.parameters) != (signature, parameters) {
            return Step::Other;
        }
        pattern.deltas.push(delta);
        pattern.next += 1;
        if pattern.next < pattern.events.len() {
            return Step::Expected;
        }
        pattern.next = 0;
        pattern.pending += 1;
        mark.append(pattern.run, pattern.power);
        match pattern.deltas.len() + pattern.events.len() <= pattern.deltas.capacity() {
            true => Step::Expected,
            false => Step::Full,
        }
    }

    /// The parameters that the next event has, if it is as expected and has this signature.
    #[inline]
    pub fn expected(&self, signature: u32) -> Option<u32> {
        let pattern = self.patterns.last().filter(|_| self.follows)?;
        let expected = pattern.events.get(pattern.next)?;
        (expected.signature == signature).then_some(expected.parameters)
    }

    /// Follows the pattern of a loop in the last entry of the row that begins with this event, if there is one.
    pub fn begin(&mut self, row: &[Entry], before: u32, signature: u32, parameters: u32) -> bool {
        let Some(Entry {
            item: Item::Node(node),
            ..
        }) = row.last()
        else {
            return false;
        };
        let position = row.len() - 1;
        let begins = |pattern: &Pattern| {
            pattern.target.position == position
                && pattern.is_next(before, signature, parameters)
                && ran_last(node, &pattern.target.path).is_some_and(|node| pattern.fits(node))
        };
        let at = self.patterns.iter().rposition(begins);
        if let Some(all) = at.and_then(|at| self.patterns.get_mut(at..)) {
            all.rotate_left(1);
            self.follows = true;
        }
        self.follows
    }

    /// The pattern that is followed.
    #[inline]
    pub fn current(&mut self) -> Option<&mut Pattern> {
        self.patterns.last_mut().filter(|_| self.follows)
    }

    /// Nothing is followed any more; `at` is the end of the last whole iteration. Returns the events of the one that was not
    /// completed.
    pub fn end(&mut self, at: Mark) -> Vec<Single> {
        let follows = std::mem::take(&mut self.follows);
        let Some(pattern) = self.patterns.last_mut().filter(|_| follows) else {
            return Vec::new();
        };
        let mut all = self.seen.iter_mut();
        if let Some(seen) = all.find(|seen| seen.target == pattern.target) {
            (seen.at, seen.run) = (at, pattern.run);
        }
        pattern.interrupted()
    }

    /// The entries are about to become another run of a loop. If it ran the same before, that becomes a pattern.
    pub fn ran(&mut self, position: usize, path: &[usize], at: Mark, entries: &[Entry]) {
        let is_here = |t: &Target| t.position == position && t.path == path;
        let Some(seen) = self.seen.iter_mut().find(|seen| is_here(&seen.target)) else {
            let new = Seen {
                target: Target {
                    position,
                    path: path.to_vec(),
                },
                at,
                run: Mark::default(),
            };
            match self.seen.get_mut(self.oldest) {
                Some(oldest) => *oldest = new,
                None => self.seen.push(new),
            }
            self.oldest = (self.oldest + 1) % PLACES;
            return;
        };
        let run = at.since(seen.at);
        let is_again = run.is(seen.run);
        (seen.at, seen.run) = (at, run);
        let known = |p: &Pattern| p.run.is(run) && is_here(&p.target);
        if !is_again || run.events > LONGEST || self.patterns.iter().any(known) {
            return;
        }
        if let Some(pattern) = Pattern::new(seen.target.clone(), run, entries) {
            if self.patterns.len() == PATTERNS {
                self.patterns.remove(0);
            }
            self.patterns.push(pattern);
        }
    }

    /// Bytes of memory. Events of the current iteration may soon be `as_a_node` each.
    pub fn memory(&self, as_a_node: usize) -> usize {
        let all = self.patterns.iter();
        all.map(|pattern| pattern.memory() + pattern.next * as_a_node)
            .sum::<usize>()
            + bytes_of(&self.patterns)
            + bytes_of(&self.seen)
            + self
                .seen
                .iter()
                .map(|seen| bytes_of(&seen.target.path))
                .sum::<usize>()
    }
}

/// The node on a way into `node`, if it is what ran last there.
fn ran_last<'a>(node: &'a Node, path: &[usize]) -> Option<&'a Node> {
    path.iter().try_fold(node, |node, at| match &node.kind {
        Kind::Loop(body) if body.iter().rposition(Node::ran_last) == Some(*at) => body.get(*at),
        _ => None,
    })
}

impl Pattern {
    /// The pattern of the entries, an iteration with this mark. `None` if it is not all of an iteration.
    fn new(target: Target, run: Mark, entries: &[Entry]) -> Option<Self> {
        // A loop that is all of an iteration is more runs of the same loop.
        if let [one] = entries
            && !one.item.is_single()
        {
            return None;
        }
        let row = entries.iter().map(|entry| match &entry.item {
            Item::Single(single) => Node::without_times(single.signature, single.parameters),
            Item::Node(node) => {
                let mut node = node.clone();
                node.forget_times();
                node
            }
        });
        let row: Vec<Node> = row.collect();
        let mut events = Vec::with_capacity(run.events as usize);
        let mut cursors = cursors(&row, &mut 0);
        let has_all = expand(&mut cursors, 1, &mut |event, signature, parameters| {
            let fits = events.len() < run.events as usize;
            if fits {
                events.push((event, signature, parameters));
            }
            fits
        });
        if !has_all || events.len() as u64 != run.events {
            return None;
        }
        let mut before = events.last()?.1;
        let mut times: Vec<Slot> = Vec::new();
        let mut all = Vec::with_capacity(events.len());
        for (event, signature, parameters) in events {
            let known = |slot: &Slot| (slot.event, slot.before) == (event, before);
            let slot = times.iter().rposition(known).unwrap_or_else(|| {
                times.push(Slot {
                    event,
                    before,
                    times: Durations::default(),
                });
                times.len() - 1
            });
            all.push(Expected {
                signature,
                parameters,
                slot: slot as u32,
            });
            before = signature;
        }
        times.shrink_to_fit();
        Some(Self {
            target,
            power: BASE.wrapping_pow(run.events as u32),
            run,
            deltas: Vec::with_capacity(all.len().max(KEPT)),
            events: all,
            next: 0,
            pending: 0,
            times,
            row,
        })
    }

    fn is_next(&self, before: u32, signature: u32, parameters: u32) -> bool {
        let last = self.events.last().map(|e| e.signature);
        let first = self.events.first().map(|e| (e.signature, e.parameters));
        (first, last) == (Some((signature, parameters)), Some(before))
    }

    /// Counts the times of whole iterations. Returns whether many are to be appended to the loop.
    pub fn count(&mut self) -> bool {
        let whole = self.deltas.len() - self.next;
        let length = self.events.len().max(1);
        let iterations = self.deltas.get(..whole).unwrap_or(&[]).chunks_exact(length);
        for (at, event) in self.events.iter().enumerate() {
            if let Some(slot) = self.times.get_mut(event.slot as usize) {
                slot.times.add_all(iterations.clone(), at);
            }
        }
        self.deltas.drain(..whole);
        self.pending >= MOST_PENDING
    }

    /// Takes out the events of the current iteration.
    fn interrupted(&mut self) -> Vec<Single> {
        self.count();
        self.next = 0;
        let mut before = self.events.last().map_or(0, |e| e.signature);
        let events = self.deltas.drain(..).zip(&self.events);
        let each = events.map(|(delta, event)| Single {
            signature: event.signature,
            parameters: event.parameters,
            before: std::mem::replace(&mut before, event.signature),
            delta,
        });
        each.collect()
    }

    /// Whether iterations can be appended to a node.
    fn fits(&self, node: &Node) -> bool {
        match (&node.kind, &*self.row) {
            (Kind::Event(_), [one]) => node.is_like(one),
            (Kind::Event(_), _) => false,
            (Kind::Loop(body), row) => fits(body, row),
        }
    }

    /// Appends the iterations that were followed to their loop, which is `node`.
    pub fn append_to(&mut self, node: &mut Node) {
        self.count();
        let times = std::mem::take(&mut self.pending);
        if times == 0 {
            return;
        }
        let mut number = 0;
        for row in &mut self.row {
            row.take_times(&mut self.times, &mut number);
        }
        node.trips.add_to_last(times as i64);
        match (&mut node.kind, &*self.row) {
            (Kind::Loop(body), row) => append_row(body, row, times, times),
            (Kind::Event(event), [one]) => {
                if let Kind::Event(same) = &one.kind {
                    event.append_times(same, times);
                }
            }
            _ => {}
        }
        self.row.iter_mut().for_each(Node::forget_times);
    }

    fn memory(&self) -> usize {
        bytes_of(&self.target.path)
            + bytes_of(&self.events)
            + bytes_of(&self.deltas)
            + bytes_of(&self.times)
            + self
                .times
                .iter()
                .map(|slot| slot.times.memory())
                .sum::<usize>()
            + bytes_of(&self.row)
            + self.row.iter().map(Node::memory).sum::<usize>()
    }
}

/// Whether each node of `row` is one of the `body`, in its order, and the same in loops.
fn fits(body: &[Node], row: &[Node]) -> bool {
    let mut nodes = body.iter();
    row.iter().all(|other| {
        let found = nodes.find(|node| node.is_like(other));
        match (found.map(|node| &node.kind), &other.kind) {
            (Some(Kind::Event(_)), _) => true,
            (Some(Kind::Loop(body)), Kind::Loop(row)) => fits(body, row),
            _ => false,
        }
    })
}

/// Appends a row that fits, `times` times; the body then ran `runs` times more.
fn append_row(body: &mut [Node], row: &[Node], times: u64, runs: u64) {
    let mut later = row.iter().peekable();
    for node in body {
        let Some(other) = later.next_if(|other| node.is_like(other)) else {
            node.trips.push_run(0, 0, runs);
            continue;
        };
        append_times(&mut node.trips, &other.trips, times);
        match (&mut node.kind, &other.kind) {
            (Kind::Event(event), Kind::Event(other)) => event.append_times(other, times),
            (Kind::Loop(body), Kind::Loop(row)) => {
                append_row(body, row, times, other.runs() * times);
            }
            _ => {}
        }
    }
}

/// Appends all values of another vector, `times` times.
fn append_times(vector: &mut Vector, other: &Vector, times: u64) {
    match other.terms() {
        [
            Term::Run {
                first,
                stride: 0,
                count,
            },
        ] => vector.push_run(*first, 0, count * times),
        _ => (0..times).for_each(|_| vector.append(other)),
    }
}

impl Event {
    fn append_times(&mut self, other: &Self, times: u64) {
        append_times(&mut self.parameters, &other.parameters, times);
        self.merge_times(other);
    }
}

impl Node {
    fn without_times(signature: u32, parameters: u32) -> Self {
        Self {
            trips: Vector::repeated(1, 1),
            kind: Kind::Event(Box::new(Event {
                signature,
                parameters: Vector::repeated(i64::from(parameters), 1),
                times: Vec::new(),
            })),
        }
    }

    fn forget_times(&mut self) {
        match &mut self.kind {
            Kind::Event(event) => event.times.clear(),
            Kind::Loop(body) => body.iter_mut().for_each(Self::forget_times),
        }
    }

    /// Takes the times of its events, of which the first has this number.
    fn take_times(&mut self, slots: &mut [Slot], number: &mut usize) {
        match &mut self.kind {
            Kind::Event(event) => {
                for slot in slots.iter_mut().filter(|slot| slot.event == *number) {
                    let times = std::mem::take(&mut slot.times);
                    event.times.push((slot.before, times));
                }
                *number += 1;
            }
            Kind::Loop(body) => {
                for node in body.iter_mut() {
                    node.take_times(slots, number);
                }
            }
        }
    }
}

/// Where the expansion of a node is.
struct Cursor<'a> {
    trips: Iter<'a>,
    what: What<'a>,
}

enum What<'a> {
    /// An event's number, its signature and its parameters.
    Event(usize, u32, Iter<'a>),
    Loop(Vec<Cursor<'a>>),
}

fn cursors<'a>(row: &'a [Node], number: &mut usize) -> Vec<Cursor<'a>> {
    let each = row.iter().map(|node| Cursor {
        trips: node.trips.iter(),
        what: match &node.kind {
            Kind::Event(event) => {
                *number += 1;
                What::Event(*number - 1, event.signature, event.parameters.iter())
            }
            Kind::Loop(body) => What::Loop(cursors(body, number)),
        },
    });
    each.collect()
}

/// Calls `event` with the number, the signature and the parameters of each event, until it returns `false`. Returns
/// whether it never did.
fn expand(row: &mut [Cursor], runs: u64, event: &mut impl FnMut(usize, u32, u32) -> bool) -> bool {
    for _ in 0..runs {
        for cursor in &mut *row {
            let trips = cursor.trips.next().unwrap_or(0).max(0) as u64;
            let goes_on = match &mut cursor.what {
                What::Loop(body) => expand(body, trips, event),
                What::Event(number, signature, parameters) => (0..trips).all(|_| {
                    let parameters = parameters.next().unwrap_or(0);
                    event(*number, *signature, parameters as u32)
                }),
            };
            if !goes_on {
                return false;
            }
        }
    }
    true
}
