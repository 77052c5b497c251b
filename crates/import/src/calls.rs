//! An MPI call between its enter and its leave: what it sends, receives, posts and completes.

use crate::comms::{Comms, WORLD};
use crate::links::{LinkIx, Links, messages, mix2};
use crate::thread::{NONE, Shared, Thread, class_of};
use crate::volume::{Rule, counted};
use headwater_format::spool::layout::{EventRow, MessageRow};
use headwater_model::run::{EventKind, peer, tag};
use headwater_mpi_abi::{self as abi, Class};

/// Parameters that calls are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Params {
    /// Index of the communicator.
    pub comm: u16,
    /// Partner offset, see [`peer`].
    pub peer: i32,
    /// Tag.
    pub tag: i32,
    /// Bytes.
    pub bytes: u64,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            comm: u16::MAX,
            peer: peer::NONE,
            tag: tag::NONE,
            bytes: 0,
        }
    }
}

impl Params {
    /// Bits of the number of bytes.
    pub fn size_class(&self) -> u32 {
        u64::BITS - self.bytes.leading_zeros()
    }
}

/// Where and when something was posted.
#[derive(Clone, Copy, Debug)]
pub struct Post {
    /// Context.
    pub ctx: u32,
    /// Function.
    pub func: u16,
    /// Enter of the call.
    pub ns: u64,
}

/// A request that is not completed.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Its link.
    pub ix: LinkIx,
    /// Where it was posted.
    pub post: Post,
    /// Of a send: partner and bytes.
    pub sent: Option<(u32, u64)>,
    /// Time of the posting call, which is counted once the parameters are known.
    pub uncounted_ns: Option<u64>,
}

/// What a call has to do with other ranks.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// What.
    pub kind: EventKind,
    /// Its number.
    pub ix: LinkIx,
    /// World rank of the partner or root, `u32::MAX` for none.
    pub peer: u32,
    /// Bytes.
    pub bytes: u64,
    /// Where it was posted, if not here.
    pub post: Option<Post>,
    /// The communicator, if not the call's.
    pub comm: u16,
}

impl Link {
    /// As an end of a message.
    pub fn row(&self, call: &Call, leave_ns: u64) -> MessageRow {
        let here = Post {
            ctx: NONE,
            func: call.func,
            ns: 0,
        };
        let post = self.post.unwrap_or(here);
        // Of a collective the function that posts it counts, of a message the one that the rank is in.
        let posted = self.kind == EventKind::Collective;
        MessageRow {
            id: 0,
            ctx: call.ctx,
            post_ctx: post.ctx,
            peer: self.peer,
            func: if posted { post.func } else { call.func },
            comm: self.comm,
            kind: self.kind as u32,
            zero: 0,
            enter_ns: call.enter_ns,
            leave_ns,
            post_ns: post.ns,
            bytes: self.bytes,
        }
    }

    /// As what stands in a row of a window.
    pub fn event(&self) -> EventRow {
        EventRow {
            kind: self.kind as u8,
            peer: self.peer,
            bytes: self.bytes,
            ..Default::default()
        }
    }
}

/// A call.
#[derive(Clone, Debug)]
pub struct Call {
    /// Context.
    pub ctx: u32,
    /// Function.
    pub func: u16,
    /// Enter.
    pub enter_ns: u64,
    /// Computation before it.
    pub busy_ns: u64,
    /// Parameters.
    pub params: Params,
    /// Links.
    pub links: Vec<Link>,
    /// The one receive that it does nothing but post.
    pub posts_alone: Option<u64>,
    /// Whether recording was off, so that it is not counted.
    pub unseen: bool,
}

impl Call {
    /// A call that begins.
    pub fn new(ctx: u32, func: u16, enter_ns: u64, busy_ns: u64) -> Self {
        Self {
            ctx,
            func,
            enter_ns,
            busy_ns,
            params: Params::default(),
            links: Vec::new(),
            posts_alone: None,
            unseen: false,
        }
    }

