//! What all threads of the process know together of its messages and requests.
//!
//! MPI says how far threads may come together: below `MPI_THREAD_MULTIPLE` no two are in MPI at the same
//! time, and the program orders their calls, so only there is a lock taken. It is never held while the
//! program is in the library: it covers what is read of the arguments before a call and after it. So two
//! threads that use one communicator, partner and tag at the same time may come to the library in another
//! order than they were numbered: which of their messages is which MPI does not say either.

use crate::roles::Messages;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The messages of the process; null before [`begin`].
static MESSAGES: AtomicPtr<Messages> = AtomicPtr::new(std::ptr::null_mut());

/// Whether threads may call MPI at the same time.
static THREADED: AtomicBool = AtomicBool::new(false);

static ALONE: Mutex<()> = Mutex::new(());

/// The messages, of no other thread meanwhile.
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

/// The messages; `None` before [`begin`]. Who holds them must not ask for them again.
#[inline]
pub fn messages() -> Option<Held> {
    let at = MESSAGES.load(Ordering::Acquire);
    let alone = || ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let _alone = is_threaded().then(alone);
    // SAFETY: null or a leaked box, which only this thread uses: by the lock, or by what MPI demands of a
    // program that did not ask for more threads.
    let messages = unsafe { at.as_mut() }?;
    Some(Held { messages, _alone })
}
