//! What a thread did in total, without what it did during pauses of recording.
//!
//! The thread itself reads its clock only now and then. But the thread that pauses or resumes recording reads the CPU
//! time of all threads at that moment. So the CPU time in pauses is exact, however many and however short they are.
//! Reading the time that a thread waited for a core would cost another system call for every thread and pause. So it
//! is assumed that the same share of this time is in pauses as of CPU time.

use super::Thread;
use crate::guest::{clock, off_core::never_left};
use crate::threads::{pause::PauseState, roster};
use std::sync::atomic::{AtomicU64, Ordering};

/// CPU time that a thread used in pauses, nanoseconds. The thread that pauses or resumes recording writes it.
pub struct InPauses {
    /// In pauses that are over.
    sum: AtomicU64,
    /// The thread's CPU time when the present pause began; 0 if there is none.
    since: AtomicU64,
}

impl InPauses {
    /// Begins, for a thread that has used `cpu` when it is first seen.
    fn begin(&self, cpu: u64) {
        let paused = !PauseState::now().is_on();
        self.sum.store(0, Ordering::Relaxed);
        self.switch(cpu, !paused);
    }

    /// Recording pauses or resumes when the thread has used `cpu`.
    fn switch(&self, cpu: u64, on: bool) {
        let since = if on { 0 } else { cpu.max(1) };
        let before = self.since.swap(since, Ordering::Relaxed);
        if before > 0 {
            let used = cpu.saturating_sub(before);
            self.sum.fetch_add(used, Ordering::Relaxed);
        }
    }

    /// CPU time in all pauses until the thread has used `cpu`.
    fn until(&self, cpu: u64) -> u64 {
        let now = match self.since.load(Ordering::Relaxed) {
            0 => 0,
            since => cpu.saturating_sub(since),
        };
        self.sum.load(Ordering::Relaxed) + now
    }
}

/// A thread's totals when it was first seen, and what it had used by then.
pub struct Base {
    /// CPU time of earlier threads in this row, and the thread's own CPU clock.
    cpu: (u64, u64),
    /// The same for waiting for a core.
    runq: (u64, u64),
    /// CPU time since, without pauses and in all.
    counted: (u64, u64),
    in_pauses: InPauses,
}

impl Base {
    /// CPU time of the thread since its totals began until it was last seen, nanoseconds.
    pub(super) fn lived(&self) -> u64 {
        self.counted.1
    }

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

/// Recording pauses or resumes in all threads.
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
    /// Begins the totals of a thread that is first seen, or that takes over the row of one that has ended. What the
    /// clock and the row show then is not its own. The first wait for a core, of a thread that `is_born` here, is its own: it
    /// was ready to run beside the others from the beginning. Of one about which the scheduler was not asked, it is nothing.
    pub(super) fn begin_totals(&mut self, cpu: u64, is_born: bool) {
        let now = clock::now();
        let is_newborn = is_born && self.schedstat.is_unread();
        let delayed = if is_newborn { 0 } else { self.run_delay() };
        let own = if is_born { delayed } else { 0 };
        if self.totals.begin_ns == 0 {
            let begin = now.saturating_sub(own);
            self.totals.begin_ns = begin;
            self.totals.paused_before_ns = PauseState::now().paused(begin);
        }
        self.base.cpu = (self.totals.cpu_ns, cpu);
        self.base.runq = (self.totals.runq_ns, delayed - own);
        self.base.in_pauses.begin(cpu);
        self.seen(cpu, now);
    }

    /// The thread was seen, with this much CPU time.
    pub(super) fn seen(&mut self, cpu: u64, now: u64) {
        let all = cpu.saturating_sub(self.base.cpu.1);
        let own = all.saturating_sub(self.base.in_pauses.until(cpu));
        self.base.counted = (own, all);
        self.totals.cpu_ns = self.base.cpu.0 + own;
        self.totals.end_ns = now;
        self.totals.paused_ns = PauseState::now().paused(now);
    }

    /// Counts the time of waiting for a core, which the scheduler reports. For threads that call MPI, calls and
    /// segments count it themselves.
    pub fn delayed(&mut self, run_delay: u64) {
        if !self.calls_mpi {
            let (own, all) = self.base.counted;
            let since = run_delay.saturating_sub(self.base.runq.1);
            let counted = u128::from(since) * u128::from(own) / u128::from(all.max(1));
            let counted = if all == 0 { since } else { counted as u64 };
            self.totals.runq_ns = self.base.runq.0 + counted;
        }
    }

    /// Time this thread has waited for a core since it began, nanoseconds.
    pub fn run_delay(&self) -> u64 {
        self.schedstat.run_delay()
    }

    /// The same of the calling thread. The scheduler is not asked for the first time if the thread never left its core.
    pub(super) fn own_run_delay(&self) -> u64 {
        if self.schedstat.is_unread() && never_left() {
            return 0;
        }
        self.run_delay()
    }

    /// Writes its totals. `run_delay` is its time of waiting for a core, nanoseconds.
    pub(super) fn sum_up(&mut self, cpu: u64, now: u64, run_delay: u64) {
        self.seen(cpu, now);
        self.delayed(run_delay);
    }

    /// CPU time of the thread that has the row now, without pauses.
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
