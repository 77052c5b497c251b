//! `MPI_Pcontrol`: the program switches recording off and on.
//!
//! Level 0 pauses recording, level 1 resumes it, and level 2 begins to write what was recorded to the disk. Every
//! other level is for the library and other tools, and every level is passed on. The switch belongs to the process:
//! all its threads pause. During a pause, calls are decoded as usual, so that messages, requests and communicators
//! stay known, but nothing is counted or sampled. Segments and event windows end where the pause begins, and new ones
//! begin after it.
//!
//! The total time of all pauses must be known at any moment and to any thread, without a lock. While recording is on,
//! this sum does not change. While it is paused, the clock minus the sum does not change. So one word is enough for
//! both.
//!
//! `headwater stop` ends a recording by a pause that the program does not end (`end/stop.rs`).

use crate::guest::{clock, recording::RECORDING, usage::Used};
use crate::storage::process_spool;
use crate::threads::thread::{self, Caller};
use headwater_format::spool::layout::FileHeader;
use std::sync::atomic::{AtomicU64, Ordering};

/// While on: twice the nanoseconds paused until now. While paused: twice the clock minus those, plus 1.
static STATE: AtomicU64 = AtomicU64::new(0);
/// What the process had used when it was paused, and what it used in all pauses that have ended. Only who has the spool
/// writes; a process that ends in a signal handler reads, so there is no lock.
static BEFORE: Noted = Noted::nothing();
static PAUSED: Noted = Noted::nothing();

/// A note of [`Used`].
struct Noted([AtomicU64; 5]);

impl Noted {
    const fn nothing() -> Self {
        Self([const { AtomicU64::new(0) }; 5])
    }

    fn set(&self, used: Used) {
        let words = [used.cpu_ns].into_iter().chain(used.usage);
        let pairs = self.0.iter().zip(words);
        pairs.for_each(|(place, word)| place.store(word, Ordering::Release));
    }

    fn get(&self) -> Used {
        let [cpu_ns, usage @ ..] = self.0.each_ref().map(|w| w.load(Ordering::Acquire));
        Used { cpu_ns, usage }
    }
}

/// The state of the switch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PauseState(u64);

impl PauseState {
    /// Never paused.
    pub const ON: Self = Self(0);

    /// As it is now.
    #[inline]
    pub fn now() -> Self {
        Self(STATE.load(Ordering::Relaxed))
    }

    /// Whether recording is on.
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

/// Whether recording is on, as far as the program's switch is concerned.
#[inline]
pub fn is_on() -> bool {
    PauseState::now().is_on()
}

/// The program calls `MPI_Pcontrol`, function `id`. A call that changes nothing leaves no trace: the Fortran layer of
/// some libraries comes here twice.
pub fn control(level: i32, id: u16, from: Caller) {
    // SAFETY: null or this thread's own recording.
    let inside =
        unsafe { thread::current().as_ref() }.is_some_and(|t| t.inside(from.stack_pointer));
    if inside || !RECORDING.load(Ordering::Relaxed) {
        return;
    }
    match (level, is_on()) {
        (0, true) => thread::begin_pause(from, id),
        (1, false) if !process_spool::is_asked_to_stop() => thread::go_on(from, id),
        (2, _) => {
            thread::count_what_is_held_back();
            process_spool::with_spool(|spool| spool.write_out());
        }
        _ => {}
    }
}

/// Pauses or resumes. Returns whether it did, and the clock then.
pub fn switch(on: bool) -> (bool, u64) {
    let before = clock::now();
    let switched = process_spool::with_spool(|spool| {
        let header = spool.header();
        let now = switch_in(header, on)?;
        header.pauses += u64::from(!on);
        Some(now)
    });
    (switched.is_some(), switched.unwrap_or(before))
}

/// Pauses or resumes, and returns the clock then; `None` if that changes nothing. The caller has the spool, whose header
/// this is. Neither allocates nor locks.
fn switch_in(header: &mut FileHeader, on: bool) -> Option<u64> {
    let state = PauseState::now();
    if state.is_on() == on {
        return None;
    }
    // Another thread may have switched while this one waited for the spool.
    let now = clock::now();
    if on {
        PAUSED.set(used_so_far());
        header.paused_ns = state.paused(now);
        header.paused_since_ns = 0;
    } else {
        BEFORE.set(Used::now());
        header.paused_since_ns = now;
    }
    STATE.store(state.switched(now).0, Ordering::Release);
    // Another thread may switch right afterwards, and the threads' totals must be switched in the same order.
    thread::pause_totals(on);
    Some(now)
}

/// Begins a pause that is not the program's, so it is not counted as one. The caller has the spool.
pub fn begin_last(header: &mut FileHeader) {
    let _ = switch_in(header, false);
}

/// What the process used in all pauses. Ends a pause that still lasts, unless it is the one that ended the recording.
pub fn used() -> Used {
    if !process_spool::has_stopped() {
        switch(true);
    }
    used_so_far()
}

/// What the process has used in all pauses until now. Neither allocates nor locks.
pub fn used_so_far() -> Used {
    let paused = PAUSED.get();
    if is_on() {
        return paused;
    }
    paused.plus(Used::now().minus(BEFORE.get()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_pauses_is_known_at_any_time() {
        let paused = PauseState(0).switched(100);
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
