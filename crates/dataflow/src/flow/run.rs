//! Runs a flow: only what is asked for, passes that do not need each other at the same time, and with cached results.

use super::check::Checked;
use super::{
    Cache, Call, Flow, FlowError, Gives, Kind, Link, Of, Parameters, Pass, PassError, Value, Work,
};
use crate::set::Set;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Values from the caller, by the names of the flow's inputs.
pub type Inputs = FxHashMap<String, Value>;

/// Results of a flow, by name, in the order of its outputs.
#[derive(Clone, Debug, Default)]
pub struct Outputs(pub Vec<(String, Value)>);

impl Outputs {
    /// An output by name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|o| o.0 == name).map(|o| &o.1)
    }
}

/// State of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It begins.
    Begins,
    /// It has finished.
    Done,
    /// Its results were in the cache.
    Known,
    /// It is a flow that was repeated the greatest number of times, and its results still changed.
    Unsettled,
}

/// Reports that a pass begins or ends.
#[derive(Clone, Debug)]
pub struct Event<'a> {
    /// The pass.
    pub pass: &'a str,
    /// Its state.
    pub state: State,
    /// Number of passes that have finished.
    pub done: usize,
    /// Number of passes that must run. Inputs and passes with cached results do not count; a repeated flow counts as
    /// one.
    pub of: usize,
}

/// What a flow runs with: cached results, a function for progress, and a function that asks whether to end early.
#[derive(Clone, Copy)]
pub struct Runner<'a> {
    /// Results from before.
    pub cache: &'a Cache,
    /// Called for every pass, on the thread that runs it.
    pub progress: &'a (dyn Fn(&Event<'_>) + Sync),
    /// Called between passes and within long ones; returns whether to end early.
    pub interrupted: &'a (dyn Fn() -> bool + Sync),
}

impl<'a> Runner<'a> {
    /// A runner that reports no progress and never ends early.
    pub fn quiet(cache: &'a Cache) -> Self {
        Self {
            cache,
            progress: &|_| {},
            interrupted: &|| false,
        }
    }
}

/// What is known of a node while its flow runs.
#[derive(Clone, Default)]
struct Known {
    /// Hash of its results; `None` where equal arguments may produce other results.
    key: Option<u64>,
    /// Its results, once it has run.
    values: Option<Vec<Value>>,
}

impl Flow {
    /// Runs what the outputs need, and returns all outputs.
    ///
    /// # Errors
    /// An error in the flow or its inputs, which is found before anything runs; the error of a pass, of several failed
    /// passes the first in the order of the nodes; or an interruption by the caller.
    pub fn run(&self, inputs: &Inputs, runner: &Runner<'_>) -> Result<Outputs, FlowError> {
        let names: Vec<&str> = self.output_names().collect();
        self.run_only(&names, inputs, runner)
    }

    /// Runs what some outputs need, and returns these.
    ///
    /// # Errors
    /// As [`Flow::run`]; or a name that is not an output.
    pub fn run_only(
        &self,
        names: &[&str],
        inputs: &Inputs,
        runner: &Runner<'_>,
    ) -> Result<Outputs, FlowError> {
        let mut links = Vec::new();
        for name in names {
            let Some(output) = self.outputs.iter().find(|o| o.0 == *name) else {
                let known: Vec<&str> = self.output_names().collect();
                return Err(FlowError::NoOutput(
                    self.name.clone(),
                    (*name).to_string(),
                    known.join(", "),
                ));
            };
            links.push(output.1);
        }
        let values = self.values(&links, inputs, runner)?;
        let named = names.iter().map(|n| (*n).to_string());
        Ok(Outputs(named.zip(values).collect()))
    }

    /// Runs what some links need, and returns what flows along them, so that any step of an analysis can be inspected.
    ///
    /// # Errors
    /// As [`Flow::run`].
    pub fn values(
        &self,
        links: &[Link],
        inputs: &Inputs,
        runner: &Runner<'_>,
    ) -> Result<Vec<Value>, FlowError> {
        Ok(self.values_and_steps(links, inputs, runner)?.0)
    }

