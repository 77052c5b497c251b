//! The diagnosis of scaling loss, as `headwater diagnose` returns it.

use crate::error::OrRaise;
use crate::paradigm::{Wanted, set};
use crate::run::lasting;
use crate::work::work;
use headwater_diagnosis::Diagnosed;
use headwater_load::{Meant, Sources};
use headwater_report::{Excerpt, SourceLines, TextOptions};
use headwater_viewer::{Amounts, Besides, Subject, document};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::path::PathBuf;
use std::sync::Arc;

/// Source files as they are now, as far as they may be shown.
struct Files(Sources);

impl Files {
    /// The usual ones, or those below some directories.
    fn below(directories: Option<Vec<PathBuf>>) -> Self {
        Self(match directories {
            None => Sources::Usual,
            Some(below) if below.is_empty() => Sources::Nowhere,
            Some(below) => Sources::Below(below),
        })
    }
}

impl SourceLines for Files {
    fn lines(&self, module: &str, file: &str, first: u32, last: u32) -> Excerpt {
        self.0.lines(module, file, first, last)
    }
}

/// The root causes of scaling loss.
///
/// `str(diagnosis)` is the report that `headwater diagnose` prints where nobody says how wide it may be,
/// `diagnosis.json()` byte for byte what it prints with `--json`.
#[pyclass(frozen, module = "headwater")]
pub struct Diagnosis {
    diagnosed: Arc<Diagnosed>,
    /// Where the runs are.
    dirs: Vec<PathBuf>,
}

#[pymethods]
impl Diagnosis {
    /// As JSON, byte for byte that of `headwater diagnose --json`.
    fn json(&self) -> String {
        headwater_report::json(&self.diagnosed.diagnosis)
    }

    /// As text, of so many characters in a line (60 to 200), with so many causes in full. It shows source lines of
    /// files near the program, below the current directory or in /usr. If source names directories, it shows those of
    /// files below these instead; source=[] shows none.
    #[pyo3(signature = (width = 96, top = 3, source = None))]
    fn text(&self, width: usize, top: usize, source: Option<Vec<PathBuf>>) -> String {
        let options = TextOptions {
            color: false,
            width: width.clamp(60, 200),
            top,
            source: &Files::below(source),
        };
        headwater_report::text(&self.diagnosed.diagnosis, &options)
    }

    /// As a page for a browser: one HTML document that loads nothing from elsewhere, as `headwater diagnose --html`
    /// writes it. Source lines are those that `text` may show.
    #[pyo3(signature = (source = None))]
    fn page(&self, py: Python<'_>, source: Option<Vec<PathBuf>>) -> PyResult<String> {
        let diagnosed = self.diagnosed.clone();
        let dirs = self.dirs.clone();
        work(py, move |_| {
            let besides = Besides {
                // A trace that cannot be read is left out.
                traces: headwater_load::traces(&dirs).0,
                ..Besides::default()
            };
            let diagnosed = Diagnosed::clone(&diagnosed);
            let mut subject = Subject::new(diagnosed, besides, Amounts::USUAL);
            document::file(&mut subject, &Files::below(source), document::MOST)
        })
    }

    fn __str__(&self, py: Python<'_>) -> String {
        py.detach(|| self.text(96, 3, None))
    }

    fn __repr__(&self) -> String {
        format!(
            "<Diagnosis: {} causes>",
            self.diagnosed.diagnosis.causes.len()
        )
    }
}

/// The root causes of scaling loss in runs of one program (`Run` or directories), one for each number of ranks.
///
/// As `headwater diagnose` finds them: scaling, strong or weak, is how the problem grows (guessed from the arguments
/// if not given), abnorm_threshold how many times longer than the others a rank must take to be reported (1.3). Loops
/// nested deeper than max_loop_depth are merged; if not given, as where the runs were opened, or deeper than 10.
#[pyfunction]
#[pyo3(signature = (*runs, scaling = None, abnorm_threshold = None, max_loop_depth = None))]
pub fn diagnose(
    py: Python<'_>,
    runs: &Bound<'_, PyTuple>,
    scaling: Option<&str>,
    abnorm_threshold: Option<f64>,
    max_loop_depth: Option<usize>,
) -> PyResult<Diagnosis> {
    let options = set(scaling, abnorm_threshold)?;
    let (dirs, max_loop_depth) = Wanted::of(runs, max_loop_depth)?.directories();
    let kept = lasting(&dirs);
    let found = work(py, move |_| {
        let opened = Meant::by(&dirs).open(&|| ()).map_err(|e| e.to_string())?;
        let runs = opened.runs;
        let touched = headwater_load::touched(&runs);
        let structures = headwater_load::structures(&runs, touched, max_loop_depth, &|| ());
        headwater_diagnosis::diagnose_runs(runs, structures, &options).map_err(|e| e.to_string())
    })?;
    Ok(Diagnosis {
        diagnosed: Arc::new(found.or_raise()?),
        dirs: kept,
    })
}
