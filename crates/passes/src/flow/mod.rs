//! The dataflow of an analysis: passes joined by the sets that flow between them (PerFlow, sections 4.1 and 4.2).
//!
//! A [`Flow`] is built by adding passes, each with what flows into it. It is checked as a whole before anything
//! runs ([`Flow::check`]): whether every argument is given and of the right kind, and whether the passes go in
//! a circle. Running it ([`Flow::run`]) does only what the asked-for outputs need, passes that do not need each
//! other at the same time, and nothing that the [`Cache`] holds from before. A flow can be printed, drawn
//! ([`Flow::svg`]) and saved as JSON ([`Flow::to_json`]).

mod cache;
mod check;
mod draw;
mod error;
mod finding;
mod loops;
mod parameter;
mod pass;
mod run;
mod saved;
mod value;

pub use cache::Cache;
pub use error::{FlowError, OwnError, PassError};
pub(crate) use finding::Found;
pub use finding::{Finding, Stage};
pub use parameter::{Parameter, Parameters, with};
pub use pass::{Call, Declared, Gives, Pass, Port};
pub use run::{Event, Inputs, Outputs, Runner, State};
pub use saved::{OwnPass, kinds};
pub use value::{Kind, Of, Value};

use std::sync::Arc;

/// A pass or input of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(crate) usize);

/// What a pass or input gives: most give one thing, the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Link {
    /// Who gives it.
    pub node: NodeId,
    /// Which of the things given.
    pub output: usize,
}

impl From<NodeId> for Link {
    fn from(node: NodeId) -> Self {
        Self { node, output: 0 }
    }
}

impl NodeId {
    /// The node that was added as number `index`, counted from 0.
    pub fn from_index(index: usize) -> Self {
        Self(index)
    }

    /// What it gives as number `output`, counted from 0.
    pub fn output(self, output: usize) -> Link {
        Link { node: self, output }
    }
}

/// What a node does.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// Takes what the caller of the flow gives.
    Input { name: String, kind: Kind },
    /// Runs a pass.
    Pass {
        pass: Arc<Pass>,
        parameters: Parameters,
    },
    /// Runs a flow again and again on what it gave, until that no longer changes.
    Repeat { body: Arc<Flow>, most: usize },
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) work: Work,
    pub(crate) inputs: Vec<Link>,
}

/// Passes joined to an analysis.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    pub(crate) name: String,
    pub(crate) nodes: Vec<Node>,
    pub(crate) outputs: Vec<(String, Link)>,
}

impl Flow {
    /// A flow without passes.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_string(),
            ..Self::default()
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn push(&mut self, work: Work, inputs: Vec<Link>) -> NodeId {
        self.nodes.push(Node { work, inputs });
        NodeId(self.nodes.len() - 1)
    }

    /// Adds what the caller will give by `name`.
    pub fn input(&mut self, name: &str, kind: Kind) -> NodeId {
        let name = name.to_string();
        self.push(Work::Input { name, kind }, Vec::new())
    }

    /// Adds a pass with what flows into it, in the order of its arguments.
    pub fn add<L: Into<Link>>(
        &mut self,
        pass: &Arc<Pass>,
        inputs: impl IntoIterator<Item = L>,
        parameters: Parameters,
    ) -> NodeId {
        let work = Work::Pass {
            pass: pass.clone(),
            parameters,
        };
        self.push(work, inputs.into_iter().map(Into::into).collect())
    }

    /// Adds one of our passes by its name.
    ///
    /// # Errors
    /// If there is no pass of that name.
    pub fn pass<L: Into<Link>>(
        &mut self,
        name: &str,
        inputs: impl IntoIterator<Item = L>,
        parameters: Parameters,
    ) -> Result<NodeId, FlowError> {
        let pass = crate::pass::by_name(name)?;
        Ok(self.add(pass, inputs, parameters))
    }

    /// Adds a flow that runs on what it gave until that no longer changes, `most` times at the most (PerFlow,
    /// Figure 11). It has as many inputs as outputs, or more: the first ones are given anew each time, the others stay.
    pub fn repeat<L: Into<Link>>(
        &mut self,
        body: Self,
        inputs: impl IntoIterator<Item = L>,
        most: usize,
    ) -> NodeId {
        let work = Work::Repeat {
            body: Arc::new(body),
            most,
        };
        self.push(work, inputs.into_iter().map(Into::into).collect())
    }

    /// Puts another link in the place of argument `argument` of a node, or after the last one; a node that is
    /// not there is left alone.
    pub fn connect(&mut self, node: NodeId, argument: usize, from: impl Into<Link>) {
        let Some(node) = self.nodes.get_mut(node.0) else {
            return;
        };
        match node.inputs.get_mut(argument) {
            Some(slot) => *slot = from.into(),
            None => node.inputs.push(from.into()),
        }
    }

    /// Names what the flow gives.
    pub fn output(&mut self, name: &str, from: impl Into<Link>) {
        self.outputs.push((name.to_string(), from.into()));
    }

    /// Names of what it needs, with their kinds, in the order in which they were added.
    pub fn inputs(&self) -> impl Iterator<Item = (&str, Kind)> {
        self.nodes.iter().filter_map(|n| match &n.work {
            Work::Input { name, kind } => Some((name.as_str(), *kind)),
            _ => None,
        })
    }

    /// Names of what it gives.
    pub fn output_names(&self) -> impl Iterator<Item = &str> {
        self.outputs.iter().map(|o| o.0.as_str())
    }

    /// Passes and inputs.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}
