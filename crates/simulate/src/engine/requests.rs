//! What operations end with, and the requests that wait for it.

use crate::outcome::Cause;

/// The place of a blocking operation's end, instead of a request's number.
pub(super) const OWN: u32 = u32::MAX;

/// Nobody asks when it ends: an eager send's end is known when it is posted.
pub(super) const NOBODY: u32 = u32::MAX - 1;

/// How an operation ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    /// When those came that are needed.
    pub since: f64,
    /// When the network is done.
    pub ready: f64,
    /// What the processor does then, seconds.
    pub overhead: f64,
    /// Who came last.
    pub cause: Cause,
    /// The way to `since`.
    pub path: u32,
    /// Whether `ready` follows from `since`, and not from what the waiting stream did itself.
    pub theirs: bool,
}

/// A request of a rank.
#[derive(Clone, Copy, Debug)]
pub(super) enum Slot {
    Free,
    /// Not complete; the stream that waits for it, or `None`.
    Active(Option<u32>),
    /// Not complete, and nobody will ask for it.
    Lost,
    Done(End),
}

/// Who learns that something has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub stream: u32,
    /// A request's number, or [`OWN`].
    pub request: u32,
}
