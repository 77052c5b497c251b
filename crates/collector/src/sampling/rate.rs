//! When samples of a thread are due: a performance event or a timer on the thread's CPU time sends a signal.

use crate::guest::{clock, descriptors::Refused};
use crate::sampling::{
    counters::{self, Counters, Event, Scope},
    signal::{self, SIGNAL, marker},
};
use crate::storage::process_spool::say;
use std::sync::atomic::{AtomicU32, Ordering, compiler_fence};

/// Samples per second of CPU time.
pub static HZ: AtomicU32 = AtomicU32::new(200);

/// What the sampler knows about a thread.
pub struct SamplerState {
    /// Counters of the thread.
    pub counters: Counters,
    /// Performance event that sends the signals; negative if a timer sends them.
    pub event: libc::c_int,
    /// The timer; null if an event sends the signals.
    timer: libc::timer_t,
    random: u64,
    pub taken: u32,
    /// CPU time from the last sample to the next one, nanoseconds.
    period: u64,
    /// Whether the event or timer was started with less than that, because earlier threads used a part of it.
    shortened: bool,
    /// Whether a timer only tells that the thread lives longer than expected, so that sampling is yet to begin.
    expects_end: bool,
    /// CPU time that threads with this recording use until they end, nanoseconds: the most that the latest did.
    life: u64,
    /// Why there is no event, and whether not all counters could be opened, which are yet to be said.
    refused: Option<Refused>,
    lacks_counters: bool,
}

/// Samples between two draws of the period, and between two readings of the kernel's counters: each
/// costs system calls.
pub const REDRAW: u32 = 4;

/// Signals of a thread at the full rate. Signals in MPI count too: they take no sample but cost the same. From then
/// on the rate halves whenever the number of signals has doubled. The error of a share of the run's time falls with
/// the square root of the number of samples, but their cost does not fall.
const AT_FULL_RATE: u32 = 256;
/// The rate halves at most this often, so that a phase late in a long run is also seen.
const HALVINGS: u32 = 3;

/// The kernel's count of the thread's CPU time, nanoseconds.
const CPU_TIME: Event = Event("task_clock", 1, 1);
const IOC_PERIOD: libc::c_ulong = 0x4008_2404;
const IOC_DISABLE: libc::c_ulong = 0x2401;

/// The shortest first period of a thread that continues the period of earlier threads, nanoseconds.
const LEAST_LEFT: u64 = 20_000;

/// A thread is expected to end before its first sample if that is due after so many times what earlier threads in the
/// same place have used.
const LIVES: u64 = 2;

/// The average CPU time between samples after `taken` signals, nanoseconds.
fn usual_period(taken: u32) -> u64 {
    let halvings = (taken / AT_FULL_RATE).checked_ilog2().map_or(0, |n| n + 1);
    (1_000_000_000 / u64::from(HZ.load(Ordering::Relaxed).max(1))) << halvings.min(HALVINGS)
}

/// What it means that a thread has no performance event.
fn words(refused: Refused) -> &'static str {
    match refused {
        Refused::NotOpened => {
            "Performance events are not permitted, so samples fall on ticks of the kernel; where ranks outnumber cores, loops that follow a synchronisation closely may be missed by them."
        }
        Refused::NotMoved => {
            "A sandbox forbids fcntl, without which the collector keeps no file open beside the program's: samples fall on ticks of the kernel, and waiting for a core was not distinguished from sleep."
        }
        Refused::NoneLeft => {
            "The process may have few files open (ulimit -n), of which the collector takes at most a quarter: further threads were sampled on ticks of the kernel, and their waiting for a core was not distinguished from sleep."
        }
    }
}

impl SamplerState {
    /// Nothing started.
    pub const fn new() -> Self {
        Self {
            counters: Counters::new(),
            event: -1,
            timer: std::ptr::null_mut(),
            random: 0x9e37_79b9_7f4a_7c15,
            taken: 0,
            period: 0,
            shortened: false,
            expects_end: false,
            life: 0,
            refused: None,
            lacks_counters: false,
        }
    }

