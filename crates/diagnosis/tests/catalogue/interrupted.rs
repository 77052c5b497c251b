//! What takes long ends when the caller wants no more.

use super::programs::recorded;
use headwater_dataflow::algorithm::*;
use headwater_dataflow::flow::{FlowError, Kind, Parameters, Value};
use headwater_dataflow::set::{Direction, Set};
use headwater_diagnosis::pass;
use headwater_graph::view::Adjacency;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Passes that can take long, but for those on stages of a diagnosis.
const LONG: [&str; 17] = [
    "cluster-ranks",
    "scaling-models",
    "causal",
    "backtracking",
    "contention",
    "reach",
    "depth-first",
    "shortest-path",
    "longest-path",
    "common-ancestor",
    "components",
    "communities",
    "match",
    "critical-path",
    "efficiencies",
    "scales",
    "delay-cost",
];

#[test]
fn a_pass_that_takes_long_ends_when_it_is_interrupted() {
    let runs = recorded(&[2, 4]);
    for name in LONG {
        let pass = pass::by_name(name).expect("a pass");
        let several = name == "scaling-models";
        let value = |(i, port): (usize, &headwater_dataflow::flow::Port)| -> Value {
            let run = &runs[if several { i } else { 0 }];
            let one = |set: Set| {
                if name == "common-ancestor" {
                    set.top(1)
                } else {
                    set
                }
            };
            match port.kind {
                Kind::Run => run.clone().into(),
                Kind::PARALLEL => Set::vertices_of(run.parallel()).into(),
                _ => one(Set::vertices_of(run.top_down())).into(),
            }
        };
        let inputs: Vec<Value> = pass.inputs.iter().enumerate().map(value).collect();
        let ended = pass.run(&inputs, &Parameters::none(), &|| true);
        assert_eq!(ended.map(|_| ()), Err(FlowError::Interrupted), "{name}");
    }
}

#[test]
fn a_search_stops_where_it_is() {
    // A line of so many vertices, with an edge over every second.
    const N: u32 = 100_000;
    let next = (0..N - 1).map(|v| (v, v + 1));
    let over = (0..N - 2).map(|v| (v, v + 2));
    let (src, dst) = next.chain(over).unzip();
    let line = Adjacency::new(N as usize, src, dst).expect("a graph");
    let all: Counts<'static> = &|_| true;
    // How often each asks until it ends, where the third answer is to end.
    let asked = |search: &dyn Fn(Interrupted<'_>)| {
        let count = AtomicUsize::new(0);
        search(&|| count.fetch_add(1, Ordering::Relaxed) >= 2);
        count.into_inner()
    };
    let (out, starts) = (Direction::Out, (0..N).collect::<Vec<u32>>());
    let searches: [&dyn Fn(Interrupted<'_>); 8] = [
        &|i| assert!(breadth_first(&line, &[0], out, all, i).order.len() < 20_000),
        &|i| assert!(depth_first(&line, &[0], out, all, i).order.len() < 20_000),
        &|i| {
            drop(shortest_path_between(
                &line,
                &[0],
                &[N - 1],
                out,
                |_| 1.0,
                all,
                i,
            ))
        },
        &|i| assert_eq!(longest_path(&line, |_| 1.0, |_| 1.0, all, i), None),
        &|i| drop(strongly_connected(&line, all, i)),
        &|i| drop(meetings(&line, &[N - 1], out, all, i)),
        &|i| drop(communities(&line, |_| 1.0, all, i)),
        &|i| {
            let pattern = Pattern {
                vertices: vec![all, all],
                edges: vec![PatternEdge {
                    src: 0,
                    dst: 1,
                    fits: all,
                }],
            };
            let found = subgraph_matching(&line, &pattern, &starts, usize::MAX, i);
            assert!(found.len() < 20_000);
        },
    ];
    for (n, search) in searches.iter().enumerate() {
        let asked = asked(*search);
        assert!((3..6).contains(&asked), "search {n} asked {asked} times");
    }
}
