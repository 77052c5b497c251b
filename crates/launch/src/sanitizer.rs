//! Programs that were built with a sanitizer, whose own library must come before all others.
//!
//! AddressSanitizer ends a program if another preloaded object comes first. It also works behind the collector, so an
//! option makes it skip the check of the order. ThreadSanitizer sees locks through functions that the collector wraps
//! too, and reports faults that the program does not have. So a program with ThreadSanitizer is not recorded.

use crate::program::{self, holds};
use std::ffi::OsString;
use std::path::Path;

/// The name of ThreadSanitizer's own start function: it is in every program that was built with ThreadSanitizer.
pub(crate) const THREAD_SANITIZER: &str = "__tsan_init";

/// Whether a program was built with ThreadSanitizer.
pub(crate) fn has_thread_sanitizer(path: &Path) -> bool {
    program::read(path).is_ok_and(|bytes| holds_thread_sanitizer(&bytes))
}

/// The same for the bytes of a program.
pub(crate) fn holds_thread_sanitizer(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x7fELF") && holds(bytes, THREAD_SANITIZER)
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
    fn only_programs_are_looked_into() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let file = dir.path().join("file");
        for (bytes, wanted) in [
            (&b"\x7fELF .. __tsan_init .."[..], true),
            (b"\x7fELF .. __asan_init ..", false),
            (b"#!/bin/sh\n# __tsan_init", false),
        ] {
            std::fs::write(&file, bytes).expect("writes");
            assert_eq!(has_thread_sanitizer(&file), wanted);
        }
        assert!(!has_thread_sanitizer(&dir.path().join("none")));
    }
}
