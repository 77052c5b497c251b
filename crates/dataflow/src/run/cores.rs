//! Corrects waits for threads that had no core to what they would be with a core for each thread.
//!
//! While a rank's thread waits for its team, it is asleep, and time asleep is time that the rank needs. Where threads
//! outnumber cores, a part of it is not: the other thread was ready to run, but had no core. A team needs what its
//! slowest thread does, stretch by stretch. Waiting beyond that is set aside, as the rank's own waiting for a core is,
//! so that the needs of ranks can be compared. Some OpenMP runtimes spin while they wait and so use CPU time: the part
//! of it at the place of a wait is treated alike. Without threads nothing changes.

use crate::run::called;
use crate::run::computed::{Thread, computed, part};
use crate::run::threads;
use headwater_graph::{Structures, is_at_work, is_runtime_library, unended};
use headwater_model::run::{Context, CtxId, Run, Sample, TeamWork};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Time that is removed after a call, nanoseconds.
#[derive(Clone, Copy, Default)]
pub struct Cut {
    /// Of its sleep.
    pub asleep: u64,
    /// Of its CPU time.
    pub spinning: u64,
}

/// If more than this part of the time after a call is set aside, single repetitions are no longer meaningful: it is
/// chance which of them had to wait for a core.
const SPOILT: f64 = 0.05;

/// Removes waiting for threads without a core from the computation of a run's ranks.
pub fn set_aside(run: &mut Run, structures: &Structures) {
    // With a core for each thread, waits are correct. Otherwise a thread may have waited for its core before it could
    // begin, which is in no stretch: then only what threads do is reliable.
    if !threads::is_crowded(run) {
        return;
    }
    let mut teams = [&run.teams[..], &unended(run)].concat();
    if teams.is_empty() && run.waits.is_empty() {
        return;
    }
    let callers: FxHashSet<Thread> = run.segments.iter().map(|s| (s.rank, s.thread)).collect();
    leave_out_sleepers(run, &callers, &mut teams);
    // Sleep that no system call explains is also waiting for the rank's threads, if it has any: for example at a
    // barrier.
    let mut unknown = Sleep::default();
    for s in run.segments.iter().filter(|s| s.blocked_ns > 0) {
        *unknown.entry(((s.rank, s.thread), s.from)).or_default() += s.blocked_ns;
    }
    for s in run.samples.iter().filter(|s| s.blocked_ns > 0) {
        if let Some(all) = unknown.get_mut(&((s.rank, s.thread), s.after)) {
            *all = all.saturating_sub(s.blocked_ns);
        }
    }
    let locks = locks(run, &teams);
    let stretches = stretches(run, structures, (&teams, &locks), &callers);
    let (mut own, usual) = beside(&stretches, &callers);
    let spun = spinning(run, &own);
    for w in run.waits.iter().filter(|w| w.kind.is_lock()) {
        if let Some(share) = locks.get(&(w.rank, w.thread)) {
            own.insert(((w.rank, w.thread), w.ctx), 1.0 - share);
        }
    }
    let signalled = waits_for_signals(run, structures, &callers);
    let of_ranks = of_ranks(run, &stretches, &callers, (&unknown, &signalled));
    let waits = run.waits.iter().map(|w| ((w.rank, w.thread), w.ctx));
    let waited: FxHashSet<(Thread, CtxId)> = waits.chain(signalled.into_keys()).collect();
    let mut cut: FxHashMap<(Thread, CtxId), Cut> = FxHashMap::default();
    for (i, part) in spun {
        if let Some(s) = run.samples.get_mut(i) {
            s.cpu_ns -= part;
            let after = cut.entry(((s.rank, s.thread), s.after)).or_default();
            after.spinning += part;
        }
    }
    for s in run.samples.iter_mut().filter(|s| s.blocked_ns > 0) {
        let thread = (s.rank, s.thread);
        let at = (thread, s.ctx);
        let share = own.get(&at).or_else(|| {
            let known = callers.contains(&thread) && waited.contains(&at);
            of_ranks.get(&s.rank).filter(|_| known)
        });
        if let Some(share) = share {
            let part = ((s.blocked_ns as f64 * share) as u64).min(s.blocked_ns);
            s.blocked_ns -= part;
            cut.entry((thread, s.after)).or_default().asleep += part;
        }
    }
    for (key, asleep) in unknown {
        let share = of_ranks.get(&key.0.0).or_else(|| usual.get(&key.0));
        let part = (asleep as f64 * share.copied().unwrap_or(0.0)) as u64;
        if part > 0 {
            cut.entry(key).or_default().asleep += part;
        }
    }
    if !cut.is_empty() {
        shorten(run, &cut);
    }
}

