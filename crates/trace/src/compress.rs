//! Compresses the events of one stream, the calls of one thread, while they come (ScalaTrace II, sections 3.2 and 3.3).
//!
//! Events are appended to a row. Whenever the end of the row repeats what came before it, both become a loop: the
//! nearest earlier node that ends with the same event ends the iteration before, and the nearest one that begins with
//! the same event begins it. Iterations may differ in between (`align`), the first two in length by a factor of three.
//!
//! The paper delays each merge until the next iteration was seen, because an inner loop may go on after the first of
//! its trips completed an outer iteration. Here values are appended to the most recent run, so a trailing trip is
//! merged into the inner loop of that run when it comes, and nothing is pending.
//!
//! Most programs repeat a loop many times without a difference. Its iterations are followed and counted (`follow`).
//!
//! The work per event is bounded by [`WINDOW`]. When memory is used up (`recorder`), later events are counted and not
//! kept.

mod again;
mod durations;
mod follow;
mod loop_body;
mod node;

pub use durations::{Durations, Short};
pub use loop_body::LoopBody;
pub use node::{Event, Kind, Node};

use crate::budget::{CHUNK, bytes_of, make_room};
use crate::times::Delta;
use crate::vector::{Term, Vector};
use again::{Place, at, find_loop, find_skipped, fit, run_again, run_as};
use follow::{Follower, Mark, Step};
use node::{Single, merge_rows};
use std::borrow::Cow;

/// Iterations of more nodes are not found.
const WINDOW: usize = 512;

/// The first two iterations of a loop may differ in their numbers of nodes by this factor.
const MOST_UNLIKE: usize = 3;

/// Loops are not nested deeper. A program whose loops cannot be found would nest one for each of its iterations. The
/// reader of a trace allows for some more, as merging ranks may add loops of one trip.
const DEEPEST: usize = 64;

/// The events of one stream.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    row: Vec<Entry>,
    /// By signature: one more than the position of the last entry that begins, and that ends, with it; 0 for none.
    begins: Vec<u32>,
    ends: Vec<u32>,
    before: u32,
    /// Used again and again.
    positions: Vec<u32>,
    follower: Follower,
    /// The end of what is in the row, or was followed.
    mark: Mark,
    events: u64,
    ended: bool,
    lost: u64,
}

#[derive(Clone, Debug)]
struct Entry {
    item: Item,
    first: u32,
    last: u32,
    /// As in [`Stream::begins`] and [`Stream::ends`] before this entry.
    begins_before: u32,
    ends_before: u32,
}

#[derive(Clone, Debug)]
enum Item {
    Single(Single),
    Node(Node),
}

impl From<Item> for Node {
    fn from(item: Item) -> Self {
        match item {
            Item::Single(single) => Self::from(&single),
            Item::Node(node) => node,
        }
    }
}

/// The signature before the first event.
pub const BEGIN: u32 = u32::MAX;

impl Stream {
    /// A stream without events.
    pub fn new() -> Self {
        Self {
            before: BEGIN,
            ..Self::default()
        }
    }

    /// Appends an event of the signature with these parameters, both by number. Returns whether it was expected.
    #[inline]
    pub fn push(&mut self, signature: u32, parameters: u32, delta: Delta) -> bool {
        if self.ended {
            self.lost += 1;
            return true;
        }
        self.events += 1;
        match self
            .follower
            .step(signature, parameters, delta, &mut self.mark)
        {
            Step::Expected => return true,
            Step::Full => self.count_followed(),
            Step::Other => self.push_other(signature, parameters, delta),
        }
        false
    }

    /// The parameters of the next event, if this is its signature and a loop goes on as before.
    #[inline]
    pub fn expected(&self, signature: u32) -> Option<u32> {
        self.follower.expected(signature)
    }

    /// Appends an event that is not the expected one.
    #[inline(never)]
    fn push_other(&mut self, signature: u32, parameters: u32, delta: Delta) {
        self.settle();
        let Self {
            follower,
            row,
            before,
            mark,
            ..
        } = self;
        if follower.begin(row, *before, signature, parameters) {
            follower.step(signature, parameters, delta, mark);
            return;
        }
        self.push_single(Single {
            signature,
            parameters,
            before: self.before,
            delta,
        });
    }

    fn push_single(&mut self, single: Single) {
        let signature = single.signature;
        self.before = signature;
        self.mark.add(signature, single.parameters);
        self.enter(Item::Single(single), signature, signature);
        while self.fold() {}
    }

