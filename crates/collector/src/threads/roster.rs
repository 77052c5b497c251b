//! Lists all recordings of the process.
//!
//! Code uses the list to find a recording that is not its own: that of a thread that holds a lock, of a thread from
//! before recording began, or of one that has ended, whose recording the next thread from the same call may take
//! over. There is no lock, because the signal handler looks here too.

use crate::threads::thread::Thread;
use headwater_call_path::Origin;
use headwater_format::spool::layout::ContextRow;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// The most threads that can be recorded. The file has no room for the tables of more.
pub const MOST: usize = 512;

static ALL: [AtomicPtr<Thread>; MOST] = [const { AtomicPtr::new(std::ptr::null_mut()) }; MOST];

/// All that are there have smaller numbers. Most programs have few, and some make threads all the time.
static USED: AtomicUsize = AtomicUsize::new(0);

/// Where the contexts of each are.
static CONTEXTS: [AtomicPtr<ContextRow>; MOST] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; MOST];

/// Adds a recording under its number, with its contexts.
pub fn put(number: u32, thread: *mut Thread, contexts: *const ContextRow) {
    let number = number as usize;
    if let (Some(place), Some(rows)) = (ALL.get(number), CONTEXTS.get(number)) {
        rows.store(contexts.cast_mut(), Ordering::Release);
        place.store(thread, Ordering::Release);
        USED.fetch_max(number + 1, Ordering::AcqRel);
    }
}

/// A context of the recording with this number, for others to adopt.
pub fn origin(number: u32, ctx: u32) -> Option<Origin> {
    let rows = CONTEXTS.get(number as usize)?.load(Ordering::Acquire);
    (!rows.is_null()).then_some(Origin {
        rows,
        ctx,
        thread: number,
    })
}

/// All of them, in the order of their numbers. The caller may look only at what is atomic.
pub fn all() -> impl Iterator<Item = *mut Thread> {
    let all = ALL.iter().take(USED.load(Ordering::Acquire));
    let all = all.map(|p| p.load(Ordering::Acquire));
    all.filter(|t| !t.is_null())
}

/// The first for which `is` holds.
pub fn find(is: impl Fn(&Thread) -> bool) -> Option<*mut Thread> {
    // SAFETY: recordings are never freed, and the closure looks only at what is atomic.
    all().find(|t| is(unsafe { &**t }))
}

/// The one of the thread that the system knows by this number.
pub fn of_tid(tid: libc::pid_t) -> Option<*mut Thread> {
    find(|t| tid > 0 && t.tid.load(Ordering::Relaxed) == tid)
}
