//! Runtimes that report their own events, through OpenMP's interface for tools (OpenMP 5.0, chapter 4), as LLVM's and
//! Intel's do. Only what is used of the interface is defined here.
//!
//! Such a runtime asks for a tool when it is first used. It gets us if recording is wanted and there is no other
//! tool. From then on it calls us for each of the events in `build/openmp.rs`, on the thread of the event. Events
//! come in pairs, which may be nested, and the first of each pair is stored. A worker's part ends when it arrives at
//! the region's last barrier: what the runtime reports about this barrier later, it reports only when there is new
//! work.

use super::count;
use super::locks;
use crate::guest::{clock, recording::RECORDING};
use crate::libraries::runtimes;
use crate::threads::{
    part::Begun,
    region::Region,
    team::recorded,
    thread::{Caller, Thread},
    waits::{Awaited, Holder, claim, last, note_last, release},
};
use headwater_call_path::Root;
use headwater_model::run::WaitKind;
use headwater_mpi_call::args::Args;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Events.
#[derive(Clone, Copy)]
pub enum Event {
    /// A thread begins a region: task, its frame, the region's data, threads wanted, flags, return address.
    ParallelBegin,
    /// The thread ends the region: the region's data.
    ParallelEnd,
    /// A thread switches from one task to another: the first one, what became of it, the other.
    TaskSchedule,
    /// A part of a region: end of it, the region's data, task, threads, number, flags.
    ImplicitTask,
    /// A thread releases a lock: kind, lock.
    MutexReleased,
    /// Threads synchronise: kind, end of it, the region's data.
    SyncRegion,
    /// A thread wants a lock: kind, hint, how it is made, lock.
    MutexAcquire,
    /// The thread has the lock: kind, lock.
    MutexAcquired,
}

/// The two ends of an event that lasts.
const BEGIN: u64 = 1;
const END: u64 = 2;

/// Kinds of synchronisation.
mod sync {
    /// Implicit barrier at the end of a region or inside it, before OpenMP 5.1 distinguished the two.
    pub const IMPLICIT: u64 = 2;
    pub const TASKWAIT: u64 = 5;
    pub const TASKGROUP: u64 = 6;
    pub const REDUCTION: u64 = 7;
    pub const REGIONS_END: u64 = 9;
    pub const TEAMS: u64 = 10;
}

/// Kinds of locks.
mod mutex {
    pub const TEST_LOCK: u64 = 2;
    pub const TEST_NEST_LOCK: u64 = 4;
    pub const ORDERED: u64 = 7;
}

/// What became of a task when the thread switches to another one.
mod status {
    pub const COMPLETE: u64 = 1;
    pub const YIELD: u64 = 2;
    pub const CANCEL: u64 = 3;
    pub const DETACH: u64 = 4;
    pub const SWITCH: u64 = 7;
}

/// Flag of a region: a team of the `teams` construct. `INITIAL` is a flag of a part: the program's first one, which
/// is in no region.
const LEAGUE: u64 = 0x4000_0000;
const INITIAL: u64 = 1;

/// Finds a function of the runtime by its name.
pub type Lookup = unsafe extern "C" fn(*const c_char) -> usize;

/// The beginning of `ompt_frame_t`.
#[repr(C)]
struct Frame {
    exit: u64,
}

static TASK_INFO: AtomicUsize = AtomicUsize::new(0);

/// A runtime begins to report its events, by calls of `callbacks` in the order of [`EVENTS`]. Returns `false` if it
/// does not.
///
/// # Safety
/// `lookup` is that of the runtime.
pub unsafe fn enable_reports(
    lookup: Lookup,
    callbacks: &[unsafe extern "C" fn(); EVENTS.len()],
) -> bool {
    // SAFETY: the runtime's own functions, as OpenMP defines them.
    unsafe {
        let find = |name: &CStr| lookup(name.as_ptr());
        let (set, info) = (find(c"ompt_set_callback"), find(c"ompt_get_task_info"));
        if set == 0 || info == 0 {
            return false;
        }
        if !runtimes::note_reporting(info as u64) {
            return false;
        }
        TASK_INFO.store(info, Ordering::Relaxed);
        let set: unsafe extern "C" fn(c_int, unsafe extern "C" fn()) -> c_int =
            std::mem::transmute(set);
        for ((number, _), callback) in EVENTS.iter().zip(callbacks) {
            set(*number as c_int, *callback);
        }
    }
    true
}

