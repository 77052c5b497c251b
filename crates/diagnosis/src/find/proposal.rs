//! Causes between threads before they have a price, and what they explain of the ranks' computation.

use crate::find::candidate::Candidate;
use crate::measure::scale::Scale;
use headwater_dataflow::flow::{Stage, StageResult, counted};
use headwater_dataflow::numbers::stats;
use headwater_graph::{Pag, VertexIx};
use rustc_hash::FxHashMap;

/// Seconds of ranks that a cause takes, and the computation that contains them.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    /// Keys of the computation.
    pub keys: Vec<u32>,
    /// The vertex around them.
    pub around: VertexIx,
    /// Whether the ranks sleep there meanwhile.
    pub asleep: bool,
    /// Whether it is not in that computation: with a core for each thread it would be added.
    pub on_top: bool,
    /// By rank.
    pub by_rank: Vec<f64>,
}

/// A cause between threads that has no price yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// All but its cost.
    pub candidate: Candidate,
    /// What it takes.
    pub losses: Vec<Loss>,
}

/// All that one finder proposes.
pub struct Proposals(pub Vec<Proposal>);

impl StageResult for Proposals {
    const STAGE: Stage = Stage::new(&["proposals", "causes without a price"]);

    fn words(&self) -> String {
        counted(self.0.len(), "proposal", "proposals")
    }
}

impl Proposal {
    /// Seconds of all ranks that it takes.
    pub fn seconds(&self) -> f64 {
        self.losses.iter().flat_map(|l| &l.by_rank).sum()
    }
}

/// Seconds by key and rank that causes between threads explain.
#[derive(Debug, Default)]
pub struct Charged {
    /// Rows over ranks, by key of the computation.
    pub by_key: FxHashMap<u32, Vec<f64>>,
}

impl StageResult for Charged {
    const STAGE: Stage = Stage::new(&["charged", "what causes between threads explain"]);
}

impl Charged {
    /// Keys with the seconds that are explained by rank, ascending.
    pub fn rows(&self) -> Vec<(u32, &[f64])> {
        let mut rows: Vec<(u32, &[f64])> = self.by_key.iter().map(|(k, r)| (*k, &r[..])).collect();
        rows.sort_unstable_by_key(|r| r.0);
        rows
    }

    /// Mean seconds over `ranks` that are explained in `v` and inside it.
    pub fn inside(&self, pag: &Pag, scale: &Scale, v: VertexIx, ranks: &[u32]) -> f64 {
        let data = &scale.view().computation;
        let here = |key: &u32| {
            let key = data.keys.get(*key as usize);
            key.is_some_and(|k| pag.top.contains(v, k.vertex))
        };
        let rows = self.rows().into_iter().filter(|(key, _)| here(key));
        rows.map(|(_, row)| stats::mean_of(row, ranks)).sum()
    }
}
