//! Decodes what the arguments of a call say: partner, tag, bytes, and which message or collective it is.
//!
//! [`Decoder::before`] reads what the call may overwrite, [`Decoder::after`] what the library has written. Neither
//! holds the lock of the process's messages while the library runs.

use crate::abi::{self, Library};
use crate::args::Args;
use crate::channels::{self, Channels};
use crate::comms::{self, Comm, Origin};
use crate::epochs::Epoch;
use crate::links::{link, me, recv_id, recv_link, send_link, unknown_from_now_on};
use crate::process;
use crate::requests::{Request, Requests, Streams, Work};
use crate::sessions;
use crate::shape::Shape;
use crate::shared;
use crate::thread::{Call, Params, Thread};
use headwater_model::hash::mix2;
use headwater_model::run::{EventKind, peer};
use headwater_mpi_abi::{Abi, Class, Function, Mode, Role};
use std::sync::Once;

/// What the process knows about its messages. Its threads share it: one thread may wait for a request that another
/// one has posted, and MPI numbers the messages of all threads together.
pub struct Messages {
    /// Requests, active and inactive.
    pub requests: Requests,
    /// Numbers of messages.
    pub streams: Streams,
    /// Whether the numbers of received messages are no longer valid.
    pub receives_lost: bool,
    /// The same for sent messages.
    pub sends_lost: bool,
    /// Epochs of one-sided communication under way.
    pub epochs: Vec<Epoch>,
    /// Channels of partitioned messages.
    pub channels: Channels,
    /// Handles and sizes of datatypes; `u64::MAX` is no handle.
    pub types: [(u64, u64); 64],
}

/// What a call of one thread needs from its start to its end.
pub struct Scratch {
    /// Handles of its requests.
    pub handles: Vec<u64>,
    /// How many requests the process had made when the call began.
    pub made: u64,
    /// Statuses of our own, for calls in which the program wants none.
    pub statuses: Vec<u8>,
}

impl Scratch {
    /// No call yet.
    pub fn new() -> Self {
        Self {
            handles: Vec::new(),
            made: 0,
            statuses: vec![0; 64],
        }
    }
}

/// Reports once that the program starts processes of another job.
static SPAWNED: Once = Once::new();

impl Messages {
    /// Nothing sent or received.
    pub fn new() -> Self {
        Self {
            requests: Requests::new(),
            streams: Streams::new(),
            receives_lost: false,
            sends_lost: false,
            epochs: Vec::new(),
            channels: Channels::default(),
            types: [(u64::MAX, 0); 64],
        }
    }
}

/// A call being decoded.
pub struct Decoder<'a> {
    /// Where its arguments are.
    pub shape: &'a Shape,
    /// What is called.
    pub function: &'a Function,
    /// Its arguments.
    pub args: &'a mut Args,
    /// How the library represents things.
    pub abi: &'static Abi,
    /// The library.
    pub library: &'static Library,
}

/// What is known before the call and needed after it.
pub struct Before {
    /// The parameters that the call is counted by.
    pub params: Params,
    pub(crate) comm: Option<&'static Comm>,
    pub(crate) comm_handle: u64,
    origin: Origin,
    pub(crate) source: i32,
    pub(crate) recv_tag: i32,
    send_id: u64,
    recv_id: u64,
    recv_bytes: u64,
}

impl Before {
    /// Nothing yet.
    #[inline]
    pub fn new() -> Self {
        Self {
            params: NO_PARAMS,
            comm: None,
            comm_handle: 0,
            origin: Origin::default(),
            source: 0,
            recv_tag: 0,
            send_id: 0,
            recv_id: 0,
            recv_bytes: 0,
        }
    }
}

