//! Whether ranks are late by one single repetition of what they do again and again.

use crate::scale::Scale;
use crate::stats;
use headwater_model::run::{CtxId, Segment};
use rustc_hash::FxHashMap;

/// A pause counts as happening once if a single repetition holds this share of the excess.
const ONCE: f64 = 0.6;

/// How many times as long as the others one repetition is, on most ranks, if it is a stage of the program such as a level
/// of a grid, and its share of all of them. Ranks that take longer in it do more of what all do then.
const STAGE: (f64, f64) = (3.0, 0.2);

/// Nanoseconds by which the longest repetition of a segment is longer than the others are on the mean.
pub fn longer_once(s: &Segment) -> u64 {
    let usual = s.busy_ns().saturating_sub(s.max_busy_ns) / s.count.saturating_sub(1).max(1);
    s.max_busy_ns.saturating_sub(usual)
}

/// Whether the longest repetition is a stage, of repetitions, time of all and of the longest.
fn is_stage(&(count, busy, longest): &Sums) -> bool {
    let others = busy.saturating_sub(longest) as f64 / count.saturating_sub(1).max(1) as f64;
    longest as f64 >= (STAGE.0 * others).max(STAGE.1 * busy as f64).max(1.0)
}

/// Repetitions, time of all of them and of the longest, nanoseconds.
type Sums = (u64, u64, u64);

/// The sums of each rank after some calls. Segments that leave the same call are repetitions of one, wherever they lead:
/// what is done only once often has a way of its own.
fn sums(scale: &Scale, after: &[CtxId]) -> FxHashMap<CtxId, Vec<Sums>> {
    let row = |from: &CtxId| (*from, vec![(0, 0, 0); scale.p as usize]);
    let mut totals: FxHashMap<CtxId, Vec<Sums>> = after.iter().map(row).collect();
    for s in &scale.run().segments {
        let row = totals.get_mut(&s.from);
        if let Some(sum) = row.and_then(|row| row.get_mut(s.rank as usize)) {
            sum.0 += s.count;
            sum.1 += s.busy_ns();
            sum.2 = sum.2.max(s.max_busy_ns);
        }
    }
    totals
}

/// Seconds of each late rank that `once` says are of one repetition, given the sums of the rank and of the others; of
/// several calls the most.
fn worst(
    totals: &FxHashMap<CtxId, Vec<Sums>>,
    ranks: &[u32],
    once: impl Fn(&Sums, &[Sums]) -> Option<f64>,
) -> Vec<f64> {
    let mut worst = vec![0.0f64; ranks.len()];
    for row in totals.values() {
        let others = (0..).zip(row).filter(|(rank, _)| !ranks.contains(rank));
        let others: Vec<Sums> = others.map(|(_, sum)| *sum).collect();
        for (worst, rank) in worst.iter_mut().zip(ranks) {
            let own = row.get(*rank as usize).and_then(|own| once(own, &others));
            *worst = worst.max(own.unwrap_or(0.0));
        }
    }
    worst
}

fn median(sums: &[Sums], of: fn(&Sums) -> u64) -> f64 {
    stats::median(&sums.iter().map(|s| of(s) as f64).collect::<Vec<f64>>())
}

/// Whether most of the excess of the late ranks is one single repetition of something that repeats, and of which no
/// repetition is longer on the other ranks.
pub fn happened_once(scale: &Scale, ranks: &[u32], after: &[CtxId], excess: f64) -> bool {
    let once = |&(count, busy, longest): &Sums, others: &[Sums]| {
        // A stage that comes once on every rank is no stall of some.
        let stages = others.iter().filter(|sum| is_stage(sum)).count();
        if count < 5 || 2 * stages > others.len() {
            return None;
        }
        let usual = busy.saturating_sub(longest) as f64 / (count - 1) as f64;
        let once = longest as f64 - usual;
        // A rank that is late without its longest repetition too is so every time.
        let is_once = once >= ONCE * (busy as f64 - median(others, |s| s.1));
        is_once.then_some(once * 1e-9)
    };
    stats::mean(&worst(&sums(scale, after), ranks, once)) >= ONCE * excess
}

/// Whether most of the excess of the late ranks is in one repetition, be it a stall or a stage that comes once on every
/// rank: by how much their longest repetition is longer than that of the others.
pub fn in_one_repetition(scale: &Scale, ranks: &[u32], after: &[CtxId], excess: f64) -> bool {
    let once = |&(_, busy, longest): &Sums, others: &[Sums]| {
        let once = longest as f64 - median(others, |s| s.2);
        let is_once = once >= ONCE * (busy as f64 - median(others, |s| s.1));
        is_once.then_some(once * 1e-9)
    };
    stats::mean(&worst(&sums(scale, after), ranks, once)) >= ONCE * excess
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_of_a_grid_is_a_stage_and_a_slow_first_step_is_none() {
        assert!(is_stage(&(6, 100, 60)));
        assert!(!is_stage(&(100, 1_000, 40)));
        assert!(!is_stage(&(3, 90, 30)));
        assert!(!is_stage(&(0, 0, 0)));
    }
}
