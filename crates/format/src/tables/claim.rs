//! The mark of a run that is being recorded: a file in its directory that the recorder keeps locked.
//!
//! The kernel lets the lock go when the recorder ends, however it ends, so a file that nobody holds is
//! what a killed recorder left behind. Where a file system has no locks, nothing is marked.

use crate::FormatError;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Name of the file; it holds the number of the recording process.
const NAME: &str = "recording";

/// A run that is ours to make; others leave it alone until this is dropped.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    _locked: File,
}

impl Claim {
    /// Marks the run in `dir`, which is there, as being recorded by this process.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn begin(dir: &Path) -> Result<Self, FormatError> {
        let path = dir.join(NAME);
        let mut file = headwater_files::create(&path).map_err(FormatError::io("make", &path))?;
        let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
        let number = std::process::id().to_string();
        let written = file.write_all(number.as_bytes());
        written.map_err(FormatError::io("write", &path))?;
        Ok(Self {
            path,
            _locked: file,
        })
    }

    /// Takes over what a recorder that was killed left in `dir`; `None` where there is no mark.
    ///
    /// # Errors
    /// [`FormatError::BeingRecorded`] while the recorder lives.
    pub(super) fn take_over(dir: &Path) -> Result<Option<Self>, FormatError> {
        let path = dir.join(NAME);
        // Some network file systems lock for themselves alone only what is open for writing.
        let mut file = match open(&path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            other => other.map_err(FormatError::io("read", &path))?,
        };
        if flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            let mut process = String::new();
            let _ = file.read_to_string(&mut process);
            return Err(FormatError::BeingRecorded {
                path: dir.to_path_buf(),
                process,
            });
        }
        Ok(Some(Self {
            path,
            _locked: file,
        }))
    }
}

/// Opens the mark; a link in its place is not followed.
fn open(path: &Path) -> std::io::Result<File> {
    let mut options = File::options();
    let flags = rustix::fs::OFlags::NOFOLLOW.bits();
    let options = options.read(true).write(true);
    options.custom_flags(flags.cast_signed()).open(path)
}

impl Drop for Claim {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_in_place_of_the_mark_is_not_followed() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let theirs = dir.path().join("theirs");
        std::fs::write(&theirs, "precious").expect("a file");
        let run = dir.path().join("run");
        std::fs::create_dir(&run).expect("a directory");
        std::os::unix::fs::symlink(&theirs, run.join(NAME)).expect("a link");
        assert!(Claim::begin(&run).is_err());
        assert!(Claim::take_over(&run).is_err());
        assert_eq!(std::fs::read(&theirs).expect("a file"), b"precious");
    }
}