    /// Starts sampling the thread `tid`. A performance event on the thread's own clock is exact to the nanosecond. If
    /// that is not permitted, a CPU time timer is used, which fires only at ticks of the kernel. Earlier threads that
    /// started at the same place had `carried` nanoseconds of CPU time since their last sample: the first sample
    /// comes earlier by that. The kernel has counted nothing yet for a newborn thread.
    pub fn start(&mut self, tid: libc::pid_t, carried: u64, is_newborn: bool) {
        signal::install();
        self.random ^= (tid as u64) << 20;
        if carried == 0 {
            self.period = usual_period(self.taken);
        }
        self.shortened = carried > 0;
        let first = self.period.saturating_sub(carried).max(LEAST_LEFT);
        self.counters.begin(is_newborn);
        // Opening events takes as long as some threads live, and a timer takes little.
        let expected = self.life.saturating_mul(LIVES);
        self.expects_end = expected > 0 && first > expected && self.start_timer(tid, expected);
        if !self.expects_end {
            self.sample_after(tid, first);
        }
    }

    /// The thread has ended, after so much CPU time in nanoseconds.
    pub fn has_lived(&mut self, cpu: u64) {
        self.say_refused();
        self.life = cpu.max(self.life - self.life / 8);
    }

    /// Whether the thread is expected to end before its first sample: a signal of its timer says that it has not.
    pub fn expects_end(&self) -> bool {
        self.expects_end
    }

    /// Begins to sample the calling thread `tid`, which lives longer than expected and has `used` nanoseconds since the last
    /// sample. For the signal handler.
    pub fn begin_late(&mut self, tid: libc::pid_t, used: u64) {
        self.expects_end = false;
        self.shortened = true;
        // A sample right now would be one at a tick of the kernel.
        let left = self.period.checked_sub(used).filter(|l| *l > LEAST_LEFT);
        let left = left.unwrap_or_else(|| self.draw());
        self.refused = self.start_event(tid, left).err();
        match self.refused {
            // It is deleted when the thread ends, because that frees memory.
            None => self.set_timer(0, 0),
            Some(_) => self.set_timer(left, usual_period(self.taken)),
        };
        self.lacks_counters = !self.counters.open(tid);
    }

    /// Says what could not be had, also where a signal handler found that out. No signal handler may call this.
    pub fn say_refused(&mut self) {
        if let Some(refused) = self.refused.take() {
            say(words(refused));
        }
        if std::mem::take(&mut self.lacks_counters) {
            say(
                "Some threads have no hardware counters, because no more could be opened; their counts are zero.",
            );
        }
    }

    fn sample_after(&mut self, tid: libc::pid_t, first: u64) {
        self.refused = self.start_event(tid, first).err();
        if self.refused.is_some() && !self.start_timer(tid, first) {
            self.refused = None;
            return say(
                "Neither a performance event nor a CPU time timer could be had, so computation was not sampled.",
            );
        }
        self.lacks_counters = !self.counters.open(tid);
        self.say_refused();
    }

    /// Ends sampling.
    pub fn stop(&mut self) {
        // A signal of the timer that comes meanwhile must open nothing.
        self.expects_end = false;
        compiler_fence(Ordering::SeqCst);
        if self.event >= 0 {
            counters::close(self.event);
        }
        if !self.timer.is_null() {
            // SAFETY: our own timer.
            unsafe { libc::timer_delete(self.timer) };
        }
        (self.event, self.timer) = (-1, std::ptr::null_mut());
        self.counters.stop();
    }

    /// For a child after `fork`. It has no timers, and their numbers may be those of timers that it makes itself. Of
    /// the events it has only the descriptors.
    pub fn leave_to_parent(&mut self) {
        self.timer = std::ptr::null_mut();
        self.stop();
    }

