//! What decoding asks of the process that it runs in.

use crate::args::Args;

/// The host of decoded calls: for the collector, the process that is being recorded. Everything here is rare.
pub trait Host: Sync {
    /// Whether the system has so many bytes of memory at the moment.
    fn has_room(&self, bytes: usize) -> bool;

    /// There is no memory: nothing more is to be recorded.
    fn stop(&self);

    /// Something could not be known; says so to the user, each sentence once.
    fn say(&self, sentence: &str);

    /// A communicator, or what is treated as one, of so many members was made. Returns the number that calls on it are
    /// counted under, which may be `known`, that of an earlier one of the same members; `None` if there is no room.
    fn add_comm(&self, hash: u64, size: u32, known: Option<u16>) -> Option<u16>;

    /// The group of all processes, as a handle, for the caller to free; `None` if the library has none.
    fn everybody(&self) -> Option<u64>;

    /// The call with these arguments has opened a session.
    fn session_opened(&self, args: &Args);
}
