//! Tables of waiting for resources: who waits for whom, and what is waited for without a known holder.

use crate::flow::{Gives, Kind, Pass, PassError};
use crate::pass::table::location;
use crate::set::Set;
use headwater_graph::view::{Cell, EdgeKind};
use headwater_model::report::{Item, Section, Unit};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    vec![
        Pass::new(
            "contended",
            "Edges that are waited on, by the places that wait and hold: how many ranks and threads, how long.",
            |call| Ok(vec![contended(call.edges(0)?).into()]),
        )
        .takes("E", Kind::PARALLEL)
        .gives(Gives::Kind(Kind::Section)),
        Pass::new(
            "unheld",
            "What the set's vertices wait for without anybody knowing who holds it, by place.",
            |call| Ok(vec![unheld(call.vertices(0)?)?.into()]),
        )
        .takes("V", Kind::PARALLEL)
        .gives(Gives::Kind(Kind::Section)),
    ]
}

/// A table of a set's edges by kind and the places at both ends, the most waiting first.
fn contended(set: &Set) -> Section {
    let columns = [
        ("kind", "kind", Unit::None),
        ("call", "waits in", Unit::None),
        ("location", "where", Unit::None),
        ("holder", "held by", Unit::None),
        ("holder_location", "where", Unit::None),
        ("wait_seconds", "waiting", Unit::Seconds),
        ("count", "waits", Unit::Count),
        ("pairs", "pairs", Unit::Count),
    ];
    let mut section = Section::new("contention", "Who waits for whom at one resource", &columns);
    section.note = Some(
        "Pairs are different pairs of ranks or threads that meet there, whichever of the two waits; seconds are of all of them together."
            .into(),
    );
    let view = set.view();
    let figure = |name: &str, e: u32| {
        let column = view.edges.get(name);
        column.and_then(|c| c.number(e as usize)).unwrap_or(0.0)
    };
    let place = |v: u32| match set.cell("site", v) {
        Cell::Number(site) => site as u64,
        _ => u64::from(v),
    };
    let word = |name: &str, v: u32| match set.cell(name, v) {
        Cell::Text(text) => Item::from(text),
        _ => Item::Missing,
    };
    let at = |v: u32| location(set, v).map_or(Item::Missing, Item::from);
    let kinds = view.edges.get("kind");
    // Ranks and threads, or the vertices of a view that does not say where they are.
    let on = |v: u32| match (set.cell("rank", v), set.cell("thread", v)) {
        (Cell::Number(rank), Cell::Number(thread)) => (rank as u64, thread as u64),
        (Cell::Number(rank), _) => (rank as u64, 0),
        _ => (u64::from(v), u64::MAX),
    };
    // Seconds, waits, pairs and one edge.
    type Pair = [(u64, u64); 2];
    type Sum = (f64, f64, FxHashSet<Pair>, u32);
    let mut sums: BTreeMap<(&str, u64, u64), Sum> = BTreeMap::new();
    for &e in set.edges() {
        let (src, dst) = (
            view.graph.sources()[e as usize],
            view.graph.targets()[e as usize],
        );
        let kind = kinds.and_then(|k| k.text(e as usize)).unwrap_or("");
        let sum = sums
            .entry((kind, place(dst), place(src)))
            .or_insert_with(|| (0.0, 0.0, FxHashSet::default(), e));
        sum.0 += figure("wait", e);
        sum.1 += figure("count", e);
        let mut pair = [on(src), on(dst)];
        pair.sort_unstable();
        sum.2.insert(pair);
    }
    let mut rows: Vec<_> = sums.into_iter().collect();
    rows.sort_by(|a, b| b.1.0.total_cmp(&a.1.0));
    for ((kind, _, _), (seconds, count, pairs, e)) in rows {
        let (src, dst) = (
            view.graph.sources()[e as usize],
            view.graph.targets()[e as usize],
        );
        section.rows.push(vec![
            kind.into(),
            word("name", dst),
            at(dst),
            word("name", src),
            at(src),
            seconds.into(),
            count.into(),
            (pairs.len() as f64).into(),
        ]);
    }
    section
}

