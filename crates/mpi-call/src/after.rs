//! What a call says after the library has returned: which messages came, which requests it has made.

use crate::buffers::CallBuffers;
use crate::decoder::{Before, Decoder};
use crate::message_ids::{collective_posted, recv_id, recv_link, unknown_from_now_on};
use crate::messages::Messages;
use crate::record::{Link, Outcome, Params, Post};
use crate::requests::{Request, Work};
use headwater_model::run::{EventKind, peer};
use headwater_mpi_abi::{Class, Mode, Role};

/// Makes a context of the thread with this number one of the calling thread's; `u32::MAX` is none.
pub type Adopt<'a> = &'a mut dyn FnMut(u32, u32) -> u32;

impl Decoder<'_> {
    /// Runs after the call, whose error code is `result`. Corrects the parameters that the call is counted by. `adopt`
    /// makes a context of another thread one of the calling thread's; `u32::MAX` is none.
    #[inline]
    pub fn after(
        &mut self,
        buffers: &mut CallBuffers,
        call: &Post,
        before: &mut Before,
        result: i32,
        adopt: Adopt,
    ) -> Outcome {
        if result != 0 {
            return Outcome::default();
        }
        let flag = self.shape.at(Role::Flag);
        if self.polls() && flag.is_some_and(|at| self.args.int_at(at, 0) == 0) {
            return Outcome {
                idle: true,
                ..Outcome::default()
            };
        }
        if self.function.class == Class::CommCreate
            && let Some(at) = self.shape.at(Role::Newcomm)
        {
            self.mpi
                .comms
                .created(self.function.name, self.args, at, before.origin);
        }
        if self.function.class == Class::WinCreate {
            self.window_made(before.origin);
        }
        let mut m = self.mpi.messages();
        let met_the_world = self.read_after(buffers, call, before, &mut m, adopt);
        if self.function.mode == Mode::Persistent {
            // Bytes move when the request is started.
            before.params.bytes = 0;
        }
        Outcome {
            idle: false,
            met_the_world,
        }
    }

    /// Returns whether the call was a collective that all ranks of the world count alike.
    fn read_after(
        &mut self,
        buffers: &mut CallBuffers,
        call: &Post,
        before: &Before,
        m: &mut Messages,
        adopt: Adopt,
    ) -> bool {
        let params = &before.params;
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
                recv_link(
                    buffers,
                    before.comm,
                    source,
                    id,
                    before.recv_bytes,
                    (u32::MAX, 0),
                );
            }
            (Class::Probe, _) if self.shape.at(Role::Message).is_some() => {
                self.probed(buffers, before, params, m);
            }
            (Class::Recv, Mode::Blocking) => {}
            (Class::Send | Class::Recv | Class::SendRecv, _) => {
                self.remember(buffers, call, before, params, m);
            }
            (Class::Wait | Class::Test, _) => self.completed(buffers, m, adopt),
            (Class::WinStart | Class::WinComplete | Class::WinWait, _) => {
                self.receive_epoch_messages(buffers, m)
            }
            (Class::FileOpen, _) => self.file_opened(before.comm, before.origin),
            (Class::Channel, _) => self.channel_made(buffers, call, params, m),
            (Class::SessionInit, _) => self.mpi.host.session_opened(self.args),
            (Class::Spawn, _) => self.mpi.spawned.call_once(|| {
                self.mpi.host.say(
                    "The program starts processes by MPI_Comm_spawn: those were not recorded.",
                );
            }),
            _ if self.function.is_collective() && self.function.mode != Mode::Blocking => {
                self.remember(buffers, call, before, params, m);
            }
            _ => {}
        }
        let world = before.comm.is_some_and(|c| c.size == self.mpi.size);
        // By default, calls on files return errors, maybe on some ranks only. The count must be equal on all ranks,
        // so these calls are left out.
        let file = matches!(self.function.class, Class::FileOpen | Class::FileAll);
        let counts = self.function.is_collective() && !file && self.function.mode == Mode::Blocking;
        world && counts
    }

    /// Records the request that a call has made.
    fn remember(
        &self,
        buffers: &mut CallBuffers,
        call: &Post,
        before: &Before,
        params: &Params,
        m: &mut Messages,
    ) {
        let Some(at) = self.shape.at(Role::Req) else {
            return;
        };
        let handle = self.args.handle_at(at, 0, &self.mpi.library.request);
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
            m.rank.wrapping_add_signed(params.peer)
        };
        let request = Request {
            made: 0,
            thread: buffers.thread,
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
            buffers
                .links
                .push(Link::new(EventKind::RecvPost, before.recv_id, from, bytes));
        }
        if work == Work::Collective {
            collective_posted(buffers, before.recv_id, root, bytes);
        }
        m.requests.insert(request);
    }
}
