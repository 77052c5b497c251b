//! Threads that a thread made and then meets at their barriers: it is one of their team, as the first thread of a program
//! often is.
//!
//! Which calls of `pthread_create` made the others of a barrier is not known there. It is taken for the call that made the
//! most threads, of two the later one. The thread's first stretch begins when the last of them was made, and its last one
//! ends when it joins the first of them.

use crate::guest::clock;
use crate::threads::{birth::made_at_key, team::Stretch, thread::Thread};
use headwater_call_path::NONE;

/// Threads that one call made.
#[derive(Clone, Copy)]
struct Made {
    /// The call.
    ctx: u32,
    count: u32,
    /// When it made the last one.
    last: u64,
}

/// What a thread in no team knows of the threads that it made.
pub struct Making {
    /// By the call that made the most.
    team: Made,
    /// By the last call, if that is another one.
    other: Made,
}

impl Making {
    /// None yet.
    pub const fn new() -> Self {
        const NOBODY: Made = Made {
            ctx: NONE,
            count: 0,
            last: 0,
        };
        Self {
            team: NOBODY,
            other: NOBODY,
        }
    }

    /// The call `ctx` makes a thread. Returns whether its threads are now the team, which they were not before.
    fn count(&mut self, ctx: u32, now: u64) -> bool {
        let is_team = self.team.ctx == ctx;
        let made = if is_team {
            &mut self.team
        } else {
            &mut self.other
        };
        let count = if made.ctx == ctx { made.count + 1 } else { 1 };
        *made = Made {
            ctx,
            count,
            last: now,
        };
        let is_new = !is_team && count >= self.team.count;
        if is_new {
            std::mem::swap(&mut self.team, &mut self.other);
        }
        is_new
    }
}

impl Thread {
    /// The thread makes another one by the call `ctx`.
    pub fn makes(&mut self, ctx: u32) {
        if ctx == NONE || self.teams.in_one() {
            return;
        }
        let now = clock::now();
        if self.teams.making.count(ctx, now) {
            // What it uses from here on is in its first stretch.
            self.undisturbed(|t| t.team_meter.begin(now, &t.schedstat));
        }
    }

    /// The thread comes to a barrier: if it is in no team, it is one of the threads that it made.
    pub fn meets_those_it_made(&mut self) {
        let Made { ctx, last, .. } = self.teams.making.team;
        if ctx != NONE && !self.teams.in_one() {
            self.undisturbed(|t| t.begin_beside(ctx, last));
        }
    }

    /// The thread joins another one, which the call of this key made. If they have met, its own part is done.
    pub fn joins_one(&mut self, made_at: u64) {
        let Made { ctx, .. } = self.teams.making.team;
        if ctx != NONE && made_at == made_at_key(self.number, ctx) && self.teams.is_in(ctx) {
            self.leave_team(Stretch::NONE);
            self.teams.making = Making::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_call_that_made_the_most_threads_made_the_team() {
        let mut making = Making::new();
        let calls = [7, 7, 7, 9, 9, 3, 9];
        let new: Vec<bool> = (1..)
            .zip(calls)
            .map(|(at, ctx)| making.count(ctx, at))
            .collect();
        // A helper that is made later does not count, and another team of the same size does. The third 9 begins again.
        assert_eq!(new, [true, false, false, false, false, false, false]);
        assert_eq!((making.team.ctx, making.team.last), (7, 3));
        let new: Vec<bool> = (8..)
            .zip([9, 9])
            .map(|(at, ctx)| making.count(ctx, at))
            .collect();
        assert_eq!(new, [false, true]);
        assert_eq!((making.team.ctx, making.team.last), (9, 9));
    }
}
