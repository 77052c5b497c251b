//! A function's flow of control: basic blocks with jump tables, dominators, loops, call sites.

use crate::decode::{Op, Steer, Table, decode};
use crate::elf::{Image, Machine};
use crate::graph::{Graph, Loop};

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
    /// Code at an address: a function or a PLT stub.
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
}

/// The flow of a function.
#[derive(Debug, Default)]
pub struct Flow {
    /// Blocks by address.
    pub blocks: Vec<Block>,
    /// Immediate dominators of blocks.
    pub idom: Vec<u32>,
    /// Blocks in reverse postorder.
    pub order: Vec<u32>,
    /// Blocks' successors.
    pub successors: Vec<Vec<u32>>,
    /// Loops, outer before inner.
    pub loops: Vec<Loop>,
    /// Call sites by address.
    pub sites: Vec<Site>,
    /// Indirect jumps whose targets are not known.
    pub unresolved: usize,
}

/// Functions longer than this are not taken apart: no compiler makes them, damaged files do.
const LONGEST: u64 = 16 << 20;

/// Analyses the code in `[start, end)`; `returns` tells of a callee whether it comes back.
pub fn analyse(image: &Image<'_>, start: u64, end: u64, returns: impl Fn(Callee) -> bool) -> Flow {
    let length = usize::try_from(end.saturating_sub(start).min(LONGEST)).unwrap_or(0);
    let code = image
        .bytes_at(start)
        .and_then(|b| b.get(..length.min(b.len())))
        .unwrap_or(&[]);
    let ops = decode(image.machine, code, start);
    let Some(last) = ops.last() else {
        return Flow::default();
    };
    let end = last.at + u64::from(last.len);
    let inside = |a: u64| (start..end).contains(&a);
    let tables: Vec<(u64, Vec<u64>)> = ops
        .iter()
        .filter_map(|op| match op.steer {
            Steer::Indirect(table) => Some((op.at, targets(image, table, &inside))),
            _ => None,
        })
        .collect();
    let blocks = blocks(&ops, &tables, inside, end);
    connect(&ops, &tables, blocks, inside, returns)
}

/// Targets of a jump table inside the function.
fn targets(image: &Image<'_>, table: Table, inside: &impl Fn(u64) -> bool) -> Vec<u64> {
    const MOST: u32 = 1024;
    let Some(bytes) = image.bytes_at(table.at).filter(|_| table.at != 0) else {
        return Vec::new();
    };
    let size = usize::from(table.entry.clamp(1, 8));
    let entries = bytes
        .chunks_exact(size)
        .take(table.entries.unwrap_or(MOST) as usize);
    let target = |e: &[u8]| {
        let raw = e
            .iter()
            .rev()
            .fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
        if size == 8 {
            return raw;
        }
        let unused = 64 - 8 * size as u32;
        let distance = if table.signed {
            (raw << unused) as i64 >> unused
        } else {
            raw as i64
        };
        table
            .base
            .wrapping_add_signed(distance << u32::from(table.shift.min(3)))
    };
    let mut out: Vec<u64> = entries.map(target).take_while(|t| inside(*t)).collect();
    out.sort_unstable();
    out.dedup();
    out
}

fn blocks(
    ops: &[Op],
    tables: &[(u64, Vec<u64>)],
    inside: impl Fn(u64) -> bool,
    end: u64,
) -> Vec<Block> {
    let mut leaders: Vec<u64> = ops.first().map(|o| o.at).into_iter().collect();
    for op in ops {
        let next = op.at + u64::from(op.len);
        match op.steer {
            Steer::Jump(to) | Steer::Branch(to) => leaders.extend([to, next]),
            Steer::Indirect(_) | Steer::JumpSlot(_) | Steer::End => leaders.push(next),
            _ => {}
        }
    }
    leaders.extend(tables.iter().flat_map(|t| &t.1));
    // A target in the middle of an instruction is no leader: overlapping code is data or damage.
    let starts = |a: &u64| ops.binary_search_by_key(a, |o| o.at).is_ok();
    leaders.retain(|a| inside(*a) && starts(a));
    leaders.sort_unstable();
    leaders.dedup();
    let ends = leaders.iter().skip(1).copied().chain([end]);
    leaders
        .iter()
        .copied()
        .zip(ends)
        .map(|(start, end)| Block { start, end })
        .collect()
}

