//! Divides off-CPU time into waiting for a core and being asleep.
//!
//! The scheduler counts the time of waiting for a core, but reading its count costs two system calls. So it is read
//! only when enough off-CPU time has accumulated.
//!
//! A thread that falls asleep gives up its core itself, which the scheduler counts as a voluntary context switch. So
//! a thread without such a switch was not asleep. All of its off-CPU time is then waiting for a core, even if the
//! scheduler's count leaves some out, as when a hypervisor took the core or a quota ended.

use crate::guest::schedstat::Schedstat;

/// The scheduler is asked after this much off-CPU time, nanoseconds.
const WORTH_ASKING: u64 = 100_000;

/// What the scheduler has counted for a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counted {
    /// Time ready to run but without a core, nanoseconds.
    pub delay: u64,
    /// Voluntary context switches.
    pub sleeps: u64,
}

impl Counted {
    /// The counts of the calling thread.
    pub fn here(stat: &Schedstat) -> Self {
        Self {
            delay: stat.run_delay(),
            sleeps: sleeps(),
        }
    }
}

/// What a thread knows about its off-CPU time, nanoseconds.
#[derive(Clone, Copy)]
pub struct OffCore {
    /// The scheduler's counts when it was last asked.
    asked: Counted,
    /// Off-CPU time since then, and how much of it was reported as waiting.
    since: u64,
    given: u64,
    /// How many of 1,024 parts were waiting when the scheduler was last asked.
    share: u64,
    /// Time asleep in system calls since the interval began.
    slept: u64,
}

impl Default for OffCore {
    fn default() -> Self {
        Self {
            asked: Counted::default(),
            since: 0,
            given: 0,
            share: 1024,
            slept: 0,
        }
    }
}

impl OffCore {
    /// Begins again with these counts of the scheduler.
    pub fn begin(&mut self, counted: Counted) {
        (self.asked, self.since, self.given, self.slept) = (counted, 0, 0, 0);
    }

    /// Returns how much of the off-CPU time of an interval that has ended was waiting for a core. Short times are
    /// divided in the same ratio as the last ones. When enough of them have accumulated, `ask` returns the
    /// scheduler's counts, which correct the sum.
    #[inline]
    pub fn waiting(&mut self, off: u64, ask: impl FnOnce() -> Counted) -> u64 {
        self.slept = 0;
        self.since += off;
        if self.since < WORTH_ASKING {
            let waiting = off * self.share / 1024;
            self.given += waiting;
            return waiting;
        }
        let counted = ask();
        let waited = if counted.sleeps > self.asked.sleeps {
            counted.delay.saturating_sub(self.asked.delay)
        } else {
            self.since
        };
        let waiting = waited.saturating_sub(self.given).min(off);
        self.share = (waited.saturating_mul(1024) / self.since).min(1024);
        (self.asked, self.since, self.given) = (counted, 0, 0);
        waiting
    }

    /// Returns how long the thread was asleep in the call that ends now and took `wall`. `off` is the off-CPU time
    /// since the interval began, which includes time before the call. `counted` are the scheduler's counts now.
    pub fn asleep(&mut self, off: u64, wall: u64, counted: Counted) -> u64 {
        if counted.sleeps <= self.asked.sleeps {
            return 0;
        }
        let waited = counted.delay.saturating_sub(self.asked.delay);
        let waited = waited.saturating_sub(self.given);
        let asleep = off.saturating_sub(waited + self.slept).min(wall);
        self.slept += asleep;
        asleep
    }
}

/// Voluntary and other context switches of the calling thread.
fn switches() -> (u64, u64) {
    // SAFETY: a zeroed structure is filled by the call, which a handler may make.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
        usage
    };
    let positive = |n| u64::try_from(n).unwrap_or(0);
    (positive(usage.ru_nvcsw), positive(usage.ru_nivcsw))
}

/// Voluntary context switches of the calling thread.
pub fn sleeps() -> u64 {
    switches().0
}

/// Whether the calling thread has had its core since it first got one: from then on it has waited for none.
pub fn never_left() -> bool {
    switches() == (0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The scheduler's counts.
    fn counted(delay: u64, sleeps: u64) -> Counted {
        Counted { delay, sleeps }
    }

    #[test]
    fn many_short_sleeps_are_not_waiting_for_a_core() {
        let (mut off_core, mut waiting) = (OffCore::default(), 0);
        for step in 1..=1000 {
            waiting += off_core.waiting(60_000, || counted(0, step));
        }
        assert!(waiting <= 60_000, "{waiting} of 60,000,000");
    }

    #[test]
    fn a_thread_that_never_gave_its_core_up_was_not_asleep() {
        // A hypervisor took the core: the scheduler counted neither waiting nor a voluntary switch.
        let mut off_core = OffCore::default();
        off_core.begin(counted(1_000, 7));
        let asleep = off_core.asleep(3_000_000, 2_000_000, counted(1_000, 7));
        assert_eq!(asleep, 0);
        assert_eq!(off_core.waiting(3_000_000, || counted(1_000, 7)), 3_000_000);
        // Then it sleeps, as it says itself.
        let asleep = off_core.asleep(3_000_000, 3_000_000, counted(1_000, 8));
        assert_eq!(asleep, 3_000_000);
        assert_eq!(off_core.waiting(3_000_000, || counted(1_000, 8)), 0);
    }

    #[test]
    fn sleep_is_never_more_than_the_time_off_the_core_that_waiting_leaves() {
        let (mut off_core, mut at) = (OffCore::default(), Counted::default());
        let (mut slept, mut not_waited) = (0, 0);
        for step in 0..10_000u64 {
            let off = step * 7919 % 400_000;
            let sleeps = step % 3 == 0;
            at.delay += if sleeps { off / 4 } else { off / 2 };
            at.sleeps += u64::from(sleeps);
            let asleep = off_core.asleep(off, off / 2, at);
            let waiting = off_core.waiting(off, || at);
            assert!(asleep <= off / 2 && waiting <= off, "step {step}");
            (slept, not_waited) = (slept + asleep, not_waited + off - waiting);
        }
        assert!(not_waited <= at.sleeps * 800_000, "{not_waited}");
        assert!(slept > 0);
    }

    #[test]
    fn waiting_before_a_sleep_is_not_taken_from_it() {
        let mut off_core = OffCore::default();
        off_core.begin(counted(1_000, 0));
        // 40 ms without a core, then a call that slept 4 ms and had no core for 36 ms more.
        let asleep = off_core.asleep(80_000_000, 40_000_000, counted(76_001_000, 1));
        assert_eq!(asleep, 4_000_000);
        // Computation without a core, then a call that only slept.
        let asleep = off_core.asleep(95_000_000, 5_000_000, counted(86_001_000, 2));
        assert_eq!(asleep, 5_000_000);
    }

    #[test]
    fn what_was_given_out_is_not_given_twice() {
        let (mut off_core, mut at) = (OffCore::default(), Counted::default());
        let mut waiting = 0;
        for step in 0..1000u64 {
            // A third of the time is waiting.
            (at.delay, at.sleeps) = (at.delay + 20_000, step + 1);
            let off = 60_000 + step % 3 * 30_000;
            waiting += off_core.waiting(off, || at);
        }
        assert!((19_000_000..21_000_000).contains(&waiting), "{waiting}");
    }
}
