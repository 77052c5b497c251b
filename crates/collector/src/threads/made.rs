//! Threads that a thread made and then meets at a barrier: it is one of their team, as the first thread of a program often
//! is.
//!
//! Which call of `pthread_create` made the others of a barrier is not known there. It is taken for the one of which most
//! threads live, of two the one whose thread has the higher number. The first stretch of the thread that made them begins
//! when it made the last one. What it does behind the last barrier is in no stretch: it may have nothing to do with the
//! others' work. It is one of the team until it has joined one of them, or all have ended when it makes another thread.

use crate::guest::clock;
use crate::threads::{
    birth::{made_at_key, maker_and_call},
    pause::PauseState,
    roster,
    thread::Thread,
};
use headwater_call_path::NONE;
use std::sync::atomic::Ordering;

/// Calls whose threads are counted; the threads of further ones are not met.
const CALLS: usize = 16;

/// What a thread knows of the threads that it made.
#[derive(Clone, Copy)]
pub struct Making {
    /// When it made the last one; 0 if it has made none since it left a team.
    pub last: u64,
    /// How long it had waited for others until then.
    pub locked: u64,
    /// The program's switch then.
    pub switch: PauseState,
    /// Whether it is one of them.
    pub beside: bool,
}

impl Making {
    /// None yet.
    pub const NONE: Self = Self {
        last: 0,
        locked: 0,
        switch: PauseState::ON,
        beside: false,
    };
}

/// The call of thread `maker` of which most threads live, of pairs of maker and call of living threads.
fn most(maker: u32, living: impl Iterator<Item = (u32, u32)>) -> Option<u32> {
    let mut counts = [(NONE, 0u32); CALLS];
    let mut best = (NONE, 0);
    for (_, ctx) in living.filter(|(of, ctx)| *of == maker && *ctx != NONE) {
        let place = counts.iter_mut().find(|(c, n)| *c == ctx || *n == 0);
        if let Some(place) = place {
            *place = (ctx, place.1 + 1);
            if place.1 >= best.1 {
                best = *place;
            }
        }
    }
    (best.1 > 0).then_some(best.0)
}

/// Makers and calls of the threads that live, or are about to.
fn living() -> impl Iterator<Item = (u32, u32)> {
    // SAFETY: recordings are never freed, and this is atomic.
    let all = roster::all().map(|at| unsafe { &*at });
    let living = all.filter(|t| t.tid.load(Ordering::Relaxed) != 0);
    living.map(|t| maker_and_call(t.made_at_key.load(Ordering::Relaxed)))
}

impl Thread {
    /// The thread makes another one.
    pub fn makes(&mut self) {
        let is_of_team = |key| key == (self.number, self.teams.team());
        if self.teams.making.beside && !living().any(is_of_team) {
            self.teams.forget();
        }
        if self.teams.in_one() {
            return;
        }
        let now = clock::now();
        let is_first = self.teams.making.last == 0;
        self.teams.makes(now);
        if is_first {
            // What it uses from here on can be in its first stretch.
            self.undisturbed(|t| t.team_meter.begin(now, &t.schedstat));
        }
    }

    /// The thread arrives at a barrier. If it is in no team but has made threads, it counts as one of these from now on.
    pub fn meets_those_it_made(&mut self) {
        if self.teams.making.last == 0 || self.teams.in_one() {
            return;
        }
        if let Some(ctx) = most(self.number, living()) {
            self.teams.making.beside = true;
            self.undisturbed(|t| t.begin_beside(ctx));
        }
    }

    /// The thread has joined another one, which the call of this key made.
    pub fn has_joined(&mut self, made_at: u64) {
        let key = made_at_key(self.number, self.teams.team());
        if self.teams.making.beside && made_at == key {
            self.teams.forget();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_call_of_which_most_threads_live_made_the_team() {
        let of = |threads: &[(u32, u32)]| most(1, threads.iter().copied());
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[(2, 7), (2, 7)]), None, "another thread made them");
        assert_eq!(
            of(&[(1, 7), (1, 7), (2, 9), (2, 9), (2, 9), (1, 3)]),
            Some(7)
        );
        assert_eq!(of(&[(1, 7), (1, 3)]), Some(3), "the later one");
        let many: Vec<(u32, u32)> = (0..100).map(|ctx| (1, ctx)).collect();
        assert!(of(&many).is_some());
    }
}
