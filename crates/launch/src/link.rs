//! The collector as a part of the program: what a linker is given where MPI is linked statically, so that no
//! call passes the loader. The archive says itself which functions of the libc it stands before.

use crate::LaunchError;
use crate::preload::collector_path;
use crate::sanitizer::THREAD_SANITIZER;
use object::read::archive::ArchiveFile;
use std::path::{Path, PathBuf};

const NAME: &str = "libheadwater_collector.a";

/// Said to a program that has the collector in it when it is to record; the collector asks for it by this name,
/// so these letters are in such a program and in no other.
pub(crate) const ASKED: &str = "HEADWATER_RECORD_LINKED";

/// How the archive calls its function before the libc's one, as the linker's option `--wrap` wants it.
const WRAPPED: &[u8] = b"__wrap_";

/// What to add to the line that links a program.
#[derive(Debug)]
pub struct LinkFlags {
    /// The collector as a static archive.
    pub archive: PathBuf,
    /// Options for the compiler that links, in order; to stand before the MPI library.
    pub flags: Vec<String>,
}

/// What to add to the line that links a program whose MPI library becomes a part of it.
///
/// # Errors
/// The archive is not there, or is none.
pub fn link_flags() -> Result<LinkFlags, LaunchError> {
    let archive = collector_path()?.with_file_name(NAME);
    let bytes = std::fs::read(&archive).map_err(|_| LaunchError::NoArchive(archive.clone()))?;
    let wrapped = wrapped(&bytes).ok_or_else(|| LaunchError::NoArchive(archive.clone()))?;
    let all = wrapped.iter().map(|name| format!(",--wrap={name}"));
    let flags = vec![
        // Whole, as libraries behind it call what it wraps as well.
        "-Wl,--whole-archive".to_string(),
        archive.display().to_string(),
        "-Wl,--no-whole-archive".to_string(),
        // Wrappers of what the library does not have go.
        "-Wl,--gc-sections".to_string(),
        // A static program has no table for unwinding otherwise.
        "-Wl,--eh-frame-hdr".to_string(),
        format!("-Wl{}", all.collect::<String>()),
        "-lpthread".to_string(),
        "-ldl".to_string(),
        "-lm".to_string(),
    ];
    Ok(LinkFlags { archive, flags })
}

/// The functions that an archive wraps, sorted; `None` where it is no archive of ours.
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

/// Whether a program has these letters in it.
pub(crate) fn holds(program: &[u8], letters: &str) -> bool {
    let letters = letters.as_bytes();
    program.windows(letters.len()).any(|w| w == letters)
}

/// Whether a program has the collector in it.
pub(crate) fn has_collector(program: &[u8]) -> bool {
    holds(program, ASKED)
}

/// Whether the collector need not, or must not, be loaded into a program: it has it, or ThreadSanitizer.
pub(crate) fn goes_without(program: &Path) -> bool {
    std::fs::read(program).is_ok_and(|bytes| {
        bytes.starts_with(b"\x7fELF") && (has_collector(&bytes) || holds(&bytes, THREAD_SANITIZER))
    })
}
