//! Functions of the libc that are wrapped: calls in which the program may sleep, of which samples of CPU
//! time know nothing, and calls that would take away what sampling stands on.

use crate::args::Args;
use crate::birth;
use crate::process;
use crate::sampler;
use crate::thread::{self, Caller, WORTH_NOTING};
use crate::trampoline::LIBC;
use crate::{clock, loader, locks, pause};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Why a function is wrapped.
#[derive(Clone, Copy)]
pub enum Why {
    /// The program may sleep in it. A signal interrupts it, and it goes on.
    Sleeps,
    /// The program may sleep in it, and any signal with a handler ends that: so ours has to wait.
    NeverRestarts,
    /// The same, with an argument, by its number, that says which signals are blocked meanwhile.
    Masks(u8),
    /// The same, with the signals that it waits for in its first argument: ours is none of them.
    WaitsFor,
    /// It takes a library out of the process, into which our unwind tables point.
    ClosesLibrary,
    /// It makes a thread, whose start routine is the argument of this number.
    MakesThread(u8),
    /// It may wait for the kernel's lock.
    CallsTheSystem,
    /// It may replace our handler: `sigaction`.
    SetsAction,
    /// It may replace our handler: `signal`.
    SetsHandler,
}

static REAL: [AtomicUsize; LIBC.len()] = [const { AtomicUsize::new(0) }; LIBC.len()];

/// Looks the functions up when this object is loaded: the program may first call one of them in a
/// handler of a signal.
pub fn find() {
    for (place, (name, _)) in REAL.iter().zip(LIBC) {
        place.store(loader::next(name), Ordering::Relaxed);
    }
    SYSTEM_CALL.store(loader::next(c"syscall"), Ordering::Release);
}

/// The libc's function behind a wrapper is `real`: where this is linked into the program, the linker says so.
#[inline]
pub fn is_linked_to(id: usize, real: usize) {
    if let Some(place) = REAL.get(id) {
        place.store(real, Ordering::Relaxed);
    }
}

/// The libc's `syscall`; 0 before [`find`].
pub static SYSTEM_CALL: AtomicUsize = AtomicUsize::new(0);

/// Calls the libc's `syscall`, which takes a number and six arguments: one more than there are registers.
fn call_the_system(real: usize, args: &Args, from: Caller) -> i64 {
    type Function = unsafe extern "C" fn(u64, u64, u64, u64, u64, u64, u64) -> i64;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the word on the stack at the call, which is there whether it is meant or not.
    let last = unsafe { (from.stack_pointer as *const u64).read() };
    #[cfg(target_arch = "aarch64")]
    let last = args.raw(6);
    let [n, a, b, c, d, e] = [0, 1, 2, 3, 4, 5].map(|at| args.raw(at));
    // SAFETY: the libc's own function, with what the program passed.
    unsafe { std::mem::transmute::<usize, Function>(real)(n, a, b, c, d, e, last) }
}

/// The libc's function behind a wrapper.
fn real(id: usize) -> usize {
    match REAL
        .get(id)
        .map_or(0, |place| place.load(Ordering::Relaxed))
    {
        // Another object's constructor came before ours.
        0 => LIBC.get(id).map_or(0, |(name, _)| loader::next(name)),
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
        Some(Why::Sleeps) => return asleep(real, args, from, false),
        Some(Why::NeverRestarts) => return asleep(real, args, from, true),
        Some(Why::Masks(at)) => return with_set(real, args, from, at, libc::sigaddset),
        Some(Why::WaitsFor) => return with_set(real, args, from, 0, libc::sigdelset),
        Some(Why::MakesThread(at)) => return birth::create(real, args, from, at),
        Some(Why::CallsTheSystem) => {
            let go = || call_the_system(real, args, from);
            return locks::system_call(from, args.raw(1), args.raw(2), go);
        }
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

/// A call in which the program may sleep and that takes a set of signals: our signal is put into a copy
/// of it, or taken out.
fn with_set(
    real: usize,
    args: &Args,
    from: Caller,
    at: u8,
    change: unsafe extern "C" fn(*mut libc::sigset_t, libc::c_int) -> libc::c_int,
) -> i64 {
    let given = args.raw(at) as *const libc::sigset_t;
    if given.is_null() || !sampler::installed() {
        return asleep(real, args, from, true);
    }
    // SAFETY: a set of the program's, as these functions are defined; the copy lives until the call ends.
    let mut set = unsafe { given.read() };
    // SAFETY: our own copy and a signal that there is.
    unsafe { change(&mut set, sampler::SIGNAL) };
    let mut args = *args;
    args.replace(at, std::ptr::from_ref(&set) as u64);
    asleep(real, &args, from, true)
}

/// Our signal waits as long as this lives, also where an exception or a cancellation ends that.
pub struct Held {
    before: libc::sigset_t,
}

impl Held {
    /// From now on.
    pub fn new() -> Self {
        // SAFETY: sets of our own, filled by the calls.
        unsafe {
            let mut ours: libc::sigset_t = std::mem::zeroed();
            let mut before: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut ours);
            libc::sigaddset(&mut ours, sampler::SIGNAL);
            libc::pthread_sigmask(libc::SIG_BLOCK, &ours, &mut before);
            Self { before }
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: the set that was in force before; only our signal is let through again, as a handler of
        // the program may have changed what holds for the others. `errno` stays.
        unsafe {
            if libc::sigismember(&self.before, sampler::SIGNAL) == 0 {
                let mut ours: libc::sigset_t = std::mem::zeroed();
                libc::sigemptyset(&mut ours);
                libc::sigaddset(&mut ours, sampler::SIGNAL);
                libc::pthread_sigmask(libc::SIG_UNBLOCK, &ours, std::ptr::null_mut());
            }
        }
    }
}

/// A call in which the program may sleep: notes where, if it did for long. With `hold`, our signal waits
/// until it is over.
fn asleep(real: usize, args: &Args, from: Caller, hold: bool) -> i64 {
    // SAFETY: null or this thread's own recording.
    let recorded = unsafe { thread::current().as_mut() }.filter(|t| {
        process::RECORDING.load(Ordering::Relaxed) && !t.in_mpi.load(Ordering::Relaxed)
    });
    let Some(t) = recorded else {
        // SAFETY: the libc's own function for these arguments.
        return unsafe { args.call_wide(real) };
    };
    let held = hold.then(Held::new);
    let start = clock::now();
    // SAFETY: as above.
    let result = unsafe { args.call_wide(real) };
    let nanoseconds = clock::now().saturating_sub(start);
    drop(held);
    if nanoseconds > WORTH_NOTING && pause::is_on() && t.is_here() {
        // SAFETY: errno belongs to this thread and is the program's to read.
        let errno = unsafe { *libc::__errno_location() };
        t.asleep(from, nanoseconds);
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = errno };
    }
    result
}
