//! Which vertices the edges join: the ends of edges as two arrays, and compressed sparse rows in both directions.
//!
//! The rows are made at their first use: an analysis that only sorts vertices never needs them. The edges of a vertex
//! are in the order of their indices, so every walk is the same each time.

use std::sync::OnceLock;

/// Edges by one of their ends.
#[derive(Debug)]
struct Rows {
    start: Vec<u32>,
    edges: Vec<u32>,
}

impl Rows {
    fn new(vertices: usize, ends: &[u32]) -> Self {
        let mut start = vec![0u32; vertices + 1];
        for end in ends {
            start[*end as usize + 1] += 1;
        }
        for i in 0..vertices {
            start[i + 1] += start[i];
        }
        let mut next = start.clone();
        let mut edges = vec![0u32; ends.len()];
        for (edge, end) in (0..).zip(ends) {
            let slot = &mut next[*end as usize];
            edges[*slot as usize] = edge;
            *slot += 1;
        }
        Self { start, edges }
    }

    fn of(&self, vertex: u32) -> &[u32] {
        let v = vertex as usize;
        match (self.start.get(v), self.start.get(v + 1)) {
            (Some(from), Some(to)) => &self.edges[*from as usize..*to as usize],
            _ => &[],
        }
    }
}

/// A directed graph of numbered vertices and edges. Two sets belong together if they share one.
#[derive(Debug, Default)]
pub struct Adjacency {
    vertices: usize,
    src: Vec<u32>,
    dst: Vec<u32>,
    out: OnceLock<Rows>,
    into: OnceLock<Rows>,
}

impl Adjacency {
    /// A graph of edges `src[i]` → `dst[i]`; `None` if an edge ends at a vertex that is not there, or the arrays differ
    /// in length.
    pub fn new(vertices: usize, src: Vec<u32>, dst: Vec<u32>) -> Option<Self> {
        let there = |v: &u32| (*v as usize) < vertices;
        let whole = src.len() == dst.len() && src.iter().chain(&dst).all(there);
        whole.then(|| Self {
            vertices,
            src,
            dst,
            ..Self::default()
        })
    }

    /// Vertices.
    pub fn vertices(&self) -> usize {
        self.vertices
    }

    /// Edges.
    pub fn edges(&self) -> usize {
        self.src.len()
    }

    /// Where each edge begins.
    pub fn sources(&self) -> &[u32] {
        &self.src
    }

    /// Where each edge ends.
    pub fn targets(&self) -> &[u32] {
        &self.dst
    }

    /// Edges that leave a vertex, ascending.
    pub fn out_edges(&self, vertex: u32) -> &[u32] {
        let rows = self.out.get_or_init(|| Rows::new(self.vertices, &self.src));
        rows.of(vertex)
    }

    /// Edges that enter a vertex, ascending.
    pub fn in_edges(&self, vertex: u32) -> &[u32] {
        let rows = self
            .into
            .get_or_init(|| Rows::new(self.vertices, &self.dst));
        rows.of(vertex)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_found_from_both_ends() {
        let graph = Adjacency::new(3, vec![0, 2, 0], vec![1, 1, 2]).expect("a graph");
        assert_eq!(graph.out_edges(0), [0, 2]);
        assert_eq!(graph.in_edges(1), [0, 1]);
        assert!(graph.out_edges(1).is_empty() && graph.in_edges(9).is_empty());
        assert!(Adjacency::new(1, vec![0], vec![1]).is_none());
    }
}
