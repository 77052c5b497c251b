//! Graph algorithms against petgraph's, and against plain searching where it has none, on drawn graphs.

use headwater_dataflow::algorithm::*;
use headwater_dataflow::set::Direction;
use headwater_graph::view::Adjacency;
use petgraph::algo;
use petgraph::graph::{DiGraph, NodeIndex};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Vertices of a drawn graph at the most.
const MOST: u32 = 9;

fn edges() -> impl Strategy<Value = Vec<(u32, u32, u32)>> {
    proptest::collection::vec((0..MOST, 0..MOST, 0u32..5), 0..24)
}

fn graph(edges: &[(u32, u32, u32)]) -> Adjacency {
    let src = edges.iter().map(|e| e.0).collect();
    let dst = edges.iter().map(|e| e.1).collect();
    Adjacency::new(MOST as usize, src, dst).expect("a graph")
}

fn oracle(edges: &[(u32, u32, u32)]) -> DiGraph<(), u32> {
    let mut graph = DiGraph::new();
    for _ in 0..MOST {
        graph.add_node(());
    }
    for (a, b, w) in edges {
        graph.add_edge(NodeIndex::new(*a as usize), NodeIndex::new(*b as usize), *w);
    }
    graph
}

fn node(v: u32) -> NodeIndex {
    NodeIndex::new(v as usize)
}

const ALL: Counts<'static> = &|_| true;

/// Whether a way leads through the graph from one vertex to another.
fn leads(graph: &Adjacency, way: &[u32], from: u32, to: u32) -> bool {
    let end = way.iter().try_fold(from, |at, e| {
        (graph.sources()[*e as usize] == at).then(|| graph.targets()[*e as usize])
    });
    end == Some(to)
}

