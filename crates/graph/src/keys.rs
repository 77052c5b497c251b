//! Finds the keys under which a run's computation is stored, before any time is distributed.

use crate::computation::Key;
use crate::stages::Stages;
use crate::stretches::{Stretch, within};
use crate::topdown::{TopDown, VertexIx};
use headwater_model::run::{CtxId, Sample, Segment};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Ranks that one task processes.
const CHUNK: usize = 64;

/// Weight of other ranks' samples when one rank's time is divided, in samples.
const PRIOR: f64 = 1.0;

/// What ranks did in a key.
#[derive(Clone, Copy, Default)]
pub(crate) struct Pooled {
    /// Samples.
    pub(crate) count: u64,
    /// CPU time that they represent, nanoseconds.
    pub(crate) cpu: u64,
    /// Time asleep, nanoseconds.
    pub(crate) blocked: u64,
}

impl Pooled {
    /// Adds the samples of a row.
    pub(crate) fn add(&mut self, row: &Sample) {
        self.count += u64::from(row.count);
        self.cpu += row.cpu_ns;
        self.blocked += row.blocked_ns;
    }

    fn join(&mut self, other: &Self) {
        self.count += other.count;
        self.cpu += other.cpu;
        self.blocked += other.blocked;
    }
}

/// The keys that follow one MPI call.
pub(crate) struct After {
    pub(crate) keys: Range<usize>,
    /// How the samples of all ranks divide over the keys, in shares of one; empty where no rank has a sample.
    pub(crate) of_all: Vec<f64>,
    /// The same for the ranks that mostly go on to one call, by that call: ranks that go on to another call may have
    /// computed something else.
    pub(crate) of_alike: FxHashMap<CtxId, Vec<f64>>,
    /// Key of the vertex around the calls, for time that no sample covers.
    pub(crate) around: usize,
}

/// Keys with what is needed to find them.
pub(crate) struct Plan<'a> {
    pub(crate) mapped: &'a Mapped,
    pub(crate) keys: Vec<Key>,
    pub(crate) afters: FxHashMap<CtxId, After>,
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

    /// The vertex around a segment, for time that no sample covers: never one of its calls, even where a call follows
    /// itself.
    fn around(&self, top: &TopDown, segment: &Segment) -> VertexIx {
        if let Some(base) = self.stages.base(segment.from) {
            return base;
        }
        match (self.call(segment.from), self.call(segment.to)) {
            (Some(a), Some(b)) if a != b => {
                match (top.of_line(a), top.of_line(b)) {
                    // Two calls on one line.
                    (a, b) if a == b => top.around_call(a),
                    (a, b) => top.common_ancestor(a, b),
                }
            }
            (Some(a), _) | (None, Some(a)) => top.around_call(a),
            (None, None) => TopDown::ROOT,
        }
    }

    /// Whether a segment is the last of its rank, but its samples cannot be distinguished from those of other segments.
    pub(crate) fn ends_alone(&self, segment: &Segment) -> bool {
        self.stages.is_finalize(segment.to) && self.stages.base(segment.from).is_none()
    }
}

/// For each call of a rank, the call that follows after most CPU time; of two with the same CPU time, the first in
/// order.
pub(crate) fn next_calls<'s>(
    segments: impl Iterator<Item = &'s Segment>,
) -> FxHashMap<CtxId, CtxId> {
    let mut most: FxHashMap<CtxId, &Segment> = FxHashMap::default();
    for s in segments {
        let known = most.entry(s.from).or_insert(s);
        if (s.cpu_ns, known.to) > (known.cpu_ns, s.to) {
            *known = s;
        }
    }
    most.into_iter().map(|(from, s)| (from, s.to)).collect()
}

/// How `own` samples divide the time of a call over its keys, in shares of one. If they are few and no `profile`, they are combined with
/// `others`, which has the weight of [`PRIOR`] samples. Each sample covers another amount of CPU time: the number of
/// samples says how far to trust them, and their CPU time says how to divide.
pub(crate) fn divide<'s>(
    own: &'s [Pooled],
    others: &'s [f64],
    profile: bool,
) -> impl Iterator<Item = f64> + 's {
    let samples: u64 = own.iter().map(|o| o.count).sum();
    let cpu: u64 = own.iter().map(|o| o.cpu).sum();
    let weight = match cpu {
        0 => 0.0,
        _ if profile => 1.0,
        _ => samples as f64 / (samples as f64 + PRIOR),
    };
    let share = move |(o, others): (&Pooled, &f64)| {
        weight * o.cpu as f64 / cpu.max(1) as f64 + (1.0 - weight) * others
    };
    own.iter().zip(others).map(share)
}

