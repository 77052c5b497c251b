//! `import`: another tool's trace to a recorded run.

use super::{Outcome, record};
use crate::args::ImportArgs;
use crate::exit;
use crate::progress::{Progress, Stage};

/// `headwater import`.
pub fn command(args: &ImportArgs, quiet: bool) -> Outcome {
    let progress = Progress::new(quiet, false);
    let mut stage: Option<Stage> = None;
    let report = |done: usize, ranks: usize| match &stage {
        Some(stage) if done > 0 => stage.step(),
        _ => stage = Some(progress.stage("reading the trace rank by rank", ranks)),
    };
    let program = args.program.as_deref();
    let run = headwater_import::import(&args.trace, &args.output, program, report);
    drop(stage);
    let header = run.map_err(|e| e.to_string())?.header;
    let mut line = format!("imported {}", record::figures(&args.output, &header));
    if !header.incomplete.is_empty() {
        let set: headwater_model::RankSet = header.incomplete.iter().copied().collect();
        line += &format!("; the trace of ranks {set} ends before MPI_Finalize");
    }
    progress.say(&line);
    Ok(exit::DONE)
}
