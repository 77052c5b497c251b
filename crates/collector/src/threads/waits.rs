//! Waits of a thread for another one: how long, where, and where the other thread made it wait.

use crate::guest::recording;
use crate::storage::table::Later;
use crate::threads::{pause, thread::Thread};
use headwater_format::spool::layout::WaitRow;
use headwater_model::hash::{mix, mix2};
use headwater_model::run::WaitKind;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows of a thread.
pub const WAITS: u32 = 1 << 11;

/// This much of a wait is certainly waiting for the other thread and not for a core, nanoseconds.
const BRIEF: u64 = 1_000_000;

/// After this much waiting, the scheduler is asked how much of it was sleep, nanoseconds. Its answer takes some
/// microseconds.
const WORTH_ASKING: u64 = 1_000_000;

/// The thread that a thread waited for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Holder {
    /// Its number, `u32::MAX` for unknown.
    pub thread: u32,
    /// Return address of the call by which it took the lock, or released this thread; 0 for unknown.
    pub address: u64,
}

impl Holder {
    /// Unknown.
    pub const UNKNOWN: Self = Self {
        thread: u32::MAX,
        address: 0,
    };
}

/// What a thread waited for.
#[derive(Clone, Copy)]
pub struct Awaited {
    /// What kind of thing.
    pub kind: WaitKind,
    /// Its address, 0 for unknown.
    pub lock: u64,
    /// The thread that it waited for.
    pub holder: Holder,
}

impl Awaited {
    /// A wait of this kind, for an unknown thread and an unknown thing.
    pub const fn unknown(kind: WaitKind) -> Self {
        Self {
            kind,
            lock: 0,
            holder: Holder::UNKNOWN,
        }
    }

    /// The one bit that represents the lock among others.
    fn bit(&self) -> u64 {
        let known = self.lock != 0 && self.kind.is_lock();
        u64::from(known) << (mix(self.lock) >> 58)
    }
}

/// What a thread records of its waits.
pub struct Waits {
    rows: Later<WaitRow>,
    /// Waiting since the scheduler was last asked how much of it was sleep, nanoseconds.
    unasked: u64,
    /// All waits and all sleeps in system calls together, nanoseconds.
    pub explained: u64,
    /// Which locks it took last; other threads read this.
    pub taken: Taken,
}

impl Waits {
    /// None yet.
    pub const fn new() -> Self {
        Self {
            rows: Later::new(),
            unasked: 0,
            explained: 0,
            taken: Taken::new(),
        }
    }
}

impl Thread {
    /// Counts a wait from `start` to `end` by the clock, nanoseconds, in the call of context `ctx`.
    pub fn waited(&mut self, ctx: u32, what: Awaited, start: u64, end: u64) {
        if !pause::is_on() {
            return;
        }
        let wall = end.saturating_sub(start);
        self.undisturbed(|t| {
            t.count_waits(ctx, what, wall, 1);
            t.ask(ctx, wall);
        });
    }

    /// The thread has waited at a barrier for `wall` nanoseconds.
    pub fn waited_for_all(&mut self, ctx: u32, wall: u64) {
        if !recording::RECORDING.load(Ordering::Relaxed) {
            return;
        }
        self.undisturbed(|t| {
            t.waits.explained += wall;
            t.ask(ctx, wall);
        });
    }

    /// Asks the scheduler, now and then, how much of the waiting was sleep.
    fn ask(&mut self, ctx: u32, wall: u64) {
        self.waits.unasked += wall;
        if self.waits.unasked > WORTH_ASKING {
            let asked = std::mem::take(&mut self.waits.unasked);
            self.note_sleep(ctx, asked);
        }
    }

    /// Whether the signal handler may count waits.
    pub fn expects_waits(&self) -> bool {
        self.waits.rows.is_settled()
    }

    /// Makes the table for waits, which the signal handler cannot do.
    pub fn expect_waits(&mut self) {
        let number = self.number;
        self.undisturbed(|t| {
            t.waits.rows.table(number, WAITS);
        });
    }

    /// Counts `times` waits that took `wall` nanoseconds together, without asking how much of that was sleep. The
    /// signal handler may call this if the thread [expects waits](Thread::expects_waits).
    pub fn count_waits(&mut self, ctx: u32, what: Awaited, wall: u64, times: u64) {
        if !pause::is_on() {
            return;
        }
        let holder_ctx = self.contexts.place(what.holder.address);
        let number = self.number;
        self.locked(wall);
        self.waits.explained += wall;
        let Some(table) = self.waits.rows.table(number, WAITS) else {
            return;
        };
        let (kind, holder) = (what.kind as u32, what.holder.thread);
        let key = mix2(
            u64::from(ctx) << 32 | u64::from(holder_ctx),
            u64::from(kind) << 32 | u64::from(holder),
        );
        let row = table.find_or_push(
            key,
            |r| (r.ctx, r.kind, r.holder, r.holder_ctx) == (ctx, kind, holder, holder_ctx),
            || WaitRow {
                ctx,
                kind,
                holder,
                holder_ctx,
                ..Default::default()
            },
        );
        if let Some(row) = row.and_then(|r| table.get(r)) {
            row.count += times;
            row.wait_ns += wall;
            row.brief_ns += wall.min(BRIEF.saturating_mul(times));
            row.max_ns = row.max_ns.max(wall / times.max(1));
            row.locks |= what.bit();
        }
    }
}

/// Entries for the locks that a thread has taken; a power of two.
const PLACES: usize = 64;
/// Bits of an address of code.
const ADDRESS_BITS: u32 = 48;

