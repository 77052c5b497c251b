//! Causal analysis (PerFlow, section 4.3.2 C): which vertices with problems are behind those of others.
//!
//! PerFlow computes the lowest common ancestor of every pair, and selects those that have problems themselves. A vertex
//! is its own ancestor, so these are the vertices of the set that lead to another vertex of it; they are found for all
//! pairs together. Only edges along which a delay can pass count: program order within a flow, but not back in a loop;
//! and edges between ranks or threads along which one waited.

use crate::algorithm::{Interrupted, meetings};
use crate::flow::{Gives, Kind, Pass, PassError};
use crate::pass::graph::whole;
use crate::set::{Direction, Set};
use headwater_graph::view::{Column, EdgeType, View};
use rayon::prelude::*;

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    vec![
        Pass::new(
            "causal",
            "Vertices of the set that are behind others of it, with the edges that lead there; those that nothing leads to or from stay.",
            |call| {
                let (set, least) = (call.vertices(0)?, call.number("least"));
                Ok(vec![causal(set, least, call.interrupted)?.into()])
            },
        )
        .takes("V", Kind::PARALLEL)
        .with("least", 1e-4, "waiting that lets a delay pass, as a share of the run time")
        .figure_from(0.0)
        .gives(Gives::AsArgument(0)),
    ]
}

/// By edge: whether a delay can pass along it.
pub(crate) fn carries(view: &View, least: f64) -> Result<Vec<bool>, PassError> {
    let missing = || {
        let what = "its edges do not say what they are; give vertices of a run's parallel view";
        PassError::Argument("V".to_string(), what.to_string())
    };
    let types = view.edges.get("type").ok_or_else(missing)?;
    let wait = view.edges.get("wait").ok_or_else(missing)?;
    let back = view.edges.get("back");
    let between = between(types);
    let least = least * view.header.wall_seconds;
    let of = |e: usize| match between(e) {
        // A team begins for all of its threads, whether or not any of them waits.
        Some(true) => wait.number(e).is_none_or(|w| w > least),
        Some(false) => back.and_then(|b| b.number(e)) != Some(1.0),
        None => false,
    };
    let all = (0..view.graph.edges()).into_par_iter();
    Ok(all.map(of).collect())
}

/// Whether an edge of this `type` column is between ranks or threads; `None` where its type is not known.
pub(crate) fn between(types: &Column) -> impl Fn(usize) -> Option<bool> + Sync + '_ {
    let words = [EdgeType::InterProcess, EdgeType::InterThread].map(EdgeType::words);
    // Each different word is compared once, not each edge's.
    let (column, known): (_, Vec<bool>) = match types {
        Column::Text(t) => (
            Some(t),
            t.dictionary().map(|w| words.contains(&w)).collect(),
        ),
        Column::Number(_) => (None, Vec::new()),
    };
    move |e| known.get(column?.code(e)?).copied()
}

/// The vertices of `set` that lead to others of it along edges that pass delays on, in its order, with the edges of one
/// path from each. Where several lead to each other in a cycle, all of them stay. Vertices that lead nowhere and that
/// none leads to stay too, because nothing else is behind them.
///
/// # Errors
/// If the edges of its view do not say what they are, or it is interrupted.
pub fn causal(set: &Set, least: f64, interrupted: Interrupted<'_>) -> Result<Set, PassError> {
    let view = set.view();
    let carries = carries(view, least)?;
    let counts = |e: u32| carries[e as usize];
    let search = |direction| meetings(&view.graph, set.vertices(), direction, &counts, interrupted);
    let (found, behind) = rayon::join(|| search(Direction::Out), || search(Direction::In));
    whole((), interrupted)?;
    let edges = found.ways(&view.graph, set.vertices());
    let stays = |v: &u32| found.other(*v).is_some() || behind.other(*v).is_none();
    let vertices = set.vertices().iter().copied().filter(stays).collect();
    Ok(Set::of(view, vertices, edges))
}
