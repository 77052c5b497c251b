//! The built-in passes as Python asks for them: what there is, and one at a time.

use crate::error::{OrRaise, raised};
use crate::run::Origin;
use crate::value::{kind_word, parameter, parameters, to_python, value_of};
use crate::work::work;
use headwater_dataflow::flow::{Gives, Pass};
use headwater_diagnosis::pass;
use headwater_graph::view::{EdgeKind, EdgeType};
use headwater_mpi_abi::FUNCTIONS;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::sync::Arc;

/// What a pass returns, by its word; `argument 0` is a set of the view of that argument.
fn gives(gives: &Gives) -> String {
    match gives {
        Gives::Kind(kind) => kind_word(*kind).to_string(),
        Gives::AsArgument(n) => format!("argument {n}"),
    }
}

fn describe<'py>(py: Python<'py>, pass: &Pass) -> PyResult<Bound<'py, PyDict>> {
    let description = PyDict::new(py);
    description.set_item("name", &*pass.name)?;
    description.set_item("about", &*pass.about)?;
    let inputs = pass.inputs.iter().map(|p| (&*p.name, kind_word(p.kind)));
    description.set_item("inputs", inputs.collect::<Vec<_>>())?;
    description.set_item("more", pass.more)?;
    let all = PyList::empty(py);
    for declared in &pass.parameters {
        all.append((
            &*declared.name,
            parameter(py, &declared.default)?,
            &*declared.about,
        ))?;
    }
    description.set_item("parameters", all)?;
    description.set_item("gives", pass.outputs.iter().map(gives).collect::<Vec<_>>())?;
    Ok(description)
}

/// The built-in passes: for each its name, what it does, what it takes, its parameters and what it returns.
#[pyfunction]
pub fn passes(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let all = PyList::empty(py);
    for pass in pass::all() {
        all.append(describe(py, pass)?)?;
    }
    Ok(all)
}

/// Runs one built-in pass with its arguments and its parameters.
#[pyfunction]
pub fn run_pass<'py>(
    py: Python<'py>,
    name: &str,
    inputs: &Bound<'py, PyTuple>,
    given: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let pass: &Arc<Pass> = pass::by_name(name).or_raise()?;
    let (mut values, mut origins): (Vec<_>, Vec<Origin>) = (Vec::new(), Vec::new());
    for (i, input) in inputs.iter().enumerate() {
        let port = pass.inputs.get(i).or(pass.inputs.last());
        let argument = port.map_or("", |p| &*p.name);
        let value = value_of(&input, argument);
        let (value, origin) = value.map_err(|e| raised(format!("pass {name}, {}", e.value(py))))?;
        values.push(value);
        origins.extend(origin);
    }
    let parameters = parameters(name, Some(given))?;
    let made = work(py, move |interrupted| {
        pass.run(&values, &parameters, interrupted)
    })?;
    given_back(py, &made.or_raise()?, &origins)
}

/// The result of a pass: one thing as it is, several as a tuple.
pub fn given_back<'py>(
    py: Python<'py>,
    made: &[headwater_dataflow::flow::Value],
    origins: &[Origin],
) -> PyResult<Bound<'py, PyAny>> {
    let mut all = Vec::new();
    for value in made {
        all.push(to_python(py, value, origins)?);
    }
    match all.as_slice() {
        [one] => Ok(one.clone()),
        many => Ok(PyTuple::new(py, many)?.into_any()),
    }
}

/// Unit of an attribute: s, B, 1 for a count; None where it has none.
#[pyfunction]
pub fn unit(attribute: &str) -> Option<&'static str> {
    headwater_graph::view::unit(attribute)
}

/// Names of the collective functions of MPI.
#[pyfunction]
pub fn collectives() -> Vec<&'static str> {
    let all = FUNCTIONS
        .iter()
        .filter(|f| f.is_collective() && !f.is_about_files());
    all.map(|f| f.name).collect()
}

/// Types and kinds that edges have.
#[pyfunction]
pub fn edge_words() -> (Vec<&'static str>, Vec<&'static str>) {
    (EdgeType::WORDS.to_vec(), EdgeKind::WORDS.to_vec())
}