/// Shares by thread and place, and by thread.
type Places = FxHashMap<(Thread, CtxId), f64>;
type Threads = FxHashMap<Thread, f64>;

/// Where a context is in the source, as far as that is known: copies of one call have the same site.
type Site = (u32, usize, u32);

fn site(run: &Run, structures: &Structures, ctx: CtxId) -> Site {
    let unknown = |ctx: CtxId| (u32::MAX, ctx.0 as usize, 0);
    let at = |c: &Context| {
        let module = run.modules.get(c.module as usize)?;
        let structure = structures.find(module)?;
        let (function, _) = structure.locate(c.lookup())?;
        let (_, line) = structure.line(c.lookup())?;
        Some((c.module, function, line))
    };
    let context = ctx.index().and_then(|i| run.contexts.get(i));
    context.and_then(at).unwrap_or_else(|| unknown(ctx))
}

/// The work of one team on one rank from one point where it comes together to the next.
struct Stretch<'a> {
    rows: Vec<&'a TeamWork>,
    /// Time that its slowest thread needs, nanoseconds; the sum over generations of threads.
    slowest: f64,
    /// The longest time in which one of its threads did not wait for others, with or without a core, nanoseconds.
    active: f64,
    /// Its threads if they live for it alone.
    generations: Vec<Generation>,
    /// Whether a thread that calls MPI is one of them.
    joined: bool,
}

fn busy(t: &TeamWork) -> f64 {
    t.cpu_ns as f64 + t.blocked_ns.saturating_sub(t.locked_ns) as f64
}

fn stretches<'a>(
    run: &Run,
    structures: &Structures,
    (teams, locks): (&'a [TeamWork], &Threads),
    callers: &FxHashSet<Thread>,
) -> Vec<Stretch<'a>> {
    let need = |t: &TeamWork| {
        let locks = locks.get(&(t.rank, t.thread)).copied().unwrap_or(0.0);
        busy(t) + locks * t.locked_ns as f64
    };
    let mut sites: FxHashMap<CtxId, Site> = FxHashMap::default();
    let mut of = |ctx: CtxId| {
        *sites
            .entry(ctx)
            .or_insert_with(|| site(run, structures, ctx))
    };
    let mut order: Vec<(u32, [Site; 3])> = Vec::new();
    let mut rows: FxHashMap<(u32, [Site; 3]), Vec<&TeamWork>> = FxHashMap::default();
    for row in teams {
        let key = (row.rank, [of(row.team), of(row.from), of(row.to)]);
        let known = rows.entry(key).or_default();
        if known.is_empty() {
            order.push(key);
        }
        known.push(row);
    }
    let lives: FxHashMap<Thread, Life> = (run.threads.iter())
        .map(|t| {
            let end = t.begin_ns.saturating_add(t.wall_ns);
            ((t.rank, t.thread), (t.begin_ns, end))
        })
        .collect();
    let whole = |key| {
        let rows: Vec<&TeamWork> = rows.remove(&key).unwrap_or_default();
        // Copies of a call that makes threads made different threads, and a thread has several rows if it came along
        // several call paths.
        let by_thread = |of: &dyn Fn(&TeamWork) -> f64| {
            let mut by_thread: FxHashMap<u16, f64> = FxHashMap::default();
            for t in &rows {
                *by_thread.entry(t.thread).or_default() += of(t);
            }
            by_thread
        };
        let most = |by_thread: FxHashMap<u16, f64>| by_thread.into_values().fold(0.0, f64::max);
        let needs = by_thread(&need);
        let generations = generations(&rows, &lives, &needs);
        let slowest = if generations.is_empty() {
            most(needs)
        } else {
            generations.iter().map(|g| g.slowest).sum()
        };
        Stretch {
            slowest,
            active: most(by_thread(&|t| t.wall_ns.saturating_sub(t.locked_ns) as f64)),
            generations,
            joined: rows.iter().any(|t| callers.contains(&(t.rank, t.thread))),
            rows,
        }
    };
    order.into_iter().map(whole).collect()
}

/// When a thread begins and ends, nanoseconds.
type Life = (u64, u64);

/// Threads of a team that lived at the same time.
#[derive(Clone, Copy)]
struct Generation {
    life: Life,
    /// Time that the slowest of them needs, nanoseconds.
    slowest: f64,
    /// The least time in which one of them waited for others, nanoseconds.
    waited: u64,
}

