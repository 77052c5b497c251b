//! Passes written in Python: ordinary functions that take sets and return sets.
//!
//! Each call is on a thread of its own. What runs the flow waits for it, and ends with the flow whether or not the function
//! does.

use crate::error::raised;
use crate::run::Origin;
use crate::value::to_python;
use crate::wanted::set_of;
use crate::work::{LOOK, PATIENCE};
use headwater_dataflow::flow::{Call, Gives, Kind, OwnError, Pass, PassError, Value};
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyList, PyTuple};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

/// Runs that flowed in, by which sets know where they come from.
pub type Origins = Arc<Mutex<Vec<Origin>>>;

/// The functions of a flow. Its passes look theirs up here, so that there is one owner, whom Python's collector of
/// circles can ask.
pub type Functions = Arc<Mutex<Vec<Py<PyAny>>>>;

/// What is behind a lock, even if another thread panicked with it.
pub fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A function, what it takes and what it returns.
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
    /// Whether equal sets result in equal sets, so that they may be cached.
    pub cached: bool,
}

impl Function {
    /// The function as a pass; it is put among the functions of its flow.
    pub fn pass(self, functions: &Functions, origins: &Origins) -> Pass {
        let (functions, origins) = (functions.clone(), origins.clone());
        // Functions of a flow stay as long as it does, so that no other one gets the address of one.
        let made_of = self.function.as_ptr() as usize;
        let at = {
            let mut functions = locked(&functions);
            functions.push(self.function);
            functions.len() - 1
        };
        let (gives, about) = (self.gives, "A pass written in Python.");
        let name = self.name.clone();
        let mut pass = Pass::new(self.name, about, move |call| {
            let (send, done) = channel();
            let thread = Python::attach(|py| {
                // No lock is held while the function runs: others of the flow may run at the same time.
                let function = locked(&functions).get(at).map(|f| f.clone_ref(py));
                let known = locked(&origins).clone();
                let begun = begin(py, function, &name, gives, call, &known, send);
                begun.map_err(|e| own(py, &name, e))
            })?;
            ended(&done, &name, &thread, call)
        });
        for argument in self.arguments {
            pass = pass.takes(argument, Kind::SET);
        }
        for _ in 0..gives {
            pass = pass.gives(Gives::Kind(Kind::SET));
        }
        pass.more = self.more;
        pass.cached = self.cached;
        pass.made_of = Some(made_of);
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

/// What a function returned, or raised.
type Done = Result<Vec<Value>, PassError>;

/// Begins to call a function on a thread of Python's (`_own.py`), which sends the result; returns the thread.
fn begin(
    py: Python<'_>,
    function: Option<Py<PyAny>>,
    name: &str,
    gives: usize,
    call: &Call<'_>,
    origins: &[Origin],
    send: Sender<Done>,
) -> PyResult<Py<PyAny>> {
    let function = function.ok_or_else(|| raised("the function was freed with its flow"))?;
    let arguments = call.inputs().iter().map(|v| to_python(py, v, origins));
    let arguments: Vec<Bound<'_, PyAny>> = arguments.collect::<PyResult<_>>()?;
    let arguments = PyTuple::new(py, arguments)?;
    let sender = send.clone();
    let (pass, named) = (name.to_string(), name.to_string());
    let take = move |given: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| -> PyResult<()> {
        let made = sets(&pass, &given.get_item(0)?, gives)?;
        // Nobody takes it where the pass was left behind.
        let _ = sender.send(Ok(made));
        Ok(())
    };
    let fail = move |given: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| -> PyResult<()> {
        let error = PyErr::from_value(given.get_item(0)?);
        let _ = send.send(Err(own(given.py(), &named, error)));
        Ok(())
    };
    let take = PyCFunction::new_closure(py, None, None, take)?;
    let fail = PyCFunction::new_closure(py, None, None, fail)?;
    let thread = py
        .import("headwater._own")?
        .call_method1("start", (function, arguments, take, fail))?;
    Ok(thread.unbind())
}

/// The result of a function. If the flow is to end, a function that goes on is asked to stop; if it does not, it is left
/// behind.
fn ended(done: &Receiver<Done>, name: &str, thread: &Py<PyAny>, call: &Call<'_>) -> Done {
    loop {
        match done.recv_timeout(LOOK) {
            Ok(done) => return done,
            // Interrupted where it was about to send its result.
            Err(RecvTimeoutError::Disconnected) => return Err(PassError::Interrupted),
            Err(RecvTimeoutError::Timeout) if call.go_on().is_err() => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
    Python::attach(|py| {
        let threads = py.import("headwater._own");
        let stopped = threads.and_then(|t| t.call_method1("stop", (thread,)));
        stopped.map(drop).map_err(|e| own(py, name, e))
    })?;
    done.recv_timeout(PATIENCE / 2)
        .unwrap_or(Err(PassError::Interrupted))
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
