//! Records the events of one thread: finds the numbers of signatures and parameters, and compresses the stream.

mod finish;

use crate::budget::{Budget, CHUNK, bytes_of, make_room, map_bytes, map_needed, needed};
use crate::compress::Stream;
use crate::identity::{hash, list_identity, signature_identity, text_identity};
use crate::likeness::{Slack, without_recursion};
use crate::lossy::{Lossy, Watch};
use crate::outliers::Collector;
use crate::times::Delta;
use crate::trace::{Frame, Kind, Signature};
use crate::vector::{Term, Vector};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The events of one thread.
#[derive(Debug)]
pub struct Recorder {
    stream: Stream,
    slack: Slack,
    budget: Arc<Budget>,
    /// Bytes of the budget that this recorder has taken.
    granted: usize,
    /// Bytes of the stream when it was measured last, and for the events until it is measured next.
    for_stream: usize,
    /// The number of the event before which the stream is measured next.
    measured_next: u64,
    /// Bytes of signatures, lists and texts, and of what the caller holds.
    held: usize,
    signatures: Vec<Known>,
    by_identity: FxHashMap<u64, u32>,
    /// All parameters, one after the other; `starts` has where each row begins.
    parameters: Vec<i64>,
    starts: Vec<u32>,
    /// By hash: the number of the first row of parameters that has it.
    by_parameters: FxHashMap<u64, u32>,
    lists: BTreeMap<i64, Vector>,
    texts: BTreeMap<i64, Vec<u8>>,
    lossy: Option<Lossy>,
    /// The values of the last event of which some were lost.
    shown: Vec<i64>,
    longest: Collector,
}

/// The most that an event adds to the stream, bytes: a node with its times, or some terms of vectors.
const PER_EVENT: usize = 2048;

/// The stream is measured once in so many events, and more often if little memory is left.
const MEASURED_EVERY: usize = 4096;
const MEASURED_AT_LEAST_EVERY: usize = 32;

/// What an entry of a tree takes beside its value, bytes.
const TREE_ENTRY: usize = 64;

/// The values of an event of some signature, by number.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    number: u32,
    stays: bool,
}

impl Row {
    /// The number, if later events of the signature with the same values have the same row.
    pub fn number(self) -> Option<u32> {
        self.stays.then_some(self.number)
    }

    /// The row that had this number.
    pub fn of(number: u32) -> Self {
        Self {
            number,
            stays: true,
        }
    }
}

#[derive(Clone, Debug)]
struct Known {
    signature: Signature,
    identity: u64,
    /// The number of the parameters of the last event.
    last: u32,
    /// Parameters that may become histograms.
    watch: Option<Box<Watch>>,
}

impl Recorder {
    /// Nothing recorded yet. The events may take up to `most_memory` bytes.
    pub fn new(most_memory: usize, slack: Slack) -> Self {
        Self::sharing(Arc::new(Budget::new(most_memory)), slack)
    }

    /// Nothing recorded yet. The memory is that of several recorders.
    pub fn sharing(budget: Arc<Budget>, slack: Slack) -> Self {
        Self {
            stream: Stream::new(),
            slack,
            budget,
            granted: 0,
            for_stream: 0,
            measured_next: 0,
            held: 0,
            signatures: Vec::new(),
            by_identity: FxHashMap::default(),
            parameters: Vec::new(),
            starts: vec![0],
            by_parameters: FxHashMap::default(),
            lists: BTreeMap::new(),
            texts: BTreeMap::new(),
            lossy: None,
            shown: Vec::new(),
            longest: Collector::default(),
        }
    }

    /// Parameters with many different values become histograms. Called before the first event.
    pub fn lossy(mut self, lossy: Lossy) -> Self {
        self.lossy = Some(lossy);
        self
    }

    /// Whether there are `more` bytes. If not, later events are only counted.
    fn has_room(&mut self, more: usize) -> bool {
        let needed = self.memory().saturating_add(more);
        let missing = needed.saturating_sub(self.granted);
        let has = !self.stream.has_ended() && (missing == 0 || self.budget.take(missing));
        if has {
            self.granted += missing;
        } else {
            self.stream.end();
        }
        has
    }

    /// Whether the caller may hold `bytes` more that belong to the trace. They count as memory of the recorder.
    pub fn charge(&mut self, bytes: usize) -> bool {
        let has = self.has_room(bytes);
        self.held += if has { bytes } else { 0 };
        has
    }

    /// Whether memory is used up, and later events are only counted.
    pub fn is_full(&self) -> bool {
        self.stream.has_ended()
    }

