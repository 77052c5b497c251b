//! Where the meaningful arguments of a function are, from the table of functions.

use headwater_mpi_abi::{Function, Role};

/// Positions of the arguments of a function by role.
pub struct Shape {
    at: [u8; Role::COUNT],
    /// Whether counts are wide.
    pub large: bool,
    /// Whether a rank's count is that of the part for each partner.
    pub to_each: bool,
}

/// No such argument.
const ABSENT: u8 = u8::MAX;

impl Shape {
    /// The shape of a function.
    pub fn new(function: &Function) -> Self {
        let mut at = [ABSENT; Role::COUNT];
        for (i, role) in function.roles.iter().enumerate().rev() {
            if let Some(place) = at.get_mut(*role as usize) {
                *place = i as u8;
            }
        }
        Self {
            at,
            large: function.name.ends_with("_c"),
            to_each: ["alltoall", "reduce_scatter_block"]
                .iter()
                .any(|n| function.name.to_lowercase().contains(n)),
        }
    }

    /// Position of the first argument with a role.
    #[inline]
    pub fn at(&self, role: Role) -> Option<u8> {
        self.at.get(role as usize).copied().filter(|a| *a != ABSENT)
    }
}
