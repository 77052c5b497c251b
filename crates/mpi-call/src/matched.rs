//! Messages that a probe has matched.
//!
//! For their order, and for the wait for their sender, they are received by the probe. The later receive only moves
//! the data.

use crate::buffers::CallBuffers;
use crate::decoder::{Before, Decoder};
use crate::message_ids::{recv_id, recv_link};
use crate::messages::Messages;
use crate::record::Params;
use crate::requests::{Request, Work};
use headwater_mpi_abi::Role;

/// Set in the handle of a matched message under which [`Messages`] stores it as a request.
const MATCHED: u64 = 1 << 63;

impl Decoder<'_> {
    /// The message that the call receives.
    pub fn matched(&self, m: &mut Messages) -> Option<Request> {
        let handle =
            self.args
                .handle_at(self.shape.at(Role::Message)?, 0, &self.mpi.library.message);
        let matched = m.requests.get(handle | MATCHED).copied();
        m.requests.remove(handle | MATCHED);
        matched
    }

    /// A probe has matched a message, which belongs to this rank from now on.
    pub fn probed(
        &self,
        buffers: &mut CallBuffers,
        before: &Before,
        params: &Params,
        m: &mut Messages,
    ) {
        let (mut source, mut tag) = (before.source, before.recv_tag);
        if !self.known(before) {
            let status = self.shape.at(Role::Status);
            (source, tag) = self.status(status.map_or(0, |at| self.args.raw(at)), 0);
        }
        let id = recv_id(m, before.comm, source, tag);
        recv_link(
            buffers,
            before.comm,
            source,
            id,
            params.bytes,
            (u32::MAX, 0),
        );
        let Some(at) = self.shape.at(Role::Message) else {
            return;
        };
        m.requests.insert(Request {
            made: 0,
            thread: buffers.thread,
            handle: self.args.handle_at(at, 0, &self.mpi.library.message) | MATCHED,
            work: Work::Matched,
            persistent: false,
            active: true,
            cancelled: false,
            comm: before.comm_handle,
            made_by: (u16::MAX, params.comm),
            peer: source,
            tag,
            bytes: 0,
            id,
            root: u32::MAX,
            post: (u32::MAX, 0),
        });
    }
}
