//! Which call on which rank waited for which, and for how long: the communication edges that carry a wait.
//!
//! If event windows were recorded, waits are those of their replay in virtual time, extrapolated to the run by the
//! computation in the windows: they are the program's own, whatever the scheduler did. The calls of a place represent
//! at most as many calls as the rank made there. Otherwise waits are the recorded ones of sampled messages, at either
//! end, and of collectives, in wall time, extrapolated to all messages and collectives as in the views of a run.
//! Replayed sends never wait.
//!
//! No rank waits longer in a call than it was in it.

use crate::measure::replay::{Played, Replay};
use headwater_graph::{RunView, VertexIx, view};
use headwater_model::diagnosis::Clock;
use headwater_model::run::{CtxId, Run};
use headwater_mpi_abi::{self as abi, Class};
use rustc_hash::FxHashMap;

/// A place in the parallel view: rank and vertex.
pub type At = (u32, VertexIx);

/// Waiting of one call for another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WaitEdge {
    /// The call that was waited for.
    pub on: At,
    /// Seconds in the whole run.
    pub seconds: f64,
}

/// All waits of a run.
#[derive(Debug)]
pub struct Waits {
    /// By waiting call, the longest first.
    edges: FxHashMap<At, Vec<WaitEdge>>,
    /// By waiting call: the seconds of its edges, before they were limited to the time in the call.
    unlimited: FxHashMap<At, f64>,
    /// The clock of the seconds.
    pub clock: Clock,
    ranks: usize,
}

impl Waits {
    /// The waits of a run: replayed ones if there are windows; `per_run` extrapolates these to the run
    /// ([`Replay::per_run`]).
    pub fn new(run: &Run, view: &RunView, replay: &Replay, per_run: Option<f64>) -> Self {
        let (clock, all) = match per_run {
            Some(factor) => (Clock::Virtual, replayed(run, view, replay, factor)),
            None => (Clock::Wall, recorded(run, view)),
        };
        let mut sums: FxHashMap<(At, At), f64> = FxHashMap::default();
        for (at, on, seconds) in all.into_iter().filter(|w| w.2 > 0.0) {
            *sums.entry((at, on)).or_default() += seconds;
        }
        let mut edges: FxHashMap<At, Vec<WaitEdge>> = FxHashMap::default();
        for ((at, on), seconds) in sums {
            edges.entry(at).or_default().push(WaitEdge { on, seconds });
        }
        let mut unlimited = FxHashMap::default();
        for (at, of_call) in &mut edges {
            of_call.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then(a.on.cmp(&b.on)));
            let waited: f64 = of_call.iter().map(|e| e.seconds).sum();
            unlimited.insert(*at, waited);
            let spent = view.mpi.row(at.1).map_or(0.0, |row| row.at(at.0));
            if waited > spent {
                let share = spent / waited;
                of_call.iter_mut().for_each(|e| e.seconds *= share);
            }
        }
        Self {
            edges,
            unlimited,
            clock,
            ranks: view.ranks as usize,
        }
    }

    /// The edge with the longest wait of a call.
    pub fn longest(&self, at: At) -> Option<WaitEdge> {
        self.edges.get(&at).and_then(|e| e.first()).copied()
    }

    /// Seconds waited in every call that waited, by rank.
    pub fn rows(&self) -> FxHashMap<VertexIx, Vec<f64>> {
        let sum = |edges: &Vec<WaitEdge>| edges.iter().map(|e| e.seconds).sum();
        self.by_rank(self.edges.iter().map(|(at, edges)| (*at, sum(edges))))
    }

    /// The same before the limit to the time in the call: where that is far less, the windows do not show what the call
    /// usually waits.
    pub fn unlimited_rows(&self) -> FxHashMap<VertexIx, Vec<f64>> {
        self.by_rank(self.unlimited.iter().map(|(at, seconds)| (*at, *seconds)))
    }

    fn by_rank(&self, all: impl Iterator<Item = (At, f64)>) -> FxHashMap<VertexIx, Vec<f64>> {
        let mut rows: FxHashMap<VertexIx, Vec<f64>> = FxHashMap::default();
        for ((rank, vertex), seconds) in all {
            let row = rows.entry(vertex).or_insert_with(|| vec![0.0; self.ranks]);
            if let Some(slot) = row.get_mut(rank as usize) {
                *slot = seconds;
            }
        }
        rows
    }
}

/// How many calls a rank made for each one that is in a replayed epoch, by rank and context. Polls are left out:
/// windows have few of them, and most do not wait.
fn calls_for_each(run: &Run, replay: &Replay) -> FxHashMap<(u32, CtxId), f64> {
    let polls = |func: u16| {
        let function = abi::by_name(run.function(func));
        function.is_some_and(|f| matches!(f.class, Class::Test | Class::Probe))
    };
    let mut counts: FxHashMap<(u32, CtxId), (u64, u64)> = FxHashMap::default();
    for c in run.calls.iter().filter(|c| !polls(c.func)) {
        let all = counts.entry((c.rank, c.ctx)).or_default();
        all.0 = all.0.saturating_add(c.count);
    }
    for (_, rank, _, call) in replay.in_epochs() {
        if let Some(count) = counts.get_mut(&(rank, call.ctx)) {
            count.1 += 1;
        }
    }
    let known = counts.into_iter().filter(|(_, (_, played))| *played > 0);
    known
        .map(|(call, (all, played))| (call, (all as f64 / played as f64).max(1.0)))
        .collect()
}

/// Waits of the replayed windows times `factor`, but at most as often as the calls were made.
fn replayed(run: &Run, view: &RunView, replay: &Replay, factor: f64) -> Vec<(At, At, f64)> {
    let most = calls_for_each(run, replay);
    let factor_of = |rank: u32, call: &Played| {
        let most = most.get(&(rank, call.ctx));
        most.map_or(factor, |most| factor.min(*most))
    };
    let mut out = Vec::new();
    for (window, rank, _, call) in replay.in_epochs() {
        let at = |rank: u32, ctx: CtxId| Some((rank, view.vertex(ctx)?));
        let there = |(who, which): (u32, u32)| {
            let ctx = window.get(who as usize)?.get(which as usize)?.ctx;
            at(who, ctx)
        };
        let on = call.waited_for.and_then(there);
        if let (Some(here), Some(on)) = (at(rank, call.ctx), on) {
            let seconds = call.leave - call.enter;
            out.push((here, on, seconds * factor_of(rank, call)));
        }
    }
    out
}

/// Recorded waits of messages and collectives; in a collective it is the rank for which most of them waited.
fn recorded(run: &Run, view: &RunView) -> Vec<(At, At, f64)> {
    let here = |(vertex, rank): (VertexIx, u32)| (rank, vertex);
    let waits = view::waits(run, view).into_iter();
    waits.map(|w| (here(w.at), here(w.on), w.seconds)).collect()
}
