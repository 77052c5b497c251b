//! Waits for threads that had no core, brought to what they would be with a core for each thread.
//!
//! A rank's thread that waits for its team is asleep for that long, and time asleep is time that the rank
//! needs. Where threads outnumber cores a part of it is not: the thread waited for was ready to run, but
//! had no core. That part is set aside as the rank's own waiting for a core is, so that what ranks need can
//! be compared. Without threads nothing changes.

use headwater_model::run::{CtxId, Run, TeamWork};
use rustc_hash::{FxHashMap, FxHashSet};

/// A thread of a rank.
type Thread = (u32, u16);

/// Takes waiting for threads without a core out of the computation of a run's ranks.
pub fn set_aside(run: &mut Run) {
    if run.teams.is_empty() && run.waits.is_empty() {
        return;
    }
    let callers: FxHashSet<Thread> = run.segments.iter().map(|s| (s.rank, s.thread)).collect();
    let without = Without::new(run, &callers);
    let excess = excess(run, &callers, &without);
    // Sleep that no call explains is for the rank's threads too, where it has any: at a barrier, say.
    let mut unknown: FxHashMap<(Thread, CtxId), u64> = FxHashMap::default();
    for s in run.segments.iter().filter(|s| s.blocked_ns > 0) {
        *unknown.entry(((s.rank, s.thread), s.from)).or_default() += s.blocked_ns;
    }
    let mut cut: FxHashMap<(Thread, CtxId), u64> = FxHashMap::default();
    for s in run.samples.iter_mut().filter(|s| s.blocked_ns > 0) {
        let thread = (s.rank, s.thread);
        if let Some(all) = unknown.get_mut(&(thread, s.after)) {
            *all = all.saturating_sub(s.blocked_ns);
        }
        if let Some(share) = excess.get(&(thread, s.ctx)) {
            let part = ((s.blocked_ns as f64 * share) as u64).min(s.blocked_ns);
            s.blocked_ns -= part;
            *cut.entry((thread, s.after)).or_default() += part;
        }
    }
    for (key, seconds) in unknown {
        let part = (seconds as f64 * without.usual(key.0.0)) as u64;
        if part > 0 {
            *cut.entry(key).or_default() += part;
        }
    }
    if !cut.is_empty() {
        shorten(run, &cut);
    }
}

/// Share of the waiting of threads that call MPI which is for threads without a core, by thread and place.
fn excess(
    run: &Run,
    callers: &FxHashSet<Thread>,
    without: &Without,
) -> FxHashMap<(Thread, CtxId), f64> {
    let mut sums: FxHashMap<(Thread, CtxId), (f64, f64)> = FxHashMap::default();
    let mut stretches: FxHashMap<(u32, CtxId, CtxId, CtxId), Vec<&TeamWork>> = FxHashMap::default();
    for row in &run.teams {
        let key = (row.rank, row.team, row.from, row.to);
        stretches.entry(key).or_default().push(row);
    }
    let busy = |t: &TeamWork| t.cpu_ns as f64 + t.blocked_ns.saturating_sub(t.locked_ns) as f64;
    for of_stretch in stretches.values() {
        let slowest = of_stretch.iter().map(|t| busy(t)).fold(0.0, f64::max);
        let runq = of_stretch.iter().map(|t| t.runq_ns).max().unwrap_or(0) as f64;
        for t in of_stretch {
            let thread = (t.rank, t.thread);
            if t.wait_ns > 0 && callers.contains(&thread) {
                let wait = t.wait_ns as f64;
                // Sums of repetitions hide that now one thread is late and now another: no more goes
                // than some thread was without a core.
                let needed = (slowest - busy(t)).max(wait - runq).clamp(0.0, wait);
                let sum = sums.entry((thread, t.to)).or_default();
                *sum = (sum.0 + wait, sum.1 + wait - needed);
            }
        }
    }
    for w in &run.waits {
        let thread = (w.rank, w.thread);
        if callers.contains(&thread) {
            let sum = sums.entry((thread, w.ctx)).or_default();
            let wait = w.wait_ns as f64;
            *sum = (sum.0 + wait, sum.1 + wait * without.of((w.rank, w.holder)));
        }
    }
    let share = |(key, (wait, excess))| (key, part(excess, wait));
    sums.into_iter().map(share).collect()
}

