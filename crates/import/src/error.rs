//! What can be wrong with a trace.

use headwater_format::FormatError;
use std::path::{Path, PathBuf};

/// A trace that cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The operating system refused.
    #[error("cannot read {path}: {source}", path = .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Its answer.
        source: std::io::Error,
    },
    /// Neither of the formats.
    #[error("{path} is no trace that headwater knows; give an OTF2 archive (its directory, or the file that ends in .otf2), a Paraver trace (.prv) or a directory with files of ScalAna (stat0.txt, or out.txt with SAMPLE0.TXT-symb)", path = .0.display())]
    NotATrace(PathBuf),
    /// Several traces in one directory.
    #[error("{path} holds several traces ({names}); name the one that is meant", path = .path.display())]
    Several {
        /// The directory.
        path: PathBuf,
        /// What is in it.
        names: String,
    },
    /// A file of the trace is not there.
    #[error("{what} is missing: {path} is not there; copy the whole trace", path = .path.display())]
    Missing {
        /// What it holds.
        what: String,
        /// The file.
        path: PathBuf,
    },
    /// A file is damaged.
    #[error("{path} is damaged ({why}); write the trace again", path = .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What does not fit, and where.
        why: String,
    },
    /// A line of a text file does not fit what is around it.
    #[error("{path}, line {line}: {why}; copy the file again as ScalAna wrote it", path = .path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1 on.
        line: u64,
        /// What does not fit.
        why: String,
    },
    /// Several traces that are not scales of one program.
    #[error("{path} is one trace, and only files of ScalAna are imported together, a directory for each scale; import it alone", path = .0.display())]
    Alone(PathBuf),
    /// A setting that a kind of trace does not have.
    #[error("--sampling-hz is for the files of ScalAna, and {path} is another trace, which has times; leave it out", path = .0.display())]
    NoSampling(PathBuf),
    /// A kind of trace that is not read.
    #[error("{path} cannot be imported: {what}", path = .path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// Why, and what to do.
        what: String,
    },
    /// Nothing happens in it.
    #[error("{path} holds no MPI call and no region of a thread, so there is nothing to analyse; trace the program with MPI or OpenMP events", path = .0.display())]
    Empty(PathBuf),
    /// The run cannot be written.
    #[error(transparent)]
    Format(#[from] FormatError),
}

impl ImportError {
    /// Wraps an I/O error.
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { path, source }
    }

    /// A damaged file.
    pub(crate) fn damaged(path: &Path, why: impl Into<String>) -> Self {
        Self::Damaged {
            path: path.to_path_buf(),
            why: why.into(),
        }
    }

    /// A line that does not fit.
    pub(crate) fn line(path: &Path, line: u64, why: impl Into<String>) -> Self {
        Self::Line {
            path: path.to_path_buf(),
            line,
            why: why.into(),
        }
    }

    /// A kind of trace that is not read.
    pub(crate) fn unsupported(path: &Path, what: impl Into<String>) -> Self {
        Self::Unsupported {
            path: path.to_path_buf(),
            what: what.into(),
        }
    }
}
