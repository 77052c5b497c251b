//! Who waited for whom, where, and for how long: the communication edges that carry a wait.
//!
//! Where event windows were kept, waits are those of their replay in virtual time, extended to the run
//! by the computation that the windows hold, and no longer than the calls took: they are the program's own, whatever the
//! scheduler did.
//! Otherwise they are the recorded ones of sampled messages, at either end, and of collectives, in wall
//! time, brought up to all messages and collectives as in the views of a run. Replayed sends wait for nobody.

use crate::replay::Replay;
use headwater_graph::{RunView, VertexIx, view};
use headwater_model::diagnosis::Clock;
use headwater_model::run::{CtxId, Run};
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
    /// What the seconds are seconds of.
    pub clock: Clock,
    ranks: usize,
}

impl Waits {
    /// The waits of a run: replayed ones where there are windows, of which `per_run` makes those of the run
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
        for of_call in edges.values_mut() {
            of_call.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then(a.on.cmp(&b.on)));
        }
        Self {
            edges,
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
        let mut rows: FxHashMap<VertexIx, Vec<f64>> = FxHashMap::default();
        for ((rank, vertex), edges) in &self.edges {
            let row = rows.entry(*vertex).or_insert_with(|| vec![0.0; self.ranks]);
            if let Some(slot) = row.get_mut(*rank as usize) {
                *slot = edges.iter().map(|e| e.seconds).sum();
            }
        }
        rows
    }
}

/// Waits of the replayed windows times `factor`; those of a call are no longer than what its rank spent in it.
fn replayed(run: &Run, view: &RunView, replay: &Replay, factor: f64) -> Vec<(At, At, f64)> {
    let mut out = Vec::new();
    for (window, rank, _, call) in replay.in_epochs() {
        let at = |rank: u32, ctx: CtxId| Some((rank, view.vertex(ctx)?));
        let there = |(who, which): (u32, u32)| {
            let ctx = window.get(who as usize)?.get(which as usize)?.ctx;
            at(who, ctx)
        };
        let on = call.waited_for.and_then(there);
        if let (Some(here), Some(on)) = (at(rank, call.ctx), on) {
            out.push((here, on, (call.leave - call.enter) * factor));
        }
    }
    let mut spent: FxHashMap<At, f64> = FxHashMap::default();
    for c in &run.calls {
        if let Some(vertex) = view.vertex(c.ctx) {
            *spent.entry((c.rank, vertex)).or_default() += c.wall_ns as f64 * 1e-9;
        }
    }
    let mut waited: FxHashMap<At, f64> = FxHashMap::default();
    for (at, _, seconds) in &out {
        *waited.entry(*at).or_default() += seconds;
    }
    for (at, _, seconds) in &mut out {
        if let (Some(all), Some(most)) = (waited.get(at), spent.get(at))
            && all > most
        {
            *seconds *= most / all;
        }
    }
    out
}

/// Waits of messages and collectives, in which it is the rank for whom most of them waited.
fn recorded(run: &Run, view: &RunView) -> Vec<(At, At, f64)> {
    let here = |(vertex, rank): (VertexIx, u32)| (rank, vertex);
    let waits = view::waits(run, view).into_iter();
    waits.map(|w| (here(w.at), here(w.on), w.seconds)).collect()
}
