//! Shortest paths (Dijkstra 1959), and longest paths in graphs without cycles.

use super::{Ask, Counts, Interrupted, NEVER, NONE, steps, topological_order};
use crate::set::Direction;
use headwater_graph::view::Adjacency;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A path through a graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Path {
    /// Its vertices.
    pub vertices: Vec<u32>,
    /// The edges between them, one less.
    pub edges: Vec<u32>,
    /// Sum of the weights.
    pub length: f64,
}

/// A vertex in the queue; the nearest is the greatest.
#[derive(PartialEq)]
struct Near(f64, u32);

impl Eq for Near {}

impl Ord for Near {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.total_cmp(&self.0).then(other.1.cmp(&self.1))
    }
}

impl PartialOrd for Near {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The path from `from` to `to` with the least sum of weights; a weight below zero counts as zero. `None` if
/// there is none.
pub fn shortest_path(
    graph: &Adjacency,
    from: u32,
    to: u32,
    direction: Direction,
    weight: impl Fn(u32) -> f64,
    counts: Counts<'_>,
) -> Option<Path> {
    shortest_path_between(graph, &[from], &[to], direction, weight, counts, NEVER)
}

/// As [`shortest_path`], from any vertex of `from` to any vertex of `to`.
pub fn shortest_path_between(
    graph: &Adjacency,
    from: &[u32],
    to: &[u32],
    direction: Direction,
    weight: impl Fn(u32) -> f64,
    counts: Counts<'_>,
    interrupted: Interrupted<'_>,
) -> Option<Path> {
    let mut ask = Ask::new(interrupted);
    let n = graph.vertices();
    let mut wanted = vec![false; n];
    for v in to {
        *wanted.get_mut(*v as usize)? = true;
    }
    let mut distance = vec![f64::INFINITY; n];
    let mut by = vec![(NONE, NONE); n];
    let mut open = BinaryHeap::new();
    for v in from {
        *distance.get_mut(*v as usize)? = 0.0;
        open.push(Near(0.0, *v));
    }
    let mut end = None;
    while let Some(Near(so_far, v)) = open.pop() {
        if ask.ends() {
            return None;
        }
        if wanted[v as usize] {
            end = Some(v);
            break;
        }
        if so_far > distance[v as usize] {
            continue;
        }
        for (edge, next) in steps(graph, v, direction) {
            if !counts(edge) {
                continue;
            }
            let length = so_far + weight(edge).max(0.0);
            if length < distance[next as usize] {
                distance[next as usize] = length;
                by[next as usize] = (edge, v);
                open.push(Near(length, next));
            }
        }
    }
    end.map(|end| back(end, &by, distance[end as usize]))
}

fn back(end: u32, by: &[(u32, u32)], length: f64) -> Path {
    let mut path = Path {
        vertices: vec![end],
        edges: Vec::new(),
        length,
    };
    let mut at = end;
    while by[at as usize].0 != NONE {
        let (edge, before) = by[at as usize];
        path.edges.push(edge);
        path.vertices.push(before);
        at = before;
    }
    path.vertices.reverse();
    path.edges.reverse();
    path
}

/// The path along edges with the greatest sum of the weights of its vertices and edges. `None` if the edges that count
/// form a cycle; an empty path for a graph without vertices.
pub fn longest_path(
    graph: &Adjacency,
    of_vertex: impl Fn(u32) -> f64,
    of_edge: impl Fn(u32) -> f64,
    counts: Counts<'_>,
    interrupted: Interrupted<'_>,
) -> Option<Path> {
    let mut ask = Ask::new(interrupted);
    let order = topological_order(graph, counts, interrupted)?;
    let n = graph.vertices();
    let mut length = vec![0.0; n];
    let mut by = vec![(NONE, NONE); n];
    for &v in &order {
        if ask.ends() {
            return None;
        }
        let i = v as usize;
        let mut best = (0.0, (NONE, NONE));
        for &edge in graph.in_edges(v) {
            if counts(edge) {
                let from = graph.sources()[edge as usize];
                let so_far = length[from as usize] + of_edge(edge);
                if so_far > best.0 {
                    best = (so_far, (edge, from));
                }
            }
        }
        length[i] = best.0 + of_vertex(v);
        by[i] = best.1;
    }
    let end = (0..n as u32).reduce(|a, b| {
        if length[b as usize] > length[a as usize] {
            b
        } else {
            a
        }
    });
    Some(end.map_or_else(Path::default, |end| back(end, &by, length[end as usize])))
}
