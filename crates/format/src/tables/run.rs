//! A whole run on disk: written at once or not at all, read back as it was.

use super::claim::Claim;
use super::codec;
use super::columns::{Column, Name, Table, sample_columns};
use super::events;
use crate::FormatError;
use crate::spool::layout::UNKNOWN_NAME;
use crate::spool::{Recorder, doubt, read_spool, recorders, spool_files, went_on};
use headwater_model::run::*;
use headwater_trace::trace::Loss;
use serde_json::{Value, json};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Name of the file that says what a run is.
pub const HEADER_NAME: &str = "run.json";
/// Version of the directory's format; readers refuse newer ones.
pub const VERSION: u32 = 3;

/// Name of the table whose columns depend on what was counted.
const SAMPLES: &str = "samples";

/// Name of the directory that the collector spools into, inside the run's.
pub(super) const SPOOL: &str = "spool";

fn file(dir: &Path, table: &str) -> PathBuf {
    dir.join(format!("{table}.parquet"))
}

/// Writes `run` as the directory `dir`, which may exist but must not hold a run yet.
///
/// # Errors
/// [`FormatError::Exists`] where there is a run already; I/O errors. Nothing is left half done: the
/// tables are made beside and moved, `run.json` last.
pub fn write_run(dir: &Path, run: &Run) -> Result<(), FormatError> {
    if is_finished(dir) {
        return Err(FormatError::Exists(dir.to_path_buf()));
    }
    std::fs::create_dir_all(dir).map_err(FormatError::io("make", dir))?;
    let temporary = dir.join(format!(".part-{}", std::process::id()));
    // A process with this number may have been killed here.
    let _ = std::fs::remove_dir_all(&temporary);
    headwater_files::create_private_dir(&temporary).map_err(FormatError::io("make", &temporary))?;
    let written = write_into(&temporary, dir, run);
    let _ = std::fs::remove_dir_all(&temporary);
    written
}

fn write_into(temporary: &Path, dir: &Path, run: &Run) -> Result<(), FormatError> {
    let mut tables: Vec<&str> = Vec::new();
    // A table without rows is no file of headings.
    fn put<R: Table>(dir: &Path, rows: &[R], tables: &mut Vec<&str>) -> Result<(), FormatError> {
        put_columns(dir, R::NAME, &R::columns(), rows, tables)
    }
    fn put_columns<R>(
        dir: &Path,
        name: &'static str,
        columns: &[Column<R>],
        rows: &[R],
        tables: &mut Vec<&str>,
    ) -> Result<(), FormatError> {
        if rows.is_empty() {
            return Ok(());
        }
        tables.push(name);
        codec::write(&file(dir, name), columns, rows)
    }
    let functions: Vec<Name> = run
        .functions
        .iter()
        .map(|name| Name { name: name.clone() })
        .collect();
    put(temporary, &run.modules, &mut tables)?;
    put(temporary, &run.symbols, &mut tables)?;
    put(temporary, &run.contexts, &mut tables)?;
    put(temporary, &functions, &mut tables)?;
    put(temporary, &run.comms, &mut tables)?;
    put(temporary, &run.ranks, &mut tables)?;
    put(temporary, &run.threads, &mut tables)?;
    put(temporary, &run.segments, &mut tables)?;
    put(temporary, &run.teams, &mut tables)?;
    put(temporary, &run.waits, &mut tables)?;
    put(temporary, &run.regions, &mut tables)?;
    put(temporary, &run.region_times, &mut tables)?;
    put(temporary, &run.calls, &mut tables)?;
    put(temporary, &run.messages, &mut tables)?;
    put(temporary, &run.collectives, &mut tables)?;
    put(temporary, &events::store(&run.events), &mut tables)?;
    put(temporary, &run.usage, &mut tables)?;
    put(temporary, &run.file_systems, &mut tables)?;
    put(temporary, &run.energy, &mut tables)?;
    let columns = sample_columns(&run.header.counters);
    put_columns(temporary, SAMPLES, &columns, &run.samples, &mut tables)?;

    let header = json!({ "format": VERSION, "header": run.header, "tables": tables });
    let text = serde_json::to_string_pretty(&header)
        .map_err(|e| FormatError::damaged(dir, e.to_string()))?;
    let header_file = temporary.join(HEADER_NAME);
    let written = headwater_files::create(&header_file)
        .and_then(|mut file| file.write_all((text + "\n").as_bytes()));
    written.map_err(FormatError::io("write", &header_file))?;
    for name in tables {
        let target = file(dir, name);
        std::fs::rename(file(temporary, name), &target)
            .map_err(FormatError::io("write", &target))?;
    }
    let target = dir.join(HEADER_NAME);
    std::fs::rename(&header_file, &target).map_err(FormatError::io("write", &target))
}

/// Tables that runs of format 1 may lack, because they were recorded before there were any.
const LATER: [&str; 9] = [
    "threads",
    "teams",
    "waits",
    "symbols",
    "regions",
    "region_times",
    "usage",
    "file_systems",
    "energy",
];

