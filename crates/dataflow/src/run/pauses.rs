//! Pauses in which a rank's first thread waits for threads that the program made.
//!
//! A thread may wait for others without a lock or a join: it sleeps for a fixed time, looks whether they are done, and
//! sleeps again. In the recording that is sleep, as a pause of the program itself would be. The lives of the threads
//! tell them apart: if a worker was at work for longer than the first thread was awake, it worked while the first
//! thread slept. A place where that is so for most of the sleep is a wait for this worker.

use crate::run::called;
use crate::run::computed::Thread;
use headwater_graph::Structures;
use headwater_model::run::{CtxId, Run, Sample, ThreadInfo, ThreadWait, WaitKind};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Functions that sleep for a fixed time, of C and of Python.
const PAUSES: [&str; 6] = [
    "nanosleep",
    "clock_nanosleep",
    "usleep",
    "sleep",
    "thrd_sleep",
    "time.sleep",
];

/// A worker must have worked during this part of the sleep at a place.
const MOST: f64 = 0.5;

/// A rank's first thread, and the worker that was longest at work while it lived; nanoseconds.
#[derive(Debug, PartialEq)]
struct Lives {
    /// How long the first thread lived.
    first: u64,
    worker: u16,
    /// How long the worker was at work meanwhile, at least, on a core or without one.
    worked: u64,
}

impl Lives {
    /// How much of the sleep at one place the worker was at work, at least: it can have worked in all the time that the
    /// first thread was elsewhere.
    fn at_work_during(&self, sleep: u64) -> u64 {
        let elsewhere = self.first.saturating_sub(sleep);
        self.worked.saturating_sub(elsewhere).min(sleep)
    }
}

/// How long a thread was at work during the life of another one, at least, nanoseconds.
fn worked_during(life: &ThreadInfo, t: &ThreadInfo) -> u64 {
    let end = |t: &ThreadInfo| t.begin_ns.saturating_add(t.wall_ns);
    let both = end(t)
        .min(end(life))
        .saturating_sub(t.begin_ns.max(life.begin_ns));
    let worked = t.cpu_ns.saturating_add(t.runq_ns);
    worked.saturating_sub(t.wall_ns.saturating_sub(both))
}

/// By rank. Threads that call MPI wait for other ranks, too, and when threads work in the regions of a runtime is
/// known: they are no workers here.
fn lives(run: &Run) -> BTreeMap<u32, Lives> {
    // Most programs make no threads, and a run may have very many segments.
    if run.threads.iter().all(|t| t.made_by == CtxId::NONE) {
        return BTreeMap::new();
    }
    let infos = run.threads.iter().map(|t| ((t.rank, t.thread), t));
    let infos: FxHashMap<Thread, &ThreadInfo> = infos.collect();
    let in_regions = run.teams.iter().filter(|t| {
        let info = infos.get(&(t.rank, t.thread));
        info.is_none_or(|info| info.made_by != t.team)
    });
    let callers = run.segments.iter().map(|s| (s.rank, s.thread));
    let others: FxHashSet<Thread> = in_regions
        .map(|t| (t.rank, t.thread))
        .chain(callers)
        .collect();
    let mut out: BTreeMap<u32, Lives> = BTreeMap::new();
    for t in &run.threads {
        let is_worker = t.made_by != CtxId::NONE && !others.contains(&(t.rank, t.thread));
        let first = infos.get(&(t.rank, 0)).filter(|_| is_worker);
        let Some(first) = first else {
            continue;
        };
        let lives = Lives {
            first: first.wall_ns,
            worker: t.thread,
            worked: worked_during(first, t),
        };
        if (out.get(&t.rank)).is_none_or(|known| lives.worked > known.worked) {
            out.insert(t.rank, lives);
        }
    }
    out
}

