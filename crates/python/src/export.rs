//! Runs in the formats of other tools, as `headwater export` writes them.

use crate::error::{OrRaise, raised};
use crate::paradigm::Wanted as Runs;
use crate::work::work;
use headwater_dataflow::Recorded;
use headwater_export::{ALL, Wanted, Which, by_name};
use headwater_model::RankSet;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

/// The formats that `export` writes: for each its name, what it holds, and what opens it.
#[pyfunction]
pub fn formats() -> Vec<(&'static str, &'static str, &'static str)> {
    ALL.iter().map(|f| (f.name, f.about, f.opens)).collect()
}

/// Runs, or their directories, in the format of another tool: the bytes that `headwater export` writes.
///
/// `formats()` lists the formats. Of what is there ranks keeps some alone ("0-3,8"), view is "top-down" or "parallel",
/// vertices are at most so many, those with the most time, table is one of those of CSV and Parquet, analysis makes its
/// tables instead of a view's; not every format heeds each. Loops nested deeper than max_loop_depth are merged; if not
/// given, as where the runs were opened, or deeper than 10.
#[pyfunction]
#[pyo3(signature = (format, *runs, ranks = None, view = None, vertices = None, table = None, analysis = None, max_loop_depth = None))]
#[expect(clippy::too_many_arguments, reason = "Python's are named")]
pub fn export<'py>(
    py: Python<'py>,
    format: &str,
    runs: &Bound<'_, PyTuple>,
    ranks: Option<&str>,
    view: Option<&str>,
    vertices: Option<usize>,
    table: Option<String>,
    analysis: Option<String>,
    max_loop_depth: Option<usize>,
) -> PyResult<Bound<'py, PyBytes>> {
    let format = by_name(format).or_raise()?;
    let ranks = ranks.map(str::parse::<RankSet>).transpose();
    let wanted = Wanted {
        ranks: ranks.map_err(|e| raised(format!("argument ranks: {e}")))?,
        view: view.map(view_of).transpose()?,
        vertices,
        table,
        analysis,
    };
    format.check(runs.len(), &wanted).or_raise()?;
    let runs = Runs::of(runs, max_loop_depth)?.together(py)?;
    let bytes = work(py, move |_| {
        let recorded: Vec<Recorded> = runs.iter().map(|o| o.recorded.clone()).collect();
        let mut bytes = Vec::new();
        format.write(&recorded, &wanted, &mut bytes).map(|()| bytes)
    })?;
    Ok(PyBytes::new(py, &bytes.or_raise()?))
}

fn view_of(word: &str) -> PyResult<Which> {
    match word {
        "top-down" => Ok(Which::TopDown),
        "parallel" => Ok(Which::Parallel),
        other => Err(raised(format!(
            "argument view: there is no {other}; there are top-down, parallel"
        ))),
    }
}
