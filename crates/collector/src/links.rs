//! What tells messages and their order apart: ids that are alike at both ends.
//!
//! Both ends count the messages of a stream (communicator, source, destination, tag) in the order in
//! which MPI matches them, senders at the start of the send, receivers when the receive is posted; a
//! wildcard receive is counted when it completes, with source and tag from its status (ScalAna, III-B2
//! and Figure 5).

use crate::comms::Comm;
use crate::roles::Messages;
use crate::table::mix2;
use crate::thread::{Link, Thread};
use headwater_model::run::EventKind;

/// This process's rank in the world.
pub fn me() -> u32 {
    crate::process::RANK.load(std::sync::atomic::Ordering::Relaxed)
}

/// A link without a posting call.
pub fn link(kind: EventKind, id: u64, peer: u32, bytes: u64) -> Link {
    Link {
        kind: kind as u8,
        id,
        peer,
        bytes,
        post_ctx: u32::MAX,
        post_ns: 0,
    }
}

/// The id of message number `n` of a stream, alike at both ends.
fn message_id(hash: u64, source: u32, dest: u32, tag: i32, n: u64) -> u64 {
    mix2(
        mix2(hash, u64::from(source) << 32 | u64::from(dest)),
        mix2(u64::from(tag as u32), n),
    ) | 1
}

fn stream(hash: u64, partner: u32, tag: i32, receives: bool) -> u64 {
    mix2(hash, u64::from(partner) << 32 | u64::from(tag as u32)) << 2 | u64::from(receives) << 1
}

/// Notes that this rank sends the next message of a stream.
pub fn send_link(
    t: &mut Thread,
    m: &mut Messages,
    comm: Option<&Comm>,
    dest: i32,
    tag: i32,
    bytes: u64,
) {
    let Some((comm, to)) = comm.and_then(|c| c.world(dest).map(|w| (c, w))) else {
        return;
    };
    let n = m.streams.next(stream(comm.hash, to, tag, false));
    t.links.push(link(
        EventKind::Send,
        message_id(comm.hash, me(), to, tag, n),
        to,
        bytes,
    ));
}

/// The id of the next message that this rank receives of a stream; 0 where the partner is no rank.
pub fn recv_id(m: &mut Messages, comm: Option<&Comm>, source: i32, tag: i32) -> u64 {
    let Some((comm, from)) = comm.and_then(|c| c.world(source).map(|w| (c, w))) else {
        return 0;
    };
    let n = m.streams.next(stream(comm.hash, from, tag, true));
    message_id(comm.hash, from, me(), tag, n)
}

/// Notes that a message has been received; `post` is context and clock of the posting call.
pub fn recv_link(
    t: &mut Thread,
    comm: Option<&Comm>,
    source: i32,
    id: u64,
    bytes: u64,
    post: (u32, u64),
) {
    let Some(from) = comm.and_then(|c| c.world(source)).filter(|_| id != 0) else {
        return;
    };
    let mut l = link(EventKind::Recv, id, from, bytes);
    (l.post_ctx, l.post_ns) = post;
    t.links.push(l);
}
