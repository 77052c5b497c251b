//! Sets of ranks as blocks of any number of dimensions (ScalaTrace II, section 2.2).
//!
//! Sets are compared by their blocks, not rank by rank: a block of millions of ranks is a few numbers in a file.

mod common;

use crate::budget::CHUNK;
use common::Common;
use std::hash::{Hash, Hasher};

/// Ranks at regular distances: `start + i·stride + j·stride' + …` for all `i < iters`, `j < iters'`, …
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Block {
    /// The smallest rank.
    pub start: u32,
    /// `(iters, stride)` of each dimension, from the smallest stride to the largest; `iters` is at least 2.
    pub dims: Vec<(u32, u32)>,
}

/// The most ranks that a program may have. It bounds what a set takes if it has to be written out.
pub const MOST_RANKS: u32 = 1 << 24;

/// A set of ranks; no rank is in two of its blocks. Sets are equal if they have the same ranks, in whatever blocks.
#[derive(Clone, Debug, Default)]
pub struct Ranks {
    blocks: Vec<Block>,
}

impl PartialEq for Ranks {
    fn eq(&self, other: &Self) -> bool {
        self.blocks == other.blocks
            || (self.blocks.first().map(|b| b.start) == other.blocks.first().map(|b| b.start)
                && self.len() == other.len()
                && self.contains_all(other))
    }
}

impl Eq for Ranks {}

impl Hash for Ranks {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.len(), self.blocks.first().map(|b| b.start)).hash(state);
    }
}

/// Dimensions: `iters` and `stride` of each.
type Dims<'a> = &'a [(u32, u32)];

/// All dimensions but the last, and the last one's `iters` and `stride`.
type LastDimension<'a> = (Dims<'a>, u32, u32);

impl Block {
    /// Number of ranks.
    fn count(&self) -> u64 {
        self.dims
            .iter()
            .map(|(iters, _)| u64::from(*iters))
            .product()
    }

    /// How far the largest rank is from the first.
    fn reach(&self) -> u32 {
        self.dims
            .iter()
            .map(|(iters, stride)| (iters - 1) * stride)
            .sum()
    }

    /// Whether it has a rank.
    fn contains(&self, rank: u32) -> bool {
        rank.checked_sub(self.start)
            .is_some_and(|left| within(&self.dims, left))
    }

    /// The union with a block that has only larger ranks, if that is a block.
    fn joined(&self, later: &Self) -> Option<Self> {
        let (inner, last) = self.joined_dims(later)?;
        let mut dims = Vec::with_capacity(inner.len() + 1);
        dims.extend_from_slice(inner);
        dims.push(last);
        Some(Self {
            start: self.start,
            dims,
        })
    }

    /// The dimensions of that union: all but the last, and the last. It allocates nothing, as most blocks of irregular
    /// sets are compared with all near ones in vain.
    fn joined_dims<'a>(&'a self, later: &'a Self) -> Option<(Dims<'a>, (u32, u32))> {
        let distance = later.start.checked_sub(self.start).filter(|d| *d > 0)?;
        if self.dims == later.dims {
            return match self.last_dimension() {
                Some((inner, iters, stride)) if iters.checked_mul(stride) == Some(distance) => {
                    Some((inner, (iters.checked_mul(2)?, stride)))
                }
                // Dimensions are nested: a new one steps over all of the others.
                _ => (distance > self.reach()).then_some((&*self.dims, (2, distance))),
            };
        }
        // One more, or some more, along the last dimension of either.
        let (mine, theirs) = (self.last_dimension(), later.last_dimension());
        let (inner, iters, stride) = match (mine, theirs) {
            (Some((a, n, s)), Some((b, m, t))) if s == t && a == b => (a, n + m, s),
            (Some((a, n, s)), _) if a == later.dims => (a, n + 1, s),
            (_, Some((b, m, t))) if b == self.dims => (b, m + 1, t),
            _ => return None,
        };
        let before = if inner == self.dims { 1 } else { mine?.1 };
        (before.checked_mul(stride) == Some(distance)).then_some((inner, (iters, stride)))
    }

    /// All dimensions but the last, and the last.
    fn last_dimension(&self) -> Option<LastDimension<'_>> {
        let ((iters, stride), inner) = self.dims.split_last()?;
        Some((inner, *iters, *stride))
    }
}

/// Blocks further apart in order are not joined: it bounds the work for irregular sets.
const NEAR: usize = 64;

fn within(dims: &[(u32, u32)], left: u32) -> bool {
    match dims.split_last() {
        None => left == 0,
        Some(((iters, stride), inner)) => {
            let i = (left / (*stride).max(1)).min(iters.saturating_sub(1));
            within(inner, left - i * stride)
        }
    }
}

impl Ranks {
    /// Bytes of memory of the block of a single rank.
    pub(crate) const OF_ONE: usize = size_of::<Block>() + CHUNK;

    /// One rank.
    pub fn one(rank: u32) -> Self {
        Self {
            blocks: vec![Block {
                start: rank,
                dims: Vec::new(),
            }],
        }
    }

    /// The blocks, sorted by their first rank.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Makes a set of blocks as they are in a file. `None` if a block has no rank, or ranks of `size` and more, if its
    /// dimensions are not nested, if blocks are not sorted by their first rank or a rank is in two of them, or if
    /// `size` is more than [`MOST_RANKS`].
    pub fn from_blocks(blocks: Vec<Block>, size: u32) -> Option<Self> {
        let mut work = u64::MAX;
        Self::from_blocks_within(blocks, size, &mut work)
    }

