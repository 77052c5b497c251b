//! Paradigms: the questions that are often asked, answered as by `headwater analyse`.

use crate::error::{OrRaise, raised};
use crate::flow::Flow;
use crate::run::{Group, Origin, Run, open};
use crate::table::{Table, text_of};
use crate::work::work;
use headwater_model::diagnosis::Scaling;
use headwater_model::report;
use headwater_passes::flow::{Cache, Runner};
use headwater_passes::paradigm::{self, Paradigm, Setting, Takes};
use headwater_passes::{Options, Recorded};
use headwater_report::{Excerpt, SourceLines, TextOptions, report_json};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::path::PathBuf;
use std::sync::Arc;

/// What an analysis says: tables under headings.
///
/// `report.json()` is byte for byte what `headwater analyse … --json` gives, `str(report)` what it prints.
#[pyclass(frozen, module = "headwater")]
pub struct Report(report::Report);

#[pymethods]
impl Report {
    /// The analysis.
    #[getter]
    fn paradigm(&self) -> &str {
        &self.0.paradigm
    }

    /// What must be known before the figures, a sentence each.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.0.notes.clone()
    }

    /// The tables.
    #[getter]
    fn sections(&self) -> Vec<Table> {
        let all = self.0.sections.iter();
        all.map(|s| Table(Arc::new(s.clone()))).collect()
    }

    /// As JSON, with a newline at the end.
    fn json(&self) -> String {
        report_json(&self.0)
    }

    /// As text, of so many characters in a line, with so many rows of each table at the most.
    #[pyo3(signature = (width = 96, rows = 20))]
    fn text(&self, width: usize, rows: usize) -> String {
        text_of(&self.0, width, rows)
    }

    fn __getitem__(&self, name: &str) -> PyResult<Table> {
        let found = self.0.sections.iter().find(|s| s.name == name);
        found.map(|s| Table(Arc::new(s.clone()))).ok_or_else(|| {
            let names: Vec<&str> = self.0.sections.iter().map(|s| s.name.as_str()).collect();
            raised(format!(
                "there is no table {name}; there are {}",
                names.join(", ")
            ))
        })
    }

    fn __str__(&self) -> String {
        self.text(96, 20)
    }

    fn __repr__(&self) -> String {
        let names: Vec<&str> = self.0.sections.iter().map(|s| s.name.as_str()).collect();
        format!("<Report {}: {}>", self.0.paradigm, names.join(", "))
    }
}

/// The paradigms: for each its name, what it answers, and whether it takes one run, two or several.
#[pyfunction]
pub fn paradigms() -> Vec<(&'static str, &'static str, &'static str)> {
    let takes = |takes| match takes {
        Takes::One => "one",
        Takes::Two => "two",
        Takes::Several => "several",
    };
    let all = paradigm::ALL.iter();
    all.map(|p| (p.name, p.about, takes(p.takes))).collect()
}

/// What the user sets, if the paradigm heeds it.
fn options(
    paradigm: &Paradigm,
    scaling: Option<&str>,
    abnorm_threshold: Option<f64>,
) -> PyResult<Options> {
    let given = [
        ("scaling", Setting::Scaling, scaling.is_some()),
        (
            "abnorm_threshold",
            Setting::AbnormThreshold,
            abnorm_threshold.is_some(),
        ),
    ];
    for (name, setting, given) in given {
        if given && !paradigm.settings.contains(&setting) {
            let what = format!("argument {name} means nothing to {}", paradigm.name);
            return Err(raised(what));
        }
    }
    let default = Options::default();
    Ok(Options {
        scaling: scaling.map(scaling_of).transpose()?,
        abnorm_threshold: abnorm_threshold.unwrap_or(default.abnorm_threshold),
        ..default
    })
}

fn scaling_of(word: &str) -> PyResult<Scaling> {
    match word {
        "strong" => Ok(Scaling::Strong),
        "weak" => Ok(Scaling::Weak),
        other => Err(raised(format!(
            "argument scaling: there is no {other}; there are strong, weak"
        ))),
    }
}

