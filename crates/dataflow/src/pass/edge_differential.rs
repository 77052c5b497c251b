//! The differential of edges: what changed between two runs on the way from one place to another (PerFlow, section
//! 4.3.1, graph difference): waiting, messages and bytes between ranks, or how often a flow takes an edge.
//!
//! Edges are the same if they join the same places, see [`differential`](fn@super::differential), on the same ranks and
//! threads, and have the same type and kind; equal edges are matched in their order.

use crate::flow::{Gives, Kind, Pass, PassError};
use crate::pass::differential::{PLACES, ways};
use crate::set::Set;
use headwater_graph::view::{Cell, Column, View};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    vec![
        Pass::new(
            "edge-differential",
            "Every metric of the second set's edges less that of the same edges in the first; largest growth of waiting first.",
            |call| Ok(vec![edge_differential(call.edges(0)?, call.edges(1)?)?.into()]),
        )
        .takes_some("E1", Kind::SET)
        .takes_some("E2", Kind::SET)
        .gives(Gives::AsArgument(1)),
    ]
}

/// Attributes that say where an edge is.
const ENDS: [&str; 3] = ["from", "to", "back"];

/// By edge of a view: a hash that identifies it, from both ends, its words, and the number of equal ones before.
fn edges(view: &View) -> Vec<u64> {
    let ways = ways(view);
    let columns = ["type", "kind", "collective"].map(|name| view.edges.get(name));
    let mut alike: FxHashMap<u64, u32> = FxHashMap::default();
    let of = |e: usize| {
        let mut hasher = FxHasher::default();
        for all in [view.graph.sources(), view.graph.targets()] {
            hasher.write_u64(ways[all[e] as usize]);
        }
        for word in columns.iter().map(|c| c.and_then(|c| c.text(e))) {
            word.hash(&mut hasher);
        }
        let before = alike.entry(hasher.finish()).or_default();
        hasher.write_u32(*before);
        *before += 1;
        hasher.finish()
    };
    (0..view.graph.edges()).map(of).collect()
}

/// Edges of `second` with the change since `first`, those whose waiting grew most first: the change replaces each
/// metric, and `before_*` and `after_*` have the figures of the two runs. An edge that the first run does not have
/// counts as zero there. If only one of the runs recorded a metric, for an edge or for all edges, or if the caller left
/// the edge out of the first set, there is no change.
///
/// # Errors
/// If the sets are of views of different kinds, or of different programs.
pub fn edge_differential(first: &Set, second: &Set) -> Result<Set, PassError> {
    let (a, b) = (first.view(), second.view());
    let wrong = |what: String| Err(PassError::Argument("E2".to_string(), what));
    if a.kind != b.kind {
        let (of_a, of_b) = (a.kind.words(), b.kind.words());
        return wrong(format!("it is of a {of_b}, and E1 of a {of_a}"));
    }
    super::of_one_program(&a.header, &b.header, "E2")?;
    let of_a: FxHashMap<u64, usize> = edges(a).into_iter().zip(0..).collect();
    let same: Vec<Option<usize>> = edges(b).iter().map(|e| of_a.get(e).copied()).collect();
    let mut held = vec![false; a.graph.edges()];
    first.edges().iter().for_each(|e| held[*e as usize] = true);
    let metrics = b.edges.columns().filter(|(name, column)| {
        let place = PLACES.contains(name) || ENDS.contains(name);
        matches!(column, Column::Number(_)) && !place
    });
    let mut view = View::clone(b);
    for (name, after) in metrics {
        let before = a.edges.get(name);
        let old = |e: usize| before?.number(same[e].filter(|o| held[*o])?);
        let change = |e: usize| {
            let new = after.number(e)?;
            match same[e] {
                Some(_) => Some(new - old(e)?),
                None => before.map(|_| new),
            }
        };
        let all = 0..same.len();
        view.edges
            .set(name, Column::numbers(all.clone().map(change)));
        let before = Column::numbers(all.map(old));
        view.edges.set(&format!("before_{name}"), before);
        view.edges.set(&format!("after_{name}"), after.clone());
    }
    let mut edges = second.edges().to_vec();
    let grown = |e: &u32| match view.edges.cell("wait", *e as usize) {
        Cell::Number(x) => x,
        _ => f64::NEG_INFINITY,
    };
    edges.sort_by(|a, b| grown(b).total_cmp(&grown(a)));
    Ok(Set::of(&Arc::new(view), Vec::new(), edges).only_edges())
}
