//! What one thread needs to decode its calls.

use crate::record::Link;

/// What calls of one thread need from their start to their end.
pub struct CallBuffers {
    /// Number of the thread.
    pub thread: u32,
    /// Links of the call in progress.
    pub links: Vec<Link>,
    /// Handles of its requests.
    pub(crate) handles: Vec<u64>,
    /// How many requests the process had made when the call began.
    pub(crate) made: u64,
    /// Statuses of our own, for calls in which the program wants none.
    pub(crate) statuses: Vec<u8>,
}

impl CallBuffers {
    /// No call yet, of the thread with this number; with room for so many links.
    pub fn new(thread: u32, links: usize) -> Self {
        Self {
            thread,
            links: Vec::with_capacity(links),
            handles: Vec::new(),
            made: 0,
            statuses: vec![0; 64],
        }
    }
}