impl Generation {
    /// The time in which one of them did not wait for others. A thread without a core may begin late and end early, but
    /// its team is there as long as one of its threads.
    fn active(&self) -> f64 {
        let life = self.life.1.saturating_sub(self.life.0);
        life.saturating_sub(self.waited) as f64
    }

    /// Whether it is there for most of the time of both.
    fn coincides(&self, other: &Self) -> bool {
        let begin = (self.life.0.min(other.life.0), self.life.0.max(other.life.0));
        let end = (self.life.1.min(other.life.1), self.life.1.max(other.life.1));
        let (both, either) = (end.0.saturating_sub(begin.1), end.1.saturating_sub(begin.0));
        both as f64 > MOSTLY * either as f64
    }

    /// Both as one.
    fn join(&mut self, other: &Self) {
        self.life = (self.life.0.min(other.life.0), self.life.1.max(other.life.1));
        self.slowest = self.slowest.max(other.slowest);
        self.waited = self.waited.min(other.waited);
    }
}

/// Teams that several calls make are at work at the same time if this part of the time of both is common to both.
const MOSTLY: f64 = 0.5;

/// The generations of threads that live for one stretch of a team alone; none if some of them live longer.
fn generations(
    rows: &[&TeamWork],
    lives: &FxHashMap<Thread, Life>,
    needs: &FxHashMap<u16, f64>,
) -> Vec<Generation> {
    let mut known: BTreeMap<(Life, u16), u64> = BTreeMap::new();
    for t in rows {
        let life = lives.get(&(t.rank, t.thread)).filter(|_| t.count == 1);
        let Some(life) = life.filter(|_| t.thread > 0 && t.from == t.team && t.to == t.team) else {
            return Vec::new();
        };
        *known.entry((*life, t.thread)).or_default() += t.locked_ns;
    }
    let mut out: Vec<Generation> = Vec::new();
    for ((life, thread), waited) in known {
        let one = Generation {
            life,
            slowest: needs.get(&thread).copied().unwrap_or(0.0),
            waited,
        };
        match out.last_mut() {
            Some(last) if life.0 < last.life.1 => last.join(&one),
            _ => out.push(one),
        }
    }
    out
}

