//! Prints and draws a flow.

use super::{Flow, Work};
use std::fmt::{self, Write};

/// Size of a box and of the gaps between boxes, in pixels.
const BOX: (usize, usize) = (190, 44);
const GAP: (usize, usize) = (24, 40);

/// Characters that fit into a box.
const FITS: usize = 28;

/// A node of a flow, for a drawing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// The name of its pass or input.
    pub name: String,
    /// Its parameters in words.
    pub parameters: String,
    /// What its pass does; `None` for an input.
    pub about: Option<String>,
    /// Its row from the top; passes that form a cycle have none.
    pub step: Option<usize>,
    /// The nodes whose results it takes.
    pub inputs: Vec<usize>,
}

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "dataflow {}", self.name)?;
        for (i, node) in self.nodes.iter().enumerate() {
            let (head, details) = self.words(i);
            write!(f, "  %{i} = {head}")?;
            if !details.is_empty() {
                write!(f, "({details})")?;
            }
            let from: Vec<String> = node.inputs.iter().map(link).collect();
            if !from.is_empty() {
                write!(f, " of {}", from.join(", "))?;
            }
            writeln!(f)?;
        }
        for (name, from) in &self.outputs {
            writeln!(f, "  output {name} = {}", link(from))?;
        }
        Ok(())
    }
}

fn link(link: &super::Link) -> String {
    match link.output {
        0 => format!("%{}", link.node.0),
        n => format!("%{}.{n}", link.node.0),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Shortens a text to what fits into a box.
fn shortened(text: &str) -> String {
    if text.chars().count() <= FITS {
        return text.to_string();
    }
    let begin: String = text.chars().take(FITS - 1).collect();
    begin + "…"
}

impl Flow {
    /// What a node is, and with which parameters.
    fn words(&self, i: usize) -> (String, String) {
        let details = match self.nodes.get(i).map(|n| &n.work) {
            Some(Work::Input { kind, .. }) => kind.to_string(),
            Some(Work::Pass { parameters, .. }) => {
                let each = parameters.0.iter().map(|(n, v)| format!("{n}={v}"));
                each.collect::<Vec<_>>().join(", ")
            }
            Some(Work::Repeat { most, .. }) => format!("until it stays, {most} times at the most"),
            None => String::new(),
        };
        (self.label(i), details)
    }

    /// Its nodes, in the order in which they were added.
    pub fn drawn(&self) -> Vec<Drawn> {
        let steps = self.checked().map(|c| c.steps).unwrap_or_default();
        let step = |i: usize| steps.iter().position(|s| s.contains(&i));
        let one = |(i, node): (usize, &super::Node)| {
            let (name, parameters) = self.words(i);
            Drawn {
                name,
                parameters,
                about: match &node.work {
                    Work::Input { .. } => None,
                    Work::Pass { pass, .. } => Some(pass.about.to_string()),
                    Work::Repeat { .. } => Some("Repeats a flow on its own results.".to_string()),
                },
                step: step(i),
                inputs: node.inputs.iter().map(|link| link.node.0).collect(),
            }
        };
        self.nodes.iter().enumerate().map(one).collect()
    }

    /// The flow as a drawing, from its inputs at the top to its outputs.
    ///
    /// Passes that form a cycle are left out: they have no place in any order.
    pub fn svg(&self) -> String {
        let steps = self.checked().map(|c| c.steps).unwrap_or_default();
        let widest = steps.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let width = widest * (BOX.0 + GAP.0) + GAP.0;
        let height = (steps.len() + 1) * (BOX.1 + GAP.1) + GAP.1;
        let mut at = vec![None; self.nodes.len()];
        for (row, step) in steps.iter().enumerate() {
            let own = step.len() * (BOX.0 + GAP.0) - GAP.0;
            for (column, i) in step.iter().enumerate() {
                let x = (width - own) / 2 + column * (BOX.0 + GAP.0);
                at[*i] = Some((x, GAP.1 / 2 + row * (BOX.1 + GAP.1)));
            }
        }
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n<title>{}</title>\n<defs><marker id=\"end\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0 8 4 0 8z\" fill=\"#666\"/></marker></defs>\n",
            escaped(&self.name)
        );
        let mut line = |from: (usize, usize), to: (usize, usize)| {
            let (x1, y1) = (from.0 + BOX.0 / 2, from.1 + BOX.1);
            let (x2, y2) = (to.0 + BOX.0 / 2, to.1);
            let middle = (y1 + y2) / 2;
            // Writing into a string cannot fail.
            let _ = writeln!(
                out,
                "<path d=\"M{x1} {y1}C{x1} {middle} {x2} {middle} {x2} {y2}\" fill=\"none\" stroke=\"#666\" marker-end=\"url(#end)\"/>"
            );
        };
        for (node, to) in self.nodes.iter().zip(&at) {
            for link in &node.inputs {
                let from = at.get(link.node.0).copied().flatten();
                if let (Some(from), Some(to)) = (from, to) {
                    line(from, *to);
                }
            }
        }
        for (i, place) in at.iter().enumerate() {
            let Some((x, y)) = place else { continue };
            let input = matches!(self.nodes[i].work, Work::Input { .. });
            let fill = if input { "#e8f0fe" } else { "#f6f6f6" };
            let (head, details) = self.words(i);
            let middle = x + BOX.0 / 2;
            let given: Vec<&str> = (self.outputs.iter())
                .filter(|o| o.1.node.0 == i)
                .map(|o| o.0.as_str())
                .collect();
            let _ = writeln!(
                out,
                "<g><title>{}</title><rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" rx=\"5\" fill=\"{fill}\" stroke=\"{}\"/><text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\" font-weight=\"bold\">{}</text><text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\" fill=\"#555\">{}</text></g>",
                escaped(&if given.is_empty() {
                    details.clone()
                } else {
                    format!("{details}; output {}", given.join(", "))
                }),
                BOX.0,
                BOX.1,
                if given.is_empty() { "#666" } else { "#1a56b0" },
                y + 18,
                escaped(&shortened(&head)),
                y + 33,
                escaped(&shortened(&details)),
            );
        }
        out + "</svg>\n"
    }
}