    /// Its function.
    pub fn function(&self) -> Option<&'static abi::Function> {
        abi::FUNCTIONS.get(usize::from(self.func))
    }

    /// The class of its function.
    pub fn class(&self) -> Option<Class> {
        class_of(self.func)
    }

    /// This call as what posts something.
    pub fn post(&self) -> Post {
        Post {
            ctx: self.ctx,
            func: self.func,
            ns: self.enter_ns,
        }
    }

    /// Whoever is late at `MPI_Finalize` is waited for there.
    pub fn finalizes(&mut self, links: &mut Links) {
        let ix = links.post(self.enter_ns);
        links.completed(ix, mix2(0xf1a1, WORLD));
        self.params.comm = 0;
        self.links.push(Link {
            kind: EventKind::Collective,
            ix,
            peer: u32::MAX,
            bytes: 0,
            post: None,
            comm: 0,
        });
    }

    /// A call that completes receives too has waited for those, as far as anybody can tell.
    pub fn waited_for_receives_alone(&mut self) {
        let waits = |l: &Link| matches!(l.kind, EventKind::Recv | EventKind::Collective);
        if self.links.iter().any(waits) {
            self.links.retain(|l| l.kind != EventKind::SendDone);
        }
    }
}

/// One end of a message, or a part in a collective, as a trace tells it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told {
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
    fn partner(&self, told: &Told) -> Option<(u64, u32)> {
        let comm = self.comms.get(told.comm)?;
        Some((comm.hash, comm.world(self.me, told.partner)?))
    }

    fn params(&self, told: &Told) -> Params {
        let partner = self.partner(told);
        Params {
            comm: told.comm,
            peer: partner.map_or(peer::UNKNOWN, |(_, p)| p as i32 - self.me as i32),
            tag: i32::try_from(told.tag).unwrap_or(tag::NONE),
            bytes: told.bytes,
        }
    }

    /// A message is sent.
    pub fn send(&self, thread: &mut Thread, shared: &mut Shared<'_>, told: Told) {
        let params = self.params(&told);
        let Some(call) = thread.call() else { return };
        (call.params, call.posts_alone) = (params, None);
        let Some((comm, to)) = self.partner(&told) else {
            return;
        };
        let ix = shared.links.post(call.enter_ns);
        shared
            .links
            .completed(ix, messages(comm, self.me, to, told.tag));
        let post = call.post();
        call.links.push(Link {
            kind: EventKind::Send,
            ix,
            peer: to,
            bytes: told.bytes,
            post: None,
            comm: told.comm,
        });
        if let Some(request) = told.request {
            let of = Request {
                ix,
                post,
                sent: Some((to, told.bytes)),
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
    pub fn receive(&self, thread: &mut Thread, shared: &mut Shared<'_>, told: Told) {
        let params = self.params(&told);
        let request = told.request.and_then(|r| thread.requests.remove(&r));
        if let Some(of) = &request
            && let Some(wall) = of.uncounted_ns
        {
            thread.count(of.post.ctx, of.post.func, params, wall);
        }
        let Some(call) = thread.call() else { return };
        let completes = told.request.is_some();
        if !completes && call.params == Params::default() {
            call.params = params;
            // A call that sends as well names whom it sends to, which here is nobody.
            if call.class() == Some(Class::SendRecv) {
                call.params.peer = peer::PROC_NULL;
            }
        }
        let Some((comm, from)) = self.partner(&told) else {
            return;
        };
        let (ix, post) = match request {
            Some(of) => (of.ix, Some(of.post)),
            // Posted where nobody saw it, or here.
            None => {
                let at = told.taken_ns.unwrap_or(call.enter_ns);
                (shared.links.post(at), None)
            }
        };
        shared
            .links
            .completed(ix, messages(comm, from, self.me, told.tag));
        // Posted and completed in one call, as `MPI_Sendrecv` does.
        let post = post.filter(|p| p.ns != call.enter_ns);
        call.links.push(Link {
            kind: EventKind::Recv,
            ix,
            peer: from,
            bytes: told.bytes,
            post,
            comm: told.comm,
        });
    }

    /// A collective has been done.
    pub fn collective(&self, thread: &mut Thread, shared: &mut Shared<'_>, told: Told) {
        let request = told.request.and_then(|r| thread.requests.remove(&r));
        let comm = self.comms.get(told.comm);
        let root = comm.and_then(|c| c.world(self.me, told.partner));
        let posted = request.as_ref().map(|of| of.post.func);
        let func = posted.or_else(|| thread.call().map(|c| c.func));
        let function = func.and_then(|f| abi::FUNCTIONS.get(usize::from(f)));
        let bytes = match (comm, function) {
            (Some(comm), Some(f)) => counted(self.rule, f, (comm, self.me), told.volume),
            _ => 0,
        };
        let params = Params {
            comm: told.comm,
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
        if told.request.is_none() {
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
            comm: told.comm,
        });
    }
}
