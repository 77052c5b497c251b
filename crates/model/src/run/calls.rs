//! Calls of MPI: their totals, who waited for whom, and events in windows.

use super::CtxId;
use crate::rank::Rank;
use serde::{Deserialize, Serialize};

/// MPI calls that share context and parameters (ScalAna's graph-guided compression).
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct MpiCalls {
    /// Calling rank.
    pub rank: Rank,
    /// Thread within the rank.
    pub thread: u16,
    /// Calling context of the call: call site and call path.
    pub ctx: CtxId,
    /// Index into [`super::Run::functions`].
    pub func: u16,
    /// Index into [`super::Run::comms`]; `u16::MAX` where the call has no communicator.
    pub comm: u16,
    /// Partner rank minus own rank, both in world ranks; see [`peer`] for the special values.
    pub peer: i32,
    /// Message tag; see [`tag`] for the special values.
    pub tag: i32,
    /// Size class: number of bits of the message's byte count (0 for an empty message).
    pub size_class: u8,
    /// Calls.
    pub count: u64,
    /// Bytes sent or received by this rank in those calls.
    pub bytes: u64,
    /// Wall time inside the calls.
    pub wall_ns: u64,
    /// CPU time inside the calls.
    pub cpu_ns: u64,
    /// Part of the wall time spent ready to run but without a core.
    pub runq_ns: u64,
    /// Longest single call, wall time.
    pub max_wall_ns: u64,
}

/// Special values of [`MpiCalls::peer`].
pub mod peer {
    /// The call has no partner (a wait, a collective without root …).
    pub const NONE: i32 = i32::MIN;
    /// `MPI_PROC_NULL`.
    pub const PROC_NULL: i32 = i32::MIN + 1;
    /// Any source, before the source is known.
    pub const ANY: i32 = i32::MIN + 2;
    /// A partner whose world rank could not be found.
    pub const UNKNOWN: i32 = i32::MIN + 3;
}

/// Special values of [`MpiCalls::tag`]; MPI's own tags are not negative, except that for any tag.
pub mod tag {
    /// The call has no tag.
    pub const NONE: i32 = i32::MIN;
    /// Several tags: the program had too many to count each separately.
    pub const MANY: i32 = i32::MIN + 1;
}

/// Messages between the same two places, from those that both ends sampled.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct MessageEdge {
    /// Sending rank.
    pub src: Rank,
    /// Receiving rank.
    pub dst: Rank,
    /// Context of the sending call.
    pub send_ctx: CtxId,
    /// Context of the call that completed a nonblocking send, in which its rank waits for the receiver; [`CtxId::NONE`]
    /// for a blocking send, and if the completion was not seen.
    pub done_ctx: CtxId,
    /// Context of the call that posted the receive.
    pub post_ctx: CtxId,
    /// Context of the call that completed the receive.
    pub recv_ctx: CtxId,
    /// Messages sampled.
    pub sampled: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Time that the receiver waited for a sender that had not started to send (FACTS "late sender").
    pub late_sender_ns: u64,
    /// Messages among them with such a wait.
    pub late_senders: u64,
    /// Time that the sender waited for a receiver that had not posted its receive.
    pub late_receiver_ns: u64,
}

/// Waiting in sampled instances of a collective, seen from one rank and call site.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct CollectiveWait {
    /// Rank that called.
    pub rank: Rank,
    /// Call site; for a nonblocking collective, that of the call that completes it, where ranks wait.
    pub ctx: CtxId,
    /// Index into [`super::Run::functions`]; for a nonblocking collective, the function that posts it.
    pub func: u16,
    /// Index into [`super::Run::comms`].
    pub comm: u16,
    /// Instances sampled on all ranks of the communicator.
    pub sampled: u64,
    /// Time from this rank's arrival to the last arrival of the ranks whose data it needs: all, the root, the others
    /// for a root, or the lower ranks of a scan. A rank arrives at a nonblocking collective when it posts it; this rank
    /// waits from the call that completes it.
    pub wait_ns: u64,
    /// The part of a root's wait until the first of the ranks arrived whose data it needs (Scalasca's "early reduce");
    /// missing if one rank does not need the data of all others, and in older runs.
    pub first_ns: Option<u64>,
    /// Instances in which this rank arrived last.
    pub last: u64,
    /// Time from the last arrival until this rank leaves, within the call that completes it.
    pub after_last_ns: u64,
}

/// What an event did to the order of ranks.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[repr(u8)]
pub enum EventKind {
    /// An MPI call without a partner.
    #[default]
    Local = 0,
    /// The start of a send; `link` is the message.
    Send = 1,
    /// The completion of a receive; `link` is the message.
    Recv = 2,
    /// A collective, or the completion of a nonblocking one; `link` is the instance.
    Collective = 3,
    /// The completion of a nonblocking send; `link` is the message. Windows do not contain it: in a replay, sends do
    /// not wait.
    SendDone = 4,
    /// The posting of a nonblocking receive; `link` is the message.
    RecvPost = 5,
    /// The posting of a nonblocking collective; `link` is the instance, which another call completes.
    CollectivePost = 6,
}

impl EventKind {
    /// Whether another call completes it.
    pub fn is_posting(self) -> bool {
        matches!(self, EventKind::RecvPost | EventKind::CollectivePost)
    }

    /// The kind stored as `code`.
    pub fn from_code(code: u8) -> Option<Self> {
        use EventKind::*;
        [
            Local,
            Send,
            Recv,
            Collective,
            SendDone,
            RecvPost,
            CollectivePost,
        ]
        .into_iter()
        .find(|k| *k as u8 == code)
    }
}

/// One MPI event inside a window. All ranks record the same windows, so that a window can be replayed with every
/// message at both ends. A call that completes several messages has one row for each; in rows after the first,
/// `first_of_call` is false and there is no time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Hash)]
pub struct Event {
    /// Number of the window.
    pub window: u32,
    /// Rank.
    pub rank: Rank,
    /// Thread within the rank.
    pub thread: u16,
    /// Call site.
    pub ctx: CtxId,
    /// Index into [`super::Run::functions`].
    pub func: u16,
    /// What it did.
    pub kind: EventKind,
    /// Whether this is the first row of its call.
    pub first_of_call: bool,
    /// Message or collective instance within the window, dense; 0 for none.
    pub link: u32,
    /// Partner's world rank, or root; `u32::MAX` for none.
    pub peer: u32,
    /// Bytes of the message.
    pub bytes: u64,
    /// CPU time plus time asleep since the previous MPI call of this thread.
    pub busy_ns: u64,
    /// Start of the call on the run's common clock, from the window's begin; for a window that begins with the run,
    /// from its earliest event.
    pub enter_ns: u64,
    /// Duration of the call, wall time.
    pub mpi_ns: u64,
}
