//! What a replay does in place of the program's computation.
//!
//! The histograms of a trace are over all ranks. How much CPU time each rank takes at each place is in [`Trace::work`], so a
//! rank that computes longer than others does so in its replay.

use crate::strata::{Runs, Strata, mix};
use headwater_trace::times::Times;
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
    /// Drawn from the histogram, the same each time; the sum is that of the rank.
    #[default]
    Drawn,
    /// As long as it took on average.
    Mean,
}

/// Where times come from: the event of the trace, by its address, and the signature of the event before it. It holds for one
/// and the same trace.
pub type Source = (usize, u64);

/// How often a rank ran the events of a thread.
#[derive(Clone, Debug, Default)]
pub struct Executions(FxHashMap<Source, Ran>);

#[derive(Clone, Copy, Debug)]
struct Ran {
    runs: Runs,
    /// How many others ran before it did.
    number: u64,
}

impl Executions {
    /// An event runs; `outlier` is the CPU time before it, nanoseconds, if the trace has it.
    pub fn add(&mut self, source: Source, outlier: Option<u64>) {
        let number = self.0.len() as u64;
        let runs = Runs::default();
        let ran = self.0.entry(source).or_insert(Ran { runs, number });
        ran.runs.all += 1;
        if let Some(nanoseconds) = outlier {
            ran.runs.outliers += 1;
            ran.runs.nanoseconds += nanoseconds as f64;
        }
    }

    /// The durations of each, to be drawn. The seed decides the order.
    fn strata(&self, seed: u64) -> FxHashMap<Source, Strata> {
        let one = |(source, ran): (&Source, &Ran)| {
            let seed = mix(seed ^ mix(ran.number));
            (*source, Strata::new(ran.runs, seed))
        };
        self.0.iter().map(one).collect()
    }
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
#[derive(Clone, Debug, Default)]
pub struct Draw {
    /// What is left to draw. Of what is not here, each duration is the mean.
    strata: FxHashMap<Source, Strata>,
}

impl Draw {
    /// For a thread of a rank, which runs its events so often.
    pub fn new(pace: Pace, (rank, thread): (u32, u32), executions: &Executions) -> Self {
        let seed = u64::from(rank) << 32 | u64::from(thread);
        let strata = match pace {
            Pace::Drawn => executions.strata(seed),
            Pace::Mean => FxHashMap::default(),
        };
        Self { strata }
    }

    /// How long the computation before an event takes, nanoseconds. The rank takes `own` times as long as all do on
    /// average; `outlier` is the CPU time, if the trace has it.
    pub fn of(&mut self, source: Source, times: &Times, own: f64, outlier: Option<u64>) -> f64 {
        match self.strata.get_mut(&source) {
            Some(strata) => strata.draw(times, own, outlier),
            None => times.wall.mean() * own,
        }
    }
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
