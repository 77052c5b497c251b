//! Finds out which MPI library a program would load.

use crate::LaunchError;
use crate::link::has_collector;
use crate::program::{self, holds};
use headwater_mpi_abi::is_library;
use object::read::elf::{Dyn, FileHeader};
use object::{Endianness, Object, ObjectSymbol};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// MPI libraries that differ in how they are launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MpiKind {
    /// Open MPI.
    OpenMpi,
    /// MPICH.
    Mpich,
    /// Intel MPI.
    Intel,
}

impl MpiKind {
    /// The library's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenMpi => "Open MPI",
            Self::Mpich => "MPICH",
            Self::Intel => "Intel MPI",
        }
    }
}

/// The MPI library that `program` loads, and where it is. If both the library and the collector are linked into the
/// program, this is the program itself.
///
/// # Errors
/// The program does not exist, is no regular file, is a script, changes its user, does not use MPI, or contains its
/// MPI library. Or a library that it needs is not found.
pub fn mpi_library(program: &Path) -> Result<(MpiKind, PathBuf), LaunchError> {
    mpi_library_of(program, &bytes_of(program)?)
}

/// The bytes of a program.
///
/// # Errors
/// It does not exist or is no regular file.
pub(crate) fn bytes_of(program: &Path) -> Result<Vec<u8>, LaunchError> {
    let name = program.display().to_string();
    program::read(program).map_err(|e| match e.kind() {
        ErrorKind::InvalidInput => LaunchError::NoRegularFile(name),
        _ => LaunchError::NotFound(name),
    })
}

/// As [`mpi_library`], for a program that has been read.
pub(crate) fn mpi_library_of(
    program: &Path,
    bytes: &[u8],
) -> Result<(MpiKind, PathBuf), LaunchError> {
    let name = program.display().to_string();
    if changes_user(program) {
        return Err(LaunchError::ChangesUser(name));
    }
    if bytes.starts_with(b"#!") {
        return Err(LaunchError::Script(name));
    }
    let search: Vec<PathBuf> = std::env::var("LD_LIBRARY_PATH")
        .unwrap_or_default()
        .split(':')
        .filter(|p| !p.is_empty())
        .map(PathBuf::from)
        .collect();
    let mut open: Vec<PathBuf> = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    let mut next = needed(bytes, program);
    loop {
        let (needed, run_paths) = next.unwrap_or_default();
        for library in needed {
            if seen.contains(&library) {
                continue;
            }
            seen.push(library.clone());
            let found = find(&library, run_paths.iter().chain(&search));
            if is_library(&library) {
                let path = found.ok_or(LaunchError::MissingLibrary {
                    program: name,
                    library,
                })?;
                return Ok((kind(&path), path));
            }
            open.extend(found);
        }
        let Some(file) = open.pop() else { break };
        next = program::read(&file)
            .ok()
            .and_then(|b| self::needed(&b, &file));
    }
    if has_collector(bytes) {
        Ok((kind(program), program.to_path_buf()))
    } else if has_mpi_symbols(bytes) {
        Err(LaunchError::StaticMpi(name))
    } else {
        Err(LaunchError::NoMpi(name))
    }
}

/// Whether the program would run as another user or group than we do.
fn changes_user(program: &Path) -> bool {
    use rustix::process::{getegid, geteuid};
    std::fs::metadata(program).is_ok_and(|m| {
        m.mode() & 0o4000 != 0 && m.uid() != geteuid().as_raw()
            || m.mode() & 0o2000 != 0 && m.gid() != getegid().as_raw()
    })
}

/// Decided by the contents of the library, because several libraries share one name.
fn kind(path: &Path) -> MpiKind {
    let bytes = program::read(path).unwrap_or_default();
    if path.to_string_lossy().contains("libmpi.so.40") || holds(&bytes, "ompi_mpi_comm_world") {
        MpiKind::OpenMpi
    } else if holds(&bytes, "Intel(R) MPI Library") || holds(&bytes, "I_MPI_FABRICS") {
        MpiKind::Intel
    } else {
        MpiKind::Mpich
    }
}

fn has_mpi_symbols(bytes: &[u8]) -> bool {
    let Ok(file) = object::File::parse(bytes) else {
        return false;
    };
    file.symbols()
        .any(|s| s.is_definition() && matches!(s.name(), Ok("MPI_Init" | "PMPI_Init")))
}

/// Libraries that a file needs, and the directories that it names for them.
fn needed(bytes: &[u8], file: &Path) -> Option<(Vec<String>, Vec<PathBuf>)> {
    let header = object::elf::FileHeader64::<Endianness>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, bytes).ok()?;
    let (entries, strings) = sections.dynamic(endian, bytes).ok()??;
    let strings = sections.strings(endian, bytes, strings).ok()?;
    let origin = file.canonicalize().ok()?.parent()?.display().to_string();
    let (mut libraries, mut paths) = (Vec::new(), Vec::new());
    for entry in entries {
        let tag = entry.tag(endian);
        let text = || {
            let at = u32::try_from(entry.val(endian)).ok()?;
            Some(String::from_utf8_lossy(strings.get(at).ok()?).into_owned())
        };
        if tag == object::elf::DT_NEEDED {
            libraries.extend(text());
        } else if tag == object::elf::DT_RUNPATH || tag == object::elf::DT_RPATH {
            let list = text()
                .unwrap_or_default()
                .replace("${ORIGIN}", "$ORIGIN")
                .replace("$ORIGIN", &origin);
            paths.extend(list.split(':').filter(|p| !p.is_empty()).map(PathBuf::from));
        }
    }
    Some((libraries, paths))
}

/// Where the loader looks: the given directories, those of its configuration, the usual ones.
fn find<'a>(library: &str, given: impl Iterator<Item = &'a PathBuf>) -> Option<PathBuf> {
    let mut directories: Vec<PathBuf> = given.cloned().collect();
    let configured = std::fs::read_dir("/etc/ld.so.conf.d")
        .into_iter()
        .flatten()
        .flatten();
    let mut files: Vec<PathBuf> = configured.map(|e| e.path()).collect();
    files.sort();
    for file in files {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        directories.extend(
            text.lines()
                .map(str::trim)
                .filter(|l| l.starts_with('/'))
                .map(PathBuf::from),
        );
    }
    directories.extend(["/lib64", "/usr/lib64", "/lib", "/usr/lib"].map(PathBuf::from));
    directories
        .into_iter()
        .map(|d| d.join(library))
        .find(|p| p.exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_mpi_is_recognised() {
        assert!(matches!(
            mpi_library(Path::new("/bin/sh")),
            Err(LaunchError::NoMpi(_))
        ));
        assert!(matches!(
            mpi_library(Path::new("/no/such")),
            Err(LaunchError::NotFound(_))
        ));
    }

    #[test]
    fn what_is_no_regular_file_is_refused_and_not_read() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let pipe = dir.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo starts").success());
        for path in [pipe.as_path(), Path::new("/dev/zero")] {
            let refused = mpi_library(path);
            assert!(matches!(refused, Err(LaunchError::NoRegularFile(_))));
        }
    }

    #[test]
    fn mpi_libraries_are_known_by_name() {
        assert!(
            ["libmpi.so.40", "libmpich.so.12", "libmpifort.so.12"]
                .iter()
                .all(|l| is_library(l))
        );
        assert!(!is_library("libmpiP.so") && !is_library("libc.so.6"));
    }
}
