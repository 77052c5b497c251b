//! What a call says before the library sees it: partner, tag, bytes, and which message or collective it sends or asks
//! for.

use crate::buffers::CallBuffers;
use crate::channels;
use crate::decoder::{Before, Decoder};
use crate::message_ids::{collective_id, collective_posted, recv_id, send_link};
use crate::messages::Messages;
use crate::record::{Link, NO_PARAMS, Params, Post};
use crate::requests::{Request, Work};
use headwater_model::run::{EventKind, peer};
use headwater_mpi_abi::{Class, Mode, Role};

impl Decoder<'_> {
    /// Runs before the call. Results are written directly into `out`, because copying them would take longer.
    #[inline]
    pub fn before(&mut self, buffers: &mut CallBuffers, call: &Post, out: &mut Before) {
        let mut m = self.mpi.messages();
        self.read_before(buffers, call, &mut m, out);
    }

    fn read_before(
        &mut self,
        buffers: &mut CallBuffers,
        call: &Post,
        m: &mut Messages,
        out: &mut Before,
    ) {
        match self.function.class {
            Class::Send | Class::Recv | Class::SendRecv => {
                (out.comm_handle, out.comm) = self.comm();
                self.read_message(buffers, m, out);
            }
            Class::Wait | Class::Test => self.read_requests(buffers, m),
            Class::Start => {
                self.gather_handles(buffers);
                out.params = self.start(buffers, call, m);
            }
            // This must come before the call: after it, another thread may have the same handle.
            Class::CommFree => {
                self.gather_handles(buffers);
                buffers
                    .handles
                    .iter()
                    .for_each(|h| self.mpi.comms.forget(*h));
            }
            Class::RequestFree => {
                self.gather_handles(buffers);
                if let Some(handle) = buffers.handles.first().copied() {
                    // Nobody will learn whether it was cancelled, so the numbers of its stream are no longer valid.
                    if let Some(request) = m.requests.get(handle).copied().filter(|r| r.cancelled) {
                        self.call_off(m, &request, 0);
                    }
                    m.requests.remove(handle);
                    m.channels.remove(&handle);
                }
            }
            Class::Cancel => {
                self.gather_handles(buffers);
                let handle = buffers.handles.first().copied();
                if let Some(request) = handle.and_then(|h| m.requests.get(h)) {
                    request.cancelled = true;
                }
            }
            Class::TypeFree => self.forget_type(m),
            Class::WinFree => self.window_freed(m),
            Class::WinPost | Class::WinStart | Class::WinComplete | Class::WinWait => {
                (out.comm_handle, out.comm) = self.comm();
                out.params = Params {
                    comm: out.comm.map_or(u16::MAX, |c| c.index),
                    ..NO_PARAMS
                };
                self.send_epoch_messages(buffers, m);
            }
            Class::Channel => out.params = self.channel_params(m),
            Class::Ready => out.params = self.ready(buffers, m),
            Class::Arrived => out.params = self.arrived(m),
            Class::WinLock | Class::WinFlush | Class::WinUnlock => {
                (out.comm_handle, out.comm) = self.comm();
                out.params = self.reach(buffers, out.comm);
            }
            Class::Barrier if self.waits_for_nobody() => {}
            Class::Probe => {
                (out.comm_handle, out.comm) = self.comm();
                (out.source, out.recv_tag) = (self.int(Role::Source), self.int(Role::Tag));
                out.params = self.params(out.comm, out.source, out.recv_tag, 0);
                if self.shape.at(Role::Message).is_some() && !self.known(out) {
                    self.own_status(buffers);
                }
            }
            Class::FileAll | Class::FileClose => self.read_file_call(buffers, m, out),
            Class::File => out.params = self.file_params(m),
            Class::CommCreate | Class::WinCreate => out.origin = self.origin(),
            _ if self.function.is_collective() => {
                (out.comm_handle, out.comm) = self.comm();
                self.collective(buffers, m, out);
                if self.function.class == Class::FileOpen {
                    out.origin = self.origin();
                }
            }
            _ => {}
        }
    }

    /// Decodes a collective on the communicator that was found.
    #[inline]
    pub(crate) fn collective(&self, buffers: &mut CallBuffers, m: &mut Messages, out: &mut Before) {
        let Some(comm) = out.comm else { return };
        let bytes = self.collective_bytes(m, comm);
        let root = self
            .shape
            .at(Role::Root)
            .and_then(|at| comm.world(self.args.int(at)));
        let offset = root.map_or(peer::NONE, |r| r as i32 - self.mpi.rank as i32);
        out.params = Params {
            comm: comm.index,
            peer: offset,
            tag: i32::MIN,
            bytes,
        };
        if self.function.mode != Mode::Persistent {
            out.recv_id = collective_id(comm);
        }
        if self.function.mode == Mode::Blocking {
            buffers.links.push(Link::new(
                EventKind::Collective,
                out.recv_id,
                root.unwrap_or(u32::MAX),
                bytes,
            ));
        }
    }

    fn read_message(&mut self, buffers: &mut CallBuffers, m: &mut Messages, out: &mut Before) {
        let blocking_or_now = self.function.mode != Mode::Persistent;
        if self.shape.at(Role::Dest).is_some() {
            let (dest, tag) = (self.int(Role::Dest), self.int(Role::Tag));
            let bytes = self.bytes(m, Role::Count, Role::Type);
            out.params = self.params(out.comm, dest, tag, bytes);
            if blocking_or_now {
                out.send_id = send_link(buffers, m, out.comm, dest, tag, bytes);
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
                self.own_status(buffers);
            }
        } else if self.shape.at(Role::Message).is_some() {
            let bytes = self.bytes(m, Role::Count, Role::Type);
            if let Some(matched) = self.matched(m) {
                let comm = self.mpi.comms.find(matched.comm);
                out.params = self.params(comm, matched.peer, matched.tag, bytes);
            }
        }
    }

    /// Copies the handles of the call's requests, because the call overwrites them. Returns whether there was memory
    /// for them.
    fn gather_handles(&self, buffers: &mut CallBuffers) -> bool {
        let handles = &mut buffers.handles;
        handles.clear();
        let one = self.shape.at(Role::Req).or(self.shape.at(Role::Newcomm));
        match (self.shape.at(Role::Reqs), one) {
            (Some(at), _) => {
                let n = self.int(Role::N).max(0) as usize;
                if handles.try_reserve(n).is_err() {
                    self.mpi.host.stop();
                    return false;
                }
                handles
                    .extend((0..n).map(|i| self.args.handle_at(at, i, &self.mpi.library.request)));
            }
            (None, Some(at)) => {
                let f2c = if self.function.class == Class::CommFree {
                    &self.mpi.library.comm
                } else {
                    &self.mpi.library.request
                };
                handles.push(self.args.handle_at(at, 0, f2c));
            }
            _ => {}
        }
        true
    }

    /// Copies the handles of the call's requests and makes sure that each gets a status: a wildcard receive may be
    /// among them.
    fn read_requests(&mut self, buffers: &mut CallBuffers, m: &Messages) {
        if !self.gather_handles(buffers) {
            return;
        }
        buffers.made = m.requests.made;
        self.own_status(buffers);
        self.own_statuses(buffers);
    }

    /// Starts requests. Returns the parameters that the call is counted by: the bytes of all requests, and partner
    /// and tag if there is one request only.
    fn start(&self, buffers: &mut CallBuffers, call: &Post, m: &mut Messages) -> Params {
        let handles = std::mem::take(&mut buffers.handles);
        let mut params = NO_PARAMS;
        for handle in &handles {
            let Some(request) = m.requests.get(*handle).copied() else {
                continue;
            };
            let comm = self.mpi.comms.find(request.comm);
            params.bytes += request.bytes;
            if handles.len() == 1 && request.work != Work::Collective {
                params = self.params(comm, request.peer, request.tag, request.bytes);
            }
            let mut id = 0;
            match request.work {
                Work::Send | Work::Recv => {
                    id = match channels::start(m, *handle) {
                        Some(of_channel) => of_channel,
                        None => self.start_message(buffers, m, &request),
                    };
                }
                Work::Matched => {}
                Work::Collective => {
                    id = comm.map_or(0, collective_id);
                    collective_posted(buffers, id, request.root, request.bytes);
                }
            }
            if let Some(request) = m.requests.get(*handle) {
                (request.id, request.post) = (id, (call.ctx, call.enter_ns));
                (request.thread, request.active) = (buffers.thread, true);
            }
        }
        buffers.handles = handles;
        params
    }

    /// Starts a persistent send or receive that is not part of a channel. Returns the id of its message; 0 if it is
    /// not known yet.
    fn start_message(&self, buffers: &mut CallBuffers, m: &mut Messages, request: &Request) -> u64 {
        let Request {
            peer, tag, bytes, ..
        } = *request;
        let comm = self.mpi.comms.find(request.comm);
        match request.work {
            Work::Send => send_link(buffers, m, comm, peer, tag, bytes),
            _ if peer != self.abi().any_source && tag != self.abi().any_tag => {
                recv_id(m, comm, peer, tag)
            }
            _ => 0,
        }
    }
}
