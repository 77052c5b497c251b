//! Calls in which a thread waits for another one: the libc's locks, conditions, semaphores, barriers and joins.
//!
//! A lock is tried first. If it was free, only one word is stored, which says where the lock was taken: no clock is
//! read, and there is no allocation and no system call. Otherwise the holder is looked up before the wait. glibc
//! stores the owner's number in its mutexes and read-write locks, and the owner's recording knows where it took them.
//! If a lock has no owner's number, the holder is the only other thread that is known to have taken the lock, if
//! there is just one. For conditions and semaphores, it is the thread that released others last.

use crate::guest::{clock, recording::RECORDING};
use crate::libraries::{loader, runtimes};
use crate::sampling::signal::SignalBlocked;
use crate::threads::{
    birth, gil, roster,
    thread::{self, Caller, Thread, WORTH_READING},
    waits::{Awaited, Holder, last, note_last},
};
use headwater_model::run::WaitKind;
use std::ffi::CStr;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

/// What a wrapped function does.
#[derive(Clone, Copy)]
pub enum What {
    /// Takes the lock that its first argument points to. The second field is the function that only tries. The third
    /// is the offset of the owner's number in the lock, bytes; 0 if there is none.
    Takes(WaitKind, &'static CStr, u8),
    /// The same for what other threads release: it has no owner, but a thread that released it last.
    Gets(WaitKind, &'static CStr),
    /// The same, and any signal with a handler ends the wait, so our signal is blocked meanwhile.
    GetsUnlessInterrupted(WaitKind, &'static CStr),
    /// Waits on the condition that its first argument points to. When it returns, it holds the mutex of the second
    /// argument again.
    Waits,
    /// Releases threads that wait at its first argument.
    Lets,
    /// Waits for the end of the thread that is its first argument.
    Joins,
    /// Waits at a barrier for other threads.
    Meets,
}
use What::*;

/// How long a call waits at most.
#[derive(Clone, Copy, PartialEq)]
pub enum Until {
    /// As long as it takes.
    Ever,
    /// Until the time that the argument of this number points to, if there is one.
    At(u8),
    /// The same, on the clock that the argument before it names.
    ByClock(u8),
}

impl Until {
    /// Whether the time limit in these arguments is valid. If it is not, the libc refuses the call, and some
    /// functions refuse it even if the lock is free. So the lock must not be tried then.
    fn is_valid(self, arguments: &[u64; 4]) -> bool {
        let argument = |at: u8| arguments.get(usize::from(at)).copied().unwrap_or(0);
        let (at, clock) = match self {
            Self::Ever => return true,
            Self::At(at) => (at, libc::CLOCK_REALTIME),
            Self::ByClock(at) => (at, argument(at - 1) as libc::clockid_t),
        };
        // SAFETY: null, or the program's time, as these functions are defined.
        let time = unsafe { (argument(at) as *const libc::timespec).as_ref() };
        let known = [libc::CLOCK_REALTIME, libc::CLOCK_MONOTONIC].contains(&clock);
        known && time.is_none_or(|t| (0..1_000_000_000).contains(&t.tv_nsec))
    }
}

/// Offset of the owner's number in glibc's mutexes and read-write locks, bytes.
const MUTEX_OWNER: u8 = 8;
const WRITER: u8 = 24;

/// What the functions of [`WAITING`] do that take a lock or a semaphore, in the order of that table.
pub const MUTEX: What = Takes(WaitKind::Mutex, c"pthread_mutex_trylock", MUTEX_OWNER);
pub const C_MUTEX: What = Takes(WaitKind::Mutex, c"mtx_trylock", MUTEX_OWNER);
pub const READ_LOCK: What = Takes(WaitKind::ReadLock, c"pthread_rwlock_tryrdlock", WRITER);
pub const WRITE_LOCK: What = Takes(WaitKind::WriteLock, c"pthread_rwlock_trywrlock", WRITER);
pub const SPIN_LOCK: What = Takes(WaitKind::SpinLock, c"pthread_spin_trylock", 0);
pub const SEMAPHORE: What = Gets(WaitKind::Semaphore, c"sem_trywait");
pub const TIMED_SEMAPHORE: What = GetsUnlessInterrupted(WaitKind::Semaphore, c"sem_trywait");

/// The libc's functions behind the wrappers, and those that only try, in the order of [`WAITING`].
static REAL: [(AtomicUsize, AtomicUsize); WAITING.len()] =
    [const { (AtomicUsize::new(0), AtomicUsize::new(0)) }; WAITING.len()];

/// The functions of which glibc has two versions on x86-64.
const TWO_VERSIONS: [&CStr; 4] = [
    c"pthread_cond_wait",
    c"pthread_cond_timedwait",
    c"pthread_cond_signal",
    c"pthread_cond_broadcast",
];

/// Looks the functions up when this object is loaded.
pub fn find() {
    for ((real, tried), (name, what, _)) in REAL.iter().zip(WAITING) {
        let (function, tries) = look_up(name, what);
        tried.store(tries, Ordering::Relaxed);
        real.store(function, Ordering::Release);
    }
}

fn look_up(name: &CStr, what: What) -> (usize, usize) {
    let tries = match what {
        Takes(WaitKind::ReadLock | WaitKind::WriteLock, _, _) if tried_locks_stall() => 0,
        Takes(_, tries, _) | Gets(_, tries) | GetsUnlessInterrupted(_, tries) => {
            loader::next(tries)
        }
        _ => 0,
    };
    let function = if TWO_VERSIONS.contains(&name) {
        loader::next_newest(name)
    } else {
        loader::next(name)
    };
    (function, tries)
}

/// Whether this is a glibc before 2.30. There, threads may wait forever at a read-write lock that another thread only
/// tried to take (its bug 23844). A program that does not try must not be exposed to this.
fn tried_locks_stall() -> bool {
    // SAFETY: gives a constant string.
    let version = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) };
    is_before_2_30(version.to_bytes())
}

fn is_before_2_30(version: &[u8]) -> bool {
    let text = std::str::from_utf8(version).unwrap_or("");
    // This allocates nothing: the allocator itself may be taking the lock.
    let mut numbers = text.split('.').map_while(|n| n.parse::<u32>().ok());
    matches!((numbers.next(), numbers.next()), (Some(major), Some(minor)) if (major, minor) < (2, 30))
}

/// The stack where a wrapper was called: the caller's frame pointer and the return address.
#[repr(C)]
pub struct Frame {
    frame_pointer: u64,
    return_address: u64,
}

impl Frame {
    fn caller(&self) -> Caller {
        Caller {
            return_address: self.return_address,
            stack_pointer: std::ptr::from_ref(self) as u64 + size_of::<Self>() as u64,
            frame_pointer: self.frame_pointer,
        }
    }
}

type Tries = unsafe extern "C-unwind" fn(u64) -> i32;
type Function = unsafe extern "C-unwind" fn(u64, u64, u64, u64) -> i64;

/// A call with its arguments.
struct Call<'a> {
    real: Function,
    arguments: [u64; 4],
    frame: &'a Frame,
}

