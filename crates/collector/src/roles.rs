//! What the arguments of a call say: partner, tag, bytes, and which message or collective it is.
//!
//! Message numbers: both ends count the messages of a stream (communicator, source, destination, tag)
//! in the order in which MPI matches them, senders at the start of the send, receivers when the
//! receive is posted; a wildcard receive is counted when it completes, with source and tag from its
//! status (ScalAna, III-B2 and Figure 5).

use crate::abi::{self, Library};
use crate::args::Args;
use crate::comms::{self, Comm};
use crate::requests::{Request, Requests, Streams, Work};
use crate::table::mix2;
use crate::thread::{Call, Link, Params, Thread};
use headwater_model::run::{EventKind, peer};
use headwater_mpi_abi::{Abi, Class, Function, Mode, Role};
use std::cell::RefCell;

/// Positions of the arguments of a function by role.
pub struct Shape {
    at: [u8; 25],
    /// Whether counts are wide.
    large: bool,
    /// Whether each rank sends a part to each other.
    to_each: bool,
}

/// No such argument.
const ABSENT: u8 = u8::MAX;

impl Shape {
    /// The shape of a function.
    pub fn new(function: &Function) -> Self {
        let mut at = [ABSENT; 25];
        for (i, role) in function.roles.iter().enumerate().rev() {
            if let Some(place) = at.get_mut(*role as usize) {
                *place = i as u8;
            }
        }
        Self {
            at,
            large: function.name.ends_with("_c"),
            to_each: function.name.to_lowercase().contains("alltoall"),
        }
    }

    #[inline]
    fn at(&self, role: Role) -> Option<u8> {
        self.at.get(role as usize).copied().filter(|a| *a != ABSENT)
    }
}

/// What a thread knows of its messages.
pub struct Messages {
    requests: Requests,
    streams: Streams,
    types: [(u64, u64); 64],
    /// Handles of the requests of the call in progress.
    handles: Vec<u64>,
    /// Statuses of our own, where the program does not want any.
    statuses: Vec<u8>,
}

thread_local! {
    static MESSAGES: RefCell<Messages> = RefCell::new(Messages {
        requests: Requests::new(),
        streams: Streams::new(),
        types: [(u64::MAX, 0); 64],
        handles: Vec::new(),
        statuses: Vec::new(),
    });
}

/// A call being decoded.
pub struct Decoder<'a> {
    shape: &'a Shape,
    function: &'a Function,
    args: &'a mut Args,
    abi: &'static Abi,
    library: &'static Library,
}

/// What is known before the call and needed after it.
#[derive(Default)]
pub struct Before {
    params: Option<Params>,
    comm: Option<&'static Comm>,
    comm_handle: u64,
    source: i32,
    recv_tag: i32,
    recv_id: u64,
    recv_bytes: u64,
}

const NO_PARAMS: Params = Params {
    comm: u16::MAX,
    peer: peer::NONE,
    tag: i32::MIN,
    bytes: 0,
};

impl<'a> Decoder<'a> {
    /// Decodes a call of `function`; `None` before the library is known.
    pub fn new(function: &'a Function, shape: &'a Shape, args: &'a mut Args) -> Option<Self> {
        Some(Self {
            shape,
            function,
            args,
            abi: abi::get()?,
            library: abi::library()?,
        })
    }

    /// Calls the library with the arguments as they are now.
    ///
    /// # Safety
    /// `real` is the library's function for this call.
    pub unsafe fn call(&self, real: usize) -> i32 {
        // SAFETY: promised by the caller.
        unsafe { self.args.call(real) }
    }

    fn int(&self, role: Role) -> i32 {
        self.shape.at(role).map_or(0, |at| self.args.int(at))
    }

    fn size_of(&self, m: &mut Messages, role: Role) -> u64 {
        let Some(at) = self.shape.at(role) else {
            return 0;
        };
        let handle = self.args.handle(at, &self.library.datatype);
        let slot = crate::table::mix(handle) as usize % m.types.len();
        if let Some(known) = m.types.get(slot).filter(|t| t.0 == handle) {
            return known.1;
        }
        let real = abi::pmpi("MPI_Type_size");
        if real == 0 || handle == 0 {
            return 0;
        }
        let mut size = 0i32;
        // SAFETY: a datatype that the program passes to MPI in this very call.
        unsafe {
            let get: unsafe extern "C" fn(u64, *mut i32) -> i32 = std::mem::transmute(real);
            get(handle, &mut size);
        }
        if let Some(place) = m.types.get_mut(slot) {
            *place = (handle, size.max(0) as u64);
        }
        size.max(0) as u64
    }

