//! Paths through a graph as passes: what can be reached, the shortest and the longest path, and the common ancestor of
//! two vertices (PerFlow, section 4.3.1).

use crate::algorithm::{self, Counts, Interrupted, Walk};
use crate::flow::{Call, Kind, Pass, PassError};
use crate::pass::graph::{KIND, Within, of_kind, set_pass, weights, whole};
use crate::set::{Direction, Set};

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    vec![
        set_pass(
            "reach",
            "What can be reached from the set's vertices, the nearest first, with depth, the edges from the set; and the edges by which.",
            |call| {
                let (set, most) = (call.vertices(0)?, call.number("depth"));
                let most = (most > 0.0).then_some(most);
                reach(set, direction(call)?, call.text("kind"), most, call.interrupted)
            },
        )
        .takes("V", Kind::SET)
        .with("direction", "out", "out, in or both")
        .with("kind", "", KIND)
        .with("depth", 0.0, "edges from the set at the most; 0 for no limit")
        .whole_from(0.0),
        set_pass(
            "depth-first",
            "What can be reached from the set's vertices, each way as far as it goes before it turns back, with depth, the edges gone; and these.",
            |call| depth_first(call.vertices(0)?, direction(call)?, call.text("kind"), call.interrupted),
        )
        .takes("V", Kind::SET)
        .with("direction", "out", "out, in or both")
        .with("kind", "", KIND),
        set_pass(
            "shortest-path",
            "The way with the least weight from a vertex of the first set to one of the second.",
            |call| {
                let (weight, kind) = (call.text("weight"), call.text("kind"));
                shortest_path(call.vertices(0)?, call.vertices(1)?, weight, kind, call.interrupted)
            },
        )
        .takes_some("V1", Kind::SET)
        .takes_some("V2", Kind::SET)
        .with(
            "weight",
            "",
            "metric of edges, from zero on; no way goes along an edge that has none of it. If empty each counts as one",
        )
        .with("kind", "", KIND),
        set_pass(
            "longest-path",
            "The way through the set with the most of a metric of its vertices and edges together, where edges go in no circle; those by which loops go back do not count.",
            |call| {
                let (metric, weight) = (call.text("metric"), call.text("weight"));
                longest_path(call.set(0)?, metric, weight, call.text("kind"), call.interrupted)
            },
        )
        .takes("V", Kind::SET)
        .with("metric", "time", "metric of vertices; if empty each counts as one. What is missing adds nothing")
        .with("weight", "", "metric of edges; if empty edges add nothing")
        .with("kind", "", KIND),
        set_pass(
            "common-ancestor",
            "The lowest vertex that leads to both of two, and the edges from it to them; a vertex leads to itself.",
            |call| {
                let (a, b) = (call.vertices(0)?, call.vertices(1)?);
                common_ancestor(a, b, call.text("kind"), call.interrupted)
            },
        )
        .takes_some("V1", Kind::SET)
        .takes_some("V2", Kind::SET)
        .with("kind", "", KIND),
    ]
}

fn direction(call: &Call<'_>) -> Result<Direction, PassError> {
    match call.text("direction") {
        "out" => Ok(Direction::Out),
        "in" => Ok(Direction::In),
        "both" => Ok(Direction::Both),
        other => {
            let what = format!("there is no {other}; there are out, in, both");
            Err(PassError::Argument("direction".to_string(), what))
        }
    }
}

/// Vertices that can be reached from a set's vertices along edges of a kind (all if empty), within `most` edges, in the
/// order in which they are reached, with `depth`; and the edges by which they are reached.
///
/// # Errors
/// If edges have no such kind, or it is interrupted.
pub fn reach(
    set: &Set,
    direction: Direction,
    kind: &str,
    most: Option<f64>,
    interrupted: Interrupted<'_>,
) -> Result<Set, PassError> {
    let counts = of_kind(set, kind, "kind")?;
    let graph = &set.view().graph;
    let counts: Counts<'_> = &|e| counts[e as usize];
    let walk = algorithm::breadth_first(graph, set.vertices(), direction, counts, interrupted);
    walked(set, &whole(walk, interrupted)?, most)
}

/// Vertices that a depth-first search reaches from a set's vertices along edges of a kind (all if empty), in the order
/// in which they are entered, with `depth` on the path taken; and the edges of that path.
///
/// # Errors
/// If edges have no such kind, or it is interrupted.
pub fn depth_first(
    set: &Set,
    direction: Direction,
    kind: &str,
    interrupted: Interrupted<'_>,
) -> Result<Set, PassError> {
    let counts = of_kind(set, kind, "kind")?;
    let graph = &set.view().graph;
    let counts: Counts<'_> = &|e| counts[e as usize];
    let walk = algorithm::depth_first(graph, set.vertices(), direction, counts, interrupted);
    walked(set, &whole(walk, interrupted)?, None)
}

/// The vertices that a search reached, within `most` edges.
fn walked(set: &Set, walk: &Walk, most: Option<f64>) -> Result<Set, PassError> {
    let graph = &set.view().graph;
    let near = |v: &u32| most.is_none_or(|m| f64::from(walk.depth[*v as usize]) <= m);
    let vertices: Vec<u32> = walk.order.iter().copied().filter(near).collect();
    let by = vertices.iter().map(|v| walk.by[*v as usize]);
    let edges = by.filter(|e| (*e as usize) < graph.edges()).collect();
    let depth = |v: &u32| Some(f64::from(walk.depth[*v as usize]));
    let depth: Vec<Option<f64>> = vertices.iter().map(depth).collect();
    Ok(Set::of(set.view(), vertices, edges).with_metric("depth", &depth)?)
}

