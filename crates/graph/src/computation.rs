//! Where the ranks of a run computed: one row over ranks for each pair of a preceding MPI call and a vertex.

use crate::columns::RankRows;
use crate::topdown::VertexIx;
use headwater_model::run::CtxId;
use rustc_hash::FxHashMap;

/// Computation in one vertex after one MPI call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Context of the MPI call that the rank left last.
    pub after: CtxId,
    /// Vertex, without the vertices inside it.
    pub vertex: VertexIx,
}

/// All computation of a run: a row over ranks for each key.
#[derive(Debug, Default)]
pub struct Computation {
    /// The keys of the columns' rows, ascending.
    pub keys: Vec<Key>,
    /// CPU time plus time asleep, seconds.
    pub busy: RankRows,
    /// Time asleep within that, seconds.
    pub blocked: RankRows,
    /// Time ready to run without a core (not in `busy`), seconds.
    pub runq: RankRows,
    /// CPU time that the rank's own samples represent, seconds; only filled where the run has counters.
    pub sampled: RankRows,
    /// Growth of each of the run's counters.
    pub counters: Vec<RankRows>,
}

impl Computation {
    /// Indices of the keys for which `wanted` holds.
    pub fn keys_where(&self, wanted: impl Fn(&Key) -> bool) -> Vec<u32> {
        let keys = (0..).zip(&self.keys);
        keys.filter(|(_, k)| wanted(k)).map(|(i, _)| i).collect()
    }
}

/// Sum of a column over some keys, over all `n` ranks.
pub fn sum_rows(column: &RankRows, keys: &[u32], n: u32) -> Vec<f64> {
    let mut full = vec![0.0; n as usize];
    for row in keys.iter().filter_map(|k| column.row(*k)) {
        row.add_to(&mut full);
    }
    full
}

/// Sampled CPU time by vertex and source line, nanoseconds: shows which line of a vertex is the hottest.
pub type HotLines = FxHashMap<(VertexIx, u32), u64>;
