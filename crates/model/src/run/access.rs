//! Kinds of recorded events beside [`EventKind`](super::EventKind): calls that may wait for the lock of a target of an RMA
//! window. Their peer is the target's rank, or [`ALL`]. The reader makes messages of those that waited.

/// The lock is asked for; `bytes` is 1 for an exclusive one.
pub const LOCK: u8 = 16;
/// What was asked of the target is waited for.
pub const FLUSH: u8 = 17;
/// The lock is given back.
pub const UNLOCK: u8 = 18;
/// In place of a target.
pub const ALL: u32 = u32::MAX;
