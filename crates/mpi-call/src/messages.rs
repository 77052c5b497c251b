//! What the process knows about its messages.
//!
//! MPI defines which threads may call it at once. Below `MPI_THREAD_MULTIPLE`, no two threads are in MPI at the same
//! time, and the program orders their calls. So a lock is taken only at that level. It is never held while the
//! program is in the library: it covers the reading of the arguments before a call and after it. So two threads that
//! use one communicator, partner and tag at the same time may reach the library in another order than they were
//! numbered. MPI does not define either which of their messages is which.

use crate::channels::Channels;
use crate::epochs::Epoch;
use crate::host::Host;
use crate::requests::{Requests, Streams};
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What the process knows about its messages. Its threads share it: one thread may wait for a request that another
/// one has posted, and MPI numbers the messages of all threads together.
pub struct Messages {
    /// This process's rank in the world.
    pub rank: u32,
    /// Requests, active and inactive.
    pub requests: Requests,
    /// Numbers of messages.
    pub streams: Streams,
    /// Whether the numbers of received messages are no longer valid.
    pub receives_lost: bool,
    /// The same for sent messages.
    pub sends_lost: bool,
    /// Whether it was said that senders of some messages are unknown.
    pub said_senders_are_unknown: bool,
    /// Whether it was said that there are too many streams to number their messages.
    pub said_streams_are_full: bool,
    /// Epochs of one-sided communication under way.
    pub epochs: Vec<Epoch>,
    /// Channels of partitioned messages.
    pub channels: Channels,
    /// Handles and sizes of datatypes; `u64::MAX` is no handle.
    pub types: [(u64, u64); 64],
    /// The process, which says what cannot be known.
    pub host: &'static dyn Host,
}

impl Messages {
    /// Nothing sent or received by this rank of the world; `threaded` says whether threads may call MPI at the same
    /// time.
    pub fn new(rank: u32, threaded: bool, host: &'static dyn Host) -> Self {
        Self {
            rank,
            requests: Requests::new(threaded, host),
            streams: Streams::new(host),
            receives_lost: false,
            sends_lost: false,
            said_senders_are_unknown: false,
            said_streams_are_full: false,
            epochs: Vec::new(),
            channels: Channels::default(),
            types: [(u64::MAX, 0); 64],
            host,
        }
    }
}

/// What the threads of a process share, such as its messages, for one thread at a time.
pub struct Shared<T> {
    messages: UnsafeCell<T>,
    /// Whether threads may call MPI at the same time.
    threaded: bool,
    alone: Mutex<()>,
}

// SAFETY: `lock` gives the messages to one thread at a time.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// These messages; `threaded` says whether threads may call MPI at the same time.
    pub fn new(messages: T, threaded: bool) -> Self {
        Self {
            messages: UnsafeCell::new(messages),
            threaded,
            alone: Mutex::new(()),
        }
    }

    /// The messages, for this thread alone. A thread that holds them must not ask for them again.
    #[inline]
    pub fn lock(&self) -> Exclusive<'_, T> {
        let alone = || self.alone.lock().unwrap_or_else(PoisonError::into_inner);
        let _alone = self.threaded.then(alone);
        // SAFETY: only this thread uses them: because of the lock, or because of what MPI demands of a program that
        // did not ask for more threads.
        let messages = unsafe { &mut *self.messages.get() };
        Exclusive { messages, _alone }
    }
}

/// The messages; no other thread has them meanwhile.
pub struct Exclusive<'a, T> {
    messages: &'a mut T,
    _alone: Option<MutexGuard<'a, ()>>,
}

impl<T> Deref for Exclusive<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.messages
    }
}

impl<T> DerefMut for Exclusive<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.messages
    }
}
