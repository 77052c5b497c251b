//! Which loops and branches are around each block of a function, and which of them contraction keeps.
//!
//! Regions nest along the dominator tree. A branch holds what its deciding block dominates, up to the
//! block's immediate post-dominator, where its ways meet again (`joins`). What decides whether a loop goes on is the loop's own condition and no branch. Contraction is
//! ScalAna's (section III-A): branches stay only around MPI calls (or calls that lead to one), loops
//! stay to a depth.

use crate::flow::Flow;
use crate::graph::NONE;
use crate::joins::Joins;
use rustc_hash::{FxHashMap, FxHashSet};

/// Part of the way from a function to a piece of its code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// A loop by number.
    Loop(u32),
    /// A branch by its deciding block.
    Branch(u32),
}

/// A region with those around it.
struct Region {
    part: Part,
    /// Number of the one around it.
    outer: u32,
    /// Whether it leads to a call of MPI.
    mpi: bool,
    /// How many loops are around it.
    loops: usize,
    /// Number of the innermost kept one: this, or one around it.
    kept: u32,
}

/// The regions of a function.
pub struct Regions {
    all: Vec<Region>,
    /// Innermost region of each block.
    of_block: Vec<u32>,
    /// How many blocks decide about a branch.
    pub branches: usize,
}

impl Regions {
    /// Finds the regions; `mpi` are the blocks with calls that lead to MPI, loops nested deeper than
    /// `max_loop_depth` are dropped unless they hold one; `guards` are blocks that decide whether a loop
    /// is entered, by its own condition.
    pub fn new(flow: &Flow, mpi: &[u32], max_loop_depth: usize, guards: &FxHashSet<u32>) -> Self {
        let nest = Nest::new(flow);
        let decides: Vec<bool> = (0..flow.blocks.len() as u32)
            .map(|b| nest.decides(flow, b) && !guards.contains(&b))
            .collect();
        let mut this = Self {
            all: Vec::new(),
            of_block: vec![NONE; flow.blocks.len()],
            branches: decides.iter().filter(|d| **d).count(),
        };
        // Without MPI no branch is kept, so none need be found.
        if mpi.is_empty() {
            this.nest(flow, &nest, &Joins::default(), &[]);
        } else {
            this.nest(
                flow,
                &nest,
                &Joins::new(flow, &nest.inner, &decides),
                &decides,
            );
        }
        this.contract(mpi, max_loop_depth);
        this
    }

    /// Kept regions around a block, outermost first.
    pub fn path(&self, block: u32) -> Vec<Part> {
        let innermost = self.of_block.get(block as usize);
        let innermost = innermost.and_then(|r| self.all.get(*r as usize));
        let first = innermost.and_then(|r| self.all.get(r.kept as usize));
        let outward = |r: &&Region| {
            let outer = self.all.get(r.outer as usize)?;
            self.all.get(outer.kept as usize)
        };
        let mut out: Vec<Part> = std::iter::successors(first, outward)
            .map(|r| r.part)
            .collect();
        out.reverse();
        out
    }

    fn nest(&mut self, flow: &Flow, nest: &Nest, joins: &Joins, decides: &[bool]) {
        let mut of_branch: FxHashMap<u32, u32> = FxHashMap::default();
        for &block in &flow.order {
            let up = flow.idom[block as usize];
            let root = up == NONE || up == block;
            let mut here = if root {
                NONE
            } else {
                self.of_block[up as usize]
            };
            let mut stays = !root;
            if !root && !nest.holds(flow, nest.inner[up as usize], block) {
                // Out of loops: up to outside of the outermost that is left.
                let left = nest.outward(nest.inner[up as usize]);
                let left = left.take_while(|l| !nest.holds(flow, *l, block)).last();
                let left = left.map(Part::Loop);
                here = self.outside(here, |part| Some(part) == left);
                stays = false;
            }
            // Where branches meet that decide above.
            let met = joins.at(block);
            for _ in 0..met.len() {
                let inside = here;
                here = self.outside(here, |part| match part {
                    Part::Branch(b) => met.binary_search(&(block, b)).is_ok(),
                    Part::Loop(_) => false,
                });
                stays &= here == inside;
                if here == inside {
                    break;
                }
            }
            let outside = nest.inner.get(up as usize).copied().filter(|_| !root);
            let entered = nest.entered(flow, block, outside.unwrap_or(NONE));
            // The guard of a loop is the loop's own condition too.
            stays &= entered.is_empty() && joins.of(up) != block;
            if stays && decides.get(up as usize) == Some(&true) {
                let known = of_branch.get(&up).copied();
                here = known.unwrap_or_else(|| self.enter(Part::Branch(up), here));
                of_branch.insert(up, here);
            }
            for l in entered {
                here = self.enter(Part::Loop(l), here);
            }
            self.of_block[block as usize] = here;
        }
    }

