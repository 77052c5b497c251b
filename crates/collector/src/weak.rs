//! Weak references of the program to MPI functions that its library does not have.
//!
//! A program may ask by a weak reference whether there is a function, as mpi4py does for those of MPI 4, and do
//! without it. Our wrapper answers for every function of the table, so such references are undone as the loader
//! would have left them: they become null. That is done in `MPI_Init`; who asks before, by `dlsym` or in a library
//! that is opened later finds our wrapper, which then fails.

use crate::abi;
use crate::references::{Reference, modules};
use headwater_mpi_abi::id_of;
use std::ops::Range;
use std::sync::Once;

/// Undoes the weak references of all modules to wrappers behind which there is nothing. To be called when the
/// library is there; once, so that no two threads do it at a time.
pub fn undo() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Where nothing is found, nothing is known to be missing.
        if abi::pmpi("MPI_Init") == 0 {
            return;
        }
        let ours = ours();
        let mut found: Vec<(u64, u16)> = Vec::new();
        each_to(&ours, |reference, function| {
            found.push((reference.at, function));
        });
        // The library is asked when the loader's lock is free, and what was found is looked at again under it:
        // its module may be gone.
        found.retain(|(at, function)| abi::real(u32::from(*function), *at) == 0);
        if found.is_empty() {
            return;
        }
        each_to(&ours, |reference, _| {
            if found.iter().any(|(at, _)| *at == reference.at) {
                reference.clear();
            }
        });
    });
}

/// The addresses of this object.
pub fn ours() -> Range<u64> {
    let here = undo as *const () as u64;
    let mut ours = 0..0;
    modules(|module| {
        let span = module.span();
        if span.contains(&here) {
            ours = span;
        }
    });
    ours
}

/// Gives all weak references to our wrappers, and their functions.
fn each_to(ours: &Range<u64>, mut each: impl FnMut(&Reference<'_>, u16)) {
    modules(|module| {
        module.references(|reference| {
            if reference.is_weak
                && ours.contains(&reference.holds())
                && let Some(function) = reference.name().to_str().ok().and_then(id_of)
            {
                each(reference, function.0);
            }
        });
    });
}