    fn start_event(&mut self, tid: libc::pid_t, first: u64) -> Result<(), Refused> {
        /// `struct f_owner_ex`: a thread, by number.
        #[repr(C)]
        struct Owner {
            kind: libc::c_int,
            pid: libc::pid_t,
        }
        const F_SETSIG: libc::c_int = 10;
        const F_SETOWN_EX: libc::c_int = 15;
        // If the event excludes the kernel, a period that ends inside the kernel takes no sample, and its time goes
        // to the place where the next period ends. If the event includes the kernel, the signal comes when the kernel
        // returns, which is at the page fault or the system call.
        let open = |scope| counters::open(&CPU_TIME, first, -1, scope, tid);
        let fd = match open(Scope::Everything) {
            Err(Refused::NotOpened) => open(Scope::User)?,
            other => other?,
        };
        let owner = Owner { kind: 0, pid: tid };
        // The handler must know the event as ours from its first signal on, or it would leave a short first period as
        // it is. In a process that a debugger traces, a signal takes longer than that, and the thread would get no
        // further.
        self.event = fd;
        compiler_fence(Ordering::SeqCst);
        // SAFETY: the descriptor is our own. The owner must be the sampled thread, or another one would be
        // interrupted.
        let ready = unsafe {
            libc::fcntl(fd, F_SETSIG, SIGNAL) == 0
                && libc::fcntl(fd, F_SETOWN_EX, &owner) == 0
                && libc::fcntl(fd, libc::F_SETFL, libc::O_ASYNC | libc::O_NONBLOCK) == 0
        };
        if !ready {
            self.event = -1;
            compiler_fence(Ordering::SeqCst);
            counters::close(fd);
            return Err(Refused::NotOpened);
        }
        Ok(())
    }

    fn start_timer(&mut self, tid: libc::pid_t, first: u64) -> bool {
        // SAFETY: the structure is zeroed before its fields are set, as the interface wants; the timer
        // lives as long as the thread.
        unsafe {
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = SIGNAL;
            event.sigev_value.sival_ptr = marker();
            event.sigev_notify_thread_id = tid;
            let clock = clock::clock_of(tid);
            libc::timer_create(clock, &mut event, &mut self.timer) == 0
                && self.set_timer(first, usual_period(self.taken))
        }
    }

    /// Lets the timer fire after `first` nanoseconds and then after every `period`.
    fn set_timer(&self, first: u64, period: u64) -> bool {
        let time = |nanoseconds: u64| libc::timespec {
            tv_sec: (nanoseconds / 1_000_000_000) as libc::time_t,
            tv_nsec: (nanoseconds % 1_000_000_000) as libc::c_long,
        };
        let times = libc::itimerspec {
            it_interval: time(period),
            it_value: time(first),
        };
        // SAFETY: our own timer; a handler may set it.
        unsafe { libc::timer_settime(self.timer, 0, &times, std::ptr::null_mut()) == 0 }
    }

    /// Counts a signal and draws the next period, between half and one and a half of the usual one, so that samples
    /// do not fall into step with the program. A timer keeps its period until the usual one changes: ticks of the
    /// kernel make it uneven enough.
    pub fn next_period(&mut self) {
        let before = usual_period(self.taken);
        self.taken = self.taken.saturating_add(1);
        let usual = usual_period(self.taken);
        if self.event < 0 {
            self.period = usual;
            if usual != before {
                self.set_timer(usual, usual);
            }
        } else if self.shortened || self.taken.is_multiple_of(REDRAW) {
            self.shortened = false;
            self.period = self.draw();
            self.set_period();
        }
    }

    /// A period between half and one and a half of the usual one, nanoseconds.
    fn draw(&mut self) -> u64 {
        let usual = usual_period(self.taken);
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        usual / 2 + self.random % usual.max(1)
    }

    /// Ends a shortened period whose signal takes no sample: the next period is a whole one.
    pub fn end_shortened(&mut self) {
        if std::mem::take(&mut self.shortened) && self.event >= 0 {
            self.set_period();
        }
    }

    /// No further signals come. For the signal handler.
    pub fn halt(&self) {
        if self.event >= 0 {
            // SAFETY: our own event, and no argument that is read.
            unsafe { libc::ioctl(self.event, IOC_DISABLE as _, 0) };
        } else if !self.timer.is_null() {
            self.set_timer(0, 0);
        }
    }

    fn set_period(&self) {
        // SAFETY: our own event; the kernel reads a number.
        unsafe { libc::ioctl(self.event, IOC_PERIOD as _, &self.period) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_falls_as_samples_add_up() {
        let at = |taken| usual_period(taken) / usual_period(0);
        let periods = [0, 255, 256, 511, 512, 1024, 2048, u32::MAX].map(at);
        assert_eq!(periods, [1, 1, 2, 2, 4, 8, 8, 8]);
    }
}