/// Which part of their time threads were ready to run without a core.
struct Without {
    threads: FxHashMap<Thread, (f64, f64)>,
    /// Of all threads of a rank that call no MPI.
    ranks: FxHashMap<u32, (f64, f64)>,
}

impl Without {
    /// From what threads did in teams; others count with all that they did.
    fn new(run: &Run, callers: &FxHashSet<Thread>) -> Self {
        let mut threads: FxHashMap<Thread, (f64, f64)> = FxHashMap::default();
        for t in &run.teams {
            let sum = threads.entry((t.rank, t.thread)).or_default();
            *sum = (sum.0 + t.runq_ns as f64, sum.1 + t.wall_ns as f64);
        }
        for t in &run.threads {
            let all = (t.runq_ns as f64, t.wall_ns as f64);
            threads.entry((t.rank, t.thread)).or_insert(all);
        }
        let mut ranks: FxHashMap<u32, (f64, f64)> = FxHashMap::default();
        for (thread, own) in threads.iter().filter(|t| !callers.contains(t.0)) {
            let sum = ranks.entry(thread.0).or_default();
            *sum = (sum.0 + own.0, sum.1 + own.1);
        }
        Self { threads, ranks }
    }

    /// Of a thread, or of those of its rank where it is not known.
    fn of(&self, thread: Thread) -> f64 {
        let known = self.threads.get(&thread).map(|t| part(t.0, t.1));
        known.unwrap_or_else(|| self.usual(thread.0))
    }

    fn usual(&self, rank: u32) -> f64 {
        self.ranks.get(&rank).map_or(0.0, |t| part(t.0, t.1))
    }
}

/// `of` over `whole`, as a share.
fn part(of: f64, whole: f64) -> f64 {
    if whole > 0.0 {
        (of / whole).clamp(0.0, 1.0)
    } else {
        0.0
    }
}

/// Shortens segments and events by what was cut out of the time asleep after each call.
fn shorten(run: &mut Run, cut: &FxHashMap<(Thread, CtxId), u64>) {
    let mut asleep: FxHashMap<(Thread, CtxId), (u64, u64)> = FxHashMap::default();
    for s in &run.segments {
        let sum = asleep.entry(((s.rank, s.thread), s.from)).or_default();
        *sum = (sum.0 + s.blocked_ns, sum.1 + s.busy_ns());
    }
    for s in &mut run.segments {
        let key = ((s.rank, s.thread), s.from);
        let (Some(cut), Some((blocked, _))) = (cut.get(&key), asleep.get(&key)) else {
            continue;
        };
        let own = s.blocked_ns as f64 * part(*cut as f64, *blocked as f64);
        let own = (own as u64).min(s.blocked_ns);
        let before = s.busy_ns() as f64;
        s.blocked_ns -= own;
        s.runq_ns += own;
        s.max_busy_ns = (s.max_busy_ns as f64 * part(s.busy_ns() as f64, before)) as u64;
    }
    let mut before: FxHashMap<(Thread, CtxId), CtxId> = FxHashMap::default();
    for s in &run.segments {
        before.entry(((s.rank, s.thread), s.to)).or_insert(s.from);
    }
    let mut last: FxHashMap<(u32, Thread), CtxId> = FxHashMap::default();
    for e in run.events.iter_mut().filter(|e| e.first_of_call) {
        let thread = (e.rank, e.thread);
        let from = last.insert((e.window, thread), e.ctx);
        let from = from.or_else(|| before.get(&(thread, e.ctx)).copied());
        let key = (thread, from.unwrap_or(CtxId::NONE));
        if let (Some(cut), Some((blocked, busy))) = (cut.get(&key), asleep.get(&key)) {
            let less = part((*cut).min(*blocked) as f64, *busy as f64);
            e.busy_ns = (e.busy_ns as f64 * (1.0 - less)) as u64;
        }
    }
}
