//! Teams of threads: what each thread does between two points where its team meets.
//!
//! A team is the threads of an OpenMP parallel region, or those that one call of `pthread_create` made. A thread
//! enters the team, arrives at barriers and leaves them, and leaves the team. The time from each of these to the next
//! arrival is a *stretch*, and stretches between the same two points are counted in one row. Code that starts a team
//! works like this:
//!
//! ```text
//! maker:   let ctx = t.context(from)?;  let origin = t.origin(ctx);      // into the team's descriptor
//! worker:  let team = t.adopt(origin);
//!          let outer = t.enter_team(team);
//!          root::run(t, team, function, argument);                      // call paths go on from the maker's
//!          let arrival = t.leave_team(outer);                           // into the descriptor
//! maker:   arrival.wait_until(last);                                    // once all have arrived
//! ```
//!
//! A thread calls these for its own recording, outside the signal handler. They cost no allocation, lock or system
//! call, except if a stretch was longer than [`LONG_STRETCH`] or a table is made. The CPU time of a stretch needs a
//! reading at its beginning too. This reading is made if the stretch before was long. A long stretch after a short
//! one gets at most the CPU time since the last reading, which includes that of short stretches and of waits in
//! between.
//!
//! For traces, which are simulated with a core for each thread, each arrival has the time that the thread needed itself:
//! the stretch without its waits for a core. The longest of a team is how long the team takes with a core for each of
//! its threads; see [`Met`].

use crate::guest::{clock, meter::Spent, recording};
use crate::libraries::code;
use crate::storage::table::Later;
use crate::threads::{
    made::Making,
    pause::PauseState,
    thread::{self, Caller, Thread, WORTH_READING},
};
use headwater_call_path::{NONE, Origin};
use headwater_format::spool::layout::TeamRow;
use headwater_model::hash::mix2;
use std::sync::atomic::{Ordering, compiler_fence};

/// Rows of a thread.
pub const TEAMS: u32 = 1 << 12;

/// CPU time is read at the end of stretches longer than this, nanoseconds. Like all computation, a stretch that loses
/// its core loses it for a time slice.
const LONG_STRETCH: u64 = 100_000;

/// The stretch in progress.
#[derive(Clone, Copy)]
pub struct Stretch {
    /// The team, [`NONE`] outside of any.
    team: u32,
    /// Where it began.
    from: u32,
    /// When.
    since: u64,
    /// How long before that the team began, or the last thread came to the barrier. A thread that begins later than
    /// [`LONG_STRETCH`] has waited for a core, and then this is 0.
    late: u64,
    /// What the thread had used in all teams until then.
    spent: Spent,
    /// How long it had waited for others until then.
    locked: u64,
    /// The program's switch when the stretch began: a stretch with a pause in it is not counted.
    switch: PauseState,
}

impl Stretch {
    /// Outside of any team.
    pub const NONE: Self = Self {
        team: NONE,
        from: NONE,
        since: 0,
        late: 0,
        spent: Spent {
            cpu: 0,
            runq: 0,
            blocked: 0,
        },
        locked: 0,
        switch: PauseState::ON,
    };
}

/// What a thread records of its teams.
pub struct Teams {
    rows: Later<TeamRow>,
    now: Stretch,
    looked: u64,
    /// Whether the stretch before was long.
    long: bool,
    /// Whether all time since the last reading was in stretches.
    fresh: bool,
    /// All that was used until the last look, and all waiting for others.
    spent: Spent,
    locked: u64,
    arrived: Arrival,
    met: Met,
    /// What it may meet at a barrier while it is in no team.
    pub(super) making: Making,
}

/// How long a thread was in regions that it began, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Met {
    /// By the clock, until the last thread of the team was done.
    pub real: u64,
    /// With a core for each thread of the team.
    pub own: u64,
}

impl Met {
    /// Computation that took `wall`, of which the thread was `busy` or asleep for so long, with a core for each thread.
    /// In regions this is the time of their teams. Outside of them, waits for a core are in proportion to the whole.
    pub fn with_cores(self, wall: u64, busy: u64) -> u64 {
        let Some(outside) = wall.checked_sub(self.real).filter(|_| self.real > 0) else {
            // Not all of the regions is in this computation.
            return busy;
        };
        let outside = u128::from(outside) * u128::from(busy) / u128::from(wall.max(1));
        u64::try_from(outside).map_or(busy, |o| o.saturating_add(self.own.min(self.real)))
    }
}