fn connect(
    ops: &[Op],
    tables: &[(u64, Vec<u64>)],
    blocks: Vec<Block>,
    inside: impl Fn(u64) -> bool,
    returns: impl Fn(Callee) -> bool,
) -> Flow {
    let mut graph = Graph::new(blocks.len());
    let mut sites = Vec::new();
    let mut open = Vec::new();
    let block_at = |a: u64| {
        blocks
            .binary_search_by_key(&a, |b| b.start)
            .ok()
            .map(|i| i as u32)
    };
    let mut at = 0;
    for (index, block) in (0u32..).zip(&blocks) {
        let mut falls = true;
        while let Some(op) = ops.get(at).filter(|o| o.at < block.end) {
            at += 1;
            let end = op.at + u64::from(op.len);
            let mut site = |callee| {
                sites.push(Site {
                    at: op.at,
                    end,
                    block: index,
                    callee,
                })
            };
            let mut jump = |to: u64| block_at(to).into_iter().for_each(|b| graph.edge(index, b));
            match op.steer {
                Steer::Next => {}
                Steer::Jump(to) | Steer::Branch(to) => {
                    if inside(to) {
                        jump(to)
                    } else {
                        site(Callee::Address(to))
                    }
                    falls = matches!(op.steer, Steer::Branch(_));
                }
                Steer::Indirect(_) => {
                    falls = false;
                    let known = tables
                        .iter()
                        .find(|t| t.0 == op.at)
                        .filter(|t| !t.1.is_empty());
                    match known {
                        Some((_, targets)) => targets.iter().for_each(|t| jump(*t)),
                        None => open.push(index),
                    }
                }
                Steer::JumpSlot(slot) => {
                    site(Callee::Slot(slot));
                    falls = false;
                }
                Steer::Call(to) => {
                    site(Callee::Address(to));
                    falls = returns(Callee::Address(to));
                }
                Steer::CallSlot(slot) => {
                    site(Callee::Slot(slot));
                    falls = returns(Callee::Slot(slot));
                }
                Steer::CallIndirect => site(Callee::Pointer),
                Steer::End => falls = false,
            }
            if !falls && op.at + u64::from(op.len) < block.end {
                // Behind a call that does not come back the block goes on for others only.
                falls = false;
            }
        }
        if falls && (index as usize) + 1 < blocks.len() {
            graph.edge(index, index + 1);
        }
    }
    // Code that nothing leads to is what an unknown jump leads to.
    for from in &open {
        for to in 1..blocks.len() as u32 {
            if graph.predecessors[to as usize].is_empty() {
                graph.edge(*from, to);
            }
        }
    }
    let order = graph.order();
    let idom = graph.dominators(&order);
    let loops = graph.loops(&order, &idom);
    Flow {
        blocks,
        idom,
        order,
        successors: graph.successors,
        loops,
        sites,
        unresolved: open.len(),
    }
}

/// The name that a PLT stub at `address` jumps to.
pub fn stub_name<'i>(image: &'i Image<'_>, address: u64) -> Option<&'i str> {
    let bytes = image.bytes_at(address)?;
    let bytes = bytes.get(..bytes.len().min(32))?;
    let slot = match image.machine {
        Machine::X86 => decode(image.machine, bytes, address)
            .iter()
            .take(3)
            .find_map(|o| match o.steer {
                Steer::JumpSlot(slot) => Some(slot),
                _ => None,
            })?,
        Machine::Arm => arm_slot(bytes, address)?,
    };
    image.got.get(&slot).map(String::as_str)
}

/// The slot of `adrp x16, page; ldr x17, [x16, offset]`, perhaps behind a landing pad.
fn arm_slot(bytes: &[u8], address: u64) -> Option<u64> {
    let words: Vec<u32> = bytes
        .chunks_exact(4)
        .map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]))
        .collect();
    let at = words
        .iter()
        .take(2)
        .position(|w| w & 0x9f00_001f == 0x9000_0010)?;
    let (adrp, ldr) = (*words.get(at)?, *words.get(at + 1)?);
    let page = ((adrp >> 5 & 0x7_ffff) << 2 | adrp >> 29 & 3) as i32;
    let page = i64::from(page << 11 >> 11) << 12;
    let base = (address + 4 * at as u64) & !0xfff;
    (ldr & 0xffc0_03ff == 0xf940_0211)
        .then(|| base.wrapping_add_signed(page) + u64::from(ldr >> 10 & 0xfff) * 8)
}
