//! Who waited for whom, where, and for how long: the communication edges that carry a wait.
//!
//! Where event windows were kept, waits are those of their replay in virtual time, extended to the run
//! by the computation that the windows hold: they are the program's own, whatever the scheduler did.
//! Otherwise they are the recorded ones of sampled messages, at either end, and of collectives, in wall
//! time, brought up to all messages and collectives as in the views of a run. Replayed sends wait for nobody.

use crate::replay::Replay;
use headwater_graph::{RunView, VertexIx, view};
use headwater_model::diagnosis::Clock;
use headwater_model::run::Run;
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
    /// The waits of a run: replayed ones where there are windows. `busy` is the mean computation of a
    /// rank in the run, seconds.
    pub fn new(run: &Run, view: &RunView, replay: &Replay, busy: f64) -> Self {
        let in_windows = replay.mean_busy();
        let (clock, all) = if in_windows > 0.0 {
            (Clock::Virtual, replayed(view, replay, busy / in_windows))
        } else {
            (Clock::Wall, recorded(run, view))
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

/// Waits of the replayed windows times `factor`.
fn replayed(view: &RunView, replay: &Replay, factor: f64) -> Vec<(At, At, f64)> {
    let mut out = Vec::new();
    for window in &replay.windows {
        let at = |rank: u32, call: u32| {
            let ctx = window.get(rank as usize)?.get(call as usize)?.ctx;
            Some((rank, view.vertex(ctx)?))
        };
        for (rank, calls) in (0..).zip(window) {
            for (index, call) in (0..).zip(calls) {
                let Some((who, which)) = call.waited_for else {
                    continue;
                };
                if let (Some(here), Some(there)) = (at(rank, index), at(who, which)) {
                    out.push((here, there, (call.leave - call.enter) * factor));
                }
            }
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
