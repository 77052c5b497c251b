//! What a replay does in place of the program's computation.
//!
//! The histograms of a trace are over all ranks. How much CPU time each rank takes at each place is in [`Trace::work`], so a
//! rank that computes longer than others does so in its replay.

use crate::mixed::mixed;
use crate::strata::{Runs, Strata, mean_of_drawn};
use headwater_trace::times::Times;
use headwater_trace::trace::Trace;
use headwater_trace::work::{Expected, Place, ratio};
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
    /// Where the trace has it one by one, as it was; else drawn from the histogram, the same in each replay. The sum is
    /// that of the rank.
    #[default]
    Drawn,
    /// As long as it took on average.
    Mean,
}

/// Where times come from: the event of the trace, by its address, and the signature of the event before it. It is good
/// for one and the same trace.
pub type Source = (usize, u64);

/// How often a rank ran the events of a thread, and how long it computed before them.
#[derive(Clone, Debug, Default)]
pub struct Executions(FxHashMap<Source, Ran>);

#[derive(Clone, Copy, Debug)]
struct Ran {
    /// Signature of the event.
    signature: u64,
    runs: Runs,
    /// How many others ran before it did.
    number: u64,
    /// Mean CPU time of all ranks, nanoseconds: of all executions, and of those that are drawn.
    all: f64,
    drawn: f64,
    /// Executions that the trace has one by one, and their CPU time, nanoseconds.
    outliers: u64,
    nanoseconds: f64,
}

impl Executions {
    /// An event of a signature runs. `outlier` is the CPU time before it, nanoseconds, if the trace has it; `shortest` is
    /// the shortest that it has of any rank.
    pub fn add(
        &mut self,
        (source, signature): (Source, u64),
        times: &Times,
        outlier: Option<u64>,
        shortest: Option<u64>,
    ) {
        let number = self.0.len() as u64;
        let ran = self.0.entry(source).or_insert_with(|| Ran {
            signature,
            runs: Runs {
                drawn: 0,
                shortest: None,
            },
            number,
            all: times.cpu.mean(),
            drawn: times.cpu.mean(),
            outliers: 0,
            nanoseconds: 0.0,
        });
        if let Some(new) = shortest
            && ran.runs.shortest.is_none_or(|known| new < known)
        {
            ran.runs.shortest = shortest;
            ran.drawn = mean_of_drawn(&times.cpu, new);
        }
        match outlier {
            Some(nanoseconds) => {
                ran.outliers += 1;
                ran.nanoseconds += nanoseconds as f64;
            }
            None => ran.runs.drawn += 1,
        }
    }

    /// How much longer or shorter a rank takes at each place than all do on average.
    pub fn own(&self, trace: &Trace, rank: u32, thread: u32) -> OwnWork {
        let mut places: FxHashMap<(u64, u64), Expected> = FxHashMap::default();
        // Sums of many numbers depend on their order.
        let mut all: Vec<(&Source, &Ran)> = self.0.iter().collect();
        all.sort_unstable_by_key(|(_, ran)| ran.number);
        for ((_, before), ran) in all {
            let expected = places.entry((ran.signature, *before)).or_default();
            expected.all += (ran.runs.drawn + ran.outliers) as f64 * ran.all;
            expected.others += ran.runs.drawn as f64 * ran.drawn;
            expected.outliers += ran.nanoseconds;
        }
        let factors = |((signature, before), expected): ((u64, u64), Expected)| {
            let place = Place {
                thread,
                signature,
                before,
            };
            let own = trace.work.own(place, rank, expected.all);
            let (drawn, outliers) = expected.factors(own);
            let all = ratio(own, expected.all);
            let own = Own {
                all,
                drawn,
                outliers,
            };
            (own != Own::AS_ALL).then_some(((signature, before), own))
        };
        OwnWork(places.into_iter().filter_map(factors).collect())
    }

    /// The durations of each, to be drawn. The seed decides the order.
    fn strata(&self, seed: u64) -> FxHashMap<Source, (Strata, f64)> {
        let one = |(source, ran): (&Source, &Ran)| {
            let seed = mixed(seed ^ mixed(ran.number));
            (*source, (Strata::new(ran.runs, seed), ran.drawn))
        };
        self.0.iter().map(one).collect()
    }
}

/// How many times as much CPU time a rank takes at a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Own {
    /// As the mean of all ranks, in all executions, and in those that are drawn.
    all: f64,
    drawn: f64,
    /// As the trace says, in those that it has: 1, unless these are more than the rank's own time.
    outliers: f64,
}

impl Own {
    const AS_ALL: Self = Self {
        all: 1.0,
        drawn: 1.0,
        outliers: 1.0,
    };
}

/// The places at which a rank takes more or less CPU time than the mean.
#[derive(Clone, Debug, Default)]
pub struct OwnWork(FxHashMap<(u64, u64), Own>);

impl OwnWork {
    /// What a rank takes before an event.
    #[inline]
    pub fn of(&self, place: (u64, u64)) -> Own {
        self.0.get(&place).copied().unwrap_or(Own::AS_ALL)
    }
}

/// Draws durations.
#[derive(Clone, Debug, Default)]
pub struct Draw {
    /// What is left to draw, with the mean CPU time of it, nanoseconds. Of what is not here, each duration is the mean.
    strata: FxHashMap<Source, (Strata, f64)>,
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

    /// How long the computation before an event takes, nanoseconds; `outlier` is its CPU time, if the trace has it. What is
    /// not CPU time, as a sleep, is the same on all ranks.
    pub fn of(&mut self, source: Source, times: &Times, own: Own, outlier: Option<u64>) -> f64 {
        let (wall, cpu) = (times.wall.mean(), times.cpu.mean());
        let with = |busy: f64| (wall - cpu + busy).max(0.0);
        match (self.strata.get_mut(&source), outlier) {
            (None, _) => with(cpu * own.all),
            (Some(_), Some(nanoseconds)) => with(nanoseconds as f64 * own.outliers),
            (Some((strata, mean)), None) => with(*mean * own.drawn) * strata.draw(&times.wall),
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
