//! A function's flow of control: basic blocks with jump tables, dominators, loops, call sites.

use crate::arithmetic::Work;
use crate::decode::{Op, Steer, decode};
use crate::elf::Image;
use crate::graph::{Graph, Loop};
use crate::table::{Leap, Table};

/// A basic block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// First address.
    pub start: u64,
    /// First address behind it.
    pub end: u64,
}

/// What a call site calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callee {
    /// Code at an address: a function or a stub of the linker.
    Address(u64),
    /// What a GOT slot points to.
    Slot(u64),
    /// What a pointer points to.
    Pointer,
}

/// A call site; a jump out of the function is one too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// The instruction.
    pub at: u64,
    /// First address behind it.
    pub end: u64,
    /// Its block.
    pub block: u32,
    /// Whom it calls.
    pub callee: Callee,
    /// Whether it is a jump.
    pub jump: bool,
}

/// The flow of a function.
#[derive(Debug, Default)]
pub struct Flow {
    /// Blocks by address.
    pub blocks: Vec<Block>,
    /// The block that the function is entered at.
    pub entry: u32,
    /// Immediate dominators of blocks.
    pub idom: Vec<u32>,
    /// Blocks in reverse postorder.
    pub order: Vec<u32>,
    /// Blocks' successors.
    pub successors: Vec<Vec<u32>>,
    /// Blocks that control leaves the function from, to come back to its caller.
    pub exits: Vec<u32>,
    /// Loops, outer before inner.
    pub loops: Vec<Loop>,
    /// Call sites by address.
    pub sites: Vec<Site>,
    /// Indirect jumps whose targets are not known.
    pub unresolved: usize,
    /// Instructions that calculate, by address.
    pub arithmetic: Vec<(u64, Work)>,
}

/// Functions longer than this are not taken apart: no compiler makes them, damaged files do.
const LONGEST: u64 = 16 << 20;

/// Analyses the code of a function that is entered at the start of the first range; `returns` says of a
/// callee whether it comes back.
pub fn analyse(image: &Image<'_>, ranges: &[(u64, u64)], returns: impl Fn(Callee) -> bool) -> Flow {
    let mut sorted = ranges.to_vec();
    sorted.sort_unstable();
    let mut ops: Vec<Op> = Vec::new();
    for (start, end) in &mut sorted {
        let length = usize::try_from(end.saturating_sub(*start).min(LONGEST)).unwrap_or(0);
        let bytes = image.bytes_at(*start).unwrap_or(&[]);
        let code = bytes.get(..length.min(bytes.len())).unwrap_or(&[]);
        let part = decode(image.machine, code, *start);
        *end = part.last().map_or(*start, Op::end);
        match ops.is_empty() {
            true => ops = part,
            false => ops.extend(part),
        }
    }
    let Some(entry) = ranges.first().filter(|_| !ops.is_empty()) else {
        return Flow::default();
    };
    let mut code = Code {
        ops,
        ranges: sorted,
        tables: Vec::new(),
    };
    code.read_tables(image);
    code.flow(entry.0, returns)
}

/// The instructions of a function with what its jump tables hold.
struct Code {
    ops: Vec<Op>,
    /// Sorted.
    ranges: Vec<(u64, u64)>,
    /// Targets by instruction; none for a table that leads out.
    tables: Vec<(u64, Vec<u64>)>,
}

impl Code {
    fn inside(&self, address: u64) -> bool {
        let after = self.ranges.partition_point(|r| r.0 <= address);
        after > 0 && address < self.ranges[after - 1].1
    }

    /// Whether an instruction begins there: in the middle of one there is data, or damage.
    fn begins(&self, address: u64) -> bool {
        self.inside(address) && self.ops.binary_search_by_key(&address, |o| o.at).is_ok()
    }

    fn read_tables(&mut self, image: &Image<'_>) {
        let tables = self.ops.iter().filter_map(|op| match op.steer {
            Steer::Leap(Leap::Through(table)) => Some((op.at, table)),
            _ => None,
        });
        let tables: Vec<(u64, Table)> = tables.collect();
        let mut begins: Vec<u64> = tables.iter().map(|t| t.1.at).collect();
        begins.sort_unstable();
        let targets = |(at, table): (u64, Table)| {
            let next = begins.partition_point(|b| *b <= table.at);
            let end = begins.get(next).copied().unwrap_or(u64::MAX);
            (at, table.targets(image, end, |t| self.begins(t)))
        };
        self.tables = tables.into_iter().map(targets).collect();
    }

    fn targets(&self, at: u64) -> &[u64] {
        let found = self.tables.binary_search_by_key(&at, |t| t.0);
        found.map_or(&[], |i| &self.tables[i].1)
    }

    /// Where an indirect jump goes, now that tables have been read: one of addresses elsewhere is a
    /// table of functions.
    fn leap(&self, op: &Op, leap: Leap) -> Leap {
        match leap {
            Leap::Through(table) if self.targets(op.at).is_empty() => match table.entry {
                8 => Leap::Away,
                _ => Leap::Unknown,
            },
            known => known,
        }
    }

