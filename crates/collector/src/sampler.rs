//! Samples of computation: a timer of the thread's CPU time that sends a signal.
//!
//! The handler does nothing while the thread is in an MPI wrapper; otherwise it unwinds the
//! interrupted code and counts, without allocation, lock or system call that can block. Signals that
//! are not from our timer go to the program's own handler.

use crate::process::{self, HZ};
use crate::thread::{self, Thread};
use crate::unwind::Start;
use std::mem::MaybeUninit;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Names of the counters that the handler reads, in order.
pub const COUNTERS: [&str; 4] = [
    "page_faults",
    "context_switches",
    "run_queue_ns",
    "migrations",
];

static INSTALL: Once = Once::new();
/// The program's handler for the signal that we use.
static BEFORE: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);

/// Our signal: real-time and far from the ends, where runtimes have theirs.
fn signal() -> libc::c_int {
    libc::SIGRTMIN() + 11
}

/// What the sampler remembers of a thread.
pub struct State {
    last: [u64; 4],
    core: i32,
    started: bool,
}

impl State {
    /// Nothing started.
    pub const fn new() -> Self {
        Self {
            last: [0; 4],
            core: -1,
            started: false,
        }
    }

    /// Starts the calling thread's timer.
    pub fn start(&mut self) {
        INSTALL.call_once(install);
        let hz = HZ.load(Ordering::Relaxed).max(1);
        let period = 1_000_000_000 / i64::from(hz);
        // SAFETY: all structures are zeroed before their fields are set, as the interface wants; the
        // timer lives as long as the thread.
        unsafe {
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = signal();
            event.sigev_value.sival_ptr = marker();
            event.sigev_notify_thread_id = libc::syscall(libc::SYS_gettid) as libc::pid_t;
            let mut timer: libc::timer_t = std::ptr::null_mut();
            if libc::timer_create(libc::CLOCK_THREAD_CPUTIME_ID, &mut event, &mut timer) != 0 {
                process::say("No CPU time timer could be had, so computation was not sampled.");
                return;
            }
            let every = libc::timespec {
                tv_sec: period / 1_000_000_000,
                tv_nsec: period % 1_000_000_000,
            };
            let times = libc::itimerspec {
                it_interval: every,
                it_value: every,
            };
            self.started = libc::timer_settime(timer, 0, &times, std::ptr::null_mut()) == 0;
        }
        self.last = counters(self);
    }
}

/// Writes the names of the counters into the spool, and says which others there are none of.
pub fn name_counters() {
    process::with_spool(|spool| {
        let header = spool.header();
        header.counters = COUNTERS.len() as u32;
        crate::modules::copy_text(&mut header.counter_names, COUNTERS.join(" ").as_bytes());
        Some(())
    });
    process::say(
        "Hardware counters (instructions, cycles, cache misses) were not recorded: equal work that runs slower cannot be told from more work.",
    );
}

/// What tells our timer's signals from others.
fn marker() -> *mut libc::c_void {
    std::ptr::from_ref(&INSTALL).cast_mut().cast()
}

fn install() {
    // SAFETY: a zeroed action with our handler; the old one is kept for signals that are not ours.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let mut before: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
        if libc::sigaction(signal(), &action, &mut before) == 0 {
            BEFORE.store(before.sa_sigaction, Ordering::Relaxed);
        }
    }
}

/// Counter values of the thread since it began.
fn counters(state: &mut State) -> [u64; 4] {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: filled by the call, zero before; safe in handlers.
    let (usage, core) = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        (usage.assume_init(), libc::sched_getcpu())
    };
    let moved = u64::from(state.core >= 0 && core != state.core);
    state.core = core;
    [
        (usage.ru_minflt + usage.ru_majflt).max(0) as u64,
        (usage.ru_nvcsw + usage.ru_nivcsw).max(0) as u64,
        0,
        state.last[3] + moved,
    ]
}

unsafe extern "C" fn handler(
    number: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: the kernel passes valid pointers to a handler with SA_SIGINFO; errno is restored.
    unsafe {
        let errno = *libc::__errno_location();
        if (*info).si_code == libc::SI_TIMER && (*info).si_value().sival_ptr == marker() {
            let at = thread::current();
            if !at.is_null()
                && !(*at).in_mpi.load(Ordering::Relaxed)
                && process::RECORDING.load(Ordering::Relaxed)
            {
                take(&mut *at, overrun(info), context);
            }
        } else {
            pass_on(number, info, context);
        }
        *libc::__errno_location() = errno;
    }
}

/// Timer expirations that this signal stands for, besides its own.
unsafe fn overrun(info: *mut libc::siginfo_t) -> u64 {
    // The field follows the timer's number, at the start of the kernel's union.
    // SAFETY: within siginfo_t for signals of timers.
    let raw = unsafe { info.cast::<libc::c_int>().add(5).read() };
    raw.clamp(0, 1000) as u64
}

fn take(t: &mut Thread, overrun: u64, context: *mut libc::c_void) {
    // SAFETY: the kernel's user context of this interruption.
    let context = unsafe { &*context.cast::<libc::ucontext_t>() };
    let Some(start) = start_of(context) else {
        return;
    };
    let count = 1 + overrun;
    let cpu = count * 1_000_000_000 / u64::from(HZ.load(Ordering::Relaxed).max(1));
    let mut now = counters(&mut t.sampler);
    now[2] = t.run_delay();
    let last = std::mem::replace(&mut t.sampler.last, now);
    let mut growth = [0u64; 4];
    growth
        .iter_mut()
        .zip(now.iter().zip(last))
        .for_each(|(g, (n, l))| *g = n.saturating_sub(l));
    if growth[3] > 0 {
        t.migrated();
    }
    t.sample(start, cpu, count, &growth);
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
