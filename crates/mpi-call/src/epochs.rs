//! One-sided communication: which rank waits for which at the beginning and at the end of epochs.
//!
//! An RMA window is treated as a communicator of its own. Its creation is collective, so it is the same on all its
//! members. A fence is a collective on it. Opening a window to other ranks is a message to each of them, and ending
//! the access is a message back. These messages are numbered like others, on streams of their own, with tags that no
//! program can use. A library may let `MPI_Win_start` return at once and wait at the other end of the epoch, so
//! opening is a message to both ends.
//!
//! Only the target knows which rank holds the lock of its window, and maybe not even the target. What such calls ask
//! for is recorded in event windows. The reader infers from them which rank waited for which, because it has the
//! calls of all ranks.

use crate::buffers::CallBuffers;
use crate::comms::{Comm, Origin};
use crate::decoder::Decoder;
use crate::message_ids::{recv_id, recv_link, send_link};
use crate::messages::Messages;
use crate::record::{Link, NO_PARAMS, Params};
use headwater_model::run::EventKind;
use headwater_model::run::access;
use headwater_mpi_abi::{Class, Role};

/// Set in the handle of an RMA window under which [`crate::comms`] stores it.
const WINDOW: u64 = 1 << 63;
/// The kind of row that RMA windows share.
const WINDOWS: u64 = 0x7769_6e73;

/// Used as tags. The first two say that a window is open, to the call that starts access and to the one that ends it.
/// The third says that access is over.
const OPEN: i32 = i32::MIN + 16;
const STILL_OPEN: i32 = i32::MIN + 17;
const CLOSED: i32 = i32::MIN + 18;

/// An epoch in progress.
pub struct Epoch {
    window: u64,
    /// Whether it is one of access to the memory of others, and not of others to ours.
    access: bool,
    /// The others, by their ranks in the window.
    partners: Vec<i32>,
}

