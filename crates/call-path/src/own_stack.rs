//! A stack of our own, for code that needs a large one: unwinding, and making what a new thread needs.
//!
//! We may be called on the stack of a fiber or, in a handler, on the program's stack for signals. Both often have
//! only a few KiB, and an access beyond them ends the program.
//!
//! While code runs on our stack, signals are blocked, because a handler of the program may look at the stack that it
//! runs on. Garbage collectors do so. They stop threads by a signal, and take everything from the stack pointer in
//! the handler to the end of the thread's own stack for roots. Between two stacks this range is meaningless or not
//! mapped. The program's pointers are never on our stack alone: the program's own call is on its own stack, with what
//! it passed.
//!
//! A garbage collector waits for each thread that it stops. So a thread that blocks signals must not wait for a
//! thread that may be stopped. Therefore code that takes a lock or allocates memory comes here only if the thread's
//! own stack has no room ([`Contexts::with_room`]). Only a program with both small stacks and a garbage collector may
//! be held up by us.
//!
//! [`Contexts::with_room`]: crate::Contexts::with_room

use std::ffi::c_void;
use std::mem::MaybeUninit;

/// Bytes that may be used. Only pages that are written to cost memory.
pub const BYTES: usize = 128 << 10;

/// One stack, for one thread at a time. The thread keeps others off it as long as it runs there.
pub struct OwnStack {
    low: u64,
    /// 0 if there is none.
    top: u64,
}

/// Signals as the kernel takes them.
type Signals = u64;

/// Blocks signals as long as this lives, except those that report an error in the running code.
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

/// Blocks these signals, the libc's own too. Returns those that were blocked before; `None` if this is forbidden.
fn set_signals(now: Signals) -> Option<Signals> {
    let mut before: Signals = 0;
    // SAFETY: our own sets, of the size that is passed. This is the system call itself, because the libc's function
    // leaves out its own signals.
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

/// Gives the calling thread our stack that begins at `low` for signal handlers; with `SS_DISABLE`, it then has none. Returns
/// the one that it had; `None` if the kernel refuses that.
fn set_alternate(low: u64, flags: libc::c_int) -> Option<libc::stack_t> {
    set(&libc::stack_t {
        ss_sp: low as *mut c_void,
        ss_flags: flags,
        ss_size: BYTES,
    })
}

/// Gives the calling thread a stack for signal handlers.
fn set(stack: &libc::stack_t) -> Option<libc::stack_t> {
    // SAFETY: our stack stays mapped and nobody else uses it; another one is what the thread had. The old one is written to a
    // zeroed structure. The kernel refuses to change the one in use.
    unsafe {
        let mut before: libc::stack_t = std::mem::zeroed();
        (libc::sigaltstack(stack, &mut before) == 0).then_some(before)
    }
}

/// Bytes of a page of memory; kernels for AArch64 may have larger ones.
pub fn page() -> usize {
    // SAFETY: a plain query.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// What runs there, and its result.
struct Work<F, T> {
    run: Option<F>,
    result: MaybeUninit<T>,
}

impl OwnStack {
    /// A new stack, which is never freed. If there is no memory for one, code runs on the stack where it is called.
    pub fn mapped() -> Self {
        Self::behind(page())
    }

    /// The same with so many bytes below it that nobody may touch: at least a page.
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

    /// Lends this stack to the calling thread for signal handlers if it has none. The kernel saves the state of an
    /// interrupted processor on the stack, which may be more than a fiber's stack has room for. A handler of the
    /// program that asks for such a stack, and was never given one, runs there too.
    pub fn lend(&self) {
        if self.top != 0
            && let Some(before) = set_alternate(self.low, 0)
        {
            self.leave_to(&before);
        }
    }

    /// The thread ends: it no longer uses our stack for signals.
    pub fn take_back(&self) {
        if self.top != 0
            && let Some(before) = set_alternate(self.low, libc::SS_DISABLE)
        {
            self.leave_to(&before);
        }
    }

    /// Gives the thread the stack again that it had `before`, if that was one of the program's.
    fn leave_to(&self, before: &libc::stack_t) {
        if before.ss_flags & libc::SS_DISABLE == 0 && before.ss_sp as u64 != self.low {
            set(before);
        }
    }

    /// Runs `f` on this stack, also if called from there. Neither allocates nor locks.
    #[inline]
    pub fn run<T, F: FnOnce() -> T>(&self, f: F) -> T {
        let _quiet = (self.top != 0).then(Quiet::new);
        self.run_quiet(f)
    }

    /// The same if all signals are blocked already, as in our handler.
    #[inline]
    pub fn run_quiet<T, F: FnOnce() -> T>(&self, f: F) -> T {
        let mut work = Work {
            run: Some(f),
            result: MaybeUninit::<T>::uninit(),
        };
        let here = (&raw const work) as u64;
        let data = (&raw mut work).cast::<c_void>();
        // SAFETY: the work lives until the call is over, which has then written its result. Nobody else uses the
        // stack, and it is not in use yet.
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
        for page in [page(), 64 << 10] {
            let own = OwnStack::behind(page);
            assert_eq!(own.top - own.low, BYTES as u64);
            // SAFETY: the lowest word of a stack that nobody uses.
            unsafe { (own.low as *mut u64).write_volatile(1) };
        }
    }

    /// The stack that the calling thread has for signal handlers.
    fn alternate() -> Option<libc::stack_t> {
        // SAFETY: a zeroed structure is filled by the call.
        unsafe {
            let mut now: libc::stack_t = std::mem::zeroed();
            (libc::sigaltstack(std::ptr::null(), &mut now) == 0).then_some(now)
        }
    }

    #[test]
    fn a_thread_has_it_for_signals_until_it_ends() {
        std::thread::spawn(|| {
            let at = || alternate().map(|s| (s.ss_sp as u64, s.ss_flags));
            // The standard library gives each thread one, which stays.
            let before = alternate().expect("a stack, or none");
            let own = OwnStack::mapped();
            own.lend();
            own.take_back();
            assert_eq!(at(), Some((before.ss_sp as u64, before.ss_flags)));
            set_alternate(own.low, libc::SS_DISABLE);
            own.lend();
            assert_eq!(at(), Some((own.low, 0)));
            own.take_back();
            assert_eq!(at().map(|s| s.1), Some(libc::SS_DISABLE));
        })
        .join()
        .expect("a thread that ends");
    }

    #[test]
    fn what_runs_there_has_its_own_stack_and_gives_its_result() {
        let own = OwnStack::mapped();
        let (outer, inner, inside) = own.run(|| {
            let inner = own.run(here);
            (here(), inner, String::from("whole"))
        });
        assert!((own.low..own.top).contains(&outer));
        assert!((own.low..outer).contains(&inner), "no new beginning");
        assert_eq!(inside, "whole");
        let thrown = std::panic::catch_unwind(|| own.run(|| std::panic::panic_any(7)));
        assert_eq!(
            thrown.err().and_then(|e| e.downcast().ok()),
            Some(Box::new(7))
        );
        let nowhere = OwnStack { low: 0, top: 0 };
        assert!(!(own.low..own.top).contains(&nowhere.run(here)));
    }
}
