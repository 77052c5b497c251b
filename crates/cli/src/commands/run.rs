//! `run`: record at several scales, then diagnose.

use super::record::Unnamed;
use super::{Outcome, diagnose, record};
use crate::args::RunArgs;
use crate::output::print;
use crate::progress::Progress;
use headwater_launch::{Ended, Plan, brings_launcher, command_for};
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
    let mut runs = Vec::new();
    let progress = Progress::new(quiet, args.analysis.json.wanted());
    for (i, (command, environment, n, repetition)) in plans.iter().enumerate() {
        progress.say(&format!(
            "recording on {n} ranks ({} of {}): {}",
            i + 1,
            plans.len(),
            command.join(" ")
        ));
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
                || format!("the program failed on {n} ranks"),
                |signal| format!("signal {signal} asked for an end"),
            );
            eprintln!("headwater: {why}; what was recorded is kept, and nothing more is recorded");
            return Ok(match asked_to_end {
                Some(signal) if code == 0 => 128 + signal,
                _ => code,
            });
        }
        let got = recorded.run.header.ranks;
        if got != *n {
            return Err(format!(
                "{n} ranks were asked for and {got} recorded, in {}; see that the launcher is given the number of ranks ({{np}}), and that it is the one of the program's MPI library",
                recorded.dir.display()
            )
            .into());
        }
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
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    command_for(&filled, ranks, cores).map_err(|e| e.to_string())
}
