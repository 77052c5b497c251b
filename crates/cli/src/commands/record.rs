//! `record` and `exec`: one run under any launcher.

mod said;

pub use said::{figures, not_all, summary};

use super::{Failure, Outcome};
use crate::args::{ExecArgs, RecordArgs, Recording};
use crate::exit;
use crate::output::{SCHEMA, eprint_line, print, quoted, shell_line};
use crate::progress::Progress;
use headwater_dataflow::run::threads;
use headwater_format::spool::layout::{MERGED_NAME, UNKNOWN_NAME};
use headwater_format::{Claim, Finished, FormatError, HEADER_NAME, finish_run, run_bytes};
use headwater_launch::{
    Asked, Between, Ended, LaunchError, ProgramKind, asked, collector_named, collector_path,
    kind_of, may_be_recorded, not_sanitized, place_before_program, program_in_path, recognise,
    supervise, with_collector,
};
use headwater_model::run::{Header, Run};
use headwater_trace::budget::USUAL_MEBIBYTES;
use headwater_trace::likeness::{MOST_RANGES, Slack};
use headwater_trace::trace::Loss;
use rustix::fs::{Access, access};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A recorded run and the exit code of what was run.
pub struct Recorded {
    /// Where it is.
    pub dir: PathBuf,
    /// The data.
    pub run: Run,
    /// What the streams of its trace have lost.
    pub losses: Vec<Loss>,
    /// What the traces of a process could take, MiB.
    pub trace_memory: u32,
    /// How the launcher ended.
    pub ended: Ended,
}

/// The directory of a run for which the user gave no name.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unnamed<'a> {
    /// The directory that it is made in; by default the current one.
    pub below: Option<&'a Path>,
    /// Which repetition of its scale it is, from 1 on; `None` where there is one.
    pub repetition: Option<u32>,
    /// Threads of each rank that the program was asked for.
    pub threads: Option<u32>,
}

/// What `headwater record --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "Recorded")]
pub struct RecordJson<'a> {
    /// Version of this format.
    schema: u32,
    /// Directory of the run.
    run: &'a Path,
    /// Number of ranks.
    ranks: u32,
    /// Threads of each rank, if they are part of the scale of the run: those that the program was asked for; without MPI, those that were seen. Otherwise null.
    threads: Option<u32>,
    /// From `MPI_Init` to `MPI_Finalize` on the slowest rank, in seconds; without MPI, from the start of the program to its end.
    wall_seconds: f64,
    /// Bytes on disk.
    bytes: u64,
    /// Exit code of the launcher. It is that of this command, but for a run that ended well of which something is missing: then that is 2.
    exit_code: u8,
    /// Ranks that did not reach `MPI_Finalize`, or the end of a program without MPI.
    incomplete: &'a [u32],
}

/// `headwater exec`: becomes the program.
pub fn exec(args: &ExecArgs) -> Outcome {
    let recording = &args.recording;
    let (spool, collector) = (args.spool.as_deref(), args.collector.as_deref());
    let command = with_collector(&args.program, spool, asked_for(recording), collector)
        .map_err(|e| e.to_string())?;
    if recording.dry_run {
        return print(&shell_line(&command));
    }
    // On another machine nobody could look before at the program or at the place: it runs, and one rank says what is
    // missing.
    let rank = headwater_launch::rank().unwrap_or(0);
    if rank == 0 {
        if let Some(Err(e)) = args.program.first().map(|p| not_sanitized(p)) {
            eprint_line(&e.to_string());
        }
        if let Err(e) = may_write(spool, rank, "--spool") {
            eprint_line(&format!(
                "{e}; the program runs, but nothing will be recorded"
            ));
        }
    }
    Err(headwater_launch::exec(command).to_string().into())
}