    fn bytes(&self, m: &mut Messages, count: Role, datatype: Role) -> u64 {
        let n = self
            .shape
            .at(count)
            .map_or(0, |at| self.args.count(at, self.shape.large));
        // The datatype of nothing may be anything.
        if n == 0 {
            0
        } else {
            n * self.size_of(m, datatype)
        }
    }

    /// Bytes of a collective: what this rank gives, or, where it gives nothing of its own (scatters,
    /// data in place), what it takes. Calls with a length for each rank are summed over the ranks.
    fn collective_bytes(&self, m: &mut Messages, comm: &Comm) -> u64 {
        let in_place =
            |raw: u64| raw == self.abi.in_place || raw != 0 && raw == self.library.fortran[2];
        let gives_nothing =
            self.function.class == Class::OneToAll && self.shape.at(Role::Rtype).is_some();
        let members = if self.shape.to_each {
            u64::from(comm.size)
        } else {
            1
        };
        if in_place(self.args.raw(0)) || gives_nothing {
            let receive = self.args.raw(
                self.shape
                    .at(Role::Rcount)
                    .or(self.shape.at(Role::Rcounts))
                    .map_or(0, |a| a.saturating_sub(1)),
            );
            if gives_nothing && in_place(receive) || self.shape.at(Role::Rcount).is_none() {
                // Reductions in place have one count for both.
                return if self.shape.at(Role::Rtype).is_none() {
                    self.bytes(m, Role::Count, Role::Type)
                } else {
                    0
                };
            }
            return members * self.bytes(m, Role::Rcount, Role::Rtype);
        }
        if self.shape.at(Role::Count).is_some() {
            return members * self.bytes(m, Role::Count, Role::Type);
        }
        const MOST: u32 = 4096;
        let list = self.shape.at(Role::Counts).or(self.shape.at(Role::Rcounts));
        match list {
            Some(at) if !self.shape.large && comm.size <= MOST => {
                let n: u64 = (0..comm.size as usize)
                    .map(|i| self.args.int_at(at, i).max(0) as u64)
                    .sum();
                if n == 0 {
                    0
                } else {
                    n * self.size_of(m, Role::Type)
                }
            }
            _ => 0,
        }
    }

    fn comm(&self) -> (u64, Option<&'static Comm>) {
        let handle = self
            .shape
            .at(Role::Comm)
            .map_or(0, |at| self.args.handle(at, &self.library.comm));
        (handle, comms::find(handle))
    }

    fn offset(&self, comm: Option<&Comm>, rank: i32) -> i32 {
        if rank == self.abi.proc_null {
            return peer::PROC_NULL;
        }
        if rank == self.abi.any_source {
            return peer::ANY;
        }
        comm.and_then(|c| c.world(rank))
            .map_or(peer::UNKNOWN, |w| w as i32 - me() as i32)
    }

    fn params(&self, comm: Option<&Comm>, rank: i32, tag: i32, bytes: u64) -> Params {
        Params {
            comm: comm.map_or(u16::MAX, |c| c.index),
            peer: self.offset(comm, rank),
            tag,
            bytes,
        }
    }

    /// Before the call.
    pub fn before(&mut self, t: &mut Thread, call: &Call) -> Before {
        MESSAGES.with(|m| {
            m.try_borrow_mut()
                .map_or_else(|_| Before::default(), |mut m| self.look(t, call, &mut m))
        })
    }

