//! Graph algorithms as passes, on the vertices and edges of a set (PerFlow, section 4.3.1).
//!
//! Edges are those of the set; where it has none, all between its vertices.

use super::pattern::Pattern;
use crate::algorithm::{self, Counts, PatternEdge};
use crate::flow::{Call, Gives, Kind, Pass, PassError, Value};
use crate::set::{Direction, Expr, Set};
use headwater_graph::view::{Column, EdgeKind, EdgeType, View};

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    let pass =
        |name: &'static str, about: &'static str, f: fn(&Call<'_>) -> Result<Set, PassError>| {
            Pass::new(name, about, move |call| Ok(vec![Value::Set(f(call)?)]))
                .gives(Gives::AsArgument(0))
        };
    let kinds = "type or kind that edges must have, as inter-process; all if empty";
    vec![
        pass(
            "reach",
            "What can be reached from the set's vertices, the nearest first, with depth, the edges from the set; and the edges by which.",
            |call| {
                let direction = direction(call.text("direction"))?;
                let (set, most) = (call.vertices(0)?, call.number("depth"));
                reach(set, direction, call.text("kind"), (most > 0.0).then_some(most))
            },
        )
        .takes("V", Kind::SET)
        .with("direction", "out", "out, in or both")
        .with("kind", "", kinds)
        .with("depth", 0.0, "edges from the set at the most; 0 for no limit"),
        pass(
            "shortest-path",
            "The way with the least weight from a vertex of the first set to one of the second.",
            |call| shortest_path(call.vertices(0)?, call.vertices(1)?, call.text("weight"), call.text("kind")),
        )
        .takes_some("V1", Kind::SET)
        .takes_some("V2", Kind::SET)
        .with(
            "weight",
            "",
            "metric of edges, from zero on; no way goes along an edge that has none of it. If empty each counts as one",
        )
        .with("kind", "", kinds),
        pass(
            "components",
            "Vertices with component: those with one number lead to each other in a circle.",
            |call| components(call.set(0)?),
        )
        .takes("V", Kind::SET),
        pass(
            "communities",
            "Vertices with community: those with one number are more joined with each other than with the rest (Louvain).",
            |call| communities(call.set(0)?, call.text("weight")),
        )
        .takes("V", Kind::SET)
        .with("weight", "", "metric of edges, as bytes; an edge that has none of it joins nothing. If empty each counts as one"),
        pass(
            "match",
            "Where a small graph is found among the set's elements: the vertices and edges of all places.",
            |call| {
                let (pattern, conditions) = (call.text("pattern"), call.list("where"));
                matching(call.set(0)?, pattern, conditions, call.count("most"))
            },
        )
        .takes("V", Kind::SET)
        .with("pattern", "a>b", "edges between vertices that are named, as a>b b>c:inter-process")
        .with(
            "where",
            crate::flow::Parameter::List(Vec::new()),
            "conditions for vertices by their names, as a: type == 'loop'",
        )
        .with("most", 10_000.0, "places at the most"),
    ]
}

fn direction(word: &str) -> Result<Direction, PassError> {
    match word {
        "out" => Ok(Direction::Out),
        "in" => Ok(Direction::In),
        "both" => Ok(Direction::Both),
        other => {
            let what = format!("there is no {other}; there are out, in, both");
            Err(PassError::Argument("direction".to_string(), what))
        }
    }
}

/// Checks that edges of a view can be of a kind; `argument` is what it was given for.
pub(super) fn check_kind(view: &View, kind: &str, argument: &str) -> Result<(), PassError> {
    let wrong = |what: String| Err(PassError::Argument(argument.to_string(), what));
    let mut there: Vec<&str> = Vec::new();
    for column in ["type", "kind"]
        .iter()
        .filter_map(|name| view.edges.get(name))
    {
        if let Column::Text(words) = column {
            there.extend(words.dictionary());
        }
    }
    if there.is_empty() {
        return wrong("edges of this view have no kinds".to_string());
    }
    // What no run of ours has is a slip of the pen, and what this one has not is nowhere.
    if there.contains(&kind) || EdgeType::WORDS.contains(&kind) || EdgeKind::WORDS.contains(&kind) {
        return Ok(());
    }
    wrong(format!(
        "edges have no kind {kind}; there are {}",
        there.join(", ")
    ))
}

/// By edge of the view whether it is of a kind; all are of none. `argument` is what the kind was given for.
fn of_kind(set: &Set, kind: &str, argument: &str) -> Result<Vec<bool>, PassError> {
    let view = set.view();
    let columns = [view.edges.get("type"), view.edges.get("kind")];
    if !kind.is_empty() {
        check_kind(view, kind, argument)?;
    }
    let is = |e: usize| {
        let mut words = columns.iter().flatten().map(|c| c.text(e));
        kind.is_empty() || words.any(|w| w == Some(kind))
    };
    Ok((0..view.graph.edges()).map(is).collect())
}

/// What counts of a view where only a set does: vertices and edges.
struct Within {
    vertices: Vec<u32>,
    edges: Vec<bool>,
}

