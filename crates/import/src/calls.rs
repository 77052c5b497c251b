//! An MPI call between its enter and its leave: what it sends, receives, posts and completes.

use crate::comms::WORLD;
use crate::links::{LinkIx, Links, mix2};
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

    /// As what is in a row of a window.
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

    /// A call that completes receives too has waited for those, as far as the trace shows.
    pub fn waited_for_receives_alone(&mut self) {
        let waits = |l: &Link| matches!(l.kind, EventKind::Recv | EventKind::Collective);
        if self.links.iter().any(waits) {
            self.links.retain(|l| l.kind != EventKind::SendDone);
        }
    }
}

/// No context.
pub const NONE: u32 = u32::MAX;

/// The class of a function of the table.
pub fn class_of(func: u16) -> Option<Class> {
    abi::FUNCTIONS.get(usize::from(func)).map(|f| f.class)
}
