//! Who waits for the lock of a window.
//!
//! No call reports it: the lock is at the target, which need not call MPI for it, and no call says when it gets the lock
//! or who held it. Where all ranks' calls of a stretch are known on one clock, the holder can be inferred: it releases the
//! lock in the middle of another rank's call for the same lock, and the two could not hold it at the same time. If there
//! are several such ranks, the call waited for the last of them. Libraries may get a lock later than it is asked for, so
//! calls that wait for operations at the target, and calls that release the lock, count as well.

use headwater_model::run::access::{ALL, FLUSH, LOCK, UNLOCK};
use rustc_hash::FxHashMap;

/// A call that may wait for a lock, on the common clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    /// One of `headwater_model::run::access`.
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

/// One target of a window, which may be all, or (`None`) whichever it is.
type Lock = (u64, Option<u32>);

impl Access {
    /// Under which of the entries that [`Access::entries`] makes others are that are on the same lock.
    fn others(&self) -> impl Iterator<Item = Lock> {
        let targets = match self.target {
            ALL => [Some(None), None],
            one => [Some(Some(one)), Some(Some(ALL))],
        };
        let window = self.window;
        targets.into_iter().flatten().map(move |t| (window, t))
    }

    /// What a lock is found by: its target, and for those that ask for all its window alone.
    fn entries(&self) -> [Lock; 2] {
        [(self.window, Some(self.target)), (self.window, None)]
    }
}

/// Whether a row is of a call that may wait for a lock.
pub(super) fn is_one(kind: u8) -> bool {
    [LOCK, FLUSH, UNLOCK].contains(&kind)
}

/// Fills in what calls that ask for no lock hold: what their thread asked for last.
pub(super) fn fill_in(all: &mut [Access]) {
    let mut asked: FxHashMap<((u32, u16), Lock), (usize, bool)> = FxHashMap::default();
    for (i, this) in all.iter_mut().enumerate() {
        if this.kind == LOCK {
            for entry in this.entries() {
                asked.insert((this.caller, entry), (i, this.exclusive));
            }
            continue;
        }
        let locks = (this.others()).filter_map(|lock| asked.get(&(this.caller, lock)));
        this.exclusive = locks.max().is_some_and(|(_, exclusive)| *exclusive);
    }
}

/// A call that releases a lock: its start, number and rank, in this order.
type Given = (u64, usize, u32);

/// Calls that release locks, by what a call that waits for one asks for.
pub(super) struct GivenBack {
    /// By lock, and whether only exclusive ones are meant.
    of: FxHashMap<(Lock, bool), Vec<Given>>,
}

impl GivenBack {
    /// Those among `all`, which are filled in.
    pub(super) fn new(all: &[Access]) -> Self {
        let mut of: FxHashMap<(Lock, bool), Vec<Given>> = FxHashMap::default();
        for (i, a) in all.iter().enumerate().filter(|(_, a)| a.kind == UNLOCK) {
            for lock in a.entries() {
                let mut add = |exclusive| {
                    let list = of.entry((lock, exclusive)).or_default();
                    list.push((a.enter, i, a.caller.0));
                };
                add(false);
                if a.exclusive {
                    add(true);
                }
            }
        }
        of.values_mut().for_each(|list| list.sort_unstable());
        Self { of }
    }

    /// The number of the call that `call` waited for: the last that released the lock meanwhile.
    pub(super) fn waited_for(&self, call: &Access) -> Option<usize> {
        let lists = (call.others()).filter_map(|lock| self.of.get(&(lock, !call.exclusive)));
        let last = lists.filter_map(|list| {
            let end = list.partition_point(|g| g.0 <= call.leave);
            let before = list.iter().take(end).rev();
            (before.take_while(|g| g.0 > call.enter)).find(|g| g.2 != call.caller.0)
        });
        last.max().map(|g| g.1)
    }
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
        let given = GivenBack::new(&all);
        let waits: Vec<_> = all.iter().map(|a| given.waited_for(a)).collect();
        assert_eq!(waits, [None, Some(3), Some(4), None, None]);
        for a in &mut all {
            a.exclusive = false;
        }
        let given = GivenBack::new(&all);
        let waits: Vec<usize> = all.iter().filter_map(|a| given.waited_for(a)).collect();
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
        let given = GivenBack::new(&all);
        assert_eq!(given.waited_for(&all[1]), None);
        all[1].target = ALL;
        assert_eq!(given.waited_for(&all[1]), Some(2));
    }

    /// What both look-ups mean, one call after the other.
    fn plain(all: &mut [Access]) -> Vec<Option<usize>> {
        let same = |a: &Access, b: &Access| {
            let any = [a.target, b.target].contains(&ALL);
            a.window == b.window && (any || a.target == b.target)
        };
        for i in 0..all.len() {
            let this = all[i];
            let mut before = all[..i].iter().rev().filter(|a| a.kind == LOCK);
            let taken = before.find(|a| a.caller == this.caller && same(a, &this));
            if this.kind != LOCK {
                all[i].exclusive = taken.is_some_and(|a| a.exclusive);
            }
        }
        let lets = |call: &Access, a: &Access| {
            a.kind == UNLOCK
                && a.caller.0 != call.caller.0
                && same(a, call)
                && (a.exclusive || call.exclusive)
                && (call.enter + 1..=call.leave).contains(&a.enter)
        };
        let last = |call: &Access| {
            let found = all.iter().enumerate().filter(|(_, a)| lets(call, a));
            found.max_by_key(|(_, a)| a.enter).map(|(i, _)| i)
        };
        all.iter().map(last).collect()
    }

    #[test]
    fn what_is_looked_up_is_what_a_search_through_all_calls_finds() {
        let mut seed = 1u64;
        let mut below = |n: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % n
        };
        let mut all: Vec<Access> = (0..3000)
            .map(|_| {
                let enter = below(10_000);
                Access {
                    kind: [LOCK, FLUSH, UNLOCK][below(3) as usize],
                    caller: (below(5) as u32, below(2) as u16),
                    window: below(2),
                    target: [0, 1, 2, ALL][below(4) as usize],
                    exclusive: below(3) == 0,
                    enter,
                    leave: enter + below(40),
                }
            })
            .collect();
        let mut copy = all.clone();
        let expected = plain(&mut copy);
        fill_in(&mut all);
        let exclusive = |all: &[Access]| all.iter().map(|a| a.exclusive).collect::<Vec<_>>();
        assert_eq!(exclusive(&all), exclusive(&copy));
        let given = GivenBack::new(&all);
        let waits: Vec<_> = all.iter().map(|a| given.waited_for(a)).collect();
        assert!(waits.iter().flatten().count() > 100, "{waits:?}");
        assert_eq!(waits, expected);
    }
}
