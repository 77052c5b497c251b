//! Samples computation: a performance event or a timer on the thread's CPU time sends a signal.
//!
//! The signal handler takes no sample while the thread is in an MPI wrapper. Otherwise it unwinds the interrupted
//! code and counts the sample, without allocation, lock or system call that can block. Signals that are not from our
//! event or timer go to the program's own handler.

use crate::counters::{self, Counters, Event, Scope};
use crate::descriptors::Refused;
use crate::futex::Place;
use crate::pause;
use crate::process::{self, HZ};
use crate::thread::{self, Thread};
use crate::{birth, clock, roster};
use headwater_call_path::Start;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, compiler_fence};

static INSTALL: Once = Once::new();
/// The program's handler for the signal that we use.
static BEFORE: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);
/// Whether our handler is in place.
static INSTALLED: AtomicBool = AtomicBool::new(false);

/// Our signal. Without a handler it is ignored, because it may come late: a sample that is due while the program
/// becomes another one by `exec` arrives in the new program. There our handler is gone, and most other signals would
/// end the program. It is no real-time signal, because those queue: while a program blocks its signals they pile up,
/// and at the limit the kernel sends `SIGIO` instead, which ends the program.
pub const SIGNAL: libc::c_int = libc::SIGURG;

/// What the sampler knows about a thread.
pub struct State {
    /// Counters of the thread.
    pub counters: Counters,
    /// Performance event that sends the signals; negative if a timer sends them.
    event: libc::c_int,
    /// The timer; null if an event sends the signals.
    timer: libc::timer_t,
    random: u64,
    taken: u32,
    /// CPU time from the last sample to the next one, nanoseconds.
    period: u64,
    /// Whether the event or timer was started with less than that, because earlier threads used a part of it.
    shortened: bool,
}

/// Samples between two draws of the period, and between two readings of the kernel's counters: each
/// costs system calls.
const REDRAW: u32 = 4;

/// Signals of a thread at the full rate. Signals in MPI count too: they take no sample but cost the same. From then
/// on the rate halves whenever the number of signals has doubled. The error of a share of the run's time falls with
/// the square root of the number of samples, but their cost does not fall.
const AT_FULL_RATE: u32 = 256;
/// The rate halves at most this often, so that a phase late in a long run is also seen.
const HALVINGS: u32 = 3;

/// The kernel's count of the thread's CPU time, nanoseconds.
const CPU_TIME: Event = Event("task_clock", 1, 1);
const IOC_PERIOD: libc::c_ulong = 0x4008_2404;

/// The shortest first period of a thread that continues the period of earlier threads, nanoseconds.
const LEAST_LEFT: u64 = 20_000;

/// The average CPU time between samples after `taken` signals, nanoseconds.
fn usual_period(taken: u32) -> u64 {
    let halvings = (taken / AT_FULL_RATE).checked_ilog2().map_or(0, |n| n + 1);
    (1_000_000_000 / u64::from(HZ.load(Ordering::Relaxed).max(1))) << halvings.min(HALVINGS)
}

impl State {
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
        }
    }

    /// Starts sampling the thread `tid`. A performance event on the thread's own clock is exact to the nanosecond. If
    /// that is not permitted, a CPU time timer is used, which fires only at ticks of the kernel. Earlier threads that
    /// started at the same place had `carried` nanoseconds of CPU time since their last sample: the first sample
    /// comes earlier by that.
    pub fn start(&mut self, tid: libc::pid_t, carried: u64) {
        INSTALL.call_once(install);
        self.random ^= (tid as u64) << 20;
        if carried == 0 {
            self.period = usual_period(self.taken);
        }
        self.shortened = carried > 0;
        let first = self.period.saturating_sub(carried).max(LEAST_LEFT);
        match self.start_event(tid, first) {
            Ok(()) => {}
            Err(_) if !self.start_timer(tid, first) => {
                process::say(
                    "Neither a performance event nor a CPU time timer could be had, so computation was not sampled.",
                );
                return;
            }
            Err(Refused::NotOpened) => process::say(
                "Performance events are not permitted, so samples fall on ticks of the kernel; where ranks outnumber cores, loops that follow a synchronisation closely may be missed by them.",
            ),
            Err(Refused::NotMoved) => process::say(
                "A sandbox forbids fcntl, without which the collector keeps no file open beside the program's: samples fall on ticks of the kernel, and waiting for a core was not told from sleep.",
            ),
            Err(Refused::NoneLeft) => process::say(
                "The process may have few files open (ulimit -n), of which the collector takes at most a quarter: further threads were sampled on ticks of the kernel, and their waiting for a core was not told from sleep.",
            ),
        }
        self.counters.start(tid);
    }

    /// Ends sampling.
    pub fn stop(&mut self) {
        if self.event >= 0 {
            counters::close(self.event);
        } else if !self.timer.is_null() {
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
        // SAFETY: the descriptor is our own. The owner must be the sampled thread, or another one would be
        // interrupted.
        let ready = unsafe {
            libc::fcntl(fd, F_SETSIG, SIGNAL) == 0
                && libc::fcntl(fd, F_SETOWN_EX, &owner) == 0
                && libc::fcntl(fd, libc::F_SETFL, libc::O_ASYNC | libc::O_NONBLOCK) == 0
        };
        if !ready {
            counters::close(fd);
            return Err(Refused::NotOpened);
        }
        self.event = fd;
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
    fn next_period(&mut self) {
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
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            self.period = usual / 2 + self.random % usual.max(1);
            self.set_period();
        }
    }

    /// Ends a shortened period whose signal takes no sample: the next period is a whole one.
    fn end_shortened(&mut self) {
        if std::mem::take(&mut self.shortened) && self.event >= 0 {
            self.set_period();
        }
    }

    fn set_period(&self) {
        // SAFETY: our own event; the kernel reads a number.
        unsafe { libc::ioctl(self.event, IOC_PERIOD as _, &self.period) };
    }
}

