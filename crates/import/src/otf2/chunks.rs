//! The records of an OTF2 file, chunk by chunk: no more than one chunk is held.
//!
//! A chunk has a head, records, and a mark that another one follows or that the file ends. Each record begins with its
//! number and, but for a few events with one value, with its length, so that what is not known is skipped.

use super::bytes::Bytes;
use crate::ImportError;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

const END_OF_CHUNK: u8 = 0;
const END_OF_BUFFER: u8 = 1;
const END_OF_FILE: u8 = 2;

/// A file of chunks.
pub struct Chunks {
    path: PathBuf,
    file: File,
    chunk: Vec<u8>,
    size: usize,
    number: u64,
}

impl Chunks {
    /// The file at `path`, in chunks of `size` bytes. `what` is what it holds.
    ///
    /// # Errors
    /// It is not there, or cannot be read.
    pub fn open(path: &Path, size: usize, what: &str) -> Result<Self, ImportError> {
        let (file, _) = headwater_files::open(path).map_err(|e| match e.kind() {
            ErrorKind::NotFound => ImportError::Missing {
                what: what.to_string(),
                path: path.to_path_buf(),
            },
            _ => ImportError::io(path)(e),
        })?;
        Ok(Self {
            path: path.to_path_buf(),
            file,
            chunk: Vec::new(),
            size,
            number: 0,
        })
    }

    /// Goes through the records of the first chunk alone, as [`each`](Self::each) does through all.
    ///
    /// # Errors
    /// The same.
    pub fn first(
        &mut self,
        mut take: impl FnMut(u8, &mut Bytes<'_>) -> Option<()>,
    ) -> Result<(), ImportError> {
        self.next()?;
        let chunk = std::mem::take(&mut self.chunk);
        self.records(&chunk, &mut take).map(|_| ())
    }

    /// Goes through all records: `take` gets the number of each and what follows it, and reads as far as the record
    /// goes; `None` is a record that ends too early, or that is not what it should be.
    ///
    /// # Errors
    /// A damaged file, or one that cannot be read.
    pub fn each(
        &mut self,
        mut take: impl FnMut(u8, &mut Bytes<'_>) -> Option<()>,
    ) -> Result<(), ImportError> {
        loop {
            self.next()?;
            let chunk = std::mem::take(&mut self.chunk);
            let ended = self.records(&chunk, &mut take)?;
            self.chunk = chunk;
            if ended {
                return Ok(());
            }
        }
    }

    /// The records of a chunk; returns whether it is the last one.
    fn records(
        &self,
        chunk: &[u8],
        take: &mut impl FnMut(u8, &mut Bytes<'_>) -> Option<()>,
    ) -> Result<bool, ImportError> {
        let damaged = |at: usize, why: &str| {
            let at = (self.number - 1) * self.size as u64 + at as u64;
            ImportError::damaged(&self.path, format!("{why} at byte {at}"))
        };
        let mut bytes = Bytes::of_chunk(chunk).ok_or_else(|| damaged(0, "no chunk begins"))?;
        let numbers = bytes.part(16);
        numbers.ok_or_else(|| damaged(2, "it ends"))?;
        loop {
            let at = chunk.len() - bytes.left();
            match bytes.u8() {
                Some(END_OF_CHUNK) => return Ok(false),
                Some(END_OF_FILE | END_OF_BUFFER) => return Ok(true),
                Some(record) => take(record, &mut bytes)
                    .ok_or_else(|| damaged(at, &format!("a record of kind {record} is broken")))?,
                // A full chunk may have no room for its mark.
                None if chunk.len() == self.size => return Ok(false),
                None => return Err(damaged(at, "it ends")),
            }
        }
    }

    /// Reads the next chunk.
    fn next(&mut self) -> Result<(), ImportError> {
        self.chunk.clear();
        let mut read = (&mut self.file).take(self.size as u64);
        read.read_to_end(&mut self.chunk)
            .map_err(ImportError::io(&self.path))?;
        self.number += 1;
        Ok(())
    }
}
