//! The ends of messages and collectives, as a trace says them of a thread's call.

use crate::calls::{Link, Params, Request};
use crate::comms::Comms;
use crate::links::messages;
use crate::thread::{Shared, Thread};
use crate::volume::{Rule, counted};
use headwater_model::run::{EventKind, peer, tag};
use headwater_mpi_abi::{self as abi, Class};

/// One end of a message, or a part in a collective, as a trace records it.
#[derive(Clone, Copy, Debug, Default)]
pub struct TracedMessage {
    /// The communicator.
    pub comm: u16,
    /// Rank of the partner or root in it; `u32::MAX` for none.
    pub partner: u32,
    /// Tag.
    pub tag: u32,
    /// Bytes of a message.
    pub bytes: u64,
    /// Bytes sent and received in a collective.
    pub volume: (u64, u64),
    /// Request, of what is not blocking.
    pub request: Option<u64>,
    /// When it was found by a probe that took it.
    pub taken_ns: Option<u64>,
}

/// What a rank knows of messages.
#[derive(Clone, Copy)]
pub struct Ends<'a> {
    /// Communicators.
    pub comms: &'a Comms,
    /// The rank.
    pub me: u32,
    /// How the trace counts the bytes of collectives.
    pub rule: Rule,
}

impl Ends<'_> {
    fn partner(&self, message: &TracedMessage) -> Option<(u64, u32)> {
        let comm = self.comms.get(message.comm)?;
        Some((comm.hash, comm.world(self.me, message.partner)?))
    }

    fn params(&self, message: &TracedMessage) -> Params {
        let partner = self.partner(message);
        Params {
            comm: message.comm,
            peer: partner.map_or(peer::UNKNOWN, |(_, p)| p as i32 - self.me as i32),
            tag: i32::try_from(message.tag).unwrap_or(tag::NONE),
            bytes: message.bytes,
        }
    }

    /// A message is sent.
    pub fn send(&self, thread: &mut Thread, shared: &mut Shared<'_>, message: TracedMessage) {
        let params = self.params(&message);
        let Some(call) = thread.call() else { return };
        (call.params, call.posts_alone) = (params, None);
        let Some((comm, to)) = self.partner(&message) else {
            return;
        };
        let ix = shared.links.post(call.enter_ns);
        shared
            .links
            .completed(ix, messages(comm, self.me, to, message.tag));
        let post = call.post();
        call.links.push(Link {
            kind: EventKind::Send,
            ix,
            peer: to,
            bytes: message.bytes,
            post: None,
            comm: message.comm,
        });
        if let Some(request) = message.request {
            let of = Request {
                ix,
                post,
                sent: Some((to, message.bytes)),
                uncounted_ns: None,
            };
            thread.requests.insert(request, of);
        }
    }

    /// A nonblocking send is completed.
    pub fn send_done(&self, thread: &mut Thread, request: u64) {
        let Some(of) = thread.requests.remove(&request) else {
            return;
        };
        let Some((to, bytes)) = of.sent else { return };
        thread.link(Link {
            kind: EventKind::SendDone,
            ix: of.ix,
            peer: to,
            bytes,
            post: Some(of.post),
            comm: u16::MAX,
        });
    }

    /// A receive, or a collective that is completed later, is posted.
    pub fn post(&self, thread: &mut Thread, shared: &mut Shared<'_>, request: u64, receives: bool) {
        let Some(call) = thread.call() else { return };
        let ix = shared.links.post(call.enter_ns);
        let of = Request {
            ix,
            post: call.post(),
            sent: None,
            uncounted_ns: None,
        };
        let first = call.links.is_empty();
        call.posts_alone = (first || !receives).then_some(request);
        call.links.push(Link {
            kind: if receives {
                EventKind::RecvPost
            } else {
                EventKind::CollectivePost
            },
            ix,
            peer: u32::MAX,
            bytes: 0,
            post: None,
            comm: u16::MAX,
        });
        if let Some(Some(wall)) = thread.requests.insert(request, of).map(|r| r.uncounted_ns) {
            // A number that is used again, of a request whose end the trace does not have.
            thread.count(of.post.ctx, of.post.func, Params::default(), wall);
        }
    }

    /// A request is called off.
    pub fn cancelled(&self, thread: &mut Thread, request: u64) {
        if let Some(of) = thread.requests.remove(&request)
            && let Some(wall) = of.uncounted_ns
        {
            thread.count(of.post.ctx, of.post.func, Params::default(), wall);
        }
    }

    /// A message has been received.
    pub fn receive(&self, thread: &mut Thread, shared: &mut Shared<'_>, message: TracedMessage) {
        let params = self.params(&message);
        let request = message.request.and_then(|r| thread.requests.remove(&r));
        if let Some(of) = &request
            && let Some(wall) = of.uncounted_ns
        {
            thread.count(of.post.ctx, of.post.func, params, wall);
        }
        let Some(call) = thread.call() else { return };
        let completes = message.request.is_some();
        if !completes && call.params == Params::default() {
            call.params = params;
            // A call that sends as well names whom it sends to, which here is nobody.
            if call.class() == Some(Class::SendRecv) {
                call.params.peer = peer::PROC_NULL;
            }
        }
        let Some((comm, from)) = self.partner(&message) else {
            return;
        };
        let (ix, post) = match request {
            Some(of) => (of.ix, Some(of.post)),
            // Posted where nobody saw it, or here.
            None => {
                let at = message.taken_ns.unwrap_or(call.enter_ns);
                (shared.links.post(at), None)
            }
        };
        shared
            .links
            .completed(ix, messages(comm, from, self.me, message.tag));
        // Posted and completed in one call, as `MPI_Sendrecv` does.
        let post = post.filter(|p| p.ns != call.enter_ns);
        call.links.push(Link {
            kind: EventKind::Recv,
            ix,
            peer: from,
            bytes: message.bytes,
            post,
            comm: message.comm,
        });
    }

    /// A collective has been done.
    pub fn collective(&self, thread: &mut Thread, shared: &mut Shared<'_>, message: TracedMessage) {
        let request = message.request.and_then(|r| thread.requests.remove(&r));
        let comm = self.comms.get(message.comm);
        let root = comm.and_then(|c| c.world(self.me, message.partner));
        let posted = request.as_ref().map(|of| of.post.func);
        let func = posted.or_else(|| thread.call().map(|c| c.func));
        let function = func.and_then(|f| abi::FUNCTIONS.get(usize::from(f)));
        let bytes = match (comm, function) {
            (Some(comm), Some(f)) => counted(self.rule, f, (comm, self.me), message.volume),
            _ => 0,
        };
        let params = Params {
            comm: message.comm,
            peer: root.map_or(peer::NONE, |r| r as i32 - self.me as i32),
            tag: tag::NONE,
            bytes,
        };
        if let Some(of) = &request
            && let Some(wall) = of.uncounted_ns
        {
            thread.count(of.post.ctx, of.post.func, params, wall);
        }
        let Some(call) = thread.call() else { return };
        if message.request.is_none() {
            call.params = params;
        }
        // What makes and frees communicators and windows is no collective of recorded runs either.
        if !function.is_some_and(|f| f.is_collective()) {
            return;
        }
        let Some(comm) = comm else { return };
        let (ix, post) = match request {
            Some(of) => (of.ix, Some(of.post)),
            None => (shared.links.post(call.enter_ns), None),
        };
        shared.links.completed(ix, comm.collectives(self.me));
        call.links.push(Link {
            kind: EventKind::Collective,
            ix,
            peer: root.unwrap_or(u32::MAX),
            bytes,
            post,
            comm: message.comm,
        });
    }
}
