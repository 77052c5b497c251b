//! What can keep a module from being analysed.

use std::path::PathBuf;

/// A module that cannot be analysed.
#[derive(Debug, thiserror::Error)]
pub enum StructureError {
    /// The operating system refused.
    #[error("cannot read {path}: {source}", path = .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Its answer.
        source: std::io::Error,
    },
    /// Not ELF, or damaged.
    #[error("{path} is not an executable or library that can be read ({why})", path = .path.display())]
    NotElf {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        why: String,
    },
    /// Not Python.
    #[error("{path} is not a source of Python that can be read ({why})", path = .path.display())]
    NotPython {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        why: String,
    },
    /// Another processor.
    #[error("{path} is for a processor that is not known ({machine}); x86-64 and AArch64 are", path = .path.display())]
    UnknownMachine {
        /// The file.
        path: PathBuf,
        /// Its processor.
        machine: String,
    },
}
