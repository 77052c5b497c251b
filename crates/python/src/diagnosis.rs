//! The diagnosis of scaling loss, as `headwater diagnose` returns it.

use crate::error::OrRaise;
use crate::paradigm::{Wanted, set};
use crate::work::work;
use headwater_load::{Meant, Sources};
use headwater_model::diagnosis;
use headwater_report::{Excerpt, SourceLines, TextOptions};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::path::PathBuf;

/// Source files as they are now, as far as they may be shown.
struct Files(Sources);

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
pub struct Diagnosis(diagnosis::Diagnosis);

#[pymethods]
impl Diagnosis {
    /// As JSON, byte for byte that of `headwater diagnose --json`.
    fn json(&self) -> String {
        headwater_report::json(&self.0)
    }

    /// As text, of so many characters in a line (60 to 200), with so many causes in full. It shows source lines of
    /// files near the program, below the current directory or in /usr. If source names directories, it shows those of
    /// files below these instead; source=[] shows none.
    #[pyo3(signature = (width = 96, top = 3, source = None))]
    fn text(&self, width: usize, top: usize, source: Option<Vec<PathBuf>>) -> String {
        let sources = match source {
            None => Sources::Usual,
            Some(below) if below.is_empty() => Sources::Nowhere,
            Some(below) => Sources::Below(below),
        };
        let options = TextOptions {
            color: false,
            width: width.clamp(60, 200),
            top,
            source: &Files(sources),
        };
        headwater_report::text(&self.0, &options)
    }

    fn __str__(&self, py: Python<'_>) -> String {
        py.detach(|| self.text(96, 3, None))
    }

    fn __repr__(&self) -> String {
        format!("<Diagnosis: {} causes>", self.0.causes.len())
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
    let found = work(py, move |_| {
        let opened = Meant::by(&dirs).open(&|| ()).map_err(|e| e.to_string())?;
        let runs = opened.runs;
        let touched = headwater_load::touched(&runs);
        let structures = headwater_load::structures(&runs, touched, max_loop_depth, &|| ());
        headwater_diagnosis::diagnose(runs, structures, &options).map_err(|e| e.to_string())
    })?;
    Ok(Diagnosis(found.or_raise()?))
}
