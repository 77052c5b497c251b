//! The ranks that two sets have in common, counted by their blocks.
//!
//! Two blocks are compared dimension by dimension: equal strides need two comparisons of what is inside, an interval
//! needs a division for each dimension of the other block. Where that takes too many steps, as for irregular sets of
//! thousands of blocks, the ranks of one set are marked and those of the other one looked up.

use super::Block;

/// Comparing blocks takes at most so many steps before ranks are marked.
const STEPS: u64 = 1 << 14;

/// Two sets of blocks.
pub(super) struct Common<'a> {
    a: &'a [Block],
    b: &'a [Block],
}

/// More steps are needed than there are.
struct TooMany;

type Dims<'a> = &'a [(u32, u32)];

impl<'a> Common<'a> {
    pub(super) fn of(a: &'a [Block], b: &'a [Block]) -> Self {
        Self { a, b }
    }

    /// Whether there is a common rank; `None` if that takes more than `work` steps.
    pub(super) fn overlaps(&self, work: &mut u64) -> Option<bool> {
        Some(self.counted(true, work)? > 0)
    }

    /// How many common ranks there are.
    pub(super) fn count(&self, work: &mut u64) -> Option<u64> {
        self.counted(false, work)
    }

    fn counted(&self, one_is_enough: bool, work: &mut u64) -> Option<u64> {
        let most = STEPS.min(*work);
        let mut steps = most;
        let compared = self.blocks(one_is_enough, &mut steps);
        *work -= most - steps;
        if let Ok(count) = compared {
            return Some(count);
        }
        let ranks = self.a.iter().chain(self.b).map(Block::count).sum();
        *work = work.checked_sub(ranks)?;
        Some(self.marked())
    }

    fn blocks(&self, one_is_enough: bool, steps: &mut u64) -> Result<u64, TooMany> {
        let mut count = 0;
        for a in self.a {
            for b in self.b {
                count += common(a, b, steps)?;
                if one_is_enough && count > 0 {
                    return Ok(count);
                }
            }
        }
        Ok(count)
    }

    fn marked(&self) -> u64 {
        let mut marks = Marks::up_to(self.a);
        let mut count = 0;
        self.a
            .iter()
            .for_each(|block| each(block, |r| _ = marks.set(r)));
        for block in self.b {
            each(block, |rank| count += u64::from(marks.has(rank)));
        }
        count
    }
}

/// Whether no rank is in two of the blocks; `None` if that takes more than `work` steps.
pub(super) fn are_disjoint(blocks: &[Block], work: &mut u64) -> Option<bool> {
    if blocks.len() < 2 {
        return Some(true);
    }
    let most = STEPS.min(*work);
    let mut steps = most;
    let compared = disjoint_blocks(blocks, &mut steps);
    *work -= most - steps;
    if let Ok(disjoint) = compared {
        return Some(disjoint);
    }
    *work = work.checked_sub(blocks.iter().map(Block::count).sum())?;
    let mut marks = Marks::up_to(blocks);
    let mut disjoint = true;
    for block in blocks {
        each(block, |rank| disjoint &= marks.set(rank));
    }
    Some(disjoint)
}

