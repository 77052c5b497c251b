//! Paradigms: the questions that are often asked, answered as by `headwater analyse`.

use crate::error::{OrRaise, raised};
use crate::flow::Flow;
use crate::run::{Group, Origin, Run, lasting, open};
use crate::table::{Table, text_of};
use crate::work::work;
use headwater_dataflow::Recorded;
use headwater_dataflow::flow::{Cache, Runner};
use headwater_diagnosis::Options;
use headwater_diagnosis::paradigm;
use headwater_diagnosis::paradigm::{Paradigm, Setting, Takes};
use headwater_model::diagnosis::Scaling;
use headwater_model::report;
use headwater_report::report_json;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::path::PathBuf;
use std::sync::Arc;

/// What an analysis says: tables under headings.
///
/// `report.json()` is byte for byte what `headwater analyse … --json` prints, `str(report)` what it prints without `--json`.
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

/// The settings that some paradigms heed, by the names of Python's arguments.
const SETTINGS: [(&str, Setting); 2] = [
    ("scaling", Setting::Scaling),
    ("abnorm_threshold", Setting::AbnormThreshold),
];

/// What is listed of a paradigm: its name, what it answers, whether it takes one run, two or several, and the settings
/// that it heeds.
type ParadigmRow = (&'static str, &'static str, &'static str, Vec<&'static str>);

/// The paradigms.
#[pyfunction]
pub fn paradigms() -> Vec<ParadigmRow> {
    let heeds = |p: &Paradigm| {
        let all = SETTINGS.iter().filter(|s| p.settings.contains(&s.1));
        all.map(|s| s.0).collect()
    };
    let takes = |takes| match takes {
        Takes::One => "one",
        Takes::Two => "two",
        Takes::Several => "several",
    };
    let all = paradigm::ALL.iter();
    all.map(|p| (p.name, p.about, takes(p.takes), heeds(p)))
        .collect()
}

/// What the user sets, if the paradigm heeds it.
fn options(
    paradigm: &Paradigm,
    scaling: Option<&str>,
    abnorm_threshold: Option<f64>,
) -> PyResult<Options> {
    let given = [scaling.is_some(), abnorm_threshold.is_some()];
    for ((name, setting), given) in SETTINGS.iter().zip(given) {
        if given && !paradigm.settings.contains(setting) {
            let what = format!("argument {name} means nothing to {}", paradigm.name);
            return Err(raised(what));
        }
    }
    set(scaling, abnorm_threshold)
}

/// Options as Python passes them.
pub fn set(scaling: Option<&str>, abnorm_threshold: Option<f64>) -> PyResult<Options> {
    if abnorm_threshold.is_some_and(|t| !(t.is_finite() && t >= 1.0)) {
        return Err(raised(
            "argument abnorm_threshold: a figure from 1 on is needed, how many times longer late ranks must take",
        ));
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

/// The dataflow of a paradigm for so many runs, the fewest that it takes if not given; its inputs are run1, run2 and so on.
#[pyfunction]
#[pyo3(signature = (name, runs = None))]
pub fn paradigm_flow(name: &str, runs: Option<usize>) -> PyResult<Flow> {
    let paradigm = paradigm::by_name(name).or_raise()?;
    let fewest = match paradigm.takes {
        Takes::One | Takes::Several => 1,
        Takes::Two => 2,
    };
    let flow = paradigm.flow(runs.unwrap_or(fewest), &Options::default());
    Ok(Flow::of(flow.or_raise()?))
}

/// Directories of runs, and the depth of loops that they are to be joined with: the one that is asked for, else the
/// one that they were opened with.
pub struct Wanted {
    dirs: Vec<PathBuf>,
    known: Vec<Origin>,
    max_loop_depth: usize,
}

impl Wanted {
    /// Of runs, or of their directories.
    pub fn of(runs: &Bound<'_, PyTuple>, max_loop_depth: Option<usize>) -> PyResult<Self> {
        let mut dirs: Vec<PathBuf> = Vec::new();
        let mut known: Vec<Origin> = Vec::new();
        for run in runs {
            if let Ok(run) = run.cast::<Run>() {
                dirs.push(run.get().0.dir());
                known.push(run.get().0.clone());
                continue;
            }
            let dir = run.extract();
            dirs.push(
                dir.map_err(|_| raised("argument runs: runs are needed, or their directories"))?,
            );
        }
        let mut depths = known.iter().map(|o| o.group.max_loop_depth);
        let first = depths.next();
        let own = first.unwrap_or(headwater_load::MAX_LOOP_DEPTH);
        if max_loop_depth.is_none() && depths.any(|d| d != own) {
            return Err(raised(
                "argument runs: they were opened with different max_loop_depth; say which one is meant",
            ));
        }
        Ok(Self {
            dirs,
            known,
            max_loop_depth: max_loop_depth.unwrap_or(own),
        })
    }

    /// Where they are, and the depth.
    pub fn directories(self) -> (Vec<PathBuf>, usize) {
        (self.dirs, self.max_loop_depth)
    }

    /// The runs, opened together: those that were opened otherwise are opened anew, so that the answer is the one that
    /// the command makes of their directories.
    pub fn together(self, py: Python<'_>) -> PyResult<Vec<Origin>> {
        let group = Group {
            dirs: lasting(&self.dirs),
            max_loop_depth: self.max_loop_depth,
        };
        let same = |(i, o): (usize, &Origin)| *o.group == group && o.index == i;
        if self.known.len() == group.dirs.len() && self.known.iter().enumerate().all(same) {
            return Ok(self.known);
        }
        open(py, self.dirs, self.max_loop_depth)
    }
}

/// Answers a paradigm's question about runs, or their directories, as `headwater analyse` does.
///
/// Some paradigms heed scaling, strong or weak, or abnorm_threshold, how many times longer late ranks must take. Loops
/// nested deeper than max_loop_depth are merged; if not given, as where the runs were opened, or deeper than 10.
#[pyfunction]
#[pyo3(signature = (paradigm, *runs, scaling = None, abnorm_threshold = None, max_loop_depth = None))]
pub fn analyse(
    py: Python<'_>,
    paradigm: &str,
    runs: &Bound<'_, PyTuple>,
    scaling: Option<&str>,
    abnorm_threshold: Option<f64>,
    max_loop_depth: Option<usize>,
) -> PyResult<Report> {
    let paradigm = paradigm::by_name(paradigm).or_raise()?;
    let options = options(paradigm, scaling, abnorm_threshold)?;
    let runs = Wanted::of(runs, max_loop_depth)?.together(py)?;
    let report = work(py, move |interrupted| {
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
