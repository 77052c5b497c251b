//! Who waits for the lock of a window.
//!
//! Nobody tells: a lock is the target's, which need not call MPI for it, and calls say neither when they get it nor
//! who had it. But where all ranks' calls of a stretch are known, on one clock, whoever gives a lock back in the
//! middle of another rank's call for the same one, and could not have it at the same time, is who that call waited
//! for: the last of them, if there are several. Libraries may get a lock later than it is asked for, so calls that
//! wait for what was asked of the target, and those that give it back, count as well.

use super::layout::access::{ALL, FLUSH, LOCK, UNLOCK};

/// A call that may wait for a lock, on the common clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    /// One of `layout::access`.
    pub kind: u8,
    /// Rank and thread that call.
    pub caller: (u32, u16),
    /// The window.
    pub window: u64,
    /// The target's rank, or all.
    pub target: u32,
    /// Whether the lock is asked for exclusively; of a kind that asks for none, what was asked for before.
    pub exclusive: bool,
    /// Its start, nanoseconds.
    pub enter: u64,
    /// Its end.
    pub leave: u64,
}

impl Access {
    fn is_on_the_same_as(&self, other: &Self) -> bool {
        let all = [self.target, other.target].contains(&ALL);
        self.window == other.window && (all || self.target == other.target)
    }
}

/// Whether a row is of a call that may wait for a lock.
pub(super) fn is_one(kind: u8) -> bool {
    [LOCK, FLUSH, UNLOCK].contains(&kind)
}

/// Fills in what calls that ask for no lock hold: what their thread asked for last.
pub(super) fn fill_in(all: &mut [Access]) {
    for i in 0..all.len() {
        let (before, rest) = all.split_at_mut(i);
        let Some(this) = rest.first_mut().filter(|a| a.kind != LOCK) else {
            continue;
        };
        let mut asked = before.iter().rev().filter(|a| a.kind == LOCK);
        let held = asked.find(|a| a.caller == this.caller && a.is_on_the_same_as(this));
        this.exclusive = held.is_some_and(|a| a.exclusive);
    }
}

/// Which of `all`, by its number, the call waited for, that gave the lock back.
pub(super) fn waited_for(call: &Access, all: &[Access]) -> Option<usize> {
    let lets = |a: &Access| {
        a.kind == UNLOCK
            && a.caller.0 != call.caller.0
            && a.is_on_the_same_as(call)
            && (a.exclusive || call.exclusive)
            && call.enter < a.enter
            && a.enter <= call.leave
    };
    let found = all.iter().enumerate().filter(|(_, a)| lets(a));
    found.max_by_key(|(_, a)| a.enter).map(|(i, _)| i)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(kind: u8, rank: u32, exclusive: bool, enter: u64, leave: u64) -> Access {
        Access {
            kind,
            caller: (rank, 0),
            window: 7,
            target: 0,
            exclusive,
            enter,
            leave,
        }
    }

    #[test]
    fn a_lock_is_waited_for_until_the_last_of_those_before_gives_it_back() {
        let mut all = [
            call(LOCK, 0, true, 0, 1),
            call(LOCK, 1, true, 5, 101),
            call(LOCK, 2, true, 6, 201),
            call(UNLOCK, 0, false, 100, 101),
            call(UNLOCK, 1, false, 200, 201),
        ];
        fill_in(&mut all);
        let waits: Vec<_> = all.iter().map(|a| waited_for(a, &all)).collect();
        assert_eq!(waits, [None, Some(3), Some(4), None, None]);
        for a in &mut all {
            a.exclusive = false;
        }
        let waits: Vec<usize> = all.iter().filter_map(|a| waited_for(a, &all)).collect();
        assert!(waits.is_empty(), "shared locks do not exclude each other");
    }

    #[test]
    fn another_target_is_another_lock_unless_all_are_asked_for() {
        let mut all = [
            call(LOCK, 0, true, 0, 1),
            call(LOCK, 1, false, 5, 101),
            call(UNLOCK, 0, false, 100, 101),
        ];
        all[1].target = 3;
        fill_in(&mut all);
        assert_eq!(waited_for(&all[1], &all), None);
        all[1].target = ALL;
        assert_eq!(waited_for(&all[1], &all), Some(2));
    }
}
