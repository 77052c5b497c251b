//! Vertices of a function: loops, branches, inlined functions and calls, nested and with lines.
//!
//! Nesting follows the dominator tree: a block is inside every loop around it and every branch arm
//! that dominates it. Inlined functions are fitted in by their addresses: a loop lies inside those
//! that hold most of its code. Contraction is ScalAna's (section III-A): branches stay only around
//! MPI calls (or calls that lead to one), loops stay to a depth, computation merges.

use crate::dwarf::{Info, Row, Subprogram};
use crate::elf::{Image, Symbol};
use crate::flow::{Callee, Flow, Site, analyse, stub_name};
use crate::graph::NONE;
use crate::{Options, names};
use gimli::{BaseAddresses, CieOrFde, EhFrame, LittleEndian, UnwindSection};
use headwater_model::psg::{Counts, Function, LineRow, ModuleStructure, Vertex, VertexKind};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::Path;

/// Builds the structure of a module.
pub fn build(path: &Path, image: &Image<'_>, info: &Info, options: &Options) -> ModuleStructure {
    let functions = functions(image);
    let by_address: FxHashMap<u64, &str> = functions
        .iter()
        .filter_map(|f| Some((f.address, f.name.as_deref()?)))
        .collect();
    let callee_name = |callee: Callee| -> Option<&str> {
        match callee {
            Callee::Address(a) => by_address.get(&a).copied().or_else(|| stub_name(image, a)),
            Callee::Slot(slot) => image.got.get(&slot).map(String::as_str),
            Callee::Pointer => None,
        }
    };
    let returns = |callee| !callee_name(callee).is_some_and(names::never_returns);
    let flows: Vec<Flow> = functions
        .par_iter()
        .map(|f| analyse(image, f.address, f.address + f.size, returns))
        .collect();
    let calls = Calls::new(&functions, &flows, callee_name);
    let drafts: Vec<(Draft, Counts)> = functions
        .par_iter()
        .zip(&flows)
        .enumerate()
        .map(|(index, (function, flow))| {
            Builder::new(index, function, flow, info, &calls, options).build()
        })
        .collect();
    let mut out = ModuleStructure {
        path: path.to_string_lossy().into_owned(),
        build_id: image.build_id.clone(),
        strings: info.files.clone(),
        ..Default::default()
    };
    out.lines = info
        .rows
        .iter()
        .map(|r| LineRow {
            address: r.address,
            file: (r.file != u32::MAX).then_some(r.file),
            line: r.line,
        })
        .collect();
    let mut strings: FxHashMap<String, u32> = FxHashMap::default();
    let mut intern = |text: &str, all: &mut Vec<String>| {
        *strings.entry(text.to_string()).or_insert_with(|| {
            all.push(text.to_string());
            all.len() as u32 - 1
        })
    };
    for ((draft, counts), function) in drafts.into_iter().zip(&functions) {
        let vertices = draft.vertices.into_iter().map(|v| Vertex {
            kind: v.kind,
            parent: v.parent,
            name: v.name.map(|n| intern(&n, &mut out.strings)),
            file: (v.file != u32::MAX).then_some(v.file),
            first_line: v.first_line,
            last_line: v.last_line,
            address: v.address,
        });
        let vertices = vertices.collect();
        let name = function
            .name
            .as_deref()
            .map_or_else(|| format!("func@{:#x}", function.address), names::demangle);
        out.functions.push(Function {
            name: intern(&name, &mut out.strings),
            symbol: function
                .name
                .as_deref()
                .map(|n| intern(n, &mut out.strings)),
            ranges: vec![(function.address, function.address + function.size)],
            vertices,
            owners: draft.owners,
        });
        let c = &mut out.counts;
        c.before += counts.before;
        c.after += counts.after;
        c.loops += counts.loops;
        c.branches += counts.branches;
        c.comps += counts.comps;
        c.mpi += counts.mpi;
    }
    if !info.present {
        out.problems.push("no debug information: places are named by function and address; compile with -g to see source lines".into());
    }
    let unresolved: usize = flows.iter().map(|f| f.unresolved).sum();
    if unresolved > 0 {
        out.problems.push(format!(
            "{unresolved} indirect jumps could not be followed; loops around them may be missing"
        ));
    }
    out
}