/// A runtime reports an event.
pub fn on_event(id: usize, args: &Args, from: Caller) -> i64 {
    // SAFETY: null or this thread's own recording, which is never freed.
    let t = unsafe { super::own().as_mut() };
    let (Some((_, event)), Some(t)) = (EVENTS.get(id), t) else {
        return 0;
    };
    // An idle thread keeps samples away, so `recorded` does not return it. Its events count all the same.
    if !RECORDING.load(Ordering::Relaxed) || recorded().is_none() && !t.openmp.idle() {
        return 0;
    }
    // SAFETY: arguments as OpenMP defines them for the event.
    unsafe {
        match event {
            Event::ParallelBegin => t.reported_region(args, from),
            Event::ParallelEnd => {
                if region(args.raw(0)).is_some() {
                    if !t.openmp.is_done() {
                        t.leave_region();
                    }
                    t.end_region();
                }
            }
            Event::ImplicitTask => t.reported_part(args, from),
            Event::TaskSchedule => t.reported_task(args.raw(1) & 0xffff_ffff),
            Event::SyncRegion => t.reported_sync(args, from),
            Event::MutexAcquire => t.reported_wanted(args),
            Event::MutexAcquired => t.reported_acquired(args, from),
            Event::MutexReleased => release(args.raw(1), t.number),
        }
    }
    0
}

/// The region that the runtime stores for us at `data`.
unsafe fn region(data: u64) -> Option<&'static Region> {
    // SAFETY: null or a place that holds what `reported_region` wrote: null or a region, which is never freed.
    unsafe {
        (data as *const *const Region)
            .as_ref()
            .and_then(|r| r.as_ref())
    }
}

/// Whether the task of the calling thread has ended except for its barrier: it has no frame any more.
fn is_at_its_end() -> bool {
    let none = std::ptr::null_mut::<c_void>();
    let mut frame: *const Frame = std::ptr::null();
    // SAFETY: the runtime's own function, as OpenMP defines it. A null pointer says that an answer is not wanted.
    unsafe {
        type Info = unsafe extern "C" fn(
            c_int,
            *mut c_void,
            *mut c_void,
            *mut *const Frame,
            *mut c_void,
            *mut c_void,
        ) -> c_int;
        let info: Info = std::mem::transmute(TASK_INFO.load(Ordering::Relaxed));
        info(0, none, none, &mut frame, none, none);
        frame.as_ref().is_none_or(|f| f.exit == 0)
    }
}

impl Thread {
    /// The context of the program's call that made the runtime report something.
    fn context_of_report(&mut self, from: Caller) -> u32 {
        let ctx = self.context(from);
        self.undisturbed(|t| t.contexts.without(ctx, runtimes::reports_events))
    }

    unsafe fn reported_region(&mut self, args: &Args, from: Caller) {
        let place = args.raw(2) as *mut *const Region;
        let seen = if args.raw(4) & LEAGUE != 0 {
            None
        } else {
            let ctx = self.context_of_report(from);
            self.begin_region_at(ctx, from.stack_pointer)
        };
        let region = seen.map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the runtime stores a word of ours for each region.
        unsafe { place.write(region) };
    }

    unsafe fn reported_part(&mut self, args: &Args, from: Caller) {
        // SAFETY: promised by the caller.
        let Some(region) = (unsafe { region(args.raw(1)) }) else {
            return;
        };
        if args.raw(0) & 0xffff_ffff != BEGIN || args.raw(5) & INITIAL != 0 {
            return;
        }
        self.openmp.reported.count = if self.openmp.idle() {
            0
        } else {
            self.openmp.reported.count
        };
        let outer = self.contexts.root;
        if !self.join_region(region, from.stack_pointer) {
            return;
        }
        // Frames behind the runtime's are left out anyway (`Contexts::of_path`). If the team is one thread, the
        // program calls the region's function directly, and there is no frame of the runtime.
        if args.raw(3) & 0xffff_ffff > 1 {
            self.hang_under_region(Root::BEHIND_RUNTIME);
        } else {
            self.contexts.root = outer;
        }
    }

