//! Backtracking (ScalAna, Algorithm 1; PerFlow, Listing 7): from vertices with problems back to where they begin.
//!
//! A walk goes back along the edge from another rank or thread that was waited for longest, and where nobody was
//! waited for along program order, until a collective, a vertex that was passed before, or the beginning.

use super::causal::{between, carries};
use crate::flow::{Call, Gives, Kind, Pass, PassError};
use crate::set::Set;

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    let walk = |call: &Call<'_>| -> Result<Vec<_>, PassError> {
        let found = backtracking(call.vertices(0)?, call.number("least"))?;
        Ok(vec![found.into()])
    };
    vec![
        Pass::new(
            "backtracking",
            "The vertices and edges on the ways back from each vertex of the set to where its delay begins.",
            walk,
        )
        .takes("V", Kind::PARALLEL)
        .with("least", 1e-4, "waiting that is followed, as a share of the run time")
        .gives(Gives::AsArgument(0)),
    ]
}

/// Vertices and edges on the ways back from the vertices of `set`, in the order in which they were passed. Ways
/// that come together go on as one.
///
/// # Errors
/// If the edges of its view do not say what they are.
pub fn backtracking(set: &Set, least: f64) -> Result<Set, PassError> {
    let view = set.view();
    let graph = &view.graph;
    let carries = carries(view, least)?;
    let types = view.edges.get("type");
    let class = view.vertices.get("class");
    let between = types.map(between);
    let is_between = |e: u32| between.as_ref().and_then(|b| b(e as usize)) == Some(true);
    let figure = |name: &str, e: u32| {
        let column = view.edges.get(name);
        column.and_then(|c| c.number(e as usize)).unwrap_or(0.0)
    };
    let most = |edges: &mut dyn Iterator<Item = u32>, metric: &str| {
        edges.reduce(|a, b| {
            if figure(metric, b) > figure(metric, a) {
                b
            } else {
                a
            }
        })
    };
    let is_collective = |v: u32| class.and_then(|c| c.text(v as usize)) == Some("collective");
    let mut passed = vec![false; graph.vertices()];
    let (mut vertices, mut edges) = (Vec::new(), Vec::new());
    for &start in set.vertices() {
        let mut at = start;
        // Who sent did not wait for its own message.
        let mut arrived = false;
        while !std::mem::replace(&mut passed[at as usize], true) {
            vertices.push(at);
            let into = || {
                graph
                    .in_edges(at)
                    .iter()
                    .copied()
                    .filter(|e| carries[*e as usize])
            };
            let waited = most(&mut into().filter(|e| !arrived && is_between(*e)), "wait");
            arrived = waited.is_some();
            let before = || most(&mut into().filter(|e| !is_between(*e)), "count");
            // What a collective let go on at the same time on all ranks did not come from before it.
            let before = || before().filter(|e| !is_collective(graph.sources()[*e as usize]));
            let Some(edge) = waited.or_else(before) else {
                break;
            };
            edges.push(edge);
            at = graph.sources()[edge as usize];
        }
    }
    Ok(Set::of(view, vertices, edges))
}
