//! Components and communities of a graph as passes, on the vertices and edges of a set (PerFlow, section 4.3.1), and
//! what all passes on graphs share.
//!
//! The edges are those of the set; if it has none, all edges between its vertices.

use crate::algorithm::{self, Interrupted};
use crate::flow::{Call, Gives, Kind, Pass, PassError, Value};
use crate::set::Set;
use headwater_graph::view::{Column, EdgeKind, EdgeType, View};

/// The meaning of the parameter `kind`, which several passes have.
pub(super) const KIND: &str = "type or kind that edges must have, as inter-process; all if empty";

/// A pass that returns a set of the view of its first argument.
pub(super) fn set_pass(
    name: &'static str,
    about: &'static str,
    f: fn(&Call<'_>) -> Result<Set, PassError>,
) -> Pass {
    Pass::new(name, about, move |call| Ok(vec![Value::Set(f(call)?)])).gives(Gives::AsArgument(0))
}

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    vec![
        set_pass(
            "components",
            "Vertices with component: those with one number lead to each other in a circle.",
            |call| components(call.set(0)?, call.interrupted),
        )
        .takes("V", Kind::SET),
        set_pass(
            "communities",
            "Vertices with community: those with one number are more joined with each other than with the rest (Louvain).",
            |call| communities(call.set(0)?, call.text("weight"), call.interrupted),
        )
        .takes("V", Kind::SET)
        .with("weight", "", "metric of edges, as bytes; an edge that has none of it joins nothing. If empty each counts as one"),
    ]
}

/// Ends a pass that was interrupted, because its incomplete result is useless.
pub fn whole<T>(found: T, interrupted: Interrupted<'_>) -> Result<T, PassError> {
    if interrupted() {
        return Err(PassError::Interrupted);
    }
    Ok(found)
}

/// Checks that edges of a view can have a kind; `argument` is the argument that named it.
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
    // A kind that no run can have is a typing error; a known kind that this run does not have is just nowhere.
    if there.contains(&kind) || EdgeType::WORDS.contains(&kind) || EdgeKind::WORDS.contains(&kind) {
        return Ok(());
    }
    wrong(format!(
        "edges have no kind {kind}; there are {}",
        there.join(", ")
    ))
}

/// By edge of the view: whether it has the kind; an empty `kind` means any. `argument` is the argument that named it.
pub(super) fn of_kind(set: &Set, kind: &str, argument: &str) -> Result<Vec<bool>, PassError> {
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

/// The vertices and edges of a view that belong to a set.
pub(super) struct Within {
    pub(super) vertices: Vec<u32>,
    pub(super) edges: Vec<bool>,
}

impl Within {
    pub(super) fn new(set: &Set) -> Self {
        let graph = &set.view().graph;
        let mut edges = vec![false; graph.edges()];
        let mut in_set = vec![false; graph.vertices()];
        let ends = || graph.sources().iter().zip(graph.targets());
        set.vertices()
            .iter()
            .for_each(|v| in_set[*v as usize] = true);
        if set.edges().is_empty() {
            for (slot, (a, b)) in edges.iter_mut().zip(ends()) {
                *slot = in_set[*a as usize] && in_set[*b as usize];
            }
        }
        for &e in set.edges() {
            let ends = [graph.sources(), graph.targets()].map(|all| all[e as usize] as usize);
            // If the set has only edges, the vertices are those that they join.
            if set.vertices().is_empty() {
                ends.iter().for_each(|v| in_set[*v] = true);
            }
            edges[e as usize] = ends.iter().all(|v| in_set[*v]);
        }
        let vertices = match set.vertices() {
            [] => (0..in_set.len() as u32)
                .filter(|v| in_set[*v as usize])
                .collect(),
            own => own.to_vec(),
        };
        Self { vertices, edges }
    }
}

/// Weights of edges by a metric; 1 for each if no metric is named. An edge may have none.
pub(super) fn weights(set: &Set, metric: &str) -> Result<impl Fn(u32) -> Option<f64>, PassError> {
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

/// A set's vertices with `component`, the number of their strongly connected component.
///
/// # Errors
/// If it is interrupted.
pub fn components(set: &Set, interrupted: Interrupted<'_>) -> Result<Set, PassError> {
    let within = Within::new(set);
    let counts = |e: u32| within.edges[e as usize];
    let of = algorithm::strongly_connected(&set.view().graph, &counts, interrupted);
    let of = whole(of, interrupted)?;
    numbered(set, within.vertices, "component", &of)
}

/// A set's vertices with `community`, the number of their community; edges have the weight of a metric, or all the
/// same.
///
/// # Errors
/// If edges have no such metric, or it is interrupted.
pub fn communities(
    set: &Set,
    weight: &str,
    interrupted: Interrupted<'_>,
) -> Result<Set, PassError> {
    let (within, weight) = (Within::new(set), weights(set, weight)?);
    let graph = &set.view().graph;
    // An edge without a measured weight joins nothing.
    let weight = |e| weight(e).unwrap_or(0.0);
    let counts = |e: u32| within.edges[e as usize];
    let of = algorithm::communities(graph, weight, &counts, interrupted);
    let of = whole(of, interrupted)?;
    numbered(set, within.vertices, "community", &of)
}

/// Vertices with numbers from 0 on, in the order in which the numbers first occur.
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
