//! Barriers of the libc: which team comes together there, and when its last thread came.
//!
//! A thread that is of no team, as the one that made the team's threads, may come to their barriers too. It works
//! with them between two of these then, and its stretches end where theirs do: members leave in a small table, by
//! the barrier's address, which team they are of and where they came. The barrier itself says how often it was
//! passed, so that nobody takes what was left of another time; a quick thread may be back before a slow one has
//! looked, but not twice. What a member leaves is one word; of several it is that of the first thread, so that
//! it is the same team each time.

use crate::root::Origin;
use crate::roster;
use crate::table::mix;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Times that a barrier was passed and whose data are kept.
const TIMES: usize = 4;

/// Nobody of a team has come.
const NOBODY: u64 = u64::MAX;

/// Bits of a context's number in a member's word.
const CONTEXT: u32 = 24;

/// What is known of a barrier at one time.
struct Time {
    /// Which one, plus 1; 0 for none.
    number: AtomicU64,
    /// The last arrival.
    last: AtomicU64,
    /// The first of the threads that are of a team, its team and where it came.
    member: AtomicU64,
}

struct Barrier {
    /// Its address, 0 for none.
    address: AtomicU64,
    times: [Time; TIMES],
}

/// Barriers that are known at a time: a first one by its address, no second one in its place.
static BARRIERS: [Barrier; 64] = [const {
    Barrier {
        address: AtomicU64::new(0),
        times: [const {
            Time {
                number: AtomicU64::new(0),
                last: AtomicU64::new(0),
                member: AtomicU64::new(NOBODY),
            }
        }; TIMES],
    }
}; 64];

/// A barrier as a thread comes to it.
pub struct Meeting {
    time: &'static Time,
    number: u64,
}

/// A thread of a team, by its own contexts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Member {
    /// Its number.
    pub thread: u32,
    /// Its team.
    pub team: u32,
    /// Where it came.
    pub at: u32,
}

impl Member {
    fn word(self) -> Option<u64> {
        let fits = self.team >> CONTEXT == 0 && self.at >> CONTEXT == 0;
        let [thread, team, at] = [self.thread, self.team, self.at].map(u64::from);
        fits.then_some(thread << (2 * CONTEXT) | team << CONTEXT | at)
    }

    fn of(word: u64) -> Self {
        let part = |bits: u32| (word >> bits) as u32 & ((1 << CONTEXT) - 1);
        Self {
            thread: (word >> (2 * CONTEXT)) as u32,
            team: part(CONTEXT),
            at: part(0),
        }
    }

    /// Its team and where it came, for other threads to adopt.
    pub fn origins(self) -> Option<[Origin; 2]> {
        // SAFETY: recordings are never freed, and where their rows are does not change.
        let thread = unsafe { &*roster::of_number(self.thread)? };
        Some([self.team, self.at].map(|ctx| thread.origin(ctx)))
    }
}

impl Meeting {
    /// The calling thread is about to come to the barrier at `address`.
    ///
    /// # Safety
    /// The barrier is one of the libc's that was initialised.
    pub unsafe fn at(address: u64) -> Option<Self> {
        // glibc's: arrivals, arrivals in the times before, and how many make one time.
        const BEFORE: u64 = 4;
        const COUNT: u64 = 8;
        let read = |offset: u64| {
            // SAFETY: promised by the caller.
            unsafe { (*((address + offset) as *const AtomicU32)).load(Ordering::Acquire) }
        };
        let number = read(BEFORE).checked_div(read(COUNT))?;
        let of = BARRIERS.get(mix(address) as usize % BARRIERS.len())?;
        let known = of
            .address
            .compare_exchange(0, address, Ordering::Relaxed, Ordering::Relaxed);
        if known.is_err_and(|other| other != address) {
            return None;
        }
        let time = of.times.get(number as usize % TIMES)?;
        // Everybody has left the time before the last, and so this place.
        if let Some(next) = of.times.get((number as usize + 2) % TIMES) {
            next.number.store(0, Ordering::Relaxed);
            next.last.store(0, Ordering::Relaxed);
            next.member.store(NOBODY, Ordering::Relaxed);
        }
        Some(Self {
            time,
            number: u64::from(number) + 1,
        })
    }

    /// The calling thread comes at the moment `now`, as one of a team if it is.
    pub fn arrive(&self, now: u64, member: Option<Member>) {
        if let Some(word) = member.and_then(Member::word) {
            self.time.member.fetch_min(word, Ordering::AcqRel);
            self.time.number.store(self.number, Ordering::Release);
        }
        self.time.last.fetch_max(now, Ordering::AcqRel);
    }

    /// The moment of the last arrival: all have come.
    pub fn last(&self) -> u64 {
        self.time.last.load(Ordering::Acquire)
    }

    /// Who came, of a team, if somebody did.
    pub fn met(&self) -> Option<Member> {
        let now = self.time.number.load(Ordering::Acquire);
        let word = self.time.member.load(Ordering::Acquire);
        (now == self.number && word != NOBODY).then(|| Member::of(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_learns_whom_it_met_and_only_this_time() {
        let mut barrier = [0u32, 0, 3, 0, 0, 0, 0, 0];
        let member = |thread| Member {
            thread,
            team: 3,
            at: 5 + thread,
        };
        let at = |barrier: &[u32; 8]| {
            // SAFETY: laid out as one of glibc's.
            unsafe { Meeting::at(barrier.as_ptr() as u64) }.expect("there is room")
        };
        for passed in 0..9 {
            barrier[1] = 3 * passed;
            let meetings = [0; 3].map(|_| at(&barrier));
            let [own, first, second] = &meetings;
            let now = u64::from(passed) * 10;
            own.arrive(now + 4, None);
            assert_eq!(own.met(), None, "nobody of a team has come");
            second.arrive(now + 1, Some(member(2)));
            first.arrive(now + 2, Some(member(1)));
            assert_eq!(own.met(), Some(member(1)));
            assert_eq!(own.last(), now + 4);
        }
    }
}