    fn look(&mut self, t: &mut Thread, call: &Call, m: &mut Messages) -> Before {
        let mut out = Before::default();
        match self.function.class {
            Class::Send | Class::Recv | Class::SendRecv => {
                (out.comm_handle, out.comm) = self.comm();
                self.look_at_message(t, m, &mut out);
            }
            Class::Wait | Class::Test => self.look_at_requests(m),
            Class::Start => {
                self.gather_handles(m);
                self.start(t, call, m);
            }
            Class::CommFree | Class::RequestFree => self.gather_handles(m),
            Class::Probe => {
                let (_, comm) = self.comm();
                out.params =
                    Some(self.params(comm, self.int(Role::Source), self.int(Role::Tag), 0));
            }
            _ if self.function.is_collective() => {
                (out.comm_handle, out.comm) = self.comm();
                if let Some(comm) = out.comm {
                    let bytes = self.collective_bytes(m, comm);
                    let root = self
                        .shape
                        .at(Role::Root)
                        .and_then(|at| comm.world(self.args.int(at)));
                    let offset = root.map_or(peer::NONE, |r| r as i32 - me() as i32);
                    out.params = Some(Params {
                        comm: comm.index,
                        peer: offset,
                        tag: i32::MIN,
                        bytes,
                    });
                    if self.function.mode != Mode::Persistent {
                        out.recv_id = mix2(comm.hash ^ 0x5bd1_e995, comm.next_collective()) | 1;
                    }
                    if self.function.mode == Mode::Blocking {
                        t.links.push(link(
                            EventKind::Collective,
                            out.recv_id,
                            root.unwrap_or(u32::MAX),
                            bytes,
                        ));
                    }
                }
            }
            _ => {}
        }
        out
    }

    fn look_at_message(&mut self, t: &mut Thread, m: &mut Messages, out: &mut Before) {
        let blocking_or_now = self.function.mode != Mode::Persistent;
        if self.shape.at(Role::Dest).is_some() {
            let (dest, tag) = (self.int(Role::Dest), self.int(Role::Tag));
            let bytes = self.bytes(m, Role::Count, Role::Type);
            out.params = Some(self.params(out.comm, dest, tag, bytes));
            if blocking_or_now {
                send_link(t, m, out.comm, dest, tag, bytes);
            }
        }
        if self.shape.at(Role::Source).is_some() {
            out.source = self.int(Role::Source);
            out.recv_tag = self.int(if self.shape.at(Role::Rtag).is_some() {
                Role::Rtag
            } else {
                Role::Tag
            });
            out.recv_bytes = match self.shape.at(Role::Rcount) {
                Some(_) => self.bytes(m, Role::Rcount, Role::Rtype),
                None => self.bytes(m, Role::Count, Role::Type),
            };
            if out.params.is_none() {
                out.params = Some(self.params(out.comm, out.source, out.recv_tag, out.recv_bytes));
            }
            let known = out.source != self.abi.any_source && out.recv_tag != self.abi.any_tag;
            if known && blocking_or_now {
                out.recv_id = recv_id(m, out.comm, out.source, out.recv_tag);
            }
            if !known && self.function.mode == Mode::Blocking {
                self.own_status(m);
            }
        }
    }

    /// Where the program does not want a status and we need one, passes ours.
    fn own_status(&mut self, m: &mut Messages) {
        let Some(at) = self.shape.at(Role::Status) else {
            return;
        };
        let raw = self.args.raw(at);
        let ignored = if self.args.fortran() {
            raw == self.library.fortran[0]
        } else {
            raw == self.abi.status_ignore
        };
        if ignored {
            // Fortran statuses of older codes are larger than the library's own; ours need not be.
            m.statuses.resize(m.statuses.len().max(64), 0);
            self.args.replace(at, m.statuses.as_mut_ptr() as u64);
        }
    }

    fn own_statuses(&mut self, m: &mut Messages, n: usize) {
        let Some(at) = self.shape.at(Role::Statuses) else {
            return;
        };
        let raw = self.args.raw(at);
        let ignored = if self.args.fortran() {
            raw == self.library.fortran[1]
        } else {
            raw == self.abi.statuses_ignore
        };
        if ignored {
            m.statuses
                .resize(m.statuses.len().max(n * self.abi.status_bytes), 0);
            self.args.replace(at, m.statuses.as_mut_ptr() as u64);
        }
    }

    /// Copies the handles of the call's requests: the call overwrites them.
    fn gather_handles(&self, m: &mut Messages) {
        m.handles.clear();
        let one = self.shape.at(Role::Req).or(self.shape.at(Role::Newcomm));
        match (self.shape.at(Role::Reqs), one) {
            (Some(at), _) => {
                let n = self.int(Role::N).max(0) as usize;
                m.handles
                    .extend((0..n).map(|i| self.args.handle_at(at, i, &self.library.request)));
            }
            (None, Some(at)) => {
                let f2c = if self.function.class == Class::CommFree {
                    &self.library.comm
                } else {
                    &self.library.request
                };
                m.handles.push(self.args.handle_at(at, 0, f2c));
            }
            _ => {}
        }
    }

