//! Moves a thread through regions, barriers and tasks.

use super::{DEPTH, Frame, Now, Task, Waiting};
use crate::guest::clock;
use crate::threads::{
    region::Region,
    thread::{Caller, Thread},
};
use headwater_call_path::{NONE, Root, root};
use std::sync::atomic::Ordering;

impl Thread {
    /// Begins a region by the call `from`; `None` if the region is not seen.
    pub fn begin_region(&mut self, from: Caller) -> Option<&'static Region> {
        let ctx = self.context(from);
        self.begin_region_at(ctx, from.stack_pointer)
    }

    /// The same by a call of context `ctx`.
    pub fn begin_region_at(&mut self, ctx: u32, stack_pointer: u64) -> Option<&'static Region> {
        self.forget_left(stack_pointer);
        let level = self.openmp.level()?;
        if ctx == NONE {
            return None;
        }
        level.region.begin(self.origin(ctx), clock::now());
        Some(&level.region)
    }

    /// Leaves regions that the program left by `longjmp`: the caller is above them on the same stack.
    fn forget_left(&mut self, stack_pointer: u64) {
        while let Some(frame) = self.openmp.frame()
            && frame.stack_pointer <= stack_pointer
            && self.stands_on(frame.stack_pointer)
            && self.stands_on(stack_pointer)
        {
            self.back_to(self.openmp.depth - 1);
        }
    }

    /// The thread begins its part of a region, with its stack pointer at `stack_pointer`. Returns `false` if this is
    /// not seen.
    pub fn join_region(&mut self, region: &'static Region, stack_pointer: u64) -> bool {
        self.wake();
        let depth = self.openmp.depth;
        if depth >= DEPTH {
            return false;
        }
        let team = self.adopt(region.origin());
        let outer = self.enter_team(team);
        self.teams.begun_since(region.begun());
        if let Some(place) = self.openmp.frames.get_mut(depth) {
            *place = Some(Frame {
                before: self.openmp.now,
                outer,
                root: self.contexts.root,
                stack_pointer,
            });
        }
        self.openmp.depth = depth + 1;
        self.openmp.now = Now {
            region: Some(region),
            team,
            barriers: 0,
            waiting: Waiting::No,
            idle: false,
        };
        true
    }

    /// A thread without work gets some.
    fn wake(&mut self) {
        if self.openmp.now.idle {
            // Its last part is over.
            self.openmp.depth = self.openmp.depth.saturating_sub(1);
            self.openmp.now.idle = false;
            self.slept.forget();
            self.in_mpi.store(false, Ordering::Relaxed);
        }
    }

    /// From here on, call paths are below the region, without the frames from `cut` on.
    pub fn hang_under_region(&mut self, cut: u64) {
        self.contexts.root = Root {
            ctx: self.openmp.now.team,
            cut,
        };
    }

    /// The thread has done its part, and waits for the team.
    pub fn leave_region(&mut self) {
        let at = self.openmp.depth.wrapping_sub(1);
        let (frame, region) = (self.openmp.frame(), self.openmp.now.region);
        let level = self.openmp.level_at(at);
        let (Some(frame), Some(level), Some(region)) = (frame, level, region) else {
            return;
        };
        let part = level.part();
        let arrival = self.leave_team(frame.outer);
        self.contexts.root = frame.root;
        self.openmp.now.waiting = Waiting::End(part);
        let theirs = !self.openmp.began_by(self.number);
        if theirs {
            self.openmp.now.idle = true;
            self.in_mpi.store(true, Ordering::Relaxed);
        }
        // From here on, the thread that began the region may go on.
        region.add(part, arrival);
    }

    /// The runtime reports to the thread that began the region that the team is through.
    pub fn end_region(&mut self) {
        let Now {
            region,
            team,
            waiting,
            ..
        } = self.openmp.now;
        let (Some(region), true) = (region, self.openmp.began_by(self.number)) else {
            return;
        };
        region.settle();
        let waited = match waiting {
            Waiting::End(part) => {
                let (arrival, end, own) = region.ended(part);
                if self.openmp.depth == 1 {
                    self.teams.has_met(arrival, end, own);
                }
                end.saturating_sub(arrival.at)
            }
            _ => 0,
        };
        self.back_to(self.openmp.depth - 1);
        self.locked(waited);
        self.waited_for_all(team, waited);
    }

    /// Leaves all regions deeper than `depth`, however the thread got out of them.
    pub fn back_to(&mut self, depth: usize) {
        while self.openmp.depth > depth
            && let Some(frame) = self.openmp.frame()
        {
            if !matches!(self.openmp.now.waiting, Waiting::End(_)) {
                self.leave_team(frame.outer);
                self.contexts.root = frame.root;
            }
            self.openmp.depth -= 1;
            self.openmp.now = frame.before;
        }
    }

    /// Arrives at a barrier by the call `from`. Returns its context if the barrier is a team's.
    pub fn enter_barrier(&mut self, from: Caller) -> Option<u32> {
        self.openmp.now.region?;
        let ctx = self.context(from);
        self.enter_barrier_at(ctx)
    }

    /// The same at context `ctx`.
    pub fn enter_barrier_at(&mut self, ctx: u32) -> Option<u32> {
        let Now {
            region,
            waiting,
            barriers,
            team,
            ..
        } = self.openmp.now;
        let region = region.filter(|_| matches!(waiting, Waiting::No))?;
        let ctx = if ctx == NONE { team } else { ctx };
        self.barrier_enter(ctx);
        let arrival = self.arrival();
        self.openmp.now.waiting = Waiting::Barrier(arrival);
        region.arrive(barriers, arrival);
        Some(ctx)
    }

    /// Leaves the barrier.
    pub fn leave_barrier(&mut self, ctx: u32) {
        let Now {
            region,
            waiting,
            barriers,
            ..
        } = self.openmp.now;
        let (Some(region), Waiting::Barrier(arrival)) = (region, waiting) else {
            return;
        };
        self.openmp.now.waiting = Waiting::No;
        self.openmp.now.barriers = barriers.wrapping_add(1);
        let now = clock::now();
        let last = region.last(barriers).load(Ordering::Acquire).min(now);
        if self.openmp.depth == 1 && self.openmp.began_by(self.number) {
            let own = region.longest(barriers).load(Ordering::Relaxed);
            self.teams.has_met(arrival, last, own);
        }
        self.barrier_left(arrival, Some(last));
        self.waited_for_all(ctx, now.saturating_sub(arrival.at));
    }

    /// Runs a task of the region that the thread is in.
    ///
    /// # Safety
    /// The function takes one pointer.
    pub unsafe fn run_task(&mut self, function: usize, argument: u64) {
        let begun = self.begin_task();
        // SAFETY: promised by the caller.
        unsafe {
            root::run(
                &raw mut self.contexts.root,
                begun.before.team,
                function,
                argument,
            )
        };
        self.end_task(begun);
    }

    /// A task of the region that the thread is in begins.
    pub fn begin_task(&mut self) -> Task {
        let before = self.openmp.now;
        self.openmp.now.waiting = Waiting::No;
        self.openmp.now.idle = false;
        if before.idle {
            self.in_mpi.store(false, Ordering::Relaxed);
        }
        let start = match before.waiting {
            Waiting::No => (0, 0),
            // It is a part of what the thread was doing before that wait, which is measured as a whole.
            Waiting::Else(_) => (clock::now(), 0),
            _ => self.task_begin(),
        };
        Task { before, start }
    }

    /// It ends.
    pub fn end_task(&mut self, Task { before, start }: Task) {
        self.openmp.now = before;
        if before.idle {
            self.in_mpi.store(true, Ordering::Relaxed);
        }
        if !matches!(before.waiting, Waiting::No) {
            self.task_over(before, start);
        }
    }

    /// What was done since `start` was not waiting.
    fn task_over(&mut self, before: Now, start: (u64, u64)) {
        match (before.waiting, before.region) {
            (Waiting::Barrier(mut arrival), Some(region)) => {
                let (now, work) = self.task_end(start);
                arrival.worked(work);
                self.openmp.now.waiting = Waiting::Barrier(arrival);
                region.still_works(before.barriers, arrival.own, now);
            }
            (Waiting::End(part), Some(region)) => {
                let (now, work) = self.task_end(start);
                region.worked(part, work, now);
            }
            (Waiting::Else(worked), _) => {
                let wall = clock::now().saturating_sub(start.0);
                self.openmp.now.waiting = Waiting::Else(worked + wall);
            }
            _ => {}
        }
    }
}
