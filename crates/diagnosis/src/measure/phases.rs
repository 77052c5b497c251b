//! Phases: computation between synchronisations of all ranks.
//!
//! Inside a phase, delays of different ranks overlap; at its end the other ranks wait for them. So the loss by uneven
//! work is the sum over phases of (slowest rank − mean), not the difference of the totals. MPI calls are nodes,
//! segments are edges. A call that makes every rank wait for all others (or for the root) cuts the graph, and each part
//! that stays connected is one phase.

use headwater_model::run::{CtxId, Run};
use headwater_mpi_abi as abi;
use rustc_hash::{FxHashMap, FxHashSet};

/// The phase of the computation after each MPI call, by its context.
#[derive(Debug, Default)]
pub struct Phases {
    of: FxHashMap<CtxId, u32>,
}

/// Whether a call of this function on all ranks makes every rank wait for others.
pub fn synchronises(function: &str) -> bool {
    abi::by_name(function).is_some_and(|f| {
        f.is_synchronising() || (f.is_one_to_all() && f.mode == abi::Mode::Blocking)
    })
}

fn root(parent: &mut [u32], mut i: u32) -> u32 {
    while parent[i as usize] != i {
        parent[i as usize] = parent[parent[i as usize] as usize];
        i = parent[i as usize];
    }
    i
}

impl Phases {
    /// The phases of a run.
    pub fn new(run: &Run) -> Self {
        let world = |comm: u16| {
            run.comms
                .get(comm as usize)
                .is_some_and(|c| c.size == run.header.ranks)
        };
        let sync: Vec<bool> = run.functions.iter().map(|f| synchronises(f)).collect();
        let cuts: FxHashSet<CtxId> = run
            .calls
            .iter()
            .filter(|c| world(c.comm) && sync.get(c.func as usize).copied().unwrap_or(false))
            .map(|c| c.ctx)
            .collect();
        // Node numbers: one for each call, but a cut has a second one for the side where it is entered.
        let mut nodes: FxHashMap<(CtxId, bool), u32> = FxHashMap::default();
        let mut parent: Vec<u32> = Vec::new();
        let mut pairs: Vec<(CtxId, CtxId)> = run.segments.iter().map(|s| (s.from, s.to)).collect();
        pairs.sort_unstable();
        pairs.dedup();
        for (from, to) in pairs {
            let mut node = |ctx: CtxId, entered: bool| {
                let next = parent.len() as u32;
                *nodes
                    .entry((ctx, entered && (cuts.contains(&ctx) || ctx == CtxId::NONE)))
                    .or_insert_with(|| {
                        parent.push(next);
                        next
                    })
            };
            let (a, b) = (node(from, false), node(to, true));
            let (a, b) = (root(&mut parent, a), root(&mut parent, b));
            // The smaller number is the root, so that numbering does not depend on the order.
            parent[a.max(b) as usize] = a.min(b);
        }
        let left: Vec<(CtxId, u32)> = nodes
            .iter()
            .filter(|((_, entered), _)| !entered)
            .map(|((c, _), n)| (*c, *n))
            .collect();
        let of = left
            .into_iter()
            .map(|(ctx, n)| (ctx, root(&mut parent, n)))
            .collect();
        Self { of }
    }

    /// The phase of computation after a call; all calls without a phase have `u32::MAX`.
    pub fn after(&self, ctx: CtxId) -> u32 {
        self.of.get(&ctx).copied().unwrap_or(u32::MAX)
    }
}