    fn look_at_requests(&mut self, m: &mut Messages) {
        self.gather_handles(m);
        let handles = std::mem::take(&mut m.handles);
        let unknown = |m: &mut Messages, h: &u64| {
            m.requests
                .get(*h)
                .is_some_and(|r| r.work == Work::Recv && r.id == 0)
        };
        if handles.iter().any(|h| unknown(m, h)) {
            self.own_status(m);
            self.own_statuses(m, handles.len());
        }
        m.handles = handles;
    }

    fn start(&self, t: &mut Thread, call: &Call, m: &mut Messages) {
        let handles = std::mem::take(&mut m.handles);
        for handle in &handles {
            let Some(request) = m.requests.get(*handle).copied() else {
                continue;
            };
            let comm = comms::find(request.comm);
            let mut id = 0;
            match request.work {
                Work::Send => send_link(t, m, comm, request.peer, request.tag, request.bytes),
                Work::Recv
                    if request.peer != self.abi.any_source && request.tag != self.abi.any_tag =>
                {
                    id = recv_id(m, comm, request.peer, request.tag);
                }
                Work::Recv => {}
                Work::Collective => {
                    id = comm.map_or(0, |c| mix2(c.hash ^ 0x5bd1_e995, c.next_collective()) | 1)
                }
            }
            if let Some(request) = m.requests.get(*handle) {
                (request.id, request.post) = (id, (call.ctx, call.enter_ns));
            }
        }
        m.handles = handles;
    }

    /// After the call.
    pub fn after(&mut self, t: &mut Thread, call: &Call, before: Before, result: i32) -> Params {
        let params = before.params.unwrap_or(NO_PARAMS);
        if result == 0 {
            MESSAGES.with(|m| {
                if let Ok(mut m) = m.try_borrow_mut() {
                    self.conclude(t, call, &before, &params, &mut m);
                }
            });
        }
        params
    }

    fn conclude(
        &mut self,
        t: &mut Thread,
        call: &Call,
        before: &Before,
        params: &Params,
        m: &mut Messages,
    ) {
        match (self.function.class, self.function.mode) {
            (Class::Recv | Class::SendRecv, Mode::Blocking)
                if self.shape.at(Role::Source).is_some() =>
            {
                let (mut id, mut source) = (before.recv_id, before.source);
                if id == 0 {
                    let status = self
                        .shape
                        .at(Role::Status)
                        .map_or(0, |at| self.args.raw(at));
                    let (s, tag) = self.status(status, 0);
                    source = s;
                    id = recv_id(m, before.comm, s, tag);
                }
                recv_link(t, before.comm, source, id, before.recv_bytes, (u32::MAX, 0));
            }
            (Class::Send | Class::Recv, _) => self.remember(t, call, before, params, m),
            (Class::Wait | Class::Test, _) => self.completed(t, m),
            (Class::CommCreate, _) => {
                if let Some(at) = self.shape.at(Role::Newcomm) {
                    comms::created(self.args, at);
                }
            }
            (Class::CommFree, _) => m.handles.iter().for_each(|h| comms::forget(*h)),
            (Class::RequestFree, _) => {
                if let Some(handle) = m.handles.first().copied() {
                    m.requests.remove(handle);
                }
            }
            _ if self.function.is_collective() && self.function.mode != Mode::Blocking => {
                self.remember(t, call, before, params, m);
            }
            _ => {}
        }
        let world = before.comm.is_some_and(|c| {
            c.size == crate::process::SIZE.load(std::sync::atomic::Ordering::Relaxed)
        });
        if world && self.function.is_collective() && self.function.mode == Mode::Blocking {
            crate::thread::world_collective(t);
        }
    }

