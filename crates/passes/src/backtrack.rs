//! Backtracking on the parallel view (ScalAna, Algorithm 1).
//!
//! From a problematic vertex backward: along the communication edge that was waited for, if there was
//! a wait, and otherwise along the data dependence to what the rank did before, until the root or a
//! collective is reached. Edges without a wait are pruned. A loop on the way stands for what is in it:
//! the innermost one with the time is noted.

use crate::scale::Scale;
use crate::waits::At;
use headwater_graph::{Pag, TopDown, VertexIx};
use headwater_model::psg::VertexKind;
use headwater_mpi_abi as abi;
use rustc_hash::{FxHashMap, FxHashSet};

/// Share of the run time below which a wait does not keep its edge: clocks and scatter make some
/// wait everywhere.
const PRUNED: f64 = 0.005;

/// Vertices of a path at the most.
const LONGEST: usize = 64;

/// One vertex of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hop {
    /// Where.
    pub at: At,
    /// The rank waited for, in an MPI call that waited.
    pub on: Option<u32>,
    /// Seconds waited, or computed.
    pub seconds: f64,
}

/// What the walks need of one run, found once.
pub struct Backtracking<'a> {
    pag: &'a Pag,
    scale: &'a Scale<'a>,
    /// By rank and MPI call entered: the call left before (`None` at the start) and computation between.
    before: FxHashMap<At, (Option<VertexIx>, f64)>,
    least: f64,
}

impl<'a> Backtracking<'a> {
    /// Prepares for walks on one run.
    pub fn new(pag: &'a Pag, scale: &'a Scale<'a>) -> Self {
        let mut before: FxHashMap<At, (Option<VertexIx>, f64)> = FxHashMap::default();
        for flow in &scale.view.parallel.flows {
            let Some(to) = flow.to else { continue };
            let most = before
                .entry((flow.rank, to))
                .or_insert((flow.from, flow.busy));
            if flow.busy > most.1 {
                *most = (flow.from, flow.busy);
            }
        }
        Self {
            pag,
            scale,
            before,
            least: PRUNED * scale.model_seconds(),
        }
    }

    /// The path from a vertex on a rank, itself first.
    pub fn path(&self, rank: u32, vertex: VertexIx) -> Vec<Hop> {
        let mut path = Vec::new();
        let mut seen: FxHashSet<At> = FxHashSet::default();
        let mut at = (rank, vertex);
        // The call that sent did not wait for its own message.
        let mut arrived_by_message = false;
        while path.len() < LONGEST && seen.insert(at) {
            let wait = self.scale.waits.longest(at);
            let wait = wait.filter(|w| !arrived_by_message && w.seconds >= self.least);
            if let Some(edge) = wait {
                path.push(Hop {
                    at,
                    on: Some(edge.on.0),
                    seconds: edge.seconds,
                });
                (at, arrived_by_message) = (edge.on, true);
                // Both ends of a collective are one vertex on two ranks; a message goes on from its
                // sender even if that was passed before.
                seen.remove(&at);
                continue;
            }
            arrived_by_message = false;
            let Some(&(from, busy)) = self.before.get(&at) else {
                break;
            };
            if busy >= self.least {
                path.push(Hop {
                    at: (at.0, self.heaviest(at.0, from)),
                    on: None,
                    seconds: busy,
                });
            }
            match from.filter(|v| !self.is_collective(*v)) {
                Some(previous) => at = (at.0, previous),
                None => break,
            }
        }
        path
    }

    /// Whether an MPI call is one of all ranks of a communicator.
    pub fn is_collective(&self, v: VertexIx) -> bool {
        let name = self.pag.top.get(v).mpi.as_deref().unwrap_or("");
        abi::by_name(name).is_some_and(|f| f.is_collective())
    }

    /// The vertex in which a rank computes most after a call, without branches and bare computation.
    fn heaviest(&self, rank: u32, after: Option<VertexIx>) -> VertexIx {
        let data = &self.scale.view.computation;
        let busy = |key: u32| {
            let row = data.busy.row(key);
            row.map_or(0.0, |r| r.at(rank))
        };
        let follows = data.keys_where(|k| self.scale.view.vertex(k.after) == after);
        let most = follows
            .into_iter()
            .reduce(|a, b| if busy(b) > busy(a) { b } else { a })
            .and_then(|k| data.keys.get(k as usize));
        let at = most.map_or(TopDown::ROOT, |k| k.vertex);
        let plain = |v: &VertexIx| {
            matches!(
                self.pag.top.get(*v).kind,
                VertexKind::Branch | VertexKind::Comp
            )
        };
        self.pag.top.ancestors(at).find(|v| !plain(v)).unwrap_or(at)
    }
}
