//! A stack of our own, for what takes much of one: unwinding, and making what a new thread needs. The stack that
//! we are called on may be that of a fiber or, in a handler, the one that the program has for signals: both are
//! often of a few KiB, and a page behind them ends the program.
//!
//! Signals wait meanwhile: a handler of the program's may look at the stack that it stands on. Collectors of garbage do:
//! they stop threads by a signal, and take all from the stack pointer in its handler to the end of the thread's own
//! stack for roots, which between two stacks is nonsense or not mapped. Pointers of the program's are never on our
//! stack alone: the program's own call stands on its stack, with what it passed. But who stops all threads waits for
//! each, so a thread whose signals wait must itself wait for none that may be stopped: what takes a lock or asks for
//! memory comes here only where the thread's own stack has no room ([`Contexts::with_room`]). Such a program, of small
//! stacks and with a collector of garbage, is the one that we may hold up.
//!
//! [`Contexts::with_room`]: crate::context::Contexts::with_room

use crate::memory;
use std::ffi::c_void;
use std::mem::MaybeUninit;

/// Bytes that may be used. Only what is written to costs memory.
pub const BYTES: usize = 128 << 10;

/// One stack, for one thread at a time, which keeps others off it as long as it runs there.
pub struct Apart {
    low: u64,
    /// 0 where there is none.
    top: u64,
}

/// Signals as the kernel takes them.
type Signals = u64;

/// Signals wait as long as this lives, but for those that say what is wrong with the code that runs.
struct Quiet(Option<Signals>);

impl Quiet {
    fn new() -> Self {
        let faults = [
            libc::SIGSEGV,
            libc::SIGBUS,
            libc::SIGFPE,
            libc::SIGILL,
            libc::SIGTRAP,
        ];
        let all = faults.iter().fold(!0, |set, s| set & !(1 << (s - 1)));
        Self(set_signals(all))
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        if let Some(before) = self.0 {
            set_signals(before);
        }
    }
}

/// Lets these signals wait, the libc's own too, and gives those that did; `None` where that is forbidden.
fn set_signals(now: Signals) -> Option<Signals> {
    let mut before: Signals = 0;
    // SAFETY: sets of the size that is told, of our own. The system call itself, as the libc leaves its own out.
    let result = unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &now,
            &mut before,
            size_of::<Signals>(),
        )
    };
    (result == 0).then_some(before)
}

/// The stack that the calling thread has for handlers of signals.
fn alternate() -> Option<libc::stack_t> {
    // SAFETY: a zeroed structure is filled by the call.
    unsafe {
        let mut now: libc::stack_t = std::mem::zeroed();
        (libc::sigaltstack(std::ptr::null(), &mut now) == 0).then_some(now)
    }
}

/// Makes the stack of ours that begins at `low` the one that the calling thread has for them, or with `SS_DISABLE` none.
fn set_alternate(low: u64, flags: libc::c_int) {
    let stack = libc::stack_t {
        ss_sp: low as *mut c_void,
        ss_flags: flags,
        ss_size: BYTES,
    };
    // SAFETY: a stack that is mapped for good and nobody else's; the kernel refuses to change the one in use.
    unsafe { libc::sigaltstack(&stack, std::ptr::null_mut()) };
}

/// What runs there, and what it comes to.
struct Work<F, T> {
    run: Option<F>,
    result: MaybeUninit<T>,
}

impl Apart {
    /// A new stack, for good; where there is no memory for one, things run where they are.
    pub fn new() -> Self {
        Self::behind(memory::page())
    }

