//! Backtracking in a diagnosis: walks [`backward`] from MPI calls on ranks,
//! along the waits of the replay where there is one.
//!
//! The pass of that name makes the same walks on the edges of a parallel view, whose waits are those of sampled
//! messages. The pass asks what was recorded; a diagnosis asks what would happen with a core for each rank. A loop on
//! the path represents what is in it: the innermost loop with the time is noted.

use crate::measure::scale::Scale;
use crate::measure::waits::At;
use headwater_dataflow::algorithm::{Dependences, Left, backward};
use headwater_graph::{Pag, TopDown, VertexIx};
use headwater_model::psg::VertexKind;
use headwater_mpi_abi as abi;
use rustc_hash::{FxHashMap, FxHashSet};

/// Share of the run time below which a wait is ignored: clocks and scatter cause some waiting everywhere.
const PRUNED: f64 = 0.005;

/// A path has at most this many vertices.
const LONGEST: usize = 64;

/// One vertex of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hop {
    /// Where.
    pub at: At,
    /// In an MPI call that waited: the rank that it waited for.
    pub on: Option<u32>,
    /// Seconds waited, or computed.
    pub seconds: f64,
}

/// What the walks need from one run, computed once.
pub struct Backtracking {
    /// By rank and MPI call entered: the call that the rank left before (`None` at the start), and the computation
    /// between.
    before: FxHashMap<At, (Option<VertexIx>, f64)>,
    least: f64,
}

/// The walks on one run.
struct OnRun<'a> {
    of: &'a Backtracking,
    pag: &'a Pag,
    scale: &'a Scale,
}

impl Dependences for OnRun<'_> {
    type At = At;
    type Edge = (Option<At>, f64);

    fn waited(&self, at: At) -> Option<(Self::Edge, At)> {
        let wait = self.scale.waits.longest(at);
        let wait = wait.filter(|w| w.seconds >= self.of.least)?;
        Some(((Some(wait.on), wait.seconds), wait.on))
    }

    fn before(&self, at: At) -> Option<(Self::Edge, Option<At>)> {
        let (from, busy) = *self.of.before.get(&at)?;
        let from = from.map(|v| (at.0, v));
        Some(((from, busy), from.filter(|f| !is_collective(self.pag, f.1))))
    }
}

impl Backtracking {
    /// Prepares for walks on one run.
    pub fn new(scale: &Scale) -> Self {
        let mut before: FxHashMap<At, (Option<VertexIx>, f64)> = FxHashMap::default();
        for flow in &scale.view().parallel.flows {
            let Some(to) = flow.to else { continue };
            let most = before
                .entry((flow.rank, to))
                .or_insert((flow.from, flow.busy));
            if flow.busy > most.1 {
                *most = (flow.from, flow.busy);
            }
        }
        Self {
            before,
            least: PRUNED * scale.model_seconds(),
        }
    }

    /// The path from a vertex on a rank, itself first.
    pub fn path(&self, pag: &Pag, scale: &Scale, rank: u32, vertex: VertexIx) -> Vec<Hop> {
        let of = self;
        let graph = OnRun { of, pag, scale };
        let mut seen: FxHashSet<At> = FxHashSet::default();
        let walk = backward(&graph, (rank, vertex), |at| seen.insert(at));
        let hop = |(at, left): (At, Left<(Option<At>, f64)>)| match left {
            Left::Waited((on, seconds)) => Some(Hop {
                at,
                on: on.map(|on| on.0),
                seconds,
            }),
            Left::Before((from, seconds)) if seconds >= self.least => Some(Hop {
                at: (at.0, heaviest(pag, scale, at.0, from.map(|f| f.1))),
                on: None,
                seconds,
            }),
            Left::Before(_) | Left::Ends => None,
        };
        walk.filter_map(hop).take(LONGEST).collect()
    }
}

/// Whether an MPI call is a collective.
pub fn is_collective(pag: &Pag, v: VertexIx) -> bool {
    let name = pag.top.get(v).mpi.as_deref().unwrap_or("");
    abi::by_name(name).is_some_and(|f| f.is_collective())
}

/// The vertex in which a rank computes most after a call, other than branches and bare computation.
fn heaviest(pag: &Pag, scale: &Scale, rank: u32, after: Option<VertexIx>) -> VertexIx {
    let data = &scale.view().computation;
    let busy = |key: u32| {
        let row = data.busy.row(key);
        row.map_or(0.0, |r| r.at(rank))
    };
    let follows = data.keys_where(|k| scale.view().vertex(k.after) == after);
    let most = follows
        .into_iter()
        .reduce(|a, b| if busy(b) > busy(a) { b } else { a })
        .and_then(|k| data.keys.get(k as usize));
    structured(pag, most.map_or(TopDown::ROOT, |k| k.vertex))
}

/// The innermost place around `v`, or `v` itself, that is neither a branch nor bare computation.
pub fn structured(pag: &Pag, v: VertexIx) -> VertexIx {
    let plain =
        |v: &VertexIx| matches!(pag.top.get(*v).kind, VertexKind::Branch | VertexKind::Comp);
    pag.top.ancestors(v).find(|v| !plain(v)).unwrap_or(v)
}