/// Whether a run has the table, by the list in its header. Format 1 has an object there, whose keys are the names, and a
/// file for each table that there was, also without rows.
fn is_written(written: Option<&Value>, name: &str) -> bool {
    match written {
        Some(Value::Array(names)) => names.iter().any(|n| n == name),
        Some(Value::Object(tables)) => !LATER.contains(&name) || tables.contains_key(name),
        _ => true,
    }
}

/// Bytes of a header at the most: that of a run of a million ranks has less.
const LONGEST_HEADER: u64 = 1 << 28;

/// Reads the run in `dir`.
///
/// # Errors
/// A directory that is no run, a newer format, a table that is missing or damaged.
pub fn read_run(dir: &Path) -> Result<Run, FormatError> {
    let path = dir.join(HEADER_NAME);
    let text = match headwater_files::read(&path, LONGEST_HEADER) {
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Err(match dir.exists() {
                true => FormatError::NotARun(dir.to_path_buf()),
                false => FormatError::Gone(dir.to_path_buf()),
            });
        }
        other => other.map_err(FormatError::io("read", &path))?,
    };
    let value: Value =
        serde_json::from_slice(&text).map_err(|e| FormatError::damaged(&path, e.to_string()))?;
    let found = value.get("format").and_then(Value::as_u64).unwrap_or(0);
    if found > u64::from(VERSION) {
        return Err(FormatError::Newer {
            path,
            found: u32::try_from(found).unwrap_or(u32::MAX),
            known: VERSION,
        });
    }
    let header = value.get("header").cloned().unwrap_or(Value::Null);
    let header: Header =
        serde_json::from_value(header).map_err(|e| FormatError::damaged(&path, e.to_string()))?;
    // A table that this run's writer did not know yet, or that had no rows, is empty; one that it wrote has to be there.
    let written = value.get("tables");
    let is_list = |v: &Value| {
        v.as_array()
            .is_some_and(|all| all.iter().all(Value::is_string))
    };
    if found >= 2 && !written.is_some_and(is_list) {
        return Err(FormatError::damaged(&path, "tables is no list of names"));
    }
    fn get<R: Table>(dir: &Path, written: Option<&Value>) -> Result<Vec<R>, FormatError> {
        if !is_written(written, R::NAME) {
            return Ok(Vec::new());
        }
        codec::read(&file(dir, R::NAME), &R::columns())
    }
    let ranks: Vec<RankInfo> = get(dir, written)?;
    if let Some(why) = doubt(header.ranks, ranks.len()) {
        return Err(FormatError::damaged(&path, why));
    }
    // The tables that grow with the ranks, on two cores.
    let samples = || match is_written(written, SAMPLES) {
        true => codec::read(&file(dir, SAMPLES), &sample_columns(&header.counters)),
        false => Ok(Vec::new()),
    };
    let events = || match found {
        0..=2 if is_written(written, events::NAME) => {
            let rows = codec::read(&file(dir, events::NAME), &events::old_columns())?;
            Ok(events::restore_old(&rows))
        }
        _ => Ok(events::restore(&get(dir, written)?)),
    };
    let ((samples, segments), (events, messages)) = rayon::join(
        || (samples(), get(dir, written)),
        || (events(), get(dir, written)),
    );
    Ok(Run {
        modules: get(dir, written)?,
        symbols: get(dir, written)?,
        contexts: get(dir, written)?,
        functions: get::<Name>(dir, written)?
            .into_iter()
            .map(|n| n.name)
            .collect(),
        comms: get(dir, written)?,
        ranks,
        threads: get(dir, written)?,
        segments: segments?,
        teams: get(dir, written)?,
        waits: get(dir, written)?,
        regions: get(dir, written)?,
        region_times: get(dir, written)?,
        calls: get(dir, written)?,
        messages: messages?,
        collectives: get(dir, written)?,
        usage: get(dir, written)?,
        file_systems: get(dir, written)?,
        energy: get(dir, written)?,
        events: events?,
        samples: samples?,
        header,
    })
}

/// Reads the run in `dir`, first making its tables from the spool if the run was recorded without a
/// launcher of ours, or was cut off. The spool is removed when the tables are complete. Of a run that still goes on, what
/// is there so far is read, and nothing is changed.
///
/// # Errors
/// As [`read_run`] and [`read_spool`]; a run that is being recorded and has no data yet, or that another user has not
/// finished, which is left alone.
pub fn open_run(dir: &Path) -> Result<Run, FormatError> {
    if is_finished(dir) || spool_in(dir).is_none() {
        return read_run(dir);
    }
    check_owner(dir)?;
    let ours = Claim::take_over(dir);
    // It may have been finished since we looked.
    if is_finished(dir) {
        return read_run(dir);
    }
    match ours {
        Err(going) => so_far(dir).unwrap_or(Err(going)),
        Ok(_ours) if !recorders_of(dir)?.iter().any(|r| r.is_here) => {
            Ok(finish_run(dir, |_| ())?.run)
        }
        Ok(_) => so_far(dir).unwrap_or_else(|| Err(FormatError::NotARun(dir.to_path_buf()))),
    }
}

