//! The dataflow of passes that made the diagnosis, with what each returned.

use crate::model::graph::{Flow, FlowEdge, FlowNode, NodeKind};
use headwater_diagnosis::Diagnosed;

/// The passes that the answer needed.
pub fn flow(of: &Diagnosed) -> Flow {
    let drawn = of.flow.drawn();
    let returned = |i: usize| of.returned.get(i).cloned().flatten();
    let shown: Vec<usize> = (0..drawn.len())
        .filter(|i| returned(*i).is_some())
        .collect();
    let number = |i: usize| shown.iter().position(|s| *s == i).map(|n| n as u32);
    let nodes = shown.iter().filter_map(|i| {
        let node = drawn.get(*i)?;
        Some(FlowNode {
            name: node.name.clone(),
            about: node.about.clone().unwrap_or_default(),
            kind: match node.about {
                None => NodeKind::Input,
                Some(_) => NodeKind::Pass,
            },
            parameters: node.parameters.clone(),
            returned: returned(*i),
            step: node.step.unwrap_or(0) as u32,
        })
    });
    let mut edges = Vec::new();
    for i in &shown {
        let inputs = drawn.get(*i).into_iter().flat_map(|n| &n.inputs);
        for from in inputs {
            if let (Some(from), Some(to)) = (number(*from), number(*i)) {
                edges.push(FlowEdge { from, to });
            }
        }
    }
    Flow {
        name: of.flow.name().to_string(),
        nodes: nodes.collect(),
        edges,
    }
}
