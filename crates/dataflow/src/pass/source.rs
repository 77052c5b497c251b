//! The passes from a recorded run to the vertices and edges of its views, and from one view to the other.

use crate::flow::{Gives, Kind, Pass, PassError};
use crate::set::Set;
use headwater_graph::view::{View, ViewKind};
use rustc_hash::FxHashMap;

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    vec![
        Pass::new(
            "computing",
            "The run with calls that concern files as work of their ranks, for questions about computation.",
            |call| Ok(vec![call.run(0)?.computing().into()]),
        )
        .takes("run", Kind::Run)
        .gives(Gives::Kind(Kind::Run)),
        Pass::new("vertices", "All vertices of the top-down view.", |call| {
            Ok(vec![Set::vertices_of(call.run(0)?.top_down()).into()])
        })
        .takes("run", Kind::Run)
        .gives(Gives::Kind(Kind::TOP_DOWN)),
        Pass::new("parallel", "All vertices of the parallel view.", |call| {
            Ok(vec![Set::vertices_of(call.run(0)?.parallel()).into()])
        })
        .takes("run", Kind::Run)
        .gives(Gives::Kind(Kind::PARALLEL)),
        Pass::new("edges", "All edges of the parallel view.", |call| {
            Ok(vec![Set::edges_of(call.run(0)?.parallel()).into()])
        })
        .takes("run", Kind::Run)
        .gives(Gives::Kind(Kind::PARALLEL)),
        Pass::new(
            "on-ranks",
            "The same places on every rank and thread: vertices of the run's parallel view.",
            |call| {
                let all = Set::vertices_of(call.run(1)?.parallel());
                Ok(vec![on_ranks(call.vertices(0)?, &all)?.into()])
            },
        )
        .takes("V", Kind::TOP_DOWN)
        .takes("run", Kind::Run)
        .gives(Gives::Kind(Kind::PARALLEL)),
        Pass::new(
            "over-ranks",
            "The same places summed up over ranks: vertices of the run's top-down view.",
            |call| {
                let all = Set::vertices_of(call.run(1)?.top_down());
                Ok(vec![over_ranks(call.vertices(0)?, &all)?.into()])
            },
        )
        .takes("V", Kind::PARALLEL)
        .takes("run", Kind::Run)
        .gives(Gives::Kind(Kind::TOP_DOWN)),
    ]
}

/// For each vertex of a set: its vertex in the top-down view, and itself.
fn places(set: &Set) -> Result<Vec<(u32, u32)>, PassError> {
    let own = set.vertices().iter().copied();
    if set.view().kind != ViewKind::Parallel {
        return Ok(own.map(|v| (v, v)).collect());
    }
    let all = set.numbers("vertex")?.into_iter().zip(own);
    Ok(all
        .filter_map(|(place, v)| Some((place? as u32, v)))
        .collect())
}

/// Checks that vertex `v` of one view and vertex `w` of another are the same place: on one graph they always are.
fn same_place(a: &View, v: u32, b: &View, w: u32) -> Result<(), PassError> {
    super::of_one_program(&a.header, &b.header, "V")?;
    let alike = |name: &str| a.vertices.cell(name, v as usize) == b.vertices.cell(name, w as usize);
    let there = (w as usize) < b.graph.vertices();
    if there && ["name", "type", "first_line"].into_iter().all(alike) {
        return Ok(());
    }
    let what = format!(
        "its places are not those of run {}: they are of two graphs; give a set of this run, or of one that was joined with it",
        b.header.name
    );
    Err(PassError::Argument("V".to_string(), what))
}

/// Vertices of `all`, of a parallel view, at the places of `set`, in its order.
///
/// # Errors
/// If the views are not of runs on one graph.
pub fn on_ranks(set: &Set, all: &Set) -> Result<Set, PassError> {
    let mut of_place: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
    for (place, v) in places(all)? {
        of_place.entry(place).or_default().push(v);
    }
    let mut vertices = Vec::new();
    for (place, v) in places(set)? {
        let there = of_place.get(&place).map_or(&[][..], Vec::as_slice);
        if let Some(first) = there.first() {
            same_place(set.view(), v, all.view(), *first)?;
        }
        vertices.extend(there);
    }
    Ok(Set::new(all.view().clone(), vertices, Vec::new()))
}

/// Vertices of `all`, of a top-down view, at the places of the vertices of `set`, in its order.
///
/// # Errors
/// If the views are not of runs on one graph.
pub fn over_ranks(set: &Set, all: &Set) -> Result<Set, PassError> {
    let own = places(set)?;
    for &(place, v) in &own {
        same_place(set.view(), v, all.view(), place)?;
    }
    let vertices = own.into_iter().map(|(place, _)| place).collect();
    Ok(Set::new(all.view().clone(), vertices, Vec::new()))
}