/// Waiting of a set's vertices without a known holder, by kind and place, the most first. Collectives and barriers are
/// left out: they have no holder.
fn unheld(set: &Set) -> Result<Section, PassError> {
    let columns = [
        ("kind", "kind", Unit::None),
        ("call", "waits in", Unit::None),
        ("location", "where", Unit::None),
        ("wait_seconds", "waiting", Unit::Seconds),
        ("count", "waits", Unit::Count),
        ("threads", "threads", Unit::Count),
    ];
    let title = "Waiting for a holder that is not known";
    let mut section = Section::new("unheld", title, &columns);
    section.note = Some("Seconds of all ranks and threads together.".into());
    let Some(table) = set.view().table("unheld") else {
        let what = "it is not of a run's parallel view, which alone knows of such waits";
        return Err(PassError::Argument("V".to_string(), what.to_string()));
    };
    let figure = |name: &str, row| table.get(name).and_then(|c| c.number(row)).unwrap_or(0.0);
    let place = |v: u32| match set.cell("site", v) {
        Cell::Number(site) => site as u64,
        _ => u64::from(v),
    };
    let mut in_set = vec![false; set.view().graph.vertices()];
    set.vertices()
        .iter()
        .for_each(|v| in_set[*v as usize] = true);
    // Seconds, waits, vertices.
    let mut sums: BTreeMap<(&str, u64), (f64, f64, Vec<u32>)> = BTreeMap::new();
    for row in 0..table.len() {
        let at = figure("vertex", row) as u32;
        let kind = table.get("kind").and_then(|k| k.text(row)).unwrap_or("");
        let nobodys = [EdgeKind::Collective, EdgeKind::Barrier].map(EdgeKind::words);
        if nobodys.contains(&kind) || in_set.get(at as usize) != Some(&true) {
            continue;
        }
        let sum = sums.entry((kind, place(at))).or_default();
        sum.0 += figure("wait", row);
        sum.1 += figure("count", row);
        sum.2.push(at);
    }
    let mut rows: Vec<_> = sums.into_iter().collect();
    rows.sort_by(|a, b| b.1.0.total_cmp(&a.1.0));
    for ((kind, _), (seconds, count, mut at)) in rows {
        at.sort_unstable();
        at.dedup();
        let Some(&first) = at.first() else { continue };
        let name = match set.cell("name", first) {
            Cell::Text(name) => Item::from(name),
            _ => Item::Missing,
        };
        let location = location(set, first);
        section.rows.push(vec![
            kind.into(),
            name,
            location.map_or(Item::Missing, Item::from),
            seconds.into(),
            count.into(),
            (at.len() as f64).into(),
        ]);
    }
    Ok(section)
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_graph::view::{Column, Table, View};
    use std::sync::Arc;

    #[test]
    fn pairs_are_of_ranks_and_threads_and_not_of_ways_to_a_place() {
        // Two threads of one rank meet at one place, which each reaches on two call paths, and wait in turn.
        let edges = Table::new(4)
            .with("kind", Column::texts([Some("mutex"); 4]))
            .with("wait", Column::known(vec![1.0; 4]));
        let vertices = Table::new(4)
            .with("site", Column::known(vec![7.0; 4]))
            .with("rank", Column::known(vec![0.0; 4]))
            .with("thread", Column::known(vec![1.0, 1.0, 2.0, 2.0]));
        let (src, dst) = (vec![0, 1, 2, 3], vec![2, 3, 0, 1]);
        let view = View::made(vertices, src, dst, edges).expect("a graph");
        let section = contended(&Set::edges_of(&Arc::new(view)));
        let pairs = section.column("pairs").expect("a column");
        assert_eq!(pairs, [&Item::Number(1.0)]);
    }
}