fn disjoint_blocks(blocks: &[Block], steps: &mut u64) -> Result<bool, TooMany> {
    for (i, a) in blocks.iter().enumerate() {
        for b in blocks.iter().skip(i + 1) {
            if common(a, b, steps)? > 0 {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn common(a: &Block, b: &Block, steps: &mut u64) -> Result<u64, TooMany> {
    let offset = i64::from(b.start) - i64::from(a.start);
    inside(&flat(&a.dims), &flat(&b.dims), offset, steps)
}

/// Dimensions that continue the one inside of them are one.
fn flat(dims: Dims) -> Vec<(u32, u32)> {
    let mut flat: Vec<(u32, u32)> = Vec::with_capacity(dims.len());
    for (iters, stride) in dims {
        match flat.last_mut() {
            Some((n, inner)) if n.checked_mul(*inner) == Some(*stride) => {
                *n = n.saturating_mul(*iters);
            }
            _ => flat.push((*iters, *stride)),
        }
    }
    flat
}

fn reach(dims: Dims) -> i64 {
    dims.iter()
        .map(|(iters, stride)| (i64::from(*iters) - 1) * i64::from(*stride))
        .sum()
}

fn size(dims: Dims) -> u64 {
    dims.iter().map(|(iters, _)| u64::from(*iters)).product()
}

/// Ranks of a block that starts at 0 and one that starts at `offset`.
fn inside(a: Dims, b: Dims, offset: i64, steps: &mut u64) -> Result<u64, TooMany> {
    *steps = steps.checked_sub(1).ok_or(TooMany)?;
    let (reach_a, reach_b) = (reach(a), reach(b));
    if offset > reach_a || offset + reach_b < 0 {
        return Ok(0);
    }
    let (Some((last_a, inner_a)), Some((last_b, inner_b))) = (a.split_last(), b.split_last())
    else {
        // One of them is a single rank.
        return Ok(match a.is_empty() {
            true => below(b, 1 - offset) - below(b, -offset),
            false => below(a, offset + 1) - below(a, offset),
        });
    };
    if let [(_, 1)] = a {
        return Ok(below(b, reach_a + 1 - offset) - below(b, -offset));
    }
    if let [(_, 1)] = b {
        return Ok(below(a, offset + reach_b + 1) - below(a, offset));
    }
    let ((n_a, stride_a), (n_b, stride_b)) = (*last_a, *last_b);
    let (n_a, n_b) = (i64::from(n_a), i64::from(n_b));
    let (stride_a, stride_b) = (i64::from(stride_a), i64::from(stride_b));
    if stride_a == stride_b {
        // What is inside is shorter than the stride: each piece meets at most two of the other block.
        let (pieces, rest) = (offset.div_euclid(stride_a), offset.rem_euclid(stride_a));
        let pairs = |shift: i64| (n_a - shift).min(n_b) - (-shift).max(0);
        let mut count = 0;
        for (shift, offset) in [(pieces, rest), (pieces + 1, rest - stride_a)] {
            let pairs = pairs(shift);
            if pairs > 0 {
                count += pairs as u64 * inside(inner_a, inner_b, offset, steps)?;
            }
        }
        return Ok(count);
    }
    if stride_a < stride_b {
        return inside(b, a, -offset, steps);
    }
    // Pieces of the wider one that reach the other one.
    let first = (offset - reach(inner_a)).max(0) / stride_a;
    let last = ((offset + reach_b) / stride_a).min(n_a - 1);
    let mut count = 0;
    for i in first..=last {
        count += inside(inner_a, b, offset - i * stride_a, steps)?;
    }
    Ok(count)
}

/// How many ranks of a block that starts at 0 are below a limit.
fn below(dims: Dims, limit: i64) -> u64 {
    let mut limit = limit;
    let mut count = 0;
    let mut dims = dims;
    while let Some(((iters, stride), inner)) = dims.split_last() {
        if limit <= 0 {
            return count;
        }
        let whole = (limit - 1 - reach(inner)).max(-1);
        // Pieces that are below the limit as a whole, and the one that may be in part.
        let pieces =
            (whole.div_euclid(i64::from((*stride).max(1))) + 1).clamp(0, i64::from(*iters));
        count += pieces as u64 * size(inner);
        if pieces == i64::from(*iters) {
            return count;
        }
        limit -= pieces * i64::from(*stride);
        dims = inner;
    }
    count + u64::from(limit > 0)
}

/// Calls a function with each rank.
fn each(block: &Block, mut each: impl FnMut(u32)) {
    fn inner(dims: Dims, start: u32, each: &mut impl FnMut(u32)) {
        match dims.split_last() {
            None => each(start),
            Some(((iters, stride), dims)) => {
                (0..*iters).for_each(|i| inner(dims, start + i * stride, each));
            }
        }
    }
    inner(&block.dims, block.start, &mut each);
}

/// Ranks that were marked.
struct Marks(Vec<u64>);

impl Marks {
    fn up_to(blocks: &[Block]) -> Self {
        let last = blocks.iter().map(|block| block.start + block.reach()).max();
        Self(vec![0; last.map_or(0, |last| last as usize / 64 + 1)])
    }

    fn has(&self, rank: u32) -> bool {
        let word = self.0.get(rank as usize / 64);
        word.is_some_and(|word| word >> (rank % 64) & 1 == 1)
    }

    /// Marks a rank; whether it was not marked before.
    fn set(&mut self, rank: u32) -> bool {
        let had = self.has(rank);
        if let Some(word) = self.0.get_mut(rank as usize / 64) {
            *word |= 1 << (rank % 64);
        }
        !had
    }
}
