//! A flow as JSON, and back.
//!
//! Passes stand by their names, so that passes of the user's own must be known where it is read again.

use super::{Flow, FlowError, Kind, Link, NodeId, Of, Parameters, Pass, Stage, Work};
use headwater_graph::view::ViewKind;
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
    Repeat {
        repeat: Box<Saved>,
        inputs: Vec<(usize, usize)>,
        most: usize,
    },
}

/// Kinds by their word in JSON.
const KINDS: [(&str, Kind); 6] = [
    ("run", Kind::Run),
    ("set", Kind::Set(Of::Any)),
    ("top-down", Kind::Set(Of::View(ViewKind::TopDown))),
    ("parallel", Kind::Set(Of::View(ViewKind::Parallel))),
    ("made", Kind::Set(Of::View(ViewKind::Made))),
    ("table", Kind::Section),
];

/// All kinds by their word, as in the JSON of a saved flow.
pub fn kinds() -> impl Iterator<Item = (&'static str, Kind)> {
    let stages = Stage::ALL.into_iter().map(|s| (s.1, Kind::Finding(s.0)));
    KINDS.into_iter().chain(stages)
}

fn save(flow: &Flow) -> Saved {
    let ends = |links: &[Link]| links.iter().map(|l| (l.node.0, l.output)).collect();
    let nodes = flow.nodes.iter().map(|node| match &node.work {
        Work::Input { name, kind } => SavedNode::Input {
            input: name.clone(),
            kind: kinds()
                .find(|k| k.1 == *kind)
                .map_or("set", |k| k.0)
                .to_string(),
        },
        Work::Pass { pass, parameters } => SavedNode::Pass {
            pass: pass.name.to_string(),
            inputs: ends(&node.inputs),
            parameters: parameters.clone(),
        },
        Work::Repeat { body, most } => SavedNode::Repeat {
            repeat: Box::new(save(body)),
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

fn restore(saved: Saved, own: &[Arc<Pass>]) -> Result<Flow, FlowError> {
    if saved.schema != SCHEMA {
        let what = format!("it has version {}, and this is for {SCHEMA}", saved.schema);
        return Err(FlowError::Saved(what));
    }
    let mut flow = Flow::new(&saved.name);
    let links = |ends: Vec<(usize, usize)>| -> Vec<Link> {
        let link = |(node, output)| NodeId(node).output(output);
        ends.into_iter().map(link).collect()
    };
    for node in saved.nodes {
        match node {
            SavedNode::Input { input, kind } => {
                let Some((_, kind)) = kinds().find(|k| k.0 == kind) else {
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
                let mine = own.iter().find(|p| p.name == pass);
                let pass = match mine {
                    Some(mine) => mine,
                    None => crate::pass::by_name(&pass)?,
                };
                flow.add(pass, links(inputs), parameters);
            }
            SavedNode::Repeat {
                repeat,
                inputs,
                most,
            } => {
                let body = restore(*repeat, own)?;
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
        // All of it is words, figures and lists of these.
        serde_json::to_string_pretty(&save(self)).unwrap_or_default() + "\n"
    }

    /// Reads a flow; `own` are passes besides ours, which come before those of the same name.
    ///
    /// # Errors
    /// If it is no saved flow, names a pass that there is not, or would not pass its check.
    pub fn from_json(text: &str, own: &[Arc<Pass>]) -> Result<Self, FlowError> {
        let saved: Saved =
            serde_json::from_str(text).map_err(|e| FlowError::Saved(e.to_string()))?;
        restore(saved, own)
    }
}
