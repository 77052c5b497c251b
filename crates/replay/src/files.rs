//! Scratch files in place of the files that the program opened.

use crate::error::Error;
use crate::library::Mpi;
use std::fs::OpenOptions;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// A file that the program found is as long as this. It has holes only, so it takes no space.
const LENGTH: u64 = 1 << 36;

/// The directory that all ranks have in common, or each node for itself.
#[derive(Debug)]
pub struct Scratch {
    directory: PathBuf,
    /// Removes the directory.
    own: Option<tempfile::TempDir>,
}

impl Scratch {
    /// Makes the directory; all ranks call it together.
    pub fn new(mpi: &Mpi) -> Result<Self, Error> {
        let failed = |e: std::io::Error| Error::Scratch(e.to_string());
        let (rank, _) = mpi.world();
        let mut name = [0u8; 1024];
        let own = if rank == 0 {
            let made = tempfile::Builder::new()
                .prefix("headwater-replay-")
                .tempdir();
            let bytes = made
                .as_ref()
                .map_or(Vec::new(), |d| d.path().as_os_str().as_bytes().to_vec());
            name.iter_mut().zip(bytes).for_each(|(n, b)| *n = b);
            Some(made)
        } else {
            None
        };
        mpi.broadcast(&mut name);
        let own = own.transpose().map_err(failed)?;
        let bytes = name.split(|b| *b == 0).next().unwrap_or(&[]);
        if bytes.is_empty() {
            // Until rank 0 has reported why, and ended all ranks.
            mpi.barrier();
            return Err(Error::Scratch("rank 0 could not make it".to_owned()));
        }
        let directory = PathBuf::from(std::ffi::OsString::from_vec(bytes.to_vec()));
        // On other nodes.
        std::fs::create_dir_all(&directory).map_err(failed)?;
        Ok(Self { directory, own })
    }

    /// The scratch file in place of the one with this name.
    pub fn path(&self, name: &[u8]) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        self.directory.join(format!("{:016x}", hasher.finish()))
    }

    /// The program found the file: makes it, if it is not there.
    pub fn find(&self, name: &[u8]) {
        let mut options = OpenOptions::new();
        let made = options.write(true).create_new(true).open(self.path(name));
        // Without space or rights, the library reports it when it opens the file.
        let _ = made.map(|file| file.set_len(LENGTH));
    }

    /// Removes all files.
    pub fn end(self) {
        let _ = std::fs::remove_dir_all(&self.directory);
        drop(self.own);
    }
}
