//! Samples of a rank by vertex to the rows that the collector would have written.

use super::order::Around;
use super::places::Places;
use super::samples::Samples;
use super::tree::Tree;
use super::types::{Functions, Type};
use crate::calls::NONE;
use crate::thread::Rows;
use headwater_format::spool::layout::{CallRow, ContextRow, SampleRow, SegmentRow, ThreadRow};
use headwater_model::run::{peer, tag};
use headwater_mpi_abi as abi;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// When the run begins, nanoseconds: from 1 on, as in a recorded one.
pub const BEGIN_NS: u64 = 1;

/// Call paths of the vertices, the same in all ranks.
pub struct Contexts {
    rows: Vec<ContextRow>,
    /// Of each vertex: an MPI call, or the code of anything else.
    of: Vec<u32>,
    outside: u32,
    /// The end of the program, if no vertex is.
    end: u32,
}

impl Contexts {
    /// The call paths of a tree's vertices.
    pub fn new(tree: &Tree, places: &Places) -> Self {
        let mut rows: Vec<ContextRow> = Vec::new();
        let mut known: FxHashMap<(u32, u64, bool), u32> = FxHashMap::default();
        let mut context = |parent: u32, address: u64, exact: bool| {
            let next = rows.len() as u32;
            let id = *known.entry((parent, address, exact)).or_insert(next);
            if id == next {
                rows.push(ContextRow {
                    address,
                    parent,
                    exact: u32::from(exact),
                });
            }
            id
        };
        let outside = context(NONE, places.outside, true);
        let end = context(NONE, places.end + 1, false);
        let mut of = vec![NONE; tree.vertices.len()];
        // The call that led to the function that each vertex is in.
        let mut frame = vec![NONE; tree.vertices.len()];
        let place = |at: usize| places.of.get(at).copied().unwrap_or(places.outside);
        let mut open: Vec<usize> = tree.roots.iter().rev().copied().collect();
        while let Some(at) = open.pop() {
            let Some(vertex) = tree.vertices.get(at) else {
                continue;
            };
            let around = vertex.parent.and_then(|p| Some((p, *frame.get(p)?)));
            let own = match (around, vertex.kind) {
                (None, _) => NONE,
                (Some((caller, up)), Type::Function) => context(up, place(caller) + 1, false),
                (Some((_, up)), _) => up,
            };
            let here = match vertex.kind {
                Type::Mpi(_) => context(own, place(at) + 1, false),
                _ => context(own, place(at), true),
            };
            if let (Some(f), Some(c)) = (frame.get_mut(at), of.get_mut(at)) {
                (*f, *c) = (own, here);
            }
            open.extend(vertex.children.iter().rev().copied());
        }
        Self {
            rows,
            of,
            outside,
            end,
        }
    }
}

/// All that the ranks of a scale share.
pub struct Scale<'a> {
    /// The vertices.
    pub tree: &'a Tree,
    /// Their call paths.
    pub contexts: &'a Contexts,
    /// The MPI vertices around each.
    pub around: &'a [Around],
    /// MPI functions by their ids.
    pub functions: &'a Functions,
    /// Nanoseconds that a sample represents.
    pub period_ns: u64,
}

impl Scale<'_> {
    /// The rows of a rank; `entered`, how often it entered the vertices that a log tells of.
    pub fn rows(&self, samples: &Samples, entered: &FxHashMap<usize, u64>) -> Rows {
        let mut calls: Vec<CallRow> = Vec::new();
        let mut segments: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        let mut sampled: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        let of = |at: usize| self.contexts.of.get(at).copied().unwrap_or(NONE);
        let mut compute = |(before, behind): Around, ctx: u32, count: u64| {
            let after = before.map_or(NONE, of);
            let to = behind.map_or(self.contexts.end, of);
            *segments.entry((after, to)).or_default() += count * self.period_ns;
            *sampled.entry((after, ctx)).or_default() += count;
        };
        let mut mpi_ns = 0;
        for (at, vertex) in self.tree.vertices.iter().enumerate() {
            let count = samples.of.get(at).copied().unwrap_or(0);
            let entered = entered.get(&at).copied().unwrap_or(0);
            match vertex.kind {
                Type::Mpi(id) if count + entered > 0 => {
                    let wall_ns = count * self.period_ns;
                    mpi_ns += wall_ns;
                    calls.push(call(of(at), self.functions.row(id), entered, wall_ns));
                }
                Type::Mpi(_) => {}
                _ if count > 0 => {
                    let around = self.around.get(at).copied().unwrap_or_default();
                    compute(around, of(at), count);
                }
                _ => {}
            }
        }
        if samples.outside > 0 {
            // It is not in the start-up: between any two calls.
            let mut calls = self.around.iter().filter(|a| a.0.is_some());
            let around = calls.next().copied().unwrap_or_default();
            compute(around, self.contexts.outside, samples.outside);
        }
        let finalize = abi::id_of("MPI_Finalize").map_or(u16::MAX, |f| f.0);
        if segments.keys().any(|(_, to)| *to == self.contexts.end) {
            calls.push(call(self.contexts.end, finalize, 1, 0));
        }
        let cpu_ns: u64 = segments.values().sum();
        let segment = |((from, to), ns): ((u32, u32), u64)| SegmentRow {
            from,
            to,
            count: 1,
            wall_ns: ns,
            cpu_ns: ns,
            ..Default::default()
        };
        let sample = |((after, ctx), count): ((u32, u32), u64)| SampleRow {
            after,
            ctx,
            count,
            cpu_ns: count * self.period_ns,
            ..Default::default()
        };
        let totals = ThreadRow {
            begin_ns: BEGIN_NS,
            end_ns: BEGIN_NS + cpu_ns + mpi_ns,
            cpu_ns: cpu_ns + mpi_ns,
            mpi_ns,
            ..Default::default()
        };
        Rows {
            contexts: self.contexts.rows.clone(),
            segments: segments.into_iter().map(segment).collect(),
            calls,
            samples: sampled.into_iter().map(sample).collect(),
            messages: Vec::new(),
            events: Vec::new(),
            teams: Vec::new(),
            arrivals: Vec::new(),
            waits: Vec::new(),
            totals,
            first_ns: BEGIN_NS,
            seen: true,
            times_off: 0,
            flushed_ns: 0,
        }
    }
}

/// Calls of a vertex. Communicators, partners and bytes are in no file.
fn call(ctx: u32, func: u16, count: u64, wall_ns: u64) -> CallRow {
    CallRow {
        ctx,
        func,
        comm: u16::MAX,
        peer: peer::NONE,
        tag: tag::NONE,
        count,
        wall_ns,
        cpu_ns: wall_ns,
        ..Default::default()
    }
}
