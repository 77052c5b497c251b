//! Vertices of a function: loops, branches, inlined functions and calls, nested and with lines.
//!
//! Loops and branches nest as `regions` says. Inlined functions are fitted in by their addresses: a
//! loop lies inside those that hold most of its code. Neighbouring computation merges.

use crate::Options;
use crate::calls::Calls;
use crate::draft::{Draft, DraftVertex, Key, Name, in_preorder};
use crate::dwarf::Inline;
use crate::flow::{Block, Flow, Site};
use crate::functions::Function;
use crate::inlines::Inlines;
use crate::levels::{Levels, Place};
use crate::regions::{Part, Regions};
use headwater_model::psg::{Counts, VertexKind};
use rustc_hash::FxHashMap;

/// Builds the tree of one function.
pub struct Builder<'f, 'a> {
    index: usize,
    function: &'f Function,
    flow: &'f Flow,
    calls: &'f Calls,
    options: &'f Options,
    inlines: &'f Inlines<'a>,
    loops: Vec<Place>,
    branches: FxHashMap<u32, Option<usize>>,
    vertices: Vec<DraftVertex<'a>>,
    known: FxHashMap<(u32, Key), u32>,
}

impl<'f, 'a> Builder<'f, 'a> {
    /// A builder for function number `index`.
    pub fn new(
        index: usize,
        function: &'f Function,
        inlines: &'f Inlines<'a>,
        calls: &'f Calls,
        options: &'f Options,
    ) -> Self {
        Self {
            index,
            function,
            flow: &function.flow,
            calls,
            options,
            inlines,
            loops: Vec::new(),
            branches: FxHashMap::default(),
            vertices: Vec::new(),
            known: FxHashMap::default(),
        }
    }

    /// The tree, and its figures.
    pub fn build(mut self) -> (Draft<'a>, Counts) {
        let flow = self.flow;
        let (file, first, last) = self.inlines.lines(&self.function.ranges, None);
        let declared = self.inlines.sub.map_or(0, |s| s.line);
        let first = if declared > 0 && declared < first {
            declared
        } else {
            first
        };
        self.vertices.push(DraftVertex {
            kind: VertexKind::Function,
            parent: None,
            name: None,
            file,
            first_line: first,
            last_line: last,
            address: self.function.address(),
        });
        let levels = self.levels();
        let loops = levels.loops();
        let guards = levels.guards(&loops);
        let mpi: Vec<u32> = (flow.sites.iter().enumerate())
            .filter(|(i, _)| self.calls.leads_to_mpi(self.index, *i))
            .map(|(_, s)| s.block)
            .collect();
        let regions = Regions::new(flow, &mpi, self.options.max_loop_depth, &guards);
        // Branches are kept around calls of MPI only.
        if !mpi.is_empty() {
            self.branches = levels.branches(&regions);
        }
        self.loops = loops;
        let mut owners: Vec<(u64, u64, u32)> =
            Vec::with_capacity(flow.blocks.len() + 2 * flow.sites.len());
        // Where the function is entered comes first, whatever was put before it.
        let entry = self.function.address();
        let parts = flow.blocks.partition_point(|b| b.start < entry);
        let (before, behind) =
            (0..flow.blocks.len() as u32).partition::<Vec<u32>, _>(|b| (*b as usize) < parts);
        for index in behind.into_iter().chain(before) {
            self.block(
                flow.blocks[index as usize],
                &regions.path(index),
                &mut owners,
            );
        }
        self.close_branches();
        owners.sort_unstable();
        owners.dedup_by(|next, kept| {
            let joined = next.2 == kept.2 && next.0 == kept.1;
            if joined {
                kept.1 = next.1;
            }
            joined
        });
        let inlined = self.inlines.sub.map_or(0, |s| s.inlines.len());
        let control = flow.loops.len() + regions.branches + inlined;
        let before = 1 + flow.blocks.len() + control + flow.sites.len();
        let count = |f: fn(VertexKind) -> bool| self.vertices.iter().filter(|v| f(v.kind)).count();
        let counts = Counts {
            before,
            after: self.vertices.len(),
            loops: count(VertexKind::is_loop),
            branches: count(|k| k == VertexKind::Branch),
            comps: count(|k| k == VertexKind::Comp),
            mpi: count(|k| k == VertexKind::MpiCall),
        };
        let (vertices, owners) = in_preorder(self.vertices, owners);
        (Draft { vertices, owners }, counts)
    }

    /// A branch ends where what is in it ends; inlined functions in it are elsewhere in the source.
    fn close_branches(&mut self) {
        for i in (1..self.vertices.len()).rev() {
            let DraftVertex {
                kind,
                parent,
                file,
                last_line,
                ..
            } = self.vertices[i];
            let parent = parent.and_then(|p| self.vertices.get_mut(p as usize));
            let branch = parent.filter(|p| p.kind == VertexKind::Branch && p.file == file);
            if let Some(branch) = branch.filter(|_| kind != VertexKind::Inlined) {
                branch.last_line = branch.last_line.max(last_line);
            }
        }
    }

    fn levels(&self) -> Levels<'f, 'a> {
        Levels {
            flow: self.flow,
            inlines: self.inlines,
        }
    }