/// Samples of all ranks, by key and by the call that the rank mostly goes on to from there.
type Rows = FxHashMap<(Key, CtxId), Pooled>;

/// Sums up the samples of all ranks.
fn pooled(mapped: &Mapped, samples: &[Stretch<Sample>], segments: &[Stretch<Segment>]) -> Rows {
    let merge = |mut a: Rows, b: Rows| {
        for (key, p) in b {
            a.entry(key).or_default().join(&p);
        }
        a
    };
    let of_tile = |tile: &[Stretch<Sample>]| {
        let mut mine = Rows::default();
        for &(rank, rows) in tile {
            let next = next_calls(within(segments, &(rank..rank + 1)));
            for s in rows {
                if let Some(key) = mapped.key(s.after, s.ctx) {
                    let to = next.get(&s.after).copied().unwrap_or(CtxId::NONE);
                    mine.entry((key, to)).or_default().add(s);
                }
            }
        }
        mine
    };
    (samples.par_chunks(CHUNK).map(of_tile)).reduce(Rows::default, merge)
}

/// Finds all keys of a run.
pub(crate) fn plan<'a>(
    mapped: &'a Mapped,
    top: &TopDown,
    samples: &[Stretch<Sample>],
    segments: &[Stretch<Segment>],
) -> Plan<'a> {
    let mut rows = pooled(mapped, samples, segments);
    let mut also = |after, vertex| {
        rows.entry((Key { after, vertex }, CtxId::NONE))
            .or_default();
    };
    // The vertex around all segments that follow a call: it is the same for all ranks.
    let mut around: FxHashMap<CtxId, VertexIx> = FxHashMap::default();
    for segment in segments.iter().flat_map(|s| s.1) {
        if mapped.ends_alone(segment) {
            also(segment.from, TopDown::WINDDOWN);
            continue;
        }
        let here = mapped.around(top, segment);
        let known = around.entry(segment.from).or_insert(here);
        if *known != here {
            *known = top.common_ancestor(*known, here);
        }
    }
    around
        .iter()
        .for_each(|(&after, &vertex)| also(after, vertex));
    let mut sorted: Vec<((Key, CtxId), Pooled)> = rows.into_iter().collect();
    sorted.sort_unstable_by_key(|row| row.0);
    let mut keys: Vec<Key> = sorted.iter().map(|row| row.0.0).collect();
    keys.dedup();
    let mut afters = FxHashMap::default();
    let (mut begin, mut rest) = (0, sorted.as_slice());
    for of_call in keys.chunk_by(|a, b| a.after == b.after) {
        let after = of_call[0].after;
        let (rows, others) = rest.split_at(rest.partition_point(|row| row.0.0.after <= after));
        let place = around.get(&after).copied().unwrap_or(TopDown::ROOT);
        let at = of_call.partition_point(|k| k.vertex < place);
        let (of_all, of_alike) = shares(of_call, rows);
        afters.insert(
            after,
            After {
                keys: begin..begin + of_call.len(),
                of_all,
                of_alike,
                around: begin + at.min(of_call.len() - 1),
            },
        );
        (begin, rest) = (begin + of_call.len(), others);
    }
    Plan {
        mapped,
        keys,
        afters,
    }
}

/// How the samples of all ranks, and of those that mostly go on to the same call, divide over the keys of a call.
fn shares(keys: &[Key], rows: &[((Key, CtxId), Pooled)]) -> (Vec<f64>, FxHashMap<CtxId, Vec<f64>>) {
    let mut all = vec![Pooled::default(); keys.len()];
    let mut alike: FxHashMap<CtxId, Vec<Pooled>> = FxHashMap::default();
    for ((key, to), row) in rows {
        let Ok(at) = keys.binary_search(key) else {
            continue;
        };
        all[at].join(row);
        let alike = alike
            .entry(*to)
            .or_insert_with(|| vec![Pooled::default(); keys.len()]);
        alike[at].join(row);
    }
    let cpu: u64 = all.iter().map(|o| o.cpu).sum();
    if cpu == 0 {
        return (Vec::new(), FxHashMap::default());
    }
    let all: Vec<f64> = all.iter().map(|o| o.cpu as f64 / cpu as f64).collect();
    let alike = (alike.into_iter()).map(|(to, own)| (to, divide(&own, &all, false).collect()));
    let alike = alike.collect();
    (all, alike)
}
