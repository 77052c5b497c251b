//! Where inlined functions lie in a function, and the lines of its code at each level of inlining.

use crate::dwarf::{Info, Row, Subprogram};
use rustc_hash::FxHashMap;

/// The inlined code of one function.
pub struct Inlines<'a> {
    info: &'a Info,
    /// What debug information says of the function.
    pub sub: Option<&'a Subprogram>,
    /// Boundaries of inlined code with the innermost inlined function behind each.
    cuts: Vec<(u64, Option<usize>)>,
    outer: Vec<Option<usize>>,
}

impl<'a> Inlines<'a> {
    /// Lays out the inlined code of the function at `address`.
    pub fn new(info: &'a Info, address: u64) -> Self {
        let mut this = Self {
            info,
            sub: info.functions.get(&address),
            cuts: Vec::new(),
            outer: Vec::new(),
        };
        this.lay_out();
        this
    }

    /// Cuts the function where inlined code begins or ends.
    fn lay_out(&mut self) {
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
        self.cuts = cuts
            .iter()
            .map(|c| (*c, innermost.get(c).map(|i| i.1)))
            .collect();
        // The one around is the last before it, one less deep, that holds its first address.
        self.outer = (0..sub.inlines.len())
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

    /// The innermost inlined function at `address`.
    pub fn at(&self, address: u64) -> Option<usize> {
        let after = self.cuts.partition_point(|c| c.0 <= address);
        after.checked_sub(1).and_then(|i| self.cuts[i].1)
    }

    /// The next address behind `address` where inlined code begins or ends.
    pub fn next_cut(&self, address: u64) -> u64 {
        let after = self.cuts.partition_point(|c| c.0 <= address);
        self.cuts.get(after).map_or(u64::MAX, |c| c.0)
    }

    /// Inlined functions around one, outermost first.
    pub fn chain(&self, inline: Option<usize>) -> Vec<usize> {
        let mut out: Vec<usize> =
            std::iter::successors(inline, |i| self.outer.get(*i).copied().flatten()).collect();
        out.reverse();
        out
    }

    /// Rows of the line table for `[start, end)`, each with the part of it that it tells of.
    pub fn rows(
        &self,
        start: u64,
        end: u64,
    ) -> impl Iterator<Item = (&'a Row, u64, u64)> + use<'a> {
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
    pub fn lines(&self, ranges: &[(u64, u64)], level: Option<usize>) -> (u32, u32, u32) {
        let mut files: Vec<(u32, u64, u32, u32)> = Vec::new();
        for &(start, end) in ranges {
            for (row, a, b) in self
                .rows(start, end)
                .filter(|(_, a, _)| self.at(*a) == level)
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

    /// The innermost inlined function that holds most of the code in `ranges`.
    pub fn level_of(&self, ranges: &[(u64, u64)]) -> Option<usize> {
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
}
