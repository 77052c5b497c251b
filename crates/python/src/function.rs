//! Passes written in Python: ordinary functions that take sets and return sets.

use crate::error::raised;
use crate::run::Origin;
use crate::value::to_python;
use crate::wanted::set_of;
use headwater_passes::flow::{Call, Gives, Kind, OwnError, Pass, PassError, Value};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use std::sync::{Arc, Mutex, PoisonError};

/// Runs that flowed in, by which sets know where they come from.
pub type Origins = Arc<Mutex<Vec<Origin>>>;

/// The functions of a flow. Its passes look theirs up here, so that there is one owner, whom Python's collector of
/// circles can ask.
pub type Functions = Arc<Mutex<Vec<Py<PyAny>>>>;

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
    /// The function as a pass; it is put among the functions of its flow.
    pub fn pass(self, functions: &Functions, origins: &Origins) -> Pass {
        let (functions, origins) = (functions.clone(), origins.clone());
        let at = {
            let mut held = locked(&functions);
            held.push(self.function);
            held.len() - 1
        };
        let (gives, about) = (self.gives, "A pass written in Python.");
        let name = self.name.clone();
        let mut pass = Pass::new(self.name, about, move |call| {
            Python::attach(|py| {
                // No lock is held while the function runs: others of the flow may run at the same time.
                let function = locked(&functions).get(at).map(|f| f.clone_ref(py));
                let known = locked(&origins).clone();
                let made = call_function(py, function, call, &known);
                let made = made.and_then(|given| sets(&name, given.bind(py), gives));
                made.map_err(|e| own(py, &name, e))
            })
        });
        for argument in self.arguments {
            pass = pass.takes(argument, Kind::SET);
        }
        for _ in 0..gives {
            pass = pass.gives(Gives::Kind(Kind::SET));
        }
        pass.more = self.more;
        pass.cached = self.cached;
        pass
    }
}

/// An exception on its way through a flow.
fn own(py: Python<'_>, pass: &str, error: PyErr) -> PassError {
    // Older Pythons have no notes; the message of the exception is the user's own.
    let note = format!("in pass {pass}");
    let _ = error.value(py).call_method1("add_note", (note,));
    PassError::Own(OwnError {
        text: error.value(py).to_string(),
        error: Arc::new(error),
    })
}

fn call_function(
    py: Python<'_>,
    function: Option<Py<PyAny>>,
    call: &Call<'_>,
    origins: &[Origin],
) -> PyResult<Py<PyAny>> {
    let function = function.ok_or_else(|| raised("the function was given up with its flow"))?;
    let arguments = call.inputs().iter().map(|v| to_python(py, v, origins));
    let arguments: Vec<Bound<'_, PyAny>> = arguments.collect::<PyResult<_>>()?;
    function.call1(py, PyTuple::new(py, arguments)?)
}

/// The sets that a function has returned: one as it is, several as a tuple or list.
fn sets(pass: &str, given: &Bound<'_, PyAny>, gives: usize) -> PyResult<Vec<Value>> {
    let set = |given: &Bound<'_, PyAny>| {
        let set = set_of(given, "returned")
            .map_err(|e| raised(format!("pass {pass}, {}", e.value(given.py()))))?;
        Ok(Value::Set(set.0))
    };
    if gives == 1 {
        return Ok(vec![set(given)?]);
    }
    // A set is a row of vertices too.
    if !given.is_instance_of::<PyTuple>() && !given.is_instance_of::<PyList>() {
        let kind = given.get_type().name()?;
        return Err(raised(format!(
            "pass {pass}, argument returned: a tuple of {gives} sets is needed, and not {kind}"
        )));
    }
    given.try_iter()?.map(|one| set(&one?)).collect()
}
