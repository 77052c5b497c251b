//! Numbers of contexts and communicators: each rank and thread has its own, a run has one of each.

use headwater_model::run::CtxId;

/// What rows of one rank and thread are renumbered by.
pub(super) struct Renumber {
    pub rank: u32,
    pub thread: u16,
    pub contexts: Vec<CtxId>,
    pub comms: Vec<u16>,
}

impl Renumber {
    pub(super) fn ctx(&self, row: u32) -> CtxId {
        self.contexts
            .get(row as usize)
            .copied()
            .unwrap_or(CtxId::NONE)
    }

    pub(super) fn comm(&self, row: u16) -> u16 {
        self.comms.get(row as usize).copied().unwrap_or(u16::MAX)
    }
}
