//! `import`: another tool's trace to a recorded run, or to a run for each scale.

use super::{Outcome, record};
use crate::args::ImportArgs;
use crate::exit;
use crate::progress::{Progress, Stage};
use headwater_import::{Settings, import_all};
use headwater_model::RankSet;

/// `headwater import`.
pub fn command(args: &ImportArgs, quiet: bool) -> Outcome {
    let progress = Progress::new(quiet, false);
    let mut stage: Option<Stage> = None;
    let report = |done: usize, ranks: usize| match &stage {
        Some(stage) if done > 0 => stage.step(),
        _ => stage = Some(progress.stage("reading the trace rank by rank", ranks)),
    };
    let settings = Settings {
        program: args.program.as_deref(),
        sampling_hz: args.sampling_hz,
    };
    let runs = import_all(&args.traces, &args.output, &settings, report);
    drop(stage);
    for (dir, run) in runs.map_err(|e| e.to_string())? {
        let header = &run.header;
        let mut line = format!("imported {}", record::figures(&dir, header));
        let is_there = |rank: &u32| run.ranks.iter().any(|r| r.rank == *rank);
        let (cut, gone): (Vec<u32>, Vec<u32>) =
            header.incomplete.iter().copied().partition(is_there);
        let (cut, gone): (RankSet, RankSet) =
            (cut.into_iter().collect(), gone.into_iter().collect());
        if !cut.is_empty() {
            line += &format!("; the trace of ranks {cut} ends before MPI_Finalize");
        }
        if !gone.is_empty() {
            line += &format!("; nothing is there of ranks {gone}");
        }
        progress.say(&line);
    }
    Ok(exit::DONE)
}
