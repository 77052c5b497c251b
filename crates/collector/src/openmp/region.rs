//! Parallel regions: each thread's part of a region, its arrivals at barriers, and the wait at the end.
//!
//! A region's function runs inside [`part`] on every thread of the team. A thread that has done its part notes this
//! in the region, which lives as long as the thread that began it. As soon as the runtime reports that all threads
//! are through, the thread that began the region counts how long each one waited: until then none of them can go on.
//! A thread that does tasks after its arrival arrives later by their time, and the team waits for the last task as
//! for the last thread.

use crate::meter::Spent;
use crate::process;
use crate::team::Arrival;
use crate::thread::{Caller, Thread};
use headwater_call_path::{NONE, Origin, root};
use headwater_format::spool::layout::ContextRow;
use headwater_mpi_call::args::Args;
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
}

/// A thread's part that has been done.
pub struct Part {
    next: AtomicPtr<Part>,
    arrival: UnsafeCell<Arrival>,
}

// SAFETY: the thread whose part this is writes the arrival. The thread that began the region reads it when the
// runtime has brought the team together.
unsafe impl Sync for Part {}

/// What a thread needs at one depth: the region that it begins there, and two parts that it does in turn. So a part
/// that was done is not changed while the next one is done.
pub(super) struct Level {
    pub(super) region: Region,
    parts: [Part; 2],
    turn: AtomicU32,
    /// The argument that the team gets, for the case that the call that began the region is over.
    packet: UnsafeCell<Packet>,
}

// SAFETY: the thread that begins a region writes the packet, before others see it.
unsafe impl Sync for Level {}

impl Level {
    pub(super) fn new() -> Self {
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
            },
            parts: [part(), part()],
            turn: AtomicU32::new(0),
            packet: UnsafeCell::new(Packet::NONE),
        }
    }

    /// The part to be done now.
    pub(super) fn part(&self) -> &Part {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let [even, odd] = &self.parts;
        if turn.is_multiple_of(2) { even } else { odd }
    }
}

impl Region {
    /// Begins a new region, for the call of `origin`.
    pub(super) fn begin(&self, origin: Origin) {
        self.rows.store(origin.rows.cast_mut(), Ordering::Relaxed);
        self.ctx.store(origin.ctx, Ordering::Relaxed);
        self.thread.store(origin.thread, Ordering::Relaxed);
        self.done.store(null_mut(), Ordering::Relaxed);
        self.end.store(0, Ordering::Relaxed);
        for last in &self.last {
            last.store(0, Ordering::Relaxed);
        }
        fence(Ordering::Release);
    }

    pub(super) fn origin(&self) -> Origin {
        Origin {
            rows: self.rows.load(Ordering::Relaxed),
            ctx: self.ctx.load(Ordering::Relaxed),
            thread: self.thread.load(Ordering::Relaxed),
        }
    }

    /// A thread has done its part.
    pub(super) fn add(&self, part: &Part, arrival: Arrival) {
        // SAFETY: at the moment the part is in no list.
        unsafe { *part.arrival.get() = arrival };
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
    pub(super) fn last(&self, barrier: u32) -> &AtomicU64 {
        let place = self.last.get(barrier as usize % BARRIERS);
        place.unwrap_or(&self.end)
    }

    /// A thread arrives at the barrier of this number.
    pub(super) fn arrive(&self, barrier: u32, at: u64) {
        self.last(barrier.wrapping_add(2))
            .store(0, Ordering::Relaxed);
        self.last(barrier).fetch_max(at, Ordering::AcqRel);
    }

    /// Counts how long each thread waited at the end; all have arrived.
    pub(super) fn settle(&self) {
        let end = self.end.load(Ordering::Acquire);
        let mut next = self.done.swap(null_mut(), Ordering::AcqRel);
        // SAFETY: null or a part of a thread's recording, which is never freed; its thread cannot go on.
        while let Some(part) = unsafe { next.as_ref() } {
            // SAFETY: as above.
            unsafe { *part.arrival.get() }.wait_until(end);
            next = part.next.load(Ordering::Relaxed);
        }
    }

    /// How long the thread that has done `part` waited.
    pub(super) fn wait(&self, part: &Part) -> u64 {
        let end = self.end.load(Ordering::Acquire);
        // SAFETY: the part of the calling thread.
        end.saturating_sub(unsafe { *part.arrival.get() }.at)
    }

    /// A task was done after a part, until `now`.
    pub(super) fn worked(&self, part: &Part, wall: u64, spent: Spent, now: u64) {
        // SAFETY: the part of the calling thread; its team has not met as long as the thread does tasks.
        unsafe { (*part.arrival.get()).worked(wall, spent) };
        self.end.fetch_max(now, Ordering::AcqRel);
    }
}

/// The argument that each thread of a team gets instead of the program's argument.
#[repr(C)]
struct Packet {
    /// The first word that the program's argument points to, if the runtime reads it.
    first: u64,
    function: u64,
    argument: u64,
    region: Option<&'static Region>,
}

impl Packet {
    const NONE: Self = Self {
        first: 0,
        function: 0,
        argument: 0,
        region: None,
    };

