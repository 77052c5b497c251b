//! Where the threads work that a rank's own thread sleeps for.
//!
//! A rank whose threads call no MPI waits for them where it joins them. If it does so for longer than other
//! ranks, or as long however many ranks there are, the place is where they compute, not where it waits.

use crate::find::candidate::Candidate;
use crate::measure::inclusive::Inclusive;
use crate::measure::scale::Scale;
use crate::measure::useful;
use headwater_dataflow::numbers::stats;
use headwater_graph::{Pag, ThreadTime, ThreadView, TopDown, VertexIx, sum_rows};
use headwater_model::psg::VertexKind;
use headwater_model::words;
use std::collections::{BTreeMap, BTreeSet};

/// Share of a cause's seconds that waiting for threads, beyond that of other ranks, must be.
const MOST: f64 = 0.5;

/// If a thread spends this share of its time at a place in calls that take and release locks, the place is that of a lock in it
/// for which threads wait.
const OF_LOCKS: f64 = 0.6;

/// The times of the thread of each rank that computes longest, of those that call no MPI: where all have a core, the others
/// are done before it. The sum of all threads would show what many share.
fn longest(threads: &ThreadView) -> impl Iterator<Item = &ThreadTime> {
    let is_worker = |t: &&ThreadTime| !threads.calls_mpi(t.rank, t.thread);
    let mut sums: BTreeMap<(u32, u16), f64> = BTreeMap::new();
    for t in threads.times.iter().filter(is_worker) {
        *sums.entry((t.rank, t.thread)).or_default() += t.cpu;
    }
    let mut most: BTreeMap<u32, (u16, f64)> = BTreeMap::new();
    for ((rank, thread), cpu) in sums {
        let longest = most.entry(rank).or_insert((thread, cpu));
        if cpu > longest.1 {
            *longest = (thread, cpu);
        }
    }
    let all = threads.times.iter();
    all.filter(move |t| {
        most.get(&t.rank)
            .is_some_and(|(thread, _)| *thread == t.thread)
    })
}

/// The lock in `v` for which threads wait, one of `locks`, if most of the weight there is in calls for locks.
fn lock_in(
    pag: &Pag,
    times: &Inclusive,
    v: VertexIx,
    locks: &[VertexIx],
    weigh: impl Fn(&[f64]) -> f64,
) -> Option<VertexIx> {
    let weight = |v: VertexIx| times.row(v).map_or(0.0, &weigh);
    let is_call = |v: &VertexIx| pag.top.get(*v).kind == VertexKind::LockCall;
    let in_calls: f64 = pag.inside(v).filter(is_call).map(weight).sum();
    let inside = locks
        .iter()
        .copied()
        .filter(|l| is_call(l) && pag.top.contains(v, *l));
    let most = inside.reduce(|a, b| if weight(b) > weight(a) { b } else { a });
    most.filter(|_| in_calls >= OF_LOCKS * weight(v))
}

/// Brings causes in which ranks mostly wait for their threads to where those compute. For `locks`, threads wait.
pub fn bring_there(
    pag: &Pag,
    scale: &Scale,
    locks: &[VertexIx],
    mut found: Vec<Candidate>,
) -> Vec<Candidate> {
    let waits = useful::waits(scale);
    if waits.is_empty() {
        return found;
    }
    let data = &scale.view().computation;
    for c in found
        .iter_mut()
        .filter(|c| c.class.is_computation() && !c.class.is_of_threads())
    {
        let inside = scale.keys_inside(pag, c.vertex);
        let waiting = inside.iter().copied().filter(|k| {
            data.keys
                .get(*k as usize)
                .is_some_and(|k| waits.contains(&k.vertex))
        });
        let waiting: Vec<u32> = waiting.collect();
        let others: Vec<u32> = (0..scale.p).filter(|r| !c.ranks.contains(r)).collect();
        let beyond = |row: &[f64]| stats::mean_of(row, &c.ranks) - stats::mean_of(row, &others);
        let slept = beyond(&sum_rows(&data.blocked, &waiting, scale.p));
        if slept <= MOST * c.cost {
            continue;
        }
        // At the end of a region, ranks wait for what threads did in that region.
        let vertex = |k: &u32| data.keys.get(*k as usize).map(|k| k.vertex);
        let around = waiting.iter().filter_map(vertex);
        let around = around.flat_map(|v| scale.teams_around(pag, v));
        let regions: BTreeSet<VertexIx> = around.filter(|team| pag.begins_region(*team)).collect();
        let is_there = |v: VertexIx| {
            regions.is_empty()
                || scale
                    .teams_around(pag, v)
                    .any(|team| regions.contains(&team))
        };
        let of_worker = longest(&scale.view().threads).filter(|t| is_there(t.vertex));
        let entries = of_worker.map(|t| (t.vertex, t.rank as usize, t.cpu));
        let times = Inclusive::of_columns(pag, scale.p as usize, entries);
        let vertex = times.descend(pag, TopDown::ROOT, beyond);
        if vertex != TopDown::ROOT {
            c.evidence.push(format!(
                "the threads that compute here are waited for in {}, {}{}",
                words::location(&pag.place(c.vertex)),
                words::seconds(slept),
                if scale.subject().is_process() {
                    ""
                } else {
                    " on each of these ranks"
                },
            ));
            let own = |row: &[f64]| stats::mean_of(row, &c.ranks);
            let vertex = lock_in(pag, &times, vertex, locks, own).unwrap_or(vertex);
            let mut same = times.in_recursion(pag, vertex, own);
            if same.is_empty() {
                same = times.same_place(pag, vertex, own);
            }
            c.vertex = same.first().copied().unwrap_or(vertex);
            c.twins = same.into_iter().skip(1).collect();
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_stage_is_waited_for_and_not_what_many_share() {
        let time = |vertex, rank, thread, cpu| ThreadTime {
            vertex,
            rank,
            thread,
            cpu,
            blocked: 0.0,
        };
        let view = ThreadView {
            times: vec![
                // The writer, and three filters.
                time(7, 0, 1, 0.6),
                time(8, 0, 1, 0.3),
                time(5, 0, 2, 0.5),
                time(5, 0, 3, 0.5),
                time(5, 0, 4, 0.5),
                // A thread that calls MPI is waited for there.
                time(9, 0, 5, 4.0),
                time(5, 1, 2, 0.1),
            ],
            callers: vec![(0, 5)],
            ..ThreadView::default()
        };
        let found: Vec<_> = longest(&view).map(|t| (t.vertex, t.rank)).collect();
        assert_eq!(found, [(7, 0), (8, 0), (5, 1)]);
    }
}
