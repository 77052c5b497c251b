//! What a thread of a task tells of OpenMP: the parallel regions that the task's first thread makes teams for, the functions
//! in which the threads of a team work, their barriers, and who holds a lock.
//!
//! A thread is in its team from the beginning of its function to the end of the region, which the first thread tells: what
//! is behind the function is the barrier at the region's end. Between two regions it has nothing to do.

use super::places::kind;
use super::thread::{Around, News, TaskThread};
use crate::regions::{Kind, RegionIx};
use headwater_format::spool::layout::ContextRow;

/// A fork of the task's first thread: which one it is, in which region, and the calls that led there.
pub struct Fork {
    number: usize,
    region: RegionIx,
    path: Vec<ContextRow>,
}

/// What a thread is in.
#[derive(Default)]
pub struct Open {
    /// The region of its team, and which fork made it.
    team: Option<(RegionIx, Option<usize>)>,
    /// Parallel regions in that.
    nested: usize,
    /// The barrier behind the work of its team.
    at_end: Option<RegionIx>,
    /// Barriers and critical sections, by the type of their events.
    others: Vec<(u64, RegionIx)>,
    /// Locks that it has.
    locks: Vec<u32>,
}

impl Open {
    /// Whether it is in nothing of OpenMP.
    pub fn is_empty(&self) -> bool {
        self.team.is_none() && self.others.is_empty()
    }

    /// Whether it is in a team that somebody else made.
    pub fn is_of_team(&self) -> bool {
        self.team.is_some()
    }
}

/// What an event that a lock is asked for, given and given back has as its value.
mod lock {
    /// It is asked for.
    pub const ASKED: u64 = 3;
    /// It is given back.
    pub const RETURNED: u64 = 5;
    /// The thread has it.
    pub const HELD: u64 = 6;
    /// The thread is done with it.
    pub const FREE: u64 = 0;
}

impl TaskThread {
    fn enters(
        &mut self,
        around: &mut Around<'_, '_, '_>,
        ns: u64,
        (name, of): (&str, Kind),
    ) -> RegionIx {
        let regions = around.shared.regions;
        let region = around.places.named(&mut regions.borrow_mut(), name, of);
        self.thread.enter(around.shared, ns, region, 0);
        region
    }

    /// An event that may be of OpenMP.
    pub(super) fn openmp(
        &mut self,
        around: &mut Around<'_, '_, '_>,
        ns: u64,
        pairs: &[(u64, u64)],
        (kind, value): (u64, u64),
    ) {
        match (kind, value) {
            (kind::PARALLEL, 0) => self.parallel_ends(around, ns),
            (kind::PARALLEL, _) => self.parallel_begins(around, ns),
            (kind::BARRIER, 0) | (kind::JOIN, 0) => self.leaves(around, ns, kind),
            (kind::BARRIER, _) => self.waits(around, ns, (kind, "omp barrier")),
            (kind::JOIN, kind::WAITS) => self.waits(around, ns, (kind, "omp implicit barrier")),
            (kind::NAMED_LOCK | kind::LOCK, value) => {
                self.lock(around, ns, pairs, (kind, value));
            }
            _ => {}
        }
    }

    fn parallel_begins(&mut self, around: &mut Around<'_, '_, '_>, ns: u64) {
        if self.open.team.is_some() {
            self.open.nested += 1;
            self.enters(around, ns, ("omp parallel", Kind::Parallel));
            return;
        }
        let mut number = None;
        if self.first {
            let (region, path) = self.thread.place();
            let this = around.fork.1;
            self.thread.forked(this);
            let fork = Fork {
                number: this,
                region,
                path,
            };
            *around.fork = (Some(fork), this + 1);
            number = Some(this);
        }
        let region = self.enters(around, ns, ("omp parallel", Kind::Parallel));
        self.open.team = Some((region, number));
    }

    fn parallel_ends(&mut self, around: &mut Around<'_, '_, '_>, ns: u64) {
        let Some((region, _)) = self.open.team else {
            return;
        };
        self.open.at_end = None;
        self.thread.leave(around.shared, ns, region);
        if self.open.nested > 0 {
            self.open.nested -= 1;
            return;
        }
        self.open.team = None;
        if self.first {
            self.news.push((ns, News::Joined));
        }
    }

    /// The function of a team begins. A thread that is not in the team yet joins it.
    pub(super) fn team_begins(&mut self, around: &mut Around<'_, '_, '_>, ns: u64) {
        if let Some(barrier) = self.open.at_end.take() {
            self.thread.leave(around.shared, ns, barrier);
        }
        let Some(fork) = around.fork.0.as_ref().filter(|_| !self.first) else {
            return;
        };
        let mine = self.open.team.is_some_and(|(_, n)| n == Some(fork.number));
        if mine || self.open.nested > 0 {
            return;
        }
        self.out(around.shared, ns);
        let number = fork.number;
        self.thread.hang_under(fork.region, &fork.path);
        self.thread.forked(number);
        let region = self.enters(around, ns, ("omp parallel", Kind::Parallel));
        self.open.team = Some((region, Some(number)));
    }

    /// Its part of the team's work is done: it waits for the others.
    pub(super) fn team_work_ends(&mut self, around: &mut Around<'_, '_, '_>, ns: u64) {
        if self.open.team.is_some() && self.open.nested == 0 {
            let region = self.enters(around, ns, ("omp implicit barrier", Kind::Barrier));
            self.open.at_end = Some(region);
        }
    }

    fn waits(&mut self, around: &mut Around<'_, '_, '_>, ns: u64, (kind, name): (u64, &str)) {
        let region = self.enters(around, ns, (name, Kind::Barrier));
        self.open.others.push((kind, region));
    }

    fn leaves(&mut self, around: &mut Around<'_, '_, '_>, ns: u64, kind: u64) {
        let Some(at) = self.open.others.iter().rposition(|o| o.0 == kind) else {
            return;
        };
        let (_, region) = self.open.others.remove(at);
        self.thread.leave(around.shared, ns, region);
    }

    fn lock(
        &mut self,
        around: &mut Around<'_, '_, '_>,
        ns: u64,
        pairs: &[(u64, u64)],
        (kind, value): (u64, u64),
    ) {
        match value {
            lock::ASKED => {
                let region = self.enters(around, ns, ("omp critical", Kind::Code));
                self.open.others.push((kind, region));
            }
            lock::HELD => {
                // A critical section without a name has one lock, others are known by their addresses.
                let name = pairs.iter().find(|p| p.0 == kind::LOCK_NAME);
                let name = name.filter(|_| kind == kind::NAMED_LOCK).map_or(0, |p| p.1);
                let which = around.places.lock(name);
                self.open.locks.push(which);
                self.thread.takes(around.shared, ns, which);
            }
            lock::RETURNED => {
                if let Some(which) = self.open.locks.pop() {
                    self.thread.gives(around.shared, ns, which);
                }
            }
            lock::FREE => self.leaves(around, ns, kind),
            _ => {}
        }
    }
}
