//! A call being decoded: its arguments by their roles.
//!
//! [`Decoder::before`] reads what the call may overwrite, [`Decoder::after`] what the library has written. Neither
//! holds the process's messages while the library runs.

use crate::args::Args;
use crate::comms::{Comm, Origin};
use crate::mpi::Mpi;
use crate::record::{NO_PARAMS, Params};
use crate::shape::Shape;
use headwater_model::run::peer;
use headwater_mpi_abi::{Abi, Class, Function, Role};

/// A call being decoded.
pub struct Decoder<'a> {
    /// Where its arguments are.
    pub(crate) shape: &'a Shape,
    /// What is called.
    pub(crate) function: &'a Function,
    /// Its arguments.
    pub(crate) args: &'a mut Args,
    /// What is known about MPI in this process.
    pub(crate) mpi: &'a Mpi,
}

/// What is known before the call and needed after it.
pub struct Before {
    /// The parameters that the call is counted by.
    pub params: Params,
    pub(crate) comm: Option<&'static Comm>,
    pub(crate) comm_handle: u64,
    pub(crate) origin: Origin,
    pub(crate) source: i32,
    pub(crate) recv_tag: i32,
    pub(crate) send_id: u64,
    pub(crate) recv_id: u64,
    pub(crate) recv_bytes: u64,
}

impl Before {
    /// Nothing yet.
    pub const NOTHING: Self = Self {
        params: NO_PARAMS,
        comm: None,
        comm_handle: 0,
        origin: Origin::Unknown,
        source: 0,
        recv_tag: 0,
        send_id: 0,
        recv_id: 0,
        recv_bytes: 0,
    };
}

impl<'a> Decoder<'a> {
    /// Decodes a call of `function`, whose arguments are where `shape` says.
    #[inline]
    pub fn new(mpi: &'a Mpi, function: &'a Function, shape: &'a Shape, args: &'a mut Args) -> Self {
        Self {
            shape,
            function,
            args,
            mpi,
        }
    }

    /// Calls the library with the arguments as they are now, and returns the error code.
    ///
    /// # Safety
    /// `real` is the library's function for this call.
    #[inline]
    pub unsafe fn call(&self, real: usize) -> i32 {
        // SAFETY: promised by the caller.
        unsafe { self.args.call_of(real, self.function.roles.len()) }
    }

    /// The arguments as they are passed on.
    #[inline]
    pub fn args(&mut self) -> &mut Args {
        self.args
    }

    /// How the library represents things.
    #[inline]
    pub(crate) fn abi(&self) -> &'static Abi {
        self.mpi.library.abi
    }

    pub(crate) fn int(&self, role: Role) -> i32 {
        self.shape.at(role).map_or(0, |at| self.args.int(at))
    }

    /// The handle and the communicator of the call. An RMA window is treated as a communicator.
    pub(crate) fn comm(&self) -> (u64, Option<&'static Comm>) {
        if let Some(window) = self.window() {
            return window;
        }
        let handle = self
            .shape
            .at(Role::Comm)
            .map_or(0, |at| self.args.handle(at, &self.mpi.library.comm));
        (handle, self.mpi.comms.find(handle))
    }

    fn offset(&self, comm: Option<&Comm>, rank: i32) -> i32 {
        if rank == self.abi().proc_null {
            return peer::PROC_NULL;
        }
        if rank == self.abi().any_source {
            return peer::ANY;
        }
        comm.and_then(|c| c.world(rank))
            .map_or(peer::UNKNOWN, |w| w as i32 - self.mpi.rank as i32)
    }

    pub(crate) fn params(&self, comm: Option<&Comm>, rank: i32, tag: i32, bytes: u64) -> Params {
        Params {
            comm: comm.map_or(u16::MAX, |c| c.index),
            peer: self.offset(comm, rank),
            tag,
            bytes,
        }
    }

    /// Whether the call is of a class with functions that ask without waiting. Those have a flag among their
    /// arguments.
    #[inline]
    pub(crate) fn polls(&self) -> bool {
        matches!(
            self.function.class,
            Class::Test | Class::Probe | Class::WinWait | Class::Arrived
        )
    }

    /// Whether the call says which message it receives: it has no wildcard.
    pub(crate) fn known(&self, before: &Before) -> bool {
        before.source != self.abi().any_source && before.recv_tag != self.abi().any_tag
    }
}
