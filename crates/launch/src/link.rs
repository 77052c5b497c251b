//! The collector as a part of the program: finds what a linker needs if MPI is linked statically, so that no call
//! passes the loader. The archive itself lists which functions of the libc it wraps.

use crate::LaunchError;
use crate::preload::collector_path;
use crate::program::{self, holds};
use crate::sanitizer::holds_thread_sanitizer;
use object::read::archive::ArchiveFile;
use std::path::{Path, PathBuf};

const NAME: &str = "libheadwater_collector.a";

/// The variable that is set for a program that has the collector linked in when it is to record. The collector asks for
/// a variable of this name, so these letters are in such a program. `headwater` must not contain them, or it would be
/// taken for such a program. So they are put together at run time.
pub(crate) fn record_variable() -> String {
    "HEADWATER-RECORD-LINKED".replace('-', "_")
}

/// The prefix of the archive's function that replaces one of the libc's, as the linker's option `--wrap` requires it.
const WRAPPED: &[u8] = b"__wrap_";

/// What to add to the line that links a program.
#[derive(Debug)]
pub struct LinkFlags {
    /// The collector as a static archive.
    pub archive: PathBuf,
    /// Options for the compiler that links, in order. They go before the MPI library.
    pub flags: Vec<String>,
}

/// What to add to the line that links a program, if its MPI library is linked into it.
///
/// # Errors
/// The archive does not exist, or is not one of ours.
pub fn link_flags() -> Result<LinkFlags, LaunchError> {
    let archive = collector_path()?.with_file_name(NAME);
    let bytes = program::read(&archive).map_err(|_| LaunchError::NoArchive(archive.clone()))?;
    let wrapped = wrapped(&bytes).ok_or_else(|| LaunchError::NoArchive(archive.clone()))?;
    let all = wrapped.iter().map(|name| format!(",--wrap={name}"));
    let flags = vec![
        // The whole archive, because libraries behind it also call what it wraps.
        "-Wl,--whole-archive".to_string(),
        archive.display().to_string(),
        "-Wl,--no-whole-archive".to_string(),
        // Removes the wrappers of functions that the library does not have.
        "-Wl,--gc-sections".to_string(),
        // Otherwise a static program has no table for unwinding.
        "-Wl,--eh-frame-hdr".to_string(),
        format!("-Wl{}", all.collect::<String>()),
        "-lpthread".to_string(),
        "-ldl".to_string(),
        "-lm".to_string(),
    ];
    Ok(LinkFlags { archive, flags })
}

/// The functions that an archive wraps, sorted; `None` if it is not an archive of ours.
fn wrapped(bytes: &[u8]) -> Option<Vec<String>> {
    let archive = ArchiveFile::parse(bytes).ok()?;
    let symbols = archive.symbols().ok()??.flatten();
    let names = symbols.filter_map(|s| s.name().strip_prefix(WRAPPED));
    let mut names: Vec<String> = names
        .map(|n| String::from_utf8_lossy(n).into_owned())
        .collect();
    names.sort_unstable();
    names.dedup();
    (!names.is_empty()).then_some(names)
}

/// Whether a program has the collector in it.
pub(crate) fn has_collector(program: &[u8]) -> bool {
    holds(program, &record_variable())
}

/// Whether the collector need not, or must not, be loaded into a program: the program has the collector linked in, or
/// was built with ThreadSanitizer.
pub(crate) fn goes_without(path: &Path) -> bool {
    program::read(path).is_ok_and(|bytes| {
        bytes.starts_with(b"\x7fELF") && (has_collector(&bytes) || holds_thread_sanitizer(&bytes))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_can_look_for_the_collector_does_not_have_it() {
        let own = std::env::current_exe().expect("a path");
        let mut bytes = program::read(&own).expect("reads");
        assert!(!has_collector(&bytes));
        bytes.extend(record_variable().into_bytes());
        assert!(has_collector(&bytes));
    }
}
