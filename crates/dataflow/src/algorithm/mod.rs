//! Graph algorithms that use only the ends of edges (PerFlow, section 4.3.1).
//!
//! Each takes an [`Adjacency`] and a test of which edges count. None recurses over the graph, so graphs of millions of
//! vertices cannot overflow the stack; subgraph matching recurses as deep as its pattern has edges. Ties go to the
//! smaller vertex or edge. The algorithms do not know attributes: callers pass weights as functions. An algorithm that
//! can take long gets a function to ask whether it should end. If so, it ends at once, and its result is useless.

mod ancestor;
mod ask;
mod backward;
mod clusters;
mod communities;
mod components;
mod matching;
mod paths;
mod walk;

pub use ancestor::{Meetings, Shared, lowest_common_ancestor, meetings};
pub use ask::{Ask, Interrupted, NEVER};
pub use backward::{Dependences, Left, backward};
pub use clusters::clusters;
pub use communities::communities;
pub use components::{strongly_connected, topological_order};
pub use matching::{Match, Pattern, PatternEdge, subgraph_matching};
pub use paths::{Path, longest_path, shortest_path, shortest_path_between};
pub use walk::{Walk, breadth_first, depth_first};

use crate::set::Direction;
use headwater_graph::view::Adjacency;

/// Which edges count.
pub type Counts<'a> = &'a (dyn Fn(u32) -> bool + Sync);

/// No vertex, or no edge.
pub(crate) const NONE: u32 = u32::MAX;

/// Edges of a vertex in a direction, with the vertex at the other end; edges that leave come first.
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
