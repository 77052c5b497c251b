//! Undoes the program's weak references to MPI functions that its library does not have.
//!
//! A program may use a weak reference to ask whether a function exists, and do without it, as mpi4py does for
//! functions of MPI 4. Our wrappers define every function of the table. So references to functions that the library
//! lacks are set to null, as the loader would have left them without us. This is done in `MPI_Init`. Code that asks
//! earlier, by `dlsym`, or in a library that is opened later finds our wrapper, which then fails.

use crate::libraries::{
    abi,
    references::{Reference, modules},
};
use headwater_mpi_abi::id_of;
use std::ops::Range;
use std::sync::Once;

/// Undoes the weak references of all modules to wrappers without a function behind them. To be called when the
/// library is there. It works only once, so that no two threads do this at the same time.
pub fn undo() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // If nothing is found, nothing is known to be missing.
        if abi::pmpi("MPI_Init") == 0 {
            return;
        }
        let ours = ours();
        let mut found: Vec<(u64, u16)> = Vec::new();
        each_to(&ours, |reference, function| {
            found.push((reference.at, function));
        });
        // The library is asked while the loader's lock is free. What was found is then looked at again under the
        // lock, because its module may be gone.
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

/// Passes all weak references to our wrappers, with their functions, to `each`.
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
