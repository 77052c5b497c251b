//! Times of events. They come after all nodes: how often an event ran is known then, and so is what ran before it, or may
//! have.

use super::Error;
use super::body::Body;
use super::candidates::{CANDIDATES, ends, push_new, runs};
use super::codec::{Coder, Field, NOTHING};
use super::runs::Before;
use crate::times::{BUCKETS, Histogram, Times, bucket};
use crate::trace::{Body as What, Node, Trace};
use std::collections::BTreeMap;

/// Which durations a histogram has.
#[derive(Clone, Copy)]
enum Of {
    Wall,
    Cpu,
    Call,
}

/// Bits of two numbers of the last histogram of such durations.
#[derive(Clone, Copy, Default)]
pub(super) struct Last {
    min: u32,
    spread: u32,
}

impl<C: Coder> Body<'_, C> {
    /// The times of a row's events. `before` are the events that may run before its first one, the most likely one
    /// first; `begun` is how often all ranks begin it, if that is known.
    pub(super) fn row_times(
        &mut self,
        row: &mut [Node],
        given: Option<&[Node]>,
        before: &[u64],
        begun: u64,
    ) -> Result<(), Error> {
        let all = self.sets.first().map_or(0, |ranks| ranks.len());
        // From here on back to the beginning of the row, and whether it surely ran.
        let mut earlier: Vec<(u64, bool)> = Vec::new();
        for (i, node) in row.iter_mut().enumerate() {
            let runs = runs(node);
            let mut may = Vec::new();
            let again = runs.repeated.then(|| node.last()).flatten();
            let mut reaches_begin = true;
            for (last, sure) in earlier.iter().rev().take(CANDIDATES) {
                push_new(&mut may, *last);
                if *sure {
                    reaches_begin = false;
                    break;
                }
            }
            if reaches_begin {
                before.iter().for_each(|one| push_new(&mut may, *one));
            }
            may.truncate(CANDIDATES);
            let given = given.and_then(|row| row.get(i));
            let entries = if i == 0 { begun } else { 0 };
            match &mut node.body {
                What::Event(event) => {
                    if let Some(again) = again {
                        push_new(&mut may, again);
                    }
                    let given = match given.map(|node| &node.body) {
                        Some(What::Event(event)) => Some(&event.times),
                        _ => None,
                    };
                    let entry = self.signatures.number(event.signature);
                    self.function = self.signatures.kinds(entry.unwrap_or(usize::MAX)).0;
                    event.times = match self.runs.as_mut().map(Iterator::next) {
                        Some(counts) => self.counted_times(given, &counts.unwrap_or_default())?,
                        None => self.times(given, &may, runs.all, entries)?,
                    };
                }
                What::Loop(body) => {
                    let mut lasts = Vec::new();
                    ends(body, all, &mut lasts, 0);
                    lasts.iter().for_each(|last| push_new(&mut may, *last));
                    let given = match given.map(|node| &node.body) {
                        Some(What::Loop(row)) => Some(row.as_slice()),
                        _ => None,
                    };
                    self.row_times(body, given, &may, runs.begun)?;
                }
            }
            let sure = runs.sure && runs.ranks == all;
            let mut lasts = Vec::new();
            ends(std::slice::from_ref(node), all, &mut lasts, 0);
            let sure_of = lasts.len().saturating_sub(1);
            // The most likely one is looked at first, so it comes last here.
            for (j, last) in lasts.iter().enumerate().rev() {
                earlier.push((*last, sure && j == sure_of));
            }
        }
        Ok(())
    }

    /// Times by the event before; `may` are the likely ones.
    fn times(
        &mut self,
        given: Option<&BTreeMap<u64, Box<Times>>>,
        may: &[u64],
        runs: u64,
        entries: u64,
    ) -> Result<BTreeMap<u64, Box<Times>>, Error> {
        let place = |identity: &u64| may.iter().position(|one| one == identity);
        let mut of: Vec<(u64, &Times)> = given
            .iter()
            .flat_map(|times| {
                times
                    .iter()
                    .map(|(before, times)| (*before, times.as_ref()))
            })
            .collect();
        of.sort_by_key(|(before, _)| (place(before).unwrap_or(usize::MAX), *before));
        let kind = u32::from(may.len() > 1);
        let count = self.count(Field::Runs, kind, of.len())?;
        let mut times = BTreeMap::new();
        let mut left = runs;
        let mut next = 0;
        for i in 0..count {
            let one = of.get(i as usize).copied();
            // How many candidates are left out, or that it is none of them.
            let symbol = one.map_or(0, |(before, _)| match place(&before) {
                Some(at) => at.saturating_sub(next) as u64 + 1,
                None => 0,
            });
            let context = kind * 2 + u32::from(i > 0);
            let before = match self.coder.number(Field::Before, context, symbol)? {
                0 => {
                    let is_begin = one.is_some_and(|(before, _)| before == crate::trace::BEGIN);
                    if self.coder.flag(Field::Before, 8, is_begin)? {
                        crate::trace::BEGIN
                    } else {
                        self.signature(one.map(|(before, _)| before))?.0
                    }
                }
                symbol => {
                    let at = (next as u64).saturating_add(symbol - 1);
                    next = usize::try_from(at)
                        .map_err(|_| Error::Malformed)?
                        .saturating_add(1);
                    *may.get(next - 1).ok_or(Error::Malformed)?
                }
            };
            let is_last = i + 1 == count;
            let expected = match (is_last, entries) {
                (true, _) => left,
                (false, 0) => left / 2,
                (false, entries) => entries,
            };
            let one = one.map(|(_, times)| times);
            let written = self.all_times(one, expected, u32::from(is_last))?;
            left = left.saturating_sub(written.wall.count);
            times.insert(before, Box::new(written));
        }
        Ok(times)
    }

    /// Times of so many executions behind each event.
    fn counted_times(
        &mut self,
        given: Option<&BTreeMap<u64, Box<Times>>>,
        counts: &Before,
    ) -> Result<BTreeMap<u64, Box<Times>>, Error> {
        let mut times = BTreeMap::new();
        for (before, count) in counts {
            let one = given.and_then(|times| times.get(before)).map(AsRef::as_ref);
            times.insert(*before, Box::new(self.three(one, [*count; 3])?));
        }
        Ok(times)
    }

    fn all_times(
        &mut self,
        given: Option<&Times>,
        expected: u64,
        context: u32,
    ) -> Result<Times, Error> {
        let counts = given.map(|times| [times.wall.count, times.cpu.count, times.call.count]);
        let counts = counts.unwrap_or_default();
        let as_expected = counts == [expected; 3];
        let counts = if self.coder.flag(Field::Same, context, as_expected)? {
            [expected; 3]
        } else {
            let first = self.coder.number(Field::Runs, 4, counts[0])?;
            if self.coder.flag(Field::Same, 2, counts == [first; 3])? {
                [first; 3]
            } else {
                let second = self.coder.number(Field::Runs, 5, counts[1])?;
                [first, second, self.coder.number(Field::Runs, 5, counts[2])?]
            }
        };
        self.three(given, counts)
    }

    /// Three histograms of so many durations.
    fn three(&mut self, given: Option<&Times>, counts: [u64; 3]) -> Result<Times, Error> {
        let [wall, cpu, call] = counts;
        let wall = self.histogram(given.map(|times| &times.wall), wall, Of::Wall, None)?;
        let is_same = given.is_some_and(|times| times.wall == times.cpu);
        let cpu = if self.coder.flag(Field::Same, 3, is_same)? {
            wall.clone()
        } else {
            self.histogram(given.map(|times| &times.cpu), cpu, Of::Cpu, Some(&wall))?
        };
        let call = self.histogram(given.map(|times| &times.call), call, Of::Call, None)?;
        self.coder.about(NOTHING);
        Ok(Times { wall, cpu, call })
    }

    fn histogram(
        &mut self,
        given: Option<&Histogram>,
        count: u64,
        of: Of,
        base: Option<&Histogram>,
    ) -> Result<Histogram, Error> {
        let usual = given.is_some_and(is_regular);
        self.about(of, [0; 3]);
        if !self.coder.flag(Field::Regular, of as u32, usual)? {
            return self.irregular(given, count);
        }
        let mut made = Histogram {
            count,
            ..Histogram::default()
        };
        if count == 0 {
            return Ok(made);
        }
        let context = of as u32 * 2 + u32::from(count > 1);
        let one = given.cloned().unwrap_or_default();
        // From here on all durations are in ticks, but for the buckets.
        let tick = self.tick;
        let in_nanoseconds = |ticks: u64| ticks.checked_mul(1 << tick).ok_or(Error::Malformed);
        // CPU time is near wall time where the process had its core.
        let base = base.filter(|base| base.count == count);
        let base_of = |get: fn(&Histogram) -> u64| base.map(|base| get(base) >> tick);
        let last = self.last.get(of as usize).copied().unwrap_or_default();
        self.about(of, [bits(count), last.min, 0]);
        let min = self.near(Field::Min, context, one.min >> tick, base_of(|h| h.min))?;
        let spread = one.max.wrapping_sub(one.min) >> tick;
        let spread = match count {
            1 => 0,
            _ => {
                let base = base_of(|h| h.max.wrapping_sub(h.min));
                self.about(of, [bits(count), bits(min), last.spread]);
                self.near(Field::Spread, context, spread, base)?
            }
        };
        let last = Last {
            min: bits(min),
            spread: bits(spread),
        };
        if let Some(place) = self.last.get_mut(of as usize) {
            *place = last;
        }
        let max = min.checked_add(spread).ok_or(Error::Malformed)?;
        made.min = in_nanoseconds(min)?;
        made.max = in_nanoseconds(max)?;
        self.buckets(&mut made, &one, of, base)?;
        self.about(of, [bits(count), last.min, last.spread]);
        let (least, most) = sums(count, min, max).ok_or(Error::Malformed)?;
        let sum = one.sum >> tick;
        let sum = match base_of(|h| h.sum).filter(|_| count > 2 && spread > 0) {
            Some(base) => self.near(Field::Sum, context, sum, Some(base))?,
            None if least == most => least,
            None => {
                let expected = (usual_sum(&made) >> tick).saturating_sub(least);
                let context = bits(count).min(9) * 4 + of as u32;
                let more = sum.wrapping_sub(least);
                let more = self.coder.around(Field::Sum, context, more, expected)?;
                least.checked_add(more).ok_or(Error::Malformed)?
            }
        };
        made.sum = in_nanoseconds(sum)?;
        is_regular(&made).then_some(made).ok_or(Error::Malformed)
    }

    /// Says what the numbers that follow may depend on: the event's function, and these.
    fn about(&mut self, of: Of, [a, b, c]: [u32; 3]) {
        let of = |number: u32| number << 2 | of as u32;
        // 0 is nothing.
        self.coder
            .about([of(self.function), of(a), of(b), of(c)].map(|hint| hint + 1));
    }

    /// What lies in each bucket between those of the shortest and the longest; these have one at least.
    fn buckets(
        &mut self,
        made: &mut Histogram,
        given: &Histogram,
        of: Of,
        base: Option<&Histogram>,
    ) -> Result<(), Error> {
        let (first, last) = (bucket(made.min), bucket(made.max));
        if self.has_round_times && first < last {
            return self.round_buckets(made, given, of, base);
        }
        let middle = usize::midpoint(first, last);
        let mut left = made.count;
        for b in first..=last {
            let reserved = u64::from(b < last);
            let taken = u64::from(b == first && b < last);
            let free = left.checked_sub(reserved + taken).ok_or(Error::Malformed)?;
            let here = if b == last || free == 0 {
                free
            } else {
                let here = u64::from(given.buckets.get(b).copied().unwrap_or(0));
                let here = here.saturating_sub(taken).min(free);
                let theirs = base.and_then(|base| base.buckets.get(b));
                let theirs = theirs.map(|n| u64::from(*n).saturating_sub(taken));
                self.part(
                    here,
                    free,
                    (b as i64 - middle as i64).clamp(-2, 2) + 2,
                    of,
                    theirs,
                )?
            };
            let all = if b == last { left } else { here + taken };
            left -= all;
            let all = u32::try_from(all).map_err(|_| Error::Malformed)?;
            if let Some(place) = made.buckets.get_mut(b) {
                *place = all;
            }
        }
        Ok(())
    }

    /// The same of a round histogram: which bucket is the largest, which has the rest, and how much smaller the others
    /// are.
    fn round_buckets(
        &mut self,
        made: &mut Histogram,
        given: &Histogram,
        of: Of,
        base: Option<&Histogram>,
    ) -> Result<(), Error> {
        let (first, last) = (bucket(made.min), bucket(made.max));
        let is_like = base.is_some_and(|base| base.buckets == given.buckets);
        if let Some(base) = base
            && self.coder.flag(Field::Near, 16, is_like)?
        {
            made.buckets = base.buckets;
            return Ok(());
        }
        let all = bits(made.count);
        let span = (last - first) as u32;
        let [low, high] = [first as u32, last as u32];
        self.about(of, [span * 32 + all, span * 32 + low, high * 32 + low]);
        let context = 256 + (of as u32 * BUCKETS as u32) + span;
        let largest = given.largest().saturating_sub(first);
        let largest = self.count(Field::Half, context, largest)?;
        let largest = largest.saturating_add(first as u64).min(BUCKETS as u64) as i64;
        let mut left = made.count;
        let mut before = 0;
        for b in first..=last {
            let distance = b as i64 - largest;
            if distance == 0 {
                continue;
            }
            let here = u64::from(given.buckets.get(b).copied().unwrap_or(0));
            let is_end = u32::from(b == first || b == last);
            let context = (distance.clamp(-2, 2) + 2) as u32;
            let context = (context * 2 + is_end) * 3 + before.min(2);
            let from = (distance + BUCKETS as i64) as u32;
            let ends = (last - b) as u32 * 32 + (b - first) as u32;
            self.about(
                of,
                [from * 64 + all, (from * 64 + before) * 2 + is_end, ends],
            );
            // How many bits fewer than all it has; 0 if there are none.
            let fewer = match here {
                0 => 0,
                here => u64::from(all.saturating_sub(bits(here))) + 1,
            };
            // The buckets of the shortest and the longest have some.
            let least = u64::from(is_end);
            let fewer = fewer.saturating_sub(least);
            let fewer = self.coder.number(Field::Bucket, 512 + context, fewer)?;
            let fewer = fewer.saturating_add(least);
            let here = match fewer {
                0 => 0,
                fewer => {
                    let bits = u64::from(all).checked_sub(fewer - 1);
                    let bits = bits.filter(|bits| (1..=32).contains(bits));
                    let bits = bits.ok_or(Error::Malformed)? as u32;
                    let second = bits > 1 && here >> (bits - 2) & 1 == 1;
                    let second =
                        bits > 1 && self.coder.flag(Field::Half, 300 + bits.min(4), second)?;
                    1_u64 << (bits - 1) | u64::from(second) << bits.saturating_sub(2)
                }
            };
            before = fewer.min(63) as u32;
            left = left.checked_sub(here).ok_or(Error::Malformed)?;
            if let Some(place) = made.buckets.get_mut(b) {
                *place = u32::try_from(here).map_err(|_| Error::Malformed)?;
            }
        }
        let rest = usize::try_from(largest).ok();
        let rest = rest.and_then(|largest| made.buckets.get_mut(largest));
        *rest.ok_or(Error::Malformed)? = u32::try_from(left).map_err(|_| Error::Malformed)?;
        Ok(())
    }

    /// A part of `free`, in a bucket near the one in the middle.
    fn part(
        &mut self,
        here: u64,
        free: u64,
        near_middle: i64,
        of: Of,
        theirs: Option<u64>,
    ) -> Result<u64, Error> {
        let context = near_middle as u32 * 4 + of as u32;
        if let Some(theirs) = theirs.filter(|theirs| *theirs <= free)
            && self
                .coder
                .flag(Field::Near, 8 + near_middle as u32, here == theirs)?
        {
            return Ok(theirs);
        }
        let is_most = self.coder.flag(Field::Half, context, here > free / 2)?;
        let smaller = if is_most {
            free.wrapping_sub(here)
        } else {
            here
        };
        let context = context * 2 + u32::from(is_most);
        let smaller = self
            .coder
            .below(Field::Bucket, context, smaller.min(free), free)?;
        Ok(if is_most { free - smaller } else { smaller })
    }

    /// A number, as its difference from another one if that is shorter.
    fn near(
        &mut self,
        field: Field,
        context: u32,
        value: u64,
        base: Option<u64>,
    ) -> Result<u64, Error> {
        if let Some(base) = base {
            let difference = value.wrapping_sub(base) as i64;
            let is_near = bits(difference.unsigned_abs()) < bits(value);
            if self.coder.flag(Field::Near, field as u32 + 32, is_near)? {
                let context = context + 64;
                let difference = self.coder.signed(field, context, difference)?;
                return Ok(base.wrapping_add(difference as u64));
            }
        }
        self.coder.number(field, context, value)
    }

    fn irregular(&mut self, given: Option<&Histogram>, count: u64) -> Result<Histogram, Error> {
        let one = given.cloned().unwrap_or_default();
        let mut made = Histogram {
            count,
            sum: self.coder.number(Field::Sum, 200, one.sum)?,
            min: self.coder.number(Field::Min, 200, one.min)?,
            max: self.coder.number(Field::Spread, 200, one.max)?,
            buckets: [0; BUCKETS],
        };
        for (made, given) in made.buckets.iter_mut().zip(one.buckets) {
            *made = self.u32(Field::Bucket, 200, given)?;
        }
        Ok(made)
    }
}