impl Teams {
    /// In no team.
    pub const fn new() -> Self {
        Self {
            rows: Later::new(),
            now: Stretch::NONE,
            looked: 0,
            long: true,
            fresh: false,
            spent: Stretch::NONE.spent,
            locked: 0,
            arrived: Arrival::NONE,
            met: Met { real: 0, own: 0 },
            making: Making::NONE,
        }
    }

    /// Whether the thread is in one.
    pub fn in_one(&self) -> bool {
        self.now.team != NONE
    }

    /// The team that it is in; [`NONE`] in none.
    pub fn team(&self) -> u32 {
        self.now.team
    }

    /// The thread makes another one at `now`.
    pub(super) fn makes(&mut self, now: u64) {
        self.making = Making {
            last: now,
            locked: self.locked,
            switch: PauseState::now(),
            ..self.making
        };
    }

    /// The team met; `own` is its longest time, and this thread's arrival was one of them.
    pub fn has_met(&mut self, arrival: Arrival, last: u64, own: u64) {
        self.met.real += last.saturating_sub(arrival.begun);
        self.met.own += own;
    }

    /// What the thread was in since this was last asked.
    #[inline]
    pub fn take_met(&mut self) -> Met {
        std::mem::take(&mut self.met)
    }

    /// The stretch that has just begun belongs to a team that began at `begun`.
    pub fn begun_since(&mut self, begun: u64) {
        self.begun_late(self.now.since.saturating_sub(begun));
    }

    /// The stretch that has just begun is `late` by so much.
    fn begun_late(&mut self, late: u64) {
        self.now.late = if late < LONG_STRETCH { late } else { 0 };
    }

    /// The thread has ended, or is no longer one of those that it made: what it is in is not counted.
    pub fn forget(&mut self) {
        (self.now, self.arrived) = (Stretch::NONE, Arrival::NONE);
        self.making = Making::NONE;
    }
}

/// What a thread did in a task, with the tasks that it did while it waited there for others.
#[derive(Clone, Copy)]
pub struct Work {
    wall: u64,
    spent: Spent,
    /// The part of it that it waited for others.
    locked: u64,
}

/// A thread's arrival at a point where its team meets.
#[derive(Clone, Copy)]
pub struct Arrival {
    /// The row of the stretch that ended; null if there is none.
    row: *mut TeamRow,
    /// The clock.
    pub at: u64,
    /// When the stretch began, and its delay before that.
    begun: u64,
    /// How long the thread needed itself, without its waits for a core.
    pub own: u64,
}

// SAFETY: the row is mapped as long as the process lives; see `wait_until` for which thread writes.
unsafe impl Send for Arrival {}

impl Arrival {
    /// Nowhere.
    pub const NONE: Self = Self {
        row: std::ptr::null_mut(),
        at: 0,
        begun: 0,
        own: 0,
    };

    /// The thread has worked after its arrival, for example on tasks while its team waits. This counts as if it had
    /// arrived later.
    pub fn worked(&mut self, work: Work) {
        let Work {
            wall,
            spent,
            locked,
        } = work;
        self.at += wall;
        self.own += wall.saturating_sub(spent.runq);
        // SAFETY: as in `wait_until`, of the thread that arrived.
        if let Some(row) = unsafe { self.row.as_mut() } {
            row.wall_ns += wall;
            row.cpu_ns += spent.cpu;
            row.runq_ns += spent.runq;
            row.blocked_ns += spent.blocked;
            row.locked_ns += locked;
        }
    }

    /// The thread has waited from its arrival until `last`. Another thread may call this as long as the one that
    /// arrived cannot go on.
    pub fn wait_until(self, last: u64) {
        if !recording::RECORDING.load(Ordering::Relaxed) {
            return;
        }
        // SAFETY: null or a row in the mapping, which nobody else writes to now.
        if let Some(row) = unsafe { self.row.as_mut() } {
            row.wait_ns += last.saturating_sub(self.at);
        }
    }
}

/// The calling thread's recording, if what it does now is recorded: not inside MPI and not in the signal handler.
#[inline]
pub fn recorded() -> Option<&'static mut Thread> {
    // SAFETY: null or this thread's own recording, which is never freed.
    unsafe { thread::current().as_mut() }.filter(|t| {
        !t.in_mpi.load(Ordering::Relaxed) && recording::RECORDING.load(Ordering::Relaxed)
    })
}

