//! Pauses in which a rank's own thread waits for the threads that it made.
//!
//! A thread may wait for others without a lock or a join: it sleeps for a fixed time, looks whether they are done, and
//! sleeps again. In the recording that is sleep, as a pause of the program itself would be. The lives of the threads
//! tell them apart: if a thread that the own one made was at work for longer than the own one was awake, it worked
//! while the own one slept. A place where that is so for most of the sleep is a wait for this thread.

use crate::run::called;
use headwater_graph::Structures;
use headwater_model::run::{CtxId, Run, ThreadWait, WaitKind};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// Functions that sleep for a fixed time.
const PAUSES: [&str; 5] = [
    "nanosleep",
    "clock_nanosleep",
    "usleep",
    "sleep",
    "thrd_sleep",
];

/// This part of the sleep at a place must be beside another thread.
const MOST: f64 = 0.5;

/// A rank's own thread, and the one that was longest at work of those that it made; nanoseconds.
#[derive(Debug, Default)]
struct Lives {
    /// How long the own one lived.
    own: u64,
    /// The other one.
    thread: u16,
    /// How long that one was at work, on a core or without one.
    worked: u64,
}

impl Lives {
    /// Of the sleep at one place, what the other thread worked beside, at least: the own one was elsewhere for the rest
    /// of its life, in which the other can have worked, too.
    fn beside(&self, sleep: u64) -> u64 {
        let elsewhere = self.own.saturating_sub(sleep);
        self.worked.saturating_sub(elsewhere).min(sleep)
    }
}

/// By rank. Threads that work in the regions of a runtime are left out: when they work is known.
fn lives(run: &Run) -> BTreeMap<u32, Lives> {
    let made_by = run.threads.iter().map(|t| ((t.rank, t.thread), t.made_by));
    let made_by: BTreeMap<(u32, u16), CtxId> = made_by.collect();
    let in_regions = run.teams.iter().filter(|t| {
        let made_by = made_by.get(&(t.rank, t.thread));
        made_by.is_none_or(|call| *call != t.team)
    });
    let in_regions: FxHashSet<(u32, u16)> = in_regions.map(|t| (t.rank, t.thread)).collect();
    let mut out: BTreeMap<u32, Lives> = BTreeMap::new();
    for t in &run.threads {
        let of = out.entry(t.rank).or_default();
        let worked = t.cpu_ns.saturating_add(t.runq_ns);
        let is_made = t.made_by != CtxId::NONE && !in_regions.contains(&(t.rank, t.thread));
        if t.thread == 0 {
            of.own = t.wall_ns;
        } else if worked > of.worked && is_made {
            (of.thread, of.worked) = (t.thread, worked);
        }
    }
    out
}

/// Adds waits of the ranks' own threads in pauses to a run.
pub fn add_waits(run: &mut Run, structures: &Structures) {
    let lives = lives(run);
    if lives.values().all(|of| of.worked == 0) {
        return;
    }
    let mut asleep: BTreeMap<(u32, CtxId), (u64, u64)> = BTreeMap::new();
    for s in run.samples.iter().filter(|s| s.thread == 0) {
        let sum = asleep.entry((s.rank, s.ctx)).or_default();
        *sum = (
            sum.0.saturating_add(s.blocked_ns),
            sum.1.saturating_add(u64::from(s.count)),
        );
    }
    let waits = asleep
        .into_iter()
        .filter_map(|((rank, ctx), (sleep, samples))| {
            let of = lives.get(&rank)?;
            let is_wait = sleep > 0 && of.beside(sleep) as f64 >= MOST * sleep as f64;
            let is_pause = || called::at(run, structures, ctx).is_some_and(|n| PAUSES.contains(&n));
            (is_wait && is_pause()).then_some(ThreadWait {
                rank,
                ctx,
                kind: WaitKind::Pause,
                holder: of.thread,
                holder_ctx: CtxId::NONE,
                count: samples.max(1),
                wait_ns: sleep,
                ..ThreadWait::default()
            })
        });
    let waits: Vec<ThreadWait> = waits.collect();
    run.waits.extend(waits);
}