proptest! {
    #[test]
    fn searches_reach_what_can_be_reached(edges in edges(), from in 0..MOST) {
        let (ours, theirs) = (graph(&edges), oracle(&edges));
        let walk = breadth_first(&ours, &[from], Direction::Out, ALL, NEVER);
        let deep = depth_first(&ours, &[from], Direction::Out, ALL, NEVER);
        let length = algo::dijkstra(&theirs, node(from), None, |_| 1u32);
        for v in 0..MOST {
            prop_assert_eq!(walk.reached(v), length.contains_key(&node(v)));
            prop_assert_eq!(deep.reached(v), walk.reached(v));
            if let Some(steps) = length.get(&node(v)) {
                prop_assert_eq!(walk.depth[v as usize], *steps);
                prop_assert!(leads(&ours, &walk.way_to(&ours, v), from, v));
                prop_assert!(leads(&ours, &deep.way_to(&ours, v), from, v));
            }
            // Backward it is the other way round.
            let back = breadth_first(&ours, &[v], Direction::In, ALL, NEVER);
            prop_assert_eq!(back.reached(from), walk.reached(v));
        }
    }

    #[test]
    fn paths_are_the_shortest_and_the_longest(edges in edges(), from in 0..MOST, to in 0..MOST) {
        let (ours, theirs) = (graph(&edges), oracle(&edges));
        let weight = |e: u32| f64::from(edges[e as usize].2);
        let path = shortest_path(&ours, from, to, Direction::Out, weight, ALL);
        let length = algo::dijkstra(&theirs, node(from), Some(node(to)), |e| *e.weight());
        prop_assert_eq!(path.as_ref().map(|p| p.length as u32), length.get(&node(to)).copied());
        if let Some(path) = path {
            prop_assert!(leads(&ours, &path.edges, from, to));
        }
        let longest = longest_path(&ours, |_| 1.0, weight, ALL, NEVER);
        prop_assert_eq!(longest.is_none(), algo::is_cyclic_directed(&theirs));
        // Forward edges alone make no circle; Bellman's recursion on them is the oracle.
        let forward = |e: u32| edges[e as usize].0 < edges[e as usize].1;
        let longest = longest_path(&ours, |_| 1.0, weight, &forward, NEVER).expect("no circle");
        let mut best = vec![1.0f64; MOST as usize];
        for v in 0..MOST {
            for (a, b, w) in edges.iter().filter(|e| e.1 == v && e.0 < v) {
                best[*b as usize] = best[*b as usize].max(1.0 + best[*a as usize] + f64::from(*w));
            }
        }
        prop_assert_eq!(longest.length, best.into_iter().fold(0.0, f64::max));
    }

    #[test]
    fn components_and_order_are_petgraphs(edges in edges()) {
        let (ours, theirs) = (graph(&edges), oracle(&edges));
        let own = strongly_connected(&ours, ALL, NEVER);
        for component in algo::tarjan_scc(&theirs) {
            let numbers: BTreeSet<u32> = component.iter().map(|v| own[v.index()]).collect();
            prop_assert_eq!(numbers.len(), 1);
        }
        let count = own.iter().collect::<BTreeSet<_>>().len();
        prop_assert_eq!(count, algo::tarjan_scc(&theirs).len());
        prop_assert!(edges.iter().all(|(a, b, _)| own[*a as usize] >= own[*b as usize]));
        let order = topological_order(&ours, ALL, NEVER);
        prop_assert_eq!(order.is_some(), algo::toposort(&theirs, None).is_ok());
        if let Some(order) = order {
            let at = |v: u32| order.iter().position(|o| *o == v);
            prop_assert!(edges.iter().all(|(a, b, _)| at(*a) < at(*b)));
        }
    }

    #[test]
    fn ancestors_lead_to_both(edges in edges(), a in 0..MOST, b in 0..MOST) {
        let forward: Vec<_> = edges.into_iter().filter(|e| e.0 < e.1).collect();
        let ours = graph(&forward);
        let reach = |v| breadth_first(&ours, &[v], Direction::Out, ALL, NEVER);
        let common: Vec<u32> = (0..MOST).filter(|v| reach(*v).reached(a) && reach(*v).reached(b)).collect();
        let found = lowest_common_ancestor(&ours, a, b, ALL, NEVER);
        prop_assert_eq!(found.is_some(), !common.is_empty());
        if let Some(found) = found {
            prop_assert!(common.contains(&found.vertex));
            // Lowest: no other one can be reached from it.
            let below = reach(found.vertex);
            prop_assert!(common.iter().all(|v| *v == found.vertex || !below.reached(*v)));
        }
    }

    #[test]
    fn meetings_tell_who_leads_to_another(edges in edges(), ends in proptest::collection::btree_set(0..MOST, 0..5)) {
        let ours = graph(&edges);
        let ends: Vec<u32> = ends.into_iter().collect();
        let behind = meetings(&ours, &ends, Direction::In, ALL, NEVER);
        let meetings = meetings(&ours, &ends, Direction::Out, ALL, NEVER);
        for v in 0..MOST {
            let reach = breadth_first(&ours, &[v], Direction::Out, ALL, NEVER);
            let others = ends.iter().any(|e| *e != v && reach.reached(*e));
            prop_assert_eq!(meetings.other(v).is_some(), others);
            let back = breadth_first(&ours, &[v], Direction::In, ALL, NEVER);
            let others = ends.iter().any(|e| *e != v && back.reached(*e));
            prop_assert_eq!(behind.other(v).is_some(), others);
            if let Some(end) = meetings.other(v) {
                prop_assert!(leads(&ours, &meetings.way(&ours, v, end), v, end));
            }
        }
        let all: Vec<u32> = (0..MOST).collect();
        let each = all.iter().filter_map(|v| Some(meetings.way(&ours, *v, meetings.other(*v)?)));
        let each: BTreeSet<u32> = each.flatten().collect();
        prop_assert_eq!(meetings.ways(&ours, &all).into_iter().collect::<BTreeSet<_>>(), each);
    }

    #[test]
    fn patterns_are_found_wherever_they_are(edges in edges()) {
        // a → b → c and a → c, of different vertices.
        let ours = graph(&edges);
        let edge = |src, dst| PatternEdge { src, dst, fits: ALL };
        let pattern = Pattern {
            vertices: vec![ALL, ALL, &|v| v % 2 == 0],
            edges: vec![edge(0, 1), edge(1, 2), edge(0, 2)],
        };
        let starts: Vec<u32> = (0..MOST).collect();
        let found = subgraph_matching(&ours, &pattern, &starts, usize::MAX, NEVER);
        let found: BTreeSet<Vec<u32>> = found.into_iter().map(|f| f.vertices).collect();
        let joined = |a, b| edges.iter().any(|e| (e.0, e.1) == (a, b));
        let mut expected = BTreeSet::new();
        for a in 0..MOST {
            for b in (0..MOST).filter(|b| *b != a && joined(a, *b)) {
                let third = (0..MOST).filter(|c| *c != a && *c != b && c % 2 == 0);
                expected.extend(third.filter(|c| joined(b, *c) && joined(a, *c)).map(|c| vec![a, b, c]));
            }
        }
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn communities_are_what_hangs_together() {
    // Two rings of four, joined by one edge.
    let ring = |begin: u32| {
        (0..4).flat_map(move |i| {
            [
                (begin + i, begin + (i + 1) % 4, 1),
                (begin + i, begin + (i + 2) % 4, 1),
            ]
        })
    };
    let edges: Vec<_> = ring(0).chain(ring(4)).chain([(0, 4, 1)]).collect();
    let found = communities(&graph(&edges), |_| 1.0, ALL, NEVER);
    assert_eq!(found, [0, 0, 0, 0, 1, 1, 1, 1, 2]);
    assert!(communities(&Adjacency::default(), |_| 1.0, ALL, NEVER).is_empty());
}

#[test]
fn a_pattern_that_does_not_hang_together_is_found_nowhere() {
    let ours = graph(&[(0, 1, 1)]);
    let apart = Pattern {
        vertices: vec![ALL, ALL],
        edges: vec![],
    };
    assert!(subgraph_matching(&ours, &apart, &[0, 1], 9, NEVER).is_empty());
    let nothing = Pattern {
        vertices: vec![],
        edges: vec![],
    };
    assert!(subgraph_matching(&ours, &nothing, &[0, 1], 9, NEVER).is_empty());
}