    /// The region around the innermost one from `here` outward that `is` wanted; `here` without one.
    fn outside(&self, here: u32, is: impl Fn(Part) -> bool) -> u32 {
        let region = |at: u32| self.all.get(at as usize);
        let mut way = std::iter::successors(region(here), |r| region(r.outer));
        way.find(|r| is(r.part)).map_or(here, |r| r.outer)
    }

    fn enter(&mut self, part: Part, outer: u32) -> u32 {
        let around = self.all.get(outer as usize);
        let loops = around.map_or(0, |r| {
            r.loops + usize::from(matches!(r.part, Part::Loop(_)))
        });
        self.all.push(Region {
            part,
            outer,
            mpi: false,
            loops,
            kept: NONE,
        });
        self.all.len() as u32 - 1
    }

    fn contract(&mut self, mpi: &[u32], max_loop_depth: usize) {
        for block in mpi {
            let mut at = self.of_block.get(*block as usize).copied().unwrap_or(NONE);
            while let Some(region) = self.all.get_mut(at as usize).filter(|r| !r.mpi) {
                region.mpi = true;
                at = region.outer;
            }
        }
        for i in 0..self.all.len() {
            let region = &self.all[i];
            let keep =
                region.mpi || matches!(region.part, Part::Loop(_)) && region.loops < max_loop_depth;
            let outer = self.all.get(region.outer as usize);
            let kept = outer.map_or(NONE, |o| o.kept);
            self.all[i].kept = if keep { i as u32 } else { kept };
        }
    }
}

/// How loops lie in each other.
struct Nest {
    /// Innermost loop of each block.
    inner: Vec<u32>,
    /// The loop around each loop.
    outer: Vec<u32>,
}

impl Nest {
    fn new(flow: &Flow) -> Self {
        let mut inner = vec![NONE; flow.blocks.len()];
        let mut outer = Vec::with_capacity(flow.loops.len());
        for (i, l) in (0u32..).zip(&flow.loops) {
            outer.push(inner[l.header as usize]);
            l.nodes.iter().for_each(|n| inner[*n as usize] = i);
        }
        Self { inner, outer }
    }

    /// A loop and those around it.
    fn outward(&self, innermost: u32) -> impl Iterator<Item = u32> {
        let first = Some(innermost).filter(|l| *l != NONE);
        std::iter::successors(first, |l| {
            self.outer.get(*l as usize).copied().filter(|o| *o != NONE)
        })
    }

    /// Whether a block is in a loop, or there is none.
    fn holds(&self, flow: &Flow, l: u32, block: u32) -> bool {
        let nodes = flow.loops.get(l as usize).map(|l| &l.nodes);
        nodes.is_none_or(|n| n.binary_search(&block).is_ok())
    }

    /// Loops around a block that are not around one in the loop `outside`, outermost first.
    fn entered(&self, flow: &Flow, block: u32, outside: u32) -> Vec<u32> {
        let innermost = self.inner[block as usize];
        if innermost == outside {
            return Vec::new();
        }
        let around: Vec<u32> = self.outward(outside).collect();
        let new = self.outward(innermost).filter(|l| !around.contains(l));
        let mut out: Vec<u32> = new.filter(|l| self.holds(flow, *l, block)).collect();
        out.reverse();
        out
    }

    /// Whether a block decides about a branch: it goes on in several ways in its loop.
    fn decides(&self, flow: &Flow, block: u32) -> bool {
        let to = &flow.successors[block as usize];
        let inner = self.inner[block as usize];
        to.len() > 1
            && flow.idom[block as usize] != NONE
            && to.iter().filter(|t| self.holds(flow, inner, **t)).count() > 1
    }
}