    /// Measures the stream, and takes the memory for the events until the next time. What is not needed is given back.
    #[cold]
    fn measure(&mut self) {
        self.stream.append_followed();
        self.for_stream = self.stream.memory();
        let memory = self.memory();
        let left = self.budget.left().saturating_add(self.granted);
        let events = (left.saturating_sub(memory) / 4 / PER_EVENT)
            .clamp(MEASURED_AT_LEAST_EVERY, MEASURED_EVERY);
        self.measured_next = self.stream.events() + events as u64;
        if self.has_room(events * PER_EVENT) {
            self.for_stream += events * PER_EVENT;
            let free = self.granted.saturating_sub(self.memory());
            self.granted -= free;
            self.budget.give_back(free);
        }
    }

    /// The number of the signature of a function at a call path, outermost frame first.
    pub fn signature(&mut self, function: &str, kinds: &[Kind], frames: &[Frame]) -> u32 {
        let frames = without_recursion(frames);
        let identity = signature_identity(function, &frames);
        if let Some(number) = self.by_identity.get(&identity) {
            return *number;
        }
        let like = self.like(function, &frames);
        let number = like.unwrap_or(self.signatures.len()) as u32;
        let map = &self.by_identity;
        let entry = map_needed(map.len(), map.capacity(), size_of::<(u64, u32)>());
        let own = match like {
            Some(_) => 0,
            None => function.len() + size_of_val(kinds) + size_of_val(&*frames) + 3 * CHUNK,
        };
        if !self.has_room(entry + own + needed(&self.signatures, 1)) {
            // Its events are only counted.
            return u32::MAX;
        }
        if like.is_none() {
            let signature = Signature {
                function: function.to_owned(),
                kinds: kinds.to_vec(),
                frames,
            };
            let lossy = self.lossy;
            let watch = lossy.and_then(|lossy| Watch::of(lossy, function, kinds));
            make_room(&mut self.signatures, 1);
            self.signatures.push(Known {
                signature,
                identity,
                last: u32::MAX,
                watch,
            });
            self.held += own;
        }
        self.by_identity.insert(identity, number);
        number
    }

    /// A signature that a new one may be taken for. Of very many ones, the first are compared: it bounds the work.
    fn like(&self, function: &str, frames: &[Frame]) -> Option<usize> {
        const COMPARED: usize = 4096;
        let compared = if self.slack.frames > 1 { COMPARED } else { 0 };
        self.signatures.iter().take(compared).position(|known| {
            known.signature.function == function
                && self.slack.allows(&known.signature.frames, frames)
        })
    }

    /// The identity of a signature and its call path.
    pub fn identity(&self, signature: u32) -> Option<(u64, &[Frame])> {
        let known = self.signatures.get(signature as usize)?;
        Some((known.identity, &known.signature.frames))
    }

    /// The identity of a list, as a value of an event.
    pub fn list(&mut self, values: &[i64]) -> i64 {
        let identity = list_identity(values.len() as u64, values.iter().copied());
        if !self.stream.has_ended()
            && !self.lists.contains_key(&identity)
            && let Some(list) = self.compressed(values)
        {
            self.held += list.whole_memory() + size_of::<Vector>() + TREE_ENTRY;
            self.lists.insert(identity, list);
        }
        identity
    }

    /// A list, if there is memory for it: one that does not compress takes four times as much as its values.
    fn compressed(&mut self, values: &[i64]) -> Option<Vector> {
        const PART: usize = 256;
        let mut list = Vector::default();
        for part in values.chunks(PART) {
            // What it has, what it grows by, and the terms of this part.
            let more = list.memory() * 9 / 8 + PART * 2 * size_of::<Term>();
            self.has_room(more).then_some(())?;
            part.iter().for_each(|value| list.push(*value));
        }
        list.shrink();
        let more = list.whole_memory() + size_of::<Vector>() + TREE_ENTRY;
        self.has_room(more).then_some(list)
    }

    /// The identity of a text, as a value of an event.
    pub fn text(&mut self, bytes: &[u8]) -> i64 {
        let identity = text_identity(bytes);
        let more = bytes.len() + size_of::<Vec<u8>>() + TREE_ENTRY;
        if !self.stream.has_ended() && !self.texts.contains_key(&identity) && self.has_room(more) {
            self.held += more;
            self.texts.insert(identity, bytes.to_vec());
        }
        identity
    }

    /// An event has happened, with values in the order of the signature's kinds. Returns whether it was expected, so that
    /// this took no longer than it mostly does.
    pub fn event(&mut self, signature: u32, values: &[i64], delta: Delta) -> bool {
        let row = self.row_of(signature, values);
        self.event_in_row(signature, row, delta)
    }

    /// As [`Self::event`], for the values of a row.
    #[inline]
    pub fn event_in_row(&mut self, signature: u32, row: Row, delta: Delta) -> bool {
        if self.stream.events() >= self.measured_next && !self.stream.has_ended() {
            self.measure();
        }
        if self.longest.see(signature, delta) {
            self.see_long(signature, delta.cpu);
        }
        self.stream.push(signature, row.number, delta)
    }