/// `headwater record` on each rank that a launcher has started: becomes the program.
fn behind_launcher(args: &RecordArgs, rank: u32, quiet: bool) -> Outcome {
    if args.json.wanted() {
        let word = "record --json reports on a run that has ended, so put it before the launcher: headwater record --json -- mpirun -n 4 ./app";
        return Err(word.to_string().into());
    }
    let here =
        std::env::current_dir().map_err(|e| format!("cannot find the current directory: {e}"))?;
    let named = args.output.as_ref().map(|name| here.join(name));
    let spool = named.as_ref().map(|dir| dir.join("spool"));
    // Ranks of this run make neither before all of them have begun.
    let whole =
        |d: &&PathBuf| d.join(HEADER_NAME).exists() || d.join("spool").join(MERGED_NAME).exists();
    if let Some(dir) = named.as_ref().filter(whole) {
        return Err(FormatError::Exists(dir.clone()).to_string().into());
    }
    if let Some(program) = args.command.first() {
        may_be_recorded(program).map_err(|e| e.to_string())?;
    }
    let command = with_collector(
        &args.command,
        spool.as_deref(),
        asked_for(&args.recording),
        None,
    )
    .map_err(|e| e.to_string())?;
    if args.recording.dry_run {
        return print(&shell_line(&command));
    }
    may_write(spool.as_deref(), rank, "-o")?;
    if rank == 0 && !quiet {
        let place = named.map_or("headwater-PROGRAM-JOB".into(), |d| d.display().to_string());
        eprint_line(&format!(
            "every rank records into {place}; after the run, type: headwater diagnose {place}"
        ));
    }
    Err(headwater_launch::exec(command).to_string().into())
}

