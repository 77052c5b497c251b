//! Executions of computation that took much longer than the others at their place, by the number of the event that ended
//! them.
//!
//! Histograms and sums ([`crate::work`]) do not say *when* a rank was slow. If another rank is slow in each iteration, all
//! ranks have the same mean, and others wait for each of them in turn. So each stream has its longest executions one by
//! one: each at least 1/4096 of the stream's time and three times the mean of all shorter ones at its place, and together a
//! fifth of the stream's computation. A trace that stays has them only if those of all ranks are a quarter of the run. So
//! noise, which every program has, is in no trace.
//!
//! Memory is bounded: a stream cannot have more than 4096 executions of that length.

use crate::ranks::Ranks;
use crate::times::Delta;
use crate::trace::{Body, Node, Trace};
use crate::work::Place;
use std::collections::BTreeMap;

/// An execution is at least this part of the stream's time.
const SHARE: u64 = 4096;

/// An outlier is so many times as long as the mean of what is shorter.
const FAR: u128 = 3;

/// The outliers of a stream are at least this part of its computation.
const OF_COMPUTATION: u128 = 5;

/// So many are collected before those that are too short by now are dropped.
const COLLECTED: usize = 2 * SHARE as usize;

/// A trace of all ranks has at most so many. The longest ones are kept.
const MOST: usize = 1 << 16;

/// An execution that took much longer than others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Outlier {
    /// The number of the event behind it, in its stream.
    pub event: u64,
    /// CPU time, nanoseconds: five significant bits, rounded to the nearest.
    pub nanoseconds: u64,
}

/// Outliers of a thread by ranks that have the same ones. No rank is in two rows.
pub type Rows = Vec<(Vec<Outlier>, Ranks)>;

/// Outliers by thread.
pub type Outliers = BTreeMap<u32, Rows>;

/// A long execution in a stream that is being recorded.
#[derive(Clone, Copy, Debug)]
struct Long {
    event: u64,
    /// Numbers of signatures.
    signature: u32,
    before: u32,
    nanoseconds: u64,
}

/// Collects the outliers of a stream.
#[derive(Clone, Debug)]
pub(crate) struct Collector {
    /// Nanoseconds of the stream so far.
    total: u64,
    /// Shorter ones are none.
    from: u64,
    /// Signature of the last event.
    last: u32,
    long: Vec<Long>,
}

impl Default for Collector {
    fn default() -> Self {
        Self {
            total: 0,
            from: 0,
            last: crate::compress::BEGIN,
            long: Vec::new(),
        }
    }
}

impl Collector {
    /// Sees an event. Returns whether its computation may be an outlier.
    #[inline]
    pub fn see(&mut self, signature: u32, delta: Delta) -> bool {
        self.total = self.total.wrapping_add(delta.wall).wrapping_add(delta.call);
        let is_long = delta.cpu > self.from;
        if !is_long {
            self.last = signature;
        }
        is_long
    }

    /// Bytes that the next one needs.
    pub fn needed(&self) -> usize {
        crate::budget::needed(&self.long, 1)
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        crate::budget::bytes_of(&self.long)
    }

    /// Takes the computation before an event of this number; `has_room` says whether there is memory.
    pub fn add(&mut self, event: u64, signature: u32, nanoseconds: u64, has_room: bool) {
        let before = std::mem::replace(&mut self.last, signature);
        self.from = self.total / SHARE;
        if nanoseconds <= self.from {
            return;
        }
        if self.long.len() >= COLLECTED {
            let from = self.from;
            self.long.retain(|long| long.nanoseconds > from);
        }
        if has_room && self.long.len() < COLLECTED {
            crate::budget::make_room(&mut self.long, 1);
            self.long.push(Long {
                event,
                signature,
                before,
                nanoseconds,
            });
        }
    }

    /// Those that are outliers, now that all executions of their places are known. `identity` is that of a signature.
    pub fn outliers(
        &self,
        thread: u32,
        row: &[Node],
        identity: impl Fn(u32) -> u64,
    ) -> Vec<Outlier> {
        let mut places = BTreeMap::new();
        sums(row, thread, &mut places);
        let all = places.values().map(|(sum, _)| u128::from(*sum));
        let all: u128 = all.sum();
        let from = self.total / SHARE;
        let mut long: BTreeMap<Place, Vec<&Long>> = BTreeMap::new();
        for one in self.long.iter().filter(|one| one.nanoseconds > from) {
            let place = Place {
                thread,
                signature: identity(one.signature),
                before: identity(one.before),
            };
            long.entry(place).or_default().push(one);
        }
        let mut outliers = Vec::new();
        for (place, mut long) in long {
            let (sum, count) = places.get(&place).copied().unwrap_or((0, 0));
            long.sort_by_key(|one| std::cmp::Reverse((one.nanoseconds, one.event)));
            long.truncate(apart(long.iter().map(|one| one.nanoseconds), sum, count));
            outliers.extend(long.into_iter().map(|one| Outlier {
                event: one.event,
                nanoseconds: rounded(one.nanoseconds),
            }));
        }
        let sum: u128 = outliers.iter().map(|o| u128::from(o.nanoseconds)).sum();
        if sum * OF_COMPUTATION < all {
            return Vec::new();
        }
        outliers.sort();
        outliers
    }
}

