//! Graph passes, on graphs made by hand.

use headwater_dataflow::algorithm::NEVER;
use headwater_dataflow::pass;
use headwater_dataflow::set::{Direction, Set};
use headwater_graph::view::{Column, Table, View};
use std::sync::Arc;

/// Two circles of three, joined by one edge from the first to the second; the first is of loops.
fn circles() -> Set {
    let ends = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)];
    let vertices = Table::new(7).with(
        "type",
        Column::texts((0..7).map(|v| Some(if v < 3 { "loop" } else { "comp" }))),
    );
    let weight = ends.map(|e| if e == (2, 3) { 0.1 } else { 1.0 });
    let kinds = ends.map(|e| {
        Some(if e == (2, 3) {
            "inter-process"
        } else {
            "intra-procedural"
        })
    });
    let edges = Table::new(ends.len())
        .with("type", Column::texts(kinds))
        .with("bytes", Column::known(weight.to_vec()));
    let (src, dst) = ends.into_iter().unzip();
    let view = View::made(vertices, src, dst, edges).expect("a graph");
    Set::vertices_of(&Arc::new(view))
}

#[test]
fn graph_algorithms_are_passes() {
    let all = circles();
    let numbers = |set: &Set, name: &str| -> Vec<f64> {
        set.numbers(name)
            .expect("figures")
            .into_iter()
            .flatten()
            .collect()
    };
    let parts = [0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0];
    let components = pass::components(&all, NEVER).expect("components");
    assert_eq!(numbers(&components, "component"), parts);
    let communities = pass::communities(&all, "bytes", NEVER).expect("communities");
    assert_eq!(numbers(&communities, "community"), parts);
    // Of edges alone the vertices are those that they join.
    let joined = pass::communities(&Set::edges_of(all.view()), "", NEVER).expect("communities");
    assert_eq!(joined.vertices(), [0, 1, 2, 3, 4, 5]);
    let first = all.top(1);
    let near = pass::reach(&first, Direction::Out, "", Some(2.0), NEVER).expect("reaches");
    assert_eq!(
        (near.vertices(), near.edges()),
        (&[0, 1, 2][..], &[0, 1][..])
    );
    let inside =
        pass::reach(&first, Direction::Both, "intra-procedural", None, NEVER).expect("kinds");
    assert_eq!(numbers(&inside, "depth"), [0.0, 1.0, 1.0]);
    let last = Set::new(all.view().clone(), vec![5, 4], vec![]);
    let path = pass::shortest_path(&first, &last, "", "", NEVER).expect("one graph");
    assert_eq!(
        (path.vertices(), path.edges()),
        (&[0, 1, 2, 3, 4][..], &[0, 1, 3, 4][..])
    );
    assert!(
        pass::shortest_path(&last, &first, "bytes", "", NEVER)
            .expect("none")
            .is_empty()
    );
    let deep = pass::depth_first(&first, Direction::Out, "", NEVER).expect("reaches");
    assert_eq!(deep.vertices(), [0, 1, 2, 3, 4, 5]);
    assert_eq!(numbers(&deep, "depth"), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let longest = |set: &Set, metric| pass::longest_path(set, metric, "bytes", "", NEVER);
    let said = longest(&all, "").expect_err("circles").to_string();
    assert!(
        said.starts_with("argument V: its edges go in a circle"),
        "{said}"
    );
    let some = Set::new(all.view().clone(), vec![1, 2, 3, 4, 6], vec![]);
    let path = longest(&some, "").expect("no circle");
    assert_eq!(
        (path.vertices(), path.edges()),
        (&[1, 2, 3, 4][..], &[1, 3, 4][..])
    );
    let ancestor = |a, b| {
        let one = |v| Set::new(all.view().clone(), v, vec![]);
        let found = pass::common_ancestor(&one(a), &one(b), "intra-procedural", NEVER);
        found
            .map(|s| (s.vertices().to_vec(), s.edges().to_vec()))
            .map_err(|e| e.to_string())
    };
    assert_eq!(ancestor(vec![1], vec![2]).map(|f| f.0), Ok(vec![1]));
    assert_eq!(
        ancestor(vec![1], vec![4]),
        Ok((vec![], vec![])),
        "only another kind joins them"
    );
    let said = "argument V2: one vertex is needed, and it has 2";
    assert_eq!(ancestor(vec![1], vec![4, 5]), Err(said.to_string()));
    let out = "a>b:inter-process b>c";
    let found =
        pass::matching(&all, out, &["a: type == 'loop'".into()], 9, NEVER).expect("matches");
    assert_eq!(
        (found.vertices(), found.edges()),
        (&[2, 3, 4][..], &[3, 4][..])
    );
    let wrong = pass::matching(&all, out, &["d: time > 0".into()], 9, NEVER).expect_err("no d");
    assert_eq!(
        wrong.to_string(),
        "argument where: the pattern has no vertex d; it has a, b, c"
    );
    let wrong = pass::matching(&all, "a-b", &[], 9, NEVER).expect_err("no edge");
    assert_eq!(
        wrong.to_string(),
        "argument pattern: \"a-b\" is no edge such as a>b"
    );
    let wrong = pass::communities(&all, "wait", NEVER)
        .map(|_| ())
        .expect_err("no such metric");
    assert_eq!(
        wrong.to_string(),
        "argument weight: edges have no wait; they have type, bytes"
    );
}

#[test]
fn a_way_needs_weights_from_zero_on_and_goes_along_no_edge_without_one() {
    // From 0 to 2 straight, of which nothing is known, and by 1.
    let way = |weights: [Option<f64>; 3]| {
        let edges = Table::new(3).with("wait", Column::numbers(weights));
        let view = View::made(Table::new(3), vec![0, 0, 1], vec![2, 1, 2], edges);
        let all = Set::vertices_of(&Arc::new(view.expect("a graph")));
        let [from, to] = [0, 2].map(|v| Set::new(all.view().clone(), vec![v], vec![]));
        let path = pass::shortest_path(&from, &to, "wait", "", NEVER);
        path.map(|p| p.vertices().to_vec())
            .map_err(|e| e.to_string())
    };
    assert_eq!(way([Some(1.0), Some(2.0), Some(3.0)]), Ok(vec![0, 2]));
    assert_eq!(way([None, Some(2.0), Some(3.0)]), Ok(vec![0, 1, 2]));
    let said =
        "argument weight: an edge has -3 of wait; a way of the least needs figures from zero on";
    assert_eq!(
        way([Some(1.0), Some(2.0), Some(-3.0)]),
        Err(said.to_string())
    );
}