impl Call<'_> {
    /// Calls the real function and records nothing.
    #[inline]
    fn go(&self) -> i64 {
        let [a, b, c, d] = self.arguments;
        // SAFETY: the libc's own function for these arguments; it takes no more than four.
        unsafe { (self.real)(a, b, c, d) }
    }
}

/// Whether a mutex may be tried. If one that cannot be recovered is only tried, glibc forgets to release it. Mutexes
/// that change priorities are handled by the kernel.
#[inline]
fn is_plain(mutex: u64) -> bool {
    const KIND: u64 = 16;
    /// Robust, priority inheritance, priority protection.
    const OTHERS: i32 = 16 | 32 | 64;
    // SAFETY: the program's mutex, as the function is defined, of glibc's layout.
    let kind = unsafe { (*((mutex + KIND) as *const AtomicI32)).load(Ordering::Relaxed) };
    kind & OTHERS == 0
}

/// The wrappers of functions whose only argument is a mutex call this. Most calls come here, so it does as little as
/// possible.
///
/// # Safety
/// As the trampoline calls it.
pub unsafe extern "C-unwind" fn mutex(mutex: u64, id: u32, frame: &Frame) -> i64 {
    if is_plain(mutex) && try_first(mutex, id, frame) {
        return 0;
    }
    // SAFETY: as this was called.
    unsafe { call(mutex, 0, 0, 0, id, frame) }
}

