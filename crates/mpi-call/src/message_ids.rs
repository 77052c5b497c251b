//! Identifies messages and their order by ids that are the same at both ends.
//!
//! Both ends count the messages of a stream (communicator, source, destination, tag) in the order in which MPI
//! matches them. A sender counts a message at the start of the send, a receiver when it posts the receive. A wildcard
//! receive is counted when it completes, with source and tag from its status (ScalAna, III-B2 and Figure 5).

use crate::buffers::CallBuffers;
use crate::comms::Comm;
use crate::messages::Messages;
use crate::record::Link;
use headwater_model::hash::mix2;
use headwater_model::run::EventKind;

/// The id of message number `n` of a stream, the same at both ends.
fn message_id(hash: u64, source: u32, dest: u32, tag: i32, n: u64) -> u64 {
    mix2(
        mix2(hash, u64::from(source) << 32 | u64::from(dest)),
        mix2(u64::from(tag as u32), n),
    ) | 1
}

fn stream(hash: u64, partner: u32, tag: i32, receives: bool) -> u64 {
    mix2(hash, u64::from(partner) << 32 | u64::from(tag as u32)) << 2 | u64::from(receives) << 1
}

/// The next number of a stream; 0 if it is not known, or if there are too many streams.
fn next(m: &mut Messages, stream: u64) -> u64 {
    let n = m.streams.next(stream);
    if n == 0 && m.streams.full && !m.said_streams_are_full {
        m.said_streams_are_full = true;
        m.host.say(
                "Messages of more than 65536 pairs of partner and tag in a process: the ends of later ones were not joined.",
            );
    }
    n
}

/// Records that this rank sends the next message of a stream. Returns its id; 0 if it is not known.
pub fn send_link(
    buffers: &mut CallBuffers,
    m: &mut Messages,
    comm: Option<&Comm>,
    dest: i32,
    tag: i32,
    bytes: u64,
) -> u64 {
    let known = comm.filter(|_| !m.sends_lost);
    let Some((comm, to)) = known.and_then(|c| c.world(dest).map(|w| (c, w))) else {
        return 0;
    };
    let n = next(m, stream(comm.hash, to, tag, false));
    if n == 0 {
        return 0;
    }
    let id = message_id(comm.hash, m.rank, to, tag, n);
    buffers
        .links
        .push(Link::new(EventKind::Send, id, to, bytes));
    id
}

/// Mixed with the hash of a communicator for the hash of its channels.
const CHANNELS: u64 = 0x6368_616e;

/// The id of the next channel to or from a partner; 0 if it is not known.
pub fn channel_id(m: &mut Messages, comm: Option<&Comm>, rank: i32, tag: i32, sends: bool) -> u64 {
    let Some((comm, partner)) = comm.and_then(|c| c.world(rank).map(|w| (c, w))) else {
        return 0;
    };
    let hash = mix2(comm.hash, CHANNELS);
    let (from, to) = if sends {
        (m.rank, partner)
    } else {
        (partner, m.rank)
    };
    match next(m, stream(hash, partner, tag, !sends)) {
        0 => 0,
        n => message_id(hash, from, to, tag, n),
    }
}

/// The id of the next message of a stream that this rank receives; 0 if it is not known.
pub fn recv_id(m: &mut Messages, comm: Option<&Comm>, source: i32, tag: i32) -> u64 {
    let known = comm.filter(|_| !m.receives_lost);
    let Some((comm, from)) = known.and_then(|c| c.world(source).map(|w| (c, w))) else {
        return 0;
    };
    match next(m, stream(comm.hash, from, tag, true)) {
        0 => 0,
        n => message_id(comm.hash, from, m.rank, tag, n),
    }
}

/// The receive of message `id` was cancelled.
#[cold]
pub fn call_off(m: &mut Messages, comm: Option<&Comm>, source: i32, tag: i32, id: u64) {
    if let Some((comm, from)) = comm.and_then(|c| c.world(source).map(|w| (c, w))) {
        let is_last = |n| message_id(comm.hash, from, m.rank, tag, n) == id;
        m.streams
            .take_back(stream(comm.hash, from, tag, true), is_last);
    }
}

/// Whether the ids of the messages of a stream that this rank receives are no longer valid.
#[inline]
pub fn lost(m: &mut Messages, comm: Option<&Comm>, source: i32, tag: i32) -> bool {
    m.receives_lost
        || comm
            .and_then(|c| c.world(source).map(|w| (c, w)))
            .is_some_and(|(c, from)| m.streams.lost(stream(c.hash, from, tag, true)))
}

/// A message was received, and its stream cannot be known. From now on, the ids of received messages are unknown.
#[cold]
pub fn unknown_from_now_on(m: &mut Messages) {
    m.receives_lost = true;
    if !m.said_senders_are_unknown {
        m.said_senders_are_unknown = true;
        m.host.say(
            "MPI_Isendrecv received from any source, and MPI libraries do not say which rank sent: messages received later were not joined with their sends.",
        );
    }
}

/// Records that a message has been received; `post` is context and clock of the posting call.
pub fn recv_link(
    buffers: &mut CallBuffers,
    comm: Option<&Comm>,
    source: i32,
    id: u64,
    bytes: u64,
    post: (u32, u64),
) {
    let Some(from) = comm.and_then(|c| c.world(source)).filter(|_| id != 0) else {
        return;
    };
    let mut l = Link::new(EventKind::Recv, id, from, bytes);
    (l.post_ctx, l.post_ns) = post;
    buffers.links.push(l);
}

/// The id of the next instance of a collective on a communicator.
pub fn collective_id(comm: &Comm) -> u64 {
    mix2(comm.hash ^ 0x5bd1_e995, comm.next_collective()) | 1
}

/// Records for event windows that this rank has reached a nonblocking collective. Does nothing if `id` is 0: then the
/// collective is not known, or its request is made but not started.
pub fn collective_posted(buffers: &mut CallBuffers, id: u64, root: u32, bytes: u64) {
    if id != 0 {
        buffers
            .links
            .push(Link::new(EventKind::CollectivePost, id, root, bytes));
    }
}
