//! What a thread does of its team's work: from the beginning of a parallel region, or from a barrier that it leaves, to
//! its next arrival, as the collector records it (`collector/src/threads/team.rs`). How long it waits there is known
//! once all threads of the rank are read.

use super::{Rows, Thread};
use headwater_format::spool::layout::TeamRow;
use rustc_hash::FxHashMap;

/// Ends of a stretch: the team and the barriers, or the team itself.
type Ends = (u32, u32, u32);

/// The team that a thread is in.
struct InTeam {
    /// Which time that threads were made, of those of the rank.
    number: u32,
    ctx: u32,
    /// Where the stretch began, and when.
    from: u32,
    since: u64,
    /// What it had slept, and had been in MPI or waiting for locks, until then.
    slept: u64,
    locked: u64,
    arrivals: u32,
    /// Regions around the parallel one.
    around: usize,
}

/// An arrival of a thread: of which team, which of its arrivals it is, when, and the row of the stretch that ended there.
/// There may be many millions.
#[derive(Clone, Copy)]
pub struct Arrival {
    at: u64,
    number: u32,
    place: u32,
    row: u32,
}

/// The teams of a thread.
#[derive(Default)]
pub struct Teams {
    /// The last time that threads were made.
    pub forked: Option<u32>,
    now: Option<InTeam>,
    known: FxHashMap<Ends, u32>,
    rows: Vec<TeamRow>,
    arrivals: Vec<Arrival>,
    /// Time asleep in all, waiting for locks included.
    pub slept: u64,
}

impl Teams {
    /// Rows, and arrivals that point to them.
    pub fn end(self) -> (Vec<TeamRow>, Vec<Arrival>) {
        (self.rows, self.arrivals)
    }
}

impl Thread {
    /// Threads are made, or this one is: the region that is entered next is that of team `number`.
    pub fn forked(&mut self, number: usize) {
        self.teams.forked = u32::try_from(number).ok();
    }

    /// A parallel region is entered by the call `ctx`. One within another is not distinguished.
    pub(super) fn enter_team(&mut self, ctx: u32) {
        if self.teams.now.is_some() {
            return;
        }
        let Some(number) = self.teams.forked.take() else {
            return;
        };
        self.teams.now = Some(InTeam {
            number,
            ctx,
            from: ctx,
            since: self.now,
            slept: self.teams.slept,
            locked: self.locked(),
            arrivals: 0,
            around: self.stack.len(),
        });
    }

    /// For how long it has been in MPI or waiting for locks.
    fn locked(&self) -> u64 {
        self.totals.mpi_ns.saturating_add(self.locks.waited)
    }

    /// The thread reaches a barrier.
    pub(super) fn arrive(&mut self, barrier: u32) {
        let locked = self.locked();
        let Some(team) = &mut self.teams.now else {
            return;
        };
        let stretch = (team.ctx, team.from, barrier);
        let wall = self.now.saturating_sub(team.since);
        let (number, place) = (team.number, team.arrivals);
        team.arrivals += 1;
        // A stretch with a pause in it is not counted.
        if self.pauses.between(team.since, self.now) > 0 {
            return;
        }
        let slept = self.teams.slept.saturating_sub(team.slept);
        let locked = locked.saturating_sub(team.locked);
        let next = self.teams.rows.len() as u32;
        let of = *self.teams.known.entry(stretch).or_insert(next);
        if of == next {
            self.teams.rows.push(TeamRow {
                team: stretch.0,
                from: stretch.1,
                to: stretch.2,
                ..Default::default()
            });
        }
        let Some(row) = self.teams.rows.get_mut(of as usize) else {
            return;
        };
        row.count += 1;
        row.wall_ns += wall;
        // Waiting for locks is asleep as well, being in MPI is not.
        row.cpu_ns += wall.saturating_sub(slept);
        row.blocked_ns += slept;
        row.locked_ns += locked;
        self.teams.arrivals.push(Arrival {
            at: self.now,
            number,
            place,
            row: of,
        });
    }

    /// It leaves a barrier, and another stretch begins.
    pub(super) fn leave_barrier(&mut self, barrier: u32) {
        let locked = self.locked();
        if let Some(team) = &mut self.teams.now {
            team.from = barrier;
            team.since = self.now;
            team.slept = self.teams.slept;
            team.locked = locked;
        }
    }

    /// A parallel region is left that had so many regions around it.
    pub(super) fn leave_team(&mut self, around: usize) {
        let Some(team) = self.teams.now.as_ref().filter(|t| t.around == around) else {
            return;
        };
        // Behind the barrier at its end there is nothing.
        if self.now > team.since {
            let ctx = team.ctx;
            self.arrive(ctx);
        }
        self.teams.now = None;
    }
}

/// Adds to the threads of a rank how long each waited for the last of its team; sorts their rows by their ends.
pub fn waits(threads: &mut [Rows]) {
    let mut last: FxHashMap<(u32, u32), u64> = FxHashMap::default();
    for arrival in threads.iter().flat_map(|t| &t.arrivals) {
        let at = last.entry((arrival.number, arrival.place)).or_default();
        *at = arrival.at.max(*at);
    }
    for thread in threads {
        for arrival in std::mem::take(&mut thread.arrivals) {
            let last = last.get(&(arrival.number, arrival.place)).copied();
            if let Some(row) = thread.teams.get_mut(arrival.row as usize) {
                let wait = last.unwrap_or(0).saturating_sub(arrival.at);
                row.wait_ns = row.wait_ns.saturating_add(wait);
            }
        }
        thread
            .teams
            .sort_unstable_by_key(|r| (r.team, r.from, r.to));
    }
}
