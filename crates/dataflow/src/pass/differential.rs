//! Performance differential analysis (PerFlow, section 4.3.2 B): what changed between two runs.
//!
//! Places of two runs are the same if their call paths are: function by function, with the vertices within each
//! function compared by kind, name and the number of equal ones before. So two runs that share a graph are compared
//! vertex by vertex, and two builds of one program as far as they are alike: a place that moved by some lines is still
//! the same.
//!
//! The result is the second run's view in which each metric is replaced by the difference (second − first); `before_*`
//! and `after_*` have the figures of the two runs. If only one of the runs recorded a metric, its change is unknown,
//! and so is the change of a place that the caller left out of the first set: then there is no difference.

use crate::flow::{Gives, Kind, Pass, PassError};
use crate::set::Set;
use headwater_graph::view::{Cell, Column, View, ViewKind};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHasher};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    vec![
        Pass::new(
            "differential",
            "Every metric of the second set's vertices less that of the same places in the first; largest growth of time first.",
            |call| {
                let scale = match call.text("per") {
                    "all" => Scale::All,
                    "rank" => Scale::Rank,
                    "ideal" => Scale::Ideal,
                    other => {
                        let what = format!("there is no {other}; there are all, rank, ideal");
                        return Err(PassError::Argument("per".to_string(), what));
                    }
                };
                Ok(vec![differential(call.vertices(0)?, call.vertices(1)?, scale)?.into()])
            },
        )
        .takes_some("V1", Kind::TOP_DOWN)
        .takes_some("V2", Kind::TOP_DOWN)
        .with(
            "per",
            "all",
            "figures that are compared: of all ranks together, the mean over ranks (rank), or against what perfect strong scaling of the first run would give (ideal)",
        )
        .gives(Gives::AsArgument(1)),
    ]
}

/// Which figures of two runs with different numbers of ranks are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// All ranks together. Perfect strong scaling makes no difference.
    All,
    /// The mean over ranks. Perfect weak scaling makes no difference.
    Rank,
    /// The mean over ranks minus the mean that the first run would have with perfect strong scaling.
    Ideal,
}

/// Attributes that say where a vertex is and are not metrics.
pub const PLACES: [&str; 9] = [
    "first_line",
    "last_line",
    "line",
    "parent",
    "depth",
    "site",
    "vertex",
    "rank",
    "thread",
];

/// By vertex: a hash of its word in a column, without directories if it is a file; each different word is hashed once.
fn word_hashes(view: &View, name: &str) -> Vec<u64> {
    let Some(Column::Text(words)) = view.vertices.get(name) else {
        return Vec::new();
    };
    let of = |word: &str| {
        let base = word.rsplit('/').next().filter(|_| name == "file");
        let mut hasher = DefaultHasher::new();
        base.unwrap_or(word).hash(&mut hasher);
        hasher.finish()
    };
    let known: Vec<u64> = words.dictionary().map(of).collect();
    let hash = |v| words.code(v).and_then(|c| known.get(c)).copied();
    (0..words.len()).map(|v| hash(v).unwrap_or(0)).collect()
}

/// A hash of the path to each vertex: in a top-down view with the vertices around it, as parents come before their
/// children; in other views with the rank and thread that it is on.
pub(super) fn ways(view: &View) -> Vec<u64> {
    let n = view.graph.vertices();
    let column = |name| view.vertices.get(name);
    let parents = column("parent").filter(|_| view.kind == ViewKind::TopDown);
    let on = ["rank", "thread"]
        .map(column)
        .map(|c| c.filter(|_| parents.is_none()));
    let words = ["type", "name", "function", "file"].map(|name| word_hashes(view, name));
    let mut ways = vec![0u64; n];
    // Equal vertices under one parent are distinguished by their order.
    let mut alike: FxHashMap<u64, u32> = FxHashMap::default();
    alike.reserve(n);
    for v in 0..n {
        let parent = parents.and_then(|p| p.number(v)).map(|p| p as usize);
        let mut hasher = FxHasher::default();
        hasher.write_u64(parent.filter(|p| *p < v).map_or(0, |p| ways[p]));
        for word in &words {
            hasher.write_u64(word.get(v).copied().unwrap_or(0));
        }
        for on in on.iter().flatten() {
            hasher.write_u64(on.number(v).map_or(0, f64::to_bits));
        }
        let before = alike.entry(hasher.finish()).or_default();
        hasher.write_u32(*before);
        *before += 1;
        ways[v] = hasher.finish();
    }
    ways
}

