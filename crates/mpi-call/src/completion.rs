//! Handles requests that are completed: received messages, sends that were waited for, collectives, cancelled
//! receives.

use crate::after::Adopt;
use crate::buffers::CallBuffers;
use crate::decoder::Decoder;
use crate::message_ids::{call_off, lost, recv_id, recv_link};
use crate::messages::Messages;
use crate::record::Link;
use crate::requests::{Request, Work};
use headwater_model::run::EventKind;
use headwater_mpi_abi::Role;

impl Decoder<'_> {
    /// Finds out which requests a wait or test has completed.
    pub fn completed(&self, buffers: &mut CallBuffers, m: &mut Messages, adopt: Adopt) {
        let handles = std::mem::take(&mut buffers.handles);
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
                    self.finish(buffers, m, *h, (many, i), adopt);
                }
            }
        } else if let Some(at) = self.shape.at(Role::Index) {
            let which = self.args.int_at(at, 0) - base;
            if let Some(h) = usize::try_from(which).ok().and_then(|w| handles.get(w)) {
                self.finish(buffers, m, *h, (one, 0), adopt);
            }
        } else {
            for (i, h) in handles.iter().enumerate() {
                self.finish(
                    buffers,
                    m,
                    *h,
                    if many != 0 { (many, i) } else { (one, 0) },
                    adopt,
                );
            }
        }
        buffers.handles = handles;
        // If a call also completes receives, it has waited for those, as far as can be known.
        let waits = |kind| kind == EventKind::Recv as u8 || kind == EventKind::Collective as u8;
        if buffers.links.iter().any(|l| waits(l.kind)) {
            buffers
                .links
                .retain(|l| l.kind != EventKind::SendDone as u8);
        }
    }

    /// Takes back the number of a receive that was cancelled; `id` is that of its message.
    pub fn call_off(&self, m: &mut Messages, request: &Request, id: u64) {
        if request.work == Work::Recv && request.id != 0 {
            let comm = self.mpi.comms.find(request.comm);
            call_off(m, comm, request.peer, request.tag, id);
        }
    }

    fn finish(
        &self,
        buffers: &mut CallBuffers,
        m: &mut Messages,
        handle: u64,
        status: (u64, usize),
        adopt: Adopt,
    ) {
        let Some(mut request) = m.requests.finish(handle, buffers.made) else {
            return;
        };
        if request.thread != buffers.thread {
            // Each thread has contexts of its own. The sampler takes no sample here, as in any call.
            request.post.0 = adopt(request.thread, request.post.0);
        }
        // Waiting for a persistent request that was not started says nothing.
        if !request.active {
            return;
        }
        if request.cancelled && self.was_cancelled(status.0, status.1) {
            self.call_off(m, &request, request.id);
            return;
        }
        let comm = self.mpi.comms.find(request.comm);
        match request.work {
            Work::Matched => {}
            // No message came, and MPICH 4.0 does not write the status of such an MPI_Isendrecv.
            Work::Recv if request.peer == self.abi().proc_null => {}
            Work::Send => {
                if request.id != 0 {
                    let to = comm.and_then(|c| c.world(request.peer));
                    let mut l = Link::new(
                        EventKind::SendDone,
                        request.id,
                        to.unwrap_or(u32::MAX),
                        request.bytes,
                    );
                    (l.post_ctx, l.post_ns) = request.post;
                    buffers.links.push(l);
                }
            }
            Work::Recv => {
                if request.id != 0 && lost(m, comm, request.peer, request.tag) {
                    return;
                }
                let (mut id, mut source) = (request.id, request.peer);
                if id == 0 {
                    let (s, tag) = self.status(status.0, status.1);
                    source = s;
                    id = recv_id(m, comm, s, tag);
                }
                recv_link(buffers, comm, source, id, request.bytes, request.post);
            }
            Work::Collective => {
                let mut l = Link::new(
                    EventKind::Collective,
                    request.id,
                    request.root,
                    request.bytes,
                );
                (l.post_ctx, l.post_ns) = request.post;
                l.posted_by = Some(request.made_by);
                buffers.links.push(l);
            }
        }
    }
}
