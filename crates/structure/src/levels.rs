//! At which level of inlining loops and branches are, and in which lines.

use crate::flow::{Block, Flow};
use crate::graph::{Loop, NONE};
use crate::inlines::Inlines;
use crate::regions::{Part, Regions};
use rustc_hash::{FxHashMap, FxHashSet};

/// Where a loop is.
#[derive(Clone, Copy)]
pub struct Place {
    /// The innermost inlined function around it.
    pub level: Option<usize>,
    /// File, first and last line.
    pub lines: (u32, u32, u32),
}

/// The code of a function with what was inlined into it.
pub struct Levels<'f, 'a> {
    /// Its flow of control.
    pub flow: &'f Flow,
    /// Its inlined functions.
    pub inlines: &'f Inlines<'a>,
}

impl Levels<'_, '_> {
    /// The places of all loops.
    pub fn loops(&self) -> Vec<Place> {
        let range = |n: &u32| {
            let block = self.flow.blocks[*n as usize];
            (block.start, block.end)
        };
        let place = |l: &Loop| {
            let ranges: Vec<(u64, u64)> = l.nodes.iter().map(range).collect();
            let level = self.inlines.level_of(&ranges, self.own_code(l));
            let (file, first, last) = self.inlines.body_lines(&ranges, level);
            // Where a loop turns back by a condition is its first line, if it is not its last: what stands
            // before was moved in from elsewhere.
            let turns = self.turns(l).filter(|(b, ends)| {
                *ends && self.decides_at(*b) == level && self.decision(*b).0 == file
            });
            let turns = turns.map(|(b, _)| self.decision(b).1);
            let first = turns
                .filter(|t| (first..last).contains(t))
                .min()
                .unwrap_or(first);
            let lines = (file, first, last);
            Place { level, lines }
        };
        self.flow.loops.iter().map(place).collect()
    }

    /// Code that is nowhere but at the loop's level of inlining or deeper: where it turns back, and its
    /// calls, which compilers do not move.
    fn own_code<'l>(&'l self, l: &'l Loop) -> impl Iterator<Item = u64> {
        let flow = self.flow;
        let turns = self.turns(l).map(|(b, _)| b.end.saturating_sub(1));
        let calls = l.nodes.iter().flat_map(|n| {
            let first = flow.sites.partition_point(|s| s.block < *n);
            let sites = flow.sites[first..].iter();
            sites.take_while(|s| s.block == *n).map(|s| s.at)
        });
        turns.chain(calls)
    }

    /// Blocks that a loop turns back from, and whether it may end there too.
    fn turns<'l>(&'l self, l: &'l Loop) -> impl Iterator<Item = (Block, bool)> {
        let flow = self.flow;
        let header = l.header;
        let turns = move |n: &&u32| flow.successors[**n as usize].contains(&header);
        let outside = |t: &u32| l.nodes.binary_search(t).is_err();
        let ends = move |n: &u32| flow.successors[*n as usize].iter().any(outside);
        let nodes = l.nodes.iter().filter(turns);
        nodes.map(move |n| (flow.blocks[*n as usize], ends(n)))
    }

    /// Blocks that test a loop's condition before its first turn: it is in the line where the loop
    /// begins or turns back.
    pub fn guards(&self, loops: &[Place]) -> FxHashSet<u32> {
        let flow = self.flow;
        let up = |b: u32| flow.idom.get(b as usize).copied().filter(|u| *u != b);
        let only = |b: &u32| flow.successors[*b as usize].len() == 1;
        let mut out = FxHashSet::default();
        for (l, place) in flow.loops.iter().zip(loops) {
            // Perhaps something is made ready between the test and the loop.
            let before = up(l.header).filter(|b| *b != NONE);
            let before = before.and_then(|b| if only(&b) { up(b) } else { Some(b) });
            let Some(&block) = before.and_then(|b| flow.blocks.get(b as usize)) else {
                continue;
            };
            let (file, line) = self.decision(block);
            let (same_file, first, _) = place.lines;
            let same = |(b, _)| line == self.decision(b).1;
            if line > 0 && file == same_file && (line == first || self.turns(l).any(same)) {
                out.extend(before);
            }
        }
        out
    }

    /// File and line of the instruction that a block ends with, which decides where to go; 0 where no
    /// line is known.
    pub fn decision(&self, block: Block) -> (u32, u32) {
        let mut last = self.inlines.rows(block.end.saturating_sub(1), block.end);
        last.next()
            .map_or((u32::MAX, 0), |(row, _, _)| (row.file, row.line))
    }

    fn decides_at(&self, block: Block) -> Option<usize> {
        self.inlines.at(block.end.saturating_sub(1))
    }

    /// The levels of kept branches, by deciding block: as deep as the decision and all calls in the branch
    /// are, because the condition alone may be an inlined function.
    pub fn branches(&self, regions: &Regions) -> FxHashMap<u32, Option<usize>> {
        let mut out = FxHashMap::default();
        for site in &self.flow.sites {
            for part in regions.path(site.block) {
                let Part::Branch(b) = part else { continue };
                let block = self.flow.blocks[b as usize];
                let level = out.entry(b).or_insert_with(|| self.decides_at(block));
                *level = self.inlines.common(*level, self.inlines.at(site.at));
            }
        }
        out
    }
}
