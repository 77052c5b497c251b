//! How long computation and calls took: histograms with exact count, sum, minimum and maximum (ScalaTrace II, section
//! 2.3).

use std::slice::ChunksExact;

/// Number of buckets. Bucket `b` has the values from `4^(b - 1)` to below `4^b` nanoseconds; the first has 0 alone and
/// the last has all longer ones.
pub const BUCKETS: usize = 20;

/// Nanoseconds between the ticks of a trace's clock. Each bit that a tick is finer by makes a trace larger. It is a power of 4,
/// so that longer buckets begin at a tick. Buckets shorter than a tick stay empty, but for that of 0.
pub const TICK: u64 = 64;

/// The last tick at or before a moment, nanoseconds. Durations between ticks add up to the time that passed, however many
/// they are.
#[inline]
pub const fn tick(nanoseconds: u64) -> u64 {
    nanoseconds & !(TICK - 1)
}

/// Durations, nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// How many.
    pub count: u64,
    /// Their sum, nanoseconds.
    pub sum: u64,
    /// The shortest, nanoseconds.
    pub min: u64,
    /// The longest, nanoseconds.
    pub max: u64,
    /// How many are in each bucket.
    pub buckets: [u32; BUCKETS],
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            count: 0,
            sum: 0,
            min: u64::MAX,
            max: 0,
            buckets: [0; BUCKETS],
        }
    }
}

/// The bucket of a duration.
#[inline]
pub fn bucket(nanoseconds: u64) -> usize {
    ((u64::BITS - nanoseconds.leading_zeros()).div_ceil(2) as usize).min(BUCKETS - 1)
}

/// The largest number of two bits and zeros behind them that is at most this one.
pub(crate) fn two_bits(n: u32) -> u32 {
    let shift = n.checked_ilog2().map_or(0, |bits| bits.saturating_sub(1));
    n >> shift << shift
}

impl Histogram {
    /// Counts a duration.
    #[inline]
    pub fn add(&mut self, nanoseconds: u64) {
        self.count += 1;
        self.sum = self.sum.saturating_add(nanoseconds);
        self.min = self.min.min(nanoseconds);
        self.max = self.max.max(nanoseconds);
        if let Some(n) = self.buckets.get_mut(bucket(nanoseconds)) {
            *n = n.saturating_add(1);
        }
    }

    /// Counts so many durations. The sums are in registers meanwhile.
    #[inline]
    fn add_all(&mut self, count: u64, all: impl Iterator<Item = u64>) {
        // No bucket has more than all of them.
        let count = self.count.saturating_add(count);
        if count > u64::from(u32::MAX) {
            return all.for_each(|nanoseconds| self.add(nanoseconds));
        }
        let (mut sum, mut min, mut max) = (self.sum, self.min, self.max);
        for nanoseconds in all {
            sum = sum.saturating_add(nanoseconds);
            min = min.min(nanoseconds);
            max = max.max(nanoseconds);
            if let Some(n) = self.buckets.get_mut(bucket(nanoseconds)) {
                *n = n.wrapping_add(1);
            }
        }
        (self.count, self.sum, self.min, self.max) = (count, sum, min, max);
    }

    /// Counts all that another one has.
    pub fn merge(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        for (mine, others) in self.buckets.iter_mut().zip(other.buckets) {
            *mine = mine.saturating_add(others);
        }
    }

    /// Rounds the counts of buckets down to two leading bits; the largest has the rest. So a share is exact to a third of
    /// itself, which is finer than the buckets are. Count, sum, minimum and maximum stay as they are.
    pub fn round(&mut self) {
        let largest = self.largest();
        let mut rest = 0;
        for (b, n) in self.buckets.iter_mut().enumerate() {
            if b != largest {
                let rounded = two_bits(*n);
                rest += *n - rounded;
                *n = rounded;
            }
        }
        if let Some(n) = self.buckets.get_mut(largest) {
            *n = n.saturating_add(rest);
        }
    }

    /// Whether rounding changes nothing.
    pub fn is_round(&self) -> bool {
        let largest = self.largest();
        let mut others = self.buckets.iter().enumerate();
        others.all(|(b, n)| b == largest || two_bits(*n) == *n)
    }

    /// The first of the buckets that have most.
    pub(crate) fn largest(&self) -> usize {
        let all = self.buckets.iter().enumerate();
        all.max_by_key(|(b, n)| (**n, std::cmp::Reverse(*b)))
            .map_or(0, |(b, _)| b)
    }

    /// Mean, nanoseconds; 0 without a duration.
    pub fn mean(&self) -> f64 {
        if self.count == 0 {
            0.0
        } else {
            self.sum as f64 / self.count as f64
        }
    }
}

/// What is known about the times of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Computation before the call, wall time.
    pub wall: Histogram,
    /// Computation before the call, CPU time.
    pub cpu: Histogram,
    /// The call itself.
    pub call: Histogram,
}

/// The times of one event, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// Computation before the call, wall time.
    pub wall: u64,
    /// Computation before the call, CPU time.
    pub cpu: u64,
    /// The call itself.
    pub call: u64,
}

impl Delta {
    /// The times of a call that began and ended at these moments, in ticks: the thread had left the call before it at `left`,
    /// and `cpu` nanoseconds of the time since then it had a core.
    #[inline]
    pub fn in_ticks(left: u64, entered: u64, now: u64, cpu: u64) -> Self {
        let wall = tick(entered).saturating_sub(tick(left));
        // A thread that had a core all the time has no second duration to store.
        let is_all = cpu >= entered.saturating_sub(left);
        let cpu = match is_all {
            true => wall,
            false => tick(cpu.saturating_add(TICK / 2)).min(wall),
        };
        let call = tick(now).saturating_sub(tick(entered));
        Self { wall, cpu, call }
    }
}

impl Times {
    /// Counts an event.
    #[inline]
    pub fn add(&mut self, delta: Delta) {
        self.wall.add(delta.wall);
        self.cpu.add(delta.cpu);
        self.call.add(delta.call);
    }

    /// Counts the event at a position in each of several iterations of a loop. This takes fewer instructions than
    /// [`Self::add`], above all if the thread computed on a core all the time, as it mostly does.
    pub fn add_all(&mut self, iterations: ChunksExact<Delta>, at: usize) {
        let count = iterations.len() as u64;
        let all = || iterations.clone().filter_map(|deltas| deltas.get(at));
        let is_same = self.cpu == self.wall && all().all(|delta| delta.cpu == delta.wall);
        self.wall.add_all(count, all().map(|delta| delta.wall));
        match is_same {
            true => self.cpu.clone_from(&self.wall),
            false => self.cpu.add_all(count, all().map(|delta| delta.cpu)),
        }
        self.call.add_all(count, all().map(|delta| delta.call));
    }

    /// Rounds all histograms.
    pub fn round(&mut self) {
        self.wall.round();
        self.cpu.round();
        self.call.round();
    }

    /// Counts all that another one has.
    pub fn merge(&mut self, other: &Self) {
        self.wall.merge(&other.wall);
        self.cpu.merge(&other.cpu);
        self.call.merge(&other.call);
    }
}