/// Adds waits of the ranks' first threads in pauses to a run.
pub fn add_waits(run: &mut Run, structures: &Structures) {
    let lives = lives(run);
    if lives.is_empty() {
        return;
    }
    let mut asleep: BTreeMap<(u32, CtxId), (u64, u64)> = BTreeMap::new();
    let of_first = |s: &&Sample| s.thread == 0 && lives.contains_key(&s.rank);
    for s in run.samples.iter().filter(of_first) {
        let (sleep, samples) = asleep.entry((s.rank, s.ctx)).or_default();
        *sleep = sleep.saturating_add(s.blocked_ns);
        *samples = samples.saturating_add(u64::from(s.count));
    }
    let wait = |((rank, ctx), (sleep, samples)): ((u32, CtxId), (u64, u64))| {
        let lives = lives.get(&rank)?;
        let is_wait = sleep > 0 && lives.at_work_during(sleep) as f64 >= MOST * sleep as f64;
        let is_pause = || called::at(run, structures, ctx).is_some_and(|n| PAUSES.contains(&n));
        (is_wait && is_pause()).then_some(ThreadWait {
            rank,
            ctx,
            kind: WaitKind::Pause,
            holder: lives.worker,
            holder_ctx: CtxId::NONE,
            count: samples.max(1),
            wait_ns: sleep,
            ..ThreadWait::default()
        })
    };
    let waits: Vec<ThreadWait> = asleep.into_iter().filter_map(wait).collect();
    run.waits.extend(waits);
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_model::run::{Segment, TeamWork};

    const MADE: CtxId = CtxId(1);

    /// A rank's threads by number: when each begins, how long it lives, and how long it works.
    fn run(threads: &[(u16, u64, u64, u64)]) -> Run {
        let infos = threads
            .iter()
            .map(|(thread, begin_ns, wall_ns, cpu_ns)| ThreadInfo {
                thread: *thread,
                made_by: if *thread == 0 { CtxId::NONE } else { MADE },
                begin_ns: *begin_ns,
                wall_ns: *wall_ns,
                cpu_ns: *cpu_ns,
                ..Default::default()
            });
        Run {
            threads: infos.collect(),
            ..Default::default()
        }
    }

    fn of(run: &Run) -> Option<(u16, u64)> {
        lives(run).get(&0).map(|lives| (lives.worker, lives.worked))
    }

    #[test]
    fn a_worker_works_during_what_the_first_thread_does_not_do_elsewhere() {
        let lives = |worked| Lives {
            first: 100,
            worker: 1,
            worked,
        };
        assert_eq!(lives(95).at_work_during(90), 85);
        assert_eq!(lives(10).at_work_during(90), 0);
        assert_eq!(lives(100).at_work_during(100), 100);
    }

    #[test]
    fn the_worker_is_the_one_that_worked_most_while_the_first_thread_lived() {
        let two = run(&[(0, 0, 100, 5), (1, 0, 100, 60), (2, 0, 100, 70)]);
        assert_eq!(of(&two), Some((2, 70)));
        // It lives on for 900 ns, in which it can have done most of its work.
        let longer = run(&[(0, 0, 100, 5), (1, 10, 990, 950)]);
        assert_eq!(of(&longer), Some((1, 50)));
        assert_eq!(of(&run(&[(1, 0, 100, 60)])), None, "no first thread");
    }

    #[test]
    fn threads_that_call_mpi_or_work_in_regions_are_no_workers() {
        let mut calls = run(&[(0, 0, 100, 5), (1, 0, 100, 60)]);
        calls.segments.push(Segment {
            thread: 1,
            ..Default::default()
        });
        assert_eq!(of(&calls), None);
        let mut in_region = run(&[(0, 0, 100, 5), (1, 0, 100, 60)]);
        for (team, found) in [(MADE, Some((1, 60))), (CtxId(7), None)] {
            in_region.teams = vec![TeamWork {
                thread: 1,
                team,
                ..Default::default()
            }];
            assert_eq!(of(&in_region), found);
        }
    }
}
