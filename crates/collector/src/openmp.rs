//! OpenMP: who does how much of a parallel region, and who waits for whom.
//!
//! GNU's runtime says nothing of itself, so its functions are wrapped, as the table in `build/openmp.rs` says:
//! a region's function is run inside ours, which knows when each thread begins and ends its part (`region`), and
//! so are tasks (`tasks`). Barriers are seen at both ends, and sections that one thread at a time may be in when
//! they are entered (`locks`). LLVM's and Intel's runtimes tell of the same events if they are asked to
//! (`ompt`). Where there is no recording, or nothing is found behind a wrapper, the call goes on
//! as it came.

mod locks;
mod ompt;
mod region;
mod runtime;
mod state;
mod tasks;

use crate::args::Args;
use crate::team::recorded;
use crate::thread::{self, Caller, Thread};
use crate::trampoline::OPENMP;
use crate::waits::{Awaited, Holder};
use crate::{birth, clock, context, process};
use headwater_model::run::WaitKind;
pub use locks::Section;
pub use ompt::{Event, told};
pub use runtime::{forget, is_runtime, note_runtimes, tells};
pub use state::State;
use std::sync::atomic::Ordering;

/// What a function does, as far as somebody waits or works in it.
#[derive(Clone, Copy)]
pub enum Does {
    /// Runs a region: its first argument, called with the second by each thread of a team.
    Region,
    /// The same, and the runtime looks at the first word behind the second argument.
    Reducing,
    /// Begins a region, of which the calling thread does its part after it.
    Start,
    /// Ends that.
    End,
    /// Waits for the team.
    Barrier,
    /// Makes a task, or does it.
    Task,
    /// Makes tasks of a loop, to whose arguments the runtime writes the part of each, and waits for them.
    TaskLoop,
    /// Waits for something else.
    Waits(WaitKind),
    /// Enters a section that one thread at a time may be in.
    Take(Section),
    /// Leaves it.
    Give(Section),
    /// Takes a lock; the next row of the table tries to.
    Lock,
    /// Takes it if it is free.
    Try,
}

/// Waits shorter than this are the price of the call, nanoseconds.
const WORTH_COUNTING: u64 = 1_000;

/// A wrapped function is called.
///
/// # Safety
/// As the trampoline passes them: the argument registers, and the stack at the call.
pub unsafe fn call(id: usize, registers: *const u64, stack: *const u64, from: Caller) -> i64 {
    let Some((_, count, does)) = OPENMP.get(id) else {
        return 0;
    };
    // SAFETY: promised by the caller. Where more is read than was passed, it is of the stack and is not used.
    let mut args = unsafe { Args::read(registers, stack, *count, false) };
    let real = runtime::real(id, from.return_address);
    if real.address == 0 {
        // SAFETY: as above.
        return unsafe { absent(*does, &args) };
    }
    let Some(t) = recorded().filter(|_| !real.tells) else {
        // SAFETY: the runtime's own function for these arguments.
        return unsafe { args.call_any(real.address) };
    };
    let (t, real) = (std::ptr::from_mut(t), real.address);
    // SAFETY: this thread's own recording, which others of our functions use while the runtime's runs, so it is
    // passed on as a pointer. All of these call the runtime's own function for these arguments, or for what it
    // sees as such.
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
                let tries = runtime::real(id + 1, from.return_address).address;
                locks::lock(t, real, tries, &args, from)
            }
            Does::Try => locks::try_to(t, real, &args, from),
        }
    }
}

/// The calling thread's recording, also one that was made for it and that it has not taken up yet; null where
/// there is none.
fn own() -> *mut Thread {
    let at = thread::current();
    if at.is_null() && process::RECORDING.load(Ordering::Relaxed) {
        return birth::take_up();
    }
    at
}

/// A call where there is no runtime, as a program may make by a weak reference: one thread does what there is.
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

/// Waits in `real`, maybe doing tasks meanwhile.
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

/// Counts a wait, if it was one: for somebody who is known, it is.
fn count(
    t: &mut Thread,
    what: Awaited,
    start: u64,
    end: u64,
    context: impl FnOnce(&mut Thread) -> u32,
) {
    // Not in a child after `fork`: the tables are its parent's.
    if !process::RECORDING.load(Ordering::Relaxed) {
        return;
    }
    if what.holder == Holder::UNKNOWN && end.saturating_sub(start) < WORTH_COUNTING {
        return;
    }
    let ctx = context(t);
    if ctx != context::NONE {
        t.waited(ctx, what, start, end);
    }
}
