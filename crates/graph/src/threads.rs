//! What the threads of a rank did, and which thread waited for which (PerFlow, sections 3.2 to 3.4).
//!
//! A thread that calls MPI has segments, and its computation is the rank's. A thread that calls no MPI has samples
//! alone. They are not part of the rank's segments. So they are here, by vertex, rank and thread, beside the samples of
//! the thread that has segments. The CPU time that such a thread used from its birth to its end is known exactly: what
//! its samples leave out belongs to the routine in which it started (`lifetime.rs`). Work of teams and waits of
//! threads, which the parallel view has, are rows of the run with vertices in place of contexts. All of it is empty
//! where each rank has one thread.

use crate::columns::RankRows;
use crate::keys::Mapped;
use crate::lifetime;
use crate::topdown::{TopDown, VertexIx};
use headwater_model::run::{CtxId, Run, Sample, TeamWork, ThreadInfo, WaitKind};
use rustc_hash::{FxHashMap, FxHashSet};

/// Time that one thread spent in a vertex, without the vertices inside it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThreadTime {
    /// Where.
    pub vertex: VertexIx,
    /// Rank.
    pub rank: u32,
    /// Thread within the rank.
    pub thread: u16,
    /// CPU time, seconds: what its samples represent and, where it started, what they leave out.
    pub cpu: f64,
    /// Time asleep in system calls made here, seconds.
    pub blocked: f64,
}

/// Work of one thread between two points where its team comes together; times in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TeamStretch {
    /// Rank.
    pub rank: u32,
    /// Thread within the rank.
    pub thread: u16,
    /// The call that began the team.
    pub team: VertexIx,
    /// The barrier that the thread left, or `team`.
    pub from: VertexIx,
    /// The barrier that it entered next, or `team`.
    pub to: VertexIx,
    /// Repetitions.
    pub count: u64,
    /// Wall time.
    pub wall: f64,
    /// CPU time.
    pub cpu: f64,
    /// Ready to run, but without a core.
    pub runq: f64,
    /// Asleep, which includes waiting for locks.
    pub blocked: f64,
    /// Waiting for other threads on the way, and time in MPI.
    pub locked: f64,
    /// Waiting for the last thread of the team at the end.
    pub wait: f64,
}

/// An edge between threads: the waiting thread goes on when the holder lets it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThreadEdge {
    /// Rank of both.
    pub rank: u32,
    /// Thread that waited.
    pub thread: u16,
    /// The call in which it waited.
    pub at: VertexIx,
    /// What it waited for.
    pub kind: WaitKind,
    /// The thread that it waited for, where that is known.
    pub holder: Option<u16>,
    /// Where that thread took the lock, where that is known.
    pub on: Option<VertexIx>,
    /// Waits.
    pub count: u64,
    /// Seconds waited.
    pub wait: f64,
    /// The same, but at most 1 ms of each wait.
    pub brief: f64,
    /// Which locks these were: a bit for each, by a hash of its address; 0 where they are not known.
    pub locks: u64,
}

/// Threads of one run on the graph.
#[derive(Clone, Debug, Default)]
pub struct ThreadView {
    /// Times of all threads, by vertex, rank and thread.
    pub times: Vec<ThreadTime>,
    /// CPU seconds of the threads that call no MPI, by vertex over ranks.
    pub workers: RankRows,
    /// Ranks' threads that call MPI, ascending.
    pub callers: Vec<(u32, u16)>,
}

const NANO: f64 = 1e-9;

/// The threads that have segments: those that call MPI.
fn callers(run: &Run) -> FxHashSet<(u32, u16)> {
    run.segments.iter().map(|s| (s.rank, s.thread)).collect()
}

/// Removes the samples of threads that call no MPI from a run and returns them.
pub(crate) fn take_workers(run: &mut Run) -> Vec<Sample> {
    if run.samples.iter().all(|s| s.thread == 0) {
        return Vec::new();
    }
    let callers = callers(run);
    let works = |s: &Sample| s.thread > 0 && !callers.contains(&(s.rank, s.thread));
    let (workers, rest) = std::mem::take(&mut run.samples)
        .into_iter()
        .partition(works);
    run.samples = rest;
    workers
}

/// Work of the teams of `run` by team, rank, ends and thread; `of` returns the vertex of a context.
pub(crate) fn stretches(run: &Run, of: impl Fn(CtxId) -> Option<VertexIx>) -> Vec<TeamStretch> {
    // A rank that the run does not have is a damaged row, not a row to make room for.
    let unended = unended(run);
    let rows = run.teams.iter().chain(&unended);
    let rows = rows.filter(|t| t.rank < run.header.ranks);
    let mut teams: Vec<TeamStretch> = rows
        .filter_map(|t| {
            let team = of(t.team)?;
            Some(TeamStretch {
                rank: t.rank,
                thread: t.thread,
                team,
                from: of(t.from).unwrap_or(team),
                to: of(t.to).unwrap_or(team),
                count: t.count,
                wall: t.wall_ns as f64 * NANO,
                cpu: t.cpu_ns as f64 * NANO,
                runq: t.runq_ns as f64 * NANO,
                blocked: t.blocked_ns as f64 * NANO,
                locked: t.locked_ns as f64 * NANO,
                wait: t.wait_ns as f64 * NANO,
            })
        })
        .collect();
    teams.sort_by_key(|t| (t.team, t.rank, t.from, t.to, t.thread));
    teams
}

