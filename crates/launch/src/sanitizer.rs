//! Programs that were built with a sanitizer, whose own library must come before all others.
//!
//! AddressSanitizer ends a program if another preloaded object comes first. It also works behind the collector, so an
//! option makes it skip the check of the order. ThreadSanitizer sees locks through functions that the collector wraps
//! too, and reports faults that the program does not have. So a program with ThreadSanitizer is not recorded.

use crate::program::{self, holds};
use object::{Object, ObjectSymbol};
use std::ffi::OsString;
use std::path::Path;

/// ThreadSanitizer's own start function, which every program that was built with ThreadSanitizer calls.
const THREAD_SANITIZER: &str = "__tsan_init";

/// Whether a program was built with ThreadSanitizer.
pub(crate) fn has_thread_sanitizer(path: &Path) -> bool {
    program::read(path).is_ok_and(|bytes| holds_thread_sanitizer(&bytes))
}

/// The same for the bytes of a program. A program may have the name in a text only, as a debugger does; so the tables
/// of symbols are read.
pub(crate) fn holds_thread_sanitizer(bytes: &[u8]) -> bool {
    // Most programs are known at once.
    if !holds(bytes, THREAD_SANITIZER) {
        return false;
    }
    let Ok(file) = object::File::parse(bytes) else {
        return false;
    };
    let mut all = file.symbols().chain(file.dynamic_symbols());
    all.any(|symbol| symbol.name() == Ok(THREAD_SANITIZER))
}

/// The variable that AddressSanitizer reads, and its value: what the user has set, and that other libraries may come
/// first.
pub(crate) fn address_sanitizer_behind_others() -> (&'static str, OsString) {
    const NAME: &str = "ASAN_OPTIONS";
    let mut options = std::env::var_os(NAME).unwrap_or_default();
    if !options.is_empty() {
        options.push(":");
    }
    options.push("verify_asan_link_order=0");
    (NAME, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_a_text_is_no_sanitizer() {
        let own = std::env::current_exe().expect("a path");
        let bytes = program::read(&own).expect("reads");
        assert!(holds(&bytes, THREAD_SANITIZER), "this test has the name");
        assert!(!has_thread_sanitizer(&own));
        assert!(!holds_thread_sanitizer(b"#!/bin/sh\n# __tsan_init"));
        assert!(!has_thread_sanitizer(Path::new("/none")));
    }
}
