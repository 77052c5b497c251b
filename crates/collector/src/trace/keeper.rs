//! The keeper: a thread of ours that writes the events of a thread that hangs.
//!
//! A thread writes its own events from time to time, as its calls return. A thread that hangs returns from no call, and its
//! last events are those that people want to see. So the keeper looks at all threads, about once in a second. If one has
//! been in the same call since long, and this call is not the one of the last file, the keeper writes a file for it. The
//! thread may come back in the meantime; it then waits until the file is written ([`Gate`]).

use crate::guest::clock;
use crate::trace::gate::{Gate, can_hold};
use crate::trace::tracer::Tracer;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The keeper looks at most so often.
const BETWEEN: Duration = Duration::from_secs(1);

/// A thread must be in a call for this part of the run, but for one second at least and one minute at most, before its file
/// is written.
const OF_RUN: u32 = 64;
const LONGEST: Duration = Duration::from_secs(60);

/// Files of one thread are so many times as far apart as writing one took.
const APART: u64 = 200;

/// A thread that is looked at.
struct Watched {
    tracer: *mut Tracer,
    gate: Gate,
    /// The call that it was in when it was looked at last.
    seen: Option<u64>,
    /// The call that it was in when its file was written.
    written: Option<u64>,
    /// When the next file may be written.
    next: u64,
}

// SAFETY: the tracer is used only while its thread is held at the gate.
unsafe impl Send for Watched {}

struct Keeper {
    watched: Vec<Watched>,
    is_started: bool,
    /// The process gives up its events: there is nothing to keep from now on.
    has_ended: bool,
    began: u64,
}

static KEEPER: Mutex<Keeper> = Mutex::new(Keeper {
    watched: Vec::new(),
    is_started: false,
    has_ended: false,
    began: 0,
});

fn keeper() -> MutexGuard<'static, Keeper> {
    KEEPER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The calls of a thread go through `gate` from now on. Its tracer must stay where it is until [`leave`] or [`end`].
///
/// `start` starts a thread of ours, and returns whether it could.
pub fn watch(tracer: *mut Tracer, gate: Gate, start: fn(fn()) -> bool) {
    let mut keeper = keeper();
    if keeper.has_ended {
        return;
    }
    if !keeper.is_started {
        keeper.is_started = true;
        keeper.began = clock::now();
        // Without it, a rank that hangs has the events of its last file.
        keeper.has_ended = !start(run);
    }
    keeper.watched.push(Watched {
        tracer,
        gate,
        seen: None,
        written: None,
        next: 0,
    });
}

/// A tracer is used no more.
pub fn leave(tracer: *const ()) {
    keeper()
        .watched
        .retain(|one| !std::ptr::eq(one.tracer.cast(), tracer));
}

/// All tracers of the process are about to be taken from their threads.
pub fn end() {
    let mut keeper = keeper();
    keeper.has_ended = true;
    keeper.watched.clear();
}

fn run() {
    // The system takes milliseconds for this, which the program need not wait for.
    if !can_hold() {
        return end();
    }
    let mut between = BETWEEN;
    loop {
        std::thread::sleep(between);
        let mut keeper = keeper();
        if keeper.has_ended {
            return;
        }
        let now = clock::now();
        keeper.watched.iter_mut().for_each(|one| one.look(now));
        let run = Duration::from_nanos(now.saturating_sub(keeper.began));
        between = (run / OF_RUN).clamp(BETWEEN, LONGEST);
    }
}

impl Watched {
    /// Writes the thread's events, if it is in the call in which it was at the last look.
    fn look(&mut self, now: u64) {
        let call = self.gate.call();
        let before = std::mem::replace(&mut self.seen, call);
        let Some(state) = call.filter(|_| call == before) else {
            return;
        };
        if self.written == Some(state) || now < self.next {
            return;
        }
        let tracer = self.tracer;
        let mut is_written = false;
        self.gate.hold(state, || {
            // SAFETY: a tracer that is watched exists, and its thread does not use it while it is held.
            is_written = unsafe { (*tracer).write_for_thread() };
        });
        let took = clock::now().saturating_sub(now);
        self.next = now + took + took.saturating_mul(APART);
        if is_written {
            self.written = Some(state);
        }
    }
}
