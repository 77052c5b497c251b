//! The collector's variables of each thread, at a distance from the thread pointer that the loader fixes when the
//! program starts.
//!
//! Thread-local variables of a shared object are usually found by a function of the loader. This function allocates
//! memory if libraries were opened since the thread last called it, which must not happen in a signal handler. An
//! object that is loaded from the start, as this one is, can have its variables in the room that each thread has from
//! its start (the *initial-exec* model of the ABI's thread-local storage). Access then takes one load and no call.
//! Stable Rust has no option for this model, so the variable is defined in assembly. If the collector is linked into a
//! program, the linker turns the load into a constant.

use crate::threads::{
    birth::Birth,
    thread::{Caller, Thread},
};
use std::cell::Cell;

/// A thread's variables. All of them are zero when it begins.
#[repr(C)]
pub struct Local {
    /// Its recording; null if it has none. It is the first field, so that its address is that of the variable.
    pub recording: Cell<*mut Thread>,
    /// Its birth, if our wrapper made the thread.
    pub birth: Cell<*const Birth>,
    /// Set while its recording is being made, and for good if that failed.
    pub refused: Cell<bool>,
    /// Whether the threads that it makes belong to the MPI library.
    pub is_librarys: Cell<bool>,
    /// The Fortran call in progress whose C function is to be recorded, if the library's Fortran layer calls C.
    pub fortran: Cell<Fortran>,
    /// How many regions of the program began before the recording and have not ended.
    pub early_regions: Cell<u32>,
}

/// A call of MPI from Fortran.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Fortran {
    /// Whether there is one.
    pub in_progress: bool,
    /// Its function.
    pub id: u16,
    /// Where it came from.
    pub from: Caller,
}

core::arch::global_asm!(
    ".pushsection .tbss.headwater_local,\"awT\",@nobits",
    ".balign 16",
    ".globl headwater_local",
    ".hidden headwater_local",
    ".type headwater_local, @tls_object",
    ".size headwater_local, {bytes}",
    "headwater_local:",
    ".zero {bytes}",
    ".popsection",
    bytes = const size_of::<Local>(),
);

/// The calling thread's recording, if it has one.
#[inline(always)]
pub fn recording() -> *mut Thread {
    let at: *mut Thread;
    // SAFETY: reads the first word of the calling thread's own variable.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::asm!(
            "mov {at}, qword ptr [rip + headwater_local@GOTTPOFF]",
            "mov {at}, qword ptr fs:[{at}]",
            at = out(reg) at,
            options(pure, readonly, nostack, preserves_flags)
        );
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!(
            "adrp {at}, :gottprel:headwater_local",
            "ldr {at}, [{at}, :gottprel_lo12:headwater_local]",
            "mrs {thread}, tpidr_el0",
            "ldr {at}, [{thread}, {at}]",
            at = out(reg) at,
            thread = out(reg) _,
            options(pure, readonly, nostack, preserves_flags)
        );
    }
    at
}

/// The calling thread's variables. They live as long as the thread, so the reference must not be stored.
#[inline(always)]
pub fn local() -> &'static Local {
    let at: *const Local;
    // SAFETY: the address of the calling thread's own variable. It is aligned and of this type, and all its fields
    // may be zero. Only this thread sees it, and its fields may be changed behind a shared reference.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::asm!(
            "mov {at}, qword ptr fs:[0]",
            "add {at}, qword ptr [rip + headwater_local@GOTTPOFF]",
            at = out(reg) at,
            options(pure, nomem, nostack)
        );
        &*at
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!(
            "adrp {at}, :gottprel:headwater_local",
            "ldr {at}, [{at}, :gottprel_lo12:headwater_local]",
            "mrs {thread}, tpidr_el0",
            "add {at}, {thread}, {at}",
            at = out(reg) at,
            thread = out(reg) _,
            options(pure, nomem, nostack, preserves_flags)
        );
        &*at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_its_own_and_begins_with_nothing() {
        let call = Fortran {
            in_progress: true,
            id: 7,
            from: Caller::default(),
        };
        local().fortran.set(call);
        let other = std::thread::spawn(|| {
            let of = local();
            let nothing = !of.refused.get() && !of.is_librarys.get() && recording().is_null();
            nothing && !of.fortran.get().in_progress
        });
        assert_eq!(other.join().ok(), Some(true));
        assert_eq!(local().fortran.get().id, 7);
        // Nothing of ours may be called meanwhile: it is no recording.
        let mark = std::ptr::dangling_mut::<Thread>();
        let before = local().recording.replace(mark);
        let seen = recording();
        local().recording.set(before);
        assert_eq!(seen, mark);
    }
}
