//! Handles every MPI call of the program: decodes it, forwards it to the library, and records it.
//!
//! Wrappers of libc functions and of OpenMP also call [`dispatch`], which passes these calls on to other modules. A
//! call that is not recorded goes to the library unchanged.

use crate::entry::{finish, guarded, init, markers, mpi, program, sessions};
use crate::guest::{clock, recording};
use crate::libraries::{abi, past};
use crate::openmp;
use crate::storage::resources;
use crate::threads::{
    local::{Fortran, local},
    locks, pause, roster,
    thread::{self, Call, Caller},
};
use headwater_call_path::NONE;
use headwater_mpi_abi::{Class, FUNCTIONS, Role};
use headwater_mpi_call::args::Args;
use headwater_mpi_call::decoder::{Before, Decoder};
use std::sync::atomic::Ordering;

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

/// Runs when this object is loaded. It reads the clocks, counts the loaded modules, and looks up the libc's
/// functions: the program may call one of them for the first time in a signal handler. A program without MPI begins to
/// be recorded here.
extern "C" fn start() {
    crate::guest::clock::start();
    past::start();
    guarded::find();
    locks::find();
    program::begin();
}

/// The wrappers call this with the argument registers, the stack at the call, the return address, the caller's frame
/// pointer and, if the collector is linked into the program, the real function. Exceptions of the program and of its
/// MPI library may pass through.
pub unsafe extern "C-unwind" fn dispatch(
    code: u32,
    registers: *const u64,
    stack: *const u64,
    return_address: u64,
    frame_pointer: u64,
    linked: usize,
) -> i64 {
    if code >> 16 == LIBC {
        if linked != 0 {
            guarded::is_linked_to((code & 0xffff) as usize, linked);
        }
        // SAFETY: the pointers are as the trampoline saved them. A count of 0 reads the argument registers only. No
        // wrapped function of the libc needs more here: `syscall` reads its last argument itself.
        let args = unsafe { Args::read(registers, stack, 0, false) };
        let from = caller(return_address, stack, frame_pointer);
        return guarded::call((code & 0xffff) as usize, &args, from);
    }
    if code >> 16 >= OPENMP {
        let from = caller(return_address, stack, frame_pointer);
        let id = (code & 0xffff) as usize;
        // SAFETY: the pointers are as the trampoline saved them, and functions have as many arguments as their tables say.
        // Callbacks have no more than there are registers.
        return unsafe {
            match code >> 16 {
                OPENMP => openmp::call(id, registers, stack, from),
                MARKERS => {
                    let count = markers::arguments(id);
                    markers::call(id, &Args::read(registers, stack, count, false), from)
                }
                _ => openmp::on_event(id, &Args::read(registers, stack, 0, false), from),
            }
        };
    }
    if linked != 0 {
        abi::is_linked_to(code, linked);
    }
    // SAFETY: passed on as they came.
    if let Some(answer) = unsafe { answer(code, registers, stack, return_address) } {
        return i64::from(answer);
    }
    // SAFETY: passed on as they came.
    i64::from(unsafe { call_of_mpi(code, registers, stack, return_address, frame_pointer) })
}

#[inline]
fn caller(return_address: u64, stack: *const u64, frame_pointer: u64) -> Caller {
    Caller {
        return_address,
        stack_pointer: stack as u64,
        frame_pointer,
    }
}

/// The wrappers of `MPI_Pcontrol` call this as they call [`dispatch`]. It returns the address of the real function.
/// The wrapper then jumps there with the arguments as they came.
pub unsafe extern "C" fn switch(
    code: u32,
    registers: *const u64,
    stack: *const u64,
    return_address: u64,
    frame_pointer: u64,
    linked: usize,
) -> usize {
    if linked != 0 {
        abi::is_linked_to(code, linked);
    }
    /// Called instead if the library has no such function.
    extern "C" fn no_library() -> i32 {
        abi::get().map_or(16, |a| a.err_other)
    }
    let from = caller(return_address, stack, frame_pointer);
    // SAFETY: the first argument as the trampoline saved it. Fortran passes the address of its integer.
    let level = unsafe {
        let first = *registers;
        if code >> 16 == 0 {
            first as i32
        } else {
            *(first as *const i32)
        }
    };
    let _ = std::panic::catch_unwind(|| pause::control(level, (code & 0xffff) as u16, from));
    match abi::real(code, return_address) {
        0 => no_library as *const () as usize,
        real => real,
    }
}

