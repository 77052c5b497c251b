//! Delay cost place by place: for each place that waits, the places that cause the wait, the calls between them, and
//! seconds (Böhme et al. 2010).
//!
//! The split of waits is the same as in [`delay`]. Here it also records where ranks waited, and
//! covers all causes, not one that was found before. What a rank did longer after a call is divided over its places as
//! for causes, see [`lateness`](crate::price::lateness).

use crate::measure::backtrack::structured;
use crate::measure::scale::Scale;
use crate::price::delay::{self, Amount};
use crate::price::lateness::Lateness;
use headwater_dataflow::algorithm::Interrupted;
use headwater_graph::{Key, Pag, TopDown, VertexIx};
use headwater_model::diagnosis::Clock;
use headwater_model::run::CtxId;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// A chain of calls has at most this many calls.
const LONGEST: usize = 8;

/// Chains with calls in between that are stored for a rank's lateness: those with the most seconds. There can be as
/// many as there are paths through the program's calls. For the others only the call that waited is stored, so that no
/// second is lost.
const MOST: usize = 64;

/// Waiting of all ranks in one place because of another place.
#[derive(Clone, Debug, PartialEq)]
pub struct Delay {
    /// The MPI call in which ranks wait.
    pub waits: VertexIx,
    /// The place that causes the wait.
    pub cause: VertexIx,
    /// Calls that passed the wait on, in the order from the waiting call to the cause; without these two.
    pub via: Vec<VertexIx>,
    /// Seconds, by late rank.
    pub by_rank: BTreeMap<u32, f64>,
}

impl Delay {
    /// Seconds of all ranks together.
    pub fn seconds(&self) -> f64 {
        self.by_rank.values().sum()
    }
}

/// Shares by the chain of calls that passed them on; the call that waited is first.
#[derive(Clone, Debug, Default)]
struct ByWay(BTreeMap<Vec<CtxId>, f64>);

impl Amount for ByWay {
    fn shared(own: f64, inherited: Option<&Self>, all: f64, at: CtxId) -> Self {
        let mut ways = BTreeMap::from([(vec![at], own)]);
        for (way, seconds) in inherited.into_iter().flat_map(|i| &i.0) {
            let mut way = way.clone();
            // Pipelines pass one call again and again.
            if !way.contains(&at) && way.len() < LONGEST {
                way.push(at);
            }
            *ways.entry(way).or_default() += seconds / all;
        }
        Self(ways)
    }

    fn add(&mut self, share: &Self, seconds: f64) {
        for (way, share) in &share.0 {
            *self.0.entry(way.clone()).or_default() += share * seconds;
        }
        // Only now and then, so that this costs no more than the sums do.
        if self.0.len() > 2 * MOST {
            self.shorten();
        }
    }
}

impl ByWay {
    /// Removes the calls in between from the chains with the least seconds.
    fn shorten(&mut self) {
        let all = std::mem::take(&mut self.0).into_iter();
        let (mut long, short): (Vec<_>, Vec<_>) = all.partition(|w| w.0.len() > 1);
        // Sorting is stable: of equal ones, the first in order comes first.
        long.sort_by(|a, b| b.1.total_cmp(&a.1));
        self.0 = short.into_iter().collect();
        for (i, (mut way, seconds)) in long.into_iter().enumerate() {
            if i >= MOST {
                way.truncate(1);
            }
            *self.0.entry(way).or_default() += seconds;
        }
    }
}

/// Seconds by the waiting call, the place that causes the wait, and the calls between.
type ByEnds = BTreeMap<(VertexIx, VertexIx, Vec<VertexIx>), BTreeMap<u32, f64>>;

/// The delay costs of a run, the largest first, and the clock of their seconds. They come from its windows,
/// extrapolated to the run and limited to the time in the calls, or, where there are none, from whole phases.
pub fn of_run(pag: &Pag, scale: &Scale, interrupted: Interrupted<'_>) -> (Vec<Delay>, Clock) {
    let (ends, clock) = if let Some(factor) = scale.per_run {
        let sums = delay::sums(&scale.replay, interrupted);
        let mut ends = of_windows(pag, scale, sums, factor);
        limit(scale, &mut ends);
        (ends, Clock::Virtual)
    } else {
        (of_phases(pag, scale), Clock::Cpu)
    };
    let delay = |((waits, cause, via), by_rank)| Delay {
        waits,
        cause,
        via,
        by_rank,
    };
    let mut out: Vec<Delay> = ends.into_iter().map(delay).collect();
    // Sorting is stable: equal ones stay in the order of their places.
    out.sort_by(|a, b| b.seconds().total_cmp(&a.seconds()));
    (out, clock)
}

/// Limits the waiting in a call to the time that all ranks together spent there.
fn limit(scale: &Scale, ends: &mut ByEnds) {
    let mut waited: BTreeMap<VertexIx, f64> = BTreeMap::new();
    for ((waits, _, _), by_rank) in ends.iter() {
        *waited.entry(*waits).or_default() += by_rank.values().sum::<f64>();
    }
    for ((waits, _, _), by_rank) in ends {
        let all = waited.get(waits).copied().unwrap_or(0.0);
        let spent = scale.view().mpi.row(*waits).map_or(0.0, |row| row.sum());
        if all > spent {
            by_rank.values_mut().for_each(|s| *s *= spent / all);
        }
    }
}

