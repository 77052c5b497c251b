//! Performance data embedded into vertices (PerFlow, section 3.3; ScalAna, III-B1).
//!
//! Two measurements are joined: a *segment* says exactly how long a rank computed between two MPI
//! calls, *samples* say in which vertices. The time of the segments that follow an MPI call is
//! distributed over vertices as the rank's samples after that call are. A rank with few samples
//! leans on those of all ranks, with the weight of [`PRIOR`] samples; where nobody has a sample, the
//! time goes to the vertex around both calls. Time asleep goes to the system calls that slept; what
//! none of them explains (waiting for memory, mostly) is kept apart with the time without a core.
//!
//! Ranks are taken in tiles of a fixed number, so that the result does not depend on how many
//! threads work; what is summed over ranks is summed in whole nanoseconds, in which order is no matter.

use crate::columns::RankRows;
use crate::stages::Stages;
use crate::topdown::{TopDown, VertexIx};
use headwater_model::run::{CtxId, Run, Sample, Segment};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Weight of all ranks' samples in the distribution of one rank's time, in samples.
const PRIOR: f64 = 1.0;

/// Seconds in a nanosecond.
const NANO: f64 = 1e-9;

/// Ranks that one task takes: few enough for their times to stay in a core's cache.
const TILE: usize = 64;

/// Computation in one vertex after one MPI call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Context of the MPI call left before.
    pub after: CtxId,
    /// Vertex, without the vertices inside it.
    pub vertex: VertexIx,
}

/// All computation of a run: a row over ranks for each key.
#[derive(Debug, Default)]
pub struct Computation {
    /// What the rows of the columns stand for, ascending.
    pub keys: Vec<Key>,
    /// CPU time plus time asleep, seconds.
    pub busy: RankRows,
    /// Time asleep within that, seconds.
    pub blocked: RankRows,
    /// Time ready to run without a core (not in `busy`), seconds.
    pub runq: RankRows,
    /// CPU time that the rank's own samples stand for, seconds; kept where there are counters.
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

/// Samples by vertex and source line: which line of a vertex is the hot one.
pub type HotLines = FxHashMap<(VertexIx, u32), u64>;

/// What all ranks together did in a key, nanoseconds.
#[derive(Clone, Copy, Default)]
struct Pooled {
    cpu: u64,
    blocked: u64,
}

/// The keys that follow one MPI call.
struct After {
    keys: Range<usize>,
    /// CPU time of all samples, nanoseconds.
    cpu: u64,
    /// Key of the vertex around the calls, for time that no sample tells about.
    around: usize,
}

/// Keys with what is needed to find them.
struct Plan<'a> {
    mapped: &'a Mapped,
    keys: Vec<Key>,
    pooled: Vec<Pooled>,
    afters: FxHashMap<CtxId, After>,
}

/// Vertices of the contexts of a run.
#[derive(Debug, Default)]
pub(crate) struct Mapped {
    pub(crate) ctx_vertex: Vec<VertexIx>,
    pub(crate) stages: Stages,
}

impl Mapped {
    fn call(&self, ctx: CtxId) -> Option<VertexIx> {
        ctx.index().and_then(|i| self.ctx_vertex.get(i)).copied()
    }

    /// The key of what was sampled in `ctx` after a call.
    pub(crate) fn key(&self, after: CtxId, ctx: CtxId) -> Option<Key> {
        let vertex = match self.stages.base(after) {
            Some(base) => self.stages.vertex(base, ctx),
            None => self.call(ctx)?,
        };
        Some(Key { after, vertex })
    }

    /// The vertex around a segment, for time that no sample tells about.
    fn around(&self, top: &TopDown, segment: &Segment) -> VertexIx {
        if let Some(base) = self.stages.base(segment.from) {
            return base;
        }
        match (self.call(segment.from), self.call(segment.to)) {
            (Some(a), Some(b)) => top.common_ancestor(a, b),
            (Some(a), None) | (None, Some(a)) => top.get(a).parent.unwrap_or(TopDown::ROOT),
            (None, None) => TopDown::ROOT,
        }
    }

    /// Whether a segment is the last of its rank, but no samples tell it from others.
    fn ends_alone(&self, segment: &Segment) -> bool {
        self.stages.is_finalize(segment.to) && self.stages.base(segment.from).is_none()
    }
}

/// Rows of one table, a slice of consecutive ones for each rank and stretch.
fn stretches<T: Sync>(items: &[T], rank: impl Fn(&T) -> u32) -> Vec<(u32, &[T])> {
    let mut all: Vec<(u32, &[T])> = items
        .chunk_by(|a, b| rank(a) == rank(b))
        .map(|chunk| (rank(&chunk[0]), chunk))
        .collect();
    all.sort_by_key(|s| s.0);
    all
}

