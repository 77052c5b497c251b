//! `diagnose`: runs to causes.

use super::Outcome;
use crate::args::{Analysis, DiagnoseArgs, Kind};
use crate::exit;
use crate::output::{self, print_screened};
use crate::progress::Progress;
use crate::source::Files;
use headwater_graph::Structures;
use headwater_load::Meant;
use headwater_model::run::Run;
use headwater_report::{TextOptions, json, text};
use std::path::PathBuf;

/// `headwater diagnose`.
pub fn command(args: &DiagnoseArgs, quiet: bool) -> Outcome {
    let progress = Progress::new(quiet, args.analysis.json.wanted());
    let runs = open(&args.runs, progress)?;
    report(runs, &args.analysis, progress)
}

/// Reads the runs that the directories mean.
pub fn open(dirs: &[PathBuf], progress: Progress) -> Result<Vec<Run>, String> {
    open_those(Meant::by(dirs), progress)
}

/// Reads runs.
pub fn open_those(meant: Meant, progress: Progress) -> Result<Vec<Run>, String> {
    let stage = progress.stage("reading the runs", meant.count());
    let opened = meant.open(&|| stage.step()).map_err(|e| e.to_string())?;
    Ok(opened.runs)
}

/// Structures of the modules that the runs touched, without those of language runtimes.
pub fn structures(runs: &[Run], max_loop_depth: usize, progress: Progress) -> Structures {
    let touched = headwater_load::touched(runs);
    let stage = progress.stage("analysing the program and its libraries", touched.len());
    headwater_load::structures(runs, touched, max_loop_depth, &|| stage.step())
}

/// Diagnoses `runs` and prints the report.
pub fn report(runs: Vec<Run>, analysis: &Analysis, progress: Progress) -> Outcome {
    let structures = structures(&runs, analysis.max_loop_depth, progress);
    let options = headwater_diagnosis::Options {
        scaling: analysis.scaling.map(Kind::scaling),
        abnorm_threshold: analysis.abnorm_threshold,
        ..Default::default()
    };
    let stage = progress.stage("looking for causes", 0);
    let diagnosis =
        headwater_diagnosis::diagnose(runs, structures, &options).map_err(|e| e.to_string())?;
    drop(stage);
    if analysis.json.wanted() {
        analysis.json.give(&json(&diagnosis))?;
    } else {
        let color = analysis.color.wanted();
        let width = output::width();
        print_screened(&text(
            &diagnosis,
            &TextOptions {
                color,
                width,
                top: analysis.top,
                source: &Files::allowed(analysis),
            },
        ))?;
    }
    let over = analysis
        .fail_on
        .is_some_and(|limit| diagnosis.causes.iter().any(|c| c.gain_share >= limit));
    Ok(if over {
        exit::OVER_THRESHOLD
    } else {
        exit::DONE
    })
}
