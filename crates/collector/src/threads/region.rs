//! What the threads of an OpenMP parallel region share, and what each of them has done in it.
//!
//! A thread that has done its part notes this in the region, which lives as long as the thread that began it. As soon
//! as the runtime reports that all threads are through, the thread that began the region counts how long each one
//! waited: until then none of them can go on.

use crate::threads::team::{Arrival, Work};
use headwater_call_path::{NONE, Origin};
use headwater_format::spool::layout::ContextRow;
use std::cell::UnsafeCell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};

/// At so many barriers at a time, the last arrival is known. A thread that reaches a barrier knows that all have left
/// the one before the last, so three would be enough.
const BARRIERS: usize = 4;

/// What a team shares.
pub struct Region {
    /// The call that began it: rows, context and thread.
    rows: AtomicPtr<ContextRow>,
    ctx: AtomicU32,
    thread: AtomicU32,
    /// Parts that have been done.
    done: AtomicPtr<Part>,
    /// When the last part was done, or the last task after it.
    end: AtomicU64,
    /// The last arrival at each barrier.
    last: [AtomicU64; BARRIERS],
    /// When it began.
    begun: AtomicU64,
    /// The longest time that a thread needed itself to its end, and to each barrier.
    longest_to_end: AtomicU64,
    longest: [AtomicU64; BARRIERS],
}

/// A thread's part that has been done.
pub struct Part {
    next: AtomicPtr<Part>,
    arrival: UnsafeCell<Arrival>,
}

// SAFETY: the thread whose part this is writes the arrival. The thread that began the region reads it when the
// runtime has assembled the team.
unsafe impl Sync for Part {}

/// What a thread needs at one depth: the region that it begins there, and two parts that it does in turn. So a part
/// that was done is not changed while the next one is done.
pub struct Level {
    pub region: Region,
    parts: [Part; 2],
    turn: AtomicU32,
    /// The argument that the team gets, for the case that the call that began the region is over.
    pub packet: UnsafeCell<Packet>,
}

// SAFETY: the thread that begins a region writes the packet, before others see it.
unsafe impl Sync for Level {}

impl Level {
    pub fn new() -> Self {
        let part = || Part {
            next: AtomicPtr::new(null_mut()),
            arrival: UnsafeCell::new(Arrival::NONE),
        };
        Self {
            region: Region {
                rows: AtomicPtr::new(null_mut()),
                ctx: AtomicU32::new(NONE),
                thread: AtomicU32::new(0),
                done: AtomicPtr::new(null_mut()),
                end: AtomicU64::new(0),
                last: [const { AtomicU64::new(0) }; BARRIERS],
                begun: AtomicU64::new(0),
                longest_to_end: AtomicU64::new(0),
                longest: [const { AtomicU64::new(0) }; BARRIERS],
            },
            parts: [part(), part()],
            turn: AtomicU32::new(0),
            packet: UnsafeCell::new(Packet::NONE),
        }
    }

    /// The part to be done now.
    pub fn part(&self) -> &Part {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let [even, odd] = &self.parts;
        if turn.is_multiple_of(2) { even } else { odd }
    }
}

impl Region {
    /// Begins a new region, for the call of `origin`.
    pub fn begin(&self, origin: Origin, now: u64) {
        self.rows.store(origin.rows.cast_mut(), Ordering::Relaxed);
        self.ctx.store(origin.ctx, Ordering::Relaxed);
        self.thread.store(origin.thread, Ordering::Relaxed);
        self.done.store(null_mut(), Ordering::Relaxed);
        self.end.store(0, Ordering::Relaxed);
        for time in self.last.iter().chain(&self.longest) {
            time.store(0, Ordering::Relaxed);
        }
        self.begun.store(now, Ordering::Relaxed);
        self.longest_to_end.store(0, Ordering::Relaxed);
        fence(Ordering::Release);
    }