/// Where a thread took locks, by the lock's address. Other threads read it while they wait for this thread. An entry
/// is one word, the return address and some bits of the lock's hash, so a reader sees a whole entry or none.
pub struct Taken([AtomicU64; PLACES]);

impl Taken {
    const fn new() -> Self {
        Self([const { AtomicU64::new(0) }; PLACES])
    }

    /// The lock was taken by the call that returns to `address`.
    #[inline]
    pub fn note(&self, lock: u64, address: u64) {
        let hash = mix(lock);
        if let Some(place) = self.0.get(hash as usize % PLACES) {
            let word = (hash >> ADDRESS_BITS) << ADDRESS_BITS | address;
            place.store(word, Ordering::Relaxed);
        }
    }

    /// Where the lock was taken; 0 if that is no longer known.
    pub fn find(&self, lock: u64) -> u64 {
        let hash = mix(lock);
        let place = self.0.get(hash as usize % PLACES);
        let word = place.map_or(0, |p| p.load(Ordering::Relaxed));
        if word >> ADDRESS_BITS == hash >> ADDRESS_BITS {
            word & ((1 << ADDRESS_BITS) - 1)
        } else {
            0
        }
    }
}

/// The thread that released others last, by the address of what they wait for: a condition, a semaphore, or a lock of
/// a runtime that does not report its holder. An entry is one word: some bits of that address's hash, the thread, and
/// the return address.
static LAST: [AtomicU64; 1024] = [const { AtomicU64::new(0) }; 1024];

/// Records that a thread released others, or holds the lock, by the call that returns to `holder.address`.
#[inline]
pub fn note_last(what: u64, holder: Holder) {
    if let Some(place) = LAST.get(mix(what) as usize % LAST.len()) {
        place.store(entry(what, holder), Ordering::Relaxed);
    }
}

/// The entry for a holder.
fn entry(what: u64, holder: Holder) -> u64 {
    let thread = u64::from(u8::try_from(holder.thread).unwrap_or(u8::MAX));
    mix(what) >> 56 << 56 | thread << ADDRESS_BITS | holder.address
}

/// Set in the entry of a lock when the thread that took the lock has released it. No address of a program's code has
/// this bit.
const GONE: u64 = 1 << (ADDRESS_BITS - 1);

/// Takes the entry of a lock if it is free, which means that no thread holds the lock. Returns `false` if a thread
/// holds it, or if another lock has the entry.
#[inline]
pub fn claim(lock: u64, me: Holder) -> bool {
    let Some(place) = LAST.get(mix(lock) as usize % LAST.len()) else {
        return false;
    };
    let now = place.load(Ordering::Relaxed);
    let free = now == 0 || now & GONE != 0;
    let order = Ordering::Relaxed;
    free && place
        .compare_exchange(now, entry(lock, me), order, order)
        .is_ok()
}

/// A thread is about to release the lock.
#[inline]
pub fn release(lock: u64, thread: u32) {
    let hash = mix(lock);
    if let Some(place) = LAST.get(hash as usize % LAST.len()) {
        let now = place.load(Ordering::Relaxed);
        let address = now & !(u64::MAX << ADDRESS_BITS);
        if now == entry(lock, Holder { thread, address }) {
            let order = Ordering::Relaxed;
            // If another thread was faster, the entry is that thread's.
            let _ = place.compare_exchange(now, now | GONE, order, order);
        }
    }
}

/// The thread that released others last.
pub fn last(what: u64) -> Holder {
    let hash = mix(what);
    let place = LAST.get(hash as usize % LAST.len());
    let word = place.map_or(0, |p| p.load(Ordering::Relaxed));
    if word == 0 || word >> 56 != hash >> 56 {
        return Holder::UNKNOWN;
    }
    let thread = (word >> ADDRESS_BITS) as u8;
    Holder {
        thread: if thread == u8::MAX {
            u32::MAX
        } else {
            u32::from(thread)
        },
        address: word & ((1 << ADDRESS_BITS) - 1) & !GONE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_a_lock_is_known_until_another_lock_takes_its_place() {
        let taken = Taken::new();
        taken.note(0x7fff_0000_1000, 0x5555_0000_1234);
        assert_eq!(taken.find(0x7fff_0000_1000), 0x5555_0000_1234);
        assert_eq!(taken.find(0x7fff_0000_1028), 0);
        for lock in 0..10_000u64 {
            taken.note(lock * 40, lock);
        }
        assert_eq!(taken.find(9_999 * 40), 9_999);
        assert_eq!(taken.find(0x7fff_0000_1000), 0);
    }

    #[test]
    fn a_lock_is_free_when_who_took_it_gave_it_back() {
        let by = |thread| Holder {
            thread,
            address: 0x5555_0000_1234,
        };
        const LOCK: u64 = 0x7000;
        assert!(claim(LOCK, by(1)));
        assert!(!claim(LOCK, by(2)));
        note_last(LOCK, by(2));
        release(LOCK, 1);
        assert!(!claim(LOCK, by(3)), "it is the second one's");
        release(LOCK, 2);
        assert_eq!(last(LOCK), by(2));
        assert!(claim(LOCK, by(3)));
    }

    #[test]
    fn the_last_signalling_thread_is_known() {
        let who = Holder {
            thread: 3,
            address: 0x5555_0000_1234,
        };
        note_last(0x1000, who);
        assert_eq!(last(0x1000), who);
        assert_eq!(last(0x2000), Holder::UNKNOWN);
    }
}
