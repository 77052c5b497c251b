//! Sets: expressions, algebra, order, groups, neighbours, new metrics.

use super::programs::recorded;
use headwater_dataflow::flow::with;
use headwater_dataflow::pass;
use headwater_dataflow::set::{Direction, Expr, Maker, Set, SetError};
use headwater_graph::view::Cell::{Number, Text};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Five calls in a row: 0 → 1 → 2 → 3 → 4.
fn calls() -> Set {
    let mut maker = Maker::new();
    let names = ["MPI_Send", "loop", "MPI_Recv", "solve", "MPI_Barrier"];
    for (i, name) in names.into_iter().enumerate() {
        let mut attributes = vec![("name", Text(name)), ("time", Number(i as f64))];
        if name.starts_with("MPI_") {
            attributes.push(("wait", Number(0.5)));
        }
        maker.vertex(attributes);
    }
    for v in 0..4 {
        let kind = if v % 2 == 0 {
            "control-flow"
        } else {
            "data-flow"
        };
        maker.edge(
            v,
            v + 1,
            [("kind", Text(kind)), ("count", Number(f64::from(v)))],
        );
    }
    maker.finish().only_vertices()
}

fn filtered(expression: &str) -> Vec<u32> {
    let expression = Expr::parse(expression).expect("reads");
    calls()
        .filter(&expression)
        .expect("holds")
        .vertices()
        .to_vec()
}

#[test]
fn expressions_choose_elements() {
    for (expression, expected) in [
        ("name ~ \"MPI_*\"", &[0, 2, 4][..]),
        ("name !~ 'MPI_*'", &[1, 3]),
        ("time > 1 and name ~ 'MPI_*'", &[2, 4]),
        ("time >= 3 or time < 1", &[0, 3, 4]),
        ("not time < 3", &[3, 4]),
        ("not (time < 3) and time != 4", &[3]),
        ("time * 2 - 1 == 3", &[2]),
        ("-time / 2 <= -1.5e0", &[3, 4]),
        ("`time` in (1, 3)", &[1, 3]),
        ("name in ('loop', 'solve') or wait + time > 4", &[1, 3, 4]),
        // What is missing compares to nothing.
        ("wait > 0.1", &[0, 2, 4]),
        ("wait <= 0.1", &[]),
        ("wait != 0.5", &[]),
        ("not known(wait)", &[1, 3]),
        ("max(time, wait) < 1", &[0]),
        ("sqrt(abs(0 - time)) == 2", &[4]),
        ("'loop' == name", &[1]),
        ("name > 'MPI_Recv'", &[0, 1, 3]),
    ] {
        assert_eq!(filtered(expression), expected, "{expression}");
    }
}

#[test]
fn wrong_expressions_say_what_and_where() {
    let said = |expression: &str| match Expr::parse(expression) {
        Err(e) => e.to_string(),
        Ok(e) => calls()
            .filter(&e)
            .map(|_| ())
            .expect_err("refused")
            .to_string(),
    };
    for (expression, what) in [
        (
            "time >",
            "column 7: a figure, a word in quotes or an attribute is missing",
        ),
        ("time > 1 1", "column 10: the expression goes on"),
        ("name ~ 'x", "column 8: the quotation mark is not closed"),
        ("(time", "column 6: a closing parenthesis"),
        ("f(time) > 1", "there is no function f; there are abs"),
        ("min(time) > 1", "min takes 2 and not 1"),
        (
            "tiem > 1",
            "there is no attribute tiem; there are name, time, wait",
        ),
        ("name > 1", "a word is compared with a figure"),
        ("time ~ 'a'", "~ compares words"),
        ("time", "a figure is used where true or false is needed"),
        (
            "time and 1 > 0",
            "a figure is used where true or false is needed",
        ),
        ("name + 1 > 0", "a word is used where a figure is needed"),
        ("1.2.3 > 0", "this is not a figure"),
        ("§ > 1", "this cannot begin"),
    ] {
        let said = said(expression);
        assert!(said.contains(what), "{expression}: {said}");
    }
    let deep = "(".repeat(100_000) + "1" + &")".repeat(100_000);
    assert!(Expr::parse(&deep).is_err(), "no overflow of the stack");
    let long = |n: usize| Expr::parse(&format!("{}1 > 0", "1 + ".repeat(n)));
    assert!(long(100_000).is_err(), "nor of this");
    let longest = long(499).expect("so many may be");
    assert_eq!(
        calls().filter(&longest).expect("holds").len(),
        calls().len()
    );
}

