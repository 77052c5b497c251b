//! Subgraph matching: finds where a small graph occurs in a large one.
//!
//! The pattern's vertices are placed one after the other, each next to one that is already placed, so that only
//! neighbours are tried. Edges of the pattern must be in the graph; the graph may have more (the subgraph need not be
//! induced). The caller's tests decide what else a vertex or edge must be.

use super::{Ask, Counts, Interrupted};
use headwater_graph::view::Adjacency;

/// An edge of a pattern.
pub struct PatternEdge<'a> {
    /// Where it begins: a vertex of the pattern.
    pub src: usize,
    /// Where it ends.
    pub dst: usize,
    /// Which edges of the graph it can be.
    pub fits: Counts<'a>,
}

/// A small graph to look for. It must be connected.
pub struct Pattern<'a> {
    /// For each vertex: which vertices of the graph it can be.
    pub vertices: Vec<Counts<'a>>,
    /// Edges.
    pub edges: Vec<PatternEdge<'a>>,
}

/// A place where a pattern was found, in the order in which the pattern has its parts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Match {
    /// The graph's vertices.
    pub vertices: Vec<u32>,
    /// The graph's edges.
    pub edges: Vec<u32>,
}

/// A step of the search: an edge of the pattern with one end or both ends placed.
struct Step {
    edge: usize,
    /// The end that this step places, if it places one.
    places: Option<usize>,
}

impl Pattern<'_> {
    /// An order in which every edge touches a placed vertex; `None` if the pattern is not connected.
    fn plan(&self) -> Option<Vec<Step>> {
        let mut placed = vec![false; self.vertices.len()];
        *placed.first_mut()? = true;
        let mut left: Vec<usize> = (0..self.edges.len()).collect();
        let mut steps = Vec::new();
        while !left.is_empty() {
            let known = |v: usize| placed.get(v).copied();
            // Edges between placed vertices first: they only test.
            let both = |e: &usize| {
                let edge = &self.edges[*e];
                known(edge.src) == Some(true) && known(edge.dst) == Some(true)
            };
            let one = |e: &usize| {
                let edge = &self.edges[*e];
                known(edge.src)?
                    .then_some(())
                    .or(known(edge.dst)?.then_some(()))
            };
            let at = left
                .iter()
                .position(both)
                .or_else(|| left.iter().position(|e| one(e).is_some()))?;
            let edge = left.remove(at);
            let ends = [self.edges[edge].src, self.edges[edge].dst];
            let places = ends.into_iter().find(|v| !placed[*v]);
            if let Some(v) = places {
                placed[v] = true;
            }
            steps.push(Step { edge, places });
        }
        placed.iter().all(|p| *p).then_some(steps)
    }
}

/// Where the pattern occurs with its first vertex at one of `starts`, at most `most` times: for each occurrence the
/// graph's vertices and edges, in the order of the pattern's. The vertices of one occurrence are all different. A
/// pattern that is not connected is found nowhere.
pub fn subgraph_matching(
    graph: &Adjacency,
    pattern: &Pattern<'_>,
    starts: &[u32],
    most: usize,
    interrupted: Interrupted<'_>,
) -> Vec<Match> {
    let mut found = Vec::new();
    let Some(steps) = pattern.plan() else {
        return found;
    };
    let mut search = Search {
        graph,
        pattern,
        steps: &steps,
        vertices: vec![super::NONE; pattern.vertices.len()],
        edges: vec![super::NONE; pattern.edges.len()],
        most,
        found: &mut found,
        ask: Ask::new(interrupted),
    };
    for &start in starts {
        let there = (start as usize) < graph.vertices();
        if there && pattern.vertices.first().is_some_and(|fits| fits(start)) {
            search.vertices[0] = start;
            search.go(0);
            search.vertices[0] = super::NONE;
        }
        if search.found.len() >= search.most {
            break;
        }
    }
    found
}

/// The state of a search. An interrupted search looks for no more places.
struct Search<'a, 'b> {
    graph: &'a Adjacency,
    pattern: &'a Pattern<'b>,
    steps: &'a [Step],
    vertices: Vec<u32>,
    edges: Vec<u32>,
    most: usize,
    found: &'a mut Vec<Match>,
    ask: Ask<'a>,
}

impl Search<'_, '_> {
    /// Places what is left from `step` on. The recursion is as deep as the pattern has edges.
    fn go(&mut self, step: usize) {
        if self.ask.ends() {
            self.most = 0;
        }
        if self.found.len() >= self.most {
            return;
        }
        let Some(Step { edge, places }) = self.steps.get(step) else {
            self.found.push(Match {
                vertices: self.vertices.clone(),
                edges: self.edges.clone(),
            });
            return;
        };
        let (graph, pattern) = (self.graph, self.pattern);
        let wanted = &pattern.edges[*edge];
        let (src, dst) = (self.vertices[wanted.src], self.vertices[wanted.dst]);
        let (candidates, other) = if *places == Some(wanted.src) {
            (graph.in_edges(dst), graph.sources())
        } else {
            (graph.out_edges(src), graph.targets())
        };
        for &e in candidates {
            let v = other[e as usize];
            if self.edges.contains(&e) || !(wanted.fits)(e) {
                continue;
            }
            match places {
                // Several edges between two vertices are one place: the first that fits.
                None if v != dst => {}
                None => {
                    self.edges[*edge] = e;
                    self.go(step + 1);
                    self.edges[*edge] = super::NONE;
                    return;
                }
                Some(new) => {
                    if !self.vertices.contains(&v) && pattern.vertices[*new](v) {
                        self.vertices[*new] = v;
                        self.edges[*edge] = e;
                        self.go(step + 1);
                        self.edges[*edge] = super::NONE;
                        self.vertices[*new] = super::NONE;
                    }
                }
            }
        }
    }
}
