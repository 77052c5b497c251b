//! Partitioned messages: two requests that are started again and again send and receive each message part by part.
//! Such a pair is a channel.
//!
//! MPI joins the two requests of a channel in the order in which they are made, separately from other messages. So
//! channels are numbered on streams of their own, and the messages of a channel by how often it was started. A
//! message is sent when the last of its parts is ready, whichever thread reports that: until then its receiver has to
//! wait.

use crate::buffers::CallBuffers;
use crate::decoder::Decoder;
use crate::message_ids::channel_id;
use crate::messages::Messages;
use crate::record::{Link, NO_PARAMS, Params, Post};
use crate::requests::{Request, Work};
use headwater_model::hash::mix2;
use headwater_model::run::EventKind;
use headwater_mpi_abi::Role;
use rustc_hash::FxHashMap;

/// Channels by the handles of their requests. Parts may be reported ready very often, so one channel of thousands
/// must be found at once.
pub type Channels = FxHashMap<u64, Channel>;

/// One end of a channel.
pub struct Channel {
    /// The same at both ends; 0 if it is not known.
    id: u64,
    /// How often it was started.
    started: u64,
    /// Parts of a message, as this end divides it.
    parts: u64,
    /// How many of them are ready.
    ready: u64,
}

impl Decoder<'_> {
    /// The partner of a channel that is being made, and whether this end sends.
    fn ends(&self) -> (i32, bool) {
        let int = |role| self.shape.at(role).map(|at| self.args.int(at));
        match int(Role::Dest) {
            Some(to) => (to, true),
            None => (int(Role::Source).unwrap_or(self.abi().proc_null), false),
        }
    }

    fn parts(&self) -> u64 {
        let at = self.shape.at(Role::Parts);
        at.map_or(0, |at| self.args.int(at).max(0) as u64)
    }

    /// Before a channel is made: the parameters that the call is counted by.
    pub fn channel_params(&self, m: &mut Messages) -> Params {
        let tag = self.shape.at(Role::Tag).map_or(0, |at| self.args.int(at));
        let bytes = self.bytes(m, Role::Count, Role::Type) * self.parts();
        self.params(self.comm().1, self.ends().0, tag, bytes)
    }

    /// A channel has been made.
    pub fn channel_made(
        &self,
        buffers: &CallBuffers,
        call: &Post,
        params: &Params,
        m: &mut Messages,
    ) {
        let Some(at) = self.shape.at(Role::Req) else {
            return;
        };
        let handle = self.args.handle_at(at, 0, &self.mpi.library.request);
        let (comm_handle, comm) = self.comm();
        let (peer, sends) = self.ends();
        let id = channel_id(m, comm, peer, params.tag, sends);
        if m.channels.try_reserve(1).is_err() {
            self.mpi.host.stop();
            return;
        }
        let channel = Channel {
            id,
            started: 0,
            parts: self.parts(),
            ready: 0,
        };
        m.channels.insert(handle, channel);
        m.requests.insert(Request {
            made: 0,
            thread: buffers.thread,
            handle,
            work: if sends { Work::Send } else { Work::Recv },
            persistent: true,
            active: false,
            cancelled: false,
            comm: comm_handle,
            made_by: (call.func, params.comm),
            peer,
            tag: params.tag,
            bytes: params.bytes,
            id: 0,
            root: u32::MAX,
            post: (u32::MAX, 0),
        });
    }

    /// The request that the call is about, and the parameters that the call is counted by.
    fn of_channel(&self, m: &mut Messages) -> Option<(Request, Params)> {
        let at = self.shape.at(Role::Given)?;
        let handle = self.args.handle(at, &self.mpi.library.request);
        let request = m.requests.get(handle).copied()?;
        let params = self.params(
            self.mpi.comms.find(request.comm),
            request.peer,
            request.tag,
            0,
        );
        Some((request, params))
    }

    /// Before parts of a message are reported ready; with the last one, the message is sent.
    pub fn ready(&self, buffers: &mut CallBuffers, m: &mut Messages) -> Params {
        let Some((request, params)) = self.of_channel(m) else {
            return NO_PARAMS;
        };
        let int = |role| self.shape.at(role).map(|at| i64::from(self.args.int(at)));
        let parts = match (int(Role::N), int(Role::Low).zip(int(Role::High))) {
            (Some(n), _) => n,
            (None, Some((low, high))) => high - low + 1,
            _ => 1,
        };
        if let Some(channel) = m.channels.get_mut(&request.handle) {
            let before = channel.ready;
            channel.ready += parts.max(0) as u64;
            let is_whole = before < channel.parts && channel.ready >= channel.parts;
            let to = self
                .mpi
                .comms
                .find(request.comm)
                .and_then(|c| c.world(request.peer));
            if let Some(to) = to.filter(|_| is_whole && request.id != 0) {
                buffers
                    .links
                    .push(Link::new(EventKind::Send, request.id, to, request.bytes));
            }
        }
        params
    }

    /// Before the program asks for a part of a message.
    pub fn arrived(&self, m: &mut Messages) -> Params {
        self.of_channel(m).map_or(NO_PARAMS, |(_, params)| params)
    }
}

/// Starts the channel of a request. Returns the id of its message, 0 if that is not known; `None` if the request is
/// not part of a channel.
pub fn start(m: &mut Messages, handle: u64) -> Option<u64> {
    let channel = m.channels.get_mut(&handle)?;
    (channel.started, channel.ready) = (channel.started + 1, 0);
    Some(match channel.id {
        0 => 0,
        id => mix2(id, channel.started) | 1,
    })
}
