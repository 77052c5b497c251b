//! Regions that the program named: which of them a cause is in, and iterations that are slow or become slower.
//!
//! Each row has the iterations of one thread by length (powers of two of nanoseconds), its slowest ones, and the mean
//! over each of up to 32 stretches of the run. A sentence is made only of what costs a hundredth of the run time.

use crate::explain::words;
use crate::find::candidate::Candidate;
use headwater_dataflow::numbers::stats;
use headwater_graph::Pag;
use headwater_model::diagnosis::{Diagnosis, Scaling};
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

/// Reports only causes in a region. All other figures remain those of the whole run.
pub fn limit(d: &mut Diagnosis, region: &str, scaling: Option<Scaling>, nameless: bool) {
    let before = words::verdict(d, scaling, nameless);
    let all = d.causes.len();
    d.causes.retain(|c| c.regions.iter().any(|r| r == region));
    let outside = match all - d.causes.len() {
        0 => "there is none outside it".to_string(),
        1 => "one is outside it".to_string(),
        n => format!("{n} are outside it"),
    };
    let now = if d.causes.is_empty() {
        vec![format!("No cause was found in region {region}; {outside}.")]
    } else {
        let mut now = words::verdict(d, scaling, nameless);
        now.push(format!(
            "Only causes in region {region} are reported; {outside}."
        ));
        now
    };
    words::replace(&mut d.headline, &before, now);
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
            let priced = say(
                &format!("{name}{}", on(run, region)),
                region,
                times.get(..until).unwrap_or(&[]),
            )?;
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

/// ` on rank 3, thread 1`, as far as the program has ranks and the region's thread is not the first.
fn on(run: &Run, region: &Region) -> String {
    match (run.header.uses_mpi(), region.thread) {
        (true, 0) => format!(" on rank {}", region.rank),
        (true, thread) => format!(" on rank {}, thread {thread}", region.rank),
        (false, 0) => String::new(),
        (false, thread) => format!(" on thread {thread}"),
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
        "Region {name}: {some} of {} iterations took more than 4 times as long as half of them, which took at most {}. The slowest was number {}, with {}.",
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
        "Region {name}: its {} iterations become {becomes} in the course of the run, from {} to {}.",
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
        after
            .iter()
            .map(move |b| f64::from(i8::from(b > a) - i8::from(b < a)))
    });
    let (sum, count) = pairs.fold((0.0, 0.0), |(s, n), sign| (s + sign, n + 1.0));
    if count > 0.0 { sum / count } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_model::run::{Context, CtxId, Header, Module};

    /// A run with one region of these iterations, nanoseconds, in stretches of `each`.
    fn run(ns: &[u64], each: usize) -> Run {
        let part = |part, index, count, wall_ns| RegionTime {
            region: 0,
            part,
            index,
            count,
            wall_ns,
        };
        let mut classes = [0u64; 40];
        for ns in ns {
            classes[(u64::BITS - ns.leading_zeros()) as usize] += 1;
        }
        let classes = (0..).zip(classes).filter(|c| c.1 > 0);
        let mut times: Vec<RegionTime> = classes
            .map(|(bits, count)| part(RegionPart::Class, bits, count, 0))
            .collect();
        let slowest = (0..).zip(ns).max_by_key(|(_, ns)| **ns);
        times.extend(slowest.map(|(i, ns)| part(RegionPart::Slowest, i, 1, *ns)));
        let stretches = (0..).step_by(each).zip(ns.chunks(each));
        times.extend(
            stretches.map(|(i, c)| part(RegionPart::Stretch, i, c.len() as u64, c.iter().sum())),
        );
        let wall_ns = ns.iter().sum();
        Run {
            header: Header {
                wall_seconds: wall_ns as f64 * 1e-9,
                mpi_library: "Open MPI".to_string(),
                ..Default::default()
            },
            modules: vec![Module::of_region("solve")],
            contexts: vec![Context {
                parent: CtxId::NONE,
                module: 0,
                offset: 1,
                exact: false,
            }],
            regions: vec![Region {
                ctx: CtxId(0),
                count: ns.len() as u64,
                wall_ns,
                ..Default::default()
            }],
            region_times: times,
            ..Default::default()
        }
    }

    #[test]
    fn one_slow_iteration_in_a_thousand_is_said() {
        let mut ns = vec![100_000; 1000];
        assert!(sentences(&run(&ns, 32)).is_empty());
        ns[700] = 30_000_000;
        assert_eq!(
            sentences(&run(&ns, 32)),
            [
                "Region solve on rank 0: one of 1000 iterations took more than 4 times as long as half of them, which took at most 131 µs. The slowest was number 700, with 30.0 ms."
            ]
        );
        let mut without_mpi = run(&ns, 32);
        without_mpi.header.mpi_library.clear();
        assert!(sentences(&without_mpi)[0].starts_with("Region solve: one of 1000"));
        // So little of the run is not worth a sentence.
        let mut long = run(&ns, 32);
        long.header.wall_seconds = 100.0;
        assert!(sentences(&long).is_empty());
    }

    #[test]
    fn drift_is_said_and_a_jump_back_and_forth_is_not() {
        let slower: Vec<u64> = (0..1000).map(|i| 100_000 + i * 50).collect();
        assert_eq!(
            sentences(&run(&slower, 32)),
            [
                "Region solve on rank 0: its 1000 iterations become slower in the course of the run, from 106 µs to 145 µs."
            ]
        );
        let faster: Vec<u64> = slower.iter().rev().copied().collect();
        assert!(sentences(&run(&faster, 32))[0].contains("become faster"));
        let wave: Vec<u64> = (0..1000).map(|i| 100_000 + i % 250 * 200).collect();
        assert!(sentences(&run(&wave, 32)).is_empty());
    }

    #[test]
    fn rows_that_fit_nothing_are_no_sentence() {
        let mut odd = run(&[100_000; 1000], 32);
        for time in &mut odd.region_times {
            (time.index, time.count, time.wall_ns) = (u64::MAX, u64::MAX, u64::MAX);
        }
        sentences(&odd);
        odd.regions[0].ctx = CtxId(7);
        odd.region_times.truncate(1);
        odd.region_times[0].region = u32::MAX;
        assert!(sentences(&odd).is_empty());
    }
}
