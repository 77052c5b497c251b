//! Functions of the libc that are wrapped: calls in which the program may sleep, of which samples of CPU
//! time know nothing, and calls that would take away what sampling stands on.

use crate::args::Args;
use crate::process;
use crate::sampler;
use crate::thread::{self, Caller};
use crate::trampoline::LIBC;
use crate::{abi, clock};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Why a function is wrapped.
#[derive(Clone, Copy)]
pub enum Why {
    /// The program may sleep in it.
    Sleeps,
    /// It takes a library out of the process, into which our unwind tables point.
    ClosesLibrary,
    /// It may replace our handler: `sigaction`.
    SetsAction,
    /// It may replace our handler: `signal`.
    SetsHandler,
}

/// Sleeps longer than this are noted, nanoseconds.
const WORTH_NOTING: u64 = 50_000;

static REAL: [AtomicUsize; LIBC.len()] = [const { AtomicUsize::new(0) }; LIBC.len()];

/// Looks the functions up when this object is loaded: the program may first call one of them in a
/// handler of a signal.
pub fn find() {
    for (place, (name, _)) in REAL.iter().zip(LIBC) {
        place.store(abi::next(name), Ordering::Relaxed);
    }
}

/// The libc's function behind a wrapper.
fn real(id: usize) -> usize {
    match REAL
        .get(id)
        .map_or(0, |place| place.load(Ordering::Relaxed))
    {
        // Another object's constructor came before ours.
        0 => LIBC.get(id).map_or(0, |(name, _)| abi::next(name)),
        found => found,
    }
}

/// A wrapped function is called.
pub fn call(id: usize, args: &Args, from: Caller) -> i64 {
    let real = real(id);
    if real == 0 {
        return -1;
    }
    let ours = match LIBC.get(id).map(|f| f.1) {
        Some(Why::Sleeps) => return asleep(real, args, from),
        Some(Why::SetsAction) => sampler::set_action(args.raw(0), args.raw(1), args.raw(2)),
        Some(Why::SetsHandler) => sampler::set_handler(args.raw(0), args.raw(1)),
        Some(Why::ClosesLibrary) => {
            // SAFETY: the libc's own function for these arguments.
            return process::while_modules_change(|| unsafe { args.call_wide(real) });
        }
        None => None,
    };
    // SAFETY: as above.
    ours.unwrap_or_else(|| unsafe { args.call_wide(real) })
}

/// A call in which the program may sleep: notes where, if it did for long.
fn asleep(real: usize, args: &Args, from: Caller) -> i64 {
    // SAFETY: null or this thread's own recording.
    let recorded = unsafe { thread::current().as_mut() }.filter(|t| {
        process::RECORDING.load(Ordering::Relaxed) && !t.in_mpi.load(Ordering::Relaxed)
    });
    let Some(t) = recorded else {
        // SAFETY: the libc's own function for these arguments.
        return unsafe { args.call_wide(real) };
    };
    let start = clock::now();
    // SAFETY: as above.
    let result = unsafe { args.call_wide(real) };
    let nanoseconds = clock::now().saturating_sub(start);
    if nanoseconds > WORTH_NOTING {
        // SAFETY: errno belongs to this thread and is the program's to read.
        let errno = unsafe { *libc::__errno_location() };
        t.asleep(from, nanoseconds);
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = errno };
    }
    result
}