    /// Takes up the request that a call has made.
    fn remember(
        &self,
        t: &mut Thread,
        call: &Call,
        before: &Before,
        params: &Params,
        m: &mut Messages,
    ) {
        let Some(at) = self.shape.at(Role::Req) else {
            return;
        };
        let handle = self.args.handle_at(at, 0, &self.library.request);
        let work = match self.function.class {
            Class::Send => Work::Send,
            Class::Recv => Work::Recv,
            _ => Work::Collective,
        };
        let (rank, tag) = match work {
            Work::Send => (self.int(Role::Dest), params.tag),
            _ => (before.source, before.recv_tag),
        };
        let root = if params.peer == peer::NONE {
            u32::MAX
        } else {
            me().wrapping_add_signed(params.peer)
        };
        let request = Request {
            handle,
            work,
            persistent: self.function.mode == Mode::Persistent,
            comm: before.comm_handle,
            peer: rank,
            tag,
            bytes: params.bytes,
            id: before.recv_id,
            root,
            post: (call.ctx, call.enter_ns),
        };
        if work == Work::Recv && before.recv_id != 0 {
            let from = before.comm.and_then(|c| c.world(rank)).unwrap_or(u32::MAX);
            t.links.push(link(
                EventKind::RecvPost,
                before.recv_id,
                from,
                params.bytes,
            ));
        }
        m.requests.insert(request);
    }

    /// Source and tag of status number `i` at `address`.
    fn status(&self, address: u64, i: usize) -> (i32, i32) {
        if address == 0 {
            return (self.abi.any_source, self.abi.any_tag);
        }
        // SAFETY: a status that the library has just written, the program's or ours.
        unsafe {
            let base = (address as *const u8).add(i * self.abi.status_bytes);
            (
                base.add(self.abi.status_source)
                    .cast::<i32>()
                    .read_unaligned(),
                base.add(self.abi.status_tag).cast::<i32>().read_unaligned(),
            )
        }
    }

    /// Finds out which requests a wait or test has completed.
    fn completed(&self, t: &mut Thread, m: &mut Messages) {
        if self
            .shape
            .at(Role::Flag)
            .is_some_and(|at| self.args.int_at(at, 0) == 0)
        {
            return;
        }
        let handles = std::mem::take(&mut m.handles);
        let one = self
            .shape
            .at(Role::Status)
            .map_or(0, |at| self.args.raw(at));
        let many = self
            .shape
            .at(Role::Statuses)
            .map_or(0, |at| self.args.raw(at));
        // Fortran counts from 1.
        let base = i32::from(self.args.fortran());
        if let (Some(n), Some(list)) = (self.shape.at(Role::Outcount), self.shape.at(Role::Indices))
        {
            for i in 0..self.args.int_at(n, 0).max(0) as usize {
                let which = self.args.int_at(list, i) - base;
                if let Some(h) = usize::try_from(which).ok().and_then(|w| handles.get(w)) {
                    self.finish(t, m, *h, (many, i));
                }
            }
        } else if let Some(at) = self.shape.at(Role::Index) {
            let which = self.args.int_at(at, 0) - base;
            if let Some(h) = usize::try_from(which).ok().and_then(|w| handles.get(w)) {
                self.finish(t, m, *h, (one, 0));
            }
        } else {
            for (i, h) in handles.iter().enumerate() {
                self.finish(t, m, *h, if many != 0 { (many, i) } else { (one, 0) });
            }
        }
        m.handles = handles;
    }

    fn finish(&self, t: &mut Thread, m: &mut Messages, handle: u64, status: (u64, usize)) {
        let Some(request) = m.requests.get(handle).copied() else {
            return;
        };
        if !request.persistent {
            m.requests.remove(handle);
        }
        let comm = comms::find(request.comm);
        match request.work {
            Work::Send => {}
            Work::Recv => {
                let (mut id, mut source) = (request.id, request.peer);
                if id == 0 {
                    let (s, tag) = self.status(status.0, status.1);
                    source = s;
                    id = recv_id(m, comm, s, tag);
                }
                recv_link(t, comm, source, id, request.bytes, request.post);
            }
            Work::Collective => {
                let mut l = link(
                    EventKind::Collective,
                    request.id,
                    request.root,
                    request.bytes,
                );
                (l.post_ctx, l.post_ns) = request.post;
                t.links.push(l);
            }
        }
    }
}

fn me() -> u32 {
    crate::process::RANK.load(std::sync::atomic::Ordering::Relaxed)
}

fn link(kind: EventKind, id: u64, peer: u32, bytes: u64) -> Link {
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

fn send_link(
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

fn recv_id(m: &mut Messages, comm: Option<&Comm>, source: i32, tag: i32) -> u64 {
    let Some((comm, from)) = comm.and_then(|c| c.world(source).map(|w| (c, w))) else {
        return 0;
    };
    let n = m.streams.next(stream(comm.hash, from, tag, true));
    message_id(comm.hash, from, me(), tag, n)
}

fn recv_link(
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
