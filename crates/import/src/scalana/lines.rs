//! The lines of a text file, one at a time, each with its number.

use crate::ImportError;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Bytes of a line at the most: a vertex, or a place in a source file.
const LONGEST: u64 = 1 << 14;

/// A file that is read line by line.
pub struct Lines {
    path: PathBuf,
    reader: BufReader<File>,
    number: u64,
    bytes: Vec<u8>,
}

impl Lines {
    /// Opens a file.
    ///
    /// # Errors
    /// What the system says; what is no regular file.
    pub fn open(path: &Path) -> Result<Self, ImportError> {
        let (file, _) = headwater_files::open(path).map_err(ImportError::io(path))?;
        Ok(Self {
            path: path.to_path_buf(),
            reader: BufReader::new(file),
            number: 0,
            bytes: Vec::new(),
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of the line that was read last, from 1 on.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The next line without its end.
    ///
    /// # Errors
    /// What the system says; a line that is too long.
    pub fn next(&mut self) -> Result<Option<String>, ImportError> {
        self.bytes.clear();
        let mut line = self.reader.by_ref().take(LONGEST);
        let failed = ImportError::io(&self.path);
        line.read_until(b'\n', &mut self.bytes).map_err(failed)?;
        if self.bytes.is_empty() {
            return Ok(None);
        }
        self.number += 1;
        if self.bytes.len() as u64 == LONGEST {
            return Err(self.wrong(format!("it has more than {LONGEST} bytes")));
        }
        let line = String::from_utf8_lossy(&self.bytes);
        Ok(Some(line.trim_end_matches(['\n', '\r']).to_string()))
    }

    /// The next line that is not empty, as its words.
    ///
    /// # Errors
    /// As [`Lines::next`].
    pub fn words(&mut self) -> Result<Option<Vec<String>>, ImportError> {
        while let Some(line) = self.next()? {
            let words: Vec<String> = line.split_whitespace().map(str::to_string).collect();
            if !words.is_empty() {
                return Ok(Some(words));
            }
        }
        Ok(None)
    }

    /// What is wrong with the line that was read last.
    pub fn wrong(&self, why: impl Into<String>) -> ImportError {
        ImportError::line(&self.path, self.number, why)
    }
}

/// A whole number among the words of a line.
///
/// # Errors
/// A word that is none, named by `what` it should be.
pub fn number<N: std::str::FromStr>(
    lines: &Lines,
    word: &str,
    what: &str,
) -> Result<N, ImportError> {
    let none = |_| lines.wrong(format!("{what} is no number that can be there: {word}"));
    word.parse().map_err(none)
}
