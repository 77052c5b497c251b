//! `run`: record at several scales, then diagnose.

use super::{Outcome, diagnose, record};
use crate::args::RunArgs;
use crate::output::print;
use crate::progress::Progress;
use headwater_launch::{Ended, Plan, command_for};
use std::path::Path;

/// `headwater run`.
pub fn run(args: &RunArgs, quiet: bool) -> Outcome {
    let mut ranks = args.ranks.clone();
    ranks.sort_unstable();
    ranks.dedup();
    let mut plans = Vec::new();
    for n in &ranks {
        let plan = plan(&args.program, *n)?;
        record::check(&plan.0, &args.recording)?;
        plans.push(plan);
    }
    if args.recording.dry_run {
        let lines: Vec<String> = plans
            .iter()
            .map(|(c, e)| {
                e.iter()
                    .map(|(k, v)| format!("{k}={v} "))
                    .collect::<String>()
                    + &c.join(" ")
            })
            .collect();
        return print(&(lines.join("\n") + "\n"));
    }
    let mut runs = Vec::new();
    let progress = Progress::new(quiet, args.analysis.json.wanted());
    for (i, ((command, environment), n)) in plans.iter().zip(&ranks).enumerate() {
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
            args.output.as_deref().or(Some(Path::new("."))),
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
        runs.push(recorded.run);
    }
    diagnose::report(runs, &args.analysis, progress)
}

/// The command for one scale: the user's own with `{np}` filled in, or that of the program's launcher.
fn plan(program: &[String], ranks: u32) -> Result<Plan, String> {
    if program.iter().any(|w| w.contains("{np}")) {
        return Ok((
            program
                .iter()
                .map(|w| w.replace("{np}", &ranks.to_string()))
                .collect(),
            Vec::new(),
        ));
    }
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    command_for(program, ranks, cores).map_err(|e| e.to_string())
}
