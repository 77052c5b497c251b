//! What flows between passes, to Python and back.

use crate::error::raised;
use crate::finding::Finding;
use crate::run::{Origin, Run};
use crate::set::Set;
use crate::table::Table;
use crate::wanted::set_of;
use headwater_dataflow::flow::{Kind, Parameter, Parameters, Value};
use headwater_diagnosis::pass::catalogue;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};

/// The word for a kind.
pub fn kind_word(kind: Kind) -> &'static str {
    catalogue()
        .kinds()
        .find(|k| k.1 == kind)
        .map_or("set", |k| k.0)
}

/// The kind that a word names.
pub fn kind_of(word: &str) -> PyResult<Kind> {
    catalogue()
        .kinds()
        .find(|k| k.0 == word)
        .map(|k| k.1)
        .ok_or_else(|| {
            let words: Vec<&str> = catalogue().kinds().map(|k| k.0).collect();
            raised(format!(
                "there is no kind {word}; there are {}",
                words.join(", ")
            ))
        })
}

/// Kinds of what flows, by their word, as messages call them.
#[pyfunction]
pub fn kind_words() -> Vec<(&'static str, String)> {
    catalogue()
        .kinds()
        .map(|(word, kind)| (word, kind.to_string()))
        .collect()
}

/// A value from Python, and the run that it comes from.
pub fn value_of(given: &Bound<'_, PyAny>, argument: &str) -> PyResult<(Value, Option<Origin>)> {
    if let Ok(run) = given.cast::<Run>() {
        let origin = run.get().0.clone();
        return Ok((Value::Run(origin.recorded.clone()), Some(origin)));
    }
    if let Ok(table) = given.cast::<Table>() {
        return Ok((Value::Section(table.get().0.clone()), None));
    }
    if let Ok(finding) = given.cast::<Finding>() {
        return Ok((Value::Finding(finding.get().0.clone()), None));
    }
    let (set, origin) = set_of(given, argument)?;
    Ok((Value::Set(set), origin))
}

/// A value for Python; a set remembers which of the runs it comes from.
pub fn to_python<'py>(
    py: Python<'py>,
    value: &Value,
    origins: &[Origin],
) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Set(set) => {
            let origin = origins.iter().find(|o| o.of_view(set.view()).is_some());
            Bound::new(py, Set::new(set.clone(), origin.cloned()))?.into_any()
        }
        Value::Finding(finding) => Bound::new(py, Finding(finding.clone()))?.into_any(),
        Value::Section(section) => Bound::new(py, Table(section.clone()))?.into_any(),
        Value::Run(run) => {
            let origin = origins.iter().find(|o| o.recorded.digest() == run.digest());
            let origin = origin.or_else(|| {
                origins
                    .iter()
                    .find(|o| o.recorded.computing().digest() == run.digest())
            });
            match origin {
                Some(origin) => {
                    let origin = Origin {
                        recorded: run.clone(),
                        ..origin.clone()
                    };
                    Bound::new(py, Run(origin))?.into_any()
                }
                None => return Err(raised("a run comes out of nothing that went in")),
            }
        }
    })
}

/// Parameters of a pass as Python passes them.
pub fn parameters(pass: &str, given: Option<&Bound<'_, PyDict>>) -> PyResult<Parameters> {
    let mut out = Parameters::none();
    for (name, value) in given.into_iter().flatten() {
        let name: String = name.extract()?;
        let parameter = if value.is_instance_of::<PyBool>() {
            Parameter::Flag(value.extract()?)
        } else if let Ok(number) = value.extract::<f64>() {
            Parameter::Number(number)
        } else if let Ok(text) = value.extract::<String>() {
            Parameter::Text(text)
        } else if let Ok(list) = value.extract::<Vec<String>>() {
            Parameter::List(list)
        } else {
            let kind = value.get_type().name()?;
            return Err(raised(format!(
                "pass {pass}, argument {name}: true or false, a figure, a word or a list of words is needed, and not {kind}"
            )));
        };
        out.0.insert(name, parameter);
    }
    Ok(out)
}

/// A parameter for Python.
pub fn parameter<'py>(py: Python<'py>, parameter: &Parameter) -> PyResult<Bound<'py, PyAny>> {
    Ok(match parameter {
        Parameter::Flag(b) => PyBool::new(py, *b).to_owned().into_any(),
        Parameter::Number(x) if x.fract() == 0.0 && x.abs() < 1e15 => {
            (*x as i64).into_pyobject(py)?.into_any()
        }
        Parameter::Number(x) => x.into_pyobject(py)?.into_any(),
        Parameter::Text(text) => text.into_pyobject(py)?.into_any(),
        Parameter::List(list) => list.clone().into_pyobject(py)?.into_any(),
    })
}
