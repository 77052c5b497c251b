//! Whether the recorded threads are all that computed.

use headwater_model::RankSet;
use headwater_model::run::{CtxId, Run};
use headwater_model::words;

/// How much more CPU time a process must have used than its recorded threads.
const MORE: f64 = 1.1;

/// CPU time below which a difference tells nothing: a few ticks of the kernel, nanoseconds.
const TICKS: f64 = 30e6;

/// The sentence about threads that the verdict does not cover, if there are any.
pub fn unseen(run: &Run) -> Option<String> {
    let mut known = vec![0.0; run.header.ranks as usize];
    let mut add = |rank: u32, ns: u64| {
        if let Some(sum) = known.get_mut(rank as usize) {
            *sum += ns as f64;
        }
    };
    let inside = |s: &&headwater_model::run::Segment| s.from != CtxId::NONE;
    run.segments
        .iter()
        .filter(inside)
        .for_each(|s| add(s.rank, s.cpu_ns));
    run.calls.iter().for_each(|c| add(c.rank, c.cpu_ns));
    let unseen = run.ranks.iter().filter(|i| {
        let known = known.get(i.rank as usize).copied().unwrap_or(0.0);
        let all = i.cpu_ns.unwrap_or(0) as f64;
        all > MORE * known && all > known + TICKS
    });
    let more: RankSet = unseen.map(|i| i.rank).collect();
    let several: RankSet = run
        .calls
        .iter()
        .filter(|c| c.thread > 0)
        .map(|c| c.rank)
        .collect();
    let who = |set: &RankSet| words::ranks(set, run.header.ranks, 40);
    let what = match (several.is_empty(), more.is_empty()) {
        (true, true) => return None,
        (true, false) => format!(
            "other threads than those that call MPI used CPU time on {}",
            who(&more)
        ),
        (false, _) => format!("more than one thread called MPI on {}", who(&several)),
    };
    Some(format!(
        "With {} {what} (OpenMP, say): the verdict covers the recorded threads only.",
        words::count(run.header.ranks as usize)
    ))
}