impl Thread {
    /// Runs `f` while the sampler takes no sample.
    #[inline]
    pub fn undisturbed<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.in_mpi.swap(true, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        let result = f(self);
        compiler_fence(Ordering::SeqCst);
        self.in_mpi.store(before, Ordering::Relaxed);
        result
    }

    /// The context of a call; [`NONE`] if nothing can be unwound at the moment.
    pub fn context(&mut self, from: Caller) -> u32 {
        self.undisturbed(|t| match code::tables() {
            Some(tables) => t.contexts.of_call(tables, from),
            None => NONE,
        })
    }

    /// One of this thread's contexts, for others to adopt.
    pub fn origin(&self, ctx: u32) -> Origin {
        self.contexts.origin(ctx, self.number)
    }

    /// Another thread's context as one of this thread's.
    pub fn adopt(&mut self, origin: Origin) -> u32 {
        self.undisturbed(|t| t.contexts.adopt(origin, t.number))
    }

    /// Enters a team, maybe within another one. Returns what [`Thread::leave_team`] restores.
    pub fn enter_team(&mut self, team: u32) -> Stretch {
        let now = clock::now();
        self.undisturbed(|t| {
            if t.teams.now.team == NONE {
                t.skip(now);
            } else {
                t.look(now);
            }
            let outer = t.teams.now;
            t.begin_stretch(team, team, now);
            outer
        })
    }

    /// Is one of a team of threads that it made, since it made the last of them. What it used is known since it made the
    /// first one, or since a team that it was in meanwhile.
    pub(super) fn begin_beside(&mut self, team: u32) {
        let Making {
            last,
            locked,
            switch,
            ..
        } = self.teams.making;
        self.teams.looked = last;
        self.teams.fresh = false;
        self.begin_stretch(team, team, last);
        (self.teams.now.locked, self.teams.now.switch) = (locked, switch);
    }

    /// Arrives at a barrier, at context `ctx`.
    pub fn barrier_enter(&mut self, ctx: u32) {
        let now = clock::now();
        self.undisturbed(|t| t.arrive(ctx, now));
    }

    /// Leaves the barrier; `last` is the clock of the last arrival, if it is known.
    pub fn barrier_leave(&mut self, last: Option<u64>) {
        let now = clock::now();
        self.undisturbed(|t| {
            let arrival = std::mem::replace(&mut t.teams.arrived, Arrival::NONE);
            let last = last.unwrap_or(now);
            arrival.wait_until(last);
            // For a team around this one, which does not see this barrier.
            t.locked(last.saturating_sub(arrival.at));
            let Stretch { team, from, .. } = t.teams.now;
            t.skip(now);
            t.begin_stretch(team, from, now);
            t.teams.begun_late(now.saturating_sub(last));
        });
    }

    /// Leaves the team at its end, and continues in `outer`. The time in this team belongs to `outer` too.
    pub fn leave_team(&mut self, outer: Stretch) -> Arrival {
        let now = clock::now();
        self.undisturbed(|t| {
            let team = t.teams.now.team;
            t.arrive(team, now);
            t.teams.now = outer;
            std::mem::replace(&mut t.teams.arrived, Arrival::NONE)
        })
    }

    /// The arrival at the barrier just entered, for [`Thread::barrier_left`].
    pub fn arrival(&mut self) -> Arrival {
        std::mem::replace(&mut self.teams.arrived, Arrival::NONE)
    }

    /// [`Thread::barrier_leave`] with an arrival that the caller stored meanwhile.
    pub fn barrier_left(&mut self, arrival: Arrival, last: Option<u64>) {
        self.teams.arrived = arrival;
        self.barrier_leave(last);
    }

    /// A task begins while the team waits: the time since the last look was waiting. Returns the clock, and how long the
    /// thread has waited for others until now.
    pub fn task_begin(&mut self) -> (u64, u64) {
        let now = clock::now();
        self.undisturbed(|t| t.skip(now));
        (now, self.teams.locked)
    }

