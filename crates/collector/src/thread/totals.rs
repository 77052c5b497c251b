//! What a thread did in all, without what it did in pauses of recording.
//!
//! The thread itself reads its clock now and then. What it had used when a pause began and when it ended is read by
//! who pauses, so that it is exact for any number of pauses, however short. Its time without a core in pauses would cost
//! a system call more, for every thread and pause: as large a part of it is taken to be theirs as of CPU time.

use super::Thread;
use crate::pause::State;
use crate::{clock, roster};
use std::sync::atomic::{AtomicU64, Ordering};

/// CPU time that a thread used in pauses, nanoseconds. Written by who pauses.
pub struct InPauses {
    /// In those that are over.
    sum: AtomicU64,
    /// What the thread had used when the one that goes on began; 0 where none does.
    since: AtomicU64,
}

impl InPauses {
    /// A thread that has used so much when it is first seen.
    fn begin(&self, cpu: u64) {
        let paused = !State::now().is_on();
        self.sum.store(0, Ordering::Relaxed);
        self.switch(cpu, !paused);
    }

    /// Recording pauses or goes on, and so much has the thread used.
    fn switch(&self, cpu: u64, on: bool) {
        let since = if on { 0 } else { cpu.max(1) };
        let before = self.since.swap(since, Ordering::Relaxed);
        if before > 0 {
            let used = cpu.saturating_sub(before);
            self.sum.fetch_add(used, Ordering::Relaxed);
        }
    }

    /// All until the thread has used so much.
    fn until(&self, cpu: u64) -> u64 {
        let now = match self.since.load(Ordering::Relaxed) {
            0 => 0,
            since => cpu.saturating_sub(since),
        };
        self.sum.load(Ordering::Relaxed) + now
    }
}

/// What a thread's totals were when it was first seen, and what it had used then.
pub struct Base {
    /// CPU time: of threads before it in this row, and its own clock.
    cpu: (u64, u64),
    /// Time without a core, likewise.
    runq: (u64, u64),
    /// CPU time since, without pauses and in all.
    counted: (u64, u64),
    in_pauses: InPauses,
}

impl Base {
    /// Nothing.
    pub const fn new() -> Self {
        Self {
            cpu: (0, 0),
            runq: (0, 0),
            counted: (0, 0),
            in_pauses: InPauses {
                sum: AtomicU64::new(0),
                since: AtomicU64::new(0),
            },
        }
    }
}

/// Recording pauses or goes on in all threads.
pub fn switch(on: bool) {
    for at in roster::all() {
        // SAFETY: recordings are never freed, and what is looked at is atomic.
        let t = unsafe { &*at };
        let tid = t.tid.load(Ordering::Acquire);
        if let Some(cpu) = Some(tid).filter(|t| *t > 0).and_then(clock::cpu_of) {
            t.base.in_pauses.switch(cpu, on);
        }
    }
}

impl Thread {
    /// What a thread has when it is first seen, or again in place of one that has ended, is not its own.
    pub(super) fn begin_totals(&mut self, cpu: u64) {
        let now = clock::now();
        if self.totals.begin_ns == 0 {
            self.totals.begin_ns = now;
            self.totals.paused_before_ns = State::now().paused(now);
        }
        self.base.cpu = (self.totals.cpu_ns, cpu);
        self.base.runq = (self.totals.runq_ns, self.run_delay());
        self.base.in_pauses.begin(cpu);
        self.seen(cpu, now);
    }

    /// A sign of life: so much CPU time has it had.
    pub(super) fn seen(&mut self, cpu: u64, now: u64) {
        let all = cpu.saturating_sub(self.base.cpu.1);
        let own = all.saturating_sub(self.base.in_pauses.until(cpu));
        self.base.counted = (own, all);
        self.totals.cpu_ns = self.base.cpu.0 + own;
        self.totals.end_ns = now;
        self.totals.paused_ns = State::now().paused(now);
    }

    /// Time without a core, which the scheduler tells; MPI calls and segments count it themselves.
    pub fn delayed(&mut self, run_delay: u64) {
        if !self.calls_mpi {
            let (own, all) = self.base.counted;
            let since = run_delay.saturating_sub(self.base.runq.1);
            let counted = u128::from(since) * u128::from(own) / u128::from(all.max(1));
            let counted = if all == 0 { since } else { counted as u64 };
            self.totals.runq_ns = self.base.runq.0 + counted;
        }
    }

    /// What it has come to.
    pub(super) fn sum_up(&mut self, cpu: u64, now: u64) {
        self.seen(cpu, now);
        self.delayed(self.run_delay());
    }

    /// CPU time of the thread that has the row now, without pauses and what was placed before.
    pub(super) fn own_cpu(&self) -> u64 {
        self.base.counted.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_in_pauses_is_known_at_any_time() {
        let Base { in_pauses, .. } = Base::new();
        assert_eq!(in_pauses.until(10), 0);
        in_pauses.switch(10, false);
        assert_eq!(in_pauses.until(13), 3);
        in_pauses.switch(20, true);
        in_pauses.switch(30, false);
        in_pauses.switch(31, true);
        assert_eq!(in_pauses.until(90), 11);
    }
}