/// A Fortran call has up to this many arguments more than the C call: the error code and the lengths of strings.
const FORTRAN_EXTRA: usize = 4;

/// Marks the wrappers of libc functions, in the upper half of a code.
const LIBC: u32 = 7;

/// Marks the wrappers of functions of GNU's OpenMP runtime. The next number marks the callbacks of other runtimes.
const OPENMP: u32 = 8;

/// Marks the wrappers of functions of Caliper and Score-P.
const MARKERS: u32 = 10;

/// Handles a call of MPI.
unsafe fn call_of_mpi(
    code: u32,
    registers: *const u64,
    stack: *const u64,
    return_address: u64,
    frame_pointer: u64,
) -> i32 {
    let (id, fortran) = ((code & 0xffff) as u16, code >> 16 != 0);
    let real = abi::real(code, return_address);
    let Some(function) = FUNCTIONS.get(id as usize).filter(|_| real != 0) else {
        // SAFETY: as the trampoline saved them.
        return unsafe { absent(id, registers) };
    };
    let count = function.roles.len() + if fortran { FORTRAN_EXTRA } else { 0 };
    // SAFETY: as the trampoline saved them.
    let mut args = unsafe { Args::read(registers, stack, count, fortran) };
    // Made in its place: the processor stalls if a wide load copies what was just stored word by word.
    let mut call = Call::of(
        Caller {
            return_address,
            stack_pointer: stack as u64,
            frame_pointer,
        },
        id,
    );
    match function.class {
        Class::Init => return init::init(id, real, &args, call.from),
        Class::Finalize => finish::finalize_recording(id, call.from, &mut args),
        Class::SessionInit => match init::has_begun() {
            false => return init::first_session(real, &args),
            true => sessions::wake(),
        },
        Class::SessionFinalize if sessions::close(&args) => finish::last_session(id, call.from),
        _ => {}
    }
    if fortran && !abi::past_c(code) {
        let outer = Fortran {
            in_progress: true,
            id,
            from: call.from,
        };
        let _outer = Outer(local().fortran.replace(outer));
        // SAFETY: the library's own function for these arguments.
        return unsafe { args.call(real) };
    }
    if abi::through_c() {
        let outer = local().fortran.get();
        if outer.in_progress && outer.id != id {
            // The Fortran layer's own calls are not the program's.
            // SAFETY: the library's own function for these arguments.
            return unsafe { args.call(real) };
        }
        if outer.in_progress {
            call.from = outer.from;
        }
    }
    record(function, real, &mut args, &mut call)
}

/// Forwards a call that the library answers at once; returns `None` for any other call. A call that is answered at
/// once takes a few nanoseconds and is part of the computation around it. The first call of a thread is always
/// recorded, because the computation before it belongs to the start.
///
/// # Safety
/// As [`dispatch`].
unsafe fn answer(
    code: u32,
    registers: *const u64,
    stack: *const u64,
    return_address: u64,
) -> Option<i32> {
    let function = FUNCTIONS.get((code & 0xffff) as usize)?;
    if function.class != Class::Local {
        return None;
    }
    // SAFETY: null or this thread's own recording, which is never freed.
    let t = unsafe { thread::current().as_mut() }.filter(|t| t.has_called())?;
    let real = Some(abi::real(code, return_address)).filter(|real| *real != 0)?;
    let _until_it_returns = t.keep_samples_away(stack as u64, return_address);
    // SAFETY: the library's own function. Functions of this class have all their arguments in registers.
    Some(unsafe { Args::read(registers, registers, 0, false).call(real) })
}