    /// The next event comes after a long computation.
    #[cold]
    fn see_long(&mut self, signature: u32, nanoseconds: u64) {
        let more = self.longest.needed();
        // Memory for events is worth more than this.
        let left = self.budget.left() + self.granted.saturating_sub(self.memory());
        let has_room = !self.stream.has_ended() && (more == 0 || left / 8 > more);
        let has_room = has_room && (more == 0 || self.has_room(more));
        let number = self.stream.events();
        self.longest.add(number, signature, nanoseconds, has_room);
    }

    /// The row of an event's values. Each event needs its own, unless the row stays.
    #[inline(never)]
    pub fn row_of(&mut self, signature: u32, values: &[i64]) -> Row {
        let number = match self.stream.expected(signature) {
            Some(expected) if self.lossy.is_none() && self.row(expected) == values => expected,
            // Events that come after the memory was used up take none.
            _ if self.stream.has_ended() => 0,
            _ if self.lossy.is_some() => self.parameters_shown(signature, values),
            _ => self.parameters_of(signature, values),
        };
        Row {
            number,
            stays: self.lossy.is_none() && !self.stream.has_ended(),
        }
    }

    /// Events that are recorded.
    pub fn events(&self) -> u64 {
        self.stream.events()
    }

    /// Bytes of memory, with those that the next events may need.
    pub fn memory(&self) -> usize {
        let of = |map: &FxHashMap<u64, u32>| map_bytes(map.capacity(), size_of::<(u64, u32)>());
        self.for_stream
            + self.longest.memory()
            + self.held
            + bytes_of(&self.signatures)
            + bytes_of(&self.parameters)
            + bytes_of(&self.starts)
            + of(&self.by_identity)
            + of(&self.by_parameters)
    }

    /// Events that came after the memory was used up.
    pub fn lost(&self) -> u64 {
        self.stream.lost()
    }

    fn row(&self, number: u32) -> &[i64] {
        let at = number as usize;
        match (self.starts.get(at), self.starts.get(at + 1)) {
            (Some(from), Some(to)) => self
                .parameters
                .get(*from as usize..*to as usize)
                .unwrap_or(&[]),
            _ => &[],
        }
    }

    #[inline]
    fn parameters_of(&mut self, signature: u32, values: &[i64]) -> u32 {
        let last = self
            .signatures
            .get(signature as usize)
            .map_or(u32::MAX, |known| known.last);
        if last != u32::MAX && self.row(last) == values {
            return last;
        }
        let number = self.number_of(signature, values);
        if let Some(known) = self.signatures.get_mut(signature as usize) {
            known.last = number;
        }
        number
    }

    /// As [`Self::parameters_of`], with [`LOST`] in place of values that are in histograms.
    fn parameters_shown(&mut self, signature: u32, values: &[i64]) -> u32 {
        let known = self.signatures.get_mut(signature as usize);
        let watch = known.and_then(|known| known.watch.take());
        let (Some(mut watch), Some(lossy)) = (watch, self.lossy) else {
            return self.parameters_of(signature, values);
        };
        let mut shown = std::mem::take(&mut self.shown);
        shown.clear();
        shown.extend_from_slice(values);
        if watch.see(lossy.terms, &mut shown) || watch.charged == 0 {
            let needed = watch.memory() + watch.more();
            if let Some(more) = needed.checked_sub(watch.charged).filter(|n| *n > 0)
                && self.charge(more)
            {
                watch.charged = needed;
            }
        }
        let number = self.parameters_of(signature, &shown);
        self.shown = shown;
        if let Some(known) = self.signatures.get_mut(signature as usize) {
            known.watch = Some(watch);
        }
        number
    }

    fn number_of(&mut self, signature: u32, values: &[i64]) -> u32 {
        let mut key = hash(u64::from(signature), values.iter().map(|v| *v as u64));
        while let Some(number) = self.by_parameters.get(&key) {
            if self.row(*number) == values {
                return *number;
            }
            key = key.wrapping_add(1);
        }
        let number = self.starts.len() as u32 - 1;
        let map = &self.by_parameters;
        let more = map_needed(map.len(), map.capacity(), size_of::<(u64, u32)>())
            + needed(&self.parameters, values.len())
            + needed(&self.starts, 1);
        if more > 0 && !self.has_room(more) {
            return 0;
        }
        make_room(&mut self.parameters, values.len());
        self.parameters.extend_from_slice(values);
        make_room(&mut self.starts, 1);
        self.starts.push(self.parameters.len() as u32);
        self.by_parameters.insert(key, number);
        number
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.budget.give_back(self.granted);
    }
}