/// The same for other locks.
///
/// # Safety
/// As the trampoline calls it.
pub unsafe extern "C-unwind" fn lock(lock: u64, id: u32, frame: &Frame) -> i64 {
    if try_first(lock, id, frame) {
        return 0;
    }
    // SAFETY: as this was called.
    unsafe { call(lock, 0, 0, 0, id, frame) }
}

/// Takes a lock if it is free, and records where it was taken.
#[inline]
fn try_first(lock: u64, id: u32, frame: &Frame) -> bool {
    let tries = REAL
        .get(id as usize)
        .map_or(0, |r| r.1.load(Ordering::Relaxed));
    // SAFETY: null or this thread's own recording, which is never freed.
    let t = unsafe { thread::current().as_ref() };
    let Some(t) = t.filter(|t| tries != 0 && !t.in_mpi.load(Ordering::Relaxed)) else {
        return false;
    };
    // SAFETY: the libc's own function for this lock.
    if unsafe { std::mem::transmute::<usize, Tries>(tries)(lock) } != 0 {
        return false;
    }
    t.waits.taken.note(lock, frame.return_address);
    true
}

/// The wrappers call this with the arguments, the function's place in the table and the stack. Cancellations may pass
/// through.
///
/// # Safety
/// As the trampoline calls it.
pub unsafe extern "C-unwind" fn call(
    a: u64,
    b: u64,
    c: u64,
    d: u64,
    id: u32,
    frame: &Frame,
) -> i64 {
    let (Some((real, tries)), Some((name, what, until))) =
        (REAL.get(id as usize), WAITING.get(id as usize))
    else {
        return i64::from(libc::ENOSYS);
    };
    let mut real = real.load(Ordering::Acquire);
    if real == 0 {
        // The constructor of another object ran before ours.
        real = look_up(name, *what).0;
    }
    if real == 0 {
        return i64::from(libc::ENOSYS);
    }
    let call = Call {
        // SAFETY: an address that the loader gave for this function.
        real: unsafe { std::mem::transmute::<usize, Function>(real) },
        arguments: [a, b, c, d],
        frame,
    };
    let mut at = thread::current();
    if at.is_null() && RECORDING.load(Ordering::Relaxed) {
        at = birth::take_up();
    }
    // SAFETY: null or this thread's own recording, which is never freed.
    let Some(t) = (unsafe { at.as_mut() })
        .filter(|t| !t.in_mpi.load(Ordering::Relaxed) && until.is_valid(&call.arguments))
    else {
        return call.go();
    };
    let tries = tries.load(Ordering::Relaxed);
    match *what {
        Takes(kind, _, owner) => {
            let result = take(t, &call, kind, owner, tries);
            if matches!(result as i32, 0 | libc::EOWNERDEAD) {
                t.waits.taken.note(a, frame.return_address);
            }
            result
        }
        Gets(kind, _) if tries != 0 => get(t, &call, kind, tries, false),
        GetsUnlessInterrupted(kind, _) if tries != 0 => get(t, &call, kind, tries, true),
        Waits if *until != Until::Ever && is_of_python(t, &call) => {
            gil::wait(t, call.frame.caller(), a, || call.go())
        }
        Waits => {
            let result = waiting(t, &call, WaitKind::Condition, 0, |_| last(a));
            t.waits.taken.note(b, frame.return_address);
            result
        }
        Lets => {
            if gil::is_from_interpreter(frame.return_address) {
                gil::gives_up(t);
                // Extensions have the lock given up where they compute.
                thread::look_for_code(t);
            }
            note_last(a, myself(t, frame));
            call.go()
        }
        Joins => join(t, &call),
        Meets => meet(t, &call),
        _ => call.go(),
    }
}

/// Whether this is a wait of the interpreter for its own lock that is recorded.
fn is_of_python(t: &Thread, call: &Call) -> bool {
    gil::is_from_interpreter(call.frame.return_address)
        && t.expects_waits()
        && RECORDING.load(Ordering::Relaxed)
}

fn myself(t: &Thread, frame: &Frame) -> Holder {
    Holder {
        thread: t.number,
        address: frame.return_address,
    }
}

