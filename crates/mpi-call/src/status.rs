//! Statuses: passes our own if the program wants none and a wildcard must be known, and reads what they say.

use crate::buffers::CallBuffers;
use crate::decoder::Decoder;
use headwater_mpi_abi::Role;

impl Decoder<'_> {
    /// If the program wants no status and we need one, passes ours. Inlined, as most calls have no such argument or
    /// want a status.
    #[inline]
    pub fn own_status(&mut self, buffers: &mut CallBuffers) {
        let Some(at) = self.shape.at(Role::Status) else {
            return;
        };
        let raw = self.args.raw(at);
        if self.ignored(raw) {
            self.args.replace(at, buffers.statuses.as_mut_ptr() as u64);
        }
    }

    /// The same for an array of statuses, one for each request of the call. Inlined, as `MPI_Test` has none.
    #[inline]
    pub fn own_statuses(&mut self, buffers: &mut CallBuffers) {
        let Some(at) = self.shape.at(Role::Statuses) else {
            return;
        };
        let raw = self.args.raw(at);
        if self.ignored(raw) {
            let needed = buffers.handles.len() * self.abi().status_bytes;
            let length = buffers.statuses.len().max(needed);
            let more = length - buffers.statuses.len();
            if buffers.statuses.try_reserve(more).is_err() {
                // Without memory for them, the statuses stay ignored, and no request is looked at afterwards.
                buffers.handles.clear();
                return self.mpi.host.stop();
            }
            buffers.statuses.resize(length, 0);
            self.args.replace(at, buffers.statuses.as_mut_ptr() as u64);
        }
    }

    /// Whether this is one of the addresses that mean "no status".
    fn ignored(&self, raw: u64) -> bool {
        if self.args.fortran() {
            self.mpi.library.fortran_ignore.contains(&raw)
        } else {
            raw == self.abi().status_ignore || raw == self.abi().statuses_ignore
        }
    }

    /// Whether status number `i` at `address` says that its request was cancelled.
    #[cold]
    pub fn was_cancelled(&self, address: u64, i: usize) -> bool {
        let real = (self.mpi.library.find)("MPI_Test_cancelled");
        let mut flag = 0i32;
        if real != 0 && address != 0 && !self.ignored(address) {
            // SAFETY: a status that the library has just written, the program's or ours.
            unsafe {
                let ask: unsafe extern "C" fn(*const u8, *mut i32) -> i32 =
                    std::mem::transmute(real);
                let status = (address as *const u8).add(i * self.abi().status_bytes);
                ask(status, &mut flag);
            }
        }
        flag != 0
    }

    /// Source and tag of status number `i` at `address`; wildcards if there is no status.
    pub fn status(&self, address: u64, i: usize) -> (i32, i32) {
        if address == 0 || self.ignored(address) {
            return (self.abi().any_source, self.abi().any_tag);
        }
        // SAFETY: a status that the library has just written, the program's or ours.
        unsafe {
            let base = (address as *const u8).add(i * self.abi().status_bytes);
            (
                base.add(self.abi().status_source)
                    .cast::<i32>()
                    .read_unaligned(),
                base.add(self.abi().status_tag)
                    .cast::<i32>()
                    .read_unaligned(),
            )
        }
    }
}
