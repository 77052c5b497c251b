//! The wait of a call, counted once.
//!
//! A call that completes several messages and collectives waits for the last of them: its wait is the longest of
//! theirs. A call that waited for a sender or for a collective did not wait for a receiver as well, as in Scalasca.

use super::EdgeKey;
use headwater_model::run::CtxId;
use rustc_hash::FxHashMap;

/// A call: rank, thread and enter.
pub(super) type Call = (u32, u16, u64);

/// A collective on one rank: rank, call, function and communicator.
pub(super) type SiteKey = (u32, CtxId, u16, u16);

/// What a call waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum For {
    /// The sender of a message.
    Sender(EdgeKey),
    /// Those whom a collective needs. Of a reduction's root also the wait until the first of them came.
    Collective(SiteKey, u64),
    /// The receiver of a message.
    Receiver(EdgeKey),
}

impl For {
    fn is_receiver(self) -> bool {
        matches!(self, For::Receiver(_))
    }
}

/// The wait of each call, nanoseconds.
#[derive(Default)]
pub(super) struct Waits(FxHashMap<Call, (u64, For)>);

impl Waits {
    /// A call waited so long for something. Receivers count last, then the longest wait, then the smaller key.
    pub(super) fn take(&mut self, call: Call, wait: u64, of: For) {
        if wait == 0 {
            return;
        }
        let slot = self.0.entry(call).or_insert((wait, of));
        let better = match (of.is_receiver(), slot.1.is_receiver()) {
            (false, true) => true,
            (true, false) => false,
            _ => wait > slot.0 || wait == slot.0 && of < slot.1,
        };
        if better {
            *slot = (wait, of);
        }
    }

    /// What was waited, each call once; in no particular order.
    pub(super) fn all(self) -> impl Iterator<Item = (u64, For)> {
        self.0.into_values()
    }
}
