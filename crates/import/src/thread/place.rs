//! Where a thread is: the regions around it, also those of another thread that it is below, and how to get there.

use super::{NONE, PROGRAM, RegionIx, Shared, Thread};
use headwater_format::spool::layout::ContextRow;

impl Thread {
    /// Regions and lines that it is in, outermost first.
    pub fn path(&self) -> impl Iterator<Item = (RegionIx, u32)> + '_ {
        self.stack.iter().map(|f| (f.region, f.line))
    }

    /// It has been for some time in what its path and `path` have in common, and what time goes by is there.
    pub fn back_to(&mut self, path: &[(RegionIx, u32)]) {
        if self.call.is_some() {
            return;
        }
        let alike = (self.path().zip(path.iter().copied()))
            .take_while(|(a, b)| a == b)
            .count();
        self.asleep = 0;
        self.stack.truncate(alike);
    }

    /// It has been for some time in its outermost region, and what time goes by is there.
    pub fn back_out(&mut self) {
        if self.call.is_none() {
            self.asleep = 0;
            self.stack.truncate(1);
        }
    }

    /// It leaves all regions.
    pub fn out(&mut self, shared: &mut Shared<'_>, ns: u64) {
        let ns = self.advance(shared, ns);
        while !self.stack.is_empty() {
            self.pop(shared, ns);
        }
    }

    /// It goes on in `path`: regions that are not in it are left, others entered.
    pub fn go_to(&mut self, shared: &mut Shared<'_>, ns: u64, path: &[(RegionIx, u32)]) {
        let ns = self.advance(shared, ns);
        let alike = (self.path().zip(path)).take_while(|(a, b)| a == *b).count();
        while self.stack.len() > alike {
            self.pop(shared, ns);
        }
        for (region, line) in path.iter().skip(alike) {
            self.enter(shared, ns, *region, *line);
        }
    }

    /// What it does from now on is below a region of another thread and the call path that led there.
    pub fn hang_under(&mut self, region: RegionIx, path: &[ContextRow]) {
        let parent = self.follow(path);
        self.base = Some((region, parent));
    }

    /// The context that a path of another thread is here.
    pub(super) fn follow(&mut self, path: &[ContextRow]) -> u32 {
        path.iter().fold(NONE, |parent, row| {
            self.context(parent, row.address, row.exact != 0)
        })
    }

    /// The rows of a context and those above it, outermost first.
    pub fn chain(&self, ctx: u32) -> Vec<ContextRow> {
        let up = |row: &ContextRow| self.contexts.get(row.parent as usize).copied();
        let first = self.contexts.get(ctx as usize).copied();
        let mut chain: Vec<ContextRow> = std::iter::successors(first, up).collect();
        chain.reverse();
        chain
    }

    /// The region that it is in, and the path of calls that led there.
    pub fn place(&self) -> (RegionIx, Vec<ContextRow>) {
        let (region, ctx) = self.around().unwrap_or((PROGRAM, NONE));
        (region, self.chain(ctx))
    }
}