/// The parameters of a call that has none.
pub const NO_PARAMS: Params = Params {
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

    /// Calls the library with the arguments as they are now, and returns the error code.
    ///
    /// # Safety
    /// `real` is the library's function for this call.
    pub unsafe fn call(&self, real: usize) -> i32 {
        // SAFETY: promised by the caller.
        unsafe { self.args.call_of(real, self.function.roles.len()) }
    }

    fn int(&self, role: Role) -> i32 {
        self.shape.at(role).map_or(0, |at| self.args.int(at))
    }

    /// The handle and the communicator of the call. An RMA window is treated as a communicator.
    pub fn comm(&self) -> (u64, Option<&'static Comm>) {
        if let Some(window) = self.window() {
            return window;
        }
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

    pub(crate) fn params(&self, comm: Option<&Comm>, rank: i32, tag: i32, bytes: u64) -> Params {
        Params {
            comm: comm.map_or(u16::MAX, |c| c.index),
            peer: self.offset(comm, rank),
            tag,
            bytes,
        }
    }

    /// Runs before the call. Results are written directly into `out`, because copying them would take longer.
    #[inline]
    pub fn before(&mut self, t: &mut Thread, call: &Call, out: &mut Before) {
        if let Some(mut m) = shared::messages() {
            self.look(t, call, &mut m, out);
        }
    }

    fn look(&mut self, t: &mut Thread, call: &Call, m: &mut Messages, out: &mut Before) {
        match self.function.class {
            Class::Send | Class::Recv | Class::SendRecv => {
                (out.comm_handle, out.comm) = self.comm();
                self.look_at_message(t, m, out);
            }
            Class::Wait | Class::Test => self.look_at_requests(t, m),
            Class::Start => {
                self.gather_handles(t);
                out.params = self.start(t, call, m);
            }
            // This must come before the call: after it, another thread may have the same handle.
            Class::CommFree => {
                self.gather_handles(t);
                t.scratch.handles.iter().for_each(|h| comms::forget(*h));
            }
            Class::RequestFree => {
                self.gather_handles(t);
                if let Some(handle) = t.scratch.handles.first().copied() {
                    // Nobody will learn whether it was cancelled, so the numbers of its stream are no longer valid.
                    if let Some(request) = m.requests.get(handle).copied().filter(|r| r.cancelled) {
                        self.call_off(m, &request, 0);
                    }
                    m.requests.remove(handle);
                    m.channels.remove(&handle);
                }
            }
            Class::Cancel => {
                self.gather_handles(t);
                let handle = t.scratch.handles.first().copied();
                if let Some(request) = handle.and_then(|h| m.requests.get(h)) {
                    request.cancelled = true;
                }
            }
            Class::TypeFree => self.forget_type(m),
            Class::WinFree => self.window_given_up(m),
            Class::WinPost | Class::WinStart | Class::WinComplete | Class::WinWait => {
                (out.comm_handle, out.comm) = self.comm();
                out.params = Params {
                    comm: out.comm.map_or(u16::MAX, |c| c.index),
                    ..NO_PARAMS
                };
                self.tell(t, m);
            }
            Class::Channel => out.params = self.channel_params(m),
            Class::Ready => out.params = self.ready(t, m),
            Class::Arrived => out.params = self.arrived(m),
            Class::WinLock | Class::WinFlush | Class::WinUnlock => {
                (out.comm_handle, out.comm) = self.comm();
                out.params = self.reach(t, out.comm);
            }
            Class::Barrier if self.lets_pass() => {}
            Class::Probe => {
                (out.comm_handle, out.comm) = self.comm();
                (out.source, out.recv_tag) = (self.int(Role::Source), self.int(Role::Tag));
                out.params = self.params(out.comm, out.source, out.recv_tag, 0);
                if self.shape.at(Role::Message).is_some() && !self.known(out) {
                    self.own_status(t);
                }
            }
            Class::FileAll | Class::FileClose => self.look_at_file(t, m, out),
            Class::File => out.params = self.file_params(m),
            Class::CommCreate | Class::WinCreate => out.origin = self.origin(),
            _ if self.function.is_collective() => {
                (out.comm_handle, out.comm) = self.comm();
                self.collective(t, m, out);
                if self.function.class == Class::FileOpen {
                    out.origin = self.origin();
                }
            }
            _ => {}
        }
    }

    /// Decodes a collective on the communicator that was found.
    #[inline]
    pub(crate) fn collective(&self, t: &mut Thread, m: &mut Messages, out: &mut Before) {
        let Some(comm) = out.comm else { return };
        let bytes = self.collective_bytes(m, comm);
        let root = self
            .shape
            .at(Role::Root)
            .and_then(|at| comm.world(self.args.int(at)));
        let offset = root.map_or(peer::NONE, |r| r as i32 - me() as i32);
        out.params = Params {
            comm: comm.index,
            peer: offset,
            tag: i32::MIN,
            bytes,
        };
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

    /// Whether the call says which message it receives: it has no wildcard.
    pub(crate) fn known(&self, before: &Before) -> bool {
        before.source != self.abi.any_source && before.recv_tag != self.abi.any_tag
    }

    fn look_at_message(&mut self, t: &mut Thread, m: &mut Messages, out: &mut Before) {
        let blocking_or_now = self.function.mode != Mode::Persistent;
        if self.shape.at(Role::Dest).is_some() {
            let (dest, tag) = (self.int(Role::Dest), self.int(Role::Tag));
            let bytes = self.bytes(m, Role::Count, Role::Type);
            out.params = self.params(out.comm, dest, tag, bytes);
            if blocking_or_now {
                out.send_id = send_link(t, m, out.comm, dest, tag, bytes);
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
            if self.shape.at(Role::Dest).is_none() {
                out.params = self.params(out.comm, out.source, out.recv_tag, out.recv_bytes);
            }
            let known = self.known(out);
            if known && blocking_or_now {
                out.recv_id = recv_id(m, out.comm, out.source, out.recv_tag);
            }
            if !known && self.function.mode == Mode::Blocking {
                self.own_status(t);
            }
        } else if self.shape.at(Role::Message).is_some() {
            let bytes = self.bytes(m, Role::Count, Role::Type);
            if let Some(matched) = self.matched(m) {
                let comm = comms::find(matched.comm);
                out.params = self.params(comm, matched.peer, matched.tag, bytes);
            }
        }
    }

    /// Copies the handles of the call's requests, because the call overwrites them. Returns whether there was memory
    /// for them.
    fn gather_handles(&self, t: &mut Thread) -> bool {
        let handles = &mut t.scratch.handles;
        handles.clear();
        let one = self.shape.at(Role::Req).or(self.shape.at(Role::Newcomm));
        match (self.shape.at(Role::Reqs), one) {
            (Some(at), _) => {
                let n = self.int(Role::N).max(0) as usize;
                if handles.try_reserve(n).is_err() {
                    process::stop();
                    return false;
                }
                handles.extend((0..n).map(|i| self.args.handle_at(at, i, &self.library.request)));
            }
            (None, Some(at)) => {
                let f2c = if self.function.class == Class::CommFree {
                    &self.library.comm
                } else {
                    &self.library.request
                };
                handles.push(self.args.handle_at(at, 0, f2c));
            }
            _ => {}
        }
        true
    }

    /// Copies the handles of the call's requests and makes sure that each gets a status: a wildcard receive may be
    /// among them.
    fn look_at_requests(&mut self, t: &mut Thread, m: &Messages) {
        if !self.gather_handles(t) {
            return;
        }
        t.scratch.made = m.requests.made;
        self.own_status(t);
        self.own_statuses(t);
    }

    /// Starts requests. Returns the parameters that the call is counted by: the bytes of all requests, and partner
    /// and tag if there is one request only.
    fn start(&self, t: &mut Thread, call: &Call, m: &mut Messages) -> Params {
        let handles = std::mem::take(&mut t.scratch.handles);
        let mut params = NO_PARAMS;
        for handle in &handles {
            let Some(request) = m.requests.get(*handle).copied() else {
                continue;
            };
            let comm = comms::find(request.comm);
            params.bytes += request.bytes;
            if handles.len() == 1 && request.work != Work::Collective {
                params = self.params(comm, request.peer, request.tag, request.bytes);
            }
            let mut id = 0;
            match request.work {
                Work::Send | Work::Recv => {
                    id = match channels::start(m, *handle) {
                        Some(of_channel) => of_channel,
                        None => self.start_message(t, m, &request),
                    };
                }
                Work::Matched => {}
                Work::Collective => {
                    id = comm.map_or(0, |c| mix2(c.hash ^ 0x5bd1_e995, c.next_collective()) | 1);
                    collective_posted(t, id, request.root, request.bytes);
                }
            }
            if let Some(request) = m.requests.get(*handle) {
                (request.id, request.post) = (id, (call.ctx, call.enter_ns));
                (request.thread, request.active) = (t.number, true);
            }
        }
        t.scratch.handles = handles;
        params
    }

    /// Starts a persistent send or receive that is not part of a channel. Returns the id of its message; 0 if it is
    /// not known yet.
    fn start_message(&self, t: &mut Thread, m: &mut Messages, request: &Request) -> u64 {
        let Request {
            peer, tag, bytes, ..
        } = *request;
        let comm = comms::find(request.comm);
        match request.work {
            Work::Send => send_link(t, m, comm, peer, tag, bytes),
            _ if peer != self.abi.any_source && tag != self.abi.any_tag => {
                recv_id(m, comm, peer, tag)
            }
            _ => 0,
        }
    }

    /// Runs after the call. Corrects the parameters that the call is counted by. Returns whether the call was a poll
    /// that found nothing.
    #[inline]
    pub fn after(&mut self, t: &mut Thread, call: &Call, before: &mut Before, result: i32) -> bool {
        if result != 0 {
            return false;
        }
        let flag = self.shape.at(Role::Flag);
        if self.polls() && flag.is_some_and(|at| self.args.int_at(at, 0) == 0) {
            return true;
        }
        if self.function.class == Class::CommCreate
            && let Some(at) = self.shape.at(Role::Newcomm)
        {
            comms::created(self.function.name, self.args, at, before.origin);
        }
        if self.function.class == Class::WinCreate {
            self.window_made(before.origin);
        }
        if let Some(mut m) = shared::messages() {
            self.conclude(t, call, before, &before.params, &mut m);
        }
        if self.function.mode == Mode::Persistent {
            // Bytes move when the request is started.
            before.params.bytes = 0;
        }
        false
    }

    /// Whether the call is of a class with functions that ask without waiting. Those have a flag among their
    /// arguments.
    #[inline]
    pub fn polls(&self) -> bool {
        matches!(
            self.function.class,
            Class::Test | Class::Probe | Class::WinWait | Class::Arrived
        )
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
            (Class::Probe, _) if self.shape.at(Role::Message).is_some() => {
                self.probed(t, before, params, m);
            }
            (Class::Recv, Mode::Blocking) => {}
            (Class::Send | Class::Recv | Class::SendRecv, _) => {
                self.remember(t, call, before, params, m);
            }
            (Class::Wait | Class::Test, _) => self.completed(t, m),
            (Class::WinStart | Class::WinComplete | Class::WinWait, _) => self.told(t, m),
            (Class::FileOpen, _) => self.file_opened(before.comm, before.origin),
            (Class::Channel, _) => self.channel_made(t, call, params, m),
            (Class::SessionInit, _) => sessions::opened(self.args),
            (Class::Spawn, _) => SPAWNED.call_once(|| {
                crate::process::say(
                    "The program starts processes by MPI_Comm_spawn: those were not recorded.",
                );
            }),
            _ if self.function.is_collective() && self.function.mode != Mode::Blocking => {
                self.remember(t, call, before, params, m);
            }
            _ => {}
        }
        let world = before.comm.is_some_and(|c| {
            c.size == crate::process::SIZE.load(std::sync::atomic::Ordering::Relaxed)
        });
        // By default, calls on files return errors, maybe on some ranks only. The count must be equal on all ranks,
        // so these calls are left out.
        let file = matches!(self.function.class, Class::FileOpen | Class::FileAll);
        let counts = self.function.is_collective() && !file && self.function.mode == Mode::Blocking;
        if world && counts {
            crate::thread::world_collective();
        }
    }

    /// Records the request that a call has made.
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
            Class::Recv if self.shape.at(Role::Message).is_some() => Work::Matched,
            // MPICH 4.0 does not report what it received, so the streams of the next messages are not known.
            Class::SendRecv if !self.known(before) => {
                unknown_from_now_on(m);
                Work::Matched
            }
            // A request that sends and receives counts as a receive: the call that completes it has waited for the
            // message.
            Class::Recv | Class::SendRecv => Work::Recv,
            _ => Work::Collective,
        };
        let (rank, tag) = match work {
            Work::Send => (self.int(Role::Dest), params.tag),
            _ => (before.source, before.recv_tag),
        };
        let bytes = match work {
            Work::Recv => before.recv_bytes,
            _ => params.bytes,
        };
        let root = if params.peer == peer::NONE {
            u32::MAX
        } else {
            me().wrapping_add_signed(params.peer)
        };
        let request = Request {
            made: 0,
            thread: t.number,
            handle,
            work,
            persistent: self.function.mode == Mode::Persistent,
            active: self.function.mode != Mode::Persistent,
            cancelled: false,
            comm: before.comm_handle,
            made_by: (call.func, params.comm),
            peer: rank,
            tag,
            bytes,
            id: if work == Work::Send {
                before.send_id
            } else {
                before.recv_id
            },
            root,
            post: (call.ctx, call.enter_ns),
        };
        if work == Work::Recv && before.recv_id != 0 {
            let from = before.comm.and_then(|c| c.world(rank)).unwrap_or(u32::MAX);
            t.links
                .push(link(EventKind::RecvPost, before.recv_id, from, bytes));
        }
        if work == Work::Collective {
            collective_posted(t, before.recv_id, root, bytes);
        }
        m.requests.insert(request);
    }
}

/// Records for event windows that this rank has reached a nonblocking collective. Does nothing if `id` is 0: then the
/// collective is not known, or its request is made but not started.
fn collective_posted(t: &mut Thread, id: u64, root: u32, bytes: u64) {
    if id != 0 {
        t.links
            .push(link(EventKind::CollectivePost, id, root, bytes));
    }
}
