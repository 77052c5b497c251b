//! Calls of one barrier.
//!
//! Compilers make several calls of one barrier, such as in each branch of a condition before it, and the threads of a team
//! then come to different ones. Such calls are on one line of one function, on one call path. Two barriers of one macro are,
//! too, but threads go from the first to the second. Where threads go from one call to another, these are not taken as one.
//!
//! The call paths of a team's threads begin at the call that made them. The thread that made them may come to their barriers,
//! too, and its call path does not begin there.

use crate::pag::RunView;
use crate::structures::Structures;
use crate::topdown::{TopDown, VertexIx};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// By vertex of a barrier's call: the first call of the same barrier, where that is another one. Of all runs together, so
/// that they have the same.
pub(crate) fn first_calls(
    runs: &[RunView],
    top: &TopDown,
    structures: &Structures,
) -> FxHashMap<VertexIx, VertexIx> {
    let rows = || runs.iter().flat_map(|run| &run.parallel.teams);
    let ends = rows().flat_map(|t| [t.from, t.to].into_iter().filter(|v| *v != t.team));
    let mut all: Vec<VertexIx> = ends.collect();
    all.sort_unstable();
    all.dedup();
    let mut known: FxHashMap<_, VertexIx> = FxHashMap::default();
    let mut first: FxHashMap<VertexIx, VertexIx> = FxHashMap::default();
    for v in all {
        let place = top.place(structures, v);
        if place.first_line == 0 {
            continue;
        }
        let mut around = top.ancestors(v).skip(1);
        let called = around.find(|a| !top.get(*a).kind.is_control());
        let key = (
            called,
            top.get(v).module,
            place.file,
            place.first_line,
            place.name,
        );
        let of = *known.entry(key).or_insert(v);
        if of != v {
            first.insert(v, of);
        }
    }
    let of = |v: VertexIx| first.get(&v).copied().unwrap_or(v);
    let several = rows().filter(|t| t.from != t.to && of(t.from) == of(t.to));
    let several: FxHashSet<VertexIx> = several.map(|t| of(t.to)).collect();
    first.retain(|_, of| !several.contains(of));
    first
}

/// By team and by the vertex of a barrier's call that is not inside the team's call: the call inside it of the same barrier.
/// That is the same place in the source, or, where the compiler made copies, one on the same line. Of several it is the one
/// whose call path ends alike for longest.
pub(crate) fn from_outside(
    runs: &[RunView],
    top: &TopDown,
    structures: &Structures,
    first: &FxHashMap<VertexIx, VertexIx>,
) -> FxHashMap<(VertexIx, VertexIx), VertexIx> {
    let mut ends: BTreeMap<VertexIx, [BTreeSet<VertexIx>; 2]> = BTreeMap::new();
    for t in runs.iter().flat_map(|run| &run.parallel.teams) {
        for v in [t.from, t.to].into_iter().filter(|v| *v != t.team) {
            let v = first.get(&v).copied().unwrap_or(v);
            let [inside, outside] = ends.entry(t.team).or_default();
            let is_inside = top.contains(t.team, v);
            if is_inside { inside } else { outside }.insert(v);
        }
    }
    let line = |v: VertexIx| {
        let place = top.place(structures, v);
        (place.first_line > 0).then_some((place.file, place.first_line, place.name))
    };
    let on_one_line = |a: VertexIx, b: VertexIx| {
        let of = line(a);
        of.is_some() && of == line(b)
    };
    let alike = |a: VertexIx, b: VertexIx| {
        let pairs = top.ancestors(a).zip(top.ancestors(b));
        let is_alike =
            |(a, b): &(VertexIx, VertexIx)| top.is_same_place(*a, *b) || on_one_line(*a, *b);
        pairs.take_while(is_alike).count()
    };
    let mut out = FxHashMap::default();
    for (team, [inside, outside]) in ends {
        for v in outside {
            let rank = |i: &VertexIx| (top.is_same_place(v, *i), alike(v, *i), Reverse(*i));
            if let Some((_, 1.., Reverse(same))) = inside.iter().map(rank).max() {
                out.insert((team, v), same);
            }
        }
    }
    out
}
