//! Whether ranks are late by one single repetition of what they do again and again.

use crate::late::mask_of;
use crate::scale::Scale;
use crate::stats;
use headwater_model::run::{CtxId, Segment};
use rustc_hash::FxHashMap;

/// A pause counts as happening once if a single repetition holds this share of the excess.
const ONCE: f64 = 0.6;

/// A repetition is a stage of the program, such as a level of a grid, if it is so many times as long as the others and at
/// least such a share of all of them. Ranks that take longer in a stage that most ranks have do more of what all do then.
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

/// What ranks that are not late do after a call, nanoseconds of the median one.
struct Others {
    busy: f64,
    longest: f64,
    /// Whether most of them have a stage there.
    have_stage: bool,
}

impl Others {
    fn new(sums: &[Sums]) -> Self {
        let median = |of: fn(&Sums) -> u64| {
            stats::median(&sums.iter().map(|s| of(s) as f64).collect::<Vec<f64>>())
        };
        let stages = sums.iter().filter(|sum| is_stage(sum)).count();
        Self {
            busy: median(|s| s.1),
            longest: median(|s| s.2),
            have_stage: 2 * stages > sums.len(),
        }
    }
}

/// Mean over late ranks of the nanoseconds that `once` says are of one repetition, given the sums of the rank and what
/// the others do; of several calls the most counts. In seconds.
fn in_one(
    scale: &Scale,
    ranks: &[u32],
    after: &[CtxId],
    once: impl Fn(&Sums, &Others) -> f64,
) -> f64 {
    let is_late = mask_of(ranks, scale.p as usize);
    let mut worst = vec![0.0f64; ranks.len()];
    for row in sums(scale, after).values() {
        let others = row.iter().zip(&is_late).filter(|(_, late)| !**late);
        let others = Others::new(&others.map(|(sum, _)| *sum).collect::<Vec<Sums>>());
        for (worst, rank) in worst.iter_mut().zip(ranks) {
            let own = row.get(*rank as usize).map_or(0.0, |own| {
                // A rank that is late without its longest repetition too is so every time.
                let once = once(own, &others);
                let is_once = once >= ONCE * (own.1 as f64 - others.busy);
                if is_once { once } else { 0.0 }
            });
            *worst = worst.max(own);
        }
    }
    stats::mean(&worst) * 1e-9
}

/// Whether most of the excess of the late ranks is one single repetition of something that repeats, and of which no
/// repetition is longer on the other ranks.
pub fn happened_once(scale: &Scale, ranks: &[u32], after: &[CtxId], excess: f64) -> bool {
    let once = |&(count, busy, longest): &Sums, others: &Others| {
        // A stage that comes once on every rank is no stall of some.
        if count < 5 || others.have_stage {
            return 0.0;
        }
        longest as f64 - busy.saturating_sub(longest) as f64 / (count - 1) as f64
    };
    in_one(scale, ranks, after, once) >= ONCE * excess
}

/// Whether most of the excess of the late ranks is in one repetition, be it a stall or a stage that comes once on every
/// rank: by how much their longest repetition is longer than that of the others.
pub fn in_one_repetition(scale: &Scale, ranks: &[u32], after: &[CtxId], excess: f64) -> bool {
    let once = |sums: &Sums, others: &Others| sums.2 as f64 - others.longest;
    in_one(scale, ranks, after, once) >= ONCE * excess
}

/// Seconds by which the longest repetition of some rank after these calls is longer than that of the usual rank.
pub fn longest_beyond(scale: &Scale, after: &[CtxId]) -> f64 {
    let beyond = |row: &Vec<Sums>| {
        let longest: Vec<f64> = row.iter().map(|s| s.2 as f64).collect();
        stats::max(&longest) - stats::lower_median(&longest)
    };
    let each = sums(scale, after);
    each.values().map(beyond).fold(0.0, f64::max) * 1e-9
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
