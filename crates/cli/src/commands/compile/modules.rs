//! MPI's Fortran modules, for a compiler that cannot read those of the library.
//!
//! A file of a module fits the compiler that wrote it. Distributions build MPI libraries with gfortran, and flang says of
//! `use mpi` then only that each byte is wrong. The module `mpi` declares what `mpif.h` declares (MPI 4.1, section 19.1), so
//! it is made from that, once for each compiler and library; what is lost is that arguments are checked. The module `mpi_f08` can
//! be made for Open MPI alone ([`f08`]); with another library, a source that uses it is refused in one line.

use super::f08;
use super::plugin::{installed, key_of};
use headwater_load::cache_dir;
use rustix::fs::{FlockOperation, flock};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

const MODULE: &str = "module mpi\n  implicit none\n  include 'mpif.h'\nend module mpi\n";

/// Bytes of a source that are looked at.
const LONGEST: u64 = 1 << 22;

/// How the MPI library's wrapper is called.
pub struct Wrapper<'a> {
    pub program: &'a Path,
    pub compiler: &'a Path,
    /// Variables that tell it the compiler.
    pub variables: &'a [&'a str],
}

impl Wrapper<'_> {
    /// Compiles a text in a directory. Returns whether it can be.
    fn compiles(&self, dir: &Path, name: &str, text: &str, options: &[OsString]) -> bool {
        std::fs::write(dir.join(name), text).is_ok() && self.calls(dir, &["-c", name], options)
    }

    /// Calls the compiler in a directory. Returns whether it succeeds.
    fn calls(&self, dir: &Path, arguments: &[&str], options: &[OsString]) -> bool {
        let mut command = Command::new(self.program);
        for variable in self.variables {
            command.env(variable, self.compiler);
        }
        let out = command
            .args(arguments)
            .args(options)
            .current_dir(dir)
            .output();
        out.is_ok_and(|out| out.status.success())
    }
}

fn using(module: &str) -> String {
    format!("program probe\n  use {module}\nend program probe\n")
}

fn including(dir: &Path) -> OsString {
    let mut option = OsString::from("-I");
    option.push(dir);
    option
}

/// The option behind which the compiler finds a module `mpi` that it can read. `None` if it can read the library's, or
/// where none can be made: then the compiler says itself what it lacks.
///
/// # Errors
/// A source uses `mpi_f08`, of which there is no file that the compiler can read, and none can be made.
pub fn option(wrapper: &Wrapper<'_>, arguments: &[OsString]) -> Result<Option<OsString>, String> {
    let Some(cache) = cache_dir().filter(|d| d.is_absolute()) else {
        return Ok(None);
    };
    let about = installed(wrapper.program) + &installed(wrapper.compiler);
    // Another version of this program may make other modules.
    let key = key_of(key_of(0, env!("CARGO_PKG_VERSION")), &about);
    let made = cache.join(format!("mpi-{key:016x}"));
    if !made.is_dir() && make(wrapper, &cache, &made).is_err() {
        return Ok(None);
    }
    if !made.join("mpi.mod").is_file() {
        return Ok(None);
    }
    if made.join("mpi_f08.mod").is_file() {
        return Ok(Some(including(&made)));
    }
    match arguments.iter().find(|a| uses_f08(Path::new(a))) {
        Some(source) if !has_f08(wrapper, &cache, arguments) => Err(format!(
            "{} uses mpi_f08, and {} cannot read the module of this MPI library, which another compiler wrote: compile this source with mpif90 alone, use Open MPI, or build the MPI library with flang",
            source.to_string_lossy(),
            wrapper.compiler.display(),
        )),
        _ => Ok(Some(including(&made))),
    }
}

/// Makes the directory `made`, with a module if that is needed and can be made.
fn make(wrapper: &Wrapper<'_>, cache: &Path, made: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(cache)?;
    // With `make -j` many want it at once.
    let lock = std::fs::File::create(cache.join("mpi.lock"))?;
    let _ = flock(&lock, FlockOperation::LockExclusive);
    if made.is_dir() {
        return Ok(());
    }
    let own = own_directory(cache)?;
    let (work, kept) = (own.join("work"), own.join("kept"));
    std::fs::create_dir(&work)?;
    std::fs::create_dir(&kept)?;
    let can_read = wrapper.compiles(&work, "probe.f90", &using("mpi"), &[]);
    if !can_read && wrapper.compiles(&work, "mpi.f90", MODULE, &[]) {
        let file = kept.join("mpi.mod");
        let has = std::fs::rename(work.join("mpi.mod"), &file).is_ok();
        // The wrapper may look into the library's directory first.
        let is_found =
            has && wrapper.compiles(&work, "probe.f90", &using("mpi"), &[including(&kept)]);
        if has && !is_found {
            std::fs::remove_file(&file)?;
        } else if has {
            make_f08(wrapper, &work, &kept)?;
        }
    }
    let renamed = std::fs::rename(&kept, made);
    let _ = std::fs::remove_dir_all(&own);
    renamed
}