    fn blocks(&self, returns: &impl Fn(Callee) -> bool) -> Vec<Block> {
        let mut leaders: Vec<u64> = self.ranges.iter().map(|r| r.0).collect();
        for op in &self.ops {
            match op.steer {
                Steer::Jump(to) | Steer::Branch(to) => leaders.extend([to, op.end()]),
                Steer::Call(to) if !returns(Callee::Address(to)) => leaders.push(op.end()),
                Steer::CallSlot(slot) if !returns(Callee::Slot(slot)) => leaders.push(op.end()),
                Steer::Next | Steer::Call(_) | Steer::CallSlot(_) | Steer::CallIndirect => {}
                Steer::Leap(_) | Steer::JumpSlot(_) | Steer::Return | Steer::Stop => {
                    leaders.push(op.end());
                }
            }
        }
        leaders.extend(self.tables.iter().flat_map(|t| &t.1));
        leaders.sort_unstable();
        leaders.dedup();
        leaders.retain(|a| self.begins(*a));
        let mut blocks: Vec<Block> = Vec::with_capacity(leaders.len());
        let mut range = self.ranges.iter().peekable();
        let next = leaders.iter().skip(1).copied().chain([u64::MAX]);
        for (start, next) in leaders.iter().copied().zip(next) {
            while range.peek().is_some_and(|r| r.1 <= start) {
                range.next();
            }
            let end = range.peek().map_or(next, |r| r.1.min(next));
            blocks.push(Block { start, end });
        }
        blocks
    }

    fn flow(self, entry: u64, returns: impl Fn(Callee) -> bool) -> Flow {
        let blocks = self.blocks(&returns);
        let find = |a: u64| blocks.binary_search_by_key(&a, |b| b.start).ok();
        let Some(entry) = find(entry) else {
            return Flow::default();
        };
        let mut graph = Graph::new(blocks.len(), entry as u32);
        let (mut sites, mut exits, mut open) = (Vec::new(), Vec::new(), Vec::new());
        let mut ops = self.ops.iter().peekable();
        for (index, block) in (0u32..).zip(&blocks) {
            let mut jump = |to: u64| {
                find(to)
                    .into_iter()
                    .for_each(|b| graph.edge(index, b as u32))
            };
            // What the last instruction of the block leaves behind.
            let (mut falls, mut leaves, mut calls) = (true, false, false);
            while let Some(op) = ops.next_if(|o| o.at < block.end) {
                let mut site = |callee, jump| {
                    sites.push(Site {
                        at: op.at,
                        end: op.end(),
                        block: index,
                        callee,
                        jump,
                    });
                    returns(callee)
                };
                calls = false;
                match op.steer {
                    Steer::Next => {}
                    Steer::Jump(to) | Steer::Branch(to) => {
                        falls = matches!(op.steer, Steer::Branch(_));
                        match self.inside(to) {
                            true => jump(to),
                            false => leaves |= site(Callee::Address(to), true),
                        }
                    }
                    Steer::Leap(leap) => {
                        falls = false;
                        match self.leap(op, leap) {
                            Leap::Through(_) => self.targets(op.at).iter().for_each(|t| jump(*t)),
                            Leap::Away => leaves |= site(Callee::Pointer, true),
                            Leap::Unknown => open.push(index),
                        }
                    }
                    Steer::JumpSlot(slot) => {
                        leaves |= site(Callee::Slot(slot), true);
                        falls = false;
                    }
                    Steer::Call(to) => {
                        falls = site(Callee::Address(to), false);
                        calls = true;
                    }
                    Steer::CallSlot(slot) => {
                        falls = site(Callee::Slot(slot), false);
                        calls = true;
                    }
                    Steer::CallIndirect => {
                        site(Callee::Pointer, false);
                        calls = true;
                    }
                    Steer::Return => (falls, leaves) = (false, true),
                    Steer::Stop => falls = false,
                }
            }
            if falls {
                match blocks.get(index as usize + 1) {
                    Some(next) if next.start == block.end => graph.edge(index, index + 1),
                    // A call in the last place of the code does not come back; else it runs on into
                    // another function.
                    _ => leaves |= !calls,
                }
            }
            if leaves {
                exits.push(index);
            }
        }
        // Code that nothing leads to is what an unknown jump leads to.
        for from in &open {
            for to in (0..blocks.len() as u32).filter(|to| *to != entry as u32) {
                if graph.predecessors[to as usize].is_empty() {
                    graph.edge(*from, to);
                }
            }
        }
        exits.extend(&open);
        exits.sort_unstable();
        exits.dedup();
        let order = graph.order();
        let idom = graph.dominators(&order);
        let loops = graph.loops(&order, &idom);
        let calculates = self.ops.iter().filter(|op| op.work != Work::Other);
        Flow {
            blocks,
            entry: entry as u32,
            idom,
            order,
            successors: graph.successors,
            exits,
            loops,
            sites,
            unresolved: open.len(),
            arithmetic: calculates.map(|op| (op.at, op.work)).collect(),
        }
    }
}

impl Flow {
    /// Whether control can come back to the caller.
    pub fn returns(&self) -> bool {
        let reached = |b: &u32| {
            self.idom
                .get(*b as usize)
                .is_some_and(|d| *d != crate::graph::NONE)
        };
        self.blocks.is_empty() || self.exits.iter().any(reached)
    }
}
