//! Files: an open one is known as a communicator of its own, which its opening, being collective, makes alike on all
//! ranks that have it. So its collectives are told apart from others, and wait as those do.

use crate::comms::{self, Comm};
use crate::roles::Decoder;
use headwater_mpi_abi::Role;

/// Set in the handle of a file, where [`comms`] keeps it.
const FILE: u64 = 1 << 62;
/// The same, of the number that Fortran has for it.
const FORTRANS: u64 = 1 << 61;

impl Decoder<'_> {
    /// A file is an address in C under every library but those whose handles are all alike, and a number in Fortran.
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

    /// The file of the call, as communicators are found.
    pub fn file(&self) -> (u64, Option<&'static Comm>) {
        let handle = self.file_handle().unwrap_or(0);
        (handle, comms::find(handle))
    }

    /// The call has opened a file, for all of `comm`.
    pub fn file_opened(&self, comm: Option<&Comm>) {
        if let (Some(handle), Some(comm)) = (self.file_handle(), comm) {
            comms::made_of(handle, comm);
        }
    }
}
