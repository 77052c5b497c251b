//! Finds the vertex of a lock's holder on its own thread.
//!
//! For the thread that took a lock, the call is recorded, but not all of its callers. So the recorded vertex may be one
//! where the thread was never seen, while it was seen at another vertex of the same place. Both are taken as one
//! vertex: only then do two threads that let each other go on form a cycle.

use crate::pag::{Pag, RunView};
use crate::topdown::{Site, VertexIx};
use rustc_hash::{FxHashMap, FxHashSet};

/// Vertices at which threads were seen.
pub(super) struct Holders<'a> {
    pag: &'a Pag,
    seen: FxHashSet<(u32, u16, VertexIx)>,
    /// By rank, thread and place: the vertex at which most time went by, and this time.
    mostly: FxHashMap<(u32, u16, Site), (VertexIx, f64)>,
}

impl<'a> Holders<'a> {
    /// The vertices at which the threads of a run were seen; `flow` returns the flow that a thread belongs to.
    pub(super) fn new(pag: &'a Pag, view: &RunView, flow: impl Fn(u32, u16) -> u16) -> Self {
        let mut seconds: FxHashMap<(u32, u16, VertexIx), f64> = FxHashMap::default();
        for e in &view.parallel.threads {
            *seconds
                .entry((e.rank, flow(e.rank, e.thread), e.at))
                .or_default() += e.wait;
        }
        for t in &view.threads.times {
            *seconds
                .entry((t.rank, flow(t.rank, t.thread), t.vertex))
                .or_default() += t.cpu;
        }
        let mut this = Self {
            pag,
            seen: seconds.keys().copied().collect(),
            mostly: FxHashMap::default(),
        };
        for ((rank, thread, v), seconds) in seconds {
            let Some(place) = this.pag.top.site(v) else {
                continue;
            };
            let most = this
                .mostly
                .entry((rank, thread, place))
                .or_insert((v, seconds));
            // If several have the same time, the first vertex.
            if seconds > most.1 || (seconds == most.1 && v < most.0) {
                *most = (v, seconds);
            }
        }
        this
    }

    /// The vertex of a thread that held what was recorded at `on`.
    pub(super) fn at(&self, rank: u32, thread: u16, on: VertexIx) -> VertexIx {
        if self.seen.contains(&(rank, thread, on)) {
            return on;
        }
        let place = self.pag.top.site(on);
        let mostly = place.and_then(|p| self.mostly.get(&(rank, thread, p)));
        mostly.map_or(on, |m| m.0)
    }
}
