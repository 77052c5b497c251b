//! Passes written in Python: ordinary functions that take sets and return sets.

use crate::run::Origin;
use crate::value::to_python;
use crate::wanted::set_of;
use headwater_passes::flow::{Call, Gives, Kind, Pass, PassError, Value};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::{Arc, Mutex, PoisonError};

/// Runs that flowed in, by which sets know where they come from.
pub type Origins = Arc<Mutex<Vec<Origin>>>;

/// What a function raised, to be raised again by who runs the flow.
pub type Raised = Arc<Mutex<Option<PyErr>>>;

/// What is behind a lock, whoever panicked.
pub fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A function and what it takes and gives.
pub struct Function {
    /// Its name, by which the pass is saved.
    pub name: String,
    /// The function.
    pub function: Py<PyAny>,
    /// Names of its arguments.
    pub arguments: Vec<String>,
    /// Whether the last argument may come several times.
    pub more: bool,
    /// How many sets it returns.
    pub gives: usize,
    /// Whether equal sets give equal sets, so that they may be kept.
    pub cached: bool,
}

impl Function {
    /// The function as a pass.
    pub fn pass(self, origins: Origins, raised: Raised) -> Pass {
        let Self {
            name,
            function,
            arguments,
            more,
            gives,
            cached,
        } = self;
        let about = "A pass written in Python.";
        let mut pass = Pass::new(name, about, move |call| {
            Python::attach(|py| {
                // The lock is not held while the function runs: others of the flow may run at the same time.
                let known = locked(&origins).clone();
                let made = call_function(py, &function, gives, call, &known);
                made.map_err(|e| {
                    let text = e.value(py).to_string();
                    locked(&raised).get_or_insert(e);
                    PassError::Failed(text)
                })
            })
        });
        for argument in arguments {
            pass = pass.takes(argument, Kind::SET);
        }
        for _ in 0..gives {
            pass = pass.gives(Gives::Kind(Kind::SET));
        }
        pass.more = more;
        pass.cached = cached;
        pass
    }
}

fn call_function(
    py: Python<'_>,
    function: &Py<PyAny>,
    gives: usize,
    call: &Call<'_>,
    origins: &[Origin],
) -> PyResult<Vec<Value>> {
    let arguments = call.inputs().iter().map(|v| to_python(py, v, origins));
    let arguments: Vec<Bound<'_, PyAny>> = arguments.collect::<PyResult<_>>()?;
    let given = function.bind(py).call1(PyTuple::new(py, arguments)?)?;
    let set = |given: &Bound<'_, PyAny>| Ok(Value::Set(set_of(given, "returned")?.0));
    if gives == 1 {
        return Ok(vec![set(&given)?]);
    }
    given.try_iter()?.map(|one| set(&one?)).collect()
}