    /// The same, and what each node returned, in the order of the nodes; nothing for a node that was not needed.
    ///
    /// # Errors
    /// As [`Flow::run`].
    pub fn values_and_steps(
        &self,
        links: &[Link],
        inputs: &Inputs,
        runner: &Runner<'_>,
    ) -> Result<(Vec<Value>, Vec<Vec<Value>>), FlowError> {
        let checked = self.checked()?;
        let mut known = self.begin(&checked, inputs)?;
        let needed = self.needed(&checked, links, runner, &mut known);
        let must_run = |i: &usize| needed[*i] && known[*i].values.is_none();
        let of = (0..self.nodes.len()).filter(must_run).count();
        let done = AtomicUsize::new(0);
        let from_before = |i: &usize| needed[*i] && known[*i].values.is_some();
        for i in (0..self.nodes.len()).filter(from_before) {
            if !matches!(self.nodes[i].work, Work::Input { .. }) {
                (runner.progress)(&Event {
                    pass: &self.label(i),
                    state: State::Known,
                    done: 0,
                    of,
                });
            }
        }
        for step in &checked.steps {
            let waiting = |i: &&usize| needed[**i] && known[**i].values.is_none();
            let now: Vec<usize> = step.iter().filter(waiting).copied().collect();
            let made: Vec<Result<Vec<Value>, FlowError>> = now
                .par_iter()
                .map(|i| {
                    if (runner.interrupted)() {
                        return Err(FlowError::Interrupted);
                    }
                    let name = self.label(*i);
                    let report = |state, done| {
                        (runner.progress)(&Event {
                            pass: &name,
                            state,
                            done,
                            of,
                        });
                    };
                    report(State::Begins, done.load(Ordering::Relaxed));
                    // Progress within a repeated flow is part of this flow's progress.
                    let inner = |event: &Event<'_>| {
                        (runner.progress)(&Event {
                            done: done.load(Ordering::Relaxed),
                            of,
                            ..event.clone()
                        });
                    };
                    let within = Runner {
                        progress: &inner,
                        ..*runner
                    };
                    let made = self.node(*i, &known, &within)?;
                    if let Some(key) = known[*i].key {
                        runner.cache.keep(key, &made);
                    }
                    report(State::Done, done.fetch_add(1, Ordering::Relaxed) + 1);
                    Ok(made)
                })
                .collect();
            for (i, made) in now.into_iter().zip(made) {
                known[i].values = Some(made?);
            }
        }
        let value = |link: &Link| {
            let values = known.get(link.node.0).and_then(|k| k.values.as_ref());
            values.and_then(|v| v.get(link.output)).cloned()
        };
        let missing = |link: &Link| {
            let name = self.label(link.node.0);
            FlowError::NoOutput(self.name.clone(), format!("{name}.{}", link.output), name)
        };
        let all = links.iter().map(|l| value(l).ok_or_else(|| missing(l)));
        let values = all.collect::<Result<_, _>>()?;
        let steps = known.into_iter().map(|k| k.values.unwrap_or_default());
        Ok((values, steps.collect()))
    }

    /// Fills in the inputs, and computes the keys of all nodes.
    fn begin(&self, checked: &Checked, inputs: &Inputs) -> Result<Vec<Known>, FlowError> {
        let mut known: Vec<Known> = vec![Known::default(); self.nodes.len()];
        for &i in checked.steps.iter().flatten() {
            let node = &self.nodes[i];
            known[i] = match &node.work {
                Work::Input { name, kind } => {
                    let Some(value) = inputs.get(name) else {
                        let flow = self.name.clone();
                        return Err(FlowError::NoInput(name.clone(), flow, *kind));
                    };
                    if !kind.takes(value.kind()) {
                        return Err(FlowError::WrongInput(
                            name.clone(),
                            self.name.clone(),
                            *kind,
                            value.kind(),
                        ));
                    }
                    Known {
                        key: Some(Cache::of_value(value)),
                        values: Some(vec![value.clone()]),
                    }
                }
                work => {
                    let of = |link: &Link| Some((known[link.node.0].key?, link.output));
                    let keys: Option<Vec<_>> = node.inputs.iter().map(of).collect();
                    Known {
                        key: keys.and_then(|keys| Cache::of_work(work, &keys)),
                        values: None,
                    }
                }
            };
        }
        Ok(known)
    }

    /// Which nodes `links` need. Nodes with cached results are filled in, and need no others.
    fn needed(
        &self,
        checked: &Checked,
        links: &[Link],
        runner: &Runner<'_>,
        known: &mut [Known],
    ) -> Vec<bool> {
        let mut needed = vec![false; self.nodes.len()];
        for link in links {
            if let Some(slot) = needed.get_mut(link.node.0) {
                *slot = true;
            }
        }
        for &i in checked.steps.iter().flatten().rev() {
            if !needed[i] || known[i].values.is_some() {
                continue;
            }
            known[i].values = known[i].key.and_then(|key| runner.cache.get(key));
            if known[i].values.is_some() {
                continue;
            }
            for link in &self.nodes[i].inputs {
                needed[link.node.0] = true;
            }
        }
        needed
    }

    fn node(
        &self,
        i: usize,
        known: &[Known],
        runner: &Runner<'_>,
    ) -> Result<Vec<Value>, FlowError> {
        let node = &self.nodes[i];
        let value = |link: &Link| {
            let values = known.get(link.node.0).and_then(|k| k.values.as_ref());
            values.and_then(|v| v.get(link.output)).cloned()
        };
        // Steps run in order, so the values that flow in exist.
        let inputs: Vec<Value> = node.inputs.iter().filter_map(value).collect();
        match &node.work {
            Work::Input { .. } => Ok(inputs),
            Work::Repeat { body, most } => super::loops::run(body, *most, inputs, runner),
            Work::Pass { pass, parameters } => {
                let by = |n: usize| self.label(node.inputs[n].node.0);
                one(pass, &inputs, parameters, runner.interrupted, &by)
            }
        }
    }
}