    fn reported_task(&mut self, status: u64) {
        match status {
            status::SWITCH | status::YIELD if self.openmp.depth() > 0 => {
                let before = self.contexts.root;
                let task = self.begin_task();
                self.hang_under_region(Root::BEHIND_RUNTIME);
                self.openmp.reported.push(Some(Begun::Task(task, before)));
            }
            status::COMPLETE | status::CANCEL | status::DETACH => {
                if let Some(Begun::Task(task, root)) = self.openmp.reported.pop() {
                    self.end_task(task);
                    self.contexts.root = root;
                }
            }
            _ => {}
        }
    }

    fn reported_sync(&mut self, args: &Args, from: Caller) {
        let (kind, end) = (args.raw(0) & 0xffff_ffff, args.raw(1) & 0xffff_ffff);
        if matches!(kind, sync::REDUCTION | sync::TEAMS) || self.openmp.depth() == 0 {
            return;
        }
        if end == END {
            if !self.openmp.is_done() {
                self.reported_together(from);
            }
        } else if matches!(kind, sync::TASKWAIT | sync::TASKGROUP) {
            let begun = Begun::Wait(self.openmp.begin_waiting(), clock::now());
            self.openmp.reported.push(Some(begun));
        } else if kind == sync::REGIONS_END || kind == sync::IMPLICIT && is_at_its_end() {
            if !self.openmp.is_done() {
                self.leave_region();
            }
        } else {
            let ctx = self.context_of_report(from);
            let begun = self.enter_barrier_at(ctx).map(Begun::Barrier);
            self.openmp.reported.push(begun);
        }
    }

    /// The last wait is over.
    fn reported_together(&mut self, from: Caller) {
        match self.openmp.reported.pop() {
            Some(Begun::Barrier(ctx)) => self.leave_barrier(ctx),
            Some(Begun::Wait(before, start)) => {
                let worked = self.openmp.end_waiting(before);
                let now = clock::now();
                let what = Awaited::unknown(WaitKind::Tasks);
                self.count_reported(from, what, start + worked, now);
            }
            _ => {}
        }
    }

    fn count_reported(&mut self, from: Caller, what: Awaited, start: u64, end: u64) {
        count(self, what, start, end, |t| t.context_of_report(from));
    }

    fn reported_wanted(&mut self, args: &Args) {
        let kind = args.raw(0) & 0xffff_ffff;
        let tries = matches!(kind, mutex::TEST_LOCK | mutex::TEST_NEST_LOCK);
        let start = if tries { 0 } else { clock::now() };
        let thread = self.number;
        // The thread that arrives first at an ordered section need not be the first that may enter.
        let free = !tries
            && kind != mutex::ORDERED
            && claim(
                args.raw(3),
                Holder {
                    thread,
                    address: args.raw(4),
                },
            );
        self.openmp.reported.wanted = (start, free);
    }

    fn reported_acquired(&mut self, args: &Args, from: Caller) {
        let (kind, lock) = (args.raw(0) & 0xffff_ffff, args.raw(1));
        let (start, free) = std::mem::take(&mut self.openmp.reported.wanted);
        if start != 0 && !free {
            let what = if kind == mutex::ORDERED {
                Awaited::unknown(WaitKind::Ordered)
            } else {
                Awaited {
                    kind: WaitKind::Critical,
                    lock,
                    holder: locks::other(self, last(lock)),
                }
            };
            self.count_reported(from, what, start, clock::now());
        }
        let (thread, address) = (self.number, args.raw(2));
        note_last(lock, Holder { thread, address });
    }
}

include!(concat!(env!("OUT_DIR"), "/events.rs"));
