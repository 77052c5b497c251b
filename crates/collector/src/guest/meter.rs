//! Measures a thread's CPU time in intervals, and divides its off-CPU time into waiting for a core and being asleep.
//!
//! Reading the CPU time costs a system call, so it is read only at the end of intervals that are worth it. Off-CPU
//! time since the last reading then belongs to the interval that has just ended.

use crate::guest::{
    clock,
    off_core::{Counted, OffCore},
    schedstat::Schedstat,
};

/// How an interval divides, nanoseconds.
#[derive(Clone, Copy, Default)]
pub struct Spent {
    /// On the core.
    pub cpu: u64,
    /// Ready to run, but without a core.
    pub runq: u64,
    /// Asleep.
    pub blocked: u64,
}

impl std::ops::AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        self.cpu += other.cpu;
        self.runq += other.runq;
        self.blocked += other.blocked;
    }
}

impl std::ops::Sub for Spent {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            cpu: self.cpu - other.cpu,
            runq: self.runq - other.runq,
            blocked: self.blocked - other.blocked,
        }
    }
}

/// The last reading, nanoseconds.
#[derive(Default)]
pub struct Meter {
    cpu: u64,
    at: u64,
    off_core: OffCore,
}

/// Reading the scheduler's counts takes at most this long if the thread keeps its core meanwhile, nanoseconds.
const AT_ONCE: u64 = 50_000;

/// Attempts at such a reading; after the last one, a longer reading is accepted.
const READINGS: usize = 3;

/// The scheduler's counts as they were at `now`, when the thread had used `cpu` of CPU time. Since kernel 6.13, a
/// thread whose time slice is over loses its core as it returns from a system call, so mostly in this reading. This
/// wait must not count for the time before.
fn counted(now: u64, cpu: u64, stat: &Schedstat) -> Counted {
    let (mut counted, mut at) = (Counted::default(), now);
    for _ in 0..READINGS {
        counted = Counted::here(stat);
        let read = clock::now();
        let took = read.saturating_sub(at);
        at = read;
        if took <= AT_ONCE {
            break;
        }
    }
    let since = at.saturating_sub(now);
    if since > AT_ONCE {
        let worked = clock::thread_cpu().saturating_sub(cpu);
        counted.delay = counted.delay.saturating_sub(since.saturating_sub(worked));
    }
    counted
}

impl Meter {
    /// Begins again at `now`.
    pub fn begin(&mut self, now: u64, stat: &Schedstat) {
        (self.cpu, self.at) = (clock::thread_cpu(), now);
        self.off_core.begin(counted(now, self.cpu, stat));
    }

    /// Begins at `now` for a thread that was born just before, so that the scheduler has counted next to nothing.
    /// It has used `cpu` nanoseconds of CPU time.
    pub fn begin_newborn(&mut self, now: u64, cpu: u64) {
        (self.cpu, self.at) = (cpu, now);
        self.off_core.begin(Counted::default());
    }

    /// Begins again at `now`, but keeps what is known of the time off the core: the scheduler is not asked.
    pub fn rebase(&mut self, now: u64) {
        (self.cpu, self.at) = (clock::thread_cpu(), now);
    }

    /// Divides an interval that has just ended. One shorter than `worth` counts as CPU time.
    #[inline]
    pub fn spent(&mut self, interval: u64, now: u64, worth: u64, stat: &Schedstat) -> Spent {
        if interval < worth {
            return Spent {
                cpu: interval,
                ..Default::default()
            };
        }
        let cpu = clock::thread_cpu();
        let elapsed = now.saturating_sub(self.at);
        let off = elapsed
            .saturating_sub(cpu.saturating_sub(self.cpu))
            .min(interval);
        (self.cpu, self.at) = (cpu, now);
        let runq = self.off_core.waiting(off, || counted(now, cpu, stat));
        Spent {
            cpu: interval - off,
            runq,
            blocked: off - runq,
        }
    }

    /// Divides an interval that has just ended if the last reading was before its beginning. The CPU time since then
    /// may have been used before the interval.
    pub fn at_most(&mut self, interval: u64, now: u64, stat: &Schedstat) -> Spent {
        let now_cpu = clock::thread_cpu();
        let cpu = now_cpu.saturating_sub(self.cpu).min(interval);
        (self.cpu, self.at) = (now_cpu, now);
        let off = interval - cpu;
        let runq = self.off_core.waiting(off, || counted(now, now_cpu, stat));
        Spent {
            cpu,
            runq,
            blocked: off - runq,
        }
    }

    /// CPU time in `part` of the time since the last reading, in proportion.
    pub fn share(&self, part: u64, now: u64) -> u64 {
        let cpu = clock::thread_cpu().saturating_sub(self.cpu);
        let elapsed = now.saturating_sub(self.at).max(1);
        let share = u128::from(part) * u128::from(cpu) / u128::from(elapsed);
        u64::try_from(share).map_or(part, |s| s.min(part))
    }

    /// How long the thread was asleep in the call that ends now and took `wall`.
    pub fn asleep(&mut self, wall: u64, stat: &Schedstat) -> u64 {
        let (now, cpu) = (clock::now(), clock::thread_cpu());
        let worked = cpu.saturating_sub(self.cpu);
        let off = now.saturating_sub(self.at).saturating_sub(worked);
        let counted = counted(now, cpu, stat);
        self.off_core.asleep(off, wall, counted)
    }
}
