//! Useful computation of the threads of ranks: CPU time without MPI and without waiting for other threads.
//!
//! A runtime that spins while it waits, and an MPI library that polls, use CPU time as well. So the CPU time of a whole
//! thread says little. Useful is what a thread that calls MPI computes between its calls, without the places where it
//! waits for threads, and what all others do in their teams (for those in no team, what samples show).

use crate::measure::scale::Scale;
use crate::measure::teams;
use headwater_dataflow::numbers::stats;
use headwater_graph::VertexIx;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

const NANO: f64 = 1e-9;

/// Places where threads that call MPI wait for threads.
pub fn waits(scale: &Scale) -> FxHashSet<VertexIx> {
    let threads = &scale.view().threads;
    let own = |rank, thread| threads.calls_mpi(rank, thread);
    let parallel = &scale.view().parallel;
    let teams = parallel
        .teams
        .iter()
        .filter(|t| own(t.rank, t.thread))
        .map(|t| t.to);
    let edges = parallel
        .threads
        .iter()
        .filter(|e| own(e.rank, e.thread))
        .map(|e| e.at);
    teams.chain(edges).collect()
}

/// Those of the `keys` of computation that are at none of the `waits`.
pub fn without(scale: &Scale, keys: &[u32], waits: &FxHashSet<VertexIx>) -> Vec<u32> {
    let data = &scale.view().computation;
    let other = |k: &u32| {
        let key = data.keys.get(*k as usize);
        key.is_some_and(|k| !waits.contains(&k.vertex))
    };
    keys.iter().copied().filter(other).collect()
}

/// Useful seconds of all threads of each rank.
pub fn of_ranks(scale: &Scale) -> Vec<f64> {
    let data = &scale.view().computation;
    let mut out = vec![0.0; scale.p as usize];
    for key in without(scale, &scale.keys(), &waits(scale)) {
        if let Some(all) = data.busy.row(key) {
            all.add_to(&mut out);
        }
        for (rank, asleep) in data.blocked.row(key).into_iter().flat_map(|r| r.iter()) {
            if let Some(sum) = out.get_mut(rank as usize) {
                *sum -= asleep;
            }
        }
    }
    out.iter_mut().for_each(|sum| *sum = sum.max(0.0));
    for ((rank, _), seconds) in of_workers(scale) {
        if let Some(sum) = out.get_mut(rank as usize) {
            *sum += seconds;
        }
    }
    out
}

/// Seconds that each thread computes, mean; of ranks whose threads are no part of the scale, each rank.
pub fn each(scale: &Scale) -> f64 {
    match scale.threads_each {
        Some(each) => stats::mean(&of_ranks(scale)) / f64::from(each.max(1)),
        None => stats::mean(&scale.busy()),
    }
}

/// Useful seconds of the threads that call no MPI.
fn of_workers(scale: &Scale) -> BTreeMap<(u32, u16), f64> {
    let threads = &scale.view().threads;
    let works = |rank, thread| !threads.calls_mpi(rank, thread);
    let mut out: BTreeMap<(u32, u16), f64> = BTreeMap::new();
    let rows = scale.teams.iter();
    for t in rows.filter(|t| works(t.rank, t.thread)) {
        *out.entry((t.rank, t.thread)).or_default() += teams::computed(t);
    }
    let in_teams: FxHashSet<(u32, u16)> = out.keys().copied().collect();
    let times = threads.times.iter();
    for t in times.filter(|t| works(t.rank, t.thread)) {
        if !in_teams.contains(&(t.rank, t.thread)) {
            *out.entry((t.rank, t.thread)).or_default() += t.cpu;
        }
    }
    // A thread of one team that begins another one is in rows of both.
    let all: FxHashMap<(u32, u16), f64> = (scale.run().threads.iter())
        .map(|t| ((t.rank, t.thread), t.cpu_ns as f64 * NANO))
        .collect();
    for (thread, seconds) in &mut out {
        if let Some(cpu) = all.get(thread) {
            *seconds = seconds.min(*cpu);
        }
    }
    out
}
