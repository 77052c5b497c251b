//! `MPI_Pcontrol`: the program switches recording off and on.
//!
//! Level 0 pauses, 1 goes on, 2 begins to write what is kept to the disk; every other level is for the
//! library and other tools, and every level is passed on. The switch is the process's: all its threads
//! pause. Meanwhile calls are decoded as ever, so that messages, requests and communicators stay known, but
//! nothing is counted or sampled; segments and windows end where it pauses and begin anew behind it.
//!
//! What recording was paused for must be known for any moment and thread, without a lock: while it is
//! on, the sum of all pauses stands still; while it is paused, the clock less that sum does. So one word
//! says both.

use crate::clock;
use crate::process::{self, RECORDING, Used};
use crate::thread::{self, Caller};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// While on, twice the nanoseconds paused until now; while paused, twice the clock less those, plus 1.
static STATE: AtomicU64 = AtomicU64::new(0);
/// What the process had used when it was paused, and what it used in all pauses.
static USED: Mutex<(Used, Used)> = Mutex::new((Used::NOTHING, Used::NOTHING));

/// The state of the switch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct State(u64);

impl State {
    /// Never paused.
    pub const ON: Self = Self(0);

    /// As it is now.
    #[inline]
    pub fn now() -> Self {
        Self(STATE.load(Ordering::Relaxed))
    }

    /// Whether recording goes on.
    #[inline]
    pub fn is_on(self) -> bool {
        self.0 & 1 == 0
    }

    /// Nanoseconds paused in all until the clock is at `now`.
    pub fn paused(self, now: u64) -> u64 {
        if self.is_on() {
            self.0 >> 1
        } else {
            now.saturating_sub(self.0 >> 1)
        }
    }

    fn switched(self, now: u64) -> Self {
        let paused = self.paused(now);
        Self(if self.is_on() {
            now.saturating_sub(paused) << 1 | 1
        } else {
            paused << 1
        })
    }
}

/// Whether recording goes on, as far as the program's switch is concerned.
#[inline]
pub fn is_on() -> bool {
    State::now().is_on()
}

/// The program calls `MPI_Pcontrol`, function `id`. What does not change anything leaves no trace: some
/// libraries' Fortran layer comes by here twice.
pub fn control(level: i32, id: u16, from: Caller) {
    // SAFETY: null or this thread's own recording.
    let inside =
        unsafe { thread::current().as_ref() }.is_some_and(|t| t.inside(from.stack_pointer));
    if inside || !RECORDING.load(Ordering::Relaxed) {
        return;
    }
    match (level, is_on()) {
        (0, true) => thread::begin_pause(from, id),
        (1, false) => thread::go_on(from, id),
        (2, _) => {
            thread::count_what_is_held_back();
            process::with_spool(|spool| spool.write_out());
        }
        _ => {}
    }
}

/// Pauses, or goes on; gives whether it did, and the clock then.
pub fn switch(on: bool) -> (bool, u64) {
    let mut now = clock::now();
    let done = process::with_spool(|spool| {
        let state = State::now();
        if state.is_on() == on {
            return None;
        }
        // Another thread may have switched while this one waited.
        now = clock::now();
        let mut used = USED.lock().ok()?;
        let header = spool.header();
        if on {
            used.1 = used.1.plus(Used::now().minus(used.0));
            header.paused_ns = state.paused(now);
            header.paused_since_ns = 0;
        } else {
            used.0 = Used::now();
            header.pauses += 1;
            header.paused_since_ns = now;
        }
        STATE.store(state.switched(now).0, Ordering::Release);
        // Another thread may switch at once: threads must be told in the same order.
        thread::pause_totals(on);
        Some(())
    });
    (done.is_some(), now)
}

/// What the process used in all pauses; a pause that still lasts ends.
pub fn used() -> Used {
    switch(true);
    USED.lock().map_or(Used::NOTHING, |used| used.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_pauses_is_known_at_any_time() {
        let paused = State(0).switched(100);
        assert!(!paused.is_on());
        assert_eq!((paused.paused(100), paused.paused(130)), (0, 30));
        let on = paused.switched(150);
        assert!(on.is_on());
        assert_eq!((on.paused(150), on.paused(900)), (50, 50));
        let again = on.switched(1000);
        assert_eq!((again.paused(1000), again.paused(1007)), (50, 57));
        assert_eq!(again.switched(1010).paused(2000), 60);
    }
}
