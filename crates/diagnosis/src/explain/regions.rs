//! Regions that the program named: which of them a cause is in, and iterations that are slow or become slower.
//!
//! Each row has the iterations of one thread by length (powers of two of nanoseconds), its slowest ones, and the mean
//! over each of up to 32 stretches of the run. A sentence is made only of what costs a hundredth of the run time.

use crate::find::candidate::Candidate;
use headwater_dataflow::numbers::stats;
use headwater_graph::Pag;
use headwater_model::run::{Region, RegionPart, RegionTime, Run};
use headwater_model::words::seconds;
use std::collections::BTreeSet;

const NANO: f64 = 1e-9;
/// Smallest part of the run time that a sentence is about.
const WORTH: f64 = 0.01;
/// Fewest iterations that are compared.
const FEWEST: u64 = 32;
/// Iterations are slow from so many classes above the median on: 8 times as long.
const SLOW: u64 = 3;
/// Slow iterations are exceptions up to this part of all.
const RARE: f64 = 0.05;
/// Fewest stretches in which a trend shows.
const STRETCHES: usize = 8;
/// How much the ends of a trend differ at least.
const DRIFT: f64 = 1.2;
/// Part of the pairs of stretches that must be in order, less those that are not (Kendall's tau).
const ORDERED: f64 = 0.6;
/// Sentences of each kind at the most.
const MOST: usize = 3;

/// The names of the regions that a candidate's place is in, on any of its call paths.
pub fn of(pag: &Pag, c: &Candidate) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for v in c.vertices() {
        for around in pag.top.ancestors(v) {
            let module = pag.structures.get(pag.top.get(around).module);
            let region = module.and_then(|(module, _)| module.region());
            out.extend(region.map(str::to_string));
        }
    }
    out
}

/// A sentence and the seconds that it is about.
type Priced = (f64, String);

/// Sentences about iterations that are slow now and then, and those that become slower or faster.
pub fn sentences(run: &Run) -> Vec<String> {
    let least = WORTH * run.header.wall_seconds;
    let mut out = Vec::new();
    for say in [slow, drift] {
        let all = run.regions.iter().enumerate().filter_map(|(row, region)| {
            let from = run
                .region_times
                .partition_point(|t| (t.region as usize) < row);
            let times = run.region_times.get(from..).unwrap_or(&[]);
            let until = times.partition_point(|t| t.region as usize == row);
            let name = run.region_name(region)?;
            let priced = say(name, region, times.get(..until).unwrap_or(&[]))?;
            Some((name, priced)).filter(|(_, (price, _))| *price >= least)
        });
        let mut all: Vec<(&str, Priced)> = all.collect();
        all.sort_by(|a, b| b.1.0.total_cmp(&a.1.0));
        let mut said = BTreeSet::new();
        // Of each region the rank on which it costs most.
        all.retain(|(name, _)| said.insert(*name));
        out.extend(all.into_iter().take(MOST).map(|(_, (_, text))| text));
    }
    out
}

fn whose(region: &Region) -> String {
    match region.thread {
        0 => format!("rank {}", region.rank),
        thread => format!("rank {}, thread {thread}", region.rank),
    }
}

fn of_part(times: &[RegionTime], part: RegionPart) -> impl Iterator<Item = &RegionTime> {
    times.iter().filter(move |t| t.part == part)
}

/// The few iterations that take much longer than half of all.
fn slow(name: &str, region: &Region, times: &[RegionTime]) -> Option<Priced> {
    if region.count < FEWEST {
        return None;
    }
    let mut below = 0u64;
    let median = of_part(times, RegionPart::Class).find(|t| {
        below = below.saturating_add(t.count);
        below >= region.count.div_ceil(2)
    })?;
    let is_slow = |t: &&RegionTime| t.index >= median.index.saturating_add(SLOW);
    let slow = || of_part(times, RegionPart::Class).filter(is_slow);
    let count = slow().map(|t| t.count).fold(0, u64::saturating_add);
    if count == 0 || count as f64 > RARE * region.count as f64 {
        return None;
    }
    // A class begins at half of the power of two that it ends before.
    let begin = |bits: u64| 2f64.powi(bits.clamp(1, 64) as i32 - 1) * NANO;
    let half = 2.0 * begin(median.index);
    let at_least: f64 = slow()
        .map(|t| t.count as f64 * (begin(t.index) - half))
        .sum();
    let slowest = of_part(times, RegionPart::Slowest).max_by_key(|t| t.wall_ns)?;
    let longest = (slowest.wall_ns as f64 * NANO - half).max(0.0);
    let some = match count {
        1 => "one".to_string(),
        count => count.to_string(),
    };
    let text = format!(
        "Region {name} on {}: {some} of {} iterations took more than 4 times as long as half of them, which took at most {}. The slowest was number {}, with {}.",
        whose(region),
        region.count,
        seconds(half),
        slowest.index,
        seconds(slowest.wall_ns as f64 * NANO),
    );
    Some((at_least.max(longest), text))
}

/// Iterations that become slower or faster in the course of the run.
fn drift(name: &str, region: &Region, times: &[RegionTime]) -> Option<Priced> {
    let of = |t: &RegionTime| t.wall_ns as f64 * NANO / t.count.max(1) as f64;
    let means: Vec<f64> = of_part(times, RegionPart::Stretch).map(of).collect();
    let n = means.len();
    if n < STRETCHES || region.count < FEWEST {
        return None;
    }
    let quarter = n / 4;
    let first = stats::median(means.get(..quarter)?);
    let last = stats::median(means.get(n - quarter..)?);
    let (low, high) = (first.min(last), first.max(last));
    if low <= 0.0 || high < DRIFT * low || tau(&means).abs() < ORDERED {
        return None;
    }
    let stretches = of_part(times, RegionPart::Stretch);
    let over = |t: &RegionTime| (of(t).min(high) - low).max(0.0) * t.count as f64;
    let price = stretches.map(over).sum();
    let becomes = if last > first { "slower" } else { "faster" };
    let text = format!(
        "Region {name} on {}: its {} iterations become {becomes} in the course of the run, from {} to {}.",
        whose(region),
        region.count,
        seconds(first),
        seconds(last),
    );
    Some((price, text))
}

/// Kendall's tau: 1 where each value is larger than all before it, -1 where each is smaller.
fn tau(values: &[f64]) -> f64 {
    let pairs = values.iter().enumerate().flat_map(|(i, a)| {
        let after = values.get(i + 1..).unwrap_or(&[]);
        after.iter().map(move |b| (b - a).signum())
    });
    let (sum, count) = pairs.fold((0.0, 0.0), |(s, n), sign| (s + sign, n + 1.0));
    if count > 0.0 { sum / count } else { 0.0 }
}