/// How many of the longest executions at a place, the longest one first, are far longer than the mean of all others there.
fn apart(longest: impl Iterator<Item = u64>, sum: u64, count: u64) -> usize {
    let (mut sum, mut count, mut apart) = (u128::from(sum), u128::from(count), 0);
    for (i, nanoseconds) in longest.enumerate() {
        let nanoseconds = u128::from(nanoseconds);
        sum = sum.saturating_sub(nanoseconds);
        count = count.saturating_sub(1);
        if nanoseconds * count >= FAR * sum && count > 0 {
            apart = i + 1;
        }
    }
    apart
}

/// CPU time and executions by place.
pub(crate) fn sums(row: &[Node], thread: u32, all: &mut BTreeMap<Place, (u64, u64)>) {
    for node in row {
        match &node.body {
            Body::Loop(row) => sums(row, thread, all),
            Body::Event(event) => {
                for (before, times) in &event.times {
                    let place = Place {
                        thread,
                        signature: event.signature,
                        before: *before,
                    };
                    let (sum, count) = all.entry(place).or_default();
                    *sum = sum.saturating_add(times.cpu.sum);
                    *count = count.saturating_add(times.cpu.count);
                }
            }
        }
    }
}

/// Five significant bits, rounded to the nearest.
fn rounded(n: u64) -> u64 {
    let shift = n.checked_ilog2().map_or(0, |bits| bits.saturating_sub(4));
    let half = (1_u64 << shift) >> 1;
    n.saturating_add(half) >> shift << shift
}

/// A number of five significant bits in few, for the file: the place of the highest bit, then the four behind it.
pub(crate) fn code(n: u64) -> u64 {
    let bits = n.max(1).ilog2();
    let four = if bits >= 4 {
        n >> (bits - 4)
    } else {
        n << (4 - bits)
    };
    u64::from(bits) << 4 | four & 15
}

/// The number with this code; `None` if there is none.
pub(crate) fn of_code(code: u64) -> Option<u64> {
    let bits = code >> 4;
    let five = code & 15 | 16;
    match bits {
        0..4 => (five.trailing_zeros() as u64 + bits >= 4).then(|| five >> (4 - bits)),
        4..64 => Some(five << (bits - 4)),
        _ => None,
    }
}

impl Trace {
    /// Adds outliers of other ranks, or of other threads.
    pub(crate) fn add_outliers(&mut self, others: Outliers) {
        for (thread, rows) in others {
            let mine = self.outliers.entry(thread).or_default();
            for (outliers, ranks) in rows {
                match mine.binary_search_by(|(own, _)| own.cmp(&outliers)) {
                    Ok(at) => {
                        if let Some((_, all)) = mine.get_mut(at) {
                            all.unite(&ranks);
                        }
                    }
                    Err(at) => mine.insert(at, (outliers, ranks)),
                }
            }
        }
        self.bound_outliers(MOST);
    }

    /// Keeps the longest ones.
    fn bound_outliers(&mut self, most: usize) {
        let rows = || self.outliers.values().flatten();
        if rows().map(|(outliers, _)| outliers.len()).sum::<usize>() <= most {
            return;
        }
        let mut lengths: Vec<u64> = rows()
            .flat_map(|(outliers, _)| outliers.iter().map(|o| o.nanoseconds))
            .collect();
        let at = lengths.len() - most;
        let (_, longest_dropped, _) = lengths.select_nth_unstable(at.saturating_sub(1));
        let from = *longest_dropped;
        for rows in self.outliers.values_mut() {
            let mut kept = Rows::new();
            for (mut outliers, ranks) in std::mem::take(rows) {
                outliers.retain(|outlier| outlier.nanoseconds > from);
                if outliers.is_empty() {
                    continue;
                }
                match kept.binary_search_by(|(own, _)| own.cmp(&outliers)) {
                    Ok(at) => {
                        if let Some((_, all)) = kept.get_mut(at) {
                            all.unite(&ranks);
                        }
                    }
                    Err(at) => kept.insert(at, (outliers, ranks)),
                }
            }
            *rows = kept;
        }
        self.outliers.retain(|_, rows| !rows.is_empty());
    }

