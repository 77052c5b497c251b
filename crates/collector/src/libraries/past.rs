//! Finds libraries whose calls of MPI bypass us.
//!
//! A library that is opened with `RTLD_DEEPBIND` finds symbols in its own dependencies before it looks at what was
//! loaded first, which includes us. Its calls are not recorded, and this is reported. Only functions that such a
//! library has called, or that the loader had to look up at once, can be seen. Functions that a Fortran library calls
//! are not seen, and neither is a library that is closed before the end.

use crate::guest::usage;
use crate::libraries::{abi, references::modules};
use crate::storage::process_spool;
use headwater_mpi_abi::id_of;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many modules were loaded together with us: the program opened none of these itself.
static FIRST: AtomicUsize = AtomicUsize::new(0);

/// Counts what is loaded with us.
pub fn start() {
    let mut count = 0;
    modules(|_| count += 1);
    FIRST.store(count, Ordering::Relaxed);
}

/// Reports which libraries hold addresses of the MPI library's own functions.
pub fn report_bypasses() {
    if usage::IS_LINKED {
        return;
    }
    let mut found: Vec<String> = Vec::new();
    let mut at = 0;
    modules(|module| {
        at += 1;
        if at <= FIRST.load(Ordering::Relaxed) {
            return;
        }
        let mut is_past_us = false;
        module.references(|reference| {
            if !is_past_us {
                let function = reference.name().to_str().ok().and_then(id_of);
                is_past_us = function.is_some_and(|id| abi::is_librarys(id, reference.holds()));
            }
        });
        if is_past_us {
            found.push(module.path().to_string_lossy().into_owned());
        }
    });
    for path in found {
        process_spool::say(&format!(
            "Calls of MPI in {path} were not recorded: it was opened so that it finds the MPI library before Headwater (RTLD_DEEPBIND)."
        ));
    }
}
