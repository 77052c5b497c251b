//! Stages of a diagnosis, which flow from one of its passes to the next.

use crate::error::raised;
use headwater_dataflow::flow;
use headwater_diagnosis::pass::Answer;
use pyo3::prelude::*;

/// A stage of a diagnosis; the last one is the whole answer, whose JSON is that of `headwater diagnose --json`.
#[pyclass(frozen, module = "headwater")]
pub struct Finding(pub flow::Finding);

#[pymethods]
impl Finding {
    /// How far the diagnosis has come.
    #[getter]
    fn stage(&self) -> String {
        self.0.stage().to_string()
    }

    /// The diagnosis as JSON, if it is one.
    fn json(&self) -> PyResult<String> {
        let diagnosis = self.0.get().map(|Answer(diagnosis)| diagnosis);
        let stage = self.stage();
        let none = || raised(format!("only a diagnosis has JSON, and this is {stage}"));
        diagnosis.map(headwater_report::json).ok_or_else(none)
    }

    fn __repr__(&self) -> String {
        format!("<Finding: {}>", self.stage())
    }
}