    /// A task that began at `start` has ended. Returns the clock and what the task used.
    pub fn task_end(&mut self, (start, locked): (u64, u64)) -> (u64, Work) {
        let now = clock::now();
        let wall = now.saturating_sub(start);
        let spent = self.undisturbed(|t| {
            t.teams.looked = now;
            t.spent_until(now, wall)
        });
        let locked = self.teams.locked - locked;
        let work = Work {
            wall,
            spent,
            locked,
        };
        (now, work)
    }

    /// Begins to measure again: what was used since the last look belongs to no team.
    fn skip(&mut self, now: u64) {
        if now.saturating_sub(self.teams.looked) > WORTH_READING {
            self.teams.fresh = self.teams.long;
            if self.teams.long {
                self.team_meter.rebase(now);
            }
        }
        self.teams.looked = now;
    }

    /// What was used in an interval that ends now.
    fn spent_until(&mut self, now: u64, interval: u64) -> Spent {
        self.teams.long = interval >= LONG_STRETCH;
        if !self.teams.long {
            return Spent {
                cpu: interval,
                ..Spent::default()
            };
        }
        if !std::mem::replace(&mut self.teams.fresh, true) {
            return self.team_meter.at_most(interval, now, &self.schedstat);
        }
        self.team_meter
            .spent(interval, now, LONG_STRETCH, &self.schedstat)
    }

    /// Time that the thread has waited for another one belongs to its stretch.
    pub(crate) fn locked(&mut self, wall: u64) {
        self.teams.locked += wall;
    }

    fn begin_stretch(&mut self, team: u32, from: u32, now: u64) {
        self.teams.now = Stretch {
            team,
            from,
            since: now,
            late: 0,
            spent: self.teams.spent,
            locked: self.teams.locked,
            switch: PauseState::now(),
        };
    }

    /// Adds what was used since the last look to the stretch in progress.
    fn look(&mut self, now: u64) {
        let interval = now.saturating_sub(self.teams.looked);
        self.teams.looked = now;
        let spent = self.spent_until(now, interval);
        self.teams.spent += spent;
    }

    /// Ends the stretch in progress at `to`, and counts it.
    fn arrive(&mut self, to: u32, now: u64) {
        self.look(now);
        let Stretch {
            team,
            from,
            since,
            late,
            spent,
            locked,
            switch,
        } = self.teams.now;
        let spent = self.teams.spent - spent;
        let mut arrival = Arrival {
            at: now,
            begun: since.saturating_sub(late),
            ..Arrival::NONE
        };
        arrival.own = now.saturating_sub(arrival.begun);
        arrival.own = arrival.own.saturating_sub(spent.runq);
        self.teams.arrived = arrival;
        // The next stretch begins here.
        self.teams.now.from = to;
        let paused = !switch.is_on() || switch != PauseState::now();
        // Nor is it counted in a child after `fork`: the tables belong to its parent.
        if team == NONE || paused || !recording::RECORDING.load(Ordering::Relaxed) {
            return;
        }
        let number = self.number;
        let Some(table) = self.teams.rows.table(number, TEAMS) else {
            return;
        };
        let key = mix2(u64::from(team) << 32 | u64::from(from), u64::from(to));
        let row = table.find_or_push(
            key,
            |r| (r.team, r.from, r.to) == (team, from, to),
            || TeamRow {
                team,
                from,
                to,
                ..Default::default()
            },
        );
        if let Some(row) = row.and_then(|r| table.get(r)) {
            let locked = self.teams.locked - locked;
            row.count += 1;
            row.wall_ns += now.saturating_sub(since);
            row.cpu_ns += spent.cpu;
            row.runq_ns += spent.runq;
            row.blocked_ns += spent.blocked;
            row.locked_ns += locked;
            self.teams.arrived.row = row;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_team_takes_as_long_as_its_longest_thread_with_a_core_for_each() {
        let met = |real, own| Met { real, own };
        // Without a team, what the scheduler says of the thread itself is all.
        assert_eq!(met(0, 0).with_cores(100, 70), 70);
        // A core for each thread: the team takes as long as it took.
        assert_eq!(met(60, 60).with_cores(100, 100), 100);
        // The thread worked for 10, and slept while another one of its team worked for 30, and waited for 30.
        assert_eq!(met(60, 30).with_cores(100, 100), 70);
        // It spent its wait on the core: this makes no difference.
        assert_eq!(met(60, 30).with_cores(60, 20), 30);
        assert_eq!(met(200, 150).with_cores(100, 80), 80);
    }
}
