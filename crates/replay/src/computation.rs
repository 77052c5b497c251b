//! What a replay does in place of the program's computation.
//!
//! The histograms of a trace are over all ranks. How much CPU time each rank takes at each place is in [`Trace::work`], so a
//! rank that computes longer than others does so in its replay.

use headwater_trace::times::{BUCKETS, Histogram, Times};
use headwater_trace::trace::Trace;
use headwater_trace::work::Place;
use rustc_hash::FxHashMap;
use std::time::{Duration, Instant};

/// What computation is replaced by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compute {
    /// A loop that keeps the core busy.
    #[default]
    Spin,
    /// Sleep, so that many ranks can share a core.
    Sleep,
    /// Nothing.
    None,
}

/// How long the computation before an event takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// As long as it took on average, so the sum is exact.
    #[default]
    Mean,
    /// Drawn from the histogram, the same each time.
    Sampled,
}

/// CPU time of one rank by place, as the means of all ranks say: signature of the call, and of the one before it.
#[derive(Debug, Default)]
pub struct Means(FxHashMap<(u64, u64), f64>);

impl Means {
    /// An event has as much CPU time before it, nanoseconds.
    pub fn add(&mut self, place: (u64, u64), cpu: f64) {
        *self.0.entry(place).or_default() += cpu;
    }

    /// How much longer or shorter the rank itself takes.
    pub fn own(&self, trace: &Trace, rank: u32, thread: u32) -> OwnWork {
        let factor = |((signature, before), mean): (&(u64, u64), &f64)| {
            let place = Place {
                thread,
                signature: *signature,
                before: *before,
            };
            let own = trace.work.own(place, rank, *mean);
            (*mean > 0.0 && own != *mean).then(|| ((*signature, *before), own / mean))
        };
        OwnWork(self.0.iter().filter_map(factor).collect())
    }
}

/// How many times as much CPU time a rank takes as the mean, where it differs.
#[derive(Clone, Debug, Default)]
pub struct OwnWork(FxHashMap<(u64, u64), f64>);

impl OwnWork {
    /// How many times as long a rank takes before an event as all do on average. What is not CPU time, as a sleep, is the
    /// same on all.
    #[inline]
    pub fn of(&self, place: (u64, u64), times: &Times) -> f64 {
        let Some(factor) = self.0.get(&place) else {
            return 1.0;
        };
        let wall = times.wall.mean();
        if wall <= 0.0 {
            return 1.0;
        }
        (1.0 + times.cpu.mean() / wall * (factor - 1.0)).max(0.0)
    }
}

/// Draws durations.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    pace: Pace,
    state: u64,
}

impl Draw {
    /// For one thread of a rank.
    pub fn new(pace: Pace, rank: u32, thread: u32) -> Self {
        Self {
            pace,
            state: 0x9e37_79b9_7f4a_7c15 ^ u64::from(rank) << 17 ^ u64::from(thread) << 49,
        }
    }

    /// A duration of a histogram, nanoseconds.
    pub fn of(&mut self, times: &Histogram) -> f64 {
        match self.pace {
            Pace::Mean => times.mean(),
            Pace::Sampled => self.sample(times),
        }
    }