    /// The same with so many bytes below it that nobody may touch: a page.
    fn behind(guard: usize) -> Self {
        let (protection, flags) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
        );
        let none = Self { low: 0, top: 0 };
        // SAFETY: a fresh mapping at an address that the kernel chooses, and its first page.
        unsafe {
            let at = libc::mmap(
                std::ptr::null_mut(),
                guard + BYTES,
                protection,
                flags,
                -1,
                0,
            );
            if at == libc::MAP_FAILED {
                return none;
            }
            libc::mprotect(at, guard, libc::PROT_NONE);
            let low = at as u64 + guard as u64;
            Self {
                low,
                top: low + BYTES as u64,
            }
        }
    }

    /// Gives the calling thread this stack for handlers of signals, where it has none: what the kernel keeps of an
    /// interrupted processor may be more than a fiber's stack has room for. A handler of the program's that wants such
    /// a stack and was never given one runs there too.
    pub fn lend(&self) {
        if self.top != 0 && alternate().is_some_and(|now| now.ss_flags & libc::SS_DISABLE != 0) {
            set_alternate(self.low, 0);
        }
    }

    /// The thread ends: it has no stack of ours any more.
    pub fn take_back(&self) {
        if self.top != 0 && alternate().is_some_and(|now| now.ss_sp as u64 == self.low) {
            set_alternate(self.low, libc::SS_DISABLE);
        }
    }

    /// Runs `f` there, also from within itself. Neither allocates nor locks.
    #[inline]
    pub fn run<T, F: FnOnce() -> T>(&self, f: F) -> T {
        let _quiet = (self.top != 0).then(Quiet::new);
        self.run_quiet(f)
    }

    /// The same where all signals wait already, as in our handler.
    #[inline]
    pub fn run_quiet<T, F: FnOnce() -> T>(&self, f: F) -> T {
        let mut work = Work {
            run: Some(f),
            result: MaybeUninit::<T>::uninit(),
        };
        let here = (&raw const work) as u64;
        let data = (&raw mut work).cast::<c_void>();
        // SAFETY: the work lives until the call is over, which has then written its result; the stack is nobody
        // else's, and is not used yet.
        unsafe {
            if self.top == 0 || (self.low..self.top).contains(&here) {
                done::<T, F>(data);
            } else {
                on(self.top, done::<T, F>, data);
            }
            work.result.assume_init()
        }
    }
}

unsafe extern "C-unwind" fn done<T, F: FnOnce() -> T>(data: *mut c_void) {
    // SAFETY: the work that `run` has made, which nobody else looks at meanwhile.
    let work = unsafe { &mut *data.cast::<Work<F, T>>() };
    if let Some(run) = work.run.take() {
        work.result.write(run());
    }
}

/// Calls a function with an argument on the stack that ends at `top`.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C-unwind" fn on(
    top: u64,
    function: unsafe extern "C-unwind" fn(*mut c_void),
    argument: *mut c_void,
) {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "mov rsp, rdi",
        "mov rdi, rdx",
        "call rsi",
        "mov rsp, rbp",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    )
}

/// The same.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C-unwind" fn on(
    top: u64,
    function: unsafe extern "C-unwind" fn(*mut c_void),
    argument: *mut c_void,
) {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "stp x29, x30, [sp, #-16]!",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset x29, -16",
        ".cfi_offset x30, -8",
        "mov x29, sp",
        ".cfi_def_cfa_register x29",
        "mov sp, x0",
        "mov x0, x2",
        "blr x1",
        "mov sp, x29",
        ".cfi_def_cfa_register sp",
        "ldp x29, x30, [sp], #16",
        ".cfi_def_cfa_offset 0",
        "ret",
        ".cfi_endproc",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> u64 {
        let place = 0u8;
        std::hint::black_box(&raw const place) as u64
    }

    #[test]
    fn all_of_a_stack_can_be_used_whatever_a_page_is() {
        for page in [memory::page(), 64 << 10] {
            let apart = Apart::behind(page);
            assert_eq!(apart.top - apart.low, BYTES as u64);
            // SAFETY: the lowest word of a stack that nobody uses.
            unsafe { (apart.low as *mut u64).write_volatile(1) };
        }
    }

    #[test]
    fn a_thread_has_it_for_signals_until_it_ends() {
        std::thread::spawn(|| {
            let at = || alternate().map(|s| (s.ss_sp as u64, s.ss_flags));
            // The standard library gives each thread one, which stays.
            let before = alternate().expect("a stack, or none");
            let apart = Apart::new();
            apart.lend();
            apart.take_back();
            assert_eq!(at(), Some((before.ss_sp as u64, before.ss_flags)));
            set_alternate(apart.low, libc::SS_DISABLE);
            apart.lend();
            assert_eq!(at(), Some((apart.low, 0)));
            apart.take_back();
            assert_eq!(at().map(|s| s.1), Some(libc::SS_DISABLE));
        })
        .join()
        .expect("a thread that ends");
    }

    #[test]
    fn what_runs_apart_has_its_own_stack_and_gives_its_result() {
        let apart = Apart::new();
        let (outer, inner, inside) = apart.run(|| {
            let inner = apart.run(here);
            (here(), inner, String::from("whole"))
        });
        assert!((apart.low..apart.top).contains(&outer));
        assert!((apart.low..outer).contains(&inner), "no new beginning");
        assert_eq!(inside, "whole");
        let thrown = std::panic::catch_unwind(|| apart.run(|| std::panic::panic_any(7)));
        assert_eq!(
            thrown.err().and_then(|e| e.downcast().ok()),
            Some(Box::new(7))
        );
        let nowhere = Apart { low: 0, top: 0 };
        assert!(!(apart.low..apart.top).contains(&nowhere.run(here)));
    }
}
