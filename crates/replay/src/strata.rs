//! Durations drawn from a histogram, with the sum that they had (stratified sampling).
//!
//! The durations of a place that ran n times, in order of their length, are divided into n equal parts, the strata. A draw is
//! the mean of a stratum, and each stratum is drawn once. So durations differ as the recorded ones did, as far as n of them
//! can, and their sum is exact, also if n is small.
//!
//! Which execution was long is known of those that the trace has one by one ([`headwater_trace::outliers`]). They take the
//! place of as many of the longest strata.

use headwater_trace::times::{BUCKETS, Histogram, Times};

/// How often a place ran on a rank.
#[derive(Clone, Copy, Debug, Default)]
pub struct Runs {
    /// All executions.
    pub all: u64,
    /// Those that the trace has one by one.
    pub outliers: u64,
    /// CPU time of these, nanoseconds.
    pub nanoseconds: f64,
}

/// The strata of a place that were not drawn yet.
#[derive(Clone, Debug)]
pub struct Strata {
    runs: Runs,
    drawn: u64,
    seed: u64,
    /// Known from the first duration on.
    durations: Option<Durations>,
    /// Seconds of sleep and the like in each execution, nanoseconds.
    asleep: f64,
    /// By what outliers are multiplied: 1, unless they are longer than the rank computes there.
    of_outliers: f64,
    /// What the mean of the others is, nanoseconds, and the same without regard to the rank's own work.
    others: f64,
    drawn_mean: f64,
}

impl Strata {
    /// Of a place that runs so often. The seed decides the order.
    pub fn new(runs: Runs, seed: u64) -> Self {
        Self {
            runs,
            drawn: 0,
            seed,
            durations: None,
            asleep: 0.0,
            of_outliers: 1.0,
            others: 0.0,
            drawn_mean: 0.0,
        }
    }

    /// The next duration, nanoseconds. The rank takes `own` times as long as all do on average; `outlier` is the CPU time
    /// of this execution, if the trace has it. Times and `own` are the same for each execution of the place.
    #[inline]
    pub fn draw(&mut self, times: &Times, own: f64, outlier: Option<u64>) -> f64 {
        if self.durations.is_none() {
            self.begin(times, own);
        }
        if let Some(nanoseconds) = outlier {
            return (nanoseconds as f64 + self.asleep) * self.of_outliers;
        }
        let number = (self.runs.all - self.runs.outliers).max(1);
        let at = permuted(self.drawn % number, number, self.seed);
        self.drawn += 1;
        let from = |stratum: u64| stratum as f64 / self.runs.all as f64;
        match &self.durations {
            Some(durations) if self.drawn_mean > 0.0 => {
                durations.mean(from(at), from(at + 1)) * self.others / self.drawn_mean
            }
            _ => self.others,
        }
    }

    #[cold]
    fn begin(&mut self, times: &Times, own: f64) {
        let Runs {
            all,
            outliers,
            nanoseconds,
        } = self.runs;
        let (all, outliers) = (all as f64, outliers as f64);
        let durations = Durations::new(&times.wall);
        let sum = all * times.wall.mean() * own;
        self.asleep = (times.wall.mean() - times.cpu.mean()).max(0.0);
        let long = nanoseconds + outliers * self.asleep;
        if long > sum || (long > 0.0 && outliers >= all) {
            self.of_outliers = sum / long;
        }
        if all > outliers {
            self.others = (sum - long).max(0.0) / (all - outliers);
            self.drawn_mean = durations.mean(0.0, (all - outliers) / all);
        }
        self.durations = Some(durations);
    }
}

/// The durations of a histogram, from the shortest to the longest: a part for each bucket that has some.
#[derive(Clone, Debug)]
struct Durations(Box<[Part]>);

/// Durations that are spread evenly.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Share of all durations that are shorter, and share of those that are in the part.
    before: f64,
    share: f64,
    /// The first and the last one, nanoseconds.
    first: f64,
    last: f64,
}

impl Durations {
    /// The durations of a bucket are spread evenly from the least that is possible there to the greatest; then all are
    /// moved by the same share toward one of these, so that the mean is that of the histogram, which is exact.
    fn new(times: &Histogram) -> Self {
        let counts = || (0..).zip(times.buckets).filter(|(_, n)| *n > 0);
        let count: f64 = counts().map(|(_, n)| f64::from(n)).sum();
        let mut before = 0.0;
        let parts = counts().map(|(bucket, n)| {
            let (first, last) = bounds(times, bucket);
            let share = f64::from(n) / count;
            before += share;
            Part {
                before: before - share,
                share,
                first,
                last,
            }
        });
        let mut parts: Box<[Part]> = parts.collect();
        let sum = |of: fn(&Part) -> f64| parts.iter().map(|p| p.share * of(p)).sum::<f64>();
        let (least, most) = (sum(|p| p.first), sum(|p| p.last));
        let (half, middle) = ((most - least) / 2.0, (most + least) / 2.0);
        let moved = match half > 0.0 {
            true => ((times.mean() - middle) / half).clamp(-1.0, 1.0),
            false => 0.0,
        };
        // Counts of buckets in a file are rounded, so the mean may be out of reach; a factor does the rest.
        let mean = middle + moved * half;
        let factor = if mean > 0.0 { times.mean() / mean } else { 1.0 };
        for part in &mut parts {
            let toward = if moved > 0.0 { part.last } else { part.first };
            let placed = |value: f64| factor * (value + moved.abs() * (toward - value));
            (part.first, part.last) = (placed(part.first), placed(part.last));
        }
        Self(parts)
    }

