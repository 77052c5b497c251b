//! Performance data embedded into vertices (PerFlow, section 3.3; ScalAna, III-B1).
//!
//! Two measurements are joined: a *segment* says exactly how long a rank computed between two MPI
//! calls, *samples* say in which vertices. The time of the segments that follow an MPI call is
//! distributed over vertices as the rank's samples after that call are. A rank with few samples
//! leans on those of all ranks, with the weight of [`PRIOR`] samples; where nobody has a sample, the
//! time goes to the vertex around both calls. Time asleep goes to the system calls that slept; what
//! none of them explains (waiting for memory, mostly) is kept apart with the time without a core.

use crate::topdown::{TopDown, VertexIx};
use headwater_model::run::{CtxId, Run, Sample};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// Weight of all ranks' samples in the distribution of one rank's time, in samples.
const PRIOR: f64 = 1.0;

/// Seconds in a nanosecond.
const NANO: f64 = 1e-9;

/// Computation of one rank in one vertex after one MPI call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placed {
    /// Rank.
    pub rank: u32,
    /// Context of the MPI call left before.
    pub after: CtxId,
    /// Vertex, without the vertices inside it.
    pub vertex: VertexIx,
    /// CPU time plus time asleep, seconds.
    pub busy: f32,
    /// Time asleep within that, seconds.
    pub blocked: f32,
    /// Time ready to run without a core (not in `busy`), seconds.
    pub runq: f32,
}

/// A number of samples by preceding MPI call and vertex.
type Shares<'a> = &'a [((CtxId, VertexIx), f64)];

/// Samples by vertex and source line: which line of a vertex is the hot one.
pub type HotLines = FxHashMap<(VertexIx, u32), u64>;

#[derive(Default, Clone, Copy)]
struct Amount {
    cpu: f64,
    blocked: f64,
    runq: f64,
}

/// Splits `items` sorted by rank into one slice for each rank.
fn by_rank<T>(items: &[T], rank: impl Fn(&T) -> u32) -> FxHashMap<u32, &[T]> {
    items
        .chunk_by(|a, b| rank(a) == rank(b))
        .map(|chunk| (rank(&chunk[0]), chunk))
        .collect()
}

/// Sums samples by (after, vertex), in key order.
fn shares(
    samples: &[Sample],
    vertex: impl Fn(CtxId) -> Option<VertexIx>,
    amount: impl Fn(&Sample) -> f64,
) -> Vec<((CtxId, VertexIx), f64)> {
    let mut keyed: Vec<((CtxId, VertexIx), f64)> = samples
        .iter()
        .filter_map(|s| Some(((s.after, vertex(s.ctx)?), amount(s))))
        .filter(|s| s.1 > 0.0)
        .collect();
    keyed.sort_unstable_by_key(|k| k.0);
    keyed.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
    keyed
}