/// Makes the module `mpi_f08` beside the module `mpi`, if it can be made.
fn make_f08(wrapper: &Wrapper<'_>, work: &Path, kept: &Path) -> std::io::Result<()> {
    // flang's file of a module is text.
    let mpi = std::fs::read(kept.join("mpi.mod"))?;
    let Some(text) = f08::module(&String::from_utf8_lossy(&mpi)) else {
        return Ok(());
    };
    // Comparisons have the names that gfortran gives them: in a library that another compiler built, they are not found.
    let probe = "program probe\n  use mpi_f08\n  print *, MPI_COMM_WORLD == MPI_COMM_SELF\nend program probe\n";
    let options = [including(kept), including(work)];
    let is_made = wrapper.compiles(work, "mpi_f08.f90", &text, &options)
        && wrapper.compiles(work, "compares.f90", probe, &options)
        && wrapper.calls(work, &["compares.o", "-o", "compares"], &[]);
    if is_made {
        std::fs::rename(work.join("mpi_f08.mod"), kept.join("mpi_f08.mod"))?;
    }
    Ok(())
}

/// A directory of this process alone.
fn own_directory(cache: &Path) -> std::io::Result<PathBuf> {
    let own = cache.join(format!("mpi-{}.part", std::process::id()));
    let _ = std::fs::remove_dir_all(&own);
    std::fs::create_dir_all(&own)?;
    Ok(own)
}

/// Whether the compiler can read a module `mpi_f08` with the directories of these arguments.
fn has_f08(wrapper: &Wrapper<'_>, cache: &Path, arguments: &[OsString]) -> bool {
    let Ok(own) = own_directory(cache) else {
        return false;
    };
    // Names of directories are relative to this one.
    let here = std::env::current_dir().unwrap_or_default();
    let named = arguments.iter().filter_map(|a| {
        let dir = a.to_str()?.strip_prefix("-I")?;
        Some(including(&here.join(dir)))
    });
    let options: Vec<OsString> = named.chain([including(&here)]).collect();
    let has = wrapper.compiles(&own, "probe_f08.f90", &using("mpi_f08"), &options);
    let _ = std::fs::remove_dir_all(&own);
    has
}

/// Whether a file is Fortran and uses the module `mpi_f08`.
fn uses_f08(file: &Path) -> bool {
    use std::io::Read;
    let ending = file.extension().and_then(|e| e.to_str()).unwrap_or("");
    if !ending.to_ascii_lowercase().starts_with('f') {
        return false;
    }
    let mut text = Vec::new();
    let read = std::fs::File::open(file).and_then(|f| f.take(LONGEST).read_to_end(&mut text));
    read.is_ok() && String::from_utf8_lossy(&text).lines().any(is_use_of_f08)
}

fn is_use_of_f08(line: &str) -> bool {
    let line = line.trim_start().to_ascii_lowercase();
    let Some(rest) = line.strip_prefix("use") else {
        return false;
    };
    // `use mpi_f08`, `use, non_intrinsic :: mpi_f08, only: …`
    let module = rest.rsplit_once("::").map_or(rest, |(_, module)| module);
    let end = |c: char| !c.is_ascii_alphanumeric() && c != '_';
    rest.starts_with([' ', ',', ':', '\t'])
        && module.trim_start().split(end).next() == Some("mpi_f08")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_of_the_newer_module_are_seen() {
        for line in [
            "use mpi_f08",
            "  USE MPI_F08, only: MPI_Comm",
            "use, non_intrinsic :: mpi_f08",
            "\tuse :: mpi_f08 ! all",
        ] {
            assert!(is_use_of_f08(line), "{line}");
        }
        for line in [
            "use mpi",
            "use mpi_f08_types",
            "! use mpi_f08",
            "used mpi_f08",
            "call use(mpi_f08)",
        ] {
            assert!(!is_use_of_f08(line), "{line}");
        }
    }
}