/// Runs one pass; checks its arguments before, and its results after.
fn one(
    pass: &Pass,
    inputs: &[Value],
    parameters: &Parameters,
    interrupted: &(dyn Fn() -> bool + Sync),
    by: &dyn Fn(usize) -> String,
) -> Result<Vec<Value>, FlowError> {
    for (n, value) in inputs.iter().enumerate() {
        if let Some(port) = pass.argument(n)
            && !port.kind.takes(value.kind())
        {
            let (user, name) = (pass.name.to_string(), port.name.to_string());
            let given = value.kind();
            return Err(FlowError::WrongKind(user, name, port.kind, given, by(n)));
        }
    }
    for (n, value) in inputs.iter().enumerate() {
        if let Some(port) = pass.argument(n)
            && port.some
            && value.set().is_some_and(Set::is_empty)
        {
            let (user, name) = (pass.name.to_string(), port.name.to_string());
            return Err(FlowError::Empty(user, name, port.kind, by(n)));
        }
    }
    let call = Call {
        pass,
        inputs,
        parameters,
        interrupted,
    };
    let made = (pass.function)(&call).map_err(|e| match e {
        PassError::Interrupted => FlowError::Interrupted,
        PassError::Argument(name, what) => FlowError::Argument(pass.name.to_string(), name, what),
        PassError::Set(e) => {
            FlowError::Argument(pass.name.to_string(), call.blamed(&e), e.to_string())
        }
        e => FlowError::Pass(pass.name.to_string(), e),
    })?;
    let wanted = pass.outputs.iter().map(|g| match g {
        Gives::Kind(kind) => *kind,
        Gives::AsArgument(n) => inputs.get(*n).map_or(Kind::Set(Of::Any), Value::kind),
    });
    let wanted: Vec<Kind> = wanted.collect();
    let fits = |(w, m): (&Kind, &Value)| w.takes(m.kind());
    if made.len() != wanted.len() || !wanted.iter().zip(&made).all(fits) {
        let words = |kinds: Vec<Kind>| {
            let kinds: Vec<String> = kinds.iter().map(Kind::to_string).collect();
            kinds.join(" and ")
        };
        let given = words(made.iter().map(Value::kind).collect());
        return Err(FlowError::Broken(
            pass.name.to_string(),
            given,
            words(wanted),
        ));
    }
    Ok(made)
}

impl Pass {
    /// Runs the pass by itself, without a dataflow and without a cache: interactive use, step by step.
    ///
    /// # Errors
    /// As [`Flow::run`]: arguments that are missing or of the wrong kind, parameters that do not exist, a pass that
    /// fails, or an interruption by the caller.
    pub fn run(
        &self,
        inputs: &[Value],
        parameters: &Parameters,
        interrupted: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<Value>, FlowError> {
        super::check::check_parameters(self, parameters)?;
        if let Some(port) = self.inputs.get(inputs.len()) {
            let (user, name) = (self.name.to_string(), port.name.to_string());
            return Err(FlowError::NotGiven(user, name, port.kind));
        }
        if !inputs.is_empty() && self.argument(inputs.len() - 1).is_none() {
            let (most, given) = (self.inputs.len(), inputs.len());
            return Err(FlowError::TooMany(self.name.to_string(), most, given));
        }
        one(self, inputs, parameters, interrupted, &|_| {
            "the caller".to_string()
        })
    }
}