/// Answers a call if no MPI library has the function: programs ask whether they run under MPI.
unsafe fn absent(id: u16, registers: *const u64) -> i32 {
    let name = FUNCTIONS.get(id as usize).map_or("", |f| f.name);
    if ["MPI_Initialized", "MPI_Finalized"].contains(&name) {
        // SAFETY: in C and in Fortran, the first argument points to the place for the answer.
        unsafe { *(*registers as *mut i32) = 0 };
        return 0;
    }
    abi::get().map_or(16, |a| a.err_other)
}

/// Clears `in_mpi` if an exception leaves the call early.
struct Left(*mut thread::Thread);

impl Drop for Left {
    fn drop(&mut self) {
        // SAFETY: this thread's own recording, which is never freed.
        unsafe {
            (*self.0).in_mpi.store(false, Ordering::Relaxed);
            (*self.0).trace_left();
        }
    }
}

/// Restores the Fortran call that was in progress before, also if an exception ends this call.
struct Outer(Fortran);

impl Drop for Outer {
    fn drop(&mut self) {
        local().fortran.set(self.0);
    }
}

fn record(
    function: &'static headwater_mpi_abi::Function,
    real: usize,
    args: &mut Args,
    call: &mut Call,
) -> i32 {
    let at = thread::current();
    // SAFETY: null or this thread's own recording.
    let inside = unsafe { at.as_ref() }.is_some_and(|t| t.inside(call.from.stack_pointer));
    let known = mpi::get().and_then(|mpi| Some((mpi, mpi.shape(call.func)?)));
    let Some((mpi, shape)) = known.filter(|_| !inside && !function.is_start_or_end()) else {
        // While a communicator is freed, others may be freed too.
        if inside
            && function.class == Class::CommFree
            && let Some((mpi, shape)) = known
            && let Some(at) = shape.at(Role::Newcomm)
        {
            mpi.comms.freed_by(args, at);
        }
        // SAFETY: the library's own function for these arguments.
        return unsafe { args.call(real) };
    };
    let mut decoder = Decoder::new(mpi, function, shape, args);
    let Some(t) = thread::enter(at, call) else {
        if recording::RECORDING.load(Ordering::Relaxed) {
            mpi.uncounted_from_now_on();
        }
        // SAFETY: as above.
        return unsafe { decoder.call(real) };
    };
    let mut before = Before::NOTHING;
    let post = call.post();
    decoder.before(&mut t.buffers, &post, &mut before);
    if t.is_traced() {
        t.trace_before(call, decoder.args());
    }
    let left = Left(t);
    // SAFETY: as above.
    let result = unsafe { decoder.call(real) };
    std::mem::forget(left);
    let (contexts, number) = (&mut t.contexts, t.number);
    let mut adopt = |thread, ctx| {
        let origin = roster::origin(thread, ctx);
        origin.map_or(NONE, |o| contexts.adopt(o, number))
    };
    let outcome = decoder.after(&mut t.buffers, &post, &mut before, result, &mut adopt);
    if outcome.met_the_world {
        thread::world_collective();
    }
    let now = clock::now();
    if function.class == Class::FileOpen && result == 0 {
        // The name comes behind the communicator. In Fortran, no NUL ends it.
        let at = shape.at(Role::Comm).filter(|_| !decoder.args().fortran());
        let path = at.map_or(0, |at| decoder.args().raw(at + 1));
        // SAFETY: null, or a C string of the program's, which the library has just read.
        unsafe { resources::opened_by_mpi(path as *const std::ffi::c_char) };
    }
    if t.is_traced() {
        t.trace_after(call, decoder.args(), result, now);
    }
    thread::leave_by(t, call, &before.params, outcome.idle, now);
    result
}
