//! The bytes of programs, libraries and launchers, which the user or another file names.

use headwater_files as files;
use std::io::{self, Read};
use std::path::Path;

/// Bytes that a program or library has at the most.
const MOST: u64 = 8 << 30;

/// All bytes of a program, library or launcher.
///
/// # Errors
/// What the system says; a file that is no regular one, as a device has no end and a pipe keeps its reader waiting.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    files::read(path, MOST)
}

/// The first bytes of such a file, `most` of them if it has as many.
///
/// # Errors
/// As [`read`].
pub fn read_first(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let (file, _) = files::open(path)?;
    let mut first = Vec::new();
    file.take(most).read_to_end(&mut first)?;
    Ok(first)
}

/// Whether a file has these letters in it.
pub fn holds(bytes: &[u8], letters: &str) -> bool {
    memchr::memmem::find(bytes, letters.as_bytes()).is_some()
}
