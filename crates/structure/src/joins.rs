//! Where the ways of branches meet again: immediate post-dominators of deciding blocks.
//!
//! Ways on which the program stops do not count, and inside a loop those that leave it do not either:
//! behind `if (failed) break;` the rest of the loop is no part of a branch.

use crate::flow::Flow;
use crate::graph::{Intervals, NONE, post_dominators};

/// Where branches end.
#[derive(Default)]
pub struct Joins {
    /// By deciding block; [`NONE`] for other blocks, and where the ways meet only behind the loop or the
    /// function.
    of: Vec<u32>,
    /// (join, deciding block that dominates it), sorted.
    at: Vec<(u32, u32)>,
}

impl Joins {
    /// Finds the joins of the blocks that decide; `inner` is the innermost loop of each block.
    pub fn new(flow: &Flow, inner: &[u32], decides: &[bool]) -> Self {
        let mut of = post_dominators(&flow.successors, &flow.order, &flow.exits);
        let mut wanted = vec![false; flow.loops.len()];
        for (block, innermost) in inner.iter().enumerate() {
            if let Some(wanted) = wanted.get_mut(*innermost as usize) {
                *wanted |= decides[block];
            }
        }
        let mut position = vec![NONE; flow.blocks.len()];
        for (block, at) in flow.order.iter().zip(0..) {
            position[*block as usize] = at;
        }
        // The number of each node of the loop that is looked at.
        let mut number = vec![NONE; flow.blocks.len()];
        for (i, l) in (0u32..)
            .zip(&flow.loops)
            .filter(|(i, _)| wanted[*i as usize])
        {
            let mut nodes = l.nodes.clone();
            nodes.sort_unstable_by_key(|n| position[*n as usize]);
            for (node, new) in nodes.iter().zip(0..) {
                number[*node as usize] = new;
            }
            // One turn of the loop: from its header to where it turns back.
            let turn = |from: &u32| {
                let to = flow.successors[*from as usize].iter();
                let inside = to.filter(|t| **t != l.header).map(|t| number[*t as usize]);
                inside.filter(|t| *t != NONE).collect()
            };
            let successors: Vec<Vec<u32>> = nodes.iter().map(turn).collect();
            let turns = |b: &u32| flow.successors[nodes[*b as usize] as usize].contains(&l.header);
            let order: Vec<u32> = (0..nodes.len() as u32).collect();
            let exits: Vec<u32> = order.iter().copied().filter(turns).collect();
            let joins = post_dominators(&successors, &order, &exits);
            for (node, join) in nodes.iter().zip(joins) {
                if inner[*node as usize] == i {
                    of[*node as usize] = nodes.get(join as usize).copied().unwrap_or(NONE);
                }
                number[*node as usize] = NONE;
            }
        }
        let tree = Intervals::new(&flow.idom, &flow.order);
        let deciding = flow.order.iter().copied().filter(|b| decides[*b as usize]);
        let pairs = deciding.map(|b| (of[b as usize], b));
        let mut at: Vec<(u32, u32)> = pairs
            .filter(|(join, b)| *join != NONE && tree.dominates(*b, *join))
            .collect();
        at.sort_unstable();
        Self { of, at }
    }

    /// Where the ways of a block meet.
    pub fn of(&self, block: u32) -> u32 {
        self.of.get(block as usize).copied().unwrap_or(NONE)
    }

    /// Pairs of a join and a deciding block whose ways meet there, sorted.
    pub fn at(&self, join: u32) -> &[(u32, u32)] {
        let first = self.at.partition_point(|p| p.0 < join);
        let behind = self.at.partition_point(|p| p.0 <= join);
        &self.at[first..behind]
    }
}
