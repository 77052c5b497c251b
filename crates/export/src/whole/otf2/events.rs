//! The records of events.

use super::bytes::{number, number32, record};
use headwater_simulate::Kind;

/// Numbers of records.
mod kind {
    pub const ENTER: u8 = 12;
    pub const LEAVE: u8 = 13;
    pub const SEND: u8 = 14;
    pub const ISEND: u8 = 15;
    pub const ISEND_COMPLETE: u8 = 16;
    pub const IRECV_REQUEST: u8 = 17;
    pub const RECV: u8 = 18;
    pub const IRECV: u8 = 19;
    pub const COLLECTIVE_BEGIN: u8 = 22;
    pub const COLLECTIVE_END: u8 = 23;
    pub const PROGRAM_BEGIN: u8 = 83;
    pub const COLLECTIVE_REQUEST: u8 = 85;
    pub const COLLECTIVE_COMPLETE: u8 = 86;
}

/// One end of a message.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// The partner's rank in the communicator.
    pub partner: u32,
    /// Number of the communicator.
    pub comm: u32,
    /// Tag.
    pub tag: i32,
    /// Bytes.
    pub bytes: u64,
}

/// A rank's part in a collective.
#[derive(Clone, Copy, Debug)]
pub struct Collective {
    /// OTF2's number of the operation.
    pub operation: u8,
    /// Number of the communicator.
    pub comm: u32,
    /// The root's rank in it.
    pub root: Option<u32>,
    /// Bytes that the rank sends.
    pub sent: u64,
    /// Bytes that the rank receives.
    pub received: u64,
}

/// An event. Requests are numbers that the rank uses once.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// The program begins; the number of its name.
    Program(u32),
    /// A region is entered.
    Enter(u32),
    /// A region is left.
    Leave(u32),
    /// A message is sent; with a request where that is completed later.
    Send(Message, Option<u64>),
    /// A nonblocking send is completed.
    SendDone(u64),
    /// A nonblocking receive is posted.
    Post(u64),
    /// A message is received; with the request of the nonblocking receive.
    Receive(Message, Option<u64>),
    /// A blocking collective begins.
    CollectiveBegin,
    /// A nonblocking collective begins.
    CollectivePost(u64),
    /// A collective ends; with the request of a nonblocking one.
    CollectiveEnd(Collective, Option<u64>),
}

impl Event {
    /// Appends its record.
    pub fn write(self, out: &mut Vec<u8>) {
        let mut data = Vec::new();
        let request = |data: &mut Vec<u8>, request: Option<u64>| {
            if let Some(request) = request {
                number(data, request);
            }
        };
        let alone = |out: &mut Vec<u8>, kind: u8, value: u64| {
            out.push(kind);
            number(out, value);
        };
        match self {
            Self::Program(name) => {
                number32(&mut data, name);
                // Without arguments.
                number32(&mut data, 0);
                record(out, kind::PROGRAM_BEGIN, &data);
            }
            Self::Enter(region) => alone(out, kind::ENTER, u64::from(region)),
            Self::Leave(region) => alone(out, kind::LEAVE, u64::from(region)),
            Self::SendDone(request) => alone(out, kind::ISEND_COMPLETE, request),
            Self::Post(request) => alone(out, kind::IRECV_REQUEST, request),
            Self::Send(message, of) => {
                message.write(&mut data);
                request(&mut data, of);
                let kind = of.map_or(kind::SEND, |_| kind::ISEND);
                record(out, kind, &data);
            }
            Self::Receive(message, of) => {
                message.write(&mut data);
                request(&mut data, of);
                let kind = of.map_or(kind::RECV, |_| kind::IRECV);
                record(out, kind, &data);
            }
            Self::CollectiveBegin => record(out, kind::COLLECTIVE_BEGIN, &[]),
            Self::CollectivePost(of) => {
                number(&mut data, of);
                record(out, kind::COLLECTIVE_REQUEST, &data);
            }
            Self::CollectiveEnd(c, of) => {
                data.push(c.operation);
                number32(&mut data, c.comm);
                number32(&mut data, c.root.unwrap_or(u32::MAX));
                number(&mut data, c.sent);
                number(&mut data, c.received);
                request(&mut data, of);
                let kind = of.map_or(kind::COLLECTIVE_END, |_| kind::COLLECTIVE_COMPLETE);
                record(out, kind, &data);
            }
        }
    }
}

impl Message {
    fn write(self, data: &mut Vec<u8>) {
        number32(data, self.partner);
        number32(data, self.comm);
        number32(data, self.tag.max(0) as u32);
        number(data, self.bytes);
    }
}

/// OTF2's number of a collective, by the name of its function; of those that are not in the list, by what it does.
pub fn operation(function: &str, kind: Kind) -> u8 {
    const NAMES: [(&str, u8); 16] = [
        ("barrier", 0),
        ("bcast", 1),
        ("allgatherv", 7),
        ("allgather", 6),
        ("gatherv", 3),
        ("gather", 2),
        ("reduce_scatter_block", 16),
        ("reduce_scatter", 13),
        ("scatterv", 5),
        ("scatter", 4),
        ("alltoallv", 9),
        ("alltoallw", 10),
        ("alltoall", 8),
        ("allreduce", 11),
        ("exscan", 15),
        ("scan", 14),
    ];
    let name = function.to_ascii_lowercase();
    let known = NAMES.iter().find(|(word, _)| name.contains(word));
    known.map_or_else(
        || match (kind, name.contains("comm_") || name.contains("cart")) {
            (Kind::Reduce, _) => 12,
            // Makes a handle.
            (_, true) => 17,
            _ => 0,
        },
        |(_, number)| *number,
    )
}

/// Bytes that a member sends and receives in a collective of so many members.
pub fn volume(kind: Kind, bytes: u64, members: u64, is_root: bool) -> (u64, u64) {
    let all = bytes.saturating_mul(members);
    let at_root = |n: u64| if is_root { n } else { 0 };
    match kind {
        Kind::Barrier => (0, 0),
        Kind::AllReduce | Kind::Scan => (bytes, bytes),
        Kind::AllGather => (bytes, all),
        Kind::AllToAll => (all, all),
        Kind::ReduceScatter => (bytes, bytes / members.max(1)),
        Kind::Broadcast => (at_root(bytes), bytes),
        Kind::Scatter => (at_root(all), bytes),
        Kind::Reduce => (bytes, at_root(bytes)),
        Kind::Gather => (bytes, at_root(all)),
    }
}