/// Marks the signals of our timer.
fn marker() -> *mut libc::c_void {
    std::ptr::from_ref(&INSTALL).cast_mut().cast()
}

/// Whether our handler is in place.
pub fn installed() -> bool {
    INSTALLED.load(Ordering::Relaxed)
}

fn install() {
    // SAFETY: a zeroed action with our handler. The old handler is stored for signals that are not ours.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let mut before: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
        // A handler of the program that interrupts ours would find tables in use. All bits are set: `sigfillset`
        // leaves out the libc's own signals, and a cancellation must not unwind our handler either.
        std::ptr::from_mut(&mut action.sa_mask).write_bytes(0xff, 1);
        for fault in [
            libc::SIGSEGV,
            libc::SIGBUS,
            libc::SIGFPE,
            libc::SIGILL,
            libc::SIGTRAP,
        ] {
            libc::sigdelset(&mut action.sa_mask, fault);
        }
        if libc::sigaction(SIGNAL, &action, &mut before) == 0 {
            BEFORE.store(before.sa_sigaction, Ordering::Relaxed);
            INSTALLED.store(true, Ordering::Release);
        }
    }
}

/// The program calls `sigaction`. For our signal, we store the program's handler, and our handler calls it. Returns
/// `None` for other signals.
pub fn set_action(number: u64, new: u64, old: u64) -> Option<i64> {
    if number as libc::c_int != SIGNAL || !INSTALLED.load(Ordering::Acquire) {
        return None;
    }
    // SAFETY: null or the program's own structures, as the function is defined.
    unsafe {
        let (new, old) = (
            (new as *const libc::sigaction).as_ref(),
            (old as *mut libc::sigaction).as_mut(),
        );
        let handler = new.map(|n| n.sa_sigaction);
        if let Some(old) = old {
            *old = std::mem::zeroed();
            old.sa_sigaction = BEFORE.load(Ordering::Relaxed);
            old.sa_flags = libc::SA_SIGINFO;
        }
        if let Some(handler) = handler {
            BEFORE.store(handler, Ordering::Relaxed);
        }
    }
    Some(0)
}

/// The same for `signal`. Returns the previous handler.
pub fn set_handler(number: u64, new: u64) -> Option<i64> {
    if number as libc::c_int != SIGNAL || !INSTALLED.load(Ordering::Acquire) {
        return None;
    }
    Some(BEFORE.swap(new as usize, Ordering::Relaxed) as i64)
}

unsafe extern "C" fn handler(
    number: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: the kernel passes valid pointers to a handler with SA_SIGINFO; errno is restored.
    unsafe {
        let errno = *libc::__errno_location();
        let t = recording_of(info);
        if t.is_none() && !from_a_timer(info) {
            pass_on(number, info, context);
        } else if let Some(t) = t {
            // Signals in a pause must not lower the rate of samples after it.
            if pause::is_on() {
                t.sampler.next_period();
            } else {
                t.sampler.end_shortened();
            }
            if !process::RECORDING.load(Ordering::Relaxed) {
                // Recording may resume with another session. The time until then must not count for the first sample
                // there.
                t.forget_since_last_sample();
            } else if t.openmp.idle() {
                // Time that the runtime spends while it has no work for the thread must not count for the next work.
                t.since_last_sample();
            } else if !t.in_mpi.load(Ordering::Relaxed) && t.may_be_sampled() {
                // From here on, the calls of wrapped functions are ours, not the program's.
                t.in_mpi.store(true, Ordering::Relaxed);
                compiler_fence(Ordering::SeqCst);
                take(t, context);
                compiler_fence(Ordering::SeqCst);
                t.in_mpi.store(false, Ordering::Relaxed);
            }
        }
        *libc::__errno_location() = errno;
    }
}