#[test]
fn order_groups_and_neighbours() {
    let set = calls();
    let sorted = set.sort_by("time").expect("a metric");
    assert_eq!(sorted.vertices(), [4, 3, 2, 1, 0]);
    assert_eq!(sorted.top(2).vertices(), [4, 3]);
    assert_eq!(sorted.top(9).reversed().vertices(), [0, 1, 2, 3, 4]);
    // Those without the metric come last, in their order.
    assert_eq!(
        set.sort_by("wait").expect("a metric").vertices(),
        [0, 2, 4, 1, 3]
    );
    let groups = set.group("wait").expect("an attribute");
    assert_eq!(groups[0].0.as_deref(), Some("0.5"));
    assert_eq!(groups[1].1.vertices(), [1, 3]);
    assert_eq!(set.classify(|v| v % 3).len(), 3);
    let middle = Set::new(set.view().clone(), vec![2], vec![]);
    let both = middle.neighbours(Direction::Both, None).expect("edges");
    assert_eq!(both.vertices(), [1, 3]);
    let kind = Some("control-flow");
    assert_eq!(
        middle.out_edges(kind).expect("kinds").targets().vertices(),
        [3]
    );
    assert!(middle.in_edges(kind).expect("kinds").is_empty());
    let heavy = Expr::parse("count > 1").expect("reads");
    let edges = Set::edges_of(set.view()).filter(&heavy).expect("edges");
    assert_eq!(edges.sources().vertices(), [2, 3]);
}

#[test]
fn a_metric_of_the_users_own_is_one_line() {
    let share = calls().derive("share", "wait / time").expect("figures");
    assert_eq!(
        share.numbers("share"),
        Ok(vec![None, None, Some(0.25), None, Some(0.125)])
    );
    assert_eq!(
        share.sort_by("share").expect("a metric").top(1).vertices(),
        [2]
    );
    // Sets with and without it are of one graph, and what one has the other gets.
    let all = calls_of(&share, &[0]).union(&share).expect("one graph");
    assert_eq!(all.cell("share", 2), Number(0.25));
    let short = calls().with_metric("x", &[Some(1.0)]);
    assert_eq!(short.map(|_| ()), Err(SetError::Length("x".into(), 1, 5)));
    assert!(matches!(
        share.union(&calls()),
        Err(SetError::OtherGraph(..))
    ));
}

#[test]
fn put_together_elements_keep_what_the_set_that_has_them_knows() {
    let all = calls();
    let made = |v: &[u32], e: &str| calls_of(&all, v).derive("m", e).expect("figures");
    let (a, b) = (made(&[0, 1], "time + 10"), made(&[1, 2, 3], "wait + 20"));
    let both = a.union(&b).expect("one graph");
    let expected = vec![Some(10.0), Some(11.0), Some(20.5), None];
    assert_eq!(both.numbers("m"), Ok(expected));
    // Of an element of both the first says it, and the second what the first has not.
    let c = made(&[0, 1], "wait + 30");
    let both = c.union(&a).expect("one graph");
    assert_eq!(both.numbers("m"), Ok(vec![Some(30.5), Some(11.0)]));
    let both = a.intersection(&c).expect("one graph");
    assert_eq!(both.numbers("m"), Ok(vec![Some(10.0), Some(11.0)]));
    let word = |v, word: &str| {
        let set = calls_of(&all, &[v]);
        set.with_words("of", &[Some(word.to_string())])
            .expect("one word")
    };
    let both = word(0, "a").union(&word(2, "b")).expect("one graph");
    assert_eq!(
        (both.cell("of", 0), both.cell("of", 2)),
        (Text("a"), Text("b"))
    );
    // Figures over ranks are those of the column, or not there.
    let run = &recorded(&[2])[0];
    let all = Set::vertices_of(run.top_down());
    let hot = all.sort_by("time").expect("a metric").top(1);
    let other = hot.derive("time", "time * 2").expect("figures");
    let rest = all.difference(&other).expect("one graph");
    assert!(rest.view().rows.contains_key("time"));
    let both = rest.union(&other).expect("one graph");
    assert!(!both.view().rows.contains_key("time"));
    assert!(both.view().rows.contains_key("busy"));
    // What is left out changes nothing of what is kept.
    let still = rest.difference(&other).expect("one graph");
    assert!(still.view().rows.contains_key("time"));
}

