//! Computes how many bytes a call moves.

use crate::comms::Comm;
use crate::decoder::Decoder;
use crate::messages::Messages;
use headwater_mpi_abi::{Class, Role};

/// Longer lists are not summed up: that would take noticeable time.
const MOST_PARTNERS: u32 = 4096;

impl Decoder<'_> {
    fn size_of(&self, m: &mut Messages, role: Role) -> u64 {
        let Some(at) = self.shape.at(role) else {
            return 0;
        };
        self.size_of_handle(m, self.args.handle(at, &self.mpi.library.datatype))
    }

    fn size_of_handle(&self, m: &mut Messages, handle: u64) -> u64 {
        let slot = headwater_model::hash::mix(handle) as usize % m.types.len();
        if let Some(known) = m.types.get(slot).filter(|t| t.0 == handle) {
            return known.1;
        }
        let real = (self.mpi.library.find)("MPI_Type_size");
        if real == 0 || handle == 0 {
            return 0;
        }
        let mut size = 0i32;
        // SAFETY: a datatype that the program passes to MPI in this very call.
        unsafe {
            let get: unsafe extern "C" fn(u64, *mut i32) -> i32 = std::mem::transmute(real);
            get(handle, &mut size);
        }
        if let Some(place) = m.types.get_mut(slot) {
            *place = (handle, size.max(0) as u64);
        }
        size.max(0) as u64
    }

    /// Forgets the size of a datatype: another one may get the same handle.
    pub fn forget_type(&self, m: &mut Messages) {
        let Some(at) = self.shape.at(Role::Type) else {
            return;
        };
        let handle = self.args.handle_at(at, 0, &self.mpi.library.datatype);
        let slot = headwater_model::hash::mix(handle) as usize % m.types.len();
        if let Some(known) = m.types.get_mut(slot).filter(|t| t.0 == handle) {
            known.0 = u64::MAX;
        }
    }

    /// Bytes of a count of a datatype.
    pub fn bytes(&self, m: &mut Messages, count: Role, datatype: Role) -> u64 {
        let n = self
            .shape
            .at(count)
            .map_or(0, |at| self.args.count(at, self.shape.large));
        // With a count of 0, the datatype may be anything.
        if n == 0 {
            0
        } else {
            n * self.size_of(m, datatype)
        }
    }

    /// Bytes of a collective: what this rank sends. If it sends nothing of its own (scatters, data in place), what it
    /// receives. If each partner gets a part of its own, all parts.
    pub fn collective_bytes(&self, m: &mut Messages, comm: &Comm) -> u64 {
        let in_place = |raw: u64| {
            raw == self.abi().in_place || self.mpi.library.fortran_in_place.contains(&raw)
        };
        let two_sided = self.shape.at(Role::Rtype).is_some();
        // In place, the lists of an exchange with a datatype for each partner are not valid.
        if in_place(self.args.raw(0)) && self.shape.at(Role::Types).is_some() {
            return 0;
        }
        let takes =
            two_sided && (self.function.class == Class::OneToAll || in_place(self.args.raw(0)));
        let (counts, datatype) = if takes {
            ([Role::Rcount, Role::Rcounts], Role::Rtype)
        } else if self.shape.at(Role::Count).is_some() || self.shape.at(Role::Counts).is_some() {
            ([Role::Count, Role::Counts], Role::Type)
        } else {
            ([Role::Rcount, Role::Rcounts], Role::Type)
        };
        let partners = match self.function.class {
            Class::Neighbour => comm.neighbours.unwrap_or(0),
            _ => comm.size,
        };
        if let Some(at) = self.shape.at(counts[0]) {
            // The root of a scatter in place neither sends to itself nor receives.
            if takes && in_place(self.args.raw(at.saturating_sub(1))) {
                return 0;
            }
            let parts = if self.shape.to_each { partners } else { 1 };
            return u64::from(parts) * self.bytes(m, counts[0], datatype);
        }
        match self.shape.at(counts[1]) {
            Some(at) if !self.shape.large && partners <= MOST_PARTNERS => {
                self.listed_bytes(m, at, partners, datatype)
            }
            _ => 0,
        }
    }

    /// Bytes of a list of `n` counts at argument `at`, each with its own datatype if there is a list of those too.
    fn listed_bytes(&self, m: &mut Messages, at: u8, n: u32, datatype: Role) -> u64 {
        let count = |i: usize| self.args.int_at(at, i).max(0) as u64;
        let parts = 0..n as usize;
        if let Some(types) = self.shape.at(Role::Types) {
            let convert = &self.mpi.library.datatype;
            return parts
                .filter(|i| count(*i) > 0)
                .map(|i| count(i) * self.size_of_handle(m, self.args.handle_at(types, i, convert)))
                .sum();
        }
        match parts.map(count).sum() {
            0 => 0,
            sum => sum * self.size_of(m, datatype),
        }
    }
}