/// Holds that this rank can record into `spool`, or below the current directory: once it is the program, nobody would
/// hear that it cannot.
///
/// # Errors
/// It cannot: the line names `option`, which takes another place.
fn may_write(spool: Option<&Path>, rank: u32, option: &str) -> Result<(), String> {
    let wanted = spool.unwrap_or(Path::new("."));
    let there = wanted.ancestors().find(|d| d.exists());
    let there = there
        .filter(|d| !d.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let rights = Access::WRITE_OK | Access::EXEC_OK;
    let refused = if there.is_dir() {
        access(there, rights)
            .err()
            .map(|e| std::io::Error::from(e).to_string())
    } else {
        Some("it is no directory".to_string())
    };
    refused.map_or(Ok(()), |why| {
        Err(format!(
            "rank {rank} cannot record into {}: {why}; give another place with {option}",
            there.display()
        ))
    })
}

/// `headwater record`.
pub fn command(args: &RecordArgs, quiet: bool) -> Outcome {
    let first = args.command.first().map_or("", String::as_str);
    if let Some(rank) = headwater_launch::rank().filter(|_| recognise(first).is_none()) {
        return behind_launcher(args, rank, quiet);
    }
    if args.recording.dry_run {
        return print(&planned(&args.command, &[], &args.recording)?);
    }
    let progress = Progress::new(quiet, args.json.wanted());
    let recorded = record(
        &args.command,
        &[],
        args.output.as_deref(),
        Unnamed::default(),
        &args.recording,
        progress,
        None,
    )?;
    progress.say(&summary(&recorded));
    if args.json.wanted() {
        let h = &recorded.run.header;
        args.json.give_value(&RecordJson {
            schema: SCHEMA,
            run: &recorded.dir,
            ranks: h.ranks,
            threads: threads::of_scale(&recorded.run),
            wall_seconds: h.wall_seconds,
            bytes: run_bytes(&recorded.dir),
            exit_code: recorded.ended.code,
            incomplete: &h.incomplete,
        })?;
    }
    match not_all(&recorded, asked(&args.command)) {
        Some(why) => Err(why.into()),
        None => Ok(recorded.ended.code),
    }
}

/// What the collector is asked for.
fn asked_for(recording: &Recording) -> Asked {
    Asked {
        hz: recording.hz,
        trace: recording.trace,
        slack: recording.signature_slack,
        alike: alike(recording),
        lossy: recording.lossy,
        trace_memory: recording.trace_memory,
    }
}

/// The ranges of addresses that count as one place.
fn alike(recording: &Recording) -> Option<String> {
    let ranges = &recording.signature_any;
    (!ranges.is_empty()).then(|| Slack::write_ranges(ranges))
}

/// What is run for `command`: the same with us before the program, and with `environment` set.
fn launching(
    command: &[String],
    environment: &[(&'static str, String)],
    spool: &Path,
    recording: &Recording,
) -> Result<Command, String> {
    let own =
        std::env::current_exe().map_err(|e| format!("cannot find this program itself: {e}"))?;
    let mut ours = vec![own.display().to_string(), "exec".into()];
    // Not every launcher hands the environment on.
    if let Some(named) = collector_named().map_err(|e| e.to_string())? {
        ours.extend(["--collector".into(), named.display().to_string()]);
    }
    ours.extend(["--spool".into(), spool.display().to_string()]);
    if let Some(hz) = recording.hz {
        ours.extend(["--hz".into(), hz.to_string()]);
    }
    if recording.trace {
        ours.push("--trace".into());
    }
    if let Some(frames) = recording.signature_slack {
        ours.extend(["--signature-slack".into(), frames.to_string()]);
    }
    if recording.signature_any.len() > MOST_RANGES {
        return Err(format!(
            "--signature-any takes at most {MOST_RANGES} ranges"
        ));
    }
    if let Some(ranges) = alike(recording) {
        ours.extend(["--signature-any".into(), ranges]);
    }
    if let Some(terms) = recording.lossy {
        ours.extend(["--lossy".into(), terms.to_string()]);
    }
    if let Some(mebibytes) = recording.trace_memory {
        ours.extend(["--trace-memory".into(), mebibytes.to_string()]);
    }
    ours.push("--".into());
    let line = place_before_program(command, &ours).map_err(|e| e.to_string())?;
    let (first, rest) = line.split_first().ok_or("there is nothing to run")?;
    let mut launcher = Command::new(first);
    launcher
        .args(rest)
        .envs(environment.iter().map(|(name, value)| (name, value)));
    Ok(launcher)
}

/// The line that would be run for `command`, with `SPOOL` for a directory that only recording makes.
pub fn planned(
    command: &[String],
    environment: &[(&'static str, String)],
    recording: &Recording,
) -> Result<String, String> {
    let launcher = launching(command, environment, Path::new("SPOOL"), recording)?;
    Ok(shell_line(&launcher))
}

/// A directory that is not there yet, for a run of this name.
fn free_name(wanted: &Path) -> PathBuf {
    let taken = |p: &Path| p.exists();
    if !taken(wanted) {
        return wanted.to_path_buf();
    }
    let name = wanted.to_string_lossy();
    (2u32..)
        .map(|n| PathBuf::from(format!("{name}-{n}")))
        .find(|p| !taken(p))
        .unwrap_or_else(|| wanted.to_path_buf())
}

/// Runs `command` with the collector before the program and makes the run's tables. `named` is the
/// wanted directory; otherwise it is called after program, ranks and job, as `unnamed` says. Once the program has ended,
/// signals have the effect that `between` says.
pub fn record(
    command: &[String],
    environment: &[(&'static str, String)],
    named: Option<&Path>,
    unnamed: Unnamed<'_>,
    recording: &Recording,
    progress: Progress,
    between: Option<&mut Between>,
) -> Result<Recorded, Failure> {
    collector_path().map_err(|e| e.to_string())?;
    let here =
        std::env::current_dir().map_err(|e| format!("cannot find the current directory: {e}"))?;
    let below = unnamed.below.map_or_else(|| here.clone(), |b| here.join(b));
    let temporary = match named {
        Some(name) => free_name(&here.join(name)),
        None => free_name(&below.join(temporary_name())),
    };
    let spool = temporary.join("spool");
    let mut launcher = launching(command, environment, &spool, recording)?;
    let made = std::fs::create_dir_all(temporary.parent().unwrap_or(&here))
        .and_then(|()| std::fs::create_dir(&temporary))
        .and_then(|()| headwater_files::create_private_dir(&spool));
    made.map_err(|e| {
        format!(
            "cannot make {}: {e}; give another place with -o",
            spool.display()
        )
    })?;
    let ours = Claim::begin(&temporary).map_err(|e| e.to_string())?;
    let name = launcher.get_program().to_string_lossy().into_owned();
    let ended = match progress.during(&name, || supervise(&mut launcher, between)) {
        Ok(ended) => ended,
        Err(e) => {
            clear(&temporary, ours);
            return Err(format!("cannot start {name}: {e}").into());
        }
    };
    let code = ended.code;
    let stage = progress.stage("joining what the ranks recorded", 0);
    let run = finish_run(&temporary, |header| {
        header.launcher = command.to_vec();
        header.exit_code = Some(i32::from(code));
        header.threads_asked = unnamed.threads;
        header.name = named.and_then(|n| n.file_name()).map_or_else(
            || default_name(header, unnamed.repetition),
            |n| n.to_string_lossy().into_owned(),
        );
    });
    drop(stage);
    let Finished { run, losses } = match run {
        Ok(finished) => finished,
        Err(e) => {
            if matches!(e, FormatError::OnlyWrapper(_)) {
                // What is recorded of it is not worth keeping.
                let _ = std::fs::remove_dir_all(&spool);
            }
            clear(&temporary, ours);
            return Err(nothing(&e, ended, command, &below, &temporary));
        }
    };
    drop(ours);
    let dir = match named {
        Some(wanted) => {
            if temporary != here.join(wanted) {
                eprint_line(&format!(
                    "{} exists already; the run is called {}",
                    wanted.display(),
                    temporary.display()
                ));
            }
            temporary
        }
        None => {
            let dir = free_name(&below.join(&run.header.name));
            std::fs::rename(&temporary, &dir).map_err(|e| {
                format!(
                    "cannot name the run {}: {e}; it is in {}",
                    dir.display(),
                    temporary.display()
                )
            })?;
            dir
        }
    };
    Ok(Recorded {
        dir: dir
            .strip_prefix(&here)
            .map_or(dir.clone(), Path::to_path_buf),
        run,
        losses,
        trace_memory: recording.trace_memory.unwrap_or(USUAL_MEBIBYTES),
        ended,
    })
}

/// What the directory of a run without a name is called until its program, ranks and job are known.
pub fn temporary_name() -> String {
    format!(".headwater-{}", std::process::id())
}

/// The name of a run for which the user gave none: program, ranks and job, and which repetition it is.
fn default_name(header: &Header, repetition: Option<u32>) -> String {
    const JOBS: [&str; 4] = ["SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID"];
    let program = header.program.rsplit('/').next().unwrap_or("run");
    let job = JOBS.iter().find_map(|v| std::env::var(v).ok());
    let job = job.map_or_else(String::new, |j| format!(".{j}"));
    let repetition = repetition.map_or_else(String::new, |r| format!(".r{r}"));
    let threads = header.threads_asked;
    let threads = threads.map_or_else(String::new, |n| format!(".t{n}"));
    format!("{program}.{}{threads}{job}{repetition}", header.ranks)
}

/// What is started: behind a launcher, a program of MPI.
fn started_as(command: &[String]) -> ProgramKind {
    let first = command.first().map_or("", String::as_str);
    match program_in_path(first) {
        Some(path) if recognise(first).is_none() => kind_of(&path),
        _ => ProgramKind::Mpi,
    }
}

/// Why there is no run, of a command that `ended`. The recorded data, if there are any, are in `dir`.
fn nothing(
    error: &FormatError,
    ended: Ended,
    command: &[String],
    below: &Path,
    dir: &Path,
) -> Failure {
    let Ended { code, asked_to_end } = ended;
    let kind = started_as(command);
    let first = command.first().cloned().unwrap_or_default();
    let command = command.join(" ");
    let message = match (error, asked_to_end) {
        (FormatError::NothingRecorded(_), Some(signal)) => format!(
            "signal {signal} ended {command}; nothing was recorded, because no rank had called MPI_Init with the collector loaded"
        ),
        (FormatError::NothingRecorded(_), None) if kind == ProgramKind::Static => {
            LaunchError::Static(first).to_string()
        }
        (FormatError::NothingRecorded(_), None)
            if code == 0 && kind == ProgramKind::Interpreted =>
        {
            format!(
                "nothing was recorded of {command}, which runs a script; if the script calls MPI, check that {} can be written and has room; without MPI only the program that it becomes is recorded: give that program itself, or start it with exec in the script",
                below.display()
            )
        }
        (FormatError::NothingRecorded(_), None) if code == 0 && kind == ProgramKind::NoMpi => {
            format!(
                "nothing was recorded of {command}, which does not use MPI; check that no other tool is loaded before the collector, and that {} can be written and has room",
                below.display()
            )
        }
        (FormatError::NothingRecorded(_), None) if code != 0 => format!(
            "nothing was recorded: {command} ended with exit code {code}, and no rank had called MPI_Init with the collector loaded; see its last output above"
        ),
        (FormatError::NothingRecorded(_), None) => format!(
            "nothing was recorded: no rank called MPI_Init with the collector loaded; check that the program uses a shared MPI library, that no other tool is loaded before the collector, and that {} can be written and has room",
            below.display()
        ),
        // The tables could not be written.
        (FormatError::Io { what, .. }, _) if *what != "read" => format!(
            "{error}; the recorded data are still in {}; free space or correct what else is wrong, then finish the run with: headwater diagnose {}",
            dir.display(),
            quoted(&dir.display().to_string())
        ),
        (other, _) => other.to_string(),
    };
    let code = if code == 0 { exit::BAD_USE } else { code };
    Failure {
        code,
        message,
        asked_to_end,
    }
}

/// Removes a directory that holds nothing worth keeping.
fn clear(dir: &Path, ours: Claim) {
    drop(ours);
    let spool = dir.join("spool");
    let _ = std::fs::remove_file(spool.join(UNKNOWN_NAME));
    let _ = std::fs::remove_dir(spool);
    let _ = std::fs::remove_dir(dir);
}
