//! Writes a flow as JSON, and reads it back.
//!
//! Our passes are saved by their names. The user's own passes are saved by other names, which differ from ours and from
//! each other. The caller must supply these passes to read the flow again.

use super::{Catalogue, Flow, FlowError, Link, NodeId, Parameters, Pass, Work};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Version of the JSON of a saved flow.
const SCHEMA: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Saved {
    schema: u32,
    name: String,
    nodes: Vec<SavedNode>,
    outputs: Vec<(String, usize, usize)>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum SavedNode {
    Input {
        input: String,
        kind: String,
    },
    Pass {
        pass: String,
        inputs: Vec<(usize, usize)>,
        parameters: Parameters,
    },
    Own {
        function: String,
        gives: usize,
        cached: bool,
        inputs: Vec<(usize, usize)>,
        parameters: Parameters,
    },
    Repeat {
        repeat: Box<Saved>,
        inputs: Vec<(usize, usize)>,
        most: usize,
    },
}

/// A pass of the user's own in a saved flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnPass {
    /// Its name, which no other pass of the user's own in the flow has.
    pub name: String,
    /// Number of its outputs.
    pub gives: usize,
    /// Whether its results may be cached.
    pub cached: bool,
}

/// Names of the user's own passes, in the order in which they are saved.
#[derive(Default)]
struct Names(Vec<(Arc<Pass>, String)>);

impl Names {
    /// The name of a pass, with a number where another pass has the same name; `None` for one of ours.
    fn of(&mut self, pass: &Arc<Pass>, ours: &Catalogue) -> Option<String> {
        if ours
            .by_name(&pass.name)
            .is_ok_and(|ours| Arc::ptr_eq(ours, pass))
        {
            return None;
        }
        if let Some((_, name)) = self.0.iter().find(|(known, _)| known.is_as(pass)) {
            return Some(name.clone());
        }
        let (mut name, mut n) = (pass.name.to_string(), 1);
        while self.0.iter().any(|(_, known)| *known == name) {
            n += 1;
            name = format!("{} {n}", pass.name);
        }
        self.0.push((pass.clone(), name.clone()));
        Some(name)
    }
}

fn save(flow: &Flow, names: &mut Names) -> Saved {
    let ends = |links: &[Link]| links.iter().map(|l| (l.node.0, l.output)).collect();
    let nodes = flow.nodes.iter().map(|node| match &node.work {
        Work::Input { name, kind } => SavedNode::Input {
            input: name.clone(),
            kind: flow
                .catalogue
                .kinds()
                .find(|k| k.1 == *kind)
                .map_or("set", |k| k.0)
                .to_string(),
        },
        Work::Pass { pass, parameters } => match names.of(pass, flow.catalogue) {
            None => SavedNode::Pass {
                pass: pass.name.to_string(),
                inputs: ends(&node.inputs),
                parameters: parameters.clone(),
            },
            Some(function) => SavedNode::Own {
                function,
                gives: pass.outputs.len(),
                cached: pass.cached,
                inputs: ends(&node.inputs),
                parameters: parameters.clone(),
            },
        },
        Work::Repeat { body, most } => SavedNode::Repeat {
            repeat: Box::new(save(body, names)),
            inputs: ends(&node.inputs),
            most: *most,
        },
    });
    let outputs = flow.outputs.iter();
    Saved {
        schema: SCHEMA,
        name: flow.name.clone(),
        nodes: nodes.collect(),
        outputs: outputs
            .map(|(name, l)| (name.clone(), l.node.0, l.output))
            .collect(),
    }
}

