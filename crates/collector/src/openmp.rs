//! OpenMP: how much each thread does in a parallel region, and which thread waits for which.
//!
//! GNU's runtime reports nothing itself, so its functions are wrapped, as listed in the table in `build/openmp.rs`. A
//! region's function runs inside ours, which sees when each thread begins and ends its part (`region`). Tasks run
//! inside ours too (`tasks`). Barriers are seen at both ends. Sections that only one thread at a time may be in are
//! seen when a thread enters them (`locks`). LLVM's and Intel's runtimes report the same events if they are asked to
//! (`ompt`).
//!
//! If nothing is recorded, or nothing is found behind a wrapper, the call goes on as it came.

mod locks;
mod ompt;
mod region;
mod tasks;

use crate::guest::{clock, recording};
use crate::libraries::runtimes;
use crate::threads::{
    birth,
    team::recorded,
    thread::{self, Caller, Thread},
    waits::{Awaited, Holder},
};
use headwater_call_path::NONE;
use headwater_model::run::WaitKind;
use headwater_mpi_call::args::Args;
pub use locks::Section;
pub use ompt::{Lookup, enable_reports, on_event};
use std::sync::atomic::Ordering;

/// What a function does, as far as threads wait or work in it.
#[derive(Clone, Copy)]
pub enum Does {
    /// Runs a region: each thread of a team calls its first argument with its second.
    Region,
    /// The same, and the runtime reads the first word that the second argument points to.
    Reducing,
    /// Begins a region. The calling thread does its part of it after this call.
    Start,
    /// Ends such a region.
    End,
    /// Waits for the team.
    Barrier,
    /// Makes a task, or runs it.
    Task,
    /// Makes the tasks of a loop and waits for them. The runtime writes each task's part of the loop into its
    /// arguments.
    TaskLoop,
    /// Waits for something else.
    Waits(WaitKind),
    /// Enters a section that one thread at a time may be in.
    Take(Section),
    /// Leaves it.
    Give(Section),
    /// Takes a lock; the next row of the table is the function that tries to.
    Lock,
    /// Takes it if it is free.
    Try,
}

/// Shorter waits are just the cost of the call, nanoseconds.
const WORTH_COUNTING: u64 = 1_000;

/// A wrapped function is called.
///
/// # Safety
/// As the trampoline passes them: the argument registers, and the stack at the call.
pub unsafe fn call(id: usize, registers: *const u64, stack: *const u64, from: Caller) -> i64 {
    let Some((count, does)) = OPENMP.get(id) else {
        return 0;
    };
    // SAFETY: promised by the caller. If more is read than was passed, it is from the stack and is not used.
    let mut args = unsafe { Args::read(registers, stack, *count, false) };
    let real = runtimes::real(id, from.return_address);
    if real.address == 0 {
        // SAFETY: as above.
        return unsafe { absent(*does, &args) };
    }
    let Some(t) = recorded().filter(|_| !real.reports_events) else {
        // SAFETY: the runtime's own function for these arguments.
        return unsafe { args.call_any(real.address) };
    };
    let (t, real) = (std::ptr::from_mut(t), real.address);
    // SAFETY: this thread's own recording. Other functions of ours use it while the runtime's function runs, so it is
    // passed on as a pointer. All of these call the runtime's own function for these arguments, or for what it treats
    // as such.
    unsafe {
        match *does {
            Does::Region => region::run(t, real, &mut args, from, false),
            Does::Reducing => region::run(t, real, &mut args, from, true),
            Does::Start => region::start(t, real, &mut args, from),
            Does::End => region::end(t, real, &args),
            Does::Barrier => region::barrier(t, real, &args, from),
            Does::Task => tasks::make(&*t, &mut args, false, |args| args.call_any(real)),
            Does::TaskLoop => tasks::make(&*t, &mut args, true, |args| {
                waits(t, real, args, from, WaitKind::Tasks)
            }),
            Does::Waits(kind) => waits(t, real, &args, from, kind),
            Does::Take(section) => locks::take(t, real, &args, from, section.key(&args)),
            Does::Give(section) => locks::give(t, real, &args, section.key(&args)),
            Does::Lock => {
                let tries = runtimes::real(id + 1, from.return_address).address;
                locks::lock(t, real, tries, &args, from)
            }
            Does::Try => locks::try_to(t, real, &args, from),
        }
    }
}

/// The calling thread's recording, also if it was made for the thread and the thread has not taken it over yet; null
/// if there is none.
fn own() -> *mut Thread {
    let at = thread::current();
    if at.is_null() && recording::RECORDING.load(Ordering::Relaxed) {
        return birth::take_up();
    }
    at
}

/// A call without a runtime, which a program can make by a weak reference: one thread does all the work.
unsafe fn absent(does: Does, args: &Args) -> i64 {
    match does {
        Does::Region | Does::Reducing | Does::Task => {
            // SAFETY: the program's own function, which takes one pointer.
            unsafe {
                let function: unsafe extern "C-unwind" fn(u64) = std::mem::transmute(args.raw(0));
                function(args.raw(1));
            }
            1
        }
        Does::Try => 1,
        _ => 0,
    }
}

/// Waits in `real`. The thread may do tasks meanwhile.
unsafe fn waits(t: *mut Thread, real: usize, args: &Args, from: Caller, kind: WaitKind) -> i64 {
    // SAFETY: promised by the caller.
    unsafe {
        let before = (*t).openmp.begin_waiting();
        let start = clock::now();
        let result = args.call_any(real);
        let end = clock::now();
        let worked = (*t).openmp.end_waiting(before);
        let what = Awaited::unknown(kind);
        count(&mut *t, what, start + worked, end, |t| t.context(from));
        result
    }
}

/// Counts a wait, unless it is short and its holder is unknown.
fn count(
    t: &mut Thread,
    what: Awaited,
    start: u64,
    end: u64,
    context: impl FnOnce(&mut Thread) -> u32,
) {
    // Not in a child after `fork`: the tables are its parent's.
    if !recording::RECORDING.load(Ordering::Relaxed) {
        return;
    }
    if what.holder == Holder::UNKNOWN && end.saturating_sub(start) < WORTH_COUNTING {
        return;
    }
    let ctx = context(t);
    if ctx != NONE {
        t.waited(ctx, what, start, end);
    }
}

include!(concat!(env!("OUT_DIR"), "/openmp.rs"));
