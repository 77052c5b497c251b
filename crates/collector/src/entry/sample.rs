//! Takes samples of computation, when our signal comes.
//!
//! The handler takes no sample while the thread is in an MPI wrapper. Otherwise it unwinds the interrupted code and
//! counts the sample, without allocation, lock or system call that can block. It may open a file of `/proc` and performance
//! events, for a thread that lives longer than those before it. Signals that are not from our event or timer go to the
//! program's own handler.

use crate::end::stop;
use crate::guest::recording::RECORDING;
use crate::sampling::{
    counters,
    rate::REDRAW,
    signal::{from_a_timer, pass_on},
};
use crate::storage::process_spool;
use crate::threads::{
    birth,
    futex::Place,
    pause, roster,
    thread::{self, Thread},
};
use headwater_call_path::Start;
use std::sync::atomic::{Ordering, compiler_fence};

/// Our handler.
///
/// # Safety
/// The kernel calls it.
pub unsafe extern "C" fn handler(
    number: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: the kernel passes valid pointers to a handler with SA_SIGINFO; errno is restored.
    unsafe {
        let errno = *libc::__errno_location();
        match recording_of(info) {
            None if from_a_timer(info) => {}
            None => pass_on(number, info, context),
            Some(t) if t.sampler.expects_end() => t.sample_late(),
            Some(t) => signalled(t, context),
        }
        *libc::__errno_location() = errno;
    }
}

/// A signal of the calling thread's own event or timer.
fn signalled(t: &mut Thread, context: *mut libc::c_void) {
    stop::look();
    // Signals in a pause must not lower the rate of samples after it.
    if pause::is_on() {
        t.sampler.next_period();
    } else if process_spool::has_stopped() {
        t.sampler.halt();
    } else {
        t.sampler.end_shortened();
    }
    if !RECORDING.load(Ordering::Relaxed) {
        // Recording may resume with another session. The time until then must not count for the first sample there.
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
