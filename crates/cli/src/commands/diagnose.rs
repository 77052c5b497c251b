//! `diagnose`: runs to causes.

use super::{Outcome, page};
use crate::args::{Analysis, DiagnoseArgs, Kind, Printed};
use crate::exit;
use crate::output::{self, print, print_screened};
use crate::progress::Progress;
use crate::source::Files;
use headwater_graph::Structures;
use headwater_load::Meant;
use headwater_model::diagnosis::Diagnosis;
use headwater_model::run::Run;
use headwater_report::{TextOptions, gcc, json, sarif, text};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// `headwater diagnose`.
pub fn command(args: &DiagnoseArgs, quiet: bool) -> Outcome {
    let progress = Progress::new(quiet, args.analysis.is_for_programs());
    let page = page::Target::of(&args.analysis)?;
    let runs = open(&args.runs, progress)?;
    let page = page.map(|target| (target, args.runs.as_slice()));
    report(runs, &args.analysis, page, progress)
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

/// The options of a diagnosis.
pub fn options(analysis: &Analysis) -> headwater_diagnosis::Options {
    headwater_diagnosis::Options {
        scaling: analysis.scaling.map(Kind::scaling),
        abnorm_threshold: analysis.abnorm_threshold,
        region: analysis.region.clone(),
        ..Default::default()
    }
}

/// Checks that a run has this region.
fn known_region(runs: &[Run], region: &str) -> Result<(), String> {
    let modules = runs.iter().flat_map(|run| &run.modules);
    let all: BTreeSet<&str> = modules.filter_map(|m| m.region()).collect();
    if all.contains(region) {
        return Ok(());
    }
    let known: Vec<&str> = all.into_iter().take(10).collect();
    Err(match known.as_slice() {
        [] => format!("no region {region}: the program names no regions (docs/REGIONS.md)"),
        known => format!(
            "no region {region} in these runs; there is {}",
            known.join(", ")
        ),
    })
}

/// Diagnoses `runs`, prints the report, and writes the page if one is wanted, with the traces in some directories.
pub fn report(
    runs: Vec<Run>,
    analysis: &Analysis,
    page: Option<(page::Target, &[PathBuf])>,
    progress: Progress,
) -> Outcome {
    let depth = analysis.max_loop_depth;
    if let Some(region) = &analysis.region {
        known_region(&runs, region)?;
    }
    let page = match page {
        None => None,
        Some((target, dirs)) => {
            let whose = (dirs, runs.first());
            Some((
                target,
                page::besides(whose, &analysis.against, depth, progress)?,
            ))
        }
    };
    let structures = structures(&runs, depth, progress);
    let stage = progress.stage("looking for causes", 0);
    let diagnosed = headwater_diagnosis::diagnose_runs(runs, structures, &options(analysis))
        .map_err(|e| e.to_string())?;
    drop(stage);
    let diagnosis = &diagnosed.diagnosis;
    let over = analysis
        .fail_on
        .is_some_and(|limit| diagnosis.causes.iter().any(|c| c.gain_share >= limit));
    print_report(diagnosis, analysis)?;
    if let Some((page, besides)) = page {
        let stage = progress.stage("writing the page", 0);
        page.write(diagnosed, besides, &Files::allowed(analysis))?;
        drop(stage);
    }
    Ok(if over {
        exit::OVER_THRESHOLD
    } else {
        exit::DONE
    })
}

fn print_report(diagnosis: &Diagnosis, analysis: &Analysis) -> Outcome {
    if analysis.json.wanted() {
        return analysis.json.give(&json(diagnosis));
    }
    if let Some(path) = &analysis.sarif {
        let sarif = sarif(diagnosis, env!("CARGO_PKG_VERSION"));
        return match path.as_os_str() == "-" {
            true => print(&sarif),
            false => output::write(path, &sarif, "--sarif"),
        };
    }
    if analysis.format == Printed::Gcc {
        return print(&gcc(diagnosis));
    }
    let color = analysis.color.wanted();
    let width = output::width();
    print_screened(&text(
        diagnosis,
        &TextOptions {
            color,
            width,
            top: analysis.top,
            source: &Files::allowed(analysis),
        },
    ))
}

impl Analysis {
    /// Whether standard output is for programs.
    pub fn is_for_programs(&self) -> bool {
        self.json.wanted() || self.sarif.is_some() || self.format != Printed::Report
    }
}