/// Functions from symbols and unwind tables, sorted, without overlap.
fn functions(image: &Image<'_>) -> Vec<Symbol> {
    let mut all = image.symbols();
    all.extend(unwind_functions(image));
    // Of names for one address, the one that a linker would show: with a size, then the shortest.
    all.sort_by(|a, b| {
        let key = |s: &Symbol| {
            (
                s.address,
                s.name.is_none(),
                s.size == 0,
                s.name.as_ref().map_or(0, String::len),
            )
        };
        key(a).cmp(&key(b)).then(a.name.cmp(&b.name))
    });
    all.dedup_by(|next, kept| {
        let same = next.address == kept.address;
        if same {
            kept.size = kept.size.max(next.size);
        }
        same
    });
    let skipped = |name: &str| matches!(name, ".plt" | ".plt.got" | ".plt.sec" | ".init" | ".fini");
    let section_of = |a: u64| {
        let after = image.sections.partition_point(|s| s.address <= a);
        after
            .checked_sub(1)
            .map(|i| &image.sections[i])
            .filter(|s| s.code && a < s.address + s.data.len() as u64 && !skipped(&s.name))
    };
    all.retain(|f| section_of(f.address).is_some());
    for i in 0..all.len() {
        let section_end = section_of(all[i].address).map_or(0, |s| s.address + s.data.len() as u64);
        let next = all
            .get(i + 1)
            .map_or(u64::MAX, |f| f.address)
            .min(section_end);
        let room = next.saturating_sub(all[i].address);
        all[i].size = if all[i].size == 0 {
            room
        } else {
            all[i].size.min(room)
        };
    }
    all.retain(|f| f.size > 0);
    all
}

fn unwind_functions(image: &Image<'_>) -> Vec<Symbol> {
    let Some(section) = image.sections.iter().find(|s| s.name == ".eh_frame") else {
        return Vec::new();
    };
    let frames = EhFrame::new(&section.data, LittleEndian);
    let bases = BaseAddresses::default().set_eh_frame(section.address);
    let mut entries = frames.entries(&bases);
    let mut out = Vec::new();
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else {
            continue;
        };
        let Ok(fde) = partial.parse(|f, b, o| f.cie_from_offset(b, o)) else {
            continue;
        };
        out.push(Symbol {
            address: fde.initial_address(),
            size: fde.len(),
            name: None,
        });
    }
    out
}

/// What is known of calls across functions.
struct Calls<'a> {
    /// Name of the callee of each site, by function and site.
    names: Vec<Vec<Option<&'a str>>>,
    /// Function called by each site, where it is one of this module.
    targets: Vec<Vec<Option<usize>>>,
    /// Whether a function calls MPI, itself or through others.
    reaches_mpi: Vec<bool>,
    /// Number of the cycle of calls that a function is in; [`NONE`] for none.
    cycle: Vec<u32>,
}

