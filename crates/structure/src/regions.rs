//! Which loops and branches are around each block of a function, and which of them contraction keeps.
//!
//! Nesting follows the dominator tree: a block is inside every loop around it and every branch arm
//! that dominates it. Contraction is ScalAna's (section III-A): branches stay only around MPI calls (or
//! calls that lead to one), loops stay to a depth.

use crate::calls::Calls;
use crate::flow::Flow;
use crate::graph::{Loop, NONE};
use rustc_hash::{FxHashMap, FxHashSet};

/// Part of the way from a function to a piece of its code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// A loop by number.
    Loop(u32),
    /// A branch by its deciding block.
    Branch(u32),
}

/// The regions of a function.
pub struct Regions<'a> {
    /// Its flow of control.
    pub flow: &'a Flow,
    /// Calls of the module.
    pub calls: &'a Calls<'a>,
    /// The function's number.
    pub index: usize,
    /// Loops nested deeper than this are dropped, unless MPI is called in them.
    pub max_loop_depth: usize,
}

impl Regions<'_> {
    /// Arms of branches: (first block of the arm, deciding block).
    pub fn branch_arms(&self) -> Vec<(u32, u32)> {
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
    pub fn kept_branches(&self, arms: &[(u32, u32)]) -> FxHashSet<u32> {
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
    pub fn kept_loops(&self) -> Vec<bool> {
        let flow = self.flow;
        let holds = |l: &Loop, b: u32| l.nodes.binary_search(&b).is_ok();
        let mpi = |l: &Loop| {
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
                depth < self.max_loop_depth || mpi(l)
            })
            .collect()
    }

    /// For each block the loops and branches around it, outermost first.
    pub fn paths(
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
}
