//! Time off the core, divided into waiting for one and being asleep. The scheduler keeps count of the
//! first, but asking it costs a system call, so it is asked when enough has come together.

/// Time off the core after which the scheduler is asked, nanoseconds.
const WORTH_ASKING: u64 = 100_000;

/// What a thread remembers of its time off the core, nanoseconds.
#[derive(Clone, Copy)]
pub struct OffCore {
    /// The scheduler's count when it was last asked.
    delay: u64,
    /// Time off the core since, and how much of it was said to be waiting.
    since: u64,
    given: u64,
    /// How much of 1,024 parts was waiting when last asked.
    share: u64,
    /// Time asleep in system calls since the interval began.
    slept: u64,
}

impl Default for OffCore {
    fn default() -> Self {
        Self {
            delay: 0,
            since: 0,
            given: 0,
            share: 1024,
            slept: 0,
        }
    }
}

impl OffCore {
    /// Begins anew with the scheduler's count as it is.
    pub fn begin(&mut self, delay: u64) {
        (self.delay, self.since, self.given, self.slept) = (delay, 0, 0, 0);
    }

    /// How much of the time off the core in an interval that has ended was waiting for a core. Short
    /// times are divided as the last ones were; when they have summed up, `ask` gives the truth.
    #[inline]
    pub fn waiting(&mut self, off: u64, ask: impl FnOnce() -> u64) -> u64 {
        self.slept = 0;
        self.since += off;
        if self.since < WORTH_ASKING {
            let waiting = off * self.share / 1024;
            self.given += waiting;
            return waiting;
        }
        let delay = ask();
        let waited = delay.saturating_sub(self.delay);
        let waiting = waited.saturating_sub(self.given).min(off);
        self.share = (waited * 1024 / self.since).min(1024);
        (self.delay, self.since, self.given) = (delay, 0, 0);
        waiting
    }

    /// How long the thread was asleep in the call that ends now and took `wall`, where it has been `off`
    /// the core since the interval began, before the call too; `delay` is the scheduler's count.
    pub fn asleep(&mut self, off: u64, wall: u64, delay: u64) -> u64 {
        let waited = delay.saturating_sub(self.delay).saturating_sub(self.given);
        let asleep = off.saturating_sub(waited + self.slept).min(wall);
        self.slept += asleep;
        asleep
    }
}

/// The scheduler's count of the thread whose `schedstat` is open as `file`: its second number.
pub fn run_delay(file: libc::c_int) -> u64 {
    let mut text = [0u8; 64];
    // SAFETY: reads into our own buffer; the system call itself, as `pread` is wrapped.
    let n = unsafe { libc::syscall(libc::SYS_pread64, file, text.as_mut_ptr(), text.len(), 0) };
    let text = text.get(..n.max(0) as usize).unwrap_or(&[]);
    let second = text.split(|b| *b == b' ').nth(1).unwrap_or(&[]);
    second
        .iter()
        .take_while(|b| b.is_ascii_digit())
        .fold(0u64, |n, b| {
            n.wrapping_mul(10).wrapping_add(u64::from(b - b'0'))
        })
}

/// Whether a descriptor is still one of a file that says as much: a program may close what it does not know.
pub fn is_schedstat(file: libc::c_int) -> bool {
    const PROC: libc::c_long = 0x9fa0;
    // SAFETY: a zeroed structure is filled by the call.
    unsafe {
        let mut of: libc::statfs = std::mem::zeroed();
        libc::fstatfs(file, &mut of) == 0 && of.f_type as libc::c_long == PROC
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_short_sleeps_are_not_waiting_for_a_core() {
        let (mut off_core, mut waiting) = (OffCore::default(), 0);
        for _ in 0..1000 {
            waiting += off_core.waiting(60_000, || 0);
        }
        assert!(waiting <= 60_000, "{waiting} of 60,000,000");
    }

    #[test]
    fn waiting_before_a_sleep_is_not_taken_from_it() {
        let mut off_core = OffCore::default();
        off_core.begin(1_000);
        // 40 ms without a core, then a call that slept 4 ms and had no core for 36 ms more.
        let asleep = off_core.asleep(80_000_000, 40_000_000, 76_001_000);
        assert_eq!(asleep, 4_000_000);
        // Computation without a core, then a call that only slept.
        let asleep = off_core.asleep(95_000_000, 5_000_000, 86_001_000);
        assert_eq!(asleep, 5_000_000);
    }

    #[test]
    fn what_was_given_out_is_not_given_twice() {
        let (mut off_core, mut waited) = (OffCore::default(), 0);
        let mut waiting = 0;
        for step in 0..1000u64 {
            // A third of the time is waiting.
            waited += 20_000;
            let off = 60_000 + step % 3 * 30_000;
            waiting += off_core.waiting(off, || waited);
        }
        assert!((19_000_000..21_000_000).contains(&waiting), "{waiting}");
    }
}
