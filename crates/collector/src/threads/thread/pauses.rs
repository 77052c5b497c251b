//! What a pause of recording means to a thread, whichever thread called `MPI_Pcontrol`.
//!
//! Computation ends where the pause begins, and begins again where it ends.

use super::{Call, Caller, Spent, Thread, current, enter, leave};
use crate::guest::clock;
use crate::threads::pause::{self, PauseState};
use headwater_mpi_call::record::NO_PARAMS;
use std::sync::atomic::{AtomicU64, Ordering};

/// World collectives that were left while recording was paused.
static WORLD_COLLECTIVES: AtomicU64 = AtomicU64::new(0);

/// The thread is leaving a collective over the whole world. Only those in pauses are counted: an atomic addition waits
/// until all that the program has written is in the caches.
#[inline]
pub fn world_collective() {
    if !PauseState::now().is_on() {
        WORLD_COLLECTIVES.fetch_add(1, Ordering::Relaxed);
    }
}

/// What a thread knows about pauses.
#[derive(Clone, Copy)]
pub struct Pauses {
    /// The switch when the thread last left a call; `None` if recording was paused then.
    on: Option<PauseState>,
    /// All paused time until then, nanoseconds.
    paused: u64,
    /// The switch when the last sample was taken.
    sampled: PauseState,
    /// Where the thread itself paused: context, and world collectives until then.
    paused_in: Option<(u32, u64)>,
}

impl Pauses {
    /// A thread that begins when the clock is at `now`.
    pub fn new(now: u64) -> Self {
        let state = PauseState::now();
        Self {
            on: Some(state).filter(|s| s.is_on()),
            paused: state.paused(now),
            sampled: state,
            paused_in: None,
        }
    }

    /// Whether recording was, or is, paused since the thread left a call.
    #[inline]
    pub fn any(&self) -> bool {
        self.on != Some(PauseState::now())
    }

    /// Looks at the switch at the clock `now`. Returns the time paused since the last look, nanoseconds.
    fn look(&mut self, now: u64) -> u64 {
        let before = *self;
        *self = Self {
            paused_in: before.paused_in,
            sampled: before.sampled,
            ..Self::new(now)
        };
        self.paused.saturating_sub(before.paused)
    }
}

impl Thread {
    /// Looks at the switch. Returns the time paused since the last look, nanoseconds.
    fn look_at_pauses(&mut self, now: u64) -> u64 {
        let paused = self.pauses.look(now);
        self.totals.paused_ns = self.pauses.paused;
        paused
    }

    /// Whether the signal handler may take a sample now. After a pause, sampling begins again here.
    pub fn may_be_sampled(&mut self) -> bool {
        let state = PauseState::now();
        if state == self.pauses.sampled {
            return state.is_on();
        }
        if state.is_on() {
            self.sample_anew(state);
        }
        false
    }

    fn sample_anew(&mut self, state: PauseState) {
        self.pauses.sampled = state;
        self.slept.forget();
        self.sampled_at = (clock::thread_cpu(), self.mpi_cpu);
        self.sampler.counters.rebase();
        self.sampler.counters.kernel_growth(self.run_delay());
    }

    /// A call begins, and recording was paused since the last one. Counts the computation before and after the pause,
    /// with its CPU time in proportion.
    #[cold]
    pub(super) fn enter_behind_a_pause(&mut self, call: &mut Call) {
        self.count_what_is_held_back();
        self.windows.close();
        let now = call.enter_ns;
        let wall = now.saturating_sub(self.left_ns);
        let on = wall.saturating_sub(self.look_at_pauses(now));
        call.busy_ns = 0;
        if on > 0 {
            call.busy_ns = self.meter.share(on, now);
            let spent = Spent {
                cpu: call.busy_ns,
                ..Default::default()
            };
            self.count_segment(call.ctx, 1, on, spent);
        }
        call.pending = false;
        call.counted = self.pauses.on.is_some();
        if call.counted {
            self.meter.begin(now, &self.schedstat);
        }
    }

    /// How long recording was paused in a call that is left at `now`.
    #[inline]
    pub(super) fn paused_inside(&mut self, now: u64) -> u64 {
        if !self.pauses.any() {
            return 0;
        }
        self.windows.close();
        self.look_at_pauses(now)
    }

    /// A call that is not counted ends.
    #[cold]
    pub(super) fn leave_uncounted(&mut self, call: &Call, now: u64) {
        self.windows.close();
        self.polls.armed = false;
        self.look_at_pauses(now);
        if self.pauses.on.is_some() {
            self.meter.begin(now, &self.schedstat);
        }
        self.last_ctx = call.ctx;
        self.totals.end_ns = now;
        self.left_ns = now;
    }

    fn count_what_is_held_back(&mut self) {
        if self.polls.times.count > 0 {
            self.count_polls();
        }
        self.polls.armed = false;
    }
}

/// Counts the calling thread's polls that were not counted yet.
pub fn count_what_is_held_back() {
    // SAFETY: null or this thread's own recording.
    if let Some(t) = unsafe { current().as_mut() } {
        t.in_mpi.store(true, Ordering::Relaxed);
        t.count_what_is_held_back();
        t.in_mpi.store(false, Ordering::Relaxed);
    }
}

/// The calling thread pauses recording by function `id`. This is the last call that is counted.
pub fn pause(from: Caller, id: u16) {
    let mut call = Call::of(from, id);
    let Some(t) = enter(current(), &mut call) else {
        return;
    };
    let ctx = call.ctx;
    leave(t, &call, &NO_PARAMS, false);
    t.in_mpi.store(true, Ordering::Relaxed);
    let (paused, now) = pause::switch(false);
    if paused {
        t.windows.close();
        t.left_ns = now;
        t.pauses.paused_in = Some((ctx, WORLD_COLLECTIVES.load(Ordering::Relaxed)));
    }
    t.in_mpi.store(false, Ordering::Relaxed);
}

/// The calling thread resumes recording by function `id`. Computation begins there.
///
/// If the ranks met in a collective during the pause, delays before and after the pause have nothing to do with each
/// other. If they did not meet, the delays belong together. A segment of no time from one end of the pause to the
/// other then records this.
pub fn go_on(from: Caller, id: u16) {
    let mut call = Call::of(from, id);
    let Some(t) = enter(current(), &mut call) else {
        return;
    };
    let (gone_on, now) = pause::switch(true);
    let together = WORLD_COLLECTIVES.load(Ordering::Relaxed);
    let did_not_meet = |p: &(u32, u64)| gone_on && p.1 == together;
    if let Some((ctx, _)) = t.pauses.paused_in.take().filter(did_not_meet) {
        t.last_ctx = ctx;
        t.count_segment(call.ctx, 1, 0, Spent::default());
    }
    t.leave_uncounted(&call, now);
    if gone_on {
        t.sample_anew(PauseState::now());
        t.windows.open_at(now);
    }
    t.left_ns = clock::now();
    t.in_mpi.store(false, Ordering::Relaxed);
}
