//! `export`: recorded runs in the format of another tool.

use super::{Failure, Outcome, diagnose};
use crate::args::{ExportArgs, ExportedView};
use crate::exit;
use crate::output::print;
use crate::progress::Progress;
use headwater_export::{ExportError, Format, Recorded, Wanted, Which, by_name};
use headwater_load::Meant;
use std::fs::{File, Permissions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// `headwater export`.
pub fn command(args: &ExportArgs, quiet: bool) -> Outcome {
    let format = by_name(&args.format).map_err(|e| e.to_string())?;
    let target = Target::new(&args.output, format)?;
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
    let done = target.write(format, &recorded, &wanted);
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
    fn new(path: &Path, format: &Format) -> Result<Self, Failure> {
        if path.as_os_str() == "-" {
            let binary = format!(
                "{} is no text; give a file to -o, as -o run.{}",
                format.name, format.extension
            );
            return if format.text {
                Ok(Self::Output)
            } else {
                Err(binary.into())
            };
        }
        let shown = path.display();
        match std::fs::metadata(path) {
            Ok(there) if there.is_dir() => {
                let inside = path.join(format!("run.{}", format.extension));
                let inside = inside.display();
                Err(format!("{shown} is a directory; give a file to -o, as {inside}").into())
            }
            Ok(there) if there.is_file() => Err(taken(path)),
            Ok(_) => Ok(Self::Stream(path.into())),
            Err(e) if e.kind() == ErrorKind::NotFound => {
                let dir = folder(path);
                if !dir.is_dir() {
                    let dir = dir.display();
                    return Err(format!("cannot write {shown}: there is no directory {dir}").into());
                }
                Ok(Self::New(path.into()))
            }
            Err(e) => Err(format!("cannot write {shown}: {e}").into()),
        }
    }

    /// Writes all or nothing, but to what takes bytes as they come.
    fn write(self, format: &Format, runs: &[Recorded], wanted: &Wanted) -> Outcome {
        match self {
            Self::Output => {
                // What goes to a terminal is looked at as a whole.
                let mut bytes = Vec::new();
                give(format, runs, wanted, &mut bytes)?;
                print(&String::from_utf8_lossy(&bytes))
            }
            Self::Stream(path) => {
                let stream = File::options().write(true).open(&path);
                let failed = |e| format!("cannot write {}: {e}", path.display());
                give(format, runs, wanted, stream.map_err(failed)?)
            }
            Self::New(path) => {
                let failed = |e: io::Error| -> Failure {
                    if e.kind() == ErrorKind::AlreadyExists {
                        return taken(&path);
                    }
                    format!("cannot write {}: {e}", path.display()).into()
                };
                let file = new_file(folder(&path)).map_err(failed)?;
                give(format, runs, wanted, file.as_file())?;
                file.persist_noclobber(&path).map_err(|e| failed(e.error))?;
                Ok(exit::DONE)
            }
        }
    }
}

fn taken(path: &Path) -> Failure {
    let shown = path.display();
    format!("{shown} is there already; remove it, or give another file to -o").into()
}

/// The directory of a file.
fn folder(path: &Path) -> &Path {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// A file that goes away unless it is given its name; it may be read by whom new files may be.
fn new_file(dir: &Path) -> io::Result<NamedTempFile> {
    let everybody = Permissions::from_mode(0o666);
    let mut builder = tempfile::Builder::new();
    builder.prefix(".headwater-export-").permissions(everybody);
    builder.tempfile_in(dir)
}

fn give(format: &Format, runs: &[Recorded], wanted: &Wanted, to: impl Write + Send) -> Outcome {
    match format.write(runs, wanted, &mut BufWriter::new(to)) {
        // A reader that has closed its end is content.
        Err(ExportError::Write(e)) if e.kind() == ErrorKind::BrokenPipe => Ok(exit::DONE),
        done => Ok(done.map(|()| exit::DONE).map_err(|e| e.to_string())?),
    }
}