impl<'a> Calls<'a> {
    fn new(
        functions: &[Symbol],
        flows: &[Flow],
        name: impl Fn(Callee) -> Option<&'a str> + Sync,
    ) -> Self {
        let index: FxHashMap<u64, usize> = functions
            .iter()
            .enumerate()
            .map(|(i, f)| (f.address, i))
            .collect();
        let by_name: FxHashMap<&str, usize> = functions
            .iter()
            .enumerate()
            .filter_map(|(i, f)| Some((f.name.as_deref()?, i)))
            .collect();
        let names: Vec<Vec<Option<&str>>> = flows
            .par_iter()
            .map(|f| f.sites.iter().map(|s| name(s.callee)).collect())
            .collect();
        let targets: Vec<Vec<Option<usize>>> = flows
            .iter()
            .zip(&names)
            .map(|(flow, names)| {
                let target = |(site, name): (&Site, &Option<&str>)| match site.callee {
                    Callee::Address(a) => index
                        .get(&a)
                        .copied()
                        .or_else(|| by_name.get((*name)?).copied()),
                    Callee::Slot(_) => by_name.get((*name)?).copied(),
                    Callee::Pointer => None,
                };
                flow.sites.iter().zip(names).map(target).collect()
            })
            .collect();
        let mut callers: Vec<Vec<usize>> = vec![Vec::new(); flows.len()];
        for (from, list) in targets.iter().enumerate() {
            list.iter().flatten().for_each(|to| callers[*to].push(from));
        }
        let mut reaches_mpi: Vec<bool> = names
            .iter()
            .map(|list| list.iter().flatten().any(|n| names::is_mpi_name(n)))
            .collect();
        let mut open: Vec<usize> = (0..flows.len()).filter(|i| reaches_mpi[*i]).collect();
        while let Some(at) = open.pop() {
            for &caller in &callers[at] {
                if !std::mem::replace(&mut reaches_mpi[caller], true) {
                    open.push(caller);
                }
            }
        }
        let cycle = cycles(&targets);
        Self {
            names,
            targets,
            reaches_mpi,
            cycle,
        }
    }

    fn kind(&self, function: usize, site: usize) -> VertexKind {
        let name = self.names[function][site];
        let target = self.targets[function][site];
        match (name, target) {
            (Some(n), _) if names::is_mpi_name(n) => VertexKind::MpiCall,
            (Some(n), _) if names::is_thread_name(n) => VertexKind::ThreadCall,
            (Some(n), _) if names::is_lock_name(n) => VertexKind::LockCall,
            (_, Some(t)) if self.cycle[t] != NONE && self.cycle[t] == self.cycle[function] => {
                VertexKind::RecursiveCall
            }
            (_, Some(_)) => VertexKind::Call,
            (Some(_), None) => VertexKind::ExternalCall,
            (None, None) => VertexKind::IndirectCall,
        }
    }

    fn leads_to_mpi(&self, function: usize, site: usize) -> bool {
        self.kind(function, site) == VertexKind::MpiCall
            || self.targets[function][site].is_some_and(|t| self.reaches_mpi[t])
    }
}

/// Cycles of calls: strongly connected components with more than one function or a call of itself
/// (Tarjan 1972, without recursion).
fn cycles(targets: &[Vec<Option<usize>>]) -> Vec<u32> {
    let n = targets.len();
    let (mut number, mut low, mut on) = (vec![NONE; n], vec![NONE; n], vec![false; n]);
    let (mut out, mut stack, mut clock, mut cycle) = (vec![NONE; n], Vec::new(), 0, 0);
    for root in 0..n {
        if number[root] != NONE {
            continue;
        }
        let mut work = vec![(root, 0usize)];
        while let Some(&mut (at, ref mut next)) = work.last_mut() {
            if *next == 0 {
                (number[at], low[at], on[at]) = (clock, clock, true);
                clock += 1;
                stack.push(at);
            }
            let calls = &targets[at];
            let step = calls.get(*next).copied();
            *next += 1;
            match step {
                Some(Some(to)) if number[to] == NONE => work.push((to, 0)),
                Some(Some(to)) if on[to] => low[at] = low[at].min(number[to]),
                Some(_) => {}
                None => {
                    work.pop();
                    if let Some((caller, _)) = work.last() {
                        low[*caller] = low[*caller].min(low[at]);
                    }
                    if low[at] == number[at] {
                        let from = stack.iter().rposition(|s| *s == at).unwrap_or(0);
                        let members = stack.split_off(from);
                        let itself = targets[at].contains(&Some(at));
                        for m in &members {
                            on[*m] = false;
                            if members.len() > 1 || itself {
                                out[*m] = cycle;
                            }
                        }
                        cycle += 1;
                    }
                }
            }
        }
    }
    out
}

/// A vertex before its strings are numbered.
struct DraftVertex {
    kind: VertexKind,
    parent: Option<u32>,
    name: Option<String>,
    file: u32,
    first_line: u32,
    last_line: u32,
    address: u64,
}

struct Draft {
    vertices: Vec<DraftVertex>,
    owners: Vec<(u64, u64, u32)>,
}

