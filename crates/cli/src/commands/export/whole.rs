//! Whole-run traces for simulators and trace viewers: a directory of files, which is there whole or not at all.

use super::{goal, otf2};
use crate::args::ExportArgs;
use crate::commands::simulate::UsedNetwork;
use crate::commands::{Outcome, show};
use crate::output::print;
use crate::progress::Progress;
use headwater_export::ExportError;
use headwater_export::whole::{TraceFormat, simgrid};
use headwater_simulate::Network;
use headwater_virtual_run::Recorded;
use std::fs::{File, Permissions};
use std::io::{BufWriter, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Exports the trace of a run.
pub fn command(args: &ExportArgs, format: &TraceFormat, quiet: bool) -> Outcome {
    check(args, format)?;
    let [run] = &*args.runs else {
        let count = args.runs.len();
        return Err(ExportError::Runs(format.name, "one run", count)
            .to_string()
            .into());
    };
    if format.name == "goal" {
        return goal::command(run, &args.output, quiet);
    }
    let target = Directory::of(format.name, &args.output)?;
    let progress = Progress::new(quiet, false);
    let trace = show::read(run)?;
    let in_run = |e: &dyn std::fmt::Display| format!("{}: {e}", run.display());
    let recorded = Recorded::of(&trace).map_err(|e| in_run(&e))?;
    let network = match &args.network {
        None => Network::Ideal,
        Some(wanted) => UsedNetwork::of(wanted, &recorded, run)?.network(),
    };
    let written = match format.name {
        "otf2" => {
            let simulated = args.simulated.then_some(&network);
            otf2::write(&trace, &recorded, simulated, &target, progress)
                .map(|notes| (notes, String::new()))
        }
        _ => write_simgrid(&recorded, &network, &target, progress),
    };
    let (notes, hint) = written.map_err(|e| match e {
        Failed::Trace(e) => in_run(&e),
        Failed::Write(e) => e,
    })?;
    target.keep()?;
    for note in notes {
        progress.say(&format!("note: {note}"));
    }
    print(&hint)
}

/// Settings that the format does not have.
fn check(args: &ExportArgs, format: &TraceFormat) -> Result<(), String> {
    let said = [
        ("ranks", args.ranks.is_some()),
        ("view", args.view.is_some()),
        ("vertices", args.vertices.is_some()),
        ("table", args.table.is_some()),
        ("analysis", args.analysis.is_some()),
        ("network", args.network.is_some()),
        ("simulated", args.simulated),
    ];
    let mut said = said.iter().filter(|(_, is)| *is).map(|(name, _)| *name);
    match said.find(|name| !format.settings.contains(name)) {
        Some(not) => Err(ExportError::Setting(format.name, not).to_string()),
        None if format.name == "otf2" && args.network.is_some() && !args.simulated => {
            Err("--network is the network of a simulation; give --simulated as well".to_string())
        }
        None => Ok(()),
    }
}

/// Why nothing is written.
pub enum Failed {
    /// The trace cannot be.
    Trace(ExportError),
    /// A file cannot be; the whole sentence.
    Write(String),
}

fn write_simgrid(
    recorded: &Recorded<'_>,
    network: &Network,
    target: &Directory,
    progress: Progress,
) -> Result<(Vec<String>, String), Failed> {
    let stage = progress.stage("reading ranks", recorded.size() as usize);
    let all = simgrid::SimGrid::new(recorded, || stage.step());
    drop(stage);
    let mut all = all.map_err(Failed::Trace)?;
    let size = all.ranks();
    let stage = progress.stage("writing ranks", size as usize);
    for rank in 0..size {
        target.file(&simgrid::rank_file(rank), |out| all.rank(rank, out))?;
        stage.step();
    }
    target.file(simgrid::INDEX, |out| Ok(simgrid::index(size, out)?))?;
    target.file(simgrid::HOSTS, |out| Ok(simgrid::hosts(size, out)?))?;
    target.file(simgrid::PLATFORM, |out| {
        Ok(simgrid::platform(size, network, out)?)
    })?;
    drop(stage);
    let mut notes = all.notes();
    drop(all);
    let simulated = recorded.notes();
    let simulated = simulated.iter();
    notes.extend(simulated.map(|(note, count)| format!("{} ({count} times)", note.text())));
    let place = crate::output::quoted(&target.path.to_string_lossy());
    let hint = format!("cd {place} && {}\n", simgrid::command(size, network));
    Ok((notes, hint))
}

/// A directory that gets its name when all of its files are written.
pub struct Directory {
    path: PathBuf,
    made: TempDir,
}

impl Directory {
    /// The directory that `-o` names for a format.
    ///
    /// # Errors
    /// Standard output; what is there already; a directory that cannot be made.
    pub fn of(format: &str, path: &Path) -> Result<Self, String> {
        if path.as_os_str() == "-" {
            return Err(format!(
                "{format} is a directory of files, which standard output cannot take; give a new directory to -o"
            ));
        }
        let shown = path.display();
        let empty = std::fs::read_dir(path).map(|mut all| all.next().is_none());
        match empty {
            Ok(true) => {}
            Ok(false) => {
                return Err(format!(
                    "{shown} is there already and has files; give a new directory to -o"
                ));
            }
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) if e.kind() == ErrorKind::NotADirectory => {
                return Err(format!("{shown} is a file; give a new directory to -o"));
            }
            Err(e) => return Err(format!("cannot write {shown}: {e}")),
        }
        let around = super::folder(path);
        if !around.is_dir() {
            let around = around.display();
            return Err(format!(
                "cannot write {shown}: there is no directory {around}"
            ));
        }
        let everybody = Permissions::from_mode(0o777);
        let mut builder = tempfile::Builder::new();
        builder.prefix(".headwater-export-").permissions(everybody);
        let made = builder
            .tempdir_in(around)
            .map_err(super::unnamed)
            .map_err(|e| format!("cannot write {shown}: {e}"))?;
        Ok(Self {
            path: path.to_path_buf(),
            made,
        })
    }

    /// Writes a file.
    fn file(
        &self,
        name: &str,
        write: impl FnOnce(&mut dyn Write) -> Result<(), ExportError>,
    ) -> Result<(), Failed> {
        let shown = self.path.join(name);
        let failed =
            |e: std::io::Error| Failed::Write(format!("cannot write {}: {e}", shown.display()));
        let file = File::create_new(self.made.path().join(name)).map_err(failed)?;
        let mut out = BufWriter::with_capacity(1 << 16, file);
        write(&mut out).map_err(|e| match e {
            ExportError::Write(e) => failed(e),
            e => Failed::Trace(e),
        })?;
        out.flush().map_err(failed)
    }

    /// What to say if nothing can be written.
    pub fn failed(&self, e: &std::io::Error) -> Failed {
        Failed::Write(format!("cannot write {}: {e}", self.path.display()))
    }

    /// Makes a directory in it.
    pub fn directory(&self, name: &str) -> Result<(), Failed> {
        self.make(name).map_err(|e| self.failed(&e))
    }

    /// The same, with the system's answer alone.
    pub fn make(&self, name: &str) -> std::io::Result<()> {
        std::fs::create_dir(self.made.path().join(name))
    }

    /// Adds bytes to the end of a file. It is open only now, because there may be one for each rank.
    pub fn append(&self, name: &str, bytes: &[u8]) -> std::io::Result<()> {
        let mut file = File::options();
        let mut file = file
            .append(true)
            .create(true)
            .open(self.made.path().join(name))?;
        file.write_all(bytes)
    }

    /// Gives the directory its name.
    pub fn keep(self) -> Result<(), String> {
        std::fs::rename(self.made.path(), &self.path)
            .map_err(|e| format!("cannot write {}: {e}", self.path.display()))?;
        // What is left of it has another name now.
        let _ = self.made.keep();
        Ok(())
    }
}
