//! Files: an open file is treated as a communicator of its own.
//!
//! Opening it is collective, so it is the same on all ranks that have it. Its collectives are distinguished from
//! others, and ranks wait in them as in those.

use crate::buffers::CallBuffers;
use crate::comms::{Comm, Origin};
use crate::decoder::{Before, Decoder};
use crate::messages::Messages;
use crate::record::{NO_PARAMS, Params};
use headwater_mpi_abi::{Class, Role};

/// Set in the handle of a file under which [`crate::comms`] stores it.
const FILE: u64 = 1 << 62;
/// Set too if the handle is the number that Fortran has for the file.
const FORTRANS: u64 = 1 << 61;
/// The kind of row that files share.
const FILES: u64 = 0x6669_6c65;

impl Decoder<'_> {
    /// In C, the handle of a file is an address in every library, except in those whose handles are all of one kind.
    /// In Fortran it is a number.
    fn file_handle(&self) -> Option<u64> {
        let pointed = self.shape.at(Role::Newfile);
        let at = pointed.or(self.shape.at(Role::File))?;
        let raw = self.args.raw(at);
        if self.args.fortran() {
            return Some(FILE | FORTRANS | u64::from(self.args.int(at) as u32));
        }
        let handle = match pointed {
            // SAFETY: the program passes the address of a handle, which is as wide as an address.
            Some(_) => unsafe { (raw as *const u64).as_ref() }.copied()?,
            None => raw,
        };
        Some(FILE | handle)
    }

    /// The file of the call: its handle, and the communicator that represents the file.
    fn file(&self) -> (u64, Option<&'static Comm>) {
        let handle = self.file_handle().unwrap_or(0);
        (handle, self.mpi.comms.find(handle))
    }

    /// Before a collective call on a file.
    pub fn read_file_call(&self, buffers: &mut CallBuffers, m: &mut Messages, out: &mut Before) {
        (out.comm_handle, out.comm) = self.file();
        self.collective(buffers, m, out);
        // Another thread's file may have the same handle as soon as this one is closed.
        if self.function.class == Class::FileClose {
            self.mpi.comms.forget(out.comm_handle);
            out.comm = None;
        }
    }

    /// The parameters that a single rank's call on a file is counted by.
    pub fn file_params(&self, m: &mut Messages) -> Params {
        Params {
            comm: self.file().1.map_or(u16::MAX, |c| c.index),
            bytes: self.bytes(m, Role::Count, Role::Type),
            ..NO_PARAMS
        }
    }

    /// The call has opened a file, for all of `comm`.
    pub fn file_opened(&self, comm: Option<&Comm>, origin: Origin) {
        if let (Some(handle), Some(comm)) = (self.file_handle(), comm) {
            self.mpi.comms.made_of(handle, comm, FILES, origin);
        }
    }
}
