//! Tables for people: what reports are made of.

use crate::{capsule, frame};
use headwater_model::report::{Item, Report, SCHEMA, Section, Unit};
use headwater_report::{ReportOptions, report_text};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::sync::Arc;

/// A table with its heading; polars, pandas and pyarrow read it, and `rows` has it as dictionaries.
#[pyclass(frozen, module = "headwater")]
pub struct Table(pub Arc<Section>);

/// The word for a unit, as in JSON.
fn unit_word(unit: Unit) -> &'static str {
    match unit {
        Unit::None => "none",
        Unit::Seconds => "seconds",
        Unit::Bytes => "bytes",
        Unit::Count => "count",
        Unit::Share => "share",
        Unit::Ratio => "ratio",
    }
}

/// Tables as text, as the command prints them.
pub fn text_of(report: &Report, width: usize, rows: usize) -> String {
    let options = ReportOptions {
        color: false,
        width,
        rows,
    };
    report_text(report, &options)
}

#[pymethods]
impl Table {
    /// Its name for programs.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// What people read above it.
    #[getter]
    fn title(&self) -> &str {
        &self.0.title
    }

    /// What must be known to read it.
    #[getter]
    fn note(&self) -> Option<&str> {
        self.0.note.as_deref()
    }

    /// Columns: name, title and unit (none, seconds, bytes, count, share or ratio).
    #[getter]
    fn columns(&self) -> Vec<(&str, &str, &'static str)> {
        let column = |c: &'_ headwater_model::report::Heading| unit_word(c.unit);
        let all = self.0.columns.iter();
        all.map(|c| (c.name.as_str(), c.title.as_str(), column(c)))
            .collect()
    }

    /// Rows as dictionaries; None where something was not measured.
    #[getter]
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for row in &self.0.rows {
            let dict = PyDict::new(py);
            for (heading, item) in self.0.columns.iter().zip(row) {
                match item {
                    Item::Missing => dict.set_item(&heading.name, py.None())?,
                    Item::Number(x) => dict.set_item(&heading.name, x)?,
                    Item::Text(text) => dict.set_item(&heading.name, text)?,
                }
            }
            list.append(dict)?;
        }
        Ok(list)
    }

    /// The table as text of so many characters in a line, with so many rows at the most.
    #[pyo3(signature = (width = 96, rows = 20))]
    fn text(&self, width: usize, rows: usize) -> String {
        let report = Report {
            schema: SCHEMA,
            sections: vec![(*self.0).clone()],
            ..Report::default()
        };
        let text = text_of(&report, width, rows);
        // A table by itself has no program above it.
        text.split_once("\n\n")
            .map_or(text.clone(), |t| t.1.to_string())
    }

    /// The table as a stream of Arrow.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = requested_schema;
        capsule::stream(py, frame::section_batch(&self.0)?)
    }

    fn __len__(&self) -> usize {
        self.0.rows.len()
    }

    fn __str__(&self) -> String {
        self.text(96, 20)
    }

    fn __repr__(&self) -> String {
        let (name, rows) = (&self.0.name, self.0.rows.len());
        format!(
            "<Table {name}: {rows} rows, {} columns>",
            self.0.columns.len()
        )
    }
}
