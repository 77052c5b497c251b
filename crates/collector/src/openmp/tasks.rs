//! Tasks: run inside ours, so that a thread that does a task while its team waits is known to work.
//!
//! The runtime copies a task's arguments, or has a function of the program copy them, and calls the task with the
//! copy. So the runtime gets our function to call, with a longer copy: [`Head`], then the program's own arguments.

use crate::guest::recording;
use crate::threads::thread::{self, Thread};
use headwater_mpi_call::args::Args;
use std::mem::MaybeUninit;
use std::sync::atomic::Ordering;

/// What precedes the arguments of a task.
#[derive(Clone, Copy)]
#[repr(C)]
struct Head {
    /// The first words of the arguments of a part of a loop. The runtime writes there which part it is. It reads
    /// there where reductions are described.
    first: [u64; 3],
    function: u64,
    /// The program's own function that copies arguments; 0 if the runtime copies their bytes.
    copies: u64,
    /// The arguments as they were passed.
    given: u64,
    /// Where their copy begins.
    offset: u64,
    /// Whether the task is a part of a loop.
    of_loop: u64,
}

const HEAD: u64 = size_of::<Head>() as u64;
/// The most bytes of arguments; tasks with more run unchanged.
const MOST: u64 = 1024;

/// Flags. The first: the arguments describe reductions. The second: their first word is written to when the task is
/// made.
const REDUCES: u64 = 1 << 12;
const DETACHES: u64 = 1 << 13;

/// Room for a head and arguments, aligned for any of them.
#[repr(C, align(64))]
struct Room(MaybeUninit<[u8; (HEAD + MOST) as usize]>);

/// Lets `call` make a task, or the tasks of a loop, so that the runtime calls our functions instead of the program's.
///
/// # Safety
/// `args` are those of the runtime's functions.
#[inline]
pub unsafe fn make<R>(
    t: &Thread,
    args: &mut Args,
    of_loop: bool,
    call: impl FnOnce(&Args) -> R,
) -> R {
    let (size, align) = (args.raw(3), args.raw(4).max(8));
    let flags = args.raw(if of_loop { 5 } else { 6 });
    let plain = size <= MOST && align <= 64 && align.is_power_of_two() && flags & DETACHES == 0;
    if t.openmp.depth() == 0 || !plain {
        return call(args);
    }
    // The length of the head is a multiple of every possible alignment.
    const { assert!(HEAD == 64) };
    let mut head = Head {
        first: [0; 3],
        function: args.raw(0),
        copies: args.raw(2),
        given: args.raw(1),
        offset: HEAD,
        of_loop: u64::from(of_loop),
    };
    if of_loop && flags & REDUCES != 0 && size >= 24 {
        // SAFETY: the runtime reads the same words.
        head.first = unsafe { (head.given as *const [u64; 3]).read() };
    }
    let mut room = Room(MaybeUninit::uninit());
    let start: *mut u8 = room.0.as_mut_ptr().cast();
    // SAFETY: the room is as long as both; the arguments are as many as the program says.
    unsafe {
        start.cast::<Head>().write(head);
        if head.copies == 0 && size > 0 {
            let given = head.given as *const u8;
            std::ptr::copy_nonoverlapping(given, start.add(HEAD as usize), size as usize);
        }
    }
    args.replace(0, run as *const () as u64);
    args.replace(1, start as u64);
    if head.copies != 0 {
        args.replace(2, copy as *const () as u64);
    }
    args.replace(3, size + HEAD);
    args.replace(4, align);
    call(args)
}

/// Copies a head, and lets the program copy its arguments.
unsafe extern "C-unwind" fn copy(to: *mut u8, from: *const Head) {
    // SAFETY: as `make` passes them. Both have room for the head, and the program's function copies the rest.
    unsafe {
        let head = from.read();
        to.cast::<Head>().write(head);
        let copies: unsafe extern "C-unwind" fn(*mut u8, u64) = std::mem::transmute(head.copies);
        copies(to.add(head.offset as usize), head.given);
    }
}

/// A task begins.
unsafe extern "C-unwind" fn run(at: *mut Head) {
    // SAFETY: a copy of what `make` wrote; null or this thread's own recording.
    let (head, t) = unsafe { (&*at, thread::current().as_mut()) };
    let argument = at as u64 + head.offset;
    if head.of_loop != 0 {
        // SAFETY: arguments of a part of a loop begin with two words.
        unsafe { (argument as *mut [u64; 2]).write([head.first[0], head.first[1]]) };
    }
    let seen = t.filter(|t| {
        recording::RECORDING.load(Ordering::Relaxed)
            && t.openmp.depth() > 0
            && (t.openmp.idle() || !t.in_mpi.load(Ordering::Relaxed))
    });
    // SAFETY: the program's function, which takes one pointer.
    unsafe {
        match seen {
            Some(t) => t.run_task(head.function as usize, argument),
            None => {
                let function: unsafe extern "C-unwind" fn(u64) =
                    std::mem::transmute(head.function as usize);
                function(argument);
            }
        }
    }
}
