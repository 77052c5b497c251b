//! Finds the origin of what a call is about to make ([`Origin`]).
//!
//! The origin distinguishes a communicator, an RMA window or a file from others with the same members.

use crate::comms::Origin;
use crate::decoder::Decoder;
use headwater_model::hash::mix2;
use headwater_mpi_abi::Role;

/// Position of the tag in the arguments of the function that makes a communicator from a group alone.
const GROUPS_TAG: u8 = 1;
/// The most bytes of a tag; libraries take 256.
const LONGEST: usize = 1024;

impl Decoder<'_> {
    /// The origin of what the call makes.
    pub fn origin(&self) -> Origin {
        match self.function.name {
            "MPI_Comm_create_from_group" => Origin::Tagged(self.text(GROUPS_TAG)),
            "MPI_Comm_create_group" => {
                let tag = self.shape.at(Role::Tag).map_or(0, |at| self.args.int(at));
                let of = self.comm().1.map_or(0, |c| c.hash);
                Origin::Tagged(mix2(of, u64::from(tag as u32)))
            }
            _ => self.comm().1.map_or(Origin::Unknown, |c| c.next_made()),
        }
    }

    /// The hash of a text. In Fortran, its length comes behind the error code, and blanks at its end do not count.
    fn text(&self, at: u8) -> u64 {
        let first = self.args.raw(at) as *const u8;
        if first.is_null() {
            return 0;
        }
        let roles = u8::try_from(self.function.roles.len()).unwrap_or(u8::MAX);
        let length = if self.args.fortran() {
            self.args.raw(roles.saturating_add(1)) as usize
        } else {
            LONGEST
        };
        // SAFETY: a text of the program's. NUL ends it, or it is as long as the program says.
        let byte = |i: usize| unsafe { first.add(i).read() };
        let whole = (0..length.min(LONGEST)).map(byte).take_while(|b| *b != 0);
        let (mut hash, mut to_last) = (0, 0);
        for byte in whole {
            hash = mix2(hash, u64::from(byte));
            if byte != b' ' {
                to_last = hash;
            }
        }
        to_last
    }
}
