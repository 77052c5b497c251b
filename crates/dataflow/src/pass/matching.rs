//! Subgraph matching as a pass, on the vertices and edges of a set (PerFlow, section 4.3.1).

use crate::algorithm::{self, Counts, Interrupted, PatternEdge};
use crate::flow::{Kind, Parameter, Pass, PassError};
use crate::pass::graph::{Within, of_kind, set_pass, whole};
use crate::pass::pattern::Pattern;
use crate::set::{Expr, Set};

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    vec![
        set_pass(
            "match",
            "Where a small graph is found among the set's elements: the vertices and edges of all places.",
            |call| {
                let (pattern, conditions) = (call.text("pattern"), call.list("where"));
                let most = call.count("most");
                matching(call.set(0)?, pattern, conditions, most, call.interrupted)
            },
        )
        .takes("V", Kind::SET)
        .with("pattern", "a>b", "edges between vertices that are named, as a>b b>c:inter-process")
        .with(
            "where",
            Parameter::List(Vec::new()),
            "conditions for vertices by their names, as a: type == 'loop'",
        )
        .with("most", 10_000.0, "places at the most")
        .whole_from(1.0),
    ]
}

/// The vertices and edges of at most `most` places where a pattern occurs among a set's elements. A condition is the
/// name of a vertex, a colon and an expression.
///
/// # Errors
/// If the pattern or a condition cannot be read, or names something that does not exist; or if it is interrupted.
pub fn matching(
    set: &Set,
    pattern: &str,
    conditions: &[String],
    most: usize,
    interrupted: Interrupted<'_>,
) -> Result<Set, PassError> {
    let Pattern { names, edges } = Pattern::read("pattern", pattern, &[])?;
    let view = set.view();
    let within = Within::new(set);
    let mut fits: Vec<Vec<bool>> = vec![vec![false; view.graph.vertices()]; names.len()];
    for fits in &mut fits {
        within
            .vertices
            .iter()
            .for_each(|v| fits[*v as usize] = true);
    }
    for condition in conditions {
        let wrong = |what: String| PassError::Argument("where".to_string(), what);
        let Some((name, text)) = condition.split_once(':') else {
            let what = format!("\"{condition}\" is no condition such as a: type == 'loop'");
            return Err(wrong(what));
        };
        let Some(at) = names.iter().position(|n| n == name.trim()) else {
            let names = names.join(", ");
            let what = format!("the pattern has no vertex {}; it has {names}", name.trim());
            return Err(wrong(what));
        };
        let holds = Expr::parse(text.trim())?.holds(&view.vertices, &within.vertices)?;
        for (v, holds) in within.vertices.iter().zip(holds) {
            fits[at][*v as usize] &= holds;
        }
    }
    let kinds: Result<Vec<Vec<bool>>, PassError> = edges
        .iter()
        .map(|e| of_kind(set, e.kind.as_deref().unwrap_or(""), "pattern"))
        .collect();
    let kinds = kinds?;
    let vertex_tests: Vec<Box<dyn Fn(u32) -> bool + Sync + '_>> = fits
        .iter()
        .map(|f| -> Box<dyn Fn(u32) -> bool + Sync + '_> { Box::new(|v| f[v as usize]) })
        .collect();
    let edge_tests: Vec<Box<dyn Fn(u32) -> bool + Sync + '_>> = kinds
        .iter()
        .map(|k| -> Box<dyn Fn(u32) -> bool + Sync + '_> {
            Box::new(|e| k[e as usize] && within.edges[e as usize])
        })
        .collect();
    let shape = algorithm::Pattern {
        vertices: vertex_tests.iter().map(|t| &**t as Counts<'_>).collect(),
        edges: edges
            .iter()
            .zip(&edge_tests)
            .map(|(e, fits)| PatternEdge {
                src: e.src,
                dst: e.dst,
                fits,
            })
            .collect(),
    };
    let starts = &within.vertices;
    let found = algorithm::subgraph_matching(&view.graph, &shape, starts, most, interrupted);
    let found = whole(found, interrupted)?;
    let (mut vertices, mut edges) = (Vec::new(), Vec::new());
    for place in found {
        vertices.extend(place.vertices);
        edges.extend(place.edges);
    }
    Ok(Set::new(view.clone(), vertices, edges))
}