impl Decoder<'_> {
    /// The RMA window of the call: its handle, and the communicator that represents the window.
    pub fn window(&self) -> Option<(u64, Option<&'static Comm>)> {
        let at = self.shape.at(Role::Win)?;
        let handle = self.args.handle(at, &self.mpi.library.win) | WINDOW;
        Some((handle, self.mpi.comms.find(handle)))
    }

    /// Whether a fence may let early ranks pass without waiting for the others.
    pub fn waits_for_nobody(&self) -> bool {
        let asserted = self
            .shape
            .at(Role::Assert)
            .map_or(0, |at| self.args.int(at));
        asserted & self.abi().no_precede != 0
    }

    /// The call has made a window.
    pub fn window_made(&self, origin: Origin) {
        if let (Some(at), (_, Some(comm))) = (self.shape.at(Role::Newwin), self.comm()) {
            let handle = self.args.handle_at(at, 0, &self.mpi.library.win);
            self.mpi
                .comms
                .made_of(handle | WINDOW, comm, WINDOWS, origin);
        }
    }

    /// The call is about to free its window.
    pub fn window_freed(&self, m: &mut Messages) {
        if let Some(at) = self.shape.at(Role::Newwin) {
            let handle = self.args.handle_at(at, 0, &self.mpi.library.win) | WINDOW;
            m.epochs.retain(|e| e.window != handle);
            self.mpi.comms.forget(handle);
        }
    }

    /// Before a call that begins or ends an epoch: records the messages to its partners.
    pub fn send_epoch_messages(&self, buffers: &mut CallBuffers, m: &mut Messages) {
        let Some((window, comm)) = self.window() else {
            return;
        };
        let (tags, access): (&[i32], bool) = match self.function.class {
            Class::WinPost => (&[OPEN, STILL_OPEN], false),
            Class::WinStart => (&[], true),
            Class::WinComplete => (&[CLOSED], true),
            _ => return,
        };
        if matches!(self.function.class, Class::WinPost | Class::WinStart) {
            let partners = self.group(window & !WINDOW).unwrap_or_default();
            m.epochs.push(Epoch {
                window,
                access,
                partners,
            });
        }
        for i in 0..partners(m, window, access) {
            for tag in tags {
                if let Some(to) = partner(m, window, access, i) {
                    send_link(buffers, m, comm, to, *tag, 0);
                }
            }
        }
    }

    /// After such a call: records the messages that it may have waited for.
    pub fn receive_epoch_messages(&self, buffers: &mut CallBuffers, m: &mut Messages) {
        let Some((window, comm)) = self.window() else {
            return;
        };
        let (tag, access, over) = match self.function.class {
            Class::WinStart => (OPEN, true, false),
            Class::WinComplete => (STILL_OPEN, true, true),
            Class::WinWait => (CLOSED, false, true),
            _ => return,
        };
        for i in 0..partners(m, window, access) {
            if let Some(from) = partner(m, window, access, i) {
                let id = recv_id(m, comm, from, tag);
                recv_link(buffers, comm, from, id, 0, (u32::MAX, 0));
            }
        }
        if over {
            m.epochs
                .retain(|e| (e.window, e.access) != (window, access));
        }
    }

    /// Before a call that asks for the lock of a target or of all targets, waits there, or releases the lock. Records
    /// the call and returns the parameters that it is counted by.
    pub fn reach(&self, buffers: &mut CallBuffers, comm: Option<&Comm>) -> Params {
        let target = self.shape.at(Role::Dest).map(|at| self.args.int(at));
        let params = match target {
            Some(rank) => self.params(comm, rank, NO_PARAMS.tag, 0),
            None => Params {
                comm: comm.map_or(u16::MAX, |c| c.index),
                ..NO_PARAMS
            },
        };
        let kind = match self.function.class {
            Class::WinLock => access::LOCK,
            Class::WinUnlock => access::UNLOCK,
            _ => access::FLUSH,
        };
        let whose = |comm: &Comm| target.map_or(Some(access::ALL), |rank| comm.world(rank));
        if let Some((comm, whose)) = comm.and_then(|c| Some((c, whose(c)?))) {
            let asked = self.shape.at(Role::Lock).map(|at| self.args.int(at));
            let exclusive = asked == Some(self.abi().lock_exclusive);
            let mut access = Link::new(EventKind::Local, comm.hash, whose, exclusive.into());
            access.kind = kind;
            buffers.links.push(access);
        }
        params
    }

    /// Ranks of the call's group in the window.
    fn group(&self, window: u64) -> Option<Vec<i32>> {
        let group = self
            .args
            .handle(self.shape.at(Role::Group)?, &self.mpi.library.group);
        let real = self.mpi.library.functions([
            "MPI_Group_size",
            "MPI_Win_get_group",
            "MPI_Group_translate_ranks",
            "MPI_Group_free",
        ])?;
        type Size = unsafe extern "C" fn(u64, *mut i32) -> i32;
        type Whole = unsafe extern "C" fn(u64, *mut u64) -> i32;
        type Translate = unsafe extern "C" fn(u64, i32, *const i32, u64, *mut i32) -> i32;
        type Free = unsafe extern "C" fn(*mut u64) -> i32;
        let (mut size, mut all) = (0i32, 0u64);
        // SAFETY: the library's functions with arguments of their signatures. All are local operations, on a group
        // and a window that the program passes to MPI in this very call. The group that is made is freed in the
        // library's own width.
        unsafe {
            let (ask, whole): (Size, Whole) = (
                std::mem::transmute::<usize, Size>(real[0]),
                std::mem::transmute::<usize, Whole>(real[1]),
            );
            ask(group, &mut size);
            whole(window, &mut all);
            let ranks: Vec<i32> = (0..size).collect();
            let mut there = vec![-1i32; ranks.len()];
            let translate = std::mem::transmute::<usize, Translate>(real[2]);
            translate(
                group,
                size,
                ranks.as_ptr(),
                self.mpi.library.narrow(all),
                there.as_mut_ptr(),
            );
            std::mem::transmute::<usize, Free>(real[3])(&mut all);
            Some(there)
        }
    }
}

fn epoch(m: &Messages, window: u64, access: bool) -> Option<&Epoch> {
    let mut all = m.epochs.iter();
    all.find(|e| (e.window, e.access) == (window, access))
}

/// How many partners an epoch has.
fn partners(m: &Messages, window: u64, access: bool) -> usize {
    epoch(m, window, access).map_or(0, |e| e.partners.len())
}

fn partner(m: &Messages, window: u64, access: bool, i: usize) -> Option<i32> {
    epoch(m, window, access)?.partners.get(i).copied()
}