/// By rank: what the teams in which its threads that call MPI do not work need, one after another, and how long they
/// are there, nanoseconds. Teams at work at the same time, as those of two calls on the way to one `pthread_create`,
/// need as long as the slowest of them.
fn others(stretches: &[Stretch<'_>]) -> FxHashMap<u32, (f64, f64)> {
    let mut out: FxHashMap<u32, (f64, f64)> = FxHashMap::default();
    let mut lives: BTreeMap<u32, Vec<Generation>> = BTreeMap::new();
    for stretch in stretches.iter().filter(|s| !s.joined) {
        let rank = stretch.rows.first().map_or(u32::MAX, |t| t.rank);
        let sum = out.entry(rank).or_default();
        if stretch.generations.is_empty() {
            *sum = (sum.0 + stretch.slowest, sum.1 + stretch.active);
        }
        let known = lives.entry(rank).or_default();
        known.extend(&stretch.generations);
    }
    for (rank, mut all) in lives {
        all.sort_by_key(|g| g.life);
        let mut joined: Vec<Generation> = Vec::new();
        for one in all {
            match joined.last_mut() {
                Some(last) if last.coincides(&one) => last.join(&one),
                _ => joined.push(one),
            }
        }
        let sum = out.entry(rank).or_default();
        for g in joined {
            *sum = (sum.0 + g.slowest, sum.1 + g.active());
        }
    }
    out
}

/// Waits for one thread count if they are this part of all waits for threads.
const MUCH: f64 = 0.1;

/// Leaves out the lives of threads that only sleep, and for which none of those that call MPI waited much: no wait is for
/// them. A thread that handles signals may sleep all the time.
fn leave_out_sleepers(run: &Run, callers: &FxHashSet<Thread>, teams: &mut Vec<TeamWork>) {
    let waited_for = waited_for(run, callers);
    let made_by: FxHashMap<Thread, CtxId> =
        (run.threads.iter().map(|t| ((t.rank, t.thread), t.made_by))).collect();
    teams.retain(|t| {
        let thread = (t.rank, t.thread);
        let is_life = t.from == t.team && t.to == t.team && made_by.get(&thread) == Some(&t.team);
        !is_life
            || callers.contains(&thread)
            || waited_for.contains(&thread)
            || is_at_work(t.cpu_ns.saturating_add(t.runq_ns), t.wall_ns)
    });
}

/// The threads that those that call MPI waited for.
fn waited_for(run: &Run, callers: &FxHashSet<Thread>) -> FxHashSet<Thread> {
    let mut all: FxHashMap<Thread, u64> = FxHashMap::default();
    let mut each: FxHashMap<(Thread, u16), u64> = FxHashMap::default();
    for w in &run.waits {
        let thread = (w.rank, w.thread);
        if callers.contains(&thread) {
            for sum in [
                all.entry(thread).or_default(),
                each.entry((thread, w.holder)).or_default(),
            ] {
                *sum = sum.saturating_add(w.wait_ns);
            }
        }
    }
    let much = |((thread, holder), wait): ((Thread, u16), u64)| {
        let all = all.get(&thread).copied().unwrap_or(0);
        (wait as f64 >= MUCH * all as f64).then_some((thread.0, holder))
    };
    each.into_iter().filter_map(much).collect()
}

/// By thread: the share of its waiting for other threads that would be waiting for locks with a core for each thread.
fn locks(run: &Run, teams: &[TeamWork]) -> Threads {
    let mut all: FxHashMap<Thread, (f64, f64, f64)> = FxHashMap::default();
    for t in teams {
        let sum = all.entry((t.rank, t.thread)).or_default();
        sum.0 += t.locked_ns as f64;
        sum.1 += t.cpu_ns as f64;
        sum.2 += t.runq_ns as f64;
    }
    let mut brief: FxHashMap<Thread, f64> = FxHashMap::default();
    for w in run.waits.iter().filter(|w| w.kind.is_lock()) {
        *brief.entry((w.rank, w.thread)).or_default() += w.brief_ns as f64;
    }
    let share = |(thread, (locked, cpu, runq)): (Thread, (f64, f64, f64))| {
        let brief = brief.get(&thread).copied().unwrap_or(0.0);
        (thread, part(brief * part(cpu, cpu + runq), locked))
    };
    all.into_iter().map(share).collect()
}

/// For threads that call MPI and work in a team themselves: the share of their waiting that is for threads without a
/// core, by thread and place, and by thread.
fn beside(stretches: &[Stretch<'_>], callers: &FxHashSet<Thread>) -> (Places, Threads) {
    let mut sums: FxHashMap<(Thread, CtxId), (f64, f64)> = FxHashMap::default();
    let mut all: FxHashMap<Thread, (f64, f64)> = FxHashMap::default();
    for stretch in stretches {
        for t in stretch.rows.iter().filter(|t| t.wait_ns > 0) {
            let thread = (t.rank, t.thread);
            if callers.contains(&thread) {
                let wait = t.wait_ns as f64;
                let needed = (stretch.slowest - busy(t)).clamp(0.0, wait);
                for sum in [
                    sums.entry((thread, t.to)).or_default(),
                    all.entry(thread).or_default(),
                ] {
                    *sum = (sum.0 + wait, sum.1 + wait - needed);
                }
            }
        }
    }
    let places = sums
        .into_iter()
        .map(|(key, (wait, excess))| (key, part(excess, wait)));
    let threads = all
        .into_iter()
        .map(|(key, (wait, excess))| (key, part(excess, wait)));
    (places.collect(), threads.collect())
}

/// Samples of threads that spin while they wait for others, by index, with the part of their CPU time that is for
/// threads without a core, nanoseconds; `shares` are those of the places.
fn spinning(run: &Run, shares: &Places) -> Vec<(usize, u64)> {
    let runtime: Vec<bool> = run
        .modules
        .iter()
        .map(|m| is_runtime_library(&m.path))
        .collect();
    // The program's call that led into the runtime.
    let call = |ctx: CtxId| {
        let up = |ctx: &CtxId| {
            let context = run.contexts.get(ctx.index()?)?;
            let inside = runtime.get(context.module as usize).copied()?;
            inside.then_some(context.parent)
        };
        // A call path has an end, but a damaged one may form a cycle.
        let path = std::iter::successors(Some(ctx), up).take(run.contexts.len());
        path.last().unwrap_or(ctx)
    };
    let of_sample = |(i, s): (usize, &Sample)| {
        let at = ((s.rank, s.thread), call(s.ctx));
        let part = (s.cpu_ns as f64 * shares.get(&at)?) as u64;
        (part > 0).then_some((i, part.min(s.cpu_ns)))
    };
    let samples = run.samples.iter().enumerate();
    samples.filter_map(of_sample).collect()
}

/// Functions that wait for a signal.
const FOR_SIGNALS: [&str; 5] = [
    "sigsuspend",
    "sigwait",
    "sigwaitinfo",
    "sigtimedwait",
    "pause",
];

/// Sleep by thread and place, nanoseconds.
type Sleep = FxHashMap<(Thread, CtxId), u64>;

/// Sleep of threads that call MPI until a signal comes, if their rank has other threads: these may send it.
fn waits_for_signals(run: &Run, structures: &Structures, callers: &FxHashSet<Thread>) -> Sleep {
    let mut known: FxHashMap<CtxId, bool> = FxHashMap::default();
    let mut out = Sleep::default();
    for s in run.samples.iter().filter(|s| s.blocked_ns > 0) {
        let thread = (s.rank, s.thread);
        let mut is_one =
            || called::at(run, structures, s.ctx).is_some_and(|name| FOR_SIGNALS.contains(&name));
        if callers.contains(&thread) && *known.entry(s.ctx).or_insert_with(&mut is_one) {
            *out.entry((thread, s.ctx)).or_default() += s.blocked_ns;
        }
    }
    out
}

/// By rank: the share of all other sleep for its threads that is for threads without a core.
fn of_ranks(
    run: &Run,
    stretches: &[Stretch<'_>],
    callers: &FxHashSet<Thread>,
    (unknown, signalled): (&Sleep, &Sleep),
) -> FxHashMap<u32, f64> {
    let teams = others(stretches);
    let own = computed(run);
    let mut waited: FxHashMap<u32, f64> = FxHashMap::default();
    for w in run
        .waits
        .iter()
        .filter(|w| callers.contains(&(w.rank, w.thread)))
    {
        *waited.entry(w.rank).or_default() += w.wait_ns as f64;
    }
    for (((rank, _), _), asleep) in unknown.iter().chain(signalled) {
        *waited.entry(*rank).or_default() += *asleep as f64;
    }
    let share = |(rank, (needed, active)): (u32, (f64, f64))| {
        let wait = waited.get(&rank).copied().unwrap_or(0.0);
        // What the rank computes while they work passes at the same time, so it is no part of its waiting.
        let own = own.get(&rank).into_iter().flatten();
        let beside = own.map(|own| own.cpu() - own.most_in(own.wall - active));
        let beside = beside.fold(0.0, f64::max);
        (rank, part(wait - (needed - beside).max(0.0), wait))
    };
    teams.into_iter().map(share).collect()
}

/// Shortens segments and events by the time that was removed after each call.
pub fn shorten(run: &mut Run, cut: &FxHashMap<(Thread, CtxId), Cut>) {
    // Sleep, all computation and repetitions after each call.
    let mut times: FxHashMap<(Thread, CtxId), (u64, u64, u64)> = FxHashMap::default();
    for s in &run.segments {
        let sum = times.entry(((s.rank, s.thread), s.from)).or_default();
        *sum = (sum.0 + s.blocked_ns, sum.1 + s.busy_ns(), sum.2 + s.count);
    }
    for s in &mut run.segments {
        let key = ((s.rank, s.thread), s.from);
        let (Some(cut), Some((blocked, busy, _))) = (cut.get(&key), times.get(&key)) else {
            continue;
        };
        let before = s.busy_ns() as f64;
        let own = |of: u64, cut: u64, all: u64| {
            let own = of as f64 * part(cut as f64, all as f64);
            (own as u64).min(of)
        };
        let slept = own(s.blocked_ns, cut.asleep, *blocked);
        let spun = own(s.cpu_ns, cut.spinning, busy - blocked);
        (s.blocked_ns, s.cpu_ns) = (s.blocked_ns - slept, s.cpu_ns - spun);
        s.runq_ns += slept + spun;
        let left = part(s.busy_ns() as f64, before);
        s.max_busy_ns = if left < 1.0 - SPOILT {
            s.busy_ns() / s.count.max(1)
        } else {
            (s.max_busy_ns as f64 * left) as u64
        };
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
        if let (Some(cut), Some((blocked, busy, count))) = (cut.get(&key), times.get(&key)) {
            let cut = cut.asleep.min(*blocked) + cut.spinning.min(busy - blocked);
            e.busy_ns = if part(cut as f64, *busy as f64) > SPOILT {
                (busy - cut) / (*count).max(1)
            } else {
                (e.busy_ns as f64 * (1.0 - part(cut as f64, *busy as f64))) as u64
            };
        }
    }
}
