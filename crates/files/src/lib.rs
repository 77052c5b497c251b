//! Files that somebody else names.
//!
//! *Comes in*: a path out of a run, a trace, debug information or a command line; *goes out*: an open file or its bytes.
//! Such a path can lead anywhere: reading a pipe waits for ever, reading a device fills the memory, opening one may do
//! something. So only regular files are opened, and what is read whole has a limit.
//!
//! Files and directories of our own may be made where others can write as well. Somebody may put a link there, which leads
//! to another file of ours: so no link at the end of the path is followed.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Refuses what is no regular file.
fn check(found: std::fs::FileType) -> Result<()> {
    if found.is_dir() {
        return Err(Error::new(ErrorKind::IsADirectory, "it is a directory"));
    }
    if !found.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is no regular file"));
    }
    Ok(())
}

/// Opens a regular file for reading; returns it and its length in bytes. Links are followed.
///
/// # Errors
/// What the system says; a directory, pipe, device or socket.
pub fn open(path: &Path) -> Result<(File, u64)> {
    // Opening a device may do something, as to a tape or a watchdog.
    check(std::fs::metadata(path)?.file_type())?;
    // What has been put in its place since then is not waited for.
    let mut options = OpenOptions::new();
    let file = options
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)?;
    let found = file.metadata()?;
    check(found.file_type())?;
    Ok((file, found.len()))
}

/// The bytes of a regular file that has at most `most` of them.
///
/// # Errors
/// As [`open`]; a longer file.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>> {
    let (file, length) = open(path)?;
    let mut bytes = Vec::new();
    if length <= most {
        // Room for all of it: the buffer need not grow and be copied.
        let room = usize::try_from(length).unwrap_or(usize::MAX);
        bytes.try_reserve_exact(room)?;
        // Files of the kernel have more than they say.
        file.take(most + 1).read_to_end(&mut bytes)?;
    }
    if length.max(bytes.len() as u64) > most {
        let why = format!("it is longer than the {most} bytes that are read of such a file");
        return Err(Error::new(ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

/// Creates a file for writing, or empties the regular file that is there. A link at the end of the path is not followed.
///
/// # Errors
/// What the system says; a link, directory, pipe, device or socket.
pub fn create(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    let file = options
        .write(true)
        .create(true)
        .truncate(false)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)?;
    check(file.metadata()?.file_type())?;
    file.set_len(0)?;
    Ok(file)
}

/// Creates a directory that only its owner can use.
///
/// # Errors
/// What the system says; anything that is there already, a link included.
pub fn create_private_dir(path: &Path) -> Result<()> {
    std::fs::DirBuilder::new().mode(0o700).create(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_in_place_of_our_file_leads_nowhere() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let (theirs, link) = (dir.path().join("theirs"), dir.path().join("ours"));
        std::fs::write(&theirs, "precious").expect("a file");
        std::os::unix::fs::symlink(&theirs, &link).expect("a link");
        assert!(create(&link).is_err());
        assert!(create_private_dir(&link).is_err());
        assert_eq!(std::fs::read(&theirs).expect("a file"), b"precious");
        assert!(create(Path::new("/dev/null")).is_err());
        // One of ours is emptied.
        drop(create(&theirs).expect("a regular file"));
        assert_eq!(std::fs::read(&theirs).expect("a file"), b"");
    }

    #[test]
    fn what_is_no_regular_file_is_refused_at_once() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let pipe = dir.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo starts").success());
        for path in [pipe.as_path(), Path::new("/dev/zero"), dir.path()] {
            assert!(open(path).is_err(), "{}", path.display());
            assert!(read(path, 10).is_err(), "{}", path.display());
        }
        let gone = open(&dir.path().join("gone")).map(|_| ());
        assert_eq!(gone.map_err(|e| e.kind()), Err(ErrorKind::NotFound));
    }

    #[test]
    fn a_file_is_read_up_to_a_length() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("ten");
        std::fs::write(&path, "0123456789").expect("a file");
        assert_eq!(
            read(&path, 10).expect("as long as it may be"),
            b"0123456789"
        );
        let longer = read(&path, 9).map_err(|e| e.kind());
        assert_eq!(longer, Err(ErrorKind::FileTooLarge));
        // The kernel says that it has no bytes.
        assert!(
            !read(Path::new("/proc/self/stat"), 1 << 16)
                .expect("a file")
                .is_empty()
        );
        assert!(read(Path::new("/proc/self/stat"), 3).is_err());
    }
}