    fn new(args: &Args, region: &'static Region, reducing: bool) -> Self {
        let argument = args.raw(1);
        Self {
            first: match argument {
                0 => 0,
                // SAFETY: the runtime reads the same word.
                at if reducing => unsafe { (at as *const u64).read() },
                _ => 0,
            },
            function: args.raw(0),
            argument,
            region: Some(region),
        }
    }
}

/// Restores where the calling thread was before, also if an exception or a cancellation leaves the region.
struct Back(*mut Thread, usize);

impl Drop for Back {
    fn drop(&mut self) {
        // SAFETY: this thread's own recording, which is never freed.
        unsafe { (*self.0).back_to(self.1) };
    }
}

/// Runs a region: the program's function is called by ours.
pub unsafe fn run(
    t: *mut Thread,
    real: usize,
    args: &mut Args,
    from: Caller,
    reducing: bool,
) -> i64 {
    // SAFETY: promised by the caller; the packet lives as long as the region.
    unsafe {
        let Some(region) = (*t).begin_region(from) else {
            return args.call_any(real);
        };
        let packet = Packet::new(args, region, reducing);
        args.replace(0, part as *const () as u64);
        args.replace(1, std::ptr::from_ref(&packet) as u64);
        let _back = Back(t, (*t).openmp.depth());
        let result = args.call_any(real);
        (*t).end_region();
        result
    }
}

/// A thread's part of a region.
unsafe extern "C-unwind" fn part(packet: *const Packet) {
    // SAFETY: as `run` and `start` pass it; null or this thread's own recording. The program's function takes one
    // pointer.
    unsafe {
        let (packet, t) = (&*packet, super::own());
        let (function, argument) = (packet.function as usize, packet.argument);
        let here = std::ptr::from_ref(&packet) as u64;
        if let Some(region) = packet.region
            && process::RECORDING.load(Ordering::Relaxed)
            && t.as_mut().is_some_and(|t| t.join_region(region, here))
        {
            let _done = Done(t, (*t).openmp.depth());
            let root = &raw mut (*t).contexts.root;
            root::run(root, (*t).openmp.team(), function, argument);
            return;
        }
        let function: unsafe extern "C-unwind" fn(u64) = std::mem::transmute(function);
        function(argument);
    }
}

/// Ends a part, also if `pthread_exit` or a cancellation ends it.
struct Done(*mut Thread, usize);

impl Drop for Done {
    fn drop(&mut self) {
        // SAFETY: this thread's own recording, which is never freed.
        let t = unsafe { &mut *self.0 };
        t.back_to(self.1);
        t.leave_region();
    }
}

/// Begins a region, and the calling thread's part of it.
pub unsafe fn start(t: *mut Thread, real: usize, args: &mut Args, from: Caller) -> i64 {
    // SAFETY: promised by the caller. The packet stays, and nobody else sees it yet.
    unsafe {
        let Some((region, level)) = (*t).begin_region(from).zip((*t).openmp.level()) else {
            return args.call_any(real);
        };
        *level.packet.get() = Packet::new(args, region, false);
        args.replace(0, part as *const () as u64);
        args.replace(1, level.packet.get() as u64);
        let result = args.call_any(real);
        if (*t).join_region(region, from.stack_pointer) {
            // The program calls the function from where it called this one.
            (*t).hang_under_region(from.stack_pointer - 8);
        }
        result
    }
}

/// Ends such a region.
pub unsafe fn end(t: *mut Thread, real: usize, args: &Args) -> i64 {
    // SAFETY: promised by the caller.
    unsafe {
        let ours = (*t).openmp.began_by((*t).number);
        if ours {
            (*t).leave_region();
        }
        let result = args.call_any(real);
        if ours {
            (*t).end_region();
        }
        result
    }
}

/// Waits for the team.
pub unsafe fn barrier(t: *mut Thread, real: usize, args: &Args, from: Caller) -> i64 {
    // SAFETY: promised by the caller.
    unsafe {
        let seen = (*t).enter_barrier(from);
        let result = args.call_any(real);
        if let Some(ctx) = seen {
            (*t).leave_barrier(ctx);
        }
        result
    }
}
