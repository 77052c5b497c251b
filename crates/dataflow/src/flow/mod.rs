//! The dataflow of an analysis: passes joined by the sets that flow between them (PerFlow, sections 4.1 and 4.2).
//!
//! A caller builds a [`Flow`] by adding passes, each with what flows into it. The flow is checked as a whole before
//! anything runs ([`Flow::check`]): every argument must be given and of the right kind, and the passes must not form a
//! cycle. A run ([`Flow::run`]) does only the passes that the requested outputs need. Passes that do not need each
//! other run at the same time. Results that the [`Cache`] has are not computed again. A flow can be printed, drawn
//! ([`Flow::svg`]) and saved as JSON ([`Flow::to_json`]).

mod cache;
mod catalogue;
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
pub use catalogue::Catalogue;
pub use draw::Drawn;
pub use error::{FlowError, OwnError, PassError};
pub use finding::{Finding, Stage, StageResult};
pub use parameter::{Parameter, Parameters, with};
pub use pass::{Call, Declared, Gives, Pass, Port};
pub use run::{Event, Inputs, Outputs, Runner, State};
pub use saved::OwnPass;
pub use value::{Kind, Of, Value, counted};

use std::sync::Arc;

/// A pass or input of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(crate) usize);

/// One output of a pass or input. Most have one, the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Link {
    /// The pass or input.
    pub node: NodeId,
    /// Which of its outputs, counted from 0.
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

    /// Its output number `output`, counted from 0.
    pub fn output(self, output: usize) -> Link {
        Link { node: self, output }
    }
}

/// What a node does.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// Takes a value from the caller of the flow.
    Input { name: String, kind: Kind },
    /// Runs a pass.
    Pass {
        pass: Arc<Pass>,
        parameters: Parameters,
    },
    /// Runs a flow again and again on its own results, until they no longer change.
    Repeat { body: Arc<Flow>, most: usize },
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) work: Work,
    pub(crate) inputs: Vec<Link>,
}

/// Passes joined into an analysis.
#[derive(Clone, Debug)]
pub struct Flow {
    pub(crate) catalogue: &'static Catalogue,
    pub(crate) name: String,
    pub(crate) nodes: Vec<Node>,
    pub(crate) outputs: Vec<(String, Link)>,
}

impl Flow {
    /// A flow without passes; it finds passes and stages by their names in `catalogue`.
    pub fn new(name: &str, catalogue: &'static Catalogue) -> Self {
        Self {
            catalogue,
            name: name.to_string(),
            nodes: Vec::new(),
            outputs: Vec::new(),
        }
    }

    /// The passes and stages that it finds by their names.
    pub fn catalogue(&self) -> &'static Catalogue {
        self.catalogue
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn push(&mut self, work: Work, inputs: Vec<Link>) -> NodeId {
        self.nodes.push(Node { work, inputs });
        NodeId(self.nodes.len() - 1)
    }

    /// Adds an input that the caller will give by `name`.
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

    /// Adds a pass of the catalogue by its name.
    ///
    /// # Errors
    /// If there is no pass of that name.
    pub fn pass<L: Into<Link>>(
        &mut self,
        name: &str,
        inputs: impl IntoIterator<Item = L>,
        parameters: Parameters,
    ) -> Result<NodeId, FlowError> {
        let pass = self.catalogue.by_name(name)?;
        Ok(self.add(pass, inputs, parameters))
    }

    /// Adds a flow that runs on its own results until they no longer change, at most `most` times (PerFlow, Figure 11).
    /// It needs at least as many inputs as outputs: the outputs replace the first inputs each time, the other inputs
    /// stay.
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

    /// Replaces argument `argument` of a node by another link, or adds it after the last one. A node that does not
    /// exist is ignored.
    pub fn connect(&mut self, node: NodeId, argument: usize, from: impl Into<Link>) {
        let Some(node) = self.nodes.get_mut(node.0) else {
            return;
        };
        match node.inputs.get_mut(argument) {
            Some(slot) => *slot = from.into(),
            None => node.inputs.push(from.into()),
        }
    }

    /// Adds an output of the flow by `name`.
    pub fn output(&mut self, name: &str, from: impl Into<Link>) {
        self.outputs.push((name.to_string(), from.into()));
    }

    /// Names and kinds of its inputs, in the order in which they were added.
    pub fn inputs(&self) -> impl Iterator<Item = (&str, Kind)> {
        self.nodes.iter().filter_map(|n| match &n.work {
            Work::Input { name, kind } => Some((name.as_str(), *kind)),
            _ => None,
        })
    }

    /// The link that an output is, by its name.
    pub fn output_link(&self, name: &str) -> Option<Link> {
        self.outputs.iter().find(|o| o.0 == name).map(|o| o.1)
    }

    /// Names of its outputs.
    pub fn output_names(&self) -> impl Iterator<Item = &str> {
        self.outputs.iter().map(|o| o.0.as_str())
    }

    /// Number of passes and inputs.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}
