//! Dataflows (PerFlow, sections 4.1 and 4.2): what the package's `Flow` is made of.

use crate::error::{OrRaise, raised};
use crate::function::{Function, Functions, Origins, locked};
use crate::run::Origin;
use crate::value::{kind_of, kind_word, parameters, to_python, value_of};
use crate::work::work;
use headwater_dataflow::flow;
use headwater_dataflow::flow::{
    Cache, Event, FlowError, Inputs, Link, NodeId, Pass, PassError, Runner, State, Value,
};
use headwater_diagnosis::pass::catalogue;
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use rayon::ThreadPoolBuilder;
use std::collections::BTreeSet;
use std::ffi::CString;
use std::sync::{Arc, Mutex};

/// A node and the number of one of its outputs.
type Given = (usize, usize);

/// A function of Python's: its name, itself, its arguments, whether the last may come several times, how many sets it
/// returns, and whether its results may be cached.
type Own = (String, Py<PyAny>, Vec<String>, bool, usize, bool);

fn link(given: Given) -> Link {
    NodeId::from_index(given.0).output(given.1)
}

/// Runs whose results are cached: with one more, the cache is cleared.
const MOST_RUNS: usize = 8;

/// Passes joined to an analysis; `headwater.Flow` is what to use.
#[pyclass(frozen, module = "headwater")]
pub struct Flow {
    flow: Mutex<flow::Flow>,
    /// Inputs that have a value already.
    bound: Mutex<Inputs>,
    /// Runs of the inputs that have a value.
    bound_origins: Mutex<Vec<Origin>>,
    /// All runs of which the cache may have results.
    origins: Origins,
    functions: Functions,
    /// Flows that are repeated in this one: they have functions too, which look for origins there.
    bodies: Mutex<Vec<Py<Self>>>,
    cache: Arc<Cache>,
}

impl Flow {
    /// One made elsewhere.
    pub fn of(flow: flow::Flow) -> Self {
        Self {
            flow: Mutex::new(flow),
            bound: Mutex::default(),
            bound_origins: Mutex::default(),
            origins: Origins::default(),
            functions: Functions::default(),
            bodies: Mutex::default(),
            cache: Arc::default(),
        }
    }

    fn now(&self) -> flow::Flow {
        locked(&self.flow).clone()
    }

    /// That an input or output has a name that another one has.
    fn taken(&self, what: &str, name: &str) -> PyErr {
        raised(format!(
            "the dataflow {} has an {what} {name} already; give this one another name",
            self.name()
        ))
    }

    /// Remembers runs that flow in.
    fn remember(&self, given: &[Origin]) {
        let digest = |o: &Origin| o.recorded.digest();
        let new = |known: &[Origin]| {
            let new = given
                .iter()
                .filter(|o| known.iter().all(|k| digest(k) != digest(o)));
            new.cloned().collect::<Vec<_>>()
        };
        let added = new(&locked(&self.origins));
        if locked(&self.origins).len() + added.len() > MOST_RUNS.max(added.len()) {
            self.forget();
        }
        let added = new(&locked(&self.origins));
        locked(&self.origins).extend(added);
    }

    /// Flows that are repeated in this one, or in one of these.
    fn bodies(&self, py: Python<'_>) -> Vec<Py<Self>> {
        let bodies = locked(&self.bodies);
        bodies.iter().map(|b| b.clone_ref(py)).collect()
    }