fn bits(value: u64) -> u32 {
    u64::BITS - value.leading_zeros()
}

/// What durations in these buckets usually sum up to, nanoseconds. The shortest and the longest are known.
fn usual_sum(h: &Histogram) -> u64 {
    let (first, last) = (bucket(h.min), bucket(h.max));
    let all = h.buckets.iter().enumerate();
    all.fold(h.min.saturating_add(h.max), |sum, (b, n)| {
        let known = u64::from(b == first) + u64::from(b == last);
        let [low, high] = [b.saturating_sub(1), b].map(|b| 1_u64 << (2 * b as u32));
        let low = low.max(h.min).min(h.max);
        let high = if b == last { h.max } else { high }.max(low);
        // Short ones are more frequent.
        let one = low + (high - low) / 8 * 3;
        sum.saturating_add(u64::from(*n).saturating_sub(known).saturating_mul(one))
    })
}

/// The least and the most that so many durations can sum up to.
fn sums(count: u64, min: u64, max: u64) -> Option<(u64, u64)> {
    let spread = max.checked_sub(min)?;
    if count < 2 {
        return Some((min, min));
    }
    let least = min.checked_mul(count)?.checked_add(spread)?;
    let most = max.checked_mul(count)?.checked_sub(spread)?;
    Some((least, most))
}