/// Takes a lock that is not known to be free.
#[cold]
fn take(t: &mut Thread, call: &Call, kind: WaitKind, owner: u8, tries: usize) -> i64 {
    let lock = call.arguments[0];
    let may_try = tries != 0 && (kind != WaitKind::Mutex || is_plain(lock));
    // SAFETY: the libc's own function for this lock.
    if may_try && unsafe { std::mem::transmute::<usize, Tries>(tries)(lock) } == 0 {
        return 0;
    }
    let holder = holder_of(t, lock, owner);
    // A lock that could not be tried has caused a wait if the call took long.
    let least = if may_try { 0 } else { BRIEFEST };
    waiting(t, call, kind, least, |_| holder)
}

/// The thread that holds a lock.
fn holder_of(t: &Thread, lock: u64, owner: u8) -> Holder {
    let tid = if owner == 0 {
        0
    } else {
        // SAFETY: the program's lock, as the function is defined, of glibc's layout.
        unsafe { (*((lock + u64::from(owner)) as *const AtomicI32)).load(Ordering::Relaxed) }
    };
    if tid != 0 {
        // SAFETY: recordings are never freed, and what is asked is atomic.
        let known = roster::of_tid(tid).map(|at| unsafe { &*at });
        return known.map_or(Holder::UNKNOWN, |other| Holder {
            thread: other.number,
            address: other.waits.taken.find(lock),
        });
    }
    let mut found = Holder::UNKNOWN;
    for at in roster::all().filter(|at| !std::ptr::eq(*at, t)) {
        // SAFETY: as above.
        let other = unsafe { &*at };
        let address = other.waits.taken.find(lock);
        if address != 0 && found.address != 0 {
            return Holder::UNKNOWN;
        }
        if address != 0 {
            found = Holder {
                thread: other.number,
                address,
            };
        }
    }
    found
}

/// Takes a semaphore. This is a point of cancellation even if the semaphore is free.
fn get(t: &mut Thread, call: &Call, kind: WaitKind, tries: usize, hold: bool) -> i64 {
    unsafe extern "C-unwind" {
        fn pthread_testcancel();
    }
    // SAFETY: the libc's own functions, for this semaphore. If the attempt fails, `errno` is restored before the
    // wait.
    unsafe {
        pthread_testcancel();
        let errno = *libc::__errno_location();
        if std::mem::transmute::<usize, Tries>(tries)(call.arguments[0]) == 0 {
            return 0;
        }
        *libc::__errno_location() = errno;
    }
    let _held = hold.then(SignalBlocked::new);
    waiting(t, call, kind, 0, |call| last(call.arguments[0]))
}

/// Waits for the end of a thread. If the thread is not known to run now, only a long call counts as a wait.
fn join(t: &mut Thread, call: &Call) -> i64 {
    let handle = call.arguments[0];
    let is = |t: &Thread| t.handle.load(Ordering::Relaxed) == handle;
    // SAFETY: recordings are never freed, and this looks only at what is atomic or never changes.
    let find = || roster::find(is).and_then(|at| unsafe { at.as_ref() });
    let goes_on = find().is_some_and(|t| t.tid.load(Ordering::Relaxed) > 0);
    let least = if goes_on { 0 } else { WORTH_READING };
    // A thread that was only just made is known by its handle once it has begun.
    let result = waiting(t, call, WaitKind::Join, least, |_| Holder {
        thread: find().map_or(u32::MAX, |t| t.number),
        ..Holder::UNKNOWN
    });
    if let Some(joined) = find().filter(|_| result == 0) {
        t.has_joined(joined.made_at_key.load(Ordering::Relaxed));
    }
    result
}

/// Waits at a barrier.
fn meet(t: &mut Thread, call: &Call) -> i64 {
    if !RECORDING.load(Ordering::Relaxed) || runtimes::reports_events(call.frame.return_address) {
        return call.go();
    }
    let ctx = t.context(call.frame.caller());
    t.meets_those_it_made();
    t.barrier_enter(ctx);
    let wait = Wait::begin(t, ctx, call.frame.caller().stack_pointer);
    let result = call.go();
    drop(wait);
    t.barrier_leave(None);
    result
}

/// A shorter call has not waited, nanoseconds.
pub(super) const BRIEFEST: u64 = 2_000;

/// While this lives, samples that fall into the wait are counted at its call. A cancellation ends it too.
pub(super) struct Wait(*mut Thread, thread::Waiting);

