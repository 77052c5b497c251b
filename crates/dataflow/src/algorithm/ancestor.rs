//! Lowest common ancestors, of two vertices and of many at once.

use super::{Ask, Counts, Interrupted, NONE, breadth_first, steps};
use crate::set::Direction;
use headwater_graph::view::Adjacency;

/// An ancestor of two vertices.
#[derive(Clone, Debug, PartialEq)]
pub struct Shared {
    /// The ancestor.
    pub vertex: u32,
    /// Edges from it to the first vertex, then those to the second.
    pub edges: Vec<u32>,
}

/// The lowest vertex from which both can be reached: it leads to no other such vertex. A vertex is its own ancestor. Of
/// several, the nearest is taken, also where they lead to each other in a cycle. `None` if there is none.
pub fn lowest_common_ancestor(
    graph: &Adjacency,
    a: u32,
    b: u32,
    counts: Counts<'_>,
    interrupted: Interrupted<'_>,
) -> Option<Shared> {
    let back = |v: u32| breadth_first(graph, &[v], Direction::In, counts, interrupted);
    let [from_a, from_b] = [a, b].map(back);
    let common = |v: u32| from_a.reached(v) && from_b.reached(v);
    let leads_on = |v: u32| {
        let mut out = graph.out_edges(v).iter().filter(|e| counts(**e));
        out.any(|e| {
            let to = graph.targets()[*e as usize];
            to != v && common(to)
        })
    };
    let far = |v: u32| from_a.depth[v as usize] + from_b.depth[v as usize];
    let nearest = |v: u32| (leads_on(v), far(v), v);
    let all = from_a.order.iter().copied().filter(|v| common(*v));
    let vertex = all.map(nearest).min()?.2;
    // Paths were searched backward, so they are reversed.
    let way = |walk: &super::Walk| {
        let mut way = walk.way_to(graph, vertex);
        way.reverse();
        way
    };
    Some(Shared {
        vertex,
        edges: [way(&from_a), way(&from_b)].concat(),
    })
}

/// The two nearest of many vertices that each vertex leads to.
#[derive(Clone, Debug)]
pub struct Meetings {
    /// By vertex: the ends that it leads to, and for each the edge by which its path begins.
    led: Vec<[(u32, u32); 2]>,
}

/// For every vertex, the two nearest of `ends` that it leads to, itself included. One search goes backward from all
/// ends at once, so it costs no more than a search or two, however many ends there are. With [`Direction::In`] the
/// direction is reversed: the nearest ends that lead to each vertex.
pub fn meetings(
    graph: &Adjacency,
    ends: &[u32],
    direction: Direction,
    counts: Counts<'_>,
    interrupted: Interrupted<'_>,
) -> Meetings {
    let mut ask = Ask::new(interrupted);
    let back = match direction {
        Direction::Out => Direction::In,
        Direction::In => Direction::Out,
        Direction::Both => Direction::Both,
    };
    let mut led = vec![[(NONE, NONE); 2]; graph.vertices()];
    let mut open: Vec<(u32, u32)> = Vec::new();
    for &end in ends {
        let slot = led.get_mut(end as usize).filter(|l| l[0].0 == NONE);
        if let Some(slot) = slot {
            slot[0].0 = end;
            open.push((end, end));
        }
    }
    let mut at = 0;
    while let Some(&(v, end)) = open.get(at).filter(|_| !ask.ends()) {
        at += 1;
        for (edge, from) in steps(graph, v, back) {
            let slots = &mut led[from as usize];
            if slots[1].0 != NONE || slots[0].0 == end || !counts(edge) {
                continue;
            }
            let free = usize::from(slots[0].0 != NONE);
            slots[free] = (end, edge);
            open.push((from, end));
        }
    }
    Meetings { led }
}

impl Meetings {
    /// Another end than itself that a vertex leads to.
    pub fn other(&self, vertex: u32) -> Option<u32> {
        let slots = self.led.get(vertex as usize)?;
        let found = slots.iter().map(|s| s.0);
        found.into_iter().find(|e| *e != NONE && *e != vertex)
    }

    /// The edges on the paths from each of `vertices` to another end that it leads to, each edge once, in the order of
    /// the vertices; for meetings in the direction [`Direction::Out`]. A path ends where it would continue as one
    /// before it did, so all paths together cost at most twice the number of edges.
    pub fn ways(&self, graph: &Adjacency, vertices: &[u32]) -> Vec<u32> {
        let mut gone = vec![[false; 2]; self.led.len()];
        let mut seen = vec![false; graph.edges()];
        let mut edges = Vec::new();
        for &v in vertices {
            let Some(end) = self.other(v) else { continue };
            let mut at = v;
            while at != end {
                let slots = self.led.get(at as usize);
                let slot = slots.and_then(|s| s.iter().position(|s| s.0 == end));
                let edge = slots.zip(slot).map_or(NONE, |(s, i)| s[i].1);
                let Some(slot) = slot.filter(|_| edge != NONE) else {
                    break;
                };
                if std::mem::replace(&mut gone[at as usize][slot], true) {
                    break;
                }
                if !std::mem::replace(&mut seen[edge as usize], true) {
                    edges.push(edge);
                }
                at = graph.targets()[edge as usize];
            }
        }
        edges
    }

    /// The edges from a vertex to an end that it leads to; for meetings in the direction [`Direction::Out`].
    pub fn way(&self, graph: &Adjacency, vertex: u32, end: u32) -> Vec<u32> {
        let mut way = Vec::new();
        let mut at = vertex;
        while at != end {
            let slots = self.led.get(at as usize);
            let slot = slots.and_then(|s| s.iter().find(|s| s.0 == end));
            match slot {
                Some((_, edge)) if *edge != NONE => {
                    way.push(*edge);
                    at = graph.targets()[*edge as usize];
                }
                _ => break,
            }
        }
        way
    }
}
