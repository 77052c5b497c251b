//! Breadth-first and depth-first search.

use super::{Ask, Counts, Interrupted, NONE, steps};
use crate::set::Direction;
use headwater_graph::view::Adjacency;
use std::collections::VecDeque;

/// The result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Walk {
    /// Vertices in the order in which they were reached.
    pub order: Vec<u32>,
    /// By vertex: the edge by which it was reached; `u32::MAX` for a start, and where it was not reached.
    pub by: Vec<u32>,
    /// By vertex: number of edges from the start on the path found; `u32::MAX` where it was not reached.
    pub depth: Vec<u32>,
}

impl Walk {
    fn new(vertices: usize) -> Self {
        Self {
            order: Vec::new(),
            by: vec![NONE; vertices],
            depth: vec![NONE; vertices],
        }
    }

    /// Whether a vertex was reached.
    pub fn reached(&self, vertex: u32) -> bool {
        self.depth.get(vertex as usize).is_some_and(|d| *d != NONE)
    }

    /// The edges from a start to `vertex`, in the order in which they were followed; empty for a start or a vertex that
    /// was not reached.
    pub fn way_to(&self, graph: &Adjacency, vertex: u32) -> Vec<u32> {
        let mut way = Vec::new();
        let mut at = vertex;
        while let Some(&edge) = self.by.get(at as usize).filter(|e| **e != NONE) {
            way.push(edge);
            let ends = (
                graph.sources()[edge as usize],
                graph.targets()[edge as usize],
            );
            at = if ends.0 == at { ends.1 } else { ends.0 };
            if way.len() > self.order.len() {
                break;
            }
        }
        way.reverse();
        way
    }
}

/// Breadth-first search from all starts at once: the nearest vertices first.
pub fn breadth_first(
    graph: &Adjacency,
    starts: &[u32],
    direction: Direction,
    counts: Counts<'_>,
    interrupted: Interrupted<'_>,
) -> Walk {
    let mut ask = Ask::new(interrupted);
    let mut walk = Walk::new(graph.vertices());
    let mut open = VecDeque::new();
    for &start in starts {
        if let Some(depth) = walk.depth.get_mut(start as usize).filter(|d| **d == NONE) {
            *depth = 0;
            open.push_back(start);
        }
    }
    while let Some(v) = open.pop_front().filter(|_| !ask.ends()) {
        walk.order.push(v);
        let depth = walk.depth[v as usize] + 1;
        for (edge, to) in steps(graph, v, direction) {
            if walk.depth[to as usize] == NONE && counts(edge) {
                walk.depth[to as usize] = depth;
                walk.by[to as usize] = edge;
                open.push_back(to);
            }
        }
    }
    walk
}

/// Depth-first search, from one start after the other. The order is that in which vertices are entered; depth is that
/// of the path taken.
pub fn depth_first(
    graph: &Adjacency,
    starts: &[u32],
    direction: Direction,
    counts: Counts<'_>,
    interrupted: Interrupted<'_>,
) -> Walk {
    let mut ask = Ask::new(interrupted);
    let mut walk = Walk::new(graph.vertices());
    for &start in starts {
        if (start as usize) >= graph.vertices() {
            continue;
        }
        let mut open = vec![(start, NONE, 0)];
        while let Some((v, by, depth)) = open.pop().filter(|_| !ask.ends()) {
            if walk.depth[v as usize] != NONE {
                continue;
            }
            walk.depth[v as usize] = depth;
            walk.by[v as usize] = by;
            walk.order.push(v);
            let begin = open.len();
            for (edge, to) in steps(graph, v, direction) {
                if walk.depth[to as usize] == NONE && counts(edge) {
                    open.push((to, edge, depth + 1));
                }
            }
            // The first edge is followed first.
            open[begin..].reverse();
        }
    }
    walk
}
