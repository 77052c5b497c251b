//! `record` and `exec`: one run under any launcher.

use super::{Failure, Outcome};
use crate::args::{ExecArgs, RecordArgs, Recording};
use crate::exit;
use crate::output::{SCHEMA, print};
use crate::progress::Progress;
use headwater_format::{open_run, run_bytes};
use headwater_launch::{Ended, collector_path, place_before_program, supervise};
use headwater_model::run::Run;
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
    /// How the launcher ended.
    pub ended: Ended,
}

/// What `headwater record --json` gives.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "Recorded")]
pub struct Told<'a> {
    /// Version of this format.
    schema: u32,
    /// Directory of the run.
    run: &'a Path,
    /// Number of ranks.
    ranks: u32,
    /// From `MPI_Init` to `MPI_Finalize` on the slowest rank, in seconds.
    wall_seconds: f64,
    /// Bytes on disk.
    bytes: u64,
    /// Exit code of the launcher, which is that of this command.
    exit_code: u8,
    /// Ranks that did not reach `MPI_Finalize`.
    incomplete: &'a [u32],
}

/// `headwater exec`: becomes the program.
pub fn exec(args: &ExecArgs) -> Outcome {
    if args.recording.dry_run {
        let collector = collector_path().map_err(|e| e.to_string())?;
        return print(&format!(
            "LD_PRELOAD={} {}\n",
            collector.display(),
            args.program.join(" ")
        ));
    }
    let failed = headwater_launch::exec(&args.program, args.spool.as_deref(), args.recording.hz);
    Err(failed.to_string().into())
}

/// `headwater record`.
pub fn command(args: &RecordArgs, quiet: bool) -> Outcome {
    if args.recording.dry_run {
        let planned = wrapped(&args.command, Path::new("SPOOL"), &args.recording)?;
        return print(&(planned.join(" ") + "\n"));
    }
    let progress = Progress::new(quiet, args.json.wanted());
    let recorded = record(
        &args.command,
        &[],
        args.output.as_deref(),
        None,
        &args.recording,
        progress,
    )?;
    progress.say(&summary(&recorded));
    if args.json.wanted() {
        let h = &recorded.run.header;
        args.json.give_value(&Told {
            schema: SCHEMA,
            run: &recorded.dir,
            ranks: h.ranks,
            wall_seconds: h.wall_seconds,
            bytes: run_bytes(&recorded.dir),
            exit_code: recorded.ended.code,
            incomplete: &h.incomplete,
        })?;
    }
    Ok(recorded.ended.code)
}

/// One line about a recorded run.
pub fn summary(recorded: &Recorded) -> String {
    let h = &recorded.run.header;
    let mut line = format!(
        "recorded {}: {} ranks, {:.2} s, {:.1} KiB",
        recorded.dir.display(),
        h.ranks,
        h.wall_seconds,
        run_bytes(&recorded.dir) as f64 / 1024.0
    );
    if !h.incomplete.is_empty() {
        let set: headwater_model::RankSet = h.incomplete.iter().copied().collect();
        line += &format!("; ranks {set} did not reach MPI_Finalize, their data stop early");
    }
    if recorded.ended.code != 0 {
        line += &format!("; the program ended with exit code {}", recorded.ended.code);
    }
    line
}

/// The launcher's command line with us before the program.
fn wrapped(command: &[String], spool: &Path, recording: &Recording) -> Result<Vec<String>, String> {
    let own =
        std::env::current_exe().map_err(|e| format!("cannot find this program itself: {e}"))?;
    let mut ours = vec![
        own.display().to_string(),
        "exec".into(),
        "--spool".into(),
        spool.display().to_string(),
    ];
    if let Some(hz) = recording.hz {
        ours.extend(["--hz".into(), hz.to_string()]);
    }
    ours.push("--".into());
    place_before_program(command, &ours).map_err(|e| e.to_string())
}

/// Whether `command` can be run and recorded, before anything is made for it.
pub fn check(command: &[String], recording: &Recording) -> Result<(), String> {
    wrapped(command, Path::new(""), recording).map(|_| ())
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
/// wanted directory; otherwise it is called after program, ranks and job, below `below`.
pub fn record(
    command: &[String],
    environment: &[(&str, &str)],
    named: Option<&Path>,
    below: Option<&Path>,
    recording: &Recording,
    progress: Progress,
) -> Result<Recorded, Failure> {
    collector_path().map_err(|e| e.to_string())?;
    let here =
        std::env::current_dir().map_err(|e| format!("cannot find the current directory: {e}"))?;
    let below = below.map_or_else(|| here.clone(), |b| here.join(b));
    let temporary = match named {
        Some(name) => free_name(&here.join(name)),
        None => free_name(&below.join(format!(".headwater-{}", std::process::id()))),
    };
    let spool = temporary.join("spool");
    std::fs::create_dir_all(&spool).map_err(|e| {
        format!(
            "cannot make {}: {e}; give another place with -o",
            spool.display()
        )
    })?;
    let line = wrapped(command, &spool, recording).inspect_err(|_| clear(&temporary))?;
    let mut launcher = Command::new(&line[0]);
    launcher.args(&line[1..]).envs(environment.iter().copied());
    let ended = supervise(&mut launcher).map_err(|e| {
        clear(&temporary);
        format!("cannot start {}: {e}", line[0])
    })?;
    let code = ended.code;
    let stage = progress.stage("joining what the ranks recorded", 0);
    let run = open_run(&temporary, |header| {
        header.launcher = command.to_vec();
        header.exit_code = Some(i32::from(code));
        let program = header.program.rsplit('/').next().unwrap_or("run").to_string();
        let job = ["SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID"].iter().find_map(|v| std::env::var(v).ok());
        let default = format!("{program}.{}{}", header.ranks, job.map_or_else(String::new, |j| format!(".{j}")));
        header.name = named.and_then(|n| n.file_name()).map_or(default, |n| n.to_string_lossy().into_owned());
    })
    .map_err(|e| {
        clear(&temporary);
        let failed = if code == 0 { String::new() } else { format!(" (the program ended with exit code {code})") };
        let message = match e {
            headwater_format::FormatError::NothingRecorded(_) => format!(
                "nothing was recorded{failed}: no rank called MPI_Init with the collector loaded; see that the program uses a shared MPI library and that {} can be written",
                below.display()
            ),
            other => other.to_string(),
        };
        let code = if code == 0 { exit::BAD_USE } else { code };
        Failure { code, message }
    })?;
    drop(stage);
    let dir = match named {
        Some(wanted) => {
            if temporary != here.join(wanted) {
                eprintln!(
                    "headwater: {} exists already; the run is called {}",
                    wanted.display(),
                    temporary.display()
                );
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
        ended,
    })
}

/// Removes a directory that holds nothing worth keeping.
fn clear(dir: &Path) {
    let _ = std::fs::remove_dir(dir.join("spool"));
    let _ = std::fs::remove_dir(dir);
}