#[test]
fn what_is_left_of_a_set_without_members_is_of_its_kind() {
    let (none, all) = (Expr::parse("time > 99").expect("reads"), calls());
    let edges = Set::edges_of(all.view());
    let few = Expr::parse("count > 1").expect("reads");
    let none_of = |set: &Set, e| set.filter(e).expect("holds");
    let no_edges = Expr::parse("count > 99").expect("reads");
    let some = none_of(&edges, &few);
    for set in [
        none_of(&edges, &no_edges),
        edges.top(0),
        none_of(&edges, &no_edges).reversed(),
        some.intersection(&edges.difference(&some).expect("one graph"))
            .expect("one graph"),
        all.only_edges(),
        all.top(0).out_edges(None).expect("edges"),
        Set::new(all.view().clone(), vec![], vec![]).only_edges(),
    ] {
        assert!(set.is_empty());
        let rest = set.complement();
        assert_eq!((rest.vertices().len(), rest.edges().len()), (0, 4));
    }
    for set in [
        none_of(&all, &none),
        all.top(0),
        edges.only_vertices(),
        edges.top(0).sources(),
    ] {
        assert!(set.is_empty());
        let rest = set.complement();
        assert_eq!((rest.vertices().len(), rest.edges().len()), (5, 0));
    }
}

#[test]
fn sorted_the_other_way_what_is_missing_still_comes_last() {
    let set = calls();
    let ascending = |set: &Set, by: &str| {
        let sort = pass::catalogue().by_name("sort").expect("a pass");
        let by = with("by", by).with("ascending", true);
        let given = sort.run(&[set.clone().into()], &by, &|| false);
        let given = given.expect("sorted").remove(0);
        given.set().expect("a set").clone()
    };
    assert_eq!(
        ascending(&set.reversed(), "time").vertices(),
        [0, 1, 2, 3, 4]
    );
    // Equal ones stay in their order.
    assert_eq!(ascending(&set, "wait").vertices(), [0, 2, 4, 1, 3]);
    assert_eq!(ascending(&set, "name").vertices(), [4, 2, 0, 1, 3]);
    let both = set.union(&Set::edges_of(set.view())).expect("one graph");
    assert_eq!(ascending(&both, "time").edges(), both.edges());
}

fn calls_of(set: &Set, vertices: &[u32]) -> Set {
    Set::new(set.view().clone(), vertices.to_vec(), vec![])
}

proptest! {
    #[test]
    fn algebra_is_that_of_sets(
        a in proptest::collection::vec(0u32..8, 0..12),
        b in proptest::collection::vec(0u32..8, 0..12),
    ) {
        let base = calls();
        let there = |all: &[u32]| all.iter().copied().filter(|v| *v < 5).collect::<BTreeSet<_>>();
        let (x, y) = (calls_of(&base, &a), calls_of(&base, &b));
        let (p, q) = (there(&a), there(&b));
        let of = |set: &Set| set.vertices().iter().copied().collect::<BTreeSet<_>>();
        prop_assert_eq!(x.vertices().len(), p.len());
        prop_assert_eq!(of(&x.union(&y).unwrap()), &p | &q);
        prop_assert_eq!(of(&x.intersection(&y).unwrap()), &p & &q);
        prop_assert_eq!(of(&x.difference(&y).unwrap()), &p - &q);
        prop_assert_eq!(of(&x.complement()), &(0..5).collect() - &p);
        // The order is the first set's.
        let kept: Vec<u32> = x.vertices().iter().copied().filter(|v| q.contains(v)).collect();
        let both = x.intersection(&y).unwrap();
        prop_assert_eq!(both.vertices(), &kept[..]);
    }

    #[test]
    fn any_text_is_an_expression_or_refused(text in "[ a-z0-9.()'\"<>=!~+*/,-]{0,40}") {
        if let Ok(expression) = Expr::parse(&text) {
            let _ = calls().filter(&expression);
        }
    }
}