/// Part of the way from a function to a piece of its code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    Loop(u32),
    Branch(u32),
}

/// A vertex found again by where it stands and what it is.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    Loop(u32, u32),
    LoopAt(u64),
    Branch(u32),
    Inline(usize),
    Comp,
}

struct Builder<'a> {
    index: usize,
    function: &'a Symbol,
    flow: &'a Flow,
    info: &'a Info,
    sub: Option<&'a Subprogram>,
    calls: &'a Calls<'a>,
    options: &'a Options,
    /// Boundaries of inlined code with the innermost inlined function behind each.
    inline_at: Vec<(u64, Option<usize>)>,
    outer_inline: Vec<Option<usize>>,
    loop_inline: Vec<Option<usize>>,
    loop_lines: Vec<(u32, u32, u32)>,
    vertices: Vec<DraftVertex>,
    known: FxHashMap<(u32, Key), u32>,
}

impl<'a> Builder<'a> {
    fn new(
        index: usize,
        function: &'a Symbol,
        flow: &'a Flow,
        info: &'a Info,
        calls: &'a Calls<'a>,
        options: &'a Options,
    ) -> Self {
        let sub = info.functions.get(&function.address);
        let mut this = Self {
            index,
            function,
            flow,
            info,
            sub,
            calls,
            options,
            inline_at: Vec::new(),
            outer_inline: Vec::new(),
            loop_inline: Vec::new(),
            loop_lines: Vec::new(),
            vertices: Vec::new(),
            known: FxHashMap::default(),
        };
        this.lay_out_inlines();
        this
    }

    /// Cuts the function where inlined code begins or ends.
    fn lay_out_inlines(&mut self) {
        let Some(sub) = self.sub else { return };
        let mut cuts: Vec<u64> = sub
            .inlines
            .iter()
            .flat_map(|i| i.ranges.iter().flat_map(|r| [r.0, r.1]))
            .collect();
        cuts.sort_unstable();
        cuts.dedup();
        let holds = |i: usize, a: u64| {
            sub.inlines[i]
                .ranges
                .iter()
                .any(|r| (r.0..r.1).contains(&a))
        };
        let mut innermost: FxHashMap<u64, (u32, usize)> = FxHashMap::default();
        for (i, inline) in sub.inlines.iter().enumerate() {
            for r in &inline.ranges {
                let first = cuts.partition_point(|c| *c < r.0);
                for cut in cuts[first..].iter().take_while(|c| **c < r.1) {
                    let at = innermost.entry(*cut).or_insert((inline.depth, i));
                    if inline.depth > at.0 {
                        *at = (inline.depth, i);
                    }
                }
            }
        }
        self.inline_at = cuts
            .iter()
            .map(|c| (*c, innermost.get(c).map(|i| i.1)))
            .collect();
        // The one around is the last before it, one less deep, that holds its first address.
        self.outer_inline = (0..sub.inlines.len())
            .map(|i| {
                let (depth, at) = (
                    sub.inlines[i].depth,
                    sub.inlines[i].ranges.first().map_or(0, |r| r.0),
                );
                (0..i)
                    .rev()
                    .find(|o| sub.inlines[*o].depth + 1 == depth && holds(*o, at))
            })
            .collect();
    }

    fn inline(&self, address: u64) -> Option<usize> {
        let after = self.inline_at.partition_point(|c| c.0 <= address);
        after.checked_sub(1).and_then(|i| self.inline_at[i].1)
    }

    /// Inlined functions around one, outermost first.
    fn chain(&self, inline: Option<usize>) -> Vec<usize> {
        let mut out: Vec<usize> =
            std::iter::successors(inline, |i| self.outer_inline.get(*i).copied().flatten())
                .collect();
        out.reverse();
        out
    }