/// What is there so far of a run whose program goes on; `None` if there is nothing yet.
fn so_far(dir: &Path) -> Option<Result<Run, FormatError>> {
    let mut run = match read_spool(&spool_in(dir)?) {
        Err(FormatError::NothingRecorded(_)) => return None,
        other => other,
    };
    if let Ok(run) = &mut run {
        name_by_directory(run, dir);
        run.header.still_running = true;
    }
    // The run may have been finished meanwhile: then files were removed while others were read.
    match is_finished(dir) {
        true => Some(read_run(dir)),
        false => Some(run),
    }
}

/// The processes that record the run in `dir`.
///
/// # Errors
/// A run that is not there, or that another user has not finished.
pub fn recorders_of(dir: &Path) -> Result<Vec<Recorder>, FormatError> {
    if is_finished(dir) {
        return Ok(Vec::new());
    }
    let Some(spool) = spool_in(dir) else {
        // It says what is wrong.
        return read_run(dir).map(|_| Vec::new());
    };
    check_owner(dir)?;
    recorders(&spool)
}

/// Refuses a run of somebody else's that is to be finished: files would be made and removed in that user's directories with
/// the rights of this one. Refuses links in the directory too: no recorder makes one, and it may lead to another file of
/// this user. `HEADWATER_ANY_OWNER` in the environment allows both.
fn check_owner(dir: &Path) -> Result<(), FormatError> {
    if std::env::var_os("HEADWATER_ANY_OWNER").is_some() {
        return Ok(());
    }
    let ours = rustix::process::geteuid().as_raw();
    let spool = spool_in(dir).into_iter();
    let files = spool.flat_map(|spool| spool_files(&spool).into_iter().chain([spool]));
    for path in files.chain([dir.to_path_buf()]) {
        // The user named the directory itself, which may be a link.
        let look = match path == dir {
            true => std::fs::metadata,
            false => std::fs::symlink_metadata,
        };
        let found = match look(&path) {
            // Ranks that merge their data remove their files.
            Err(e) if e.kind() == ErrorKind::NotFound && path != dir => continue,
            found => found.map_err(FormatError::io("read", &path))?,
        };
        if found.is_symlink() {
            return Err(FormatError::Link(path));
        }
        if found.uid() != ours {
            let (path, owner) = (dir.to_path_buf(), found.uid());
            return Err(FormatError::AnotherOwner { path, owner });
        }
    }
    Ok(())
}

/// A run whose tables are complete.
#[derive(Debug)]
pub struct Finished {
    /// The data.
    pub run: Run,
    /// What the streams of its trace have lost.
    pub losses: Vec<Loss>,
}

/// Makes the tables of the run in `dir` from its spool, which is removed when they are complete. `complete` adds to
/// the header what only the recorder knows.
///
/// # Errors
/// As [`read_spool`] and [`write_run`].
pub fn finish_run(dir: &Path, complete: impl FnOnce(&mut Header)) -> Result<Finished, FormatError> {
    let spool = spool_in(dir).ok_or_else(|| FormatError::NotARun(dir.to_path_buf()))?;
    let mut run = read_spool(&spool)?;
    complete(&mut run.header);
    if !run.header.uses_mpi() {
        run.header.went_on = went_on(&spool);
    }
    if run.header.went_on.is_some() {
        run.header.missing.push(
            "A process that the program had started went on when the program ended, as a daemon does: nothing of it is recorded.".to_string(),
        );
    }
    name_by_directory(&mut run, dir);
    let traces = super::trace::take(&spool, dir)?;
    run.header.missing.extend_from_slice(&traces.missing);
    write_run(dir, &run)?;
    traces.forget();
    for file in spool_files(&spool) {
        let _ = std::fs::remove_file(file);
    }
    if spool != dir && !traces.some_remain {
        let _ = std::fs::remove_dir_all(&spool);
    }
    Ok(Finished {
        run,
        losses: traces.losses,
    })
}

/// Whether the tables of the run in `dir` are complete.
pub fn is_finished(dir: &Path) -> bool {
    dir.join(HEADER_NAME).exists()
}

/// A run without a name is called after its directory.
fn name_by_directory(run: &mut Run, dir: &Path) {
    if run.header.name.is_empty() {
        run.header.name = dir
            .file_name()
            .map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    }
}

/// Whether `dir` is a recorded run, finished or not.
pub fn is_run(dir: &Path) -> bool {
    is_finished(dir) || spool_in(dir).is_some()
}

/// Where the spool of the run in `dir` is: in a directory of its own, or, where that was asked for, in
/// `dir` itself.
fn spool_in(dir: &Path) -> Option<PathBuf> {
    let own = dir.join(SPOOL);
    if own.is_dir() {
        return Some(own);
    }
    let here = !spool_files(dir).is_empty() || dir.join(UNKNOWN_NAME).exists();
    here.then(|| dir.to_path_buf())
}

/// Bytes of the run in `dir` on disk.
pub fn run_bytes(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .filter_map(|e| e.metadata().ok())
        .filter(std::fs::Metadata::is_file)
        .map(|m| m.len())
        .sum()
}
