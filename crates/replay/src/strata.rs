//! Durations drawn from a histogram, with the sum that they had (stratified sampling).
//!
//! The durations of a place that ran n times, in order of their length, are divided into n equal parts, the strata. A draw
//! is the mean of a stratum, and each stratum is drawn once. So durations differ as the recorded ones did, as far as n of
//! them can, and their sum is exact, also if n is small.
//!
//! Some long executions are in the trace one by one ([`headwater_trace::outliers`]). Those are not drawn, and the strata
//! are of shorter ones.

use crate::mixed::mixed;
use headwater_trace::times::{BUCKETS, Histogram, bucket};

/// How often a place ran on a rank.
#[derive(Clone, Copy, Debug)]
pub struct Runs {
    /// Executions that the trace does not have one by one.
    pub drawn: u64,
    /// The shortest one that it has, of any rank, nanoseconds.
    pub shortest: Option<u64>,
}

/// The mean of the durations that are shorter than the shortest one that the trace has one by one, nanoseconds.
pub fn mean_of_drawn(times: &Histogram, shortest: u64) -> f64 {
    Shape::new(times, Some(shortest)).mean
}

/// The strata of a place that were not drawn yet.
#[derive(Clone, Debug)]
pub struct Strata {
    runs: Runs,
    drawn: u64,
    seed: u64,
    /// Known from the first draw on.
    shape: Option<Shape>,
}

#[derive(Clone, Debug)]
struct Shape {
    durations: Durations,
    /// The share of all durations that is drawn.
    share: f64,
    /// The mean of that, nanoseconds.
    mean: f64,
}

impl Strata {
    /// Of a place that runs so often. The seed decides the order.
    pub fn new(runs: Runs, seed: u64) -> Self {
        Self {
            runs,
            drawn: 0,
            seed,
            shape: None,
        }
    }

    /// The next duration, as a multiple of the mean of all that are drawn. The histogram is the same each time.
    #[inline]
    pub fn draw(&mut self, times: &Histogram) -> f64 {
        let shortest = self.runs.shortest;
        let shape = self
            .shape
            .get_or_insert_with(|| Shape::new(times, shortest));
        if shape.mean <= 0.0 {
            return 1.0;
        }
        let number = self.runs.drawn.max(1);
        let at = permuted(self.drawn % number, number, self.seed);
        self.drawn += 1;
        let from = |stratum: u64| shape.share * (stratum as f64 / number as f64);
        shape.durations.mean(from(at), from(at + 1)) / shape.mean
    }
}

impl Shape {
    fn new(times: &Histogram, shortest: Option<u64>) -> Self {
        let durations = Durations::new(times);
        // Counts of buckets in a file are rounded. So outliers are left out by their length, not by their number.
        let below = shortest.map_or(1.0, |shortest| {
            let count =
                |to: usize| -> f64 { times.buckets.iter().take(to).map(|n| f64::from(*n)).sum() };
            count(bucket(shortest)) / count(BUCKETS).max(1.0)
        });
        let share = if below > 0.0 { below } else { 1.0 };
        Self {
            share,
            mean: durations.mean(0.0, share),
            durations,
        }
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
            (left, right) = (right, left ^ mixed(seed.wrapping_mul(round) ^ right) & mask);
        }
        at = left << bits | right;
        if at < length {
            return at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Histogram {
        let mut all = Histogram::default();
        values.iter().for_each(|v| all.add(*v));
        all
    }

    fn drawn(times: &Histogram, drawn: u64, shortest: Option<u64>, seed: u64) -> Vec<f64> {
        let mut strata = Strata::new(Runs { drawn, shortest }, seed);
        (0..drawn).map(|_| strata.draw(times)).collect()
    }

    proptest! {
        #[test]
        fn an_order_has_each_number_once(length in 1..3000_u64, seed in any::<u64>()) {
            let mut all: Vec<u64> = (0..length).map(|at| permuted(at, length, seed)).collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..length).collect::<Vec<_>>());
        }

        #[test]
        fn the_mean_of_what_is_drawn_is_one(
            values in prop::collection::vec(prop_oneof![0..300_u64, 0..1_u64 << 40], 1..200),
            executions in 1..300_u64,
            shortest in prop::option::of(1..1_u64 << 40),
            seed in any::<u64>(),
            is_round in any::<bool>(),
        ) {
            let mut times = of(&values);
            if is_round {
                times.round();
            }
            let all = drawn(&times, executions, shortest, seed);
            let sum: f64 = all.iter().sum();
            let expected = executions as f64;
            prop_assert!((sum - expected).abs() <= 1e-6 * expected, "{} for {}", sum, expected);
            prop_assert!(all.iter().all(|d| *d >= 0.0 && d.is_finite()));
        }
    }

    #[test]
    fn durations_differ_as_they_did() {
        let times = of(&[0, 5, 90, 100, 7000]);
        let all: Vec<f64> = drawn(&times, 1000, None, 3)
            .iter()
            .map(|d| d * times.mean())
            .collect();
        assert!(all.iter().all(|d| (0.0..=7000.0).contains(d)));
        let long = all.iter().filter(|d| **d > 4000.0).count();
        let none = all.iter().filter(|d| **d == 0.0).count();
        assert!((50..=200).contains(&long) && none == 200, "{long} {none}");
        assert_eq!(drawn(&times, 1000, None, 3), drawn(&times, 1000, None, 3));
        assert_ne!(drawn(&times, 1000, None, 3), drawn(&times, 1000, None, 4));
        // A single one is the mean.
        assert!(matches!(drawn(&times, 1, None, 3)[..], [one] if (one - 1.0).abs() < 1e-9));
        assert_eq!(drawn(&of(&[]), 2, None, 0), [1.0, 1.0]);
    }

    #[test]
    fn what_is_as_long_as_an_outlier_is_not_drawn() {
        // Rounding makes the short ones fewer than they were.
        let mut times = of(&[&[1_000_000; 499][..], &[100_000_000; 501]].concat());
        times.round();
        let all = drawn(&times, 499, Some(100_000_000), 1);
        assert!(all.iter().all(|d| *d < 2.0), "{all:?}");
    }
}
