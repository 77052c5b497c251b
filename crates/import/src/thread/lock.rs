//! Waits of a thread for a lock or critical section of OpenMP: from entering the region that asks for it until it has it,
//! where another thread had it meanwhile. Who that was is known once all threads of the rank are read.

use super::{Frame, Shared, Thread};
use crate::links::mix2;
use headwater_format::spool::layout::{ContextRow, WaitRow};
use headwater_model::run::WaitKind;
use rustc_hash::FxHashMap;

/// What counts of a wait at the most as a short one (`brief_ns` of a run), nanoseconds.
const BRIEF_NS: u64 = 1_000_000;

/// A wait.
struct Asked {
    lock: u32,
    ctx: u32,
    from: u64,
    until: u64,
}

/// A time in which a thread had a lock, taken by the call `ctx`.
struct Held {
    lock: u32,
    ctx: u32,
    until: u64,
}

/// The locks of a thread.
#[derive(Default)]
pub struct Locks {
    asked: Vec<Asked>,
    held: Vec<Held>,
    /// Contexts that took what it has now.
    has: FxHashMap<u32, u32>,
    /// Time waited in all.
    pub waited: u64,
    rows: FxHashMap<(u32, u32, u32), WaitRow>,
}

impl Locks {
    /// Rows in the order of their keys.
    pub fn end(self) -> Vec<WaitRow> {
        let mut rows: Vec<WaitRow> = self.rows.into_values().collect();
        rows.sort_unstable_by_key(|r| (r.ctx, r.holder, r.holder_ctx));
        rows
    }
}

impl Thread {
    /// It has a lock now, which the region that it is in has asked for.
    pub fn takes(&mut self, shared: &mut Shared<'_>, ns: u64, lock: u32) {
        let ns = self.advance(shared, ns);
        if self.pauses.now() || self.call.is_some() || self.over || ns < shared.init_ns {
            return;
        }
        let Some(&Frame { ctx, entered, .. }) = self.stack.last() else {
            return;
        };
        self.locks.has.insert(lock, ctx);
        let from = entered.max(shared.init_ns);
        let wait = ns.saturating_sub(from);
        let wait = wait.saturating_sub(self.pauses.between(from, ns));
        if wait == 0 || self.asleep > 0 {
            return;
        }
        // Until now it seemed to compute there.
        self.stretch.blocked += wait.min(self.stretch.wall.saturating_sub(self.stretch.blocked));
        self.locks.waited += wait;
        self.teams.slept += wait;
        let row = self.sample(shared);
        let moved = wait.min(row.cpu_ns);
        row.cpu_ns -= moved;
        row.blocked_ns += moved;
        let asked = Asked {
            lock,
            ctx,
            from,
            until: ns,
        };
        self.locks.asked.push(asked);
    }

    /// It releases a lock.
    pub fn gives(&mut self, shared: &mut Shared<'_>, ns: u64, lock: u32) {
        let until = self.advance(shared, ns);
        if let Some(ctx) = self.locks.has.remove(&lock) {
            self.locks.held.push(Held { lock, ctx, until });
        }
    }

    fn waited_for(&mut self, asked: &Asked, holder: u32, path: &[ContextRow]) {
        let holder_ctx = self.follow(path);
        let row = self
            .locks
            .rows
            .entry((asked.ctx, holder, holder_ctx))
            .or_insert(WaitRow {
                ctx: asked.ctx,
                kind: WaitKind::Critical as u32,
                holder,
                holder_ctx,
                ..Default::default()
            });
        let wait = asked.until.saturating_sub(asked.from);
        row.count += 1;
        row.wait_ns = row.wait_ns.saturating_add(wait);
        row.brief_ns = row.brief_ns.saturating_add(wait.min(BRIEF_NS));
        row.max_ns = row.max_ns.max(wait);
        row.locks |= 1 << (mix2(0x6c6f_636b, u64::from(asked.lock)) % 64);
    }
}

/// Adds to the threads of a rank for which thread each waited: the last that released the lock before it had it.
pub fn waits(threads: &mut [Thread]) {
    let mut given: FxHashMap<u32, Vec<(u64, u32, u32)>> = FxHashMap::default();
    for (number, thread) in (0..).zip(threads.iter_mut()) {
        for held in std::mem::take(&mut thread.locks.held) {
            let row = (held.until, number, held.ctx);
            given.entry(held.lock).or_default().push(row);
        }
    }
    for all in given.values_mut() {
        all.sort_unstable();
    }
    for number in 0..threads.len() {
        let Some(thread) = threads.get_mut(number) else {
            continue;
        };
        for asked in std::mem::take(&mut thread.locks.asked) {
            let all = given.get(&asked.lock).map_or(&[][..], Vec::as_slice);
            let before = all.partition_point(|g| g.0 <= asked.until);
            let last = before.checked_sub(1).and_then(|i| all.get(i));
            // One that was given back before it was asked for was free.
            let Some((_, holder, ctx)) = last.copied().filter(|g| g.0 > asked.from) else {
                continue;
            };
            let path = threads.get(holder as usize).map(|t| t.chain(ctx));
            if let (Some(path), Some(thread)) = (path, threads.get_mut(number)) {
                thread.waited_for(&asked, holder, &path);
            }
        }
    }
}
