//! Strongly connected components (Tarjan 1972) and topological order (Kahn 1962).

use super::{Ask, Counts, Interrupted, NONE};
use headwater_graph::view::Adjacency;

/// For each vertex the number of its component. Components are numbered so that edges between them go from a larger
/// number to a smaller one.
pub fn strongly_connected(
    graph: &Adjacency,
    counts: Counts<'_>,
    interrupted: Interrupted<'_>,
) -> Vec<u32> {
    let mut ask = Ask::new(interrupted);
    let n = graph.vertices();
    let mut index = vec![NONE; n];
    let mut low = vec![0u32; n];
    let mut component = vec![NONE; n];
    let mut stack: Vec<u32> = Vec::new();
    // Vertices entered and not yet left, each with the number of its edges that were followed.
    let mut path: Vec<(u32, usize)> = Vec::new();
    let (mut next, mut components) = (0, 0);
    for start in 0..n as u32 {
        if index[start as usize] != NONE {
            continue;
        }
        path.push((start, 0));
        while let Some((v, gone)) = path.pop() {
            if ask.ends() {
                return component;
            }
            let i = v as usize;
            if gone == 0 {
                index[i] = next;
                low[i] = next;
                next += 1;
                stack.push(v);
            }
            let edges = graph.out_edges(v);
            let mut deeper = None;
            for (k, edge) in edges.iter().enumerate().skip(gone) {
                if !counts(*edge) {
                    continue;
                }
                let to = graph.targets()[*edge as usize];
                if index[to as usize] == NONE {
                    deeper = Some((k, to));
                    break;
                }
                if component[to as usize] == NONE {
                    low[i] = low[i].min(index[to as usize]);
                }
            }
            if let Some((k, to)) = deeper {
                // `v` is visited again when `to` is left, to update its `low`; this edge is not followed again.
                path.push((v, k + 1));
                path.push((to, 0));
                continue;
            }
            if low[i] == index[i] {
                while let Some(member) = stack.pop() {
                    component[member as usize] = components;
                    if member == v {
                        break;
                    }
                }
                components += 1;
            }
            if let Some((above, _)) = path.last() {
                let above = *above as usize;
                low[above] = low[above].min(low[i]);
            }
        }
    }
    component
}

/// Vertices in an order in which every edge goes forward; `None` if edges form a cycle. Of several vertices that could
/// be next, the one that became ready first is next.
pub fn topological_order(
    graph: &Adjacency,
    counts: Counts<'_>,
    interrupted: Interrupted<'_>,
) -> Option<Vec<u32>> {
    let mut ask = Ask::new(interrupted);
    let n = graph.vertices();
    let mut needs = vec![0u32; n];
    for (edge, to) in (0..).zip(graph.targets()) {
        if counts(edge) {
            needs[*to as usize] += 1;
        }
    }
    let mut order: Vec<u32> = (0..n as u32).filter(|v| needs[*v as usize] == 0).collect();
    let mut at = 0;
    while let Some(&v) = order.get(at).filter(|_| !ask.ends()) {
        at += 1;
        for &edge in graph.out_edges(v) {
            if counts(edge) {
                let to = graph.targets()[edge as usize];
                needs[to as usize] -= 1;
                if needs[to as usize] == 0 {
                    order.push(to);
                }
            }
        }
    }
    (order.len() == n).then_some(order)
}
