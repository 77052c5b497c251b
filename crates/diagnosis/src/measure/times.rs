//! Time of every vertex at every scale, summed up over ranks in ScalAna's ways (section IV-A): one rank, the mean or
//! median, the spread between ranks, and clusters of ranks.
//!
//! Rows over all ranks are made one after another and then freed: of thousands of vertices only a few are examined rank
//! by rank, and their rows are made on demand.

use crate::measure::scale::Scale;
use headwater_dataflow::numbers::stats;
use headwater_graph::{Pag, RankRows, TopDown, VertexIx, sum_rows};
use headwater_model::diagnosis::Clock;
use headwater_model::psg::VertexKind;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// Below this share of the computation, the ranks of a vertex are not sorted: then median, usual rank and cluster are
/// the mean.
const NEGLIGIBLE: f64 = 1e-3;

/// Seconds in a vertex at one scale, over ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// Rank 0.
    pub one: f64,
    /// Mean over ranks.
    pub mean: f64,
    /// The median rank.
    pub median: f64,
    /// The median rank, of two the faster one: what a rank takes if up to half of them are late.
    pub usual: f64,
    /// Standard deviation over ranks: the root of the variance, so that it is seconds too.
    pub deviation: f64,
    /// Mean of the slower one of two clusters of ranks.
    pub cluster: f64,
    /// The fastest rank.
    pub least: f64,
    /// The slowest rank.
    pub most: f64,
}

impl Summary {
    fn new(row: &[f64], negligible: f64) -> Self {
        let (mean, most) = (stats::mean(row), stats::max(row));
        let mut this = Self {
            one: row.first().copied().unwrap_or(0.0),
            mean,
            median: mean,
            usual: mean,
            deviation: stats::variance(row).sqrt(),
            cluster: mean,
            least: row.iter().copied().reduce(f64::min).unwrap_or(0.0),
            most,
        };
        if most > negligible && this.deviation > 0.0 {
            let sorted = stats::Sorted::new(row);
            this.median = sorted.median();
            this.usual = sorted.lower_median();
            this.cluster = sorted.upper_mean().unwrap_or(mean);
        }
        this
    }
}

/// The times of all vertices at all scales.
pub struct Times {
    computation: Vec<Vec<Summary>>,
    mpi: Vec<FxHashMap<VertexIx, Vec<f64>>>,
    /// The clock of seconds in MPI calls.
    pub clock: Clock,
}

impl Times {
    /// Sums up every vertex at every scale.
    pub fn new(pag: &Pag, scales: &[Scale]) -> Self {
        let clock = call_clock(scales);
        let (computation, mpi) = scales
            .par_iter()
            .map(|s| (computation(pag, s), calls(s, clock)))
            .unzip();
        Self {
            computation,
            mpi,
            clock,
        }
    }

    /// Computation inside `v` at one scale; zeros where there is none.
    pub fn computation(&self, scale: usize, v: VertexIx) -> Summary {
        let at = self.computation.get(scale).and_then(|s| s.get(v as usize));
        at.copied().unwrap_or_default()
    }

    /// The measure of `v` at one scale: time in it if it is an MPI call, computation otherwise.
    pub fn shown(&self, pag: &Pag, scale: usize, v: VertexIx) -> Summary {
        if pag.top.get(v).kind == VertexKind::MpiCall {
            let row = self.mpi.get(scale).and_then(|s| s.get(&v));
            return row.map_or_else(Summary::default, |row| Summary::new(row, 0.0));
        }
        self.computation(scale, v)
    }

    /// The same by rank.
    pub fn row(&self, pag: &Pag, scales: &[Scale], scale: usize, v: VertexIx) -> Vec<f64> {
        let Some(at) = scales.get(scale) else {
            return Vec::new();
        };
        if pag.top.get(v).kind == VertexKind::MpiCall {
            let row = self.mpi.get(scale).and_then(|s| s.get(&v)).cloned();
            return row.unwrap_or_else(|| vec![0.0; at.p as usize]);
        }
        inside(pag, at, &at.view().computation.busy, v)
    }
}

/// Sum of a column of computation by rank over `v` and what is inside it.
pub fn inside(pag: &Pag, scale: &Scale, column: &RankRows, v: VertexIx) -> Vec<f64> {
    sum_rows(column, &scale.keys_inside(pag, v), scale.p)
}

fn computation(pag: &Pag, scale: &Scale) -> Vec<Summary> {
    let data = &scale.view().computation;
    let n = pag.top.vertices.len();
    let negligible = NEGLIGIBLE * stats::max(&scale.busy());
    let mut by_vertex: Vec<(VertexIx, u32)> =
        (0..).zip(&data.keys).map(|(i, k)| (k.vertex, i)).collect();
    by_vertex.sort_unstable();
    let mut summaries = vec![Summary::default(); n];
    // Rows in use, and rows to be used again: only as many exist as a path is deep.
    let mut open: FxHashMap<VertexIx, Vec<f64>> = FxHashMap::default();
    let mut spare: Vec<Vec<f64>> = Vec::new();
    // Parents have smaller indices than their children, so the sum of a vertex is complete when it is reached.
    for v in (0..n as VertexIx).rev() {
        let mut taken = open.remove(&v);
        while let Some(&(_, key)) = by_vertex.last().filter(|k| k.0 == v) {
            by_vertex.pop();
            if let Some(values) = data.busy.row(key) {
                values.add_to(taken.get_or_insert_with(|| zeros(&mut spare, scale.p)));
            }
        }
        let Some(row) = taken else { continue };
        summaries[v as usize] = Summary::new(&row, negligible);
        if v == TopDown::ROOT {
            break;
        }
        let parent = pag.top.get(v).parent.unwrap_or(TopDown::ROOT);
        let above = open
            .entry(parent)
            .or_insert_with(|| zeros(&mut spare, scale.p));
        above.iter_mut().zip(&row).for_each(|(a, r)| *a += r);
        spare.push(row);
    }
    summaries
}

fn zeros(spare: &mut Vec<Vec<f64>>, ranks: u32) -> Vec<f64> {
    let mut row = spare.pop().unwrap_or_default();
    row.clear();
    row.resize(ranks as usize, 0.0);
    row
}

/// Seconds in each MPI call by rank.
fn calls(scale: &Scale, clock: Clock) -> FxHashMap<VertexIx, Vec<f64>> {
    if clock == Clock::Virtual {
        return scale.waits.rows();
    }
    let mpi = &scale.view().mpi;
    mpi.keys().map(|v| (v, mpi.dense(v, scale.p))).collect()
}

/// The clock of seconds in MPI calls, the same at all scales. Where cores are crowded, time in a call is mostly waiting
/// for a core. So it is then the waiting in the replay, if every scale has one.
fn call_clock(scales: &[Scale]) -> Clock {
    let replayed = |s: &Scale| s.waits.clock == Clock::Virtual;
    if scales.iter().any(Scale::is_crowded) && scales.iter().all(replayed) {
        Clock::Virtual
    } else {
        Clock::Wall
    }
}