    /// Brings all events into the row. Nothing is followed any more.
    pub fn settle(&mut self) {
        self.append_followed();
        for single in self.follower.end(self.mark) {
            self.push_single(single);
        }
    }

    /// Counts the times of what was followed, and appends many iterations to their loop.
    #[cold]
    fn count_followed(&mut self) {
        if let Some(pattern) = self.follower.current()
            && pattern.count()
        {
            self.append_followed();
        }
    }

    /// Appends the iterations that were followed to their loop.
    pub fn append_followed(&mut self) {
        if let Some(pattern) = self.follower.current()
            && let Some(Entry {
                item: Item::Node(node),
                ..
            }) = self.row.last_mut()
            && let Some(node) = at(node, &pattern.target.path)
        {
            pattern.append_to(node);
        }
    }

    /// Events that are in the stream.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Events that came after the memory was used up.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// The row of nodes, which ran once.
    pub fn finish(mut self) -> Vec<Node> {
        self.settle();
        self.row
            .into_iter()
            .map(|entry| entry.item.into())
            .collect()
    }

    /// The nodes of the row, one after the other. What is followed is in it after [`Self::settle`].
    pub fn nodes(&self) -> impl Iterator<Item = Cow<'_, Node>> {
        self.row.iter().map(|entry| match &entry.item {
            Item::Single(single) => Cow::Owned(Node::from(single)),
            Item::Node(node) => Cow::Borrowed(node),
        })
    }

    /// Later events are only counted.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Whether later events are only counted.
    #[inline]
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Bytes of memory. Events that may soon be part of a loop count as what they are then.
    pub fn memory(&self) -> usize {
        const AS_A_NODE: usize = size_of::<Node>()
            + size_of::<Event>()
            + size_of::<(u32, Durations)>()
            + size_of::<Short>()
            + 2 * size_of::<Term>()
            + 5 * CHUNK;
        let nodes = self.row.iter().map(|entry| match &entry.item {
            Item::Single(_) => 0,
            Item::Node(node) => node.memory(),
        });
        let recent = self.row.iter().rev().take(2 * WINDOW);
        let recent = recent.filter(|entry| entry.item.is_single()).count();
        nodes.sum::<usize>()
            + recent * AS_A_NODE
            + bytes_of(&self.row)
            + bytes_of(&self.begins)
            + bytes_of(&self.ends)
            + bytes_of(&self.positions)
            + self.follower.memory(AS_A_NODE)
    }

    fn enter(&mut self, item: Item, first: u32, last: u32) {
        let most = first.max(last) as usize;
        if self.begins.len() <= most {
            for of in [&mut self.begins, &mut self.ends] {
                make_room(of, most + 1 - of.len());
                of.resize(most + 1, 0);
            }
        }
        let position = self.row.len() as u32 + 1;
        let begins_before = std::mem::replace(&mut self.begins[first as usize], position);
        let ends_before = std::mem::replace(&mut self.ends[last as usize], position);
        make_room(&mut self.row, 1);
        self.row.push(Entry {
            item,
            first,
            last,
            begins_before,
            ends_before,
        });
    }

    fn leave(&mut self) -> Option<Entry> {
        let entry = self.row.pop()?;
        self.begins[entry.first as usize] = entry.begins_before;
        self.ends[entry.last as usize] = entry.ends_before;
        Some(entry)
    }

    /// Takes the entries from `from` on out of the row.
    fn take_from(&mut self, from: usize) -> Vec<Node> {
        let mut taken = Vec::with_capacity(self.row.len() - from);
        while self.row.len() > from {
            taken.extend(self.leave().map(|entry| Node::from(entry.item)));
        }
        taken.reverse();
        taken
    }

    /// Merges the end of the row with what it repeats. Returns whether it repeats something.
    fn fold(&mut self) -> bool {
        let Some(tail) = self.row.last() else {
            return false;
        };
        // The nearest entry that ends with the same event ends the iteration before, and the last one begins after it.
        let (last, head) = (tail.last, tail.ends_before as usize);
        if head == 0 || self.row.len() - head > WINDOW {
            return false;
        }
        let first = self.row[head].first;
        if let Item::Node(node) = &self.row[head - 1].item {
            if let Some(place) = find_loop(node, first, self.row.len() - head) {
                return self.run_again(head, &place);
            }
            if let Some(path) = find_skipped(node, &self.row[head..], &mut self.positions) {
                return self.go_on(head, &path);
            }
        }
        let is_event = self.row.len() == head + 1;
        if is_event
            && let [
                ..,
                Entry {
                    item: Item::Single(_),
                    ..
                },
                Entry {
                    item: Item::Single(_),
                    ..
                },
            ] = &*self.row
        {
            let later = self.take_from(head);
            let mut event = self.take_from(head - 1);
            if let (Some(event), Some(later)) = (event.first_mut(), later.into_iter().next()) {
                event.trips.add_to_last(1);
                event.join(later);
            }
            self.enter_all(event, last);
            return true;
        }
        let begin = self.row[head].begins_before as usize;
        if begin == 0
            || head - begin >= WINDOW
            || (begin == head && is_event && self.row[head].item.is_single())
        {
            return false;
        }
        let begin = begin - 1;
        // What only begins and ends alike is no iteration of the same loop.
        let (first_length, second_length) = (head - begin, self.row.len() - head);
        if first_length.max(second_length) > MOST_UNLIKE * first_length.min(second_length) {
            return false;
        }
        if self.row[begin..]
            .iter()
            .any(|entry| entry.item.depth() >= DEEPEST)
        {
            return false;
        }
        let second = self.take_from(head);
        let first_row = self.take_from(begin);
        let body = merge_rows(first_row, 1, second, 1);
        self.enter(
            Item::Node(Node {
                trips: Vector::repeated(2, 1),
                kind: Kind::Loop(Box::new(body.into())),
            }),
            first,
            last,
        );
        true
    }

    fn enter_all(&mut self, nodes: Vec<Node>, last: u32) {
        for node in nodes {
            let first = node.first().unwrap_or(last);
            self.enter(Item::Node(node), first, last);
        }
    }

    /// The entries from `head` on are another run of the loop at `place` in the entry before them.
    fn run_again(&mut self, head: usize, place: &Place) -> bool {
        if place.part.is_none()
            && let Some(later) = self.row.get(head..)
        {
            self.follower.ran(head - 1, &place.path, self.mark, later);
        }
        let (before, later) = self.row.split_at_mut(head);
        if let Some(Entry {
            item: Item::Node(node),
            ..
        }) = before.last_mut()
            && place.part.is_none()
            && let Some(node) = at(node, &place.path)
            && let Some(positions) = fit(node, later, &mut self.positions)
        {
            run_as(node, later, positions);
            while self.row.len() > head {
                self.leave();
            }
        } else {
            let later = self.take_from(head);
            if let Some(Entry {
                item: Item::Node(node),
                ..
            }) = self.row.last_mut()
            {
                run_again(node, &place.path, place.part, later);
            }
        }
        self.ends_now_with(head - 1);
        true
    }

    /// The entries from `head` on are what the last run of the loop on a way into the entry before them has skipped.
    fn go_on(&mut self, head: usize, path: &[usize]) -> bool {
        let later = self.take_from(head);
        if let Some(Entry {
            item: Item::Node(node),
            ..
        }) = self.row.last_mut()
            && let Some(Node {
                kind: Kind::Loop(body),
                ..
            }) = at(node, path)
        {
            for (later, position) in later.into_iter().zip(&self.positions) {
                if let Some(node) = body.get_mut(*position as usize) {
                    node.trips.add_to_last(later.runs() as i64);
                    node.join(later);
                }
            }
        }
        self.ends_now_with(head - 1);
        true
    }

    /// The last entry, at `position`, ends with the last event from now on.
    fn ends_now_with(&mut self, position: usize) {
        let last = self.before;
        let Some(entry) = self
            .row
            .get_mut(position)
            .filter(|entry| entry.last != last)
        else {
            return;
        };
        self.ends[entry.last as usize] = entry.ends_before;
        entry.last = last;
        entry.ends_before = std::mem::replace(&mut self.ends[last as usize], position as u32 + 1);
    }
}

impl Item {
    /// In place of what was taken out.
    const NOTHING: Self = Self::Single(Single {
        signature: BEGIN,
        parameters: 0,
        before: BEGIN,
        delta: Delta {
            wall: 0,
            cpu: 0,
            call: 0,
        },
    });

    /// Whether it may be another run of the node.
    fn fits(&self, node: &Node) -> bool {
        match (self, &node.kind) {
            (Self::Single(single), Kind::Event(event)) => single.signature == event.signature,
            (Self::Single(_), Kind::Loop(_)) => false,
            (Self::Node(other), _) => node.is_like(other),
        }
    }

    fn is_single(&self) -> bool {
        matches!(self, Self::Single(_))
    }

    fn depth(&self) -> usize {
        match self {
            Self::Single(_) => 0,
            Self::Node(node) => node.depth(),
        }
    }
}