fn of_windows(pag: &Pag, scale: &Scale, sums: delay::Sums<ByWay>, factor: f64) -> ByEnds {
    let mut sums: Vec<((u32, CtxId), ByWay)> = sums.into_iter().collect();
    sums.sort_unstable_by_key(|s| s.0);
    let mut of_after: FxHashMap<CtxId, Vec<u32>> = FxHashMap::default();
    for (key, of) in (0..).zip(&scale.view().computation.keys) {
        of_after.entry(of.after).or_default().push(key);
    }
    let mut known: FxHashMap<CtxId, Lateness> = FxHashMap::default();
    let mut out = ByEnds::new();
    for ((rank, after), ways) in sums {
        let keys = of_after.get(&after).map_or(&[][..], Vec::as_slice);
        let lateness = known
            .entry(after)
            .or_insert_with(|| Lateness::new(pag, scale, after, keys));
        let parts = lateness.parts(rank);
        for (way, seconds) in &ways.0 {
            let mut calls: Vec<VertexIx> = Vec::new();
            for v in way.iter().filter_map(|ctx| scale.view().vertex(*ctx)) {
                if !calls.contains(&v) {
                    calls.push(v);
                }
            }
            let Some((waits, via)) = calls.split_first() else {
                continue;
            };
            for (cause, part) in &parts {
                let of_ends = out.entry((*waits, *cause, via.to_vec())).or_default();
                *of_ends.entry(rank).or_default() += seconds * part * factor;
            }
        }
    }
    out
}

/// Compares the slowest rank of each phase with all others.
fn of_phases(pag: &Pag, scale: &Scale) -> ByEnds {
    let mut out = ByEnds::new();
    let mut phases: Vec<(&u32, &Vec<f64>)> = scale.phase_busy.iter().collect();
    phases.sort_unstable_by_key(|p| p.0);
    for (phase, total) in phases {
        let slowest = (0..).zip(total.iter().copied());
        let Some((late, most)) = slowest.reduce(|a, b| if b.1 > a.1 { b } else { a }) else {
            continue;
        };
        let mut all = vec![0.0; total.len()];
        let mut rows: Vec<(VertexIx, Vec<f64>)> = Vec::new();
        delay::longer(scale, *phase, late, |of: &Key, longer| {
            all.iter_mut().zip(longer).for_each(|(a, l)| *a += l);
            rows.push((of.vertex, longer.to_vec()));
        });
        let share = |(total, all): (&f64, &f64)| {
            let wait = most - total;
            if *all > 0.0 {
                (wait / all).min(1.0)
            } else {
                0.0
            }
        };
        let shares: Vec<f64> = total.iter().zip(&all).map(share).collect();
        let waits = closing(scale, *phase).unwrap_or(TopDown::ROOT);
        for (vertex, longer) in rows {
            let seconds: f64 = longer.iter().zip(&shares).map(|(l, s)| l * s).sum();
            if seconds > 0.0 {
                let ends = (waits, structured(pag, vertex), Vec::new());
                *out.entry(ends).or_default().entry(late).or_default() += seconds;
            }
        }
    }
    out
}

/// The call with which a phase mostly ends: the computation after it belongs to another phase.
fn closing(scale: &Scale, phase: u32) -> Option<VertexIx> {
    let mut counts: BTreeMap<VertexIx, u64> = BTreeMap::new();
    let run = scale.run();
    let left: FxHashSet<CtxId> = run.segments.iter().map(|s| s.from).collect();
    for s in run
        .segments
        .iter()
        .filter(|s| scale.phases.after(s.from) == phase)
    {
        let ends = !left.contains(&s.to) || scale.phases.after(s.to) != phase;
        if let Some(v) = scale.view().vertex(s.to).filter(|_| ends) {
            *counts.entry(v).or_default() += s.count;
        }
    }
    let most = counts
        .into_iter()
        .reduce(|a, b| if b.1 > a.1 { b } else { a });
    most.map(|m| m.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::price::delay::tests::{call, replay};
    use headwater_dataflow::algorithm::NEVER;

    #[test]
    fn ways_do_not_grow_beyond_those_that_matter() {
        let mut sum = ByWay::default();
        for i in 0..10_000u32 {
            let way = vec![CtxId(i % 7), CtxId(7 + i)];
            sum.add(&ByWay(BTreeMap::from([(way, f64::from(i))])), 1.0);
        }
        assert!(sum.0.len() <= 2 * MOST, "{}", sum.0.len());
        assert_eq!(
            sum.0.values().sum::<f64>(),
            9999.0 * 5000.0,
            "no second is lost"
        );
        assert!(sum.0.contains_key(&vec![CtxId(9999 % 7), CtxId(7 + 9999)]));
    }

    #[test]
    fn a_wait_that_was_passed_on_keeps_its_way() {
        // Rank 0 is late, rank 1 waits for it in its call 1 and then lets rank 2 wait in call 3.
        let sums: delay::Sums<ByWay> = delay::sums(
            &replay(vec![
                vec![call(1, 1.0, 1.0, 1.0, None)],
                vec![
                    call(1, 0.2, 0.2, 1.0, Some((0, 0))),
                    call(2, 0.1, 1.1, 1.1, None),
                ],
                vec![call(3, 0.2, 0.2, 1.1, Some((1, 1)))],
            ]),
            NEVER,
        );
        let of = |rank, after| -> Vec<(Vec<u32>, f64)> {
            let ways = &sums[&(rank, CtxId(after))].0;
            let rounded = |s: &f64| (s * 1000.0).round() / 1000.0;
            let way = |w: &Vec<CtxId>| w.iter().map(|c| c.0).collect();
            ways.iter().map(|(w, s)| (way(w), rounded(s))).collect()
        };
        assert_eq!(of(0, 0), [(vec![1], 0.8), (vec![3, 1], 0.655)]);
        assert_eq!(of(1, 0), [(vec![3], 0.164)]);
        assert_eq!(of(1, 1), [(vec![3], 0.082)]);
    }
}
