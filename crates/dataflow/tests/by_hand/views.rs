//! The views of a run: what their columns and edges say.

use super::programs::recorded;
use super::support::{self, piece, structure};
use headwater_dataflow::Recorded;
use headwater_dataflow::algorithm::{NEVER, breadth_first};
use headwater_dataflow::pass::{Compared, differential};
use headwater_dataflow::set::{Direction, Expr, Set};
use headwater_graph::view::{Cell, View};
use headwater_model::run::{Context, CtxId, Sample};

fn sum(view: &View, column: &str) -> f64 {
    let column = view.vertices.get(column).expect("a column");
    (0..column.len()).filter_map(|v| column.number(v)).sum()
}

#[test]
fn the_views_hold_the_same_seconds() {
    let runs = recorded(&[4]);
    let (top, parallel) = (runs[0].top_down(), runs[0].parallel());
    for metric in ["time", "busy", "mpi", "count", "bytes", "sent"] {
        let (a, b) = (sum(top, metric), sum(parallel, metric));
        assert!((a - b).abs() < 1e-3 * a.abs(), "{metric}: {a} {b}");
    }
    assert!((sum(top, "busy") - (4.0 + 5.0 + 2.0)).abs() < 1e-3);
    assert_eq!(
        top.vertices.cell("total", 0),
        Cell::Number({
            let total = top.vertices.get("total").expect("a column");
            total.number(0).expect("the root's")
        })
    );
    let root = top.vertices.get("total").and_then(|t| t.number(0));
    assert!((root.expect("seconds") - sum(top, "time")).abs() < 1e-6);
}

#[test]
fn flows_go_through_the_loops_from_call_to_call_in_program_order() {
    let runs = recorded(&[4]);
    let all = Set::vertices_of(runs[0].parallel());
    let own = Expr::parse("rank == 2").expect("an expression");
    let flow = all
        .filter(&own)
        .expect("ranks")
        .out_edges(None)
        .expect("edges");
    let line = |v: u32| match all.cell("first_line", v) {
        Cell::Number(line) => line as u32,
        other => panic!("{other:?}"),
    };
    let view = runs[0].parallel();
    let mut steps: Vec<(u32, u32, f64)> = (flow.edges().iter())
        .map(|e| {
            let e = *e as usize;
            let back = view.edges.get("back").and_then(|b| b.number(e));
            let (src, dst) = (view.graph.sources()[e], view.graph.targets()[e]);
            (line(src), line(dst), back.expect("known"))
        })
        .collect();
    steps.sort_by(|a, b| a.partial_cmp(b).expect("figures"));
    let expected = [
        (10, 17, 0.0),
        (17, 20, 0.0),
        (20, 27, 0.0),
        (27, 30, 0.0),
        (30, 37, 0.0),
        (37, 10, 1.0),
    ];
    assert_eq!(steps, expected);
    let into_loops = flow.filter(&Expr::parse("kind == 'control-flow'").expect("reads"));
    assert_eq!(into_loops.expect("kinds").len(), 3);
}

/// After the last call of a loop, either the loop goes on, or the program ends.
#[test]
fn what_is_computed_at_the_end_leads_to_finalize_alone() {
    let pieces = ["MPI_Allreduce", "MPI_Send", "MPI_Finalize"].map(|call| piece(call, |_, _| 1.0));
    let mut run = support::run(2, &pieces);
    let (last, end) = (CtxId(3), CtxId(5));
    for segment in &mut run.segments {
        if segment.from == end {
            segment.from = last;
        }
    }
    run.samples.retain(|s| s.after != last);
    for sample in &mut run.samples {
        if sample.after == end {
            sample.after = last;
        }
    }
    let run = super::programs::one(run, 3);
    let view = run.parallel();
    let name = |v: u32| match view.vertices.cell("name", v as usize) {
        Cell::Text(name) => name.to_string(),
        other => panic!("{other:?}"),
    };
    let ends = (view.graph.sources().iter()).zip(view.graph.targets());
    let from_end = ends.filter(|(from, _)| name(**from).starts_with("the end"));
    let after: Vec<String> = from_end.map(|(_, to)| name(*to)).collect();
    assert_eq!(after, ["MPI_Finalize"; 2]);
}

/// A loop that is sampled a little after each call must not stand between another one and the call which that one
/// delays.
#[test]
fn what_is_done_after_several_calls_goes_beside_the_rest() {
    let mut run = super::programs::made(4);
    let shared = CtxId(run.contexts.len() as u32);
    // In the loop of a fourth piece, after all calls.
    run.contexts.push(Context {
        parent: CtxId::NONE,
        module: 0,
        offset: 0x310,
        exact: true,
    });
    let afters: Vec<(u32, CtxId)> = run.samples.iter().map(|s| (s.rank, s.after)).collect();
    run.samples
        .extend(afters.into_iter().map(|(rank, after)| Sample {
            rank,
            after,
            ctx: shared,
            count: 1,
            cpu_ns: 5_000_000,
            ..Sample::default()
        }));
    let runs = Recorded::join(vec![run], structure(4)).expect("a whole run");
    let view = runs[0].parallel();
    let all = Set::vertices_of(view);
    let of = |text: &str| {
        all.filter(&Expr::parse(text).expect("reads"))
            .expect("there")
    };
    let back = view.edges.get("back").expect("a column");
    for (line, call) in [(10, 17), (20, 27), (30, 37)] {
        let own = of(&format!("first_line == {line} and rank == 1"));
        let walk = breadth_first(
            &view.graph,
            own.vertices(),
            Direction::Out,
            &|e| back.number(e as usize) == Some(0.0),
            NEVER,
        );
        let call = of(&format!("first_line == {call} and rank == 1")).vertices()[0];
        let far = walk.depth[call as usize];
        assert!(far <= 2, "{line}: {far} steps to its call");
    }
}

#[test]
fn runs_that_share_a_graph_have_the_same_places() {
    let runs = recorded(&[2, 4]);
    let [a, b] = [runs[0].top_down(), runs[1].top_down()];
    assert!(runs[0].shares_graph(&runs[1]) && !a.shares_graph(b));
    assert_eq!(a.vertices.get("name"), b.vertices.get("name"));
    let [a, b] = [a, b].map(Set::vertices_of);
    let change = differential(&a, &b, Compared::All).expect("of top-down views");
    assert!(
        change
            .view()
            .rows
            .keys()
            .all(|name| name.starts_with("after_")),
        "they would be the second run's"
    );
    assert_ne!(runs[0].digest(), runs[1].digest());
    assert_eq!(recorded(&[2, 4])[0].digest(), runs[0].digest());
    // Joined with others, vertices have other numbers, so that no result may be taken for this.
    assert_ne!(recorded(&[2])[0].digest(), runs[0].digest());
}