    /// The mean of the durations from one share of all to another.
    #[inline]
    fn mean(&self, from: f64, to: f64) -> f64 {
        let mut sum = 0.0;
        for part in &self.0 {
            let begin = (from - part.before).max(0.0);
            let end = (to - part.before).min(part.share);
            if end > begin {
                let middle = (begin + end) / (2.0 * part.share);
                sum += (end - begin) * (part.first + middle * (part.last - part.first));
            }
        }
        sum / (to - from)
    }
}

/// The least and the greatest that a duration of a bucket can be. Bucket `b` has those from `4^(b - 1)` to below `4^b`,
/// the first one 0 alone, and the last one all longer ones.
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

/// Where `at` is after the first `length` numbers were put into another order, which the seed decides: a Feistel network
/// over the next power of 4, which is passed until the number is one of them.
fn permuted(at: u64, length: u64, seed: u64) -> u64 {
    let bits = length
        .next_power_of_two()
        .trailing_zeros()
        .div_ceil(2)
        .max(1);
    let mask = (1 << bits) - 1;
    let mut at = at;
    loop {
        let (mut left, mut right) = (at >> bits & mask, at & mask);
        for round in 1..=4 {
            (left, right) = (right, left ^ mix(seed.wrapping_mul(round) ^ right) & mask);
        }
        at = left << bits | right;
        if at < length {
            return at;
        }
    }
}

/// The finisher of SplitMix64.
pub fn mix(number: u64) -> u64 {
    let z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_trace::times::Delta;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Times {
        let mut all = Times::default();
        let delta = |wall: &u64| Delta {
            wall: *wall,
            cpu: *wall,
            call: 0,
        };
        values.iter().for_each(|wall| all.add(delta(wall)));
        all
    }

    fn runs(all: u64) -> Runs {
        Runs {
            all,
            ..Runs::default()
        }
    }

    fn drawn(times: &Times, executions: u64, own: f64, seed: u64) -> Vec<f64> {
        let mut strata = Strata::new(runs(executions), seed);
        (0..executions)
            .map(|_| strata.draw(times, own, None))
            .collect()
    }

    proptest! {
        #[test]
        fn an_order_has_each_number_once(length in 1..3000_u64, seed in any::<u64>()) {
            let mut all: Vec<u64> = (0..length).map(|at| permuted(at, length, seed)).collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..length).collect::<Vec<_>>());
        }

        #[test]
        fn drawn_durations_have_the_sum_of_the_recorded_ones(
            values in prop::collection::vec(prop_oneof![0..300_u64, 0..1_u64 << 40], 1..200),
            executions in 1..300_u64,
            own in 0.0..3.0,
            seed in any::<u64>(),
            is_round in any::<bool>(),
        ) {
            let mut times = of(&values);
            if is_round {
                times.round();
            }
            let all = drawn(&times, executions, own, seed);
            let sum: f64 = all.iter().sum();
            let expected = executions as f64 * times.wall.mean() * own;
            prop_assert!((sum - expected).abs() <= 1e-9 * expected, "{} for {}", sum, expected);
            prop_assert!(all.iter().all(|d| *d >= 0.0 && d.is_finite()));
        }

        #[test]
        fn outliers_are_where_they_were(
            short in prop::collection::vec(0..1000_u64, 0..100),
            long in prop::collection::vec(5000..90_000_u64, 0..9),
            own in 0.0..3.0,
            seed in any::<u64>(),
        ) {
            let all: Vec<u64> = [&long[..], &short].concat();
            prop_assume!(!all.is_empty());
            let times = of(&all);
            let outliers = Runs {
                all: all.len() as u64,
                outliers: long.len() as u64,
                nanoseconds: long.iter().sum::<u64>() as f64,
            };
            let mut strata = Strata::new(outliers, seed);
            let one = |at: usize| strata.draw(&times, own, long.get(at).copied());
            let drawn: Vec<f64> = (0..all.len()).map(one).collect();
            let (sum, expected) = (drawn.iter().sum::<f64>(), times.wall.sum as f64 * own);
            prop_assert!((sum - expected).abs() <= 1e-9 * expected, "{} for {}", sum, expected);
            prop_assert!(drawn.iter().all(|d| *d >= 0.0 && d.is_finite()));
            if own >= 1.0 && !short.is_empty() {
                let known = long.iter().map(|n| *n as f64);
                prop_assert!(known.zip(&drawn).all(|(known, drawn)| known == *drawn));
            }
        }
    }

    #[test]
    fn durations_differ_as_they_did() {
        let times = of(&[0, 5, 90, 100, 7000]);
        let all = drawn(&times, 1000, 1.0, 3);
        assert!(all.iter().all(|d| (0.0..=7000.0).contains(d)));
        let long = all.iter().filter(|d| **d > 4000.0).count();
        let none = all.iter().filter(|d| **d == 0.0).count();
        assert!((50..=200).contains(&long) && none == 200, "{long} {none}");
        assert_eq!(all, drawn(&times, 1000, 1.0, 3));
        assert_ne!(all, drawn(&times, 1000, 1.0, 4));
        // A single one is the mean.
        assert!(matches!(drawn(&times, 1, 1.0, 3)[..], [one] if (one - 1439.0).abs() < 1e-9));
        assert_eq!(drawn(&of(&[]), 2, 1.0, 0), [0.0, 0.0]);
    }
}
