//! Roots of call paths.
//!
//! If a thread works for another one, its call paths continue the path of the call that made it do so. The frames of
//! the system and of runtimes between the two are left out.
//!
//! The thread that starts the work passes an [`Origin`] to its workers. A worker interns that call path in its own
//! table ([`Contexts::adopt`]) and runs the program's function by [`run`], which sets the root until the function
//! returns.
//!
//! [`Contexts::adopt`]: crate::Contexts::adopt

use crate::context::NONE;
use headwater_format::spool::layout::ContextRow;

/// What call paths are below.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Root {
    /// Context, one of the thread's own.
    pub ctx: u32,
    /// Stack slot of the return address; frames from there on are left out.
    pub cut: u64,
}

impl Root {
    /// A cut that leaves no frame out, as of a region that the program named: the root is above the whole call path.
    pub const EVERYWHERE: u64 = u64::MAX;
    /// A cut that leaves no frame out by its place on the stack. Those behind the runtime's are left out.
    pub const BEHIND_RUNTIME: u64 = u64::MAX - 1;

    /// Call paths are whole.
    pub const NONE: Self = Self {
        ctx: NONE,
        cut: Self::EVERYWHERE,
    };
}

/// A context of the thread that starts work, for its workers. Its rows are mapped as long as the process lives, and
/// they never move or change, so any thread may read them.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// The maker's rows.
    pub rows: *const ContextRow,
    /// Its context.
    pub ctx: u32,
    /// Its number.
    pub thread: u32,
}

// SAFETY: see above.
unsafe impl Send for Origin {}
// SAFETY: see above.
unsafe impl Sync for Origin {}

/// Restores a root, also if an exception, a cancellation or `pthread_exit` ends what was run.
struct Before(*mut Root, Root);

impl Drop for Before {
    fn drop(&mut self) {
        // SAFETY: `run` promises that the root is still there.
        unsafe { *self.0 = self.1 };
    }
}

/// Runs `function(argument)` of the program, with call paths that begin at `ctx`.
///
/// # Safety
/// `root` is that of the calling thread's own call paths, which are not freed before this returns. The function takes
/// one pointer.
pub unsafe fn run(root: *mut Root, ctx: u32, function: usize, argument: u64) -> u64 {
    // SAFETY: promised by the caller. The place is written once, before the function is called.
    unsafe {
        let _before = Before(root, *root);
        // This place is good enough until the exact one is known.
        let here = std::ptr::from_ref(&_before) as u64;
        *root = Root { ctx, cut: here };
        call(function, argument, &raw mut (*root).cut)
    }
}

/// Calls the function with the argument. Before that, writes where its return address will be.
///
/// # Safety
/// The function takes one pointer, and the place can be written to.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
pub unsafe extern "C-unwind" fn call(function: usize, argument: u64, cut: *mut u64) -> u64 {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "lea rax, [rsp - 8]",
        "mov [rdx], rax",
        "mov rax, rdi",
        "mov rdi, rsi",
        "call rax",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    )
}

/// The same. Here the unwinder takes the word below the caller's frame for the slot.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
pub unsafe extern "C-unwind" fn call(function: usize, argument: u64, cut: *mut u64) -> u64 {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "stp x29, x30, [sp, #-16]!",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset x29, -16",
        ".cfi_offset x30, -8",
        "mov x29, sp",
        "sub x9, sp, #8",
        "str x9, [x2]",
        "mov x9, x0",
        "mov x0, x1",
        "blr x9",
        "ldp x29, x30, [sp], #16",
        ".cfi_def_cfa_offset 0",
        "ret",
        ".cfi_endproc",
    )
}