/// Whether a signal comes from a timer of ours.
unsafe fn from_a_timer(info: *mut libc::siginfo_t) -> bool {
    // SAFETY: the kernel's structure; what is read is there for this kind of signal.
    unsafe { (*info).si_code == libc::SI_TIMER && (*info).si_value().sival_ptr == marker() }
}

/// The recording that a signal is for, which is the calling thread's; `None` if the signal is not ours.
unsafe fn recording_of(info: *mut libc::siginfo_t) -> Option<&'static mut Thread> {
    /// `POLL_IN` and `POLL_HUP`
    const EVENT_CODES: [libc::c_int; 2] = [1, 6];
    // The kernel's union begins behind three ints and padding: timer number and overrun, or band and
    // descriptor.
    // SAFETY: within siginfo_t for these kinds of signal; recordings are never freed.
    unsafe {
        let timer = from_a_timer(info);
        let event = EVENT_CODES.contains(&(*info).si_code);
        let descriptor = info.cast::<libc::c_int>().add(6).read();
        let sends = |t: &&mut Thread| {
            timer || event && t.sampler.event >= 0 && t.sampler.event == descriptor
        };
        let mut own = thread::current();
        if own.is_null() {
            own = birth::take_up();
        }
        if let Some(t) = own.as_mut().filter(sends) {
            return Some(t);
        }
        // The thread was there before recording began, and none of our wrappers has seen it.
        let afar = roster::of_tid(thread::tid()).filter(|_| timer || event);
        afar.and_then(|t| t.as_mut()).filter(sends)
    }
}

fn take(t: &mut Thread, context: *mut libc::c_void) {
    // SAFETY: the kernel's user context of this interruption.
    let context = unsafe { &*context.cast::<libc::ucontext_t>() };
    let Some(start) = start_of(context) else {
        return;
    };
    let cpu_ns = t.since_last_sample();
    t.computed(cpu_ns);
    let mut growth = [0; counters::MOST];
    if t.sampler.taken.is_multiple_of(REDRAW) {
        let delay = t.run_delay();
        t.delayed(delay);
        let (kernel, moved) = t.sampler.counters.kernel_growth(delay);
        growth = kernel;
        if moved {
            t.migrated();
        }
    }
    t.sampler.counters.processor_growth(cpu_ns, &mut growth);
    let carried = t.take_carried();
    if let Some(ctx) = t.sample(start, cpu_ns + carried, 1, &growth)
        && t.expects_waits()
    {
        t.look_at_sleep(ctx, place_of(context), t.cpu_at_sample());
    }
}

#[cfg(target_arch = "x86_64")]
fn place_of(context: &libc::ucontext_t) -> Place {
    let reg = |r: libc::c_int| {
        context
            .uc_mcontext
            .gregs
            .get(r as usize)
            .map_or(0, |v| *v as u64)
    };
    Place {
        ip: reg(libc::REG_RIP),
        number: reg(libc::REG_RAX),
    }
}

#[cfg(target_arch = "aarch64")]
fn place_of(context: &libc::ucontext_t) -> Place {
    Place {
        ip: context.uc_mcontext.pc,
        number: context.uc_mcontext.regs[8],
    }
}

#[cfg(target_arch = "x86_64")]
fn start_of(context: &libc::ucontext_t) -> Option<Start> {
    let reg = |r: libc::c_int| context.uc_mcontext.gregs.get(r as usize).map(|v| *v as u64);
    Some(Start {
        ip: reg(libc::REG_RIP)?,
        returned: false,
        sp: reg(libc::REG_RSP)?,
        fp: reg(libc::REG_RBP)?,
        lr: 0,
    })
}

#[cfg(target_arch = "aarch64")]
fn start_of(context: &libc::ucontext_t) -> Option<Start> {
    let m = &context.uc_mcontext;
    Some(Start {
        ip: m.pc,
        returned: false,
        sp: m.sp,
        fp: m.regs[29],
        lr: m.regs[30],
    })
}

unsafe fn pass_on(number: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let before = BEFORE.load(Ordering::Relaxed);
    if before == libc::SIG_DFL || before == libc::SIG_IGN {
        return;
    }
    // SAFETY: the program installed this handler for this signal; a one-argument handler ignores the rest.
    unsafe {
        let before: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
            std::mem::transmute(before);
        before(number, info, context);
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