/// The path with the least sum of a metric of edges (one for each if empty) from any vertex of one set to any of
/// another; empty if there is none. No path uses an edge without the metric.
///
/// # Errors
/// If the sets are of different graphs, edges have no such metric or kind, or an edge has a negative value of it; or if
/// it is interrupted.
pub fn shortest_path(
    from: &Set,
    to: &Set,
    weight: &str,
    kind: &str,
    interrupted: Interrupted<'_>,
) -> Result<Set, PassError> {
    // Only sets of one graph can be put together.
    from.union(to)?;
    let (mut counts, metric) = (of_kind(from, kind, "kind")?, weight);
    let weight = weights(from, metric)?;
    let graph = &from.view().graph;
    for (e, counts) in (0..).zip(&mut counts) {
        match weight(e) {
            Some(x) if *counts && x < 0.0 => {
                let what = format!(
                    "an edge has {x} of {metric}; a way of the least needs figures from zero on"
                );
                return Err(PassError::Argument("weight".to_string(), what));
            }
            Some(x) => *counts &= !x.is_nan(),
            None => *counts = false,
        }
    }
    let counts: Counts<'_> = &|e| counts[e as usize];
    let path = algorithm::shortest_path_between(
        graph,
        from.vertices(),
        to.vertices(),
        Direction::Out,
        |e| weight(e).unwrap_or(f64::INFINITY),
        counts,
        interrupted,
    );
    let path = whole(path, interrupted)?.unwrap_or_default();
    Ok(Set::of(from.view(), path.vertices, path.edges))
}

/// The path along a set's edges of a kind with the greatest sum of a metric of its vertices (one for each if empty) and
/// one of its edges (nothing if empty). Edges by which loops go back do not count.
///
/// # Errors
/// If edges form a cycle, have no such metric or kind, vertices have no such metric, or it is interrupted.
pub fn longest_path(
    set: &Set,
    metric: &str,
    weight: &str,
    kind: &str,
    interrupted: Interrupted<'_>,
) -> Result<Set, PassError> {
    let view = set.view();
    let (within, of_kind) = (Within::new(set), of_kind(set, kind, "kind")?);
    // No path ends outside the set.
    let mut own = vec![f64::NEG_INFINITY; view.graph.vertices()];
    let vertices = Set::of(view, within.vertices.clone(), Vec::new());
    let figures = match metric {
        "" => vec![Some(1.0); within.vertices.len()],
        metric => vertices.numbers(metric)?,
    };
    for (v, x) in within.vertices.iter().zip(figures) {
        own[*v as usize] = x.unwrap_or(0.0);
    }
    let (empty, of_edge) = (weight.is_empty(), weights(set, weight)?);
    let of_edge = |e: u32| of_edge(e).filter(|_| !empty).unwrap_or(0.0);
    let back = view.edges.get("back");
    let goes_back = |e: u32| back.and_then(|b| b.number(e as usize)) == Some(1.0);
    let counts = |e: u32| within.edges[e as usize] && of_kind[e as usize] && !goes_back(e);
    let of_vertex = |v: u32| own[v as usize];
    let path = algorithm::longest_path(&view.graph, of_vertex, of_edge, &counts, interrupted);
    let path = whole(path, interrupted)?.ok_or_else(|| {
        let what = "its edges go in a circle, so that no way is the longest; choose a kind of edges that do not, or a part of the set";
        PassError::Argument("V".to_string(), what.to_string())
    })?;
    // The longest path of a set without vertices has none.
    let there = !within.vertices.is_empty();
    let [vertices, edges] = [path.vertices, path.edges].map(|p| if there { p } else { Vec::new() });
    Ok(Set::of(view, vertices, edges))
}

/// The lowest vertex that leads along edges of a kind to the only vertex of each set, and the edges from it to them;
/// empty if there is none.
///
/// # Errors
/// If a set does not have exactly one vertex, the sets are of different graphs, edges have no such kind, or it is
/// interrupted.
pub fn common_ancestor(
    a: &Set,
    b: &Set,
    kind: &str,
    interrupted: Interrupted<'_>,
) -> Result<Set, PassError> {
    // Only sets of one graph can be put together.
    a.union(b)?;
    let counts = of_kind(a, kind, "kind")?;
    let one = |name: &str, set: &Set| match set.vertices() {
        [v] => Ok(*v),
        all => {
            let what = format!("one vertex is needed, and it has {}", all.len());
            Err(PassError::Argument(name.to_string(), what))
        }
    };
    let (first, second) = (one("V1", a)?, one("V2", b)?);
    let counts: Counts<'_> = &|e| counts[e as usize];
    let graph = &a.view().graph;
    let found = algorithm::lowest_common_ancestor(graph, first, second, counts, interrupted);
    let found = whole(found, interrupted)?;
    let (vertices, edges) = found.map_or_else(Default::default, |f| (vec![f.vertex], f.edges));
    Ok(Set::new(a.view().clone(), vertices, edges))
}
