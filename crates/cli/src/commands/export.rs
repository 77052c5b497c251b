//! `export`: recorded runs in the format of another tool.

mod goal;
mod otf2;
mod scalana;
mod whole;

use super::{Failure, Outcome, diagnose};
use crate::args::{ExportArgs, ExportedView};
use crate::exit;
pub(in crate::commands) use crate::output::folder;
use crate::output::{Place, place, print, taken};
use crate::progress::Progress;
use headwater_export::whole::TraceFormat;
use headwater_export::{ExportError, Recorded, Wanted, Which, by_name};
use headwater_load::Meant;
use std::fs::{File, Permissions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// `headwater export`.
pub fn command(args: &ExportArgs, quiet: bool) -> Outcome {
    if let Some(format) = TraceFormat::by_name(&args.format) {
        return whole::command(args, format, quiet);
    }
    let traced = [
        ("network", args.network.is_some()),
        ("simulated", args.simulated),
    ];
    let traced = traced.iter().find(|(_, is)| *is).map(|(name, _)| *name);
    let of_trace = |format| match traced {
        Some(not) => Err(ExportError::Setting(format, not).to_string()),
        None => Ok(()),
    };
    let wanted = Wanted {
        ranks: args.ranks.clone(),
        view: args.view.map(|v| match v {
            ExportedView::TopDown => Which::TopDown,
            ExportedView::Parallel => Which::Parallel,
        }),
        vertices: args.vertices,
        table: args.table.clone(),
        analysis: args.analysis.clone(),
    };
    if args.format == headwater_export::scalana::NAME {
        of_trace(headwater_export::scalana::NAME)?;
        return scalana::command(args, &wanted, quiet);
    }
    let format = by_name(&args.format).map_err(|e| e.to_string())?;
    of_trace(format.name)?;
    let target = Target::new(&args.output, (format.name, format.extension, format.text))?;
    // What cannot be is said before anything long begins.
    let meant = Meant::by(&args.runs);
    format
        .check(meant.count(), &wanted)
        .map_err(|e| e.to_string())?;
    let progress = Progress::new(quiet, false);
    let runs = diagnose::open_those(meant, progress)?;
    let structures = diagnose::structures(&runs, args.max_loop_depth, progress);
    let what = args
        .analysis
        .as_ref()
        .map(|name| format!("analysing ({name}) and writing"));
    let stage = progress.stage(what.as_deref().unwrap_or("writing"), 0);
    let recorded = Recorded::join(runs, structures).map_err(|e| e.to_string())?;
    let done =
        target.write(|out| finish(format.write(&recorded, &wanted, &mut BufWriter::new(out))));
    drop(stage);
    done
}

/// Where it goes.
enum Target {
    /// Standard output.
    Output,
    /// A device or pipe that is there.
    Stream(PathBuf),
    /// A file that is not there yet.
    New(PathBuf),
}

impl Target {
    /// Where a format goes that has a name, an ending, and is text or not.
    fn new(path: &Path, (name, extension, text): (&str, &str, bool)) -> Result<Self, Failure> {
        if path.as_os_str() == "-" {
            let binary = format!("{name} is no text; give a file to -o, as -o run.{extension}");
            return if text {
                Ok(Self::Output)
            } else {
                Err(binary.into())
            };
        }
        if path.is_dir() {
            let (shown, inside) = (path.display(), path.join(format!("run.{extension}")));
            let inside = inside.display();
            return Err(format!("{shown} is a directory; give a file to -o, as {inside}").into());
        }
        Ok(match place(path, "-o")? {
            Place::Stream => Self::Stream(path.into()),
            Place::New => Self::New(path.into()),
        })
    }

    /// Writes all or nothing, but to what takes bytes as they come.
    fn write(self, give: impl FnOnce(&mut (dyn Write + Send)) -> Outcome) -> Outcome {
        match self {
            Self::Output => {
                // What goes to a terminal is looked at as a whole.
                let mut bytes = Vec::new();
                give(&mut bytes)?;
                print(&String::from_utf8_lossy(&bytes))
            }
            Self::Stream(path) => {
                let stream = File::options().write(true).open(&path);
                let failed = |e| format!("cannot write {}: {e}", path.display());
                give(&mut stream.map_err(failed)?)
            }
            Self::New(path) => {
                let failed = |e: io::Error| -> Failure {
                    if e.kind() == ErrorKind::AlreadyExists {
                        return taken(&path, "-o").into();
                    }
                    format!("cannot write {}: {e}", path.display()).into()
                };
                let file = new_file(folder(&path)).map_err(failed)?;
                give(&mut file.as_file())?;
                file.persist_noclobber(&path).map_err(|e| failed(e.error))?;
                Ok(exit::DONE)
            }
        }
    }
}

/// A file that goes away unless it is given its name; it may be read by whom new files may be.
pub(in crate::commands) fn new_file(dir: &Path) -> io::Result<NamedTempFile> {
    let everybody = Permissions::from_mode(0o666);
    let mut builder = tempfile::Builder::new();
    builder.prefix(".headwater-export-").permissions(everybody);
    builder.tempfile_in(dir).map_err(unnamed)
}

/// The error, without the name of our temporary file: the user does not know it.
fn unnamed(error: io::Error) -> io::Error {
    let text = error.to_string();
    let reason = text.split(" at path ").next().unwrap_or(&text);
    io::Error::new(error.kind(), reason)
}

/// A reader that has closed its end is content.
fn finish(done: Result<(), ExportError>) -> Outcome {
    match done {
        Err(ExportError::Write(e)) if e.kind() == ErrorKind::BrokenPipe => Ok(exit::DONE),
        done => Ok(done.map(|()| exit::DONE).map_err(|e| e.to_string())?),
    }
}
