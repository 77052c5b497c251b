//! Finds threads that wait for one another in the memory allocator (PerFlow, 5.5: Vite): the place is the loop of the
//! program that allocates.

use crate::find::finder::{Does, Finder};
use crate::find::threads::lock_contention::contention;
use headwater_model::diagnosis::CauseClass;

/// The finder.
pub const FINDER: Finder = Finder {
    name: "allocator-contention",
    about: "Places where threads wait for one another in the memory allocator.",
    needs_alike: false,
    needs_charged: false,
    does: Does::Proposes(|l| contention(l, CauseClass::AllocatorContention)),
};
