//! What threads that call MPI compute outside of it, and for how long they waited for a core meanwhile, by place.

use headwater_model::run::{CtxId, Run};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A thread of a rank.
pub type Thread = (u32, u16);

/// The counter of samples that has the time without a core, nanoseconds.
const WITHOUT_CORE: &str = "run_queue_ns";

/// What a thread that calls MPI computes outside MPI, nanoseconds.
pub struct Computed {
    /// CPU time by place, and that with the time without a core there; places where it hardly waited for a core come first.
    parts: Vec<(f64, f64)>,
    /// All time, also that in MPI.
    pub wall: f64,
}

impl Computed {
    /// All CPU time.
    pub fn cpu(&self) -> f64 {
        self.parts.iter().map(|(cpu, _)| cpu).sum()
    }

    /// The most CPU time that it can have had in `time` of its life: that of the places where it hardly waited for a core.
    pub fn most_in(&self, time: f64) -> f64 {
        let mut left = time.max(0.0);
        let mut sum = 0.0;
        for (cpu, ready) in &self.parts {
            sum += cpu * part(left, *ready);
            left = (left - ready).max(0.0);
        }
        sum
    }
}

/// By rank: what each of its threads that call MPI computes.
pub fn computed(run: &Run) -> FxHashMap<u32, Vec<Computed>> {
    let mut threads: BTreeMap<Thread, (f64, f64)> = BTreeMap::new();
    for s in &run.segments {
        let sum = threads.entry((s.rank, s.thread)).or_default();
        *sum = (sum.0 + s.cpu_ns as f64, sum.1 + s.wall_ns as f64);
    }
    for c in &run.calls {
        threads.entry((c.rank, c.thread)).or_default().1 += c.wall_ns as f64;
    }
    let mut places = places(run);
    let mut out: FxHashMap<u32, Vec<Computed>> = FxHashMap::default();
    for (thread, (cpu, wall)) in threads {
        let mut parts = places.remove(&thread).unwrap_or_default();
        let sampled: f64 = parts.iter().map(|(cpu, _)| cpu).sum();
        if sampled > 0.0 {
            let factor = cpu / sampled;
            parts.iter_mut().for_each(|(cpu, ready)| {
                *ready += *cpu * (factor - 1.0);
                *cpu *= factor;
            });
            parts.sort_by(|a, b| (b.0 * a.1).total_cmp(&(a.0 * b.1)));
        } else {
            parts = vec![(cpu, cpu)];
        }
        out.entry(thread.0)
            .or_default()
            .push(Computed { parts, wall });
    }
    out
}

/// By thread: CPU time of each place that was sampled, and the same with the time without a core, nanoseconds.
fn places(run: &Run) -> FxHashMap<Thread, Vec<(f64, f64)>> {
    let without_core = run.header.counters.iter().position(|c| c == WITHOUT_CORE);
    let mut places: BTreeMap<(Thread, CtxId), (f64, f64)> = BTreeMap::new();
    for s in run.samples.iter().filter(|s| s.cpu_ns > 0) {
        let sum = places.entry(((s.rank, s.thread), s.ctx)).or_default();
        let waited = without_core.and_then(|at| s.counters.get(at));
        let ready = s.cpu_ns.saturating_add(waited.copied().unwrap_or(0));
        *sum = (sum.0 + s.cpu_ns as f64, sum.1 + ready as f64);
    }
    let mut out: FxHashMap<Thread, Vec<(f64, f64)>> = FxHashMap::default();
    for ((thread, _), part) in places {
        out.entry(thread).or_default().push(part);
    }
    out
}

/// `of` over `whole`, as a share.
pub(super) fn part(of: f64, whole: f64) -> f64 {
    if whole > 0.0 {
        (of / whole).clamp(0.0, 1.0)
    } else {
        0.0
    }
}