    fn rows(&self, start: u64, end: u64) -> impl Iterator<Item = (&'a Row, u64, u64)> + use<'a> {
        let rows = &self.info.rows;
        let first = rows
            .partition_point(|r| r.address <= start)
            .saturating_sub(1);
        let next = move |i: usize| rows.get(i + 1).map_or(u64::MAX, |r| r.address);
        let inside = rows[first.min(rows.len())..]
            .iter()
            .take_while(move |r| r.address < end);
        inside
            .enumerate()
            .map(move |(i, r)| (r, r.address.max(start), next(first + i).min(end)))
            .filter(|(r, a, b)| a < b && r.file != u32::MAX && r.line > 0)
    }

    /// First and last line, in the file with most code, of the code in `ranges` at one level of inlining.
    fn lines(&self, ranges: &[(u64, u64)], level: Option<usize>) -> (u32, u32, u32) {
        let mut files: Vec<(u32, u64, u32, u32)> = Vec::new();
        for &(start, end) in ranges {
            for (row, a, b) in self
                .rows(start, end)
                .filter(|(_, a, _)| self.inline(*a) == level)
            {
                match files.iter_mut().find(|f| f.0 == row.file) {
                    Some(f) => {
                        (f.1, f.2, f.3) = (f.1 + (b - a), f.2.min(row.line), f.3.max(row.line))
                    }
                    None => files.push((row.file, b - a, row.line, row.line)),
                }
            }
        }
        let most = files
            .into_iter()
            .reduce(|a, b| if b.1 > a.1 { b } else { a });
        most.map_or((u32::MAX, 0, 0), |f| (f.0, f.2, f.3))
    }

    fn block_ranges(&self, nodes: &[u32]) -> Vec<(u64, u64)> {
        nodes
            .iter()
            .map(|n| {
                (
                    self.flow.blocks[*n as usize].start,
                    self.flow.blocks[*n as usize].end,
                )
            })
            .collect()
    }

    /// The innermost inlined function that holds most of the code in `ranges`.
    fn level_of(&self, ranges: &[(u64, u64)]) -> Option<usize> {
        let sub = self.sub.filter(|s| !s.inlines.is_empty())?;
        let total: u64 = ranges.iter().map(|r| r.1 - r.0).sum();
        let share = |i: usize| -> u64 {
            let overlap =
                |a: &(u64, u64), b: &(u64, u64)| a.1.min(b.1).saturating_sub(a.0.max(b.0));
            sub.inlines[i]
                .ranges
                .iter()
                .map(|x| ranges.iter().map(|r| overlap(r, x)).sum::<u64>())
                .sum()
        };
        (0..sub.inlines.len())
            .filter(|i| 2 * share(*i) > total)
            .max_by_key(|i| (sub.inlines[*i].depth, share(*i)))
    }

    fn build(mut self) -> (Draft, Counts) {
        let flow = self.flow;
        let all: Vec<(u64, u64)> = vec![(
            self.function.address,
            self.function.address + self.function.size,
        )];
        let (file, first, last) = self.lines(&all, None);
        let declared = self.sub.map_or(0, |s| s.line);
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
            address: self.function.address,
        });
        for l in &flow.loops {
            let ranges = self.block_ranges(&l.nodes);
            let level = self.level_of(&ranges);
            let lines = self.lines(&ranges, level);
            self.loop_inline.push(level);
            self.loop_lines.push(lines);
        }
        let branches = self.branch_arms();
        let kept = self.kept_branches(&branches);
        let loops = self.kept_loops();
        let paths = self.paths(&branches, &kept, &loops);
        let mut owners: Vec<(u64, u64, u32)> = Vec::new();
        let mut site = flow.sites.iter().enumerate().peekable();
        for (index, block) in flow.blocks.iter().enumerate() {
            let path = &paths[index];
            let mut at = block.start;
            while at < block.end {
                // Up to the next call or change of inlining.
                let cut = self.inline_at.partition_point(|c| c.0 <= at);
                let cut = self
                    .inline_at
                    .get(cut)
                    .map_or(block.end, |c| c.0.min(block.end));
                while site.peek().is_some_and(|(_, s)| s.at < at) {
                    site.next();
                }
                let call = site
                    .peek()
                    .filter(|(_, s)| s.at < cut)
                    .map(|(i, s)| (*i, **s));
                let vertex = self.vertex_for(path, self.inline(at));
                match call {
                    Some((number, call)) if call.at == at => {
                        let v = self.call_vertex(vertex, number, &call);
                        owners.push((at, call.end, v));
                        at = call.end.max(at + 1);
                    }
                    _ => {
                        let end = call.map_or(cut, |c| c.1.at);
                        let comp = self.comp(vertex, at);
                        owners.push((at, end, comp));
                        at = end;
                    }
                }
            }
        }
        owners.sort_unstable();
        owners.dedup_by(|next, kept| {
            let joined = next.2 == kept.2 && next.0 == kept.1;
            if joined {
                kept.1 = next.1;
            }
            joined
        });
        let before = 1 + flow.blocks.len() + flow.loops.len() + branches.len() + flow.sites.len();
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

