//! Finds communities: groups of vertices with more edges among each other than to the rest (Blondel et al. 2008,
//! "Louvain").
//!
//! Directions of edges do not count. Vertices are processed in the order of their numbers, and of equally good
//! communities the first is taken, so that the result is the same each time. After the first round, a vertex is
//! processed again only if one of its neighbours moved to another community (Ozaki et al. 2016, "A simple acceleration
//! method for the Louvain algorithm").

use super::{Ask, Counts, Interrupted};
use headwater_graph::view::Adjacency;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// At most this many rounds over all vertices at one level, and this many levels.
const ROUNDS: usize = 64;
const LEVELS: usize = 16;

/// A graph of communities: for each vertex its neighbours with weights, and the weight within it.
struct Level {
    start: Vec<usize>,
    to: Vec<u32>,
    weight: Vec<f64>,
    within: Vec<f64>,
}

impl Level {
    fn new(n: usize, edges: &[(u32, u32, f64)]) -> Self {
        let mut within = vec![0.0; n];
        let mut start = vec![0usize; n + 1];
        for (a, b, w) in edges {
            if a == b {
                within[*a as usize] += 2.0 * w;
            } else {
                start[*a as usize + 1] += 1;
                start[*b as usize + 1] += 1;
            }
        }
        for i in 0..n {
            start[i + 1] += start[i];
        }
        let mut next = start.clone();
        let mut to = vec![0; start[n]];
        let mut weight = vec![0.0; start[n]];
        for (a, b, w) in edges.iter().filter(|e| e.0 != e.1) {
            for (from, other) in [(a, b), (b, a)] {
                let slot = &mut next[*from as usize];
                (to[*slot], weight[*slot]) = (*other, *w);
                *slot += 1;
            }
        }
        Self {
            start,
            to,
            weight,
            within,
        }
    }

    fn neighbours(&self, v: usize) -> impl Iterator<Item = (u32, f64)> + '_ {
        let range = self.start[v]..self.start[v + 1];
        let to = self.to[range.clone()].iter().copied();
        to.zip(self.weight[range].iter().copied())
    }

    /// Moves each vertex to the neighbouring community where modularity grows most, until none moves. Returns the
    /// communities, and whether any vertex moved.
    fn moved(&self, ask: &mut Ask<'_>) -> (Vec<u32>, bool) {
        let n = self.within.len();
        let degree: Vec<f64> = (0..n)
            .map(|v| self.within[v] + self.neighbours(v).map(|e| e.1).sum::<f64>())
            .collect();
        let all: f64 = degree.iter().sum();
        let mut community: Vec<u32> = (0..n as u32).collect();
        let mut total = degree.clone();
        let mut joined = vec![0.0; n];
        let mut touched: Vec<u32> = Vec::new();
        let mut open = vec![true; n];
        let mut any = false;
        for _ in 0..ROUNDS {
            let mut moves = 0;
            for v in 0..n {
                if ask.ends() {
                    return (community, false);
                }
                if !std::mem::replace(&mut open[v], false) {
                    continue;
                }
                let own = community[v];
                for (to, w) in self.neighbours(v) {
                    let c = community[to as usize];
                    if joined[c as usize] == 0.0 {
                        touched.push(c);
                    }
                    joined[c as usize] += w;
                }
                total[own as usize] -= degree[v];
                let gain = |c: u32| joined[c as usize] - degree[v] * total[c as usize] / all;
                let mut best = (own, gain(own));
                for &c in &touched {
                    let here = gain(c);
                    let better = here > best.1 + 1e-12;
                    let as_good = best.0 != own && here >= best.1 - 1e-12 && c < best.0;
                    if better || as_good {
                        best = (c, here);
                    }
                }
                total[best.0 as usize] += degree[v];
                if best.0 != own {
                    community[v] = best.0;
                    moves += 1;
                    for (to, _) in self.neighbours(v) {
                        open[to as usize] |= community[to as usize] != best.0;
                    }
                }
                for c in touched.drain(..) {
                    joined[c as usize] = 0.0;
                }
            }
            any |= moves > 0;
            if moves == 0 {
                break;
            }
        }
        (community, any)
    }
}

/// Renumbers labels from 0 on, in the order in which they first occur; returns how many there are.
fn dense(labels: &mut [u32]) -> usize {
    let mut number: FxHashMap<u32, u32> = FxHashMap::default();
    for label in labels.iter_mut() {
        let next = number.len() as u32;
        *label = *number.entry(*label).or_insert(next);
    }
    number.len()
}

/// For each vertex the number of its community, from 0 on, in the order in which they first occur. Edges whose weight
/// is not above zero do not count.
pub fn communities(
    graph: &Adjacency,
    weight: impl Fn(u32) -> f64,
    counts: Counts<'_>,
    interrupted: Interrupted<'_>,
) -> Vec<u32> {
    let mut ask = Ask::new(interrupted);
    let n = graph.vertices();
    let ends = graph.sources().iter().zip(graph.targets());
    let mut edges: Vec<(u32, u32, f64)> = (0..)
        .zip(ends)
        .filter(|(e, _)| counts(*e))
        .map(|(e, (a, b))| (*a, *b, weight(e)))
        .filter(|e| e.2 > 0.0 && e.2.is_finite())
        .collect();
    let mut of_vertex: Vec<u32> = (0..n as u32).collect();
    let mut size = n;
    for _ in 0..LEVELS {
        let (mut community, any) = Level::new(size, &edges).moved(&mut ask);
        if !any {
            break;
        }
        size = dense(&mut community);
        of_vertex
            .iter_mut()
            .for_each(|c| *c = community[*c as usize]);
        // Edges are merged in place: a map of a hundred million edges would need more memory than the edges.
        edges.par_iter_mut().for_each(|(a, b, _)| {
            let ends = (community[*a as usize], community[*b as usize]);
            (*a, *b) = (ends.0.min(ends.1), ends.0.max(ends.1));
        });
        // Sorted by weight too, so that sums do not depend on the order of edges with equal ends.
        edges.par_sort_unstable_by_key(|e| (e.0, e.1, e.2.to_bits()));
        edges.dedup_by(|next, kept| {
            let same = (next.0, next.1) == (kept.0, kept.1);
            if same {
                kept.2 += next.2;
            }
            same
        });
    }
    dense(&mut of_vertex);
    of_vertex
}