/// The stretches of ranks in `range`.
fn within<'s, T>(all: &'s [(u32, &'s [T])], range: &Range<u32>) -> &'s [(u32, &'s [T])] {
    let begin = all.partition_point(|s| s.0 < range.start);
    let end = all.partition_point(|s| s.0 < range.end);
    all.get(begin..end).unwrap_or(&[])
}

/// Finds all keys of a run.
fn plan<'a>(
    mapped: &'a Mapped,
    top: &TopDown,
    samples: &[(u32, &[Sample])],
    segments: &[Segment],
) -> Plan<'a> {
    let merge = |mut a: FxHashMap<Key, Pooled>, b: FxHashMap<Key, Pooled>| {
        for (key, p) in b {
            let sum = a.entry(key).or_default();
            sum.cpu += p.cpu;
            sum.blocked += p.blocked;
        }
        a
    };
    let mut pooled = samples
        .par_chunks(TILE)
        .map(|tile| {
            let mut mine: FxHashMap<Key, Pooled> = FxHashMap::default();
            for s in tile.iter().flat_map(|t| t.1) {
                let Some(key) = mapped.key(s.after, s.ctx) else {
                    continue;
                };
                let sum = mine.entry(key).or_default();
                sum.cpu += s.cpu_ns;
                sum.blocked += s.blocked_ns;
            }
            mine
        })
        .reduce(FxHashMap::default, merge);
    // The vertex around all segments that follow a call: it is the same for all ranks.
    let mut around: FxHashMap<CtxId, VertexIx> = FxHashMap::default();
    for segment in segments {
        if mapped.ends_alone(segment) {
            let key = Key {
                after: segment.from,
                vertex: TopDown::WINDDOWN,
            };
            pooled.entry(key).or_default();
            continue;
        }
        let here = mapped.around(top, segment);
        let known = around.entry(segment.from).or_insert(here);
        if *known != here {
            *known = top.common_ancestor(*known, here);
        }
    }
    for (&after, &vertex) in &around {
        pooled.entry(Key { after, vertex }).or_default();
    }
    let mut sorted: Vec<(Key, Pooled)> = pooled.into_iter().collect();
    sorted.sort_unstable_by_key(|p| p.0);
    let (keys, pooled): (Vec<Key>, Vec<Pooled>) = sorted.into_iter().unzip();
    let mut afters = FxHashMap::default();
    let mut begin = 0;
    for of_call in keys.chunk_by(|a, b| a.after == b.after) {
        let range = begin..begin + of_call.len();
        begin = range.end;
        let after = of_call[0].after;
        let place = around.get(&after).copied().unwrap_or(TopDown::ROOT);
        let at = of_call.partition_point(|k| k.vertex < place);
        afters.insert(
            after,
            After {
                cpu: pooled[range.clone()].iter().map(|p| p.cpu).sum(),
                around: range.start + at.min(of_call.len() - 1),
                keys: range,
            },
        );
    }
    Plan {
        mapped,
        keys,
        pooled,
        afters,
    }
}

/// Columns of one tile of ranks, by key and then rank.
struct Tile {
    width: usize,
    /// Empty where nothing was added.
    columns: Vec<Vec<f32>>,
}

/// The columns of a tile before the counters.
const COLUMNS: usize = 4;

impl Tile {
    fn new(width: usize, columns: usize) -> Self {
        Self {
            width,
            columns: vec![Vec::new(); columns],
        }
    }

    fn add(&mut self, plan: &Plan<'_>, column: usize, key: usize, rank: usize, value: f64) {
        if value == 0.0 {
            return;
        }
        let Some(values) = self.columns.get_mut(column) else {
            return;
        };
        if values.is_empty() {
            *values = vec![0.0; plan.keys.len() * self.width];
        }
        if let Some(slot) = values.get_mut(key * self.width + rank) {
            *slot += value as f32;
        }
    }
}

#[derive(Default, Clone, Copy)]
struct Amount {
    cpu: f64,
    blocked: f64,
    runq: f64,
}

/// Distributes the time of some ranks.
fn tile(
    plan: &Plan<'_>,
    ranks: Range<u32>,
    samples: &[(u32, &[Sample])],
    segments: &[(u32, &[Segment])],
    hz: f64,
    counters: usize,
) -> Tile {
    let columns = if counters > 0 {
        COLUMNS + counters
    } else {
        COLUMNS - 1
    };
    let mut out = Tile::new(ranks.len(), columns);
    let mut own: Vec<Pooled> = Vec::new();
    let mut amounts: FxHashMap<CtxId, Amount> = FxHashMap::default();
    for rank in ranks.clone() {
        let column = (rank - ranks.start) as usize;
        let only = rank..rank + 1;
        own.clear();
        own.resize(plan.keys.len(), Pooled::default());
        // Rows are sorted as keys are, mostly, so that the next key is the likely one.
        let mut guess = 0;
        for s in within(samples, &only).iter().flat_map(|s| s.1) {
            let Some(key) = plan.mapped.key(s.after, s.ctx) else {
                continue;
            };
            if plan.keys.get(guess) != Some(&key) {
                guess = match plan.keys.binary_search(&key) {
                    Ok(found) => found,
                    Err(_) => continue,
                };
            }
            own[guess].cpu += s.cpu_ns;
            own[guess].blocked += s.blocked_ns;
            if counters > 0 {
                out.add(plan, 3, guess, column, s.cpu_ns as f64 * NANO);
            }
            for (i, growth) in s.counters.iter().take(counters).enumerate() {
                out.add(plan, COLUMNS + i, guess, column, *growth as f64);
            }
            guess += 1;
        }
        amounts.clear();
        for s in within(segments, &only).iter().flat_map(|s| s.1) {
            if plan.mapped.ends_alone(s) {
                let key = Key {
                    after: s.from,
                    vertex: TopDown::WINDDOWN,
                };
                if let Ok(key) = plan.keys.binary_search(&key) {
                    let busy = (s.cpu_ns + s.blocked_ns) as f64 * NANO;
                    out.add(plan, 0, key, column, busy);
                    out.add(plan, 1, key, column, s.blocked_ns as f64 * NANO);
                    out.add(plan, 2, key, column, s.runq_ns as f64 * NANO);
                }
                continue;
            }
            let sum = amounts.entry(s.from).or_default();
            sum.cpu += s.cpu_ns as f64 * NANO;
            sum.blocked += s.blocked_ns as f64 * NANO;
            sum.runq += s.runq_ns as f64 * NANO;
        }
        for (after, amount) in &amounts {
            if let Some(after) = plan.afters.get(after) {
                distribute(plan, after, *amount, &own, hz, |c, key, value| {
                    out.add(plan, c, key, column, value);
                });
            }
        }
    }
    out
}

/// Distributes what a rank did after one call over the keys of that call; `add` takes the column
/// (0 busy, 1 blocked, 2 run queue), the key and seconds.
fn distribute(
    plan: &Plan<'_>,
    after: &After,
    mut amount: Amount,
    own: &[Pooled],
    hz: f64,
    mut add: impl FnMut(usize, usize, f64),
) {
    let mine = &own[after.keys.clone()];
    let slept: u64 = mine.iter().map(|o| o.blocked).sum();
    let known = (slept as f64 * NANO).min(amount.blocked);
    amount.runq += amount.blocked - known;
    for (key, o) in after.keys.clone().zip(mine).filter(|(_, o)| o.blocked > 0) {
        let seconds = o.blocked as f64 / slept as f64 * known;
        add(0, key, seconds);
        add(1, key, seconds);
    }
    if after.cpu == 0 {
        add(0, after.around, amount.cpu);
        add(2, after.around, amount.runq);
        return;
    }
    // In samples of the usual period: single ones stand for more or less time.
    let weight = |ns: u64| ns as f64 * NANO * hz;
    let total = weight(mine.iter().map(|o| o.cpu).sum()) + PRIOR;
    let prior = PRIOR / after.cpu as f64;
    for (key, o) in after.keys.clone().zip(mine) {
        let share = (weight(o.cpu) + prior * plan.pooled[key].cpu as f64) / total;
        if share > 0.0 {
            add(0, key, amount.cpu * share);
            add(2, key, amount.runq * share);
        }
    }
}

/// All computation of a run.
pub(crate) fn place(run: &Run, mapped: &Mapped, top: &TopDown) -> Computation {
    let samples = stretches(&run.samples, |s| s.rank);
    let segments = stretches(&run.segments, |s| s.rank);
    let plan = plan(mapped, top, &samples, &run.segments);
    let hz = run.header.sampling_hz.max(1.0);
    let counters = run.header.counters.len();
    let tiles: Vec<Tile> = (0..run.header.ranks)
        .step_by(TILE)
        .map(|start| start..(start + TILE as u32).min(run.header.ranks))
        .collect::<Vec<_>>()
        .into_par_iter()
        .map(|r| tile(&plan, r, &samples, &segments, hz, counters))
        .collect();
    let columns = tiles.first().map_or(0, |t| t.columns.len());
    let mut joined: Vec<RankRows> = (0..columns)
        .into_par_iter()
        .map(|column| join(&tiles, column, plan.keys.len()))
        .collect();
    let rest = joined.split_off(joined.len().min(COLUMNS));
    let mut first = joined.into_iter();
    let mut next = || first.next().unwrap_or_default();
    Computation {
        busy: next(),
        blocked: next(),
        runq: next(),
        sampled: next(),
        counters: rest,
        keys: plan.keys,
    }
}

/// The rows of one column over the ranks of all tiles.
fn join(tiles: &[Tile], column: usize, keys: usize) -> RankRows {
    let mut rows = RankRows::default();
    let mut full: Vec<f32> = Vec::new();
    let empty = |t: &Tile| t.columns.get(column).is_none_or(Vec::is_empty);
    let keys = if tiles.iter().all(empty) { 0 } else { keys };
    for key in 0..keys {
        full.clear();
        for tile in tiles {
            let row = key * tile.width..(key + 1) * tile.width;
            match tile.columns.get(column).and_then(|c| c.get(row)) {
                Some(values) => full.extend_from_slice(values),
                None => full.resize(full.len() + tile.width, 0.0),
            }
        }
        rows.set(key as u32, &full);
    }
    rows.seal();
    rows
}
