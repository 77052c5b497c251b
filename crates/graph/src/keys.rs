//! The keys under which a run's computation is kept, found before any time is distributed.

use crate::computation::Key;
use crate::stages::Stages;
use crate::topdown::{TopDown, VertexIx};
use headwater_model::run::{CtxId, Sample, Segment};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Ranks that one task takes.
const CHUNK: usize = 64;

/// What ranks did in a key.
#[derive(Clone, Copy, Default)]
pub(crate) struct Pooled {
    /// Samples.
    pub(crate) count: u64,
    /// CPU time that they stand for, nanoseconds.
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
}

/// The keys that follow one MPI call.
pub(crate) struct After {
    pub(crate) keys: Range<usize>,
    /// CPU time of all samples, nanoseconds.
    pub(crate) cpu: u64,
    /// Key of the vertex around the calls, for time that no sample tells about.
    pub(crate) around: usize,
}

/// Keys with what is needed to find them.
pub(crate) struct Plan<'a> {
    pub(crate) mapped: &'a Mapped,
    pub(crate) keys: Vec<Key>,
    pub(crate) pooled: Vec<Pooled>,
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

    /// The vertex around a segment, for time that no sample tells about: never one of its calls, even
    /// where a call follows itself.
    fn around(&self, top: &TopDown, segment: &Segment) -> VertexIx {
        if let Some(base) = self.stages.base(segment.from) {
            return base;
        }
        match (self.call(segment.from), self.call(segment.to)) {
            (Some(a), Some(b)) if a != b => top.common_ancestor(a, b),
            (Some(a), _) | (None, Some(a)) => top.get(a).parent.unwrap_or(TopDown::ROOT),
            (None, None) => TopDown::ROOT,
        }
    }

    /// Whether a segment is the last of its rank, but no samples tell it from others.
    pub(crate) fn ends_alone(&self, segment: &Segment) -> bool {
        self.stages.is_finalize(segment.to) && self.stages.base(segment.from).is_none()
    }
}

/// Finds all keys of a run.
pub(crate) fn plan<'a>(
    mapped: &'a Mapped,
    top: &TopDown,
    samples: &[(u32, &[Sample])],
    segments: &[Segment],
) -> Plan<'a> {
    let merge = |mut a: FxHashMap<Key, Pooled>, b: FxHashMap<Key, Pooled>| {
        for (key, p) in b {
            let sum = a.entry(key).or_default();
            sum.count += p.count;
            sum.cpu += p.cpu;
            sum.blocked += p.blocked;
        }
        a
    };
    let mut pooled = samples
        .par_chunks(CHUNK)
        .map(|tile| {
            let mut mine: FxHashMap<Key, Pooled> = FxHashMap::default();
            for s in tile.iter().flat_map(|t| t.1) {
                let Some(key) = mapped.key(s.after, s.ctx) else {
                    continue;
                };
                mine.entry(key).or_default().add(s);
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
