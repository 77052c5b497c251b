//! Others' traces in: what Score-P, Extrae and ScalAna users have already becomes a recorded run.
//!
//! *Comes in*: the path of an OTF2 archive, of a Paraver trace, or directories with ScalAna's files, one for each scale.
//! *Goes out*: a directory as `headwater record` makes
//! it, so that every diagnosis and analysis works on it. An importer is another collector: what a trace says of each
//! rank is written as the collector would have spooled it, and the one reader of spools joins messages, computes waits
//! and chooses event windows. A trace knows regions, not addresses, so the run has symbols that represent
//! the program's file ([`Symbol`](headwater_model::run::Symbol)).
//!
//! The way: `otf2` or `paraver` (bytes or lines to events) → `thread` (events to rows, with `calls` and their `links`,
//! `windows` and `regions`) → `rank` (rows of a rank) → the spool. `scalana` has no events: it makes the rows of samples. No C library is needed. Of an OTF2 archive one
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
mod scalana;
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
    Scalana(Box<scalana::Files>),
}

impl Trace {
    /// Opens the trace that `path` is, or the one in the directory `path`; of ScalAna, all scales there.
    fn open(path: &Path) -> Result<Vec<Self>, ImportError> {
        let path = match find(path) {
            Err(ImportError::NotATrace(_)) => {
                let scales = scalana::scales(path)?.into_iter();
                let scales: Vec<Self> = scales.map(|f| Self::Scalana(Box::new(f))).collect();
                return match scales.is_empty() {
                    true => Err(ImportError::NotATrace(path.to_path_buf())),
                    false => Ok(scales),
                };
            }
            found => found?,
        };
        let trace = if path.extension().is_some_and(|e| e == otf2::ENDING) {
            Self::Otf2(Box::new(otf2::Archive::open(&path)?))
        } else if paraver::file::stem(&path).is_some() {
            Self::Paraver(Box::new(paraver::Trace::open(&path)?))
        } else {
            return Err(ImportError::NotATrace(path));
        };
        Ok(vec![trace])
    }

    /// Makes the run of it, which is called `name`, by a spool in `scratch`.
    fn run(
        self,
        scratch: &Path,
        name: &str,
        settings: &Settings<'_>,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Run, ImportError> {
        let mut spool = SpoolWriter::create(scratch)?;
        let program = settings.program;
        let metadata = match self {
            Self::Otf2(archive) => archive.spool(&mut spool, program, progress)?,
            Self::Paraver(trace) => trace.spool(&mut spool, program, progress)?,
            Self::Scalana(files) => {
                files.spool(&mut spool, program, settings.sampling_hz, progress)?
            }
        };
        spool.finish()?;
        let mut run = read_spool(scratch)?;
        complete(&mut run, metadata, name);
        Ok(run)
    }

    fn is_of_scalana(&self) -> bool {
        matches!(self, Self::Scalana(_))
    }
}

/// What the user says of a trace.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings<'a> {
    /// What the program is called, in place of what the trace says.
    pub program: Option<&'a str>,
    /// Samples per second of ScalAna's files, which do not say it.
    pub sampling_hz: Option<u32>,
}

/// Samples per second that ScalAna's files may have.
pub const SAMPLING_RATES: std::ops::RangeInclusive<u32> = scalana::RATES;

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
/// As [`import_all`]; a directory with several scales.
pub fn import(
    trace: &Path,
    out: &Path,
    program: Option<&str>,
    progress: impl FnMut(usize, usize),
) -> Result<Run, ImportError> {
    let settings = Settings {
        program,
        ..Default::default()
    };
    let mut runs = import_all(&[trace.to_path_buf()], out, &settings, progress)?;
    match (runs.pop(), runs.is_empty()) {
        (Some((_, run)), true) => Ok(run),
        _ => Err(ImportError::NotATrace(trace.to_path_buf())),
    }
}

/// Imports `traces`, which are one trace, or directories of ScalAna's files for one scale each or with such directories in
/// them. One trace or scale becomes the run `out`. Several scales become runs in the directory `out`, named by it and
/// their ranks. `out` must not be there or be an empty directory. Returns where each run is.
///
/// # Errors
/// No trace, one that is damaged or of a kind that is not read, a run that cannot be written. `out` is made whole or
/// not at all.
pub fn import_all(
    traces: &[PathBuf],
    out: &Path,
    settings: &Settings<'_>,
    mut progress: impl FnMut(usize, usize),
) -> Result<Vec<(PathBuf, Run)>, ImportError> {
    // What somebody else has there is not mixed with a run, and a run has a name.
    let is_empty = |out: &Path| std::fs::read_dir(out).is_ok_and(|mut dir| dir.next().is_none());
    if out.file_name().is_none() || out.exists() && !is_empty(out) {
        return Err(FormatError::Exists(out.to_path_buf()).into());
    }
    let mut opened = Vec::new();
    for path in traces {
        let of_path = Trace::open(path)?;
        let is_alone = !of_path.iter().all(Trace::is_of_scalana);
        if is_alone && traces.len() > 1 {
            return Err(ImportError::Alone(path.clone()));
        }
        if is_alone && settings.sampling_hz.is_some() {
            return Err(ImportError::NoSampling(path.clone()));
        }
        opened.extend(of_path);
    }
    let scratch = Scratch::beside(out)?;
    let name = out.file_name().unwrap_or_default().to_string_lossy();
    if opened.len() < 2 {
        let mut runs = Vec::new();
        for trace in opened {
            let run = trace.run(&scratch.0, &name, settings, &mut progress)?;
            write_run(out, &run)?;
            runs.push((out.to_path_buf(), run));
        }
        return Ok(runs);
    }
    let together = scratch.0.join("runs");
    let mut runs: Vec<(PathBuf, Run)> = Vec::new();
    for trace in opened {
        let mut run = trace.run(&scratch.0, &name, settings, &mut progress)?;
        // Several recordings of one scale have numbers.
        let ranks = run.header.ranks;
        let before = runs.iter().filter(|(_, r)| r.header.ranks == ranks).count();
        let number = match before {
            0 => String::new(),
            n => format!(".{}", n + 1),
        };
        run.header.name = format!("{name}.{ranks}{number}");
        write_run(&together.join(&run.header.name), &run)?;
        runs.push((out.join(&run.header.name), run));
    }
    // An empty directory gives way.
    let _ = std::fs::remove_dir(out);
    std::fs::rename(&together, out).map_err(|source| FormatError::Io {
        what: "make",
        path: out.to_path_buf(),
        source,
    })?;
    Ok(runs)
}

/// Puts in what a spool cannot hold, and takes out what nobody measured.
fn complete(run: &mut Run, metadata: TraceMetadata, name: &str) {
    run.header.name = name.to_string();
    run.header.mpi_library = metadata.library;
    run.symbols = metadata.symbols;
    for rank in &mut run.ranks {
        rank.cpu_ns = None;
        (rank.minor_faults, rank.major_faults) = (None, None);
        (rank.voluntary_switches, rank.involuntary_switches) = (None, None);
    }
    run.header.missing.extend(metadata.missing);
}
