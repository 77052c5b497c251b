//! Finds the CPU time of threads, between their birth and their end, that no sample covers.
//!
//! A thread that the program makes belongs to a team, and its CPU time is measured from its birth to its end. Samples
//! divide this time. Where a thread ends before its first sample, they leave out all of it. The time that samples leave
//! out belongs to the routine in which the thread starts: the function in which other threads that the same call made
//! were sampled. If none of them was sampled, the time belongs to the call itself.

use crate::topdown::{TopDown, VertexIx};
use headwater_model::run::{CtxId, Run, ThreadInfo};
use rustc_hash::{FxHashMap, FxHashSet};

/// Nanoseconds of CPU time and of sleep, by vertex, rank and thread.
pub(crate) type Sums = FxHashMap<(VertexIx, u32, u16), (u64, u64)>;

/// Nanoseconds of CPU time that `sums` leaves out, by vertex, rank and thread, for the threads that the program made
/// and for which `works` holds; `of` returns the vertex of a context.
pub(crate) fn unplaced(
    run: &Run,
    works: impl Fn(&ThreadInfo) -> bool,
    of: impl Fn(CtxId) -> Option<VertexIx>,
    top: &TopDown,
    sums: &Sums,
) -> Vec<((VertexIx, u32, u16), u64)> {
    // Threads of a runtime are in teams that other calls begin, and these threads spin between teams.
    let teams: FxHashSet<(u32, u16, CtxId)> = run
        .teams
        .iter()
        .map(|t| (t.rank, t.thread, t.team))
        .collect();
    let made = |t: &&ThreadInfo| {
        t.rank < run.header.ranks && teams.contains(&(t.rank, t.thread, t.made_by)) && works(t)
    };
    let made: Vec<(&ThreadInfo, VertexIx)> = run
        .threads
        .iter()
        .filter(made)
        .filter_map(|t| Some((t, of(t.made_by)?)))
        .collect();
    if made.is_empty() {
        return Vec::new();
    }
    let call_of: FxHashMap<(u32, u16), VertexIx> = made
        .iter()
        .map(|(t, call)| ((t.rank, t.thread), *call))
        .collect();
    let mut placed: FxHashMap<(u32, u16), u64> = FxHashMap::default();
    let mut starts: FxHashMap<(VertexIx, VertexIx), u64> = FxHashMap::default();
    for ((vertex, rank, thread), (cpu, _)) in sums {
        let Some(call) = call_of.get(&(*rank, *thread)) else {
            continue;
        };
        *placed.entry((*rank, *thread)).or_default() += cpu;
        let below = |v: &VertexIx| top.get(*v).parent == Some(*call);
        if let Some(start) = top.ancestors(*vertex).find(below) {
            *starts.entry((*call, start)).or_default() += cpu;
        }
    }
    let mut start_of: FxHashMap<VertexIx, (u64, VertexIx)> = FxHashMap::default();
    for ((call, start), cpu) in starts {
        let most = start_of.entry(call).or_insert((cpu, start));
        if (cpu, most.1) > (most.0, start) {
            *most = (cpu, start);
        }
    }
    let mut out = Vec::new();
    for (t, call) in made {
        let placed = placed.get(&(t.rank, t.thread)).copied().unwrap_or(0);
        let left = t.cpu_ns.saturating_sub(placed);
        if left > 0 {
            let start = start_of.get(&call).map_or(call, |(_, start)| *start);
            out.push(((start, t.rank, t.thread), left));
        }
    }
    out
}