    /// Drops outliers that make no difference: those of a thread that together are less than a quarter of the run. This is
    /// done once before a trace is written to stay.
    pub fn drop_small_outliers(&mut self) {
        let ranks = u128::from(self.ranks.len().max(1));
        let run: u128 = self.streams.values().next().map_or(0, |row| time(row)) / ranks;
        self.outliers.retain(|_, rows| {
            let of = |(outliers, ranks): &(Vec<Outlier>, Ranks)| {
                let sum: u128 = outliers.iter().map(|o| u128::from(o.nanoseconds)).sum();
                sum * u128::from(ranks.len())
            };
            rows.iter().map(of).sum::<u128>() * 4 >= run
        });
    }

    /// The shortest outlier of a thread at each event that has one on any rank, in order.
    pub fn shortest_outliers(&self, thread: u32) -> Vec<Outlier> {
        let rows = self.outliers.get(&thread).map_or(&[][..], Vec::as_slice);
        let mut all: Vec<Outlier> = rows.iter().flat_map(|row| row.0.iter().copied()).collect();
        all.sort_unstable();
        all.dedup_by_key(|outlier| outlier.event);
        all
    }

    /// The outliers of a rank's thread, in order.
    pub fn outliers_of(&self, rank: u32, thread: u32) -> &[Outlier] {
        let rows = self.outliers.get(&thread).map_or(&[][..], Vec::as_slice);
        let own = rows.iter().find(|(_, ranks)| ranks.contains(rank));
        own.map_or(&[], |(outliers, _)| outliers)
    }
}

/// The outliers of a stream, while its events are read one by one.
#[derive(Debug)]
pub struct Upcoming<'a> {
    outliers: &'a [Outlier],
    /// Number of the next event.
    event: u64,
}

impl<'a> Upcoming<'a> {
    /// Before the first event.
    pub fn of(trace: &'a Trace, rank: u32, thread: u32) -> Self {
        Self::new(trace.outliers_of(rank, thread))
    }

    /// The same for some outliers, in order.
    pub fn new(outliers: &'a [Outlier]) -> Self {
        Self { outliers, event: 0 }
    }

    /// CPU time before the next event, nanoseconds, if that is an outlier.
    #[allow(
        clippy::should_implement_trait,
        reason = "most events have none, and that is no end"
    )]
    #[inline]
    pub fn next(&mut self) -> Option<u64> {
        let event = self.event;
        self.event += 1;
        let (first, rest) = self.outliers.split_first()?;
        if first.event != event {
            return None;
        }
        self.outliers = rest;
        Some(first.nanoseconds)
    }
}

/// Computation and calls of all ranks, nanoseconds.
fn time(row: &[Node]) -> u128 {
    let of = |node: &Node| match &node.body {
        Body::Loop(row) => time(row),
        Body::Event(event) => {
            let times = event.times.values();
            times
                .map(|t| u128::from(t.wall.sum) + u128::from(t.call.sum))
                .sum()
        }
    };
    row.iter().map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_all_rounded_numbers() {
        for n in (1..4096)
            .chain((12..63).map(|bits| 1 << bits))
            .chain([u64::MAX >> 5 << 4])
        {
            let n = rounded(n);
            assert_eq!(of_code(code(n)), Some(n), "{n}");
        }
        assert_eq!(of_code(64 << 4), None);
    }

    #[test]
    fn the_longest_ones_are_kept_whatever_the_order_of_merging() {
        let of = |rank: u32, all: &[(u64, u64)]| {
            let mut trace = Trace::of_rank(rank, 3);
            let all = all.iter().map(|(event, nanoseconds)| Outlier {
                event: *event,
                nanoseconds: *nanoseconds,
            });
            trace.outliers = [(0, vec![(all.collect(), Ranks::one(rank))])].into();
            trace
        };
        let three = [
            of(0, &[(1, 16), (4, 32)]),
            of(1, &[(1, 16), (4, 32)]),
            of(2, &[(2, 20)]),
        ];
        for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
            let mut all = Trace::default();
            for rank in order {
                all.merge(three[rank].clone());
            }
            assert_eq!(all.outliers[&0].len(), 2, "like ranks are one row");
            all.bound_outliers(2);
            let [a, b] = [0, 2].map(|rank| all.outliers_of(rank, 0).to_vec());
            assert_eq!((a.len(), b.len()), (1, 1), "{:?}", all.outliers);
            all.bound_outliers(1);
            assert!(all.outliers_of(2, 0).is_empty());
            assert_eq!(all.outliers_of(1, 0).len(), 1);
        }
    }
}
