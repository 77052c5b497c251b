//! Sections and locks that one thread at a time may hold: which thread waited, and for which.
//!
//! Whether one is held is checked before it is taken, so that a free one costs no reading of the clock. Locks can be
//! tried. Critical sections cannot, and only the runtime knows how they are built. So a thread that wants one enters
//! itself into a small table, by the section's address (`waits::claim`), and is marked as gone when it leaves. A
//! thread that finds another one there reads the clock: it has waited for that one, or for one that came in between.
//! If another section has the same entry, only a wait of more than a microsecond counts.

use super::count;
use crate::guest::clock;
use crate::threads::{
    thread::{Caller, Thread},
    waits::{Awaited, Holder, claim, last, note_last, release},
};
use headwater_model::run::WaitKind;
use headwater_mpi_call::args::Args;

/// Which section a function enters.
#[derive(Clone, Copy)]
pub enum Section {
    /// All sections without a name are one.
    Unnamed,
    /// The section of atomic operations that the processor does not have.
    Atomic,
    /// The one that the first argument identifies.
    First,
}

impl Section {
    /// What distinguishes it from others.
    #[inline]
    pub fn key(self, args: &Args) -> u64 {
        match self {
            Self::Unnamed => 1,
            Self::Atomic => 2,
            Self::First => args.raw(0),
        }
    }
}

/// The thread that is about to hold a lock, by a call.
#[inline]
fn me(t: &Thread, from: Caller) -> Holder {
    Holder {
        thread: t.number,
        address: from.return_address,
    }
}

/// Enters a section.
pub unsafe fn take(t: *mut Thread, real: usize, args: &Args, from: Caller, key: u64) -> i64 {
    // SAFETY: promised by the caller.
    unsafe {
        let me = me(&*t, from);
        if claim(key, me) {
            return args.call_any(real);
        }
        let start = clock::now();
        let result = args.call_any(real);
        taken(&mut *t, from, key, start);
        note_last(key, me);
        result
    }
}

/// Counts the wait for a section or a lock that another thread held, or seemed to hold.
fn taken(t: &mut Thread, from: Caller, key: u64, start: u64) {
    let end = clock::now();
    let what = Awaited {
        kind: WaitKind::Critical,
        lock: key,
        holder: other(t, last(key)),
    };
    count(t, what, start, end, |t| t.context(from));
}

/// The holder, if it is another thread.
pub fn other(t: &Thread, holder: Holder) -> Holder {
    if holder.thread == t.number {
        Holder::UNKNOWN
    } else {
        holder
    }
}

/// Leaves a section, or releases a lock.
pub unsafe fn give(t: *mut Thread, real: usize, args: &Args, key: u64) -> i64 {
    // SAFETY: promised by the caller.
    unsafe {
        release(key, (*t).number);
        args.call_any(real)
    }
}

/// Takes a lock, which `tries` takes only if it is free.
pub unsafe fn lock(t: *mut Thread, real: usize, tries: usize, args: &Args, from: Caller) -> i64 {
    let key = args.raw(0);
    // SAFETY: promised by the caller; both functions take the same argument.
    unsafe {
        let me = me(&*t, from);
        if tries != 0 && args.call(tries) != 0 {
            note_last(key, me);
            return 0;
        }
        let start = clock::now();
        let result = args.call_any(real);
        taken(&mut *t, from, key, start);
        note_last(key, me);
        result
    }
}

/// Takes a lock if it is free.
pub unsafe fn try_to(t: *mut Thread, real: usize, args: &Args, from: Caller) -> i64 {
    // SAFETY: promised by the caller.
    unsafe {
        let result = args.call_any(real);
        if result as i32 != 0 {
            note_last(args.raw(0), me(&*t, from));
        }
        result
    }
}