/// The dataflow of a paradigm for so many runs; its inputs are run1, run2 and so on.
#[pyfunction]
#[pyo3(signature = (name, runs = 1))]
pub fn paradigm_flow(name: &str, runs: usize) -> PyResult<Flow> {
    let paradigm = paradigm::by_name(name).or_raise()?;
    Ok(Flow::of(
        (paradigm.build)(runs, &Options::default()).or_raise()?,
    ))
}

/// The runs that are meant, opened together: runs that were opened otherwise are opened anew, so that the answer is the
/// one that the command gives of their directories.
fn together(
    py: Python<'_>,
    runs: &Bound<'_, PyTuple>,
    max_loop_depth: usize,
) -> PyResult<Vec<Origin>> {
    let mut dirs: Vec<PathBuf> = Vec::new();
    let mut known: Vec<Origin> = Vec::new();
    for run in runs {
        match run.cast::<Run>() {
            Ok(run) => {
                dirs.push(run.get().0.dir());
                known.push(run.get().0.clone());
            }
            Err(_) => dirs.push(
                run.extract()
                    .map_err(|_| raised("argument runs: runs are needed, or their directories"))?,
            ),
        }
    }
    let wanted = Group {
        dirs,
        max_loop_depth,
    };
    let same = |(i, o): (usize, &Origin)| *o.group == wanted && o.index == i;
    if known.len() == wanted.dirs.len() && known.iter().enumerate().all(same) {
        return Ok(known);
    }
    open(py, wanted.dirs, max_loop_depth)
}

/// Answers a paradigm's question about runs, or their directories, as `headwater analyse` does.
///
/// Some paradigms heed scaling, strong or weak, or abnorm_threshold, how much longer late ranks must take.
#[pyfunction]
#[pyo3(signature = (paradigm, *runs, scaling = None, abnorm_threshold = None, max_loop_depth = headwater_load::MAX_LOOP_DEPTH))]
pub fn analyse(
    py: Python<'_>,
    paradigm: &str,
    runs: &Bound<'_, PyTuple>,
    scaling: Option<&str>,
    abnorm_threshold: Option<f64>,
    max_loop_depth: usize,
) -> PyResult<Report> {
    let paradigm = paradigm::by_name(paradigm).or_raise()?;
    let options = options(paradigm, scaling, abnorm_threshold)?;
    let runs = together(py, runs, max_loop_depth)?;
    let report = work(py, |interrupted| {
        let recorded: Vec<Recorded> = runs.iter().map(|o| o.recorded.clone()).collect();
        let cache = Cache::default();
        let runner = Runner {
            interrupted,
            ..Runner::quiet(&cache)
        };
        paradigm.run(&recorded, &options, &runner)
    })?;
    Ok(Report(report.or_raise()?))
}

/// Source lines are not looked for.
struct NoSource;

impl SourceLines for NoSource {
    fn lines(&self, _module: &str, _file: &str, _first: u32, _last: u32) -> Excerpt {
        Excerpt::Gone
    }
}

/// The root causes of scaling loss, as `headwater diagnose` finds them in directories of runs: as JSON and as text.
#[pyfunction]
#[pyo3(signature = (dirs, max_loop_depth = headwater_load::MAX_LOOP_DEPTH, width = 96))]
pub fn diagnose(
    py: Python<'_>,
    dirs: Vec<PathBuf>,
    max_loop_depth: usize,
    width: usize,
) -> PyResult<(String, String)> {
    let diagnosis = work(py, |_| {
        let runs = headwater_load::runs(&dirs, &|| ()).map_err(|e| e.to_string())?;
        let structures = headwater_load::structures(
            &runs,
            headwater_load::touched(&runs),
            max_loop_depth,
            &|| (),
        );
        headwater_passes::diagnose(runs, structures, &Options::default()).map_err(|e| e.to_string())
    })?;
    let diagnosis = diagnosis.or_raise()?;
    let options = TextOptions {
        color: false,
        width,
        top: 5,
        source: &NoSource,
    };
    Ok((
        headwater_report::json(&diagnosis),
        headwater_report::text(&diagnosis, &options),
    ))
}