/// The user's own pass that a saved one refers to.
fn own_pass<'a>(wanted: &OwnPass, own: &'a [Arc<Pass>]) -> Result<&'a Arc<Pass>, FlowError> {
    let name = &wanted.name;
    let mut of_name = own.iter().filter(|p| p.name == *name);
    let what = match (of_name.next(), of_name.next()) {
        (Some(pass), None) if pass.outputs.len() == wanted.gives => return Ok(pass),
        (Some(pass), None) => format!(
            "its function {name} returns {}, and the function given for it {}",
            wanted.gives,
            pass.outputs.len()
        ),
        (Some(_), Some(_)) => format!("two functions are given for its function {name}"),
        (None, _) => format!("its function {name} is not given; functions must be given again"),
    };
    Err(FlowError::Saved(what))
}

/// The passes of the user's own, each once.
fn own_passes(saved: &Saved, found: &mut Vec<OwnPass>) {
    for node in &saved.nodes {
        match node {
            SavedNode::Own {
                function,
                gives,
                cached,
                ..
            } if found.iter().all(|p| p.name != *function) => found.push(OwnPass {
                name: function.clone(),
                gives: *gives,
                cached: *cached,
            }),
            SavedNode::Repeat { repeat, .. } => own_passes(repeat, found),
            _ => {}
        }
    }
}

fn restore(saved: Saved, own: &[Arc<Pass>], ours: &'static Catalogue) -> Result<Flow, FlowError> {
    if saved.schema != SCHEMA {
        let what = format!("it has version {}, and this is for {SCHEMA}", saved.schema);
        return Err(FlowError::Saved(what));
    }
    let mut flow = Flow::new(&saved.name, ours);
    let links = |ends: Vec<(usize, usize)>| -> Vec<Link> {
        let link = |(node, output)| NodeId(node).output(output);
        ends.into_iter().map(link).collect()
    };
    for node in saved.nodes {
        match node {
            SavedNode::Input { input, kind } => {
                let Some((_, kind)) = ours.kinds().find(|k| k.0 == kind) else {
                    let what = format!("input {input} is of kind {kind}, which there is not");
                    return Err(FlowError::Saved(what));
                };
                flow.input(&input, kind);
            }
            SavedNode::Pass {
                pass,
                inputs,
                parameters,
            } => {
                flow.pass(&pass, links(inputs), parameters)?;
            }
            SavedNode::Own {
                function,
                gives,
                cached,
                inputs,
                parameters,
            } => {
                let wanted = OwnPass {
                    name: function,
                    gives,
                    cached,
                };
                flow.add(own_pass(&wanted, own)?, links(inputs), parameters);
            }
            SavedNode::Repeat {
                repeat,
                inputs,
                most,
            } => {
                let body = restore(*repeat, own, ours)?;
                flow.repeat(body, links(inputs), most);
            }
        }
    }
    for (name, node, output) in saved.outputs {
        flow.output(&name, NodeId(node).output(output));
    }
    flow.check()?;
    Ok(flow)
}

impl Flow {
    /// The flow as JSON.
    pub fn to_json(&self) -> String {
        // It consists of words, figures and lists of these only.
        serde_json::to_string_pretty(&save(self, &mut Names::default())).unwrap_or_default() + "\n"
    }

    /// Reads a flow of passes of `ours`; `own` are the passes that [`Flow::own_passes`] lists, by the names there.
    ///
    /// # Errors
    /// If it is not a saved flow, names a pass that does not exist, is not given each of its own passes once and with
    /// as many outputs, or fails its check.
    pub fn from_json(
        text: &str,
        own: &[Arc<Pass>],
        ours: &'static Catalogue,
    ) -> Result<Self, FlowError> {
        restore(saved(text)?, own, ours)
    }

    /// The user's own passes in a saved flow and in the flows that it repeats, which must be given to read it.
    ///
    /// # Errors
    /// If it is not a saved flow.
    pub fn own_passes(text: &str) -> Result<Vec<OwnPass>, FlowError> {
        let mut found = Vec::new();
        own_passes(&saved(text)?, &mut found);
        Ok(found)
    }
}

fn saved(text: &str) -> Result<Saved, FlowError> {
    serde_json::from_str(text).map_err(|e| FlowError::Saved(e.to_string()))
}
