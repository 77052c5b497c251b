//! Tests whether ranks are late because of one single repetition of work that repeats.

use crate::measure::late::mask_of;
use crate::measure::scale::Scale;
use headwater_dataflow::numbers::stats;
use headwater_graph::{Pag, VertexIx};
use headwater_model::run::{CtxId, Segment};
use rustc_hash::FxHashMap;

/// A delay counts as happening once if a single repetition has this share of the excess.
const ONCE: f64 = 0.6;

/// A repetition is a stage of the program, such as a level of a grid, if it takes this many times as long as the others
/// and at least this share of all of them. If most ranks have such a stage, ranks that take longer in it do more of
/// what all ranks do.
const STAGE: (f64, f64) = (3.0, 0.2);

/// Nanoseconds by which the longest repetition of a segment is longer than the others are on the mean.
pub fn longer_once(s: &Segment) -> u64 {
    let usual = s.busy_ns().saturating_sub(s.max_busy_ns) / s.count.saturating_sub(1).max(1);
    s.max_busy_ns.saturating_sub(usual)
}

/// Whether the longest repetition is a stage.
fn is_stage(&(count, busy, longest): &Sums) -> bool {
    let others = busy.saturating_sub(longest) as f64 / count.saturating_sub(1).max(1) as f64;
    longest as f64 >= (STAGE.0 * others).max(STAGE.1 * busy as f64).max(1.0)
}

/// Repetitions, time of all of them and of the longest, nanoseconds.
type Sums = (u64, u64, u64);

/// The sums of each rank after some calls. Segments that leave the same call are repetitions of one segment, wherever
/// they lead: work that is done only once often leads to another call.
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

/// Computation after a call of the ranks that are not late: nanoseconds of the median one.
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

/// Mean over late ranks of the time in one repetition, in seconds. `once` returns it in nanoseconds, from the rank, its
/// sums and what the others do; of several calls, the one with the most counts.
fn in_one(
    scale: &Scale,
    ranks: &[u32],
    after: &[CtxId],
    once: impl Fn(u32, &Sums, &Others) -> f64,
) -> f64 {
    let is_late = mask_of(ranks, scale.p as usize);
    let mut worst = vec![0.0f64; ranks.len()];
    for row in sums(scale, after).values() {
        let others = row.iter().zip(&is_late).filter(|(_, late)| !**late);
        let others = Others::new(&others.map(|(sum, _)| *sum).collect::<Vec<Sums>>());
        for (worst, rank) in worst.iter_mut().zip(ranks) {
            let own = row.get(*rank as usize).map_or(0.0, |own| {
                // A rank that would be late without its longest repetition too is late every time.
                let once = once(*rank, own, &others);
                let is_once = once >= ONCE * (own.1 as f64 - others.busy);
                if is_once { once } else { 0.0 }
            });
            *worst = worst.max(own);
        }
    }
    stats::mean(&worst) * 1e-9
}

/// From this many repetitions on, one of them can be an exception.
const SEVERAL: u64 = 5;

/// How often each rank passes through the innermost loop around `v` in which it calls MPI: as often as it makes a call
/// that is in no other loop inside it. Empty if there is no such loop.
fn steps(pag: &Pag, scale: &Scale, v: VertexIx) -> Vec<u64> {
    let loops_around = |v: VertexIx| {
        let around = pag.top.ancestors(v).skip(1);
        around.filter(|a| pag.top.get(*a).kind.is_loop())
    };
    let around: Vec<VertexIx> = loops_around(v).collect();
    let mut innermost: FxHashMap<CtxId, Option<VertexIx>> = FxHashMap::default();
    let mut made: FxHashMap<(VertexIx, CtxId), Vec<u64>> = FxHashMap::default();
    for c in &scale.run().calls {
        let of_call = innermost.entry(c.ctx).or_insert_with(|| {
            let call = scale.view().vertex(c.ctx);
            call.and_then(|call| loops_around(call).next())
        });
        if let Some(at) = of_call.filter(|at| around.contains(at)) {
            let row = made.entry((at, c.ctx));
            let row = row.or_insert_with(|| vec![0; scale.p as usize]);
            if let Some(sum) = row.get_mut(c.rank as usize) {
                *sum += c.count;
            }
        }
    }
    let most = |at: &VertexIx| {
        let of_loop = made.iter().filter(|(key, _)| key.0 == *at);
        let rows = of_loop.map(|(_, row)| row.clone());
        rows.reduce(|a, b| a.iter().zip(b).map(|(a, b)| b.max(*a)).collect())
    };
    around.iter().find_map(most).unwrap_or_default()
}

/// Whether most of the excess of the late ranks at `v` is one single repetition of something that repeats, and most
/// other ranks have no such long repetition there. It repeats if ranks leave the same calls several times, or if the
/// loop around it repeats.
pub fn happened_once(
    pag: &Pag,
    scale: &Scale,
    v: VertexIx,
    ranks: &[u32],
    after: &[CtxId],
    excess: f64,
) -> bool {
    let steps = steps(pag, scale, v);
    let once = |rank: u32, &(count, busy, longest): &Sums, others: &Others| {
        let repeats = steps.get(rank as usize).is_some_and(|n| *n >= SEVERAL);
        // A stage that most ranks have once is not a stall of some ranks.
        if count < SEVERAL && !repeats || others.have_stage {
            return 0.0;
        }
        let others = count.saturating_sub(1).max(1);
        longest as f64 - busy.saturating_sub(longest) as f64 / others as f64
    };
    in_one(scale, ranks, after, once) >= ONCE * excess
}

/// Whether most of the excess of the late ranks is in one repetition, either a stall or a stage that every rank has
/// once: by how much their longest repetition is longer than that of the others.
pub fn in_one_repetition(scale: &Scale, ranks: &[u32], after: &[CtxId], excess: f64) -> bool {
    let once = |_, sums: &Sums, others: &Others| sums.2 as f64 - others.longest;
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
