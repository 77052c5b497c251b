//! What can be wrong with recorded data.

use std::path::{Path, PathBuf};

/// Data that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// The operating system refused.
    #[error("cannot {what} {path}: {source}", path = .path.display())]
    Io {
        /// `read`, `write` …
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Its answer.
        source: std::io::Error,
    },
    /// There is nothing recorded.
    #[error("{path} holds no recorded run; give a directory that `headwater record` made", path = .0.display())]
    NotARun(PathBuf),
    /// There is nothing at all.
    #[error("{path} is not there, so it holds no recorded run; check the name", path = .0.display())]
    Gone(PathBuf),
    /// The spool is empty.
    #[error("nothing was recorded in {path}: the program made no MPI call that could be seen", path = .0.display())]
    NothingRecorded(PathBuf),
    /// A program that became another one, and of that there are no data.
    #[error(
        "nothing was recorded: {0} became another program, which is statically linked or runs a script; link it dynamically, or give the program that the script starts"
    )]
    OnlyWrapper(String),
    /// The program ran with an MPI library that the collector does not know.
    #[error(
        "nothing was recorded: headwater does not know the MPI library {0}, and left the program alone; it knows Open MPI, MPICH and what has its binary interface (Intel MPI, MVAPICH, Cray MPICH), and the standard ABI of MPI 5"
    )]
    UnknownLibrary(String),
    /// Somebody records it at this moment.
    #[error("{path} is being recorded (process {process}), and no process has recorded anything yet; try again later", path = .path.display())]
    BeingRecorded {
        /// The run.
        path: PathBuf,
        /// Number of the recording process.
        process: String,
    },
    /// What another user's processes recorded, and nobody has finished yet.
    #[error("{path} is an unfinished run of another user's (number {owner}), who could have put anything there; let that user run `headwater diagnose` on it once, or set HEADWATER_ANY_OWNER=1 to finish it all the same", path = .path.display())]
    AnotherOwner {
        /// The run.
        path: PathBuf,
        /// Number of the user.
        owner: u32,
    },
    /// A link among the files of an unfinished run.
    #[error("{path} is a symbolic link, and no recording contains one; if you made it, put the file or directory itself in its place, otherwise remove it", path = .0.display())]
    Link(PathBuf),
    /// A run without a trace.
    #[error("{path} has no trace; record one with `headwater trace`", path = .0.display())]
    NoTrace(PathBuf),
    /// What is no trace, or cannot be read as one.
    #[cfg(feature = "tables")]
    #[error("cannot read the trace {path}: {source}", path = .path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: headwater_trace::file::Error,
    },
    /// A file is damaged.
    #[error("{path} is damaged ({why}); record the run again", path = .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        why: String,
    },
    /// Data of several runs in one place.
    #[error("{path} is of a run of {own} ranks, and others beside it are of one of {others}; take it out of the directory, and give each launch a directory of its own", path = .path.display())]
    Mixed {
        /// The file.
        path: PathBuf,
        /// Ranks of its run.
        own: u32,
        /// Ranks of the others'.
        others: u32,
    },
    /// A newer format.
    #[error("{path} was written by a newer headwater (format {found}, this one reads up to {known}); update headwater", path = .path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version known.
        known: u32,
    },
    /// An older spool.
    #[error("{path} was recorded by an older headwater and never finished; record the run again", path = .0.display())]
    Older(PathBuf),
    /// The name is taken.
    #[error("{path} exists already and is not overwritten; give another name with -o", path = .0.display())]
    Exists(PathBuf),
}

impl FormatError {
    /// Wraps an I/O error.
    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { what, path, source }
    }

    /// A damaged file.
    pub(crate) fn damaged(path: &Path, why: impl Into<String>) -> Self {
        Self::Damaged {
            path: path.to_path_buf(),
            why: why.into(),
        }
    }
}
