//! What all threads of the process share about its messages and requests.
//!
//! MPI defines which threads may call it at once. Below `MPI_THREAD_MULTIPLE`, no two threads are in MPI at the same
//! time, and the program orders their calls. So a lock is taken only at that level. It is never held while the
//! program is in the library: it covers the reading of the arguments before a call and after it. So two threads that
//! use one communicator, partner and tag at the same time may reach the library in another order than they were
//! numbered. MPI does not define either which of their messages is which.

use crate::roles::Messages;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The messages of the process; null before [`begin`].
static MESSAGES: AtomicPtr<Messages> = AtomicPtr::new(std::ptr::null_mut());

/// Whether threads may call MPI at the same time.
static THREADED: AtomicBool = AtomicBool::new(false);

static ALONE: Mutex<()> = Mutex::new(());

/// The messages; no other thread has them meanwhile.
pub struct Held {
    messages: &'static mut Messages,
    _alone: Option<MutexGuard<'static, ()>>,
}

impl Deref for Held {
    type Target = Messages;

    #[inline]
    fn deref(&self) -> &Messages {
        self.messages
    }
}

impl DerefMut for Held {
    #[inline]
    fn deref_mut(&mut self) -> &mut Messages {
        self.messages
    }
}

/// Begins with no messages; `threaded` says whether threads may call MPI at the same time. Called once.
pub fn begin(threaded: bool) {
    THREADED.store(threaded, Ordering::Relaxed);
    let none = Box::into_raw(Box::new(Messages::new()));
    MESSAGES.store(none, Ordering::Release);
}

/// Whether threads may call MPI at the same time.
#[inline]
pub fn is_threaded() -> bool {
    THREADED.load(Ordering::Relaxed)
}

/// The messages; `None` before [`begin`]. A thread that holds them must not ask for them again.
#[inline]
pub fn messages() -> Option<Held> {
    let at = MESSAGES.load(Ordering::Acquire);
    let alone = || ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let _alone = is_threaded().then(alone);
    // SAFETY: null or a leaked box, which only this thread uses: because of the lock, or because of what MPI demands
    // of a program that did not ask for more threads.
    let messages = unsafe { at.as_mut() }?;
    Some(Held { messages, _alone })
}