impl Wait {
    pub(super) fn begin(t: &mut Thread, ctx: u32, stack_pointer: u64) -> Self {
        let before = t.waiting;
        t.waiting = thread::Waiting { ctx, stack_pointer };
        Self(t, before)
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        // SAFETY: this thread's own recording, which is never freed.
        unsafe { (*self.0).waiting = self.1 };
    }
}

/// Counts a wait when it is over, also if a cancellation ends it.
struct Counted<'a, F: Fn(&Call) -> Holder> {
    wait: Wait,
    call: &'a Call<'a>,
    kind: WaitKind,
    holder: F,
    ctx: u32,
    start: u64,
    /// A shorter call is no wait.
    least: u64,
}

impl<F: Fn(&Call) -> Holder> Drop for Counted<'_, F> {
    fn drop(&mut self) {
        let end = clock::now();
        if !RECORDING.load(Ordering::Relaxed) || end.saturating_sub(self.start) < self.least {
            return;
        }
        // SAFETY: this thread's own recording; `errno` is the program's to read.
        unsafe {
            let errno = *libc::__errno_location();
            let holder = (self.holder)(self.call);
            let t = &mut *self.wait.0;
            // The waiting code may be the program's allocator, so the table must not be made here.
            if t.expects_waits() && t.is_at(self.call.frame.caller().stack_pointer) {
                let what = Awaited {
                    kind: self.kind,
                    lock: self.call.arguments[0],
                    holder,
                };
                t.waited(self.ctx, what, self.start, end);
            }
            *libc::__errno_location() = errno;
        }
    }
}

/// Results of calls that have not waited.
const REFUSALS: [i32; 5] = [
    libc::EDEADLK,
    libc::EINVAL,
    libc::EAGAIN,
    libc::EPERM,
    libc::ESRCH,
];

/// Makes a call that waits, and counts the wait. `holder` is called when it is over.
fn waiting(
    t: &mut Thread,
    call: &Call,
    kind: WaitKind,
    least: u64,
    holder: impl Fn(&Call) -> Holder,
) -> i64 {
    // A runtime that reports its own events reports its waits too.
    if !RECORDING.load(Ordering::Relaxed) || runtimes::reports_events(call.frame.return_address) {
        return call.go();
    }
    let from = call.frame.caller();
    let ctx = t.context(from);
    let mut counted = Counted {
        wait: Wait::begin(t, ctx, from.stack_pointer),
        call,
        kind,
        holder,
        ctx,
        start: clock::now(),
        least,
    };
    let result = call.go();
    if REFUSALS.contains(&(result as i32)) {
        counted.least = u64::MAX;
    }
    drop(counted);
    result
}

include!(concat!(env!("OUT_DIR"), "/waiting.rs"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_is_there() {
        for (name, what, _) in WAITING {
            assert_ne!(look_up(name, what).0, 0, "{name:?}");
        }
    }

    #[test]
    fn old_versions_of_the_libc_are_known() {
        let versions: [&[u8]; 6] = [b"2.4", b"2.29", b"2.29.9000", b"2.30", b"2.36", b"3.1"];
        let old = versions.map(is_before_2_30);
        assert_eq!(old, [true, true, true, false, false, false]);
        assert!(!is_before_2_30(b"new"));
    }

    #[test]
    fn an_invalid_time_is_refused() {
        let time = |tv_nsec| libc::timespec { tv_sec: 1, tv_nsec };
        let (good, bad, negative) = (time(999_999_999), time(1_000_000_000), time(-1));
        let is_valid = |until: Until, clock: libc::clockid_t, time: *const libc::timespec| {
            until.is_valid(&[0, clock as u64, time as u64, 0])
        };
        assert!(is_valid(Until::Ever, 77, &bad));
        assert!(is_valid(Until::At(2), 77, &good));
        assert!(is_valid(Until::At(2), 77, std::ptr::null()));
        assert!(!is_valid(Until::At(2), 0, &bad) && !is_valid(Until::At(2), 0, &negative));
        assert!(is_valid(Until::ByClock(2), libc::CLOCK_MONOTONIC, &good));
        assert!(!is_valid(Until::ByClock(2), libc::CLOCK_MONOTONIC, &bad));
        assert!(!is_valid(
            Until::ByClock(2),
            libc::CLOCK_MONOTONIC_RAW,
            &good
        ));
    }
}