/// The largest power of two that all durations of a trace are multiples of.
pub(super) fn tick_of(trace: &Trace) -> u32 {
    let nodes = trace.streams.values().flatten();
    let times = nodes.flat_map(Node::times);
    let all = times.flat_map(|times| [&times.wall, &times.cpu, &times.call]);
    // One that overflowed is written as it is.
    let all = all.filter(|h| h.count > 0 && is_regular(h));
    let bits = all.fold(0, |bits, h| bits | h.min | h.max | h.sum);
    match bits {
        0 => 0,
        bits => bits.trailing_zeros(),
    }
}

/// Whether a histogram has what durations give, without an overflow.
fn is_regular(h: &Histogram) -> bool {
    if h.count == 0 {
        return *h == Histogram::default();
    }
    let total: u64 = h.buckets.iter().map(|n| u64::from(*n)).sum();
    let (first, last) = (bucket(h.min), bucket(h.max));
    let outside = h.buckets.iter().enumerate();
    let outside = outside.filter(|(b, n)| **n > 0 && (*b < first || *b > last));
    sums(h.count, h.min, h.max).is_some_and(|(least, most)| (least..=most).contains(&h.sum))
        && total == h.count
        && outside.count() == 0
        && h.buckets.get(first).is_some_and(|n| *n > 0)
        && h.buckets.get(last).is_some_and(|n| *n > 0)
}
