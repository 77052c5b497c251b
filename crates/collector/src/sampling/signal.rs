//! The signal of our samples: its handler beside the program's own, and calls during which it is blocked.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A handler of signals, as the kernel calls it.
pub type Handler = unsafe extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

/// Our handler; 0 before it is known.
static HANDLER: AtomicUsize = AtomicUsize::new(0);
/// The program's handler for the signal that we use.
static BEFORE: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);
/// Whether our handler is in place.
static INSTALLED: AtomicBool = AtomicBool::new(false);

/// Our signal. Without a handler it is ignored, because it may come late: a sample that is due while the program
/// becomes another one by `exec` arrives in the new program. There our handler is gone, and most other signals would
/// end the program. It is no real-time signal, because those queue: while a program blocks its signals they pile up,
/// and at the limit the kernel sends `SIGIO` instead, which ends the program.
pub const SIGNAL: libc::c_int = libc::SIGURG;

/// Marks the signals of our timer.
pub fn marker() -> *mut libc::c_void {
    std::ptr::from_ref(&INSTALLED).cast_mut().cast()
}

/// Whether our handler is in place.
pub fn installed() -> bool {
    INSTALLED.load(Ordering::Relaxed)
}

/// Notes our handler, which [`install`] puts in place when the first thread is sampled.
pub fn prepare(handler: Handler) {
    HANDLER.store(handler as *const () as usize, Ordering::Release);
}

/// Puts our handler in place, once. The program's own handler, if it has one, gets the signals that are not ours.
pub fn install() {
    static ONCE: Once = Once::new();
    let handler = HANDLER.load(Ordering::Acquire);
    if handler != 0 {
        ONCE.call_once(|| put_in_place(handler));
    }
}

fn put_in_place(handler: usize) {
    // SAFETY: a zeroed action with our handler. The old handler is stored for signals that are not ours.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let mut before: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
        // A handler of the program that interrupts ours would find tables in use. All bits are set: `sigfillset`
        // leaves out the libc's own signals, and a cancellation must not unwind our handler either.
        std::ptr::from_mut(&mut action.sa_mask).write_bytes(0xff, 1);
        for fault in [
            libc::SIGSEGV,
            libc::SIGBUS,
            libc::SIGFPE,
            libc::SIGILL,
            libc::SIGTRAP,
        ] {
            libc::sigdelset(&mut action.sa_mask, fault);
        }
        if libc::sigaction(SIGNAL, &action, &mut before) == 0 {
            BEFORE.store(before.sa_sigaction, Ordering::Relaxed);
            INSTALLED.store(true, Ordering::Release);
        }
    }
}

/// The program calls `sigaction`. For our signal, we store the program's handler, and our handler calls it. Returns
/// `None` for other signals.
pub fn set_action(number: u64, new: u64, old: u64) -> Option<i64> {
    if number as libc::c_int != SIGNAL || !INSTALLED.load(Ordering::Acquire) {
        return None;
    }
    // SAFETY: null or the program's own structures, as the function is defined.
    unsafe {
        let (new, old) = (
            (new as *const libc::sigaction).as_ref(),
            (old as *mut libc::sigaction).as_mut(),
        );
        let handler = new.map(|n| n.sa_sigaction);
        if let Some(old) = old {
            *old = std::mem::zeroed();
            old.sa_sigaction = BEFORE.load(Ordering::Relaxed);
            old.sa_flags = libc::SA_SIGINFO;
        }
        if let Some(handler) = handler {
            BEFORE.store(handler, Ordering::Relaxed);
        }
    }
    Some(0)
}

/// The same for `signal`. Returns the previous handler.
pub fn set_handler(number: u64, new: u64) -> Option<i64> {
    if number as libc::c_int != SIGNAL || !INSTALLED.load(Ordering::Acquire) {
        return None;
    }
    Some(BEFORE.swap(new as usize, Ordering::Relaxed) as i64)
}

/// Whether a signal comes from a timer of ours.
///
/// # Safety
/// The information is of a signal that has just come.
pub unsafe fn from_a_timer(info: *mut libc::siginfo_t) -> bool {
    // SAFETY: the kernel's structure; what is read is there for this kind of signal.
    unsafe { (*info).si_code == libc::SI_TIMER && (*info).si_value().sival_ptr == marker() }
}

/// Calls the program's own handler for our signal, if it has one.
///
/// # Safety
/// The arguments are those of our handler.
pub unsafe fn pass_on(number: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let before = BEFORE.load(Ordering::Relaxed);
    if before == libc::SIG_DFL || before == libc::SIG_IGN {
        return;
    }
    // SAFETY: the program installed this handler for this signal; a one-argument handler ignores the rest.
    unsafe {
        let before: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
            std::mem::transmute(before);
        before(number, info, context);
    }
}

/// Blocks our signal as long as this lives. An exception or a cancellation also ends it.
pub struct SignalBlocked {
    before: libc::sigset_t,
}

impl SignalBlocked {
    /// From now on.
    pub fn new() -> Self {
        // SAFETY: sets of our own, filled by the calls.
        unsafe {
            let mut ours: libc::sigset_t = std::mem::zeroed();
            let mut before: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut ours);
            libc::sigaddset(&mut ours, SIGNAL);
            libc::pthread_sigmask(libc::SIG_BLOCK, &ours, &mut before);
            Self { before }
        }
    }
}

impl Drop for SignalBlocked {
    fn drop(&mut self) {
        // SAFETY: the set that was in force before. Only our signal is unblocked again, because a handler of the
        // program may have changed the others. `errno` stays.
        unsafe {
            if libc::sigismember(&self.before, SIGNAL) == 0 {
                let mut ours: libc::sigset_t = std::mem::zeroed();
                libc::sigemptyset(&mut ours);
                libc::sigaddset(&mut ours, SIGNAL);
                libc::pthread_sigmask(libc::SIG_UNBLOCK, &ours, std::ptr::null_mut());
            }
        }
    }
}
