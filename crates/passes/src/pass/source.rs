//! From a recorded run to the vertices and edges of its views, and from one view to the other.

use crate::flow::{Gives, Kind, Pass, PassError};
use crate::set::Set;
use headwater_graph::view::ViewKind;
use rustc_hash::FxHashMap;

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    vec![
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
                Ok(vec![on_ranks(call.set(0)?, &all)?.into()])
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
                Ok(vec![over_ranks(call.set(0)?, &all)?.into()])
            },
        )
        .takes("V", Kind::PARALLEL)
        .takes("run", Kind::Run)
        .gives(Gives::Kind(Kind::TOP_DOWN)),
    ]
}

/// Which vertex of the top-down view the vertices of a set stand for.
fn places(set: &Set) -> Result<Vec<u32>, PassError> {
    if set.view().kind != ViewKind::Parallel {
        return Ok(set.vertices().to_vec());
    }
    let all = set.numbers("vertex")?;
    Ok(all.into_iter().flatten().map(|v| v as u32).collect())
}

/// Vertices of `all`, of a parallel view, that stand for the places of `set`, in its order. The views must be
/// of runs on one graph.
pub fn on_ranks(set: &Set, all: &Set) -> Result<Set, PassError> {
    let mut of_place: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
    for (place, v) in places(all)?.into_iter().zip(all.vertices()) {
        of_place.entry(place).or_default().push(*v);
    }
    let own = places(set)?;
    let found = own.iter().filter_map(|v| of_place.get(v));
    let vertices = found.flatten().copied().collect();
    Ok(Set::new(all.view().clone(), vertices, Vec::new()))
}

/// Vertices of `all`, of a top-down view, that the vertices of `set` stand for, in its order.
pub fn over_ranks(set: &Set, all: &Set) -> Result<Set, PassError> {
    Ok(Set::new(all.view().clone(), places(set)?, Vec::new()))
}
