//! `run`: record at several scales, then diagnose.

use super::record::Unnamed;
use super::{Outcome, diagnose, record};
use crate::args::RunArgs;
use crate::output::{print, quoted, tell};
use crate::progress::Progress;
use headwater_launch::{
    Ended, LaunchError, Plan, brings_launcher, command_for, recognise, with_place_for_ranks,
};
use headwater_model::words;
use std::io::IsTerminal;
use std::path::Path;

/// `headwater run`.
pub fn run(args: &RunArgs, quiet: bool) -> Outcome {
    let mut ranks = args.ranks.clone();
    ranks.sort_unstable();
    ranks.dedup();
    let mut plans = Vec::new();
    let mut lines = String::new();
    // All scales, then all again: what changes on the machine in the meantime meets every scale.
    for repetition in 1..=args.repeat {
        for n in &ranks {
            let (command, environment) = plan(&args.program, *n)?;
            lines += &record::planned(&command, &environment, &args.recording)?;
            plans.push((command, environment, *n, repetition));
        }
    }
    if args.recording.dry_run {
        return print(&lines);
    }
    let (mut runs, mut done) = (Vec::new(), Vec::new());
    let input = Input::new(plans.len())?;
    let progress = Progress::new(quiet, args.analysis.json.wanted());
    for (i, (command, environment, n, repetition)) in plans.iter().enumerate() {
        progress.say(&format!(
            "recording on {} ({} of {}): {}",
            words::count(*n as usize),
            i + 1,
            plans.len(),
            command.join(" ")
        ));
        input.begin_anew();
        let recorded = record::record(
            command,
            environment,
            None,
            Unnamed {
                below: args.output.as_deref().or(Some(Path::new("."))),
                repetition: (args.repeat > 1).then_some(*repetition),
            },
            &args.recording,
            progress,
        )?;
        progress.say(&record::summary(&recorded));
        let Ended { code, asked_to_end } = recorded.ended;
        if code != 0 || asked_to_end.is_some() {
            let why = asked_to_end.map_or_else(
                || format!("the program failed on {}", words::count(*n as usize)),
                |signal| format!("signal {signal} asked for an end"),
            );
            let what_is_there = match done.is_empty() {
                true => "what was recorded is kept".to_string(),
                false => format!(
                    "what was recorded before it: headwater diagnose {}",
                    done.join(" ")
                ),
            };
            tell(&format!(
                "{why}, and nothing more is recorded; {what_is_there}"
            ));
            return Ok(match asked_to_end {
                Some(signal) if code == 0 => 128 + signal,
                _ => code,
            });
        }
        let got = recorded.run.header.ranks;
        if got != *n {
            return Err(format!(
                "asked for {} and got {got}, in {}; see that the launcher is given the number of ranks ({{np}}), and that it is the one of the program's MPI library",
                words::count(*n as usize),
                recorded.dir.display()
            )
            .into());
        }
        if let Some(why) = record::not_all(&recorded, None) {
            return Err(why.into());
        }
        done.push(quoted(&recorded.dir.display().to_string()));
        runs.push(recorded.run);
    }
    diagnose::report(runs, &args.analysis, progress)
}

/// The command for one scale, `{np}` filled in everywhere: the user's own where it brings its launcher,
/// otherwise with that of the program's MPI library.
fn plan(program: &[String], ranks: u32) -> Result<Plan, String> {
    let told = program.iter().any(|w| w.contains("{np}"));
    let fill = |w: &String| w.replace("{np}", &ranks.to_string());
    let filled: Vec<String> = program.iter().map(fill).collect();
    if told && brings_launcher(&filled) {
        return Ok((filled, Vec::new()));
    }
    if program
        .first()
        .is_some_and(|first| recognise(first).is_some())
    {
        let line = with_place_for_ranks(program).map(|words| words.join(" "));
        let line = line.unwrap_or_else(|| "mpirun -n {np} ./app".to_string());
        return Err(format!(
            "each scale has a number of ranks of its own; write {{np}} where it goes: headwater run -n {ranks},… -- {line}"
        ));
    }
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    command_for(&filled, ranks, cores).map_err(|e| match e {
        // As an interpreter, whose script opens it.
        LaunchError::NoMpi(name) => format!(
            "{name} does not use MPI by itself: no MPI library is linked to it; if it opens one, as Python does, name the launcher: headwater run -n {ranks},… -- mpirun -n {{np}} {}",
            program.join(" ")
        ),
        e => e.to_string(),
    })
}

/// Standard input, which each scale is to find as the first one does.
enum Input {
    /// A file, and where it begins.
    File(u64),
    /// Nothing that could be read twice, nor is read.
    Other,
}

impl Input {
    /// For so many runs.
    ///
    /// # Errors
    /// Something waits to be read that only one of them could have.
    fn new(runs: usize) -> Result<Self, String> {
        let stdin = std::io::stdin();
        let Ok(begin) = rustix::fs::tell(&stdin) else {
            let waits = rustix::io::ioctl_fionread(&stdin).is_ok_and(|bytes| bytes > 0);
            if waits && runs > 1 && !stdin.is_terminal() {
                return Err("standard input is a pipe, which only one of the runs could read; give a file, which each of them reads from its begin: headwater run … < file".to_string());
            }
            return Ok(Self::Other);
        };
        Ok(Self::File(begin))
    }

    /// The next run begins.
    fn begin_anew(&self) {
        if let Self::File(begin) = self {
            // A device, which has no begin, is as it was.
            let _ = rustix::fs::seek(std::io::stdin(), rustix::fs::SeekFrom::Start(*begin));
        }
    }
}