    fn inputs(&self, py: Python<'_>, given: Option<&Bound<'_, PyDict>>) -> PyResult<Inputs> {
        let mut inputs = locked(&self.bound).clone();
        let mut origins = locked(&self.bound_origins).clone();
        let flow = self.now();
        for (name, value) in given.into_iter().flatten() {
            let name: String = name.extract()?;
            if flow.inputs().all(|(known, _)| known != name) {
                let known: Vec<&str> = flow.inputs().map(|(known, _)| known).collect();
                let there = match known.is_empty() {
                    true => "it has none".to_string(),
                    false => format!("there are {}", known.join(", ")),
                };
                return Err(raised(format!(
                    "the dataflow {} has no input {name}; {there}",
                    flow.name()
                )));
            }
            let value = value_of(&value, &name);
            let (value, origin) = value.map_err(|e| raised(e.value(py)))?;
            origins.extend(origin);
            inputs.insert(name, value);
        }
        self.remember(&origins);
        for body in self.bodies(py) {
            body.get().remember(&origins);
        }
        Ok(inputs)
    }

    /// Runs a part of the flow; what a pass of Python's raised is raised again.
    fn ran<T: Send + 'static>(
        &self,
        py: Python<'_>,
        progress: Option<&Bound<'_, PyAny>>,
        run: impl FnOnce(&flow::Flow, &Runner<'_>) -> Result<T, FlowError> + Send + 'static,
    ) -> PyResult<T> {
        let (flow, cache) = (self.now(), self.cache.clone());
        let name = flow.name().to_string();
        let unsettled: Arc<Mutex<BTreeSet<String>>> = Arc::default();
        let still = unsettled.clone();
        let listener = progress.map(|p| p.clone().unbind());
        // A thread waits for each pass written in Python, and what these call is done by the pool that all share: were
        // it that one's thread, all of them could wait.
        let functions = |flow: &Self| !locked(&flow.functions).is_empty();
        let waits = functions(self) || self.bodies(py).iter().any(|b| functions(b.get()));
        let pool = waits.then(|| ThreadPoolBuilder::new().build());
        let pool = pool.transpose().or_raise()?;
        let (done, failed) = work(py, move |interrupted| {
            // What the listener raised ends the flow.
            let failed = Mutex::new(None);
            let report = |event: &Event<'_>| {
                if event.state == State::Unsettled {
                    locked(&still).insert(event.pass.to_string());
                    return;
                }
                // Where the flow was left behind the listener may be gone, and Python with it.
                if !interrupted()
                    && let Some(listener) = &listener
                    && let Err(e) = report_state(listener, event)
                {
                    locked(&failed).get_or_insert(e);
                }
            };
            let end = || interrupted() || locked(&failed).is_some();
            let runner = Runner {
                cache: &cache,
                progress: &report,
                interrupted: &end,
            };
            let done = match &pool {
                Some(pool) => pool.install(|| run(&flow, &runner)),
                None => run(&flow, &runner),
            };
            let failed = locked(&failed).take();
            (done, failed)
        })?;
        if let Some(e) = failed {
            return Err(e);
        }
        for body in locked(&unsettled).iter() {
            let what = format!(
                "the dataflow {name}: {body} was repeated as often as allowed, and its result still changed; its last result is used"
            );
            let what = CString::new(what).unwrap_or_default();
            PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &what, 2)?;
        }
        done.map_err(|e| match own(py, &e) {
            Some(e) => {
                // Older Pythons have no notes; the message of the exception is the user's own.
                let note = format!("in a pass of the dataflow {name}");
                let _ = e.value(py).call_method1("add_note", (note,));
                e
            }
            None => raised(e),
        })
    }

    fn python<'py>(&self, py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
        let origins = locked(&self.origins).clone();
        to_python(py, value, &origins)
    }
}

/// Reports the state of a pass to a Python function.
fn report_state(listener: &Py<PyAny>, event: &Event<'_>) -> PyResult<()> {
    let state = match event.state {
        State::Begins => "begins",
        State::Done => "done",
        State::Known => "known",
        State::Unsettled => "unsettled",
    };
    let said = (event.pass, state, event.done, event.of);
    Python::attach(|py| listener.call1(py, said).map(drop))
}

/// What a pass of Python's raised, if that is what went wrong.
fn own(py: Python<'_>, error: &FlowError) -> Option<PyErr> {
    let FlowError::Pass(_, PassError::Own(own)) = error else {
        return None;
    };
    own.error.downcast_ref::<PyErr>().map(|e| e.clone_ref(py))
}

