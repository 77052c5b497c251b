//! `diagnose`: runs to causes.

use super::Outcome;
use crate::args::{Analysis, DiagnoseArgs, Kind};
use crate::exit;
use crate::output::{self, print};
use crate::progress::Progress;
use crate::source::Files;
use headwater_format::open_run;
use headwater_graph::{Structures, brought, is_runtime_library};
use headwater_model::psg::ModuleStructure;
use headwater_model::run::{Module, Run};
use headwater_report::{TextOptions, json, text};
use headwater_structure::{Cache, Options};
use rayon::prelude::*;
use std::path::{Path, PathBuf};

/// `headwater diagnose`.
pub fn command(args: &DiagnoseArgs, quiet: bool) -> Outcome {
    let progress = Progress::new(quiet, args.analysis.json.wanted());
    let runs = open(&args.runs, progress)?;
    report(runs, &args.analysis, progress)
}

/// Reads recorded runs, in the order given.
pub fn open(dirs: &[PathBuf], progress: Progress) -> Result<Vec<Run>, String> {
    let stage = progress.stage("reading the runs", dirs.len());
    let all: Vec<Result<Run, String>> = dirs
        .par_iter()
        .map(|dir| {
            let run = open_run(dir).map_err(|e| e.to_string());
            stage.step();
            run
        })
        .collect();
    // Of several that cannot be read the first one is told.
    all.into_iter().collect()
}

/// Where analysed modules are kept.
pub fn cache_dir() -> Option<PathBuf> {
    let base = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|p| p.is_absolute());
    let base =
        base.or_else(|| std::env::var_os("HOME").map(|h| PathBuf::from(h).join(".cache")))?;
    Some(base.join("headwater"))
}

/// Structures of the modules that the runs touched, without those of language runtimes.
pub fn structures(runs: &[Run], max_loop_depth: usize, progress: Progress) -> Structures {
    let brought = brought(runs);
    let mut touched: Vec<Module> = Vec::new();
    for run in runs {
        let mut seen = vec![false; run.modules.len()];
        for context in &run.contexts {
            if let Some(slot) = seen.get_mut(context.module as usize) {
                *slot = true;
            }
        }
        let own = run
            .modules
            .iter()
            .zip(seen)
            .filter(|(m, seen)| *seen && !is_runtime_library(&m.path));
        touched.extend(own.map(|(m, _)| m.clone()));
    }
    touched.sort_by(|a, b| (&a.path, &a.build_id).cmp(&(&b.path, &b.build_id)));
    touched.dedup();
    touched.retain(|module| brought.iter().all(|(own, _)| own != module));
    let cache = Cache::new(cache_dir());
    let options = Options {
        max_loop_depth,
        ..Default::default()
    };
    let stage = progress.stage("taking the program and its libraries apart", touched.len());
    let analysed: Vec<(Module, ModuleStructure)> = touched
        .into_par_iter()
        .map(|module| {
            let structure =
                cache.load_or_analyse(Path::new(&module.path), &module.build_id, &options);
            let structure = match structure {
                Ok(s) if s.build_id == module.build_id => s,
                Ok(_) => problem(
                    &module,
                    "it was built anew since the run was recorded, so its places cannot be named",
                ),
                Err(e) => problem(&module, &e.to_string()),
            };
            stage.step();
            (module, structure)
        })
        .collect();
    Structures::new(brought.into_iter().chain(analysed))
}

fn problem(module: &Module, what: &str) -> ModuleStructure {
    ModuleStructure {
        path: module.path.clone(),
        problems: vec![what.to_string()],
        ..Default::default()
    }
}

/// Diagnoses `runs` and prints the report.
pub fn report(runs: Vec<Run>, analysis: &Analysis, progress: Progress) -> Outcome {
    let structures = structures(&runs, analysis.max_loop_depth, progress);
    let options = headwater_passes::Options {
        scaling: analysis.scaling.map(Kind::scaling),
        abnorm_threshold: analysis.abnorm_threshold,
        ..Default::default()
    };
    let stage = progress.stage("looking for causes", 0);
    let diagnosis =
        headwater_passes::diagnose(runs, structures, &options).map_err(|e| e.to_string())?;
    drop(stage);
    if analysis.json.wanted() {
        analysis.json.give(&json(&diagnosis))?;
    } else {
        let color = analysis.color.wanted();
        let width = output::width().clamp(60, 200);
        print(&text(
            &diagnosis,
            &TextOptions {
                color,
                width,
                top: analysis.top,
                source: &Files,
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
