//! Where inlined functions lie in a function, and the lines of its code at each level of inlining.

use crate::dwarf::{Info, Inline, Row, Subprogram};
use rustc_hash::FxHashMap;

/// The inlined code of one function.
pub struct Inlines<'a> {
    info: &'a Info,
    /// What debug information says of the function.
    pub sub: Option<&'a Subprogram>,
    /// Boundaries of inlined code with the innermost inlined function behind each.
    cuts: Vec<(u64, Option<usize>)>,
}

impl<'a> Inlines<'a> {
    /// Lays out the inlined code of the function at `address`.
    pub fn new(info: &'a Info, address: u64) -> Self {
        let mut this = Self {
            info,
            sub: info.functions.get(&address),
            cuts: Vec::new(),
        };
        this.lay_out();
        this
    }

    /// Cuts the function where inlined code begins or ends.
    fn lay_out(&mut self) {
        let Some(sub) = self.sub else { return };
        let ranges = || sub.inlines.iter().flat_map(|i| &i.ranges);
        let mut cuts: Vec<u64> = ranges().flat_map(|r| [r.0, r.1]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        self.cuts = cuts.into_iter().map(|c| (c, None)).collect();
        // Of those that hold an address the last is innermost: each comes after the one around it. So
        // the last comes first, and `free` leads over what is taken.
        let mut free: Vec<usize> = (0..=self.cuts.len()).collect();
        for (i, inline) in sub.inlines.iter().enumerate().rev() {
            for r in &inline.ranges {
                let mut at = self.cuts.partition_point(|c| c.0 < r.0);
                loop {
                    while free[at] != at {
                        free[at] = free[free[at]];
                        at = free[at];
                    }
                    let Some(cut) = self.cuts.get_mut(at).filter(|c| c.0 < r.1) else {
                        break;
                    };
                    cut.1 = Some(i);
                    free[at] = at + 1;
                }
            }
        }
    }

    /// An inlined function.
    pub fn get(&self, inline: usize) -> Option<&'a Inline> {
        self.sub?.inlines.get(inline)
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

    /// An inlined function and those around it, outward.
    fn outward(&self, inline: Option<usize>) -> impl Iterator<Item = usize> {
        let outer = |i: &usize| self.sub?.inlines.get(*i)?.outer;
        std::iter::successors(inline, outer)
    }

    /// An inlined function and those around it, outermost first.
    pub fn chain(&self, inline: Option<usize>) -> Vec<usize> {
        let mut out: Vec<usize> = self.outward(inline).collect();
        out.reverse();
        out
    }

    /// The innermost inlined function around both.
    pub fn common(&self, a: Option<usize>, b: Option<usize>) -> Option<usize> {
        if a == b {
            return a;
        }
        let around: Vec<usize> = self.outward(b).collect();
        self.outward(a).find(|i| around.contains(i))
    }

    /// Rows of the line table for `[start, end)`, each with the part of it that it describes.
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
        self.span(ranges, level, |_| true)
    }

    /// The same for code inside the function's body: in the line that declares the function, parameters
    /// are made ready, which may be done anywhere.
    pub fn body_lines(&self, ranges: &[(u64, u64)], level: Option<usize>) -> (u32, u32, u32) {
        let declared = self.sub.filter(|_| level.is_none()).map_or(0, |s| s.line);
        match self.span(ranges, level, |row| row.line != declared) {
            (_, 0, 0) => self.lines(ranges, level),
            found => found,
        }
    }

    fn span(
        &self,
        ranges: &[(u64, u64)],
        level: Option<usize>,
        counts: impl Fn(&Row) -> bool,
    ) -> (u32, u32, u32) {
        let mut files: Vec<(u32, u64, u32, u32)> = Vec::new();
        for &(start, end) in ranges {
            for (row, a, b) in self
                .rows(start, end)
                .filter(|(row, a, _)| counts(row) && self.at(*a) == level)
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

    /// The innermost inlined function that holds most of the code in `ranges`, and all of `inside`.
    pub fn level_of(
        &self,
        ranges: &[(u64, u64)],
        inside: impl Iterator<Item = u64>,
    ) -> Option<usize> {
        self.sub.filter(|s| !s.inlines.is_empty())?;
        let total: u64 = ranges.iter().map(|r| r.1 - r.0).sum();
        let mut share: FxHashMap<usize, u64> = FxHashMap::default();
        for &(start, end) in ranges {
            let mut at = start;
            while at < end {
                let next = self.next_cut(at).min(end);
                for i in self.outward(self.at(at)) {
                    *share.entry(i).or_default() += next - at;
                }
                at = next;
            }
        }
        let mut most: Vec<(usize, u64)> = share.into_iter().collect();
        most.retain(|(_, bytes)| 2 * bytes > total);
        for address in inside {
            if most.is_empty() {
                return None;
            }
            let around: Vec<usize> = self.outward(self.at(address)).collect();
            most.retain(|(i, _)| around.contains(i));
        }
        most.into_iter().map(|(i, _)| i).max()
    }
}