    /// The same, where `work` is how many steps this may take; it is reduced by those that were taken.
    pub(crate) fn from_blocks_within(
        blocks: Vec<Block>,
        size: u32,
        work: &mut u64,
    ) -> Option<Self> {
        if size > MOST_RANKS || !blocks.is_sorted_by_key(|block| block.start) {
            return None;
        }
        let mut ranks = 0_u64;
        for block in &blocks {
            let mut reach = 0_u64;
            let mut count = 1_u64;
            for (iters, stride) in &block.dims {
                if *iters < 2 || u64::from(*stride) <= reach {
                    return None;
                }
                reach += u64::from(iters - 1) * u64::from(*stride);
                count *= u64::from(*iters);
                if u64::from(block.start) + reach >= u64::from(size) {
                    return None;
                }
            }
            ranks += count;
            if block.start >= size || ranks > u64::from(size) {
                return None;
            }
        }
        common::are_disjoint(&blocks, work)?.then_some(Self { blocks })
    }

    /// Blocks of several sets as one; `None` if a rank is in two of them, or if that takes more than `work` steps.
    pub(crate) fn of_disjoint(mut blocks: Vec<Block>, work: &mut u64) -> Option<Self> {
        blocks.sort();
        common::are_disjoint(&blocks, work)?.then_some(Self { blocks })
    }

    /// Blocks that are known to have no rank twice.
    pub(crate) fn of_known(mut blocks: Vec<Block>) -> Self {
        blocks.sort();
        Self { blocks }
    }

    /// Number of ranks.
    pub fn len(&self) -> u64 {
        self.blocks.iter().map(Block::count).sum()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Whether it has a rank.
    pub fn contains(&self, rank: u32) -> bool {
        self.blocks.iter().any(|block| block.contains(rank))
    }

    /// Whether a rank is in both sets.
    pub fn overlaps(&self, other: &Self) -> bool {
        let mut work = u64::MAX;
        self.overlaps_within(other, &mut work).unwrap_or(true)
    }

    /// Whether it has all ranks of the other set.
    pub fn contains_all(&self, other: &Self) -> bool {
        let mut work = u64::MAX;
        self.contains_all_within(other, &mut work).unwrap_or(false)
    }

    /// Whether a rank is in both sets; `None` if that takes more than `work` steps.
    pub(crate) fn overlaps_within(&self, other: &Self, work: &mut u64) -> Option<bool> {
        Common::of(&self.blocks, &other.blocks).overlaps(work)
    }

    /// Whether it has all ranks of the other set; `None` if that takes more than `work` steps.
    pub(crate) fn contains_all_within(&self, other: &Self, work: &mut u64) -> Option<bool> {
        if self.blocks == other.blocks {
            return Some(true);
        }
        let common = Common::of(&self.blocks, &other.blocks).count(work)?;
        Some(common == other.len())
    }

    /// The only rank, if there is one only.
    pub fn only(&self) -> Option<u32> {
        match &*self.blocks {
            [Block { start, dims }] if dims.is_empty() => Some(*start),
            _ => None,
        }
    }

    /// All ranks, sorted.
    pub fn to_vec(&self) -> Vec<u32> {
        let mut ranks = Vec::new();
        for block in &self.blocks {
            let mut some = vec![block.start];
            for (iters, stride) in &block.dims {
                some = (0..*iters)
                    .flat_map(|i| some.iter().map(move |r| r + i * stride))
                    .collect();
            }
            ranks.extend(some);
        }
        ranks.sort_unstable();
        ranks
    }

    /// The same set in the blocks that result if its ranks are added one after the other.
    pub fn canonical(&self) -> Self {
        let mut set = Self::default();
        for rank in self.to_vec() {
            set.add_last(rank);
        }
        set
    }

    /// Adds a rank that is larger than all others. The blocks before it are joined already.
    pub(crate) fn add_last(&mut self, rank: u32) {
        let one = Block {
            start: rank,
            dims: Vec::new(),
        };
        let near = self.blocks.len().saturating_sub(NEAR);
        let joined = self
            .blocks
            .iter_mut()
            .enumerate()
            .skip(near)
            .find_map(|(at, block)| {
                *block = block.joined(&one)?;
                Some(at)
            });
        match joined {
            Some(at) => self.join(at.saturating_sub(NEAR)),
            None => self.blocks.push(one),
        }
    }

    /// Adds ranks that are not in the set.
    pub fn unite(&mut self, other: &Self) {
        self.blocks.extend(other.blocks.iter().cloned());
        self.blocks.sort();
        self.join(0);
    }

    /// Joins blocks from a position on. Those before it are joined with each other already.
    fn join(&mut self, mut at: usize) {
        while at < self.blocks.len() {
            if self.join_with_later(at) {
                // The larger block may fit to one before it.
                while let Some(before) = self.join_with_earlier(at) {
                    at = before;
                }
            } else {
                at += 1;
            }
        }
    }

    /// Joins a block with the first later one that fits to it.
    fn join_with_later(&mut self, at: usize) -> bool {
        let near = self.blocks.len().min(at + NEAR);
        (at + 1..near).any(|later| self.join_two(at, later))
    }

    /// Joins a block with the first earlier one that it fits to; returns where that is.
    fn join_with_earlier(&mut self, at: usize) -> Option<usize> {
        let near = at.saturating_sub(NEAR);
        (near..at).find(|earlier| self.join_two(*earlier, at))
    }

    fn join_two(&mut self, at: usize, later: usize) -> bool {
        let (one, other) = (self.blocks.get(at), self.blocks.get(later));
        let both = one.zip(other).and_then(|(one, other)| one.joined(other));
        match (both, self.blocks.get_mut(at)) {
            (Some(both), Some(place)) => {
                *place = both;
                self.blocks.remove(later);
                true
            }
            _ => false,
        }
    }
}
