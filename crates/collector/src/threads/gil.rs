//! Waits for Python's global lock.
//!
//! The interpreter waits for its lock on a condition variable, a few milliseconds at a time: if the time is over, it
//! asks the holder to give the lock up, and waits again. So one wait is several calls, and it is counted when the last
//! one returns. Who gives the lock up while others wait notes the line of Python that it is on.

use crate::guest::clock;
use crate::libraries::interpreter::python;
use crate::threads::{
    locks::Wait,
    thread::{Caller, Thread},
    waits::{Awaited, Holder, last},
};
use headwater_cpython::splice::Owner;
use headwater_model::run::WaitKind;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Threads that wait.
static WAITING: AtomicU32 = AtomicU32::new(0);

/// The frame of Python in which a thread gave the lock up last; 0 if that is not known.
static GIVEN_UP_AT: AtomicU64 = AtomicU64::new(0);

/// Two calls with less between them are one wait, nanoseconds.
const BETWEEN: u64 = 200_000;

/// A wait whose last call came back without the lock.
#[derive(Clone, Copy)]
pub struct Pending {
    since: u64,
    until: u64,
    ctx: u32,
    /// Where its calls come from.
    return_address: u64,
    stack_pointer: u64,
}

impl Pending {
    /// None.
    pub const NONE: Self = Self {
        since: 0,
        until: 0,
        ctx: 0,
        return_address: 0,
        stack_pointer: 0,
    };

    /// Whether a call that is made `now` goes on with this wait.
    fn goes_on(&self, from: Caller, now: u64) -> bool {
        let is_there =
            (self.return_address, self.stack_pointer) == (from.return_address, from.stack_pointer);
        self.since != 0 && is_there && now.saturating_sub(self.until) < BETWEEN
    }
}

/// Whether a call comes from the interpreter.
#[inline]
pub fn is_from_interpreter(address: u64) -> bool {
    python().is_some_and(|python| python.is_interpreter(address))
}

/// The interpreter lets a thread go on that waits for its lock, if any does. Only a call that comes from the interpreter
/// may lead here.
pub fn gives_up(t: &mut Thread) {
    if WAITING.load(Ordering::Relaxed) > 0 {
        // SAFETY: the call comes from the interpreter.
        let frame = t.undisturbed(|t| unsafe { t.contexts.interpreter().innermost() });
        GIVEN_UP_AT.store(frame.unwrap_or(0), Ordering::Relaxed);
    }
}

/// While this lives, its thread waits.
struct Counted;

impl Drop for Counted {
    fn drop(&mut self) {
        WAITING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Makes a call by which the interpreter waits for its lock on the condition variable at `condition`.
pub fn wait(t: &mut Thread, from: Caller, condition: u64, call: impl FnOnce() -> i64) -> i64 {
    let now = clock::now();
    let pending = std::mem::replace(&mut t.gil, Pending::NONE);
    // A thread that gets the lock at last and waits again at once, at another line, counts at the old line: the interpreter's
    // stack is the same then.
    let (since, ctx) = match pending.goes_on(from, now) {
        true => (pending.since, pending.ctx),
        false => {
            let ctx = t.context(from);
            (clock::now(), ctx)
        }
    };
    WAITING.fetch_add(1, Ordering::Relaxed);
    let counted = Counted;
    let wait = Wait::begin(t, ctx, from.stack_pointer);
    let result = call();
    drop((wait, counted));
    let end = clock::now();
    if result == i64::from(libc::ETIMEDOUT) {
        t.gil = Pending {
            since,
            until: end,
            ctx,
            return_address: from.return_address,
            stack_pointer: from.stack_pointer,
        };
        return result;
    }
    if t.expects_waits() && t.is_at(from.stack_pointer) {
        let thread = last(condition).thread;
        let known = thread != u32::MAX && thread != t.number;
        let holder = Holder {
            thread: if known { thread } else { u32::MAX },
            address: if known {
                GIVEN_UP_AT.load(Ordering::Relaxed)
            } else {
                0
            },
        };
        let what = Awaited {
            kind: WaitKind::Gil,
            lock: condition,
            holder,
        };
        t.waited(ctx, what, since, end);
    }
    result
}
