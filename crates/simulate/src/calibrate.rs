//! Fits the parameters of a LogGP network to measured times.
//!
//! A ping-pong gives for each length half of the time of a round trip: 2o + L + (k - 1)G, and 2L more above the
//! threshold of the rendezvous. Its slope is G, its jump L, and its begin o. The gap and the share of o are better known
//! with the time of the send call, and with the time for each message of a long row of them (Hoefler, Lichei, Rehm:
//! *Low-overhead LogGP parameter assessment for modern interconnection networks*, IPDPS 2007). Fits are robust: medians
//! of repeated measurements, the weighted median of slopes between all pairs of lengths (Theil, Sen), relative errors.

use crate::network::LogGp;

/// A measured time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Length of the messages, bytes.
    pub bytes: u64,
    /// Time, seconds.
    pub seconds: f64,
}

/// What was measured between two ranks. Any order; several samples of a length are better than one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured<'a> {
    /// Half of a round trip.
    pub ping_pong: &'a [Sample],
    /// How long a blocking send of a short message takes.
    pub send: &'a [Sample],
    /// How long each of many short messages one after the other takes.
    pub burst: &'a [Sample],
}

/// A fit with its quality.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// The parameters.
    pub network: LogGp,
    /// The median relative error of the times of the ping-pong.
    pub error: f64,
}

/// Why there is no fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoFit {
    /// Lengths are too few.
    #[error("a fit needs a ping-pong of at least 3 lengths")]
    Few,
    /// A time is no time.
    #[error("a measured time is not finite or not positive")]
    Time,
}

/// A jump of the times by less than this part of them is noise.
const JUMP: f64 = 0.05;

/// Two lines have to be so many times better than one.
const BETTER: f64 = 1.5;

/// Lengths on each side of a threshold.
const SIDE: usize = 3;

/// Fits a network.
pub fn calibrate(measured: Measured<'_>) -> Result<Fit, NoFit> {
    let lists = [measured.ping_pong, measured.send, measured.burst];
    let is_time = |s: &Sample| s.seconds.is_finite() && s.seconds > 0.0;
    if !lists.iter().all(|l| l.iter().all(is_time)) {
        return Err(NoFit::Time);
    }
    let points = medians(measured.ping_pong);
    if points.len() < SIDE {
        return Err(NoFit::Few);
    }
    let one = Lines::fit(&points, points.len());
    let last = points.len().saturating_sub(SIDE);
    let splits = (SIDE..=last).map(|at| Lines::fit(&points, at));
    let two = splits.min_by(|a, b| a.sum.total_cmp(&b.sum));
    let is_jump = |l: &Lines| {
        let at = l.begin + l.slope * points[l.at].0;
        l.jump > JUMP * at && l.sum * BETTER < one.sum
    };
    let lines = two.filter(is_jump).unwrap_or(one);
    let jump = lines.jump;
    let begin = lines.begin.max(0.0);
    let of = |list: &[Sample]| median(list.iter().map(|s| (s.seconds, 1.0)).collect());
    let overhead = of(measured.send);
    // Without a jump and without a time of the send call: half of the begin is the latency.
    let latency = match overhead {
        Some(o) => begin - 2.0 * o,
        None if jump > 0.0 => 0.5 * jump,
        None => 0.5 * begin,
    }
    .clamp(0.0, begin);
    let overhead = overhead.map_or(0.5 * (begin - latency), |o| o.min(0.5 * begin));
    let gap = of(measured.burst).unwrap_or(overhead);
    let above = match lines.at < points.len() {
        true => points[lines.at - 1].0 as u64 + 1,
        false => u64::MAX,
    };
    let network = LogGp {
        latency,
        overhead,
        gap,
        per_byte: lines.slope,
        rendezvous_above: above,
    };
    let error = |p: &(f64, f64)| ((lines.at(p.0) - p.1).abs() / p.1, 1.0);
    let error = median(points.iter().map(error).collect()).unwrap_or(0.0);
    Ok(Fit { network, error })
}

/// The median time of each length, as (bytes after the first, seconds), shortest first.
fn medians(samples: &[Sample]) -> Vec<(f64, f64)> {
    let mut sorted = samples.to_vec();
    sorted.sort_by_key(|s| s.bytes.max(1));
    let same = sorted.chunk_by(|a, b| a.bytes.max(1) == b.bytes.max(1));
    let of = |list: &[Sample]| {
        let seconds = median(list.iter().map(|s| (s.seconds, 1.0)).collect())?;
        Some((list[0].bytes.saturating_sub(1) as f64, seconds))
    };
    same.filter_map(of).collect()
}

/// The median of values with weights.
fn median(mut all: Vec<(f64, f64)>) -> Option<f64> {
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half: f64 = 0.5 * all.iter().map(|(_, w)| w).sum::<f64>();
    let mut sum = 0.0;
    for (i, (value, weight)) in all.iter().enumerate() {
        sum += weight;
        if sum > half {
            return Some(*value);
        }
        if sum == half {
            let next = all.get(i + 1).map_or(*value, |n| n.0);
            return Some(0.5 * (value + next));
        }
    }
    None
}

/// Two lines of one slope, the second from a point on.
#[derive(Clone, Copy, Debug)]
struct Lines {
    /// Index of the first point of the second line.
    at: usize,
    /// Where it begins, bytes after the first.
    from: f64,
    begin: f64,
    jump: f64,
    slope: f64,
    /// Sum of the relative errors.
    sum: f64,
}

impl Lines {
    fn fit(points: &[(f64, f64)], at: usize) -> Self {
        let (short, long) = points.split_at(at);
        let pairs = |side: &[(f64, f64)]| -> Vec<(f64, f64)> {
            let all = side.iter().enumerate();
            let with = |(i, a): (usize, &(f64, f64))| {
                let later = side[i + 1..].iter();
                let a = *a;
                later
                    .map(move |b| ((b.1 - a.1) / (b.0 - a.0), b.0 - a.0))
                    .collect::<Vec<_>>()
            };
            all.flat_map(with).collect()
        };
        let slopes = [pairs(short), pairs(long)].concat();
        let slope = median(slopes).unwrap_or(0.0).max(0.0);
        // Relative errors: a short time weighs as much as a long one.
        let begin_of = |side: &[(f64, f64)]| {
            median(
                side.iter()
                    .map(|p| (p.1 - slope * p.0, 1.0 / p.1))
                    .collect(),
            )
        };
        let begin = begin_of(short).unwrap_or(0.0);
        let mut lines = Self {
            at,
            from: long.first().map_or(f64::INFINITY, |p| p.0),
            begin,
            jump: begin_of(long).map_or(0.0, |b| b - begin),
            slope,
            sum: 0.0,
        };
        lines.sum = points
            .iter()
            .map(|p| (lines.at(p.0) - p.1).abs() / p.1)
            .sum();
        lines
    }

    /// The time of a length.
    fn at(&self, bytes: f64) -> f64 {
        let jump = if bytes >= self.from { self.jump } else { 0.0 };
        self.begin + jump + self.slope * bytes
    }
}
