//! Whether a program that is started without a launcher is recorded from its start, as one that does not use MPI.
//!
//! A program that is linked to MPI is recorded from `MPI_Init`. So is a script or an interpreter: what it runs may use
//! MPI, and its places in the source are not those of the interpreter.

use crate::LaunchError;
use crate::library::{bytes_of, mpi_library_of};
use crate::program;
use headwater_model::interpreters;
use object::{Object, ObjectKind};
use std::path::Path;

/// What a program is to somebody who records it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramKind {
    /// It is linked to MPI, or it is not known what it is.
    Mpi,
    /// It does not use MPI: it is recorded from its start to its end.
    NoMpi,
    /// A script, or the interpreter of one.
    Interpreted,
    /// It does not use MPI, and it is statically linked: the collector cannot be loaded into it.
    Static,
}

/// What the program at `path` is.
pub fn kind_of(path: &Path) -> ProgramKind {
    let Ok(bytes) = bytes_of(path) else {
        return ProgramKind::Mpi;
    };
    match mpi_library_of(path, &bytes) {
        Err(LaunchError::Script(_)) => ProgramKind::Interpreted,
        Err(LaunchError::NoMpi(_)) if is_interpreter(path) => ProgramKind::Interpreted,
        Err(LaunchError::NoMpi(_)) if is_static(&bytes) => ProgramKind::Static,
        Err(LaunchError::NoMpi(_)) => ProgramKind::NoMpi,
        _ => ProgramKind::Mpi,
    }
}

/// Whether a program is an interpreter that is known, or a script of one. Python is recorded from its start, unless what it
/// runs names MPI. Others are not recorded themselves, but they may become a program by `exec`.
pub fn is_interpreted(path: &Path) -> bool {
    /// Bytes of a script's first line that name its interpreter.
    const FIRST: u64 = 256;
    let is_one = interpreters::is_one;
    let real = path.canonicalize().unwrap_or_default();
    if is_one(path) || is_one(&real) {
        return true;
    }
    let first = program::read_first(path, FIRST).unwrap_or_default();
    let line = first.split(|b| *b == b'\n').next().unwrap_or(&[]);
    let line = String::from_utf8_lossy(line);
    let mut words = line.strip_prefix("#!").unwrap_or("").split_whitespace();
    words.any(|word| is_one(Path::new(word)))
}

/// Whether a program or what it is a link to is called like an interpreter.
fn is_interpreter(path: &Path) -> bool {
    let real = path.canonicalize().unwrap_or_default();
    [path, &real].into_iter().any(interpreters::is_one)
}

/// Whether no loader loads anything into the program.
fn is_static(bytes: &[u8]) -> bool {
    let Ok(file) = object::File::parse(bytes) else {
        return false;
    };
    let executable = matches!(file.kind(), ObjectKind::Executable | ObjectKind::Dynamic);
    executable && !has_loader(bytes)
}

fn has_loader(bytes: &[u8]) -> bool {
    use object::read::elf::{FileHeader, ProgramHeader};
    let find = || {
        let header = object::elf::FileHeader64::<object::Endianness>::parse(bytes).ok()?;
        let endian = header.endian().ok()?;
        let mut segments = header.program_headers(endian, bytes).ok()?.iter();
        Some(segments.any(|s| s.p_type(endian) == object::elf::PT_INTERP))
    };
    find().unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_known_by_their_first_line() {
        let dir = tempfile::tempdir().expect("a directory");
        for (text, is) in [
            ("#!/usr/bin/env python3\nx = 1\n", true),
            ("#! /opt/python3.12 -u\n", true),
            ("#!/bin/sh\nexec ./app\n", true),
            ("#!/usr/bin/env bash\n", true),
            ("#!/usr/bin/env python3-config\n", false),
            ("python3\n", false),
        ] {
            let path = dir.path().join("script");
            std::fs::write(&path, text).expect("a script");
            assert_eq!(is_interpreted(&path), is, "{text}");
        }
        assert!(is_interpreted(Path::new("/no/such/python3")));
        assert!(is_interpreted(Path::new("/bin/sh")) && !is_interpreted(Path::new("/bin/true")));
    }

    #[test]
    fn a_program_without_mpi_is_recorded_from_its_start() {
        assert_eq!(kind_of(Path::new("/bin/true")), ProgramKind::NoMpi);
        assert_eq!(kind_of(Path::new("/bin/sh")), ProgramKind::Interpreted);
        assert_eq!(kind_of(Path::new("/no/such")), ProgramKind::Mpi);
    }
}