    pub fn origin(&self) -> Origin {
        Origin {
            rows: self.rows.load(Ordering::Relaxed),
            ctx: self.ctx.load(Ordering::Relaxed),
            thread: self.thread.load(Ordering::Relaxed),
        }
    }

    /// When it began.
    pub fn begun(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    /// A thread has done its part.
    pub fn add(&self, part: &Part, arrival: Arrival) {
        // SAFETY: at the moment the part is in no list.
        unsafe { *part.arrival.get() = arrival };
        self.longest_to_end
            .fetch_max(arrival.own, Ordering::Relaxed);
        self.end.fetch_max(arrival.at, Ordering::AcqRel);
        let mut first = self.done.load(Ordering::Relaxed);
        loop {
            part.next.store(first, Ordering::Relaxed);
            let this = std::ptr::from_ref(part).cast_mut();
            match self
                .done
                .compare_exchange_weak(first, this, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => return,
                Err(now) => first = now,
            }
        }
    }

    /// The moment of the last arrival so far, at the barrier of this number.
    pub fn last(&self, barrier: u32) -> &AtomicU64 {
        let place = self.last.get(barrier as usize % BARRIERS);
        place.unwrap_or(&self.end)
    }

    /// The longest time that a thread needed itself until the barrier of this number.
    pub fn longest(&self, barrier: u32) -> &AtomicU64 {
        let place = self.longest.get(barrier as usize % BARRIERS);
        place.unwrap_or(&self.longest_to_end)
    }

    /// A thread arrives at the barrier of this number.
    pub fn arrive(&self, barrier: u32, arrival: Arrival) {
        let next = barrier.wrapping_add(2);
        self.last(next).store(0, Ordering::Relaxed);
        self.longest(next).store(0, Ordering::Relaxed);
        self.still_works(barrier, arrival.own, arrival.at);
    }

    /// A thread that has arrived at a barrier has done a task until `at`, and needed `own` itself with it.
    pub fn still_works(&self, barrier: u32, own: u64, at: u64) {
        self.longest(barrier).fetch_max(own, Ordering::Relaxed);
        self.last(barrier).fetch_max(at, Ordering::AcqRel);
    }

    /// Counts how long each thread waited at the end; all have arrived.
    pub fn settle(&self) {
        let end = self.end.load(Ordering::Acquire);
        let mut next = self.done.swap(null_mut(), Ordering::AcqRel);
        // SAFETY: null or a part of a thread's recording, which is never freed; its thread cannot go on.
        while let Some(part) = unsafe { next.as_ref() } {
            // SAFETY: as above.
            unsafe { *part.arrival.get() }.wait_until(end);
            next = part.next.load(Ordering::Relaxed);
        }
    }

    /// The arrival of the calling thread, which has done `part`; when the last thread had done its own; and the longest
    /// time that one needed itself.
    pub fn ended(&self, part: &Part) -> (Arrival, u64, u64) {
        let end = self.end.load(Ordering::Acquire);
        // SAFETY: the part of the calling thread.
        let arrival = unsafe { *part.arrival.get() };
        (arrival, end, self.longest_to_end.load(Ordering::Relaxed))
    }

    /// A task was done after a part, until `now`.
    pub fn worked(&self, part: &Part, work: Work, now: u64) {
        // SAFETY: the part of the calling thread; its team has not met as long as the thread does tasks.
        let own = unsafe {
            let arrival = &mut *part.arrival.get();
            arrival.worked(work);
            arrival.own
        };
        self.longest_to_end.fetch_max(own, Ordering::Relaxed);
        self.end.fetch_max(now, Ordering::AcqRel);
    }
}

/// The argument that each thread of a team gets instead of the program's argument.
#[repr(C)]
pub struct Packet {
    /// The first word that the program's argument points to, if the runtime reads it.
    pub first: u64,
    pub function: u64,
    pub argument: u64,
    pub region: Option<&'static Region>,
}

impl Packet {
    pub const NONE: Self = Self {
        first: 0,
        function: 0,
        argument: 0,
        region: None,
    };
}
