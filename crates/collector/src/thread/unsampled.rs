//! CPU time of made threads that no sample stands for: it belongs to the routine in which they start.
//!
//! A thread that lives for less than a period of the sampler ends before its first sample, and so do all those that a
//! program makes anew in each step. What a thread has used since its last sample is therefore counted where it started,
//! by a row of no sample. The next thread in the same recording that starts there goes on with it: its first sample
//! comes as much earlier, stands for that time too, and takes it out of the start routine again. So short-lived
//! threads together are sampled as one thread that lives as long as all of them, and none of their time is lost.

use super::Thread;
use crate::context::NONE;

/// What was counted at the start routine and is no sample's yet.
pub struct Unsampled {
    /// Context of the start routine; [`NONE`] where it is not known.
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

    /// CPU time that the next sample stands for beside its own, nanoseconds.
    pub fn carried(&self) -> u64 {
        self.carried
    }
}

impl Thread {
    /// The thread that begins runs the routine at this address.
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

    /// Counts what the thread has used since its last sample, now that it has used `cpu`, at its start routine.
    /// What threads that call MPI compute is in segments.
    pub(super) fn place_unsampled(&mut self, cpu: u64) {
        let start = self.unsampled.start;
        if self.calls_mpi || start == NONE {
            return;
        }
        // Pauses may be in it, but in no total.
        let rest = cpu.saturating_sub(self.sampled_at.0).min(self.own_cpu());
        self.sampled_at.0 = cpu;
        if let Some(row) = self.sample_row(start) {
            row.cpu_ns += rest;
            self.unsampled.carried += rest;
        }
    }

    /// Takes what earlier threads used out of the start routine, for the sample that is being taken. For the handler.
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