/// By vertex of `b`: the vertex of `a` that is the same place.
pub fn same_places(a: &View, b: &View) -> Vec<Option<u32>> {
    let alike = ["name", "type", "file", "first_line", "parent"]
        .iter()
        .all(|c| a.vertices.get(c) == b.vertices.get(c));
    if alike && a.graph.vertices() == b.graph.vertices() {
        return (0..b.graph.vertices() as u32).map(Some).collect();
    }
    let (of_a, of_b) = rayon::join(|| ways(a), || ways(b));
    let of_a: FxHashMap<u64, u32> = of_a.into_iter().zip(0..).collect();
    of_b.iter().map(|way| of_a.get(way).copied()).collect()
}

/// Whether a metric of a run is a sum over its ranks: it is zero for a place where nothing was done, and divided by the
/// number of ranks it is a rank's mean. Other metrics, such as the longest call and ratios, are compared unchanged.
fn is_sum(view: &View, name: &str) -> bool {
    name == "total" || name != "longest" && view.rows.contains_key(name)
}

/// Vertices of `second` with the change since `first`, those whose time grew most first. For sums over ranks, a place
/// that one of the runs does not have counts as zero there; other figures have a change only where both runs have them.
/// A metric that only the second run has, and a place of the first run that is not in its set, have no change.
///
/// # Errors
/// If the sets are not of top-down views of runs of one program.
pub fn differential(first: &Set, second: &Set, scale: Scale) -> Result<Set, PassError> {
    for (name, set) in [("V1", first), ("V2", second)] {
        if set.view().kind != ViewKind::TopDown {
            let what = "it is not of a run's top-down view, where alone places can be compared";
            return Err(PassError::Argument(name.to_string(), what.to_string()));
        }
    }
    let (a, b) = (first.view(), second.view());
    super::of_one_program(&a.header, &b.header, "V2")?;
    let same = same_places(a, b);
    let ranks = [a, b].map(|v| f64::from(v.header.ranks.max(1)));
    // The divisors of the figures of each run, which make them comparable.
    let by = match scale {
        Scale::All => [1.0, 1.0],
        Scale::Rank => ranks,
        Scale::Ideal => [ranks[1], ranks[1]],
    };
    let mut in_set = vec![false; a.graph.vertices()];
    first
        .vertices()
        .iter()
        .for_each(|v| in_set[*v as usize] = true);
    let metrics: Vec<&str> = b
        .vertices
        .columns()
        .filter(|(n, c)| matches!(c, Column::Number(_)) && !PLACES.contains(n))
        .map(|(n, _)| n)
        .collect();
    let made: Vec<[Column; 3]> = metrics
        .par_iter()
        .map(|name| {
            let (old_column, new_column) = (a.vertices.get(name), b.vertices.get(name));
            let is_sum = is_sum(a, name) && is_sum(b, name);
            let by = if is_sum { by } else { [1.0, 1.0] };
            let old = |v: usize| {
                let there = same[v].filter(|o| in_set[*o as usize]);
                there
                    .and_then(|o| old_column?.number(o as usize))
                    .map(|x| x / by[0])
            };
            let new = |v: usize| new_column.and_then(|c| c.number(v)).map(|x| x / by[1]);
            let left_out = |v: usize| same[v].is_some_and(|o| !in_set[o as usize]);
            let change = |v: usize| match (old(v), new(v)) {
                (Some(old), Some(new)) => Some(new - old),
                (None, None) => None,
                _ if !is_sum || left_out(v) => None,
                (old, new) => Some(new.unwrap_or(0.0) - old.unwrap_or(0.0)),
            };
            let n = same.len();
            [
                Column::numbers((0..n).map(change)),
                Column::numbers((0..n).map(old)),
                // A column that is not divided is shared.
                match new_column.filter(|_| by[1] == 1.0) {
                    Some(column) => column.clone(),
                    None => Column::numbers((0..n).map(new)),
                },
            ]
        })
        .collect();
    let mut view = View::clone(b);
    // Rows over ranks are those of the second run, like its figures; a change has none.
    view.rows = std::mem::take(&mut view.rows)
        .into_iter()
        .map(|(name, rows)| (format!("after_{name}"), rows))
        .collect();
    for (name, [change, old, new]) in metrics.iter().zip(made) {
        let has = b.vertices.get(name).map_or(a, |_| b);
        let unit = has.vertices.unit(name);
        view.vertices.set_in(name, change, unit);
        view.vertices.set_in(&format!("before_{name}"), old, unit);
        view.vertices.set_in(&format!("after_{name}"), new, unit);
    }
    let view = Arc::new(view);
    let out = Set::of(&view, second.vertices().to_vec(), Vec::new());
    match view.vertices.cell("time", 0) {
        Cell::Missing if view.vertices.get("time").is_none() => Ok(out),
        _ => Ok(out.sort_by("time")?),
    }
}
