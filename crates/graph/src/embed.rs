//! Embeds performance data into vertices (PerFlow, section 3.3; ScalAna, III-B1).
//!
//! Two measurements are joined: a *segment* says exactly how long a rank computed between two MPI calls, and *samples*
//! say in which vertices. The time of the segments that follow an MPI call is distributed over vertices as the rank's
//! samples after that call are. If a rank has few samples, the samples of the ranks that go on to the same call count
//! as well, and behind these the samples of all ranks. Where no rank has a sample, the time goes to the vertex around
//! both calls. Time asleep goes to the system calls that slept; sleep that no system call explains (joining a thread,
//! waiting for memory) goes to the vertex around both calls.
//!
//! Ranks are processed in tiles of a fixed number, so that the result does not depend on the number of threads. Sums
//! over ranks are sums of whole nanoseconds, so that their order does not matter.

use crate::columns::RankRows;
use crate::computation::{Computation, Key};
use crate::keys::{After, Mapped, Plan, Pooled, divide, next_calls, plan};
use crate::stretches::{Stretch, stretches, within};
use crate::topdown::TopDown;
use headwater_model::run::{CtxId, Run, Sample, Segment};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Seconds in a nanosecond.
const NANO: f64 = 1e-9;

/// Ranks that one task processes: few enough for their times to fit in a core's cache.
const TILE: usize = 64;

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
    samples: &[Stretch<Sample>],
    segments: &[Stretch<Segment>],
    counters: usize,
    profile: bool,
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
        // Rows are mostly sorted as keys are, so the next key is the likely one.
        let mut guess = 0;
        for s in within(samples, &only) {
            let Some(key) = plan.mapped.key(s.after, s.ctx) else {
                continue;
            };
            if plan.keys.get(guess) != Some(&key) {
                guess = match plan.keys.binary_search(&key) {
                    Ok(found) => found,
                    Err(_) => continue,
                };
            }
            own[guess].add(s);
            if counters > 0 {
                out.add(plan, 3, guess, column, s.cpu_ns as f64 * NANO);
            }
            for (i, growth) in s.counters.iter().take(counters).enumerate() {
                out.add(plan, COLUMNS + i, guess, column, *growth as f64);
            }
            guess += 1;
        }
        amounts.clear();
        for s in within(segments, &only) {
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
        let next = next_calls(within(segments, &only));
        for (from, amount) in &amounts {
            if let Some(after) = plan.afters.get(from) {
                let alike = next.get(from).and_then(|to| after.of_alike.get(to));
                let others = alike.unwrap_or(&after.of_all);
                let by = (others.as_slice(), profile);
                distribute(after, *amount, &own, by, |c, key, value| {
                    out.add(plan, c, key, column, value);
                });
            }
        }
    }
    out
}

/// Distributes what a rank did after one call over the keys of that call; `add` takes the column
/// (0 busy, 1 blocked, 2 run queue), the key and seconds. `others` are the shares of other ranks, and whether the run is a
/// profile of another tool.
fn distribute(
    after: &After,
    amount: Amount,
    own: &[Pooled],
    (others, profile): (&[f64], bool),
    mut add: impl FnMut(usize, usize, f64),
) {
    let mine = &own[after.keys.clone()];
    let slept: u64 = mine.iter().map(|o| o.blocked).sum();
    let known = (slept as f64 * NANO).min(amount.blocked);
    // The kernel distinguishes sleep from waiting for a core, so sleep that no system call explains was sleep too.
    for column in [0, 1] {
        add(column, after.around, amount.blocked - known);
    }
    for (key, o) in after.keys.clone().zip(mine).filter(|(_, o)| o.blocked > 0) {
        let seconds = o.blocked as f64 / slept as f64 * known;
        add(0, key, seconds);
        add(1, key, seconds);
    }
    if others.is_empty() {
        add(0, after.around, amount.cpu);
        add(2, after.around, amount.runq);
        return;
    }
    for (key, share) in after.keys.clone().zip(divide(mine, others, profile)) {
        if share > 0.0 {
            add(0, key, amount.cpu * share);
            add(2, key, amount.runq * share);
        }
    }
}

/// Distributes all computation of a run.
pub(crate) fn place(run: &Run, mapped: &Mapped, top: &TopDown) -> Computation {
    let samples = stretches(&run.samples, |s| s.rank);
    let segments = stretches(&run.segments, |s| s.rank);
    let plan = plan(mapped, top, &samples, &segments);
    let counters = run.header.counters.len();
    // Programs of other tools are not files, and have symbols.
    let profile = run.is_imported();
    let tiles: Vec<Tile> = (0..run.header.ranks)
        .step_by(TILE)
        .map(|start| start..(start + TILE as u32).min(run.header.ranks))
        .collect::<Vec<_>>()
        .into_par_iter()
        .map(|r| tile(&plan, r, &samples, &segments, counters, profile))
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
