//! Others' traces in: what Score-P and Extrae users have already becomes a recorded run.
//!
//! *Comes in*: the path of an OTF2 archive or of a Paraver trace. *Goes out*: a directory as `headwater record` makes
//! it, so that every diagnosis and analysis works on it. An importer is another collector: what a trace says of each
//! rank is written as the collector would have spooled it, and the one reader of spools joins messages, computes waits
//! and chooses event windows. A trace knows regions, not addresses, so the run has symbols that represent
//! the program's file ([`Symbol`](headwater_model::run::Symbol)).
//!
//! The way: `otf2` or `paraver` (bytes or lines to events) → `thread` (events to rows, with `calls` and their `links`,
//! `windows` and `regions`) → `rank` (rows of a rank) → the spool. No C library is needed. Of an OTF2 archive one
//! rank is held at a time. Whatever the bytes are, there is a run or an [`ImportError`] that names the file and the place; never a panic,
//! and nothing is left half done.

mod calls;
mod comms;
mod counters;
mod ends;
mod error;
mod links;
mod notes;
mod otf2;
mod paraver;
mod pauses;
mod program;
mod rank;
mod regions;
mod thread;
mod volume;
mod windows;

pub use error::ImportError;

use headwater_format::spool::{SpoolWriter, read_spool};
use headwater_format::{FormatError, write_run};
use headwater_model::run::{Run, Symbol};
use program::Program;
use std::path::{Path, PathBuf};

/// What a trace says beside the spool.
struct TraceMetadata {
    symbols: Vec<Symbol>,
    /// What the trace was written by.
    library: String,
    /// Sentences about what it does not contain.
    missing: Vec<String>,
}

/// A trace of one of the kinds that are read.
enum Trace {
    Otf2(Box<otf2::Archive>),
    Paraver(Box<paraver::Trace>),
}

impl Trace {
    /// Opens the trace that `path` is, or the one in the directory `path`.
    fn open(path: &Path) -> Result<Self, ImportError> {
        let path = find(path)?;
        if path.extension().is_some_and(|e| e == otf2::ENDING) {
            return otf2::Archive::open(&path).map(|a| Self::Otf2(Box::new(a)));
        }
        if paraver::file::stem(&path).is_some() {
            return paraver::Trace::open(&path).map(|t| Self::Paraver(Box::new(t)));
        }
        Err(ImportError::NotATrace(path))
    }
}

/// The trace's first file: `path`, or what is in the directory `path`.
fn find(path: &Path) -> Result<PathBuf, ImportError> {
    if !path.is_dir() {
        std::fs::metadata(path).map_err(ImportError::io(path))?;
        return Ok(path.to_path_buf());
    }
    let listing = std::fs::read_dir(path).map_err(ImportError::io(path))?;
    let mut found: Vec<PathBuf> = listing.filter_map(|e| Some(e.ok()?.path())).collect();
    let of_otf2 = |p: &PathBuf| p.extension().is_some_and(|e| e == otf2::ENDING);
    found.retain(|p| of_otf2(p) || paraver::file::stem(p).is_some());
    found.sort();
    // One trace that is there compressed as well, which comes behind.
    found.dedup_by_key(|p| paraver::file::stem(p).unwrap_or_else(|| p.clone()));
    match found.as_slice() {
        [] => Err(ImportError::NotATrace(path.to_path_buf())),
        [one] => Ok(one.clone()),
        several => {
            let names = several.iter().filter_map(|p| p.file_name());
            let names: Vec<String> = names.map(|n| n.to_string_lossy().into_owned()).collect();
            Err(ImportError::Several {
                path: path.to_path_buf(),
                names: names.join(", "),
            })
        }
    }
}

/// A directory of our own beside the run's, which goes with this.
struct Scratch(PathBuf);

impl Scratch {
    fn beside(out: &Path) -> Result<Self, ImportError> {
        let mut name = out.file_name().unwrap_or_default().to_os_string();
        name.push(format!(".part-{}", std::process::id()));
        let dir = out.with_file_name(name);
        let failed = |source| FormatError::Io {
            what: "make",
            path: dir.clone(),
            source,
        };
        std::fs::create_dir_all(&dir).map_err(failed)?;
        Ok(Self(dir))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Imports the trace at `trace` as the run `out`, which must not be there or be an empty directory. `progress` gets the
/// number of finished ranks and of all. `program` is what the program is called, in place of what the trace says.
///
/// # Errors
/// No trace, one that is damaged or of a kind that is not read, a run that cannot be written. `out` is made whole or
/// not at all.
pub fn import(
    trace: &Path,
    out: &Path,
    program: Option<&str>,
    mut progress: impl FnMut(usize, usize),
) -> Result<Run, ImportError> {
    // What somebody else has there is not mixed with a run, and a run has a name.
    let is_empty = |out: &Path| std::fs::read_dir(out).is_ok_and(|mut dir| dir.next().is_none());
    if out.file_name().is_none() || out.exists() && !is_empty(out) {
        return Err(FormatError::Exists(out.to_path_buf()).into());
    }
    let trace = Trace::open(trace)?;
    let scratch = Scratch::beside(out)?;
    let mut spool = SpoolWriter::create(&scratch.0)?;
    let metadata = match trace {
        Trace::Otf2(archive) => archive.spool(&mut spool, program, &mut progress)?,
        Trace::Paraver(trace) => trace.spool(&mut spool, program, &mut progress)?,
    };
    spool.finish()?;
    let mut run = read_spool(&scratch.0)?;
    complete(&mut run, metadata, out);
    write_run(out, &run)?;
    Ok(run)
}

/// Puts in what a spool cannot hold, and takes out what nobody measured.
fn complete(run: &mut Run, metadata: TraceMetadata, out: &Path) {
    let name = out.file_name().unwrap_or_default();
    run.header.name = name.to_string_lossy().into_owned();
    run.header.mpi_library = metadata.library;
    run.symbols = metadata.symbols;
    for rank in &mut run.ranks {
        rank.cpu_ns = None;
        (rank.minor_faults, rank.major_faults) = (None, None);
        (rank.voluntary_switches, rank.involuntary_switches) = (None, None);
    }
    run.header.missing.push(
        "The trace has wall time only. It is used as CPU time too, so time without a core is included.".to_string(),
    );
    run.header.missing.extend(metadata.missing);
}