impl Within {
    fn new(set: &Set) -> Self {
        let graph = &set.view().graph;
        let mut edges = vec![false; graph.edges()];
        let mut held = vec![false; graph.vertices()];
        let ends = || graph.sources().iter().zip(graph.targets());
        set.vertices().iter().for_each(|v| held[*v as usize] = true);
        if set.edges().is_empty() {
            for (slot, (a, b)) in edges.iter_mut().zip(ends()) {
                *slot = held[*a as usize] && held[*b as usize];
            }
        }
        for &e in set.edges() {
            let ends = [graph.sources(), graph.targets()].map(|all| all[e as usize] as usize);
            // Of edges alone the vertices are those that they join.
            if set.vertices().is_empty() {
                ends.iter().for_each(|v| held[*v] = true);
            }
            edges[e as usize] = ends.iter().all(|v| held[*v]);
        }
        let vertices = match set.vertices() {
            [] => (0..held.len() as u32)
                .filter(|v| held[*v as usize])
                .collect(),
            own => own.to_vec(),
        };
        Self { vertices, edges }
    }
}

/// Figures of a metric of edges, one where none is named; an edge may have none.
fn weights(set: &Set, metric: &str) -> Result<impl Fn(u32) -> Option<f64>, PassError> {
    let wrong = |what: String| PassError::Argument("weight".to_string(), what);
    let column = match metric {
        "" => None,
        name => {
            let column = set.view().edges.get(name);
            let column = column.cloned().ok_or_else(|| {
                let names = set.view().edges.names().join(", ");
                wrong(format!("edges have no {name}; they have {names}"))
            })?;
            if let Column::Text(_) = column {
                return Err(wrong(format!("{name} is words, and figures are needed")));
            }
            Some(column)
        }
    };
    Ok(move |e: u32| match &column {
        None => Some(1.0),
        Some(column) => column.number(e as usize),
    })
}

/// What can be reached from a set's vertices along edges of a kind (all if empty), within so many edges, in the order in
/// which it is reached, with `depth`; and the edges by which.
///
/// # Errors
/// If edges have no kinds but one was asked for.
pub fn reach(
    set: &Set,
    direction: Direction,
    kind: &str,
    most: Option<f64>,
) -> Result<Set, PassError> {
    let counts = of_kind(set, kind, "kind")?;
    let graph = &set.view().graph;
    let counts: Counts<'_> = &|e| counts[e as usize];
    let walk = algorithm::breadth_first(graph, set.vertices(), direction, counts);
    let near = |v: &u32| most.is_none_or(|m| f64::from(walk.depth[*v as usize]) <= m);
    let vertices: Vec<u32> = walk.order.iter().copied().filter(near).collect();
    let by = vertices.iter().map(|v| walk.by[*v as usize]);
    let edges = by.filter(|e| (*e as usize) < graph.edges()).collect();
    let depth = |v: &u32| Some(f64::from(walk.depth[*v as usize]));
    let depth: Vec<Option<f64>> = vertices.iter().map(depth).collect();
    Ok(Set::of(set.view(), vertices, edges).with_metric("depth", &depth)?)
}

/// The way with the least sum of a metric of edges (one for each if empty) from any vertex of one set to any of another;
/// nothing where there is none. No way goes along an edge that has none of the metric.
///
/// # Errors
/// If the sets are of different graphs, edges have no such metric or kinds, or one of them has less than zero of it.
pub fn shortest_path(from: &Set, to: &Set, weight: &str, kind: &str) -> Result<Set, PassError> {
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
    );
    let path = path.unwrap_or_default();
    Ok(Set::of(from.view(), path.vertices, path.edges))
}

/// A set's vertices with `component`, the number of the strongly connected component.
///
/// # Errors
/// None of its own; what sets refuse.
pub fn components(set: &Set) -> Result<Set, PassError> {
    let within = Within::new(set);
    let of = algorithm::strongly_connected(&set.view().graph, &|e| within.edges[e as usize]);
    numbered(set, within.vertices, "component", &of)
}

/// A set's vertices with `community`, the number of the community; edges weigh as much as a metric says, or all alike.
///
/// # Errors
/// If edges have no such metric.
pub fn communities(set: &Set, weight: &str) -> Result<Set, PassError> {
    let (within, weight) = (Within::new(set), weights(set, weight)?);
    let graph = &set.view().graph;
    // Who is joined by nothing that was measured is joined by nothing.
    let weight = |e| weight(e).unwrap_or(0.0);
    let of = algorithm::communities(graph, weight, &|e| within.edges[e as usize]);
    numbered(set, within.vertices, "community", &of)
}

/// Vertices with numbers from 0 on, in the order in which they come first.
fn numbered(set: &Set, vertices: Vec<u32>, name: &str, of: &[u32]) -> Result<Set, PassError> {
    let mut known: rustc_hash::FxHashMap<u32, usize> = rustc_hash::FxHashMap::default();
    let mut number = |v: &u32| {
        let next = known.len();
        Some(*known.entry(of[*v as usize]).or_insert(next) as f64)
    };
    let numbers: Vec<Option<f64>> = vertices.iter().map(&mut number).collect();
    let out = Set::of(set.view(), vertices, set.edges().to_vec());
    Ok(out.with_metric(name, &numbers)?)
}

/// The vertices and edges of the places where a pattern is found among a set's elements, `most` at the most; conditions
/// are expressions behind the name of a vertex and a colon.
///
/// # Errors
/// If the pattern or a condition cannot be read, or names what there is not.
pub fn matching(
    set: &Set,
    pattern: &str,
    conditions: &[String],
    most: usize,
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
    let found = algorithm::subgraph_matching(&view.graph, &shape, &within.vertices, most);
    let (mut vertices, mut edges) = (Vec::new(), Vec::new());
    for place in found {
        vertices.extend(place.vertices);
        edges.extend(place.edges);
    }
    Ok(Set::new(view.clone(), vertices, edges))
}