#[pymethods]
impl Flow {
    #[new]
    #[pyo3(signature = (name = "dataflow"))]
    fn new(name: &str) -> Self {
        Self::of(flow::Flow::new(name, catalogue()))
    }

    #[getter]
    fn name(&self) -> String {
        self.now().name().to_string()
    }

    /// Adds an input, which the caller passes now or later; returns its number.
    #[pyo3(signature = (name, kind = None, value = None))]
    fn input(
        &self,
        name: &str,
        kind: Option<&str>,
        value: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<usize> {
        let mut kind = kind.map(kind_of).transpose()?;
        if self.now().inputs().any(|(known, _)| known == name) {
            return Err(self.taken("input", name));
        }
        if let Some(value) = value {
            let (value, origin) = value_of(value, name)?;
            kind = kind.or(Some(value.kind()));
            locked(&self.bound_origins).extend(origin);
            locked(&self.bound).insert(name.to_string(), value);
        }
        let kind = kind.unwrap_or(flow::Kind::Run);
        let mut flow = locked(&self.flow);
        flow.input(name, kind);
        Ok(flow.len() - 1)
    }

    /// Adds one of the built-in passes; returns its number and how many outputs it has.
    #[pyo3(signature = (pass, links, given = None))]
    fn add(
        &self,
        pass: &str,
        links: Vec<Given>,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<(usize, usize)> {
        let pass = catalogue().by_name(pass).or_raise()?;
        let parameters = parameters(&pass.name, given)?;
        let mut flow = locked(&self.flow);
        flow.add(pass, links.into_iter().map(link), parameters);
        Ok((flow.len() - 1, pass.outputs.len()))
    }

    /// Adds a Python function as a pass; returns its number.
    #[allow(clippy::too_many_arguments)]
    fn add_function(
        &self,
        name: String,
        function: Py<PyAny>,
        arguments: Vec<String>,
        more: bool,
        gives: usize,
        cached: bool,
        links: Vec<Given>,
    ) -> usize {
        let function = Function {
            name,
            function,
            arguments,
            more,
            gives,
            cached,
        };
        let pass = function.pass(&self.functions, &self.origins);
        let mut flow = locked(&self.flow);
        flow.add(
            &Arc::new(pass),
            links.into_iter().map(link),
            flow::Parameters::none(),
        );
        flow.len() - 1
    }

    /// Adds a flow that runs until its result no longer changes; returns its number.
    fn repeat(&self, body: &Bound<'_, Self>, links: Vec<Given>, most: usize) -> PyResult<usize> {
        if std::ptr::eq(body.get(), self) {
            return Err(raised(format!(
                "the dataflow {} cannot be a part of itself",
                self.name()
            )));
        }
        let repeated = body.get().now();
        let mut bodies = body.get().bodies(body.py());
        bodies.push(body.clone().unbind());
        locked(&self.bodies).append(&mut bodies);
        let mut flow = locked(&self.flow);
        flow.repeat(repeated, links.into_iter().map(link), most);
        Ok(flow.len() - 1)
    }

    /// Puts another link in the place of an argument of a node.
    fn connect(&self, node: usize, argument: usize, from: Given) {
        locked(&self.flow).connect(NodeId::from_index(node), argument, link(from));
    }

    /// Makes a node an output of the flow, with a name.
    fn output(&self, name: &str, from: Given) -> PyResult<()> {
        if self.now().output_names().any(|known| known == name) {
            return Err(self.taken("output", name));
        }
        locked(&self.flow).output(name, link(from));
        Ok(())
    }

    /// Names and kinds of its inputs.
    fn inputs_needed(&self) -> Vec<(String, &'static str)> {
        let flow = self.now();
        flow.inputs()
            .map(|(n, k)| (n.to_string(), kind_word(k)))
            .collect()
    }

    /// Names of the outputs.
    fn output_names(&self) -> Vec<String> {
        self.now().output_names().map(str::to_string).collect()
    }

    /// The kind of what flows along a link.
    fn kind(&self, from: Given) -> PyResult<&'static str> {
        Ok(kind_word(self.now().kind(link(from)).or_raise()?))
    }

    fn check(&self) -> PyResult<()> {
        self.now().check().or_raise()
    }

    /// Runs what some outputs need, or all, and returns them by name.
    #[pyo3(signature = (names = None, inputs = None, progress = None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        names: Option<Vec<String>>,
        inputs: Option<&Bound<'py, PyDict>>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let inputs = self.inputs(py, inputs)?;
        let names = names.unwrap_or_else(|| self.output_names());
        let outputs = self.ran(py, progress, move |flow, runner| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            flow.run_only(&names, &inputs, runner)
        })?;
        let dict = PyDict::new(py);
        for (name, value) in &outputs.0 {
            dict.set_item(name, self.python(py, value)?)?;
        }
        Ok(dict)
    }

    /// Runs what some links need, and returns what flows along them.
    #[pyo3(signature = (links, inputs = None, progress = None))]
    fn values<'py>(
        &self,
        py: Python<'py>,
        links: Vec<Given>,
        inputs: Option<&Bound<'py, PyDict>>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let inputs = self.inputs(py, inputs)?;
        let links: Vec<Link> = links.into_iter().map(link).collect();
        let values = self.ran(py, progress, move |flow, runner| {
            flow.values(&links, &inputs, runner)
        })?;
        let list = PyList::empty(py);
        for value in &values {
            list.append(self.python(py, value)?)?;
        }
        Ok(list)
    }

    /// Frees the cached results and their runs.
    fn forget(&self) {
        self.cache.clear();
        locked(&self.origins).clear();
    }

    fn svg(&self) -> String {
        self.now().svg()
    }

    fn json(&self) -> String {
        self.now().to_json()
    }

    /// The functions of Python's in a saved flow: the name that each has there, how many sets it returns, and whether
    /// these may be cached.
    #[staticmethod]
    fn functions_of(text: &str) -> PyResult<Vec<(String, usize, bool)>> {
        let own = flow::Flow::own_passes(text).or_raise()?;
        Ok(own
            .into_iter()
            .map(|p| (p.name, p.gives, p.cached))
            .collect())
    }

    /// Reads a flow; `own` are functions of Python's by the names of their passes, with their arguments, whether the
    /// last may come several times, how many sets they return, and whether these may be cached.
    #[staticmethod]
    fn from_json(text: &str, own: Vec<Own>) -> PyResult<Self> {
        let made = Self::of(flow::Flow::new("", catalogue()));
        let pass = |(name, function, arguments, more, gives, cached)| {
            let function = Function {
                name,
                function,
                arguments,
                more,
                gives,
                cached,
            };
            Arc::new(function.pass(&made.functions, &made.origins))
        };
        let own: Vec<Arc<Pass>> = own.into_iter().map(pass).collect();
        *locked(&made.flow) = flow::Flow::from_json(text, &own, catalogue()).or_raise()?;
        Ok(made)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // What is locked is in use, and so no garbage.
        let functions = self.functions.try_lock();
        functions
            .iter()
            .flat_map(|f| f.iter())
            .try_for_each(|f| visit.call(f))?;
        let bodies = self.bodies.try_lock();
        bodies
            .iter()
            .flat_map(|b| b.iter())
            .try_for_each(|b| visit.call(b))
    }

    fn __clear__(&self) {
        // What is dropped may run code of Python's, which must not find the locks held.
        let functions = std::mem::take(&mut *locked(&self.functions));
        let bodies = std::mem::take(&mut *locked(&self.bodies));
        drop((functions, bodies));
    }

    fn __len__(&self) -> usize {
        self.now().len()
    }

    fn __str__(&self) -> String {
        self.now().to_string()
    }
}