    /// Arms of branches: (first block of the arm, deciding block).
    fn branch_arms(&self) -> Vec<(u32, u32)> {
        let flow = self.flow;
        let mut out = Vec::new();
        for &block in &flow.order {
            let to = &flow.successors[block as usize];
            for &arm in to.iter().filter(|_| to.len() > 1) {
                let is_header = flow.loops.iter().any(|l| l.header == arm);
                // Leaving a loop is the loop's own condition, not a branch in it.
                let leaves = flow.loops.iter().any(|l| {
                    l.nodes.binary_search(&block).is_ok() && l.nodes.binary_search(&arm).is_err()
                });
                if flow.idom[arm as usize] == block && arm != block && !leaves && !is_header {
                    out.push((arm, block));
                }
            }
        }
        out
    }

    /// Deciding blocks around calls that lead to MPI.
    fn kept_branches(&self, arms: &[(u32, u32)]) -> FxHashSet<u32> {
        let arm_of: FxHashMap<u32, u32> = arms.iter().copied().collect();
        let mut kept = FxHashSet::default();
        for (number, site) in self.flow.sites.iter().enumerate() {
            if !self.calls.leads_to_mpi(self.index, number) {
                continue;
            }
            let mut at = site.block;
            while let Some(&up) = self.flow.idom.get(at as usize).filter(|u| **u != NONE) {
                if let Some(branch) = arm_of.get(&at) {
                    kept.insert(*branch);
                }
                if up == at {
                    break;
                }
                at = up;
            }
        }
        kept
    }

    /// Loops that are shallow enough or hold a call that leads to MPI.
    fn kept_loops(&self) -> Vec<bool> {
        let flow = self.flow;
        let holds = |l: &crate::graph::Loop, b: u32| l.nodes.binary_search(&b).is_ok();
        let mpi = |l: &crate::graph::Loop| {
            flow.sites
                .iter()
                .enumerate()
                .any(|(i, s)| holds(l, s.block) && self.calls.leads_to_mpi(self.index, i))
        };
        flow.loops
            .iter()
            .map(|l| {
                let depth = flow
                    .loops
                    .iter()
                    .filter(|o| o.nodes.len() > l.nodes.len() && holds(o, l.header))
                    .count();
                depth < self.options.max_loop_depth || mpi(l)
            })
            .collect()
    }

    /// For each block the loops and branches around it, outermost first.
    fn paths(
        &self,
        arms: &[(u32, u32)],
        kept: &FxHashSet<u32>,
        kept_loops: &[bool],
    ) -> Vec<Vec<Part>> {
        let flow = self.flow;
        let arm_of: FxHashMap<u32, u32> = arms.iter().copied().collect();
        let mut out: Vec<Vec<Part>> = vec![Vec::new(); flow.blocks.len()];
        let mut header_of: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for (i, l) in (0u32..).zip(&flow.loops) {
            header_of.entry(l.header).or_default().push(i);
        }
        for &block in &flow.order {
            let up = flow.idom[block as usize];
            let mut path = if up == NONE || up == block {
                Vec::new()
            } else {
                out[up as usize].clone()
            };
            let outside = path.iter().position(|p| matches!(p, Part::Loop(l) if flow.loops[*l as usize].nodes.binary_search(&block).is_err()));
            path.truncate(outside.unwrap_or(path.len()));
            if let Some(branch) = arm_of.get(&block).filter(|b| kept.contains(b)) {
                path.push(Part::Branch(*branch));
            }
            for l in header_of
                .get(&block)
                .into_iter()
                .flatten()
                .filter(|l| kept_loops[**l as usize])
            {
                path.push(Part::Loop(*l));
            }
            out[block as usize] = path;
        }
        out
    }

