//! Functions of the libc that are wrapped for the sake of sampling.
//!
//! In some the program may sleep, which samples of CPU time do not see. Others make threads, or would remove
//! something that sampling depends on.

use crate::entry::{exec, program};
use crate::guest::{
    clock,
    recording::{self, RECORDING},
};
use crate::libraries::{code, loader};
use crate::sampling::signal::{self, SignalBlocked};
use crate::storage::resources;
use crate::threads::{
    birth, futex, pause,
    thread::{self, Caller, Thread, WORTH_NOTING},
};
use headwater_mpi_call::args::Args;
use std::ffi::CStr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Why a function is wrapped.
#[derive(Clone, Copy)]
pub enum Why {
    /// The program may sleep in it. A signal interrupts it, and then it continues.
    Sleeps,
    /// The same, for the open file that is the argument of this number.
    SleepsFor(u8),
    /// The program may sleep in it, and any signal with a handler ends that. So our signal is blocked meanwhile.
    NeverRestarts,
    /// The same. The argument of this number says which signals are blocked meanwhile; ours is added.
    Masks(u8),
    /// The same. The first argument has the signals that it waits for; ours is removed.
    WaitsFor,
    /// It unloads a library, into which our unwind tables point.
    ClosesLibrary,
    /// It makes a thread, whose start routine is the argument of this number.
    MakesThread(u8),
    /// It may wait at a futex.
    CallsTheSystem,
    /// It may replace our handler: `sigaction`.
    SetsAction,
    /// It may replace our handler: `signal`.
    SetsHandler,
    /// It ends the process without its destructors.
    Ends,
    /// It makes the process another program, with a list of arguments in memory.
    Becomes,
    /// The same with the arguments as arguments of its own, which a null pointer ends; the function that takes them as
    /// a list.
    BecomesOf(&'static CStr),
    /// The same with the environment behind them.
    BecomesIn(&'static CStr),
}

static REAL: [AtomicUsize; LIBC.len()] = [const { AtomicUsize::new(0) }; LIBC.len()];

/// Looks the functions up when this object is loaded: the program may call one of them for the first time in a signal
/// handler.
pub fn find() {
    for (place, (name, _)) in REAL.iter().zip(LIBC) {
        place.store(loader::next(name), Ordering::Relaxed);
    }
    futex::SYSTEM_CALL.store(loader::next(c"syscall"), Ordering::Release);
}

/// Notes that `real` is the libc's function behind a wrapper. If the collector is linked into the program, the linker
/// knows it.
#[inline]
pub fn is_linked_to(id: usize, real: usize) {
    if let Some(place) = REAL.get(id) {
        place.store(real, Ordering::Relaxed);
    }
}

/// Calls the libc's `syscall`, which takes a number and six arguments: on x86-64, one more than there are registers.
fn call_the_system(real: usize, args: &Args, from: Caller) -> i64 {
    type Function = unsafe extern "C" fn(u64, u64, u64, u64, u64, u64, u64) -> i64;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the word on the stack at the call. It can be read even if it is no argument.
    let last = unsafe { (from.stack_pointer as *const u64).read() };
    #[cfg(target_arch = "aarch64")]
    let last = args.raw(6);
    let [n, a, b, c, d, e] = [0, 1, 2, 3, 4, 5].map(|at| args.raw(at));
    // SAFETY: the libc's own function, with what the program passed.
    unsafe { std::mem::transmute::<usize, Function>(real)(n, a, b, c, d, e, last) }
}

/// The libc's function of this name that is wrapped, 0 if there is none.
pub fn real_of(name: &CStr) -> usize {
    let wrapped = LIBC.iter().position(|(n, _)| *n == name);
    wrapped.map_or(0, real)
}

/// The libc's function behind a wrapper.
fn real(id: usize) -> usize {
    match REAL
        .get(id)
        .map_or(0, |place| place.load(Ordering::Relaxed))
    {
        // The constructor of another object ran before ours.
        0 => LIBC.get(id).map_or(0, |(name, _)| loader::next(name)),
        found => found,
    }
}

/// Runs `look` if libraries were opened since the last look. A program of MPI is looked at when it calls that.
fn for_new_libraries(look: impl FnOnce(&mut Thread)) {
    // SAFETY: null or this thread's own recording.
    let t = unsafe { thread::current().as_mut() };
    if let Some(t) = t.filter(|t| !t.in_mpi.load(Ordering::Relaxed))
        && program::is_recorded()
        && RECORDING.load(Ordering::Relaxed)
        && code::has_new()
    {
        look(t);
    }
}

/// A wrapped function is called.
pub fn call(id: usize, args: &Args, from: Caller) -> i64 {
    let real = real(id);
    if real == 0 {
        // SAFETY: errno belongs to this thread.
        unsafe { *libc::__errno_location() = libc::ENOSYS };
        return -1;
    }
    let ours = match LIBC.get(id).map(|f| f.1) {
        Some(Why::Sleeps) => return asleep(real, args, from, During::Nothing),
        Some(Why::SleepsFor(file)) => {
            return asleep(real, args, from, During::File(args.int(file)));
        }
        Some(Why::NeverRestarts) => return asleep(real, args, from, During::Blocked),
        Some(Why::Masks(at)) => return with_set(real, args, from, at, libc::sigaddset),
        Some(Why::WaitsFor) => return with_set(real, args, from, 0, libc::sigdelset),
        Some(Why::MakesThread(at)) => {
            for_new_libraries(thread::look_at_code);
            return birth::create(real, args, from, at);
        }
        Some(Why::CallsTheSystem) => {
            let go = || call_the_system(real, args, from);
            return futex::system_call(from, args.raw(1), args.raw(2), go);
        }
        Some(Why::SetsAction) => signal::set_action(args.raw(0), args.raw(1), args.raw(2)),
        Some(Why::SetsHandler) => signal::set_handler(args.raw(0), args.raw(1)),
        Some(Why::ClosesLibrary) => {
            // Samples may be in the one that is closed. Tables are made anew behind it.
            for_new_libraries(|t| {
                let note = || std::panic::catch_unwind(code::note_code);
                let _ = t.undisturbed(|t| t.contexts.with_room(note));
            });
            // SAFETY: the libc's own function for these arguments.
            return code::while_modules_change(|| unsafe { args.call_wide(real) });
        }
        Some(Why::Ends) => {
            program::ends();
            None
        }
        Some(Why::Becomes) => {
            // SAFETY: the libc's own function for these arguments.
            return program::while_becoming_another(|| unsafe { args.call_wide(real) });
        }
        Some(Why::BecomesOf(by)) => {
            return program::while_becoming_another(|| exec::with_list(by, args, from, false));
        }
        Some(Why::BecomesIn(by)) => {
            return program::while_becoming_another(|| exec::with_list(by, args, from, true));
        }
        None => None,
    };
    // SAFETY: as above.
    ours.unwrap_or_else(|| unsafe { args.call_wide(real) })
}

/// A call in which the program may sleep and that takes a set of signals. Our signal is added to a copy of the set,
/// or removed from it.
fn with_set(
    real: usize,
    args: &Args,
    from: Caller,
    at: u8,
    change: unsafe extern "C" fn(*mut libc::sigset_t, libc::c_int) -> libc::c_int,
) -> i64 {
    let given = args.raw(at) as *const libc::sigset_t;
    if given.is_null() || !signal::installed() {
        return asleep(real, args, from, During::Blocked);
    }
    // SAFETY: a set of the program's, as these functions are defined; the copy lives until the call ends.
    let mut set = unsafe { given.read() };
    // SAFETY: our own copy and a valid signal.
    unsafe { change(&mut set, signal::SIGNAL) };
    let mut args = *args;
    args.replace(at, std::ptr::from_ref(&set) as u64);
    asleep(real, &args, from, During::Blocked)
}

/// What matters during a call in which the program may sleep.
#[derive(Clone, Copy, PartialEq)]
enum During {
    Nothing,
    /// Our signal is blocked until it is over.
    Blocked,
    /// It is for this open file.
    File(libc::c_int),
}

/// A call in which the program may sleep. Records where, if it slept for long. Calls for files are also counted where
/// MPI makes them.
fn asleep(real: usize, args: &Args, from: Caller, during: During) -> i64 {
    let is_in_mpi = |t: &Thread| t.in_mpi.load(Ordering::Relaxed);
    let is_for_file = matches!(during, During::File(_));
    // SAFETY: null or this thread's own recording.
    let recorded = unsafe { thread::current().as_mut() }
        .filter(|t| recording::RECORDING.load(Ordering::Relaxed) && (is_for_file || !is_in_mpi(t)));
    let Some(t) = recorded else {
        // SAFETY: the libc's own function for these arguments.
        return unsafe { args.call_wide(real) };
    };
    let blocked = (during == During::Blocked).then(SignalBlocked::new);
    let start = clock::now();
    // SAFETY: as above.
    let result = unsafe { args.call_wide(real) };
    let nanoseconds = clock::now().saturating_sub(start);
    drop(blocked);
    if nanoseconds > WORTH_NOTING && pause::is_on() && t.is_here() {
        // SAFETY: errno belongs to this thread and is the program's to read.
        let errno = unsafe { *libc::__errno_location() };
        if let During::File(file) = during {
            resources::took_long(file, nanoseconds);
        }
        if !is_in_mpi(t) {
            t.asleep(from, nanoseconds);
        }
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = errno };
    }
    result
}

include!(concat!(env!("OUT_DIR"), "/libc.rs"));
