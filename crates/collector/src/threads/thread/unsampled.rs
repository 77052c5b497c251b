//! Charges CPU time that no sample represents to the routine in which a thread started.
//!
//! A thread that lives for less than a sampling period ends before its first sample. So do all threads that a program
//! creates again in each step. So what a thread has used since its last sample is counted at its start routine, in a
//! row without a sample. The next thread in the same recording that starts there continues this time: its first
//! sample comes earlier by it, represents it too, and takes it out of the start routine again. So short-lived threads
//! together are sampled like one thread that lives as long as all of them, and no time is lost.

use super::Thread;
use crate::guest::clock;
use headwater_call_path::NONE;
use std::sync::atomic::Ordering;

/// What was counted at the start routine and is not part of a sample yet.
pub struct Unsampled {
    /// Context of the start routine; [`NONE`] if it is not known.
    start: u32,
    /// CPU time, nanoseconds.
    carried: u64,
}

impl Unsampled {
    /// Nothing.
    pub const NONE: Self = Self {
        start: NONE,
        carried: 0,
    };

    /// CPU time that the next sample represents beside its own, nanoseconds.
    pub fn carried(&self) -> u64 {
        self.carried
    }
}

impl Thread {
    /// The thread that begins runs the start routine at this address.
    pub fn starts_with(&mut self, routine: usize) {
        let root = self.made_by();
        let start = if root == NONE {
            NONE
        } else {
            self.contexts.of_routine(routine as u64, root)
        };
        if start != self.unsampled.start {
            self.unsampled = Unsampled { start, carried: 0 };
        }
    }

    /// The thread was expected to end soon and has not: it is sampled from now on. The signal handler calls this.
    pub fn sample_late(&mut self) {
        let used = clock::thread_cpu().saturating_sub(self.sampled_at.0) + self.unsampled.carried;
        let tid = self.tid.load(Ordering::Relaxed);
        self.sampler.begin_late(tid, used);
    }

    /// Counts at the start routine what the thread has used since its last sample, now that it has used `cpu`.
    /// Threads that call MPI have their computation in segments.
    pub(super) fn place_unsampled(&mut self, cpu: u64) {
        let start = self.unsampled.start;
        if self.calls_mpi || start == NONE {
            return;
        }
        // This may include pauses, which no total includes.
        let rest = cpu.saturating_sub(self.sampled_at.0).min(self.own_cpu());
        self.sampled_at.0 = cpu;
        if let Some(row) = self.sample_row(start) {
            row.cpu_ns += rest;
            self.unsampled.carried += rest;
        }
    }

    /// Takes what earlier threads used out of the start routine, for the sample that is being taken. The signal
    /// handler calls this.
    pub fn take_carried(&mut self) -> u64 {
        let carried = std::mem::take(&mut self.unsampled.carried);
        if carried == 0 {
            return 0;
        }
        let start = self.unsampled.start;
        let Some(row) = self.sample_row(start) else {
            return 0;
        };
        let taken = carried.min(row.cpu_ns);
        row.cpu_ns -= taken;
        taken
    }
}