/// The lives of threads that were still there when the run ended, as those of a pool are: they left no team. Threads that
/// slept nearly all the time are left out: libraries have such threads, and they do none of the program's work. Other sleep
/// than waits for other threads is left out, since it may be sleep until there is work.
pub fn unended(run: &Run) -> Vec<TeamWork> {
    let ended: FxHashSet<(u32, u16)> = run.teams.iter().map(|t| (t.rank, t.thread)).collect();
    let mut locked: FxHashMap<(u32, u16), u64> = FxHashMap::default();
    for w in &run.waits {
        let sum = locked.entry((w.rank, w.thread)).or_default();
        *sum = sum.saturating_add(w.wait_ns);
    }
    let works = |t: &&ThreadInfo| {
        t.rank < run.header.ranks
            && t.made_by != CtxId::NONE
            && !ended.contains(&(t.rank, t.thread))
            && is_at_work(t.cpu_ns.saturating_add(t.runq_ns), t.wall_ns)
    };
    let lives = run.threads.iter().filter(works).map(|t| {
        let locked = locked.get(&(t.rank, t.thread)).copied().unwrap_or(0);
        let active = t.cpu_ns.saturating_add(t.runq_ns);
        let locked_ns = locked.min(t.wall_ns.saturating_sub(active));
        TeamWork {
            rank: t.rank,
            thread: t.thread,
            team: t.made_by,
            from: t.made_by,
            to: t.made_by,
            count: 1,
            wall_ns: active.saturating_add(locked_ns),
            cpu_ns: t.cpu_ns,
            runq_ns: t.runq_ns,
            blocked_ns: locked_ns,
            locked_ns,
            wait_ns: 0,
        }
    });
    lives.collect()
}

/// A thread that works computes, or waits for a core, for at least this part of its life.
const WORKS: f64 = 0.1;

/// Whether a thread works that was `active` for so long, on a core or without one.
pub fn is_at_work(active: u64, wall: u64) -> bool {
    active as f64 >= WORKS * wall as f64
}

/// The waits between threads of `run`; `of` returns the vertex of a context.
pub(crate) fn edges(run: &Run, of: impl Fn(CtxId) -> Option<VertexIx>) -> Vec<ThreadEdge> {
    let rows = run.waits.iter().filter(|w| w.rank < run.header.ranks);
    let edges = rows.filter_map(|w| {
        Some(ThreadEdge {
            rank: w.rank,
            thread: w.thread,
            at: of(w.ctx)?,
            kind: w.kind,
            holder: (w.holder != u16::MAX).then_some(w.holder),
            on: of(w.holder_ctx),
            count: w.count,
            wait: w.wait_ns as f64 * NANO,
            brief: w.brief_ns.min(w.wait_ns) as f64 * NANO,
            locks: w.locks,
        })
    });
    edges.collect()
}

impl ThreadView {
    /// The threads of `run`; `workers` are the samples taken out of it.
    pub(crate) fn new(run: &Run, workers: &[Sample], mapped: &Mapped, top: &TopDown) -> Self {
        if workers.is_empty() && run.teams.is_empty() && run.waits.is_empty() {
            return Self::default();
        }
        let of = |ctx: CtxId| {
            let vertex = ctx.index().and_then(|i| mapped.ctx_vertex.get(i));
            vertex.copied()
        };
        let ranks = run.header.ranks;
        let mut callers: Vec<(u32, u16)> = callers(run).into_iter().collect();
        callers.sort_unstable();
        let main = run.samples.iter().filter_map(|s| {
            let key = mapped.key(s.after, s.ctx)?;
            Some((key.vertex, s))
        });
        let others = workers.iter().filter_map(|s| Some((of(s.ctx)?, s)));
        let mut sums: lifetime::Sums = FxHashMap::default();
        for (vertex, s) in main.chain(others).filter(|(_, s)| s.rank < ranks) {
            let sum = sums.entry((vertex, s.rank, s.thread)).or_default();
            sum.0 += s.cpu_ns;
            sum.1 += s.blocked_ns;
        }
        let works = |t: &ThreadInfo| callers.binary_search(&(t.rank, t.thread)).is_err();
        for (at, cpu) in lifetime::unplaced(run, works, of, top, &sums) {
            sums.entry(at).or_default().0 += cpu;
        }
        let mut times: Vec<ThreadTime> = sums
            .into_iter()
            .map(|((vertex, rank, thread), (cpu, blocked))| ThreadTime {
                vertex,
                rank,
                thread,
                cpu: cpu as f64 * NANO,
                blocked: blocked as f64 * NANO,
            })
            .collect();
        times.sort_unstable_by_key(|t| (t.vertex, t.rank, t.thread));
        let worked: Vec<(u32, u32, f64)> = times
            .iter()
            .filter(|t| callers.binary_search(&(t.rank, t.thread)).is_err())
            .map(|t| (t.vertex, t.rank, t.cpu))
            .collect();
        Self {
            workers: RankRows::from_sorted(&worked),
            times,
            callers,
        }
    }

    /// Time that all threads spent in `v`, without what is inside it, by rank and thread.
    pub fn times_in(&self, v: VertexIx) -> &[ThreadTime] {
        let start = self.times.partition_point(|t| t.vertex < v);
        let rest = self.times.get(start..).unwrap_or(&[]);
        let end = rest.partition_point(|t| t.vertex == v);
        rest.get(..end).unwrap_or(&[])
    }

    /// Whether a thread calls MPI, so that its time is the rank's.
    pub fn calls_mpi(&self, rank: u32, thread: u16) -> bool {
        self.callers.binary_search(&(rank, thread)).is_ok()
    }
}
