//! Graph algorithms on the ends of edges alone (PerFlow, section 4.3.1).
//!
//! All take an [`Adjacency`] and a test of which edges count, and none recurses, so that graphs of millions of
//! vertices are no trouble. Ties go to the smaller vertex or edge. The attributes are the callers' business:
//! they hand in weights as functions. What can take long is given whom to ask whether to end; then it ends where it is, and
//! what it gives is of no use.

mod ancestor;
mod ask;
mod communities;
mod components;
mod matching;
mod paths;
mod walk;

pub use ancestor::{Meetings, Shared, lowest_common_ancestor, meetings};
pub(crate) use ask::Ask;
pub use ask::{Interrupted, NEVER};
pub use communities::communities;
pub use components::{strongly_connected, topological_order};
pub use matching::{Found, Pattern, PatternEdge, subgraph_matching};
pub use paths::{Path, longest_path, shortest_path, shortest_path_between};
pub use walk::{Walk, breadth_first, depth_first};

use crate::set::Direction;
use headwater_graph::view::Adjacency;

/// Which edges count.
pub type Counts<'a> = &'a (dyn Fn(u32) -> bool + Sync);

/// No vertex, or no edge.
pub(crate) const NONE: u32 = u32::MAX;

/// Edges of a vertex in a direction, with the vertex at their other end; edges that leave come first.
pub(crate) fn steps(
    graph: &Adjacency,
    vertex: u32,
    direction: Direction,
) -> impl Iterator<Item = (u32, u32)> + '_ {
    let out = match direction {
        Direction::In => &[][..],
        _ => graph.out_edges(vertex),
    };
    let into = match direction {
        Direction::Out => &[][..],
        _ => graph.in_edges(vertex),
    };
    let (src, dst) = (graph.sources(), graph.targets());
    let out = out.iter().map(|e| (*e, dst[*e as usize]));
    out.chain(into.iter().map(|e| (*e, src[*e as usize])))
}
