//! Whether whole-run traces are lossless: programs are recorded by a collector that also writes a plain log of every
//! event, and the expanded trace must be equal to the log.

mod compare;
mod log;
mod programs;

use crate::mpi::Mpi;
use crate::setup;
use crate::shell::{Done, run, within};
use compare::{Compared, compare};
use programs::Program;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Seconds that a program may take.
const PATIENCE: u32 = 60;

/// Programs, and how they are run.
#[derive(Default)]
struct Request {
    /// Names of programs or groups, or their beginnings; all if empty.
    names: Vec<String>,
    mpi: Mpi,
    /// Instead of the numbers of ranks in the table.
    ranks: Vec<u32>,
    /// A command in place of the table.
    own: Vec<String>,
}

impl Request {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut request = Self::default();
        let mut rest = arguments.iter();
        while let Some(word) = rest.next() {
            let mut value = || rest.next().ok_or(format!("{word} wants a value"));
            match word.as_str() {
                "--mpi" => request.mpi = Mpi::by_name(value()?)?,
                "-n" => {
                    let all = value()?.split(',').map(str::parse);
                    request.ranks = all
                        .collect::<Result<_, _>>()
                        .map_err(|_| "-n wants numbers of ranks")?;
                }
                "--" => request.own = rest.by_ref().cloned().collect(),
                option if option.starts_with('-') => {
                    return Err(format!("{option} is not known"));
                }
                name => request.names.push(name.into()),
            }
        }
        Ok(request)
    }
}

/// Records the programs that the arguments name, compares, and prints a line for each.
pub fn command(arguments: &[String]) -> Done {
    let request = Request::parse(arguments)?;
    let collector = collector()?;
    let programs = match request.own.split_first() {
        Some((program, arguments)) => vec![Program::own(program, arguments)],
        None => programs::all(&request.names, request.mpi)?,
    };
    println!(
        "{:<34} {:>5} {:>11} {:>12} {:>9}  result",
        "program", "ranks", "events", "log bytes", "trace"
    );
    let (mut events, mut runs, mut unfinished, mut differ) = (0, 0, 0, Vec::new());
    for program in &programs {
        let ranks = if request.ranks.is_empty() {
            &program.ranks
        } else {
            &request.ranks
        };
        for ranks in ranks {
            let (mut compared, ended) = one(program, request.mpi, *ranks, &collector)?;
            // Without an end there is no trace, and a log that is cut short.
            let no_end = !compared.traced && !ended.is_empty();
            if no_end {
                compared.differences.clear();
                unfinished += 1;
            }
            let result = result(&compared, &ended);
            println!(
                "{:<34} {ranks:>5} {:>11} {:>12} {:>9}  {result}",
                program.name, compared.events, compared.log_bytes, compared.trace_bytes
            );
            compared
                .differences
                .iter()
                .skip(1)
                .take(3)
                .for_each(|d| println!("{:>8}{d}", ""));
            events += compared.events;
            runs += 1;
            if !compared.differences.is_empty() {
                differ.push(format!("{} on {ranks} ranks", program.name));
            }
        }
    }
    println!(
        "{events} events in {runs} runs, {unfinished} of which did not reach their end; call paths are compared with recursion folded"
    );
    if differ.is_empty() {
        return Ok(());
    }
    Err(format!(
        "traces differ from what happened: {}",
        differ.join("; ")
    ))
}

fn result(compared: &Compared, ended: &str) -> String {
    let mut words = match (&*compared.differences, compared.lost) {
        ([], _) if !compared.traced && !ended.is_empty() => "not compared".to_string(),
        ([], 0) => "ok".to_string(),
        ([], lost) => format!("ok, and {lost} lost as the trace says"),
        ([first, rest @ ..], _) => format!("{first} ({} more streams)", rest.len()),
    };
    if !ended.is_empty() {
        words += &format!(" [{ended}]");
    }
    words
}

/// Builds the collector with the log; gives where it is.
fn collector() -> Result<PathBuf, String> {
    let target = setup::target().join("plain-log");
    let place = target.display().to_string();
    let build = [
        "build",
        "--release",
        "--quiet",
        "--package",
        "headwater-collector",
    ];
    let more = ["--features", "plain-log", "--target-dir", &place];
    run("cargo", &[&build[..], &more].concat())?;
    Ok(target.join("release/libheadwater_collector.so"))
}

/// Records a program and compares. Also gives how it ended, if not well.
fn one(
    program: &Program,
    mpi: Mpi,
    ranks: u32,
    collector: &Path,
) -> Result<(Compared, String), String> {
    let place = setup::target().join(format!("lossless/run.{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&place);
    let spool = place.join("spool");
    std::fs::create_dir_all(&spool).map_err(|e| e.to_string())?;
    let ours = r#"export HEADWATER_SPOOL="$0" HEADWATER_TRACE=1 LD_PRELOAD="$1"; shift; exec "$@""#;
    let mut command = within(PATIENCE, &mpi.mpirun(ranks)?);
    program.manifest_needs(mpi, &mut command);
    command
        .args(["sh", "-c", ours])
        .arg(&spool)
        .arg(collector)
        .arg(&program.program)
        .args(program.arguments(ranks))
        .current_dir(program.directory.as_ref().unwrap_or(&place))
        .stdin(Stdio::null());
    let out = command
        .output()
        .map_err(|e| format!("cannot start {command:?}: {e}"))?;
    let ended = match out.status.code() {
        Some(0) => String::new(),
        Some(124 | 137) => format!("does not end within {PATIENCE} s"),
        Some(code) => format!("exit code {code}"),
        None => "a signal".into(),
    };
    let compared = compare(&spool)?;
    if compared.differences.is_empty() {
        let _ = std::fs::remove_dir_all(&place);
    }
    Ok((compared, ended))
}