    /// The vertex for code with a path of loops and branches at a level of inlining.
    fn vertex_for(&mut self, path: &[Part], level: Option<usize>) -> u32 {
        let mut here = 0;
        let mut inside: Vec<usize> = Vec::new();
        for part in path {
            if let Part::Loop(l) = part {
                let chain = self.chain(self.loop_inline[*l as usize]);
                here = self.enter_inlines(here, &mut inside, &chain);
            }
            here = match *part {
                Part::Loop(l) => self.loop_vertex(here, l),
                Part::Branch(b) => self.branch_vertex(here, b),
            };
        }
        let chain = self.chain(level);
        if chain.starts_with(&inside) {
            here = self.enter_inlines(here, &mut inside, &chain);
        }
        here
    }

    fn enter_inlines(&mut self, mut here: u32, inside: &mut Vec<usize>, chain: &[usize]) -> u32 {
        if !chain.starts_with(inside) {
            return here;
        }
        for &inline in &chain[inside.len()..] {
            let name = self
                .sub
                .and_then(|s| s.inlines.get(inline))
                .map(|i| (i.name.clone(), i.ranges.clone()));
            let (name, ranges) = name.unwrap_or_default();
            let lines = self.lines(&ranges, Some(inline));
            let at = ranges.first().map_or(0, |r| r.0);
            here = self.vertex(
                here,
                Key::Inline(inline),
                VertexKind::Inlined,
                Some(name),
                lines,
                at,
            );
        }
        *inside = chain.to_vec();
        here
    }

    fn loop_vertex(&mut self, parent: u32, l: u32) -> u32 {
        let lines = self.loop_lines[l as usize];
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
        let lines = self.lines(&[(b.start, b.end)], self.inline(b.end.saturating_sub(1)));
        let (file, _, last) = lines;
        self.vertex(
            parent,
            Key::Branch(block),
            VertexKind::Branch,
            None,
            (file, last, last),
            b.start,
        )
    }

    fn comp(&mut self, parent: u32, at: u64) -> u32 {
        let row = self
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
        let name = self.calls.names[self.index]
            .get(number)
            .copied()
            .flatten()
            .map(names::demangle);
        let line = self
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
        name: Option<String>,
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

/// Numbers vertices so that each stands before what is inside it, in the order of addresses.
fn in_preorder(
    vertices: Vec<DraftVertex>,
    owners: Vec<(u64, u64, u32)>,
) -> (Vec<DraftVertex>, Vec<(u64, u64, u32)>) {
    let mut children: Vec<Vec<u32>> = vec![Vec::new(); vertices.len()];
    for (i, v) in (0u32..).zip(&vertices) {
        if let Some(parent) = v.parent {
            children[parent as usize].push(i);
        }
    }
    for list in &mut children {
        list.sort_by_key(|c| (vertices[*c as usize].address, *c));
    }
    let mut order = Vec::with_capacity(vertices.len());
    let mut stack = vec![0u32];
    while let Some(v) = stack.pop() {
        order.push(v);
        stack.extend(children[v as usize].iter().rev());
    }
    let mut number = vec![0u32; vertices.len()];
    order
        .iter()
        .zip(0..)
        .for_each(|(v, i)| number[*v as usize] = i);
    let mut slots: Vec<Option<DraftVertex>> = vertices.into_iter().map(Some).collect();
    let moved = order.iter().filter_map(|v| slots[*v as usize].take());
    let moved = moved
        .map(|v| DraftVertex {
            parent: v.parent.map(|p| number[p as usize]),
            ..v
        })
        .collect();
    (
        moved,
        owners
            .into_iter()
            .map(|(a, b, v)| (a, b, number[v as usize]))
            .collect(),
    )
}