    /// Finds the vertices of a block and what each of them owns.
    fn block(&mut self, block: Block, path: &[Part], owners: &mut Vec<(u64, u64, u32)>) {
        let sites = &self.flow.sites;
        let mut number = sites.partition_point(|s| s.at < block.start);
        let (mut at, mut last) = (block.start, None);
        while at < block.end {
            // Up to the next call or change of inlining.
            let cut = self.inlines.next_cut(at).min(block.end);
            while sites.get(number).is_some_and(|s| s.at < at) {
                number += 1;
            }
            let call = sites.get(number).filter(|s| s.at < cut);
            let level = self.inlines.at(at);
            let vertex = match last {
                Some((same, vertex)) if same == level => vertex,
                _ => self.vertex_for(path, level),
            };
            last = Some((level, vertex));
            match call {
                Some(call) if call.at == at => {
                    let v = self.call_vertex(vertex, number, call);
                    owners.push((at, call.end, v));
                    at = call.end.max(at + 1);
                }
                _ => {
                    let end = call.map_or(cut, |c| c.at);
                    let comp = self.comp(vertex, at);
                    owners.push((at, end, comp));
                    at = end;
                }
            }
        }
    }

    /// The vertex for code with a path of loops and branches at a level of inlining.
    fn vertex_for(&mut self, path: &[Part], level: Option<usize>) -> u32 {
        let mut here = 0;
        let mut inside: Vec<usize> = Vec::new();
        for part in path {
            let level = match part {
                Part::Loop(l) => self.loops[*l as usize].level,
                Part::Branch(b) => self.branches.get(b).copied().flatten(),
            };
            let chain = self.inlines.chain(level);
            here = self.enter_inlines(here, &mut inside, &chain);
            here = match *part {
                Part::Loop(l) => self.loop_vertex(here, l),
                Part::Branch(b) => self.branch_vertex(here, b),
            };
        }
        let chain = self.inlines.chain(level);
        self.enter_inlines(here, &mut inside, &chain)
    }

    fn enter_inlines(&mut self, mut here: u32, inside: &mut Vec<usize>, chain: &[usize]) -> u32 {
        if chain.is_empty() || !chain.starts_with(inside) {
            return here;
        }
        for &inline in &chain[inside.len()..] {
            let Some(Inline { name, ranges, .. }) = self.inlines.get(inline) else {
                continue;
            };
            let lines = self.inlines.lines(ranges, Some(inline));
            let at = ranges.first().map_or(0, |r| r.0);
            here = self.vertex(
                here,
                Key::Inline(inline),
                VertexKind::Inlined,
                Some(Name::Inlined(name)),
                lines,
                at,
            );
        }
        *inside = chain.to_vec();
        here
    }

    fn loop_vertex(&mut self, parent: u32, l: u32) -> u32 {
        let lines = self.loops[l as usize].lines;
        let (header, irreducible) = (
            self.flow.loops[l as usize].header,
            self.flow.loops[l as usize].irreducible,
        );
        let at = self.flow.blocks[header as usize].start;
        // Unrolling and vectorising make several machine loops of one: they begin at the same line.
        let key = if lines.1 > 0 {
            Key::Loop(lines.0, lines.1)
        } else {
            Key::LoopAt(at)
        };
        let kind = if irreducible {
            VertexKind::IrreducibleLoop
        } else {
            VertexKind::Loop
        };
        let v = self.vertex(parent, key, kind, None, lines, at);
        if let Some(vertex) = self.vertices.get_mut(v as usize) {
            vertex.last_line = vertex.last_line.max(lines.2);
        }
        v
    }

    fn branch_vertex(&mut self, parent: u32, block: u32) -> u32 {
        let b = self.flow.blocks[block as usize];
        let (file, line) = self.levels().decision(b);
        self.vertex(
            parent,
            Key::Branch(block),
            VertexKind::Branch,
            None,
            (file, line, line),
            b.start,
        )
    }

    fn comp(&mut self, parent: u32, at: u64) -> u32 {
        let row = self
            .inlines
            .rows(at, at + 1)
            .next()
            .map(|(r, _, _)| (r.file, r.line, r.line));
        let v = self.vertex(
            parent,
            Key::Comp,
            VertexKind::Comp,
            None,
            row.unwrap_or((u32::MAX, 0, 0)),
            at,
        );
        if let (Some(vertex), Some((file, line, _))) = (self.vertices.get_mut(v as usize), row)
            && vertex.file == file
        {
            (vertex.first_line, vertex.last_line) =
                (vertex.first_line.min(line), vertex.last_line.max(line));
        }
        v
    }

    fn call_vertex(&mut self, parent: u32, number: usize, site: &Site) -> u32 {
        let kind = self.calls.kind(self.index, number);
        let name = self.calls.callee(self.index, number).map(Name::Callee);
        let line = self
            .inlines
            .rows(site.at, site.end)
            .next()
            .map_or((u32::MAX, 0, 0), |(r, _, _)| (r.file, r.line, r.line));
        self.vertices.push(DraftVertex {
            kind,
            parent: Some(parent),
            name,
            file: line.0,
            first_line: line.1,
            last_line: line.2,
            address: site.at,
        });
        self.vertices.len() as u32 - 1
    }

    fn vertex(
        &mut self,
        parent: u32,
        key: Key,
        kind: VertexKind,
        name: Option<Name<'a>>,
        lines: (u32, u32, u32),
        address: u64,
    ) -> u32 {
        let next = self.vertices.len() as u32;
        let vertices = &mut self.vertices;
        *self.known.entry((parent, key)).or_insert_with(|| {
            vertices.push(DraftVertex {
                kind,
                parent: Some(parent),
                name,
                file: lines.0,
                first_line: lines.1,
                last_line: lines.2,
                address,
            });
            next
        })
    }
}