/// All computation of a run, sorted by rank, after and vertex.
pub(crate) fn place(run: &Run, ctx_vertex: &[VertexIx], top: &TopDown) -> Vec<Placed> {
    let vertex = |ctx: CtxId| ctx.index().and_then(|i| ctx_vertex.get(i)).copied();
    // In samples of the usual period: single ones stand for more or less time.
    let hz = run.header.sampling_hz.max(1.0);
    let weight = |s: &Sample| s.cpu_ns as f64 * NANO * hz;
    let samples = by_rank(&run.samples, |s| s.rank);
    let segments: Vec<&[_]> = run.segments.chunk_by(|a, b| a.rank == b.rank).collect();

    // What all ranks together did after each call.
    let mut pooled: FxHashMap<CtxId, Vec<(VertexIx, f64)>> = FxHashMap::default();
    for ((after, v), n) in shares(&run.samples, vertex, weight) {
        pooled.entry(after).or_default().push((v, n));
    }
    let pooled_total: FxHashMap<CtxId, f64> = pooled
        .iter()
        .map(|(after, list)| (*after, list.iter().map(|l| l.1).sum()))
        .collect();

    let per_rank: Vec<Vec<Placed>> = segments
        .par_iter()
        .map(|segments| {
            let rank = segments[0].rank;
            let mine = samples.get(&rank).copied().unwrap_or(&[]);
            let slept = shares(mine, vertex, |s| s.blocked_ns as f64 * NANO);
            let own = shares(mine, vertex, weight);
            let own: FxHashMap<CtxId, Shares<'_>> = own
                .chunk_by(|a, b| a.0.0 == b.0.0)
                .map(|c| (c[0].0.0, c))
                .collect();
            let mut amounts: Vec<(CtxId, Amount, VertexIx)> = Vec::new();
            for segment in *segments {
                let around = match (vertex(segment.from), vertex(segment.to)) {
                    (Some(a), Some(b)) => top.common_ancestor(a, b),
                    (Some(a), None) | (None, Some(a)) => top.get(a).parent.unwrap_or(TopDown::ROOT),
                    (None, None) => TopDown::ROOT,
                };
                let amount = Amount {
                    cpu: segment.cpu_ns as f64 * NANO,
                    blocked: segment.blocked_ns as f64 * NANO,
                    runq: segment.runq_ns as f64 * NANO,
                };
                match amounts.last_mut() {
                    Some((from, sum, v)) if *from == segment.from => {
                        sum.cpu += amount.cpu;
                        sum.blocked += amount.blocked;
                        sum.runq += amount.runq;
                        *v = top.common_ancestor(*v, around);
                    }
                    _ => amounts.push((segment.from, amount, around)),
                }
            }
            let slept: FxHashMap<CtxId, Shares<'_>> = slept
                .chunk_by(|a, b| a.0.0 == b.0.0)
                .map(|c| (c[0].0.0, c))
                .collect();
            let mut out = Vec::new();
            for (after, mut amount, around) in amounts {
                let sleeps = slept.get(&after).copied().unwrap_or(&[]);
                let total: f64 = sleeps.iter().map(|s| s.1).sum();
                let known = total.min(amount.blocked);
                amount.runq += amount.blocked - known;
                for ((_, vertex), seconds) in sleeps {
                    let seconds = (seconds / total * known) as f32;
                    out.push(Placed {
                        rank,
                        after,
                        vertex: *vertex,
                        busy: seconds,
                        blocked: seconds,
                        runq: 0.0,
                    });
                }
                let mine = own.get(&after).copied().unwrap_or(&[]);
                let all = pooled.get(&after).map_or(&[][..], Vec::as_slice);
                distribute(
                    rank,
                    after,
                    amount,
                    around,
                    mine,
                    all,
                    pooled_total.get(&after).copied().unwrap_or(0.0),
                    &mut out,
                );
            }
            out
        })
        .collect();
    per_rank.into_iter().flatten().collect()
}

#[allow(clippy::too_many_arguments)] // one call site; a struct would only rename the list
fn distribute(
    rank: u32,
    after: CtxId,
    amount: Amount,
    around: VertexIx,
    mine: Shares<'_>,
    all: &[(VertexIx, f64)],
    all_total: f64,
    out: &mut Vec<Placed>,
) {
    let mut push = |vertex: VertexIx, share: f64| {
        if share > 0.0 {
            out.push(Placed {
                rank,
                after,
                vertex,
                busy: (amount.cpu * share) as f32,
                blocked: 0.0,
                runq: (amount.runq * share) as f32,
            });
        }
    };
    if all_total <= 0.0 {
        push(around, 1.0);
        return;
    }
    let own_total: f64 = mine.iter().map(|m| m.1).sum();
    let total = own_total + PRIOR;
    // Both lists are sorted by vertex, and every vertex of `mine` is in `all`.
    let mut rest = mine;
    for &(vertex, n) in all {
        let own = match rest.split_first() {
            Some((first, tail)) if first.0.1 == vertex => {
                rest = tail;
                first.1
            }
            _ => 0.0,
        };
        push(vertex, (own + PRIOR * n / all_total) / total);
    }
}