    /// A value of a bucket, which is drawn first. Values within buckets are not known but by their mean, which is exact.
    fn sample(&mut self, times: &Histogram) -> f64 {
        let all = || (0..).zip(times.buckets).filter(|(_, n)| *n > 0);
        let count: u64 = all().map(|(_, n)| u64::from(n)).sum();
        if count == 0 {
            return 0.0;
        }
        let mut which = self.next() % count;
        let (mut low, mut high) = (0.0, 0.0);
        for (b, n) in all() {
            (low, high) = bounds(times, b);
            match which.checked_sub(u64::from(n)) {
                Some(left) => which = left,
                None => break,
            }
        }
        let (mut least, mut most) = (0.0, 0.0);
        for (b, n) in all() {
            let share = f64::from(n) / count as f64;
            let (low, high) = bounds(times, b);
            (least, most) = (least + share * low, most + share * high);
        }
        // In the middle of the buckets on average; from there, all are moved by the same share toward one of their bounds.
        let missing = times.mean() - (least + most) / 2.0;
        let half = (most - least) / 2.0;
        let moved = if half > 0.0 {
            (missing / half).clamp(-1.0, 1.0)
        } else {
            0.0
        };
        let share = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        let value = low + share * (high - low);
        value + moved.abs() * (if moved > 0.0 { high } else { low } - value)
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// The least and the most that a value of a bucket can be. Bucket `b` has the values from `4^(b - 1)` to below `4^b`, the
/// first one 0 alone, and the last one all longer ones.
fn bounds(times: &Histogram, bucket: i32) -> (f64, f64) {
    let (least, most) = (times.min as f64, times.max as f64);
    let (low, high) = match bucket {
        0 => (0.0, 0.0),
        b if b + 1 == BUCKETS as i32 => (4f64.powi(b - 1), most),
        b => (4f64.powi(b - 1), 4f64.powi(b)),
    };
    let low = low.max(least);
    (low, high.min(most).max(low))
}

/// Waits as long as the program computed. What the replay itself does between two calls counts as computation.
#[derive(Debug)]
pub struct Clock {
    compute: Compute,
    /// When the last call returned.
    since: Instant,
    /// What was waited too long or too short, nanoseconds.
    debt: f64,
}

impl Clock {
    /// Not computing yet.
    pub fn new(compute: Compute) -> Self {
        Self {
            compute,
            since: Instant::now(),
            debt: 0.0,
        }
    }

    /// A call has returned.
    pub fn restart(&mut self) {
        self.since = Instant::now();
    }

    /// Returns when as many nanoseconds are over since the last call. What was waited too long is made up for later.
    pub fn compute(&mut self, nanoseconds: f64) {
        /// The most that is made up for: a rank that was kept off its core computes no faster for long.
        const MOST: f64 = 1e5;
        if self.compute == Compute::None {
            return;
        }
        let wanted = nanoseconds - self.debt;
        let passed = loop {
            let passed = self.since.elapsed().as_nanos() as f64;
            let left = wanted - passed;
            if left <= 0.0 {
                break passed;
            }
            // A sleep takes some 60 µs longer than it should.
            if self.compute == Compute::Sleep && left > 6e4 {
                std::thread::sleep(Duration::from_nanos((left - 5e4) as u64));
            } else {
                std::hint::spin_loop();
            }
        };
        self.debt = (passed - wanted).min(MOST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[u64]) -> Histogram {
        let mut all = Histogram::default();
        values.iter().for_each(|v| all.add(*v));
        all
    }

    #[test]
    fn drawn_durations_are_within_and_the_same_each_time() {
        let times = of(&[0, 5, 90, 100, 7000]);
        let draw = || {
            let mut draw = Draw::new(Pace::Sampled, 3, 0);
            (0..1000).map(|_| draw.of(&times)).collect::<Vec<_>>()
        };
        let all = draw();
        assert!(all.iter().all(|d| (0.0..=7000.0).contains(d)));
        assert!(all.iter().any(|d| *d > 1000.0) && all.contains(&0.0));
        assert_eq!(all, draw());
        let mean = all.iter().sum::<f64>() / 1000.0;
        assert!((mean / times.mean() - 1.0).abs() < 0.1, "{mean}");
        assert_eq!(Draw::new(Pace::Sampled, 0, 0).of(&of(&[])), 0.0);
        assert_eq!(Draw::new(Pace::Mean, 0, 0).of(&times), 1439.0);
    }

    #[test]
    fn computation_takes_as_long_as_it_should() {
        for compute in [Compute::Spin, Compute::Sleep] {
            let mut clock = Clock::new(compute);
            let began = Instant::now();
            clock.restart();
            for _ in 0..10 {
                clock.compute(1e6);
                clock.restart();
            }
            assert!(began.elapsed() >= Duration::from_micros(9_800));
        }
        Clock::new(Compute::None).compute(1e12);
    }
}
