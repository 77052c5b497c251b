//! Places of their own for computation before the first and after the last MPI call.
//!
//! Reading input and setting up take their time once, whatever the kernel that follows does; the same function may even
//! serve both. So what ranks compute before the first recorded call, and between their last call and `MPI_Finalize`, is
//! under a vertex of its own ([`TopDown::STARTUP`], [`TopDown::WINDDOWN`]) with its functions and lines. The kernel is
//! not blamed for it.

use crate::mapping::map_chain;
use crate::structures::Structures;
use crate::topdown::{TopDown, VertexIx};
use headwater_model::run::{CtxId, Run};
use headwater_mpi_abi as abi;
use rustc_hash::{FxHashMap, FxHashSet};

/// Vertices of the contexts that were sampled in one of the two stages.
#[derive(Debug, Default)]
pub(crate) struct Stages {
    /// Calls that only `MPI_Finalize` follows.
    last: FxHashSet<CtxId>,
    finalize: FxHashSet<CtxId>,
    vertices: FxHashMap<(VertexIx, CtxId), VertexIx>,
    /// Whether nothing of the run calls MPI: then it is not before the first call, but has no such stages.
    without_calls: bool,
}

impl Stages {
    /// Finds the stages of `run`, and adds to the view the vertices of what was sampled in them.
    pub(crate) fn new(run: &Run, structures: &mut Structures, top: &mut TopDown) -> Self {
        let ends = |func: u16| {
            abi::by_name(run.function(func)).is_some_and(|f| f.class == abi::Class::Finalize)
        };
        let finalize: FxHashSet<CtxId> = run
            .calls
            .iter()
            .filter(|c| ends(c.func))
            .map(|c| c.ctx)
            .collect();
        let mut last: FxHashSet<CtxId> = run
            .segments
            .iter()
            .filter(|s| finalize.contains(&s.to))
            .map(|s| s.from)
            .collect();
        for segment in run.segments.iter().filter(|s| !finalize.contains(&s.to)) {
            last.remove(&segment.from);
        }
        let mut this = Self {
            last,
            finalize,
            vertices: FxHashMap::default(),
            without_calls: run.is_without_mpi(),
        };
        let mut sampled: Vec<(VertexIx, CtxId)> = run
            .samples
            .iter()
            .filter_map(|s| Some((this.base(s.after)?, s.ctx)))
            .collect();
        sampled.sort_unstable();
        sampled.dedup();
        for (base, ctx) in sampled {
            let vertex = map_chain(run, structures, top, base, ctx);
            this.vertices.insert((base, ctx), vertex);
        }
        this
    }

    /// The stage of computation after a call, if it is in one.
    pub(crate) fn base(&self, after: CtxId) -> Option<VertexIx> {
        match after {
            CtxId::NONE if self.without_calls => None,
            CtxId::NONE => Some(TopDown::STARTUP),
            after if self.last.contains(&after) => Some(TopDown::WINDDOWN),
            _ => None,
        }
    }

    /// Whether `to` is the context of a call of `MPI_Finalize`.
    pub(crate) fn is_finalize(&self, to: CtxId) -> bool {
        self.finalize.contains(&to)
    }

    /// The vertex of a context sampled in a stage.
    pub(crate) fn vertex(&self, base: VertexIx, ctx: CtxId) -> VertexIx {
        self.vertices.get(&(base, ctx)).copied().unwrap_or(base)
    }
}
