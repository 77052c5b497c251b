//! General passes on runs made by hand.

use super::programs::{made, one, recorded, with_messages};
use super::support::{piece, run, structure, structure_of};
use headwater_dataflow::Recorded;
use headwater_dataflow::flow::{
    Cache, Flow, FlowError, Inputs, Kind, Parameters, Runner, Value, with,
};
use headwater_dataflow::pass::{self, Compared, catalogue};
use headwater_dataflow::set::Set;
use headwater_graph::view::{Cell, Table, View};
use headwater_model::report::{Item, Unit};
use std::sync::Arc;

const SECOND: u64 = 1_000_000_000;

/// Output number `output` of a pass for the vertices of runs.
fn given(
    name: &str,
    runs: &[Recorded],
    parameters: Parameters,
    output: usize,
) -> Result<Value, FlowError> {
    let mut flow = Flow::new("one pass", catalogue());
    let inputs: Inputs = (0..)
        .zip(runs)
        .map(|(i, run)| (format!("run{i}"), run.clone().into()))
        .collect();
    let mut sets = Vec::new();
    for i in 0..runs.len() {
        let run = flow.input(&format!("run{i}"), Kind::Run);
        sets.push(flow.pass("vertices", [run], Parameters::none())?);
    }
    let made = flow.pass(name, sets, parameters)?;
    flow.output("made", made.output(output));
    let cache = Cache::default();
    let given = flow.run(&inputs, &Runner::quiet(&cache))?;
    Ok(given.get("made").expect("it was asked for").clone())
}

fn figure(set: &Set, name: &str, v: u32) -> f64 {
    match set.cell(name, v) {
        Cell::Number(x) => (x * 1000.0).round() / 1000.0,
        other => panic!("{name}: {other:?}"),
    }
}

fn word(set: &Set, name: &str, v: u32) -> String {
    match set.cell(name, v) {
        Cell::Text(word) => word.to_string(),
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn functions_and_loops_have_what_is_inside_them() {
    // Each of the three loops is inside the one before it.
    let pieces = [1.0, 2.0, 4.0].map(|s| piece("MPI_Barrier", move |_, _| s));
    let runs = Recorded::join(vec![run(2, &pieces)], structure_of(3, true)).expect("whole");
    let of = |to: &str| {
        let made = given("attribution", &runs, with("to", to), 0).expect("attributes");
        made.set().expect("a set").clone()
    };
    let loops = of("loop");
    let times: Vec<(f64, f64, f64)> = (loops.vertices().iter())
        .map(|v| {
            let line = figure(&loops, "first_line", *v);
            (
                line,
                figure(&loops, "busy", *v),
                figure(&loops, "total_busy", *v),
            )
        })
        .collect();
    let expected = [
        (30.0, 8.0, 8.0),
        (20.0, 4.0, 12.0),
        (10.0, 2.0, 14.0),
        (2.0, 0.0, 14.0),
    ];
    assert_eq!(times, expected);
    let functions = of("function");
    let main = functions.vertices()[0];
    assert_eq!(word(&functions, "name", main), "main");
    assert_eq!(
        figure(&functions, "busy", main),
        14.0,
        "loops are the function's own"
    );
    assert_eq!(figure(&functions, "ways", main), 1.0);
    let files = of("file");
    assert_eq!(figure(&files, "total_busy", files.vertices()[0]), 14.0);
    // They are known by rank, so that other passes can go on with them.
    let uneven = pass::imbalance(&functions, "busy", 1.3, 0.0).expect("known by rank");
    assert!(uneven.is_empty());
    let e = given("attribution", &runs, with("to", "line"), 0).expect_err("no such thing");
    let said = "pass attribution, argument to: there is no line; there are function, inlined, loop, file, module";
    assert_eq!(e.to_string(), said);
}

#[test]
fn models_are_those_of_how_places_grow() {
    let pieces = || {
        vec![
            piece("MPI_Allreduce", |_, n| 8.0 / f64::from(n)),
            piece("MPI_Barrier", |_, n| 1.0 + 0.25 * f64::from(n).log2()),
            piece("MPI_Send", |_, _| 0.5),
        ]
    };
    let all = [2, 4, 8, 16].map(|n| run(n, &pieces()));
    let runs = Recorded::join(all.to_vec(), structure(3)).expect("whole runs");
    let metric = with("metric", "busy");
    let models = |runs: &[Recorded], more: Parameters| given("scaling-models", runs, more, 0);
    let made = models(&runs, metric.clone().with("at", 1024.0)).expect("models");
    let set = made.set().expect("a set");
    let at = |line: f64| {
        let mut all = set.vertices().iter().copied();
        all.find(|v| set.cell("first_line", *v) == Cell::Number(line))
            .expect("a loop")
    };
    assert_eq!(set.vertices()[0], at(20.0), "what grows most comes first");
    assert_eq!(word(set, "model", at(20.0)), "1.000 + 0.250 · log2 p");
    assert_eq!(figure(set, "predicted", at(20.0)), 3.5);
    assert_eq!(figure(set, "growth", at(20.0)), 1.5);
    assert_eq!(figure(set, "slope", at(10.0)), -1.0);
    assert_eq!(figure(set, "at_2", at(10.0)), 4.0);
    assert_eq!(word(set, "model", at(30.0)), "0.500");
    // What no model describes predicts nothing, and does not come first.
    let jumps = |n: u32| [0.000_25, 0.083, 0.253, 0.25][n.ilog2() as usize - 1];
    let pieces = || {
        vec![
            piece("MPI_Allreduce", move |_, n| jumps(n)),
            piece("MPI_Barrier", |_, n| 0.25 * f64::from(n).log2()),
        ]
    };
    let wild = [2, 4, 8, 16].map(|n| run(n, &pieces()));
    let wild = Recorded::join(wild.to_vec(), structure(2)).expect("whole runs");
    let wild = models(&wild, metric.clone()).expect("models");
    let wild = wild.set().expect("a set");
    assert_eq!(wild.cell("model", at(10.0)), Cell::Missing);
    assert_eq!(wild.cell("growth", at(10.0)), Cell::Missing);
    assert!((0.5..2.0).contains(&figure(wild, "model_error", at(10.0))));
    assert_eq!(wild.vertices()[0], at(20.0));
    // Of two runs there is the line alone.
    let two = models(&runs[..2], metric.clone()).expect("models");
    let two = two.set().expect("a set");
    assert_eq!(two.cell("model", at(10.0)), Cell::Missing);
    assert_eq!(
        figure(two, "predicted", at(10.0)),
        1.0,
        "at twice as many ranks"
    );
    let with_threads = [1, 2, 4].map(|threads| {
        let mut run = run(2, &[piece("MPI_Barrier", move |_, _| f64::from(threads))]);
        run.header.threads_asked = Some(threads);
        run
    });
    let with_threads = Recorded::join(with_threads.to_vec(), structure(1)).expect("whole runs");
    let grown = models(&with_threads, metric.clone()).expect("models");
    let grown = grown.set().expect("a set");
    let slope = figure(grown, "slope", at(10.0));
    assert!((slope - 1.0).abs() < 1e-9, "over threads: {slope}");
    let e = models(&[runs[0].clone(), runs[0].clone()], metric).expect_err("one scale");
    let said = "pass scaling-models, argument V2: all runs have 2 ranks; models need runs with different numbers";
    assert_eq!(e.to_string(), said);
    let e = models(&runs, with("over", "slowest").with("metric", "total")).expect_err("no rows");
    assert!(
        e.to_string()
            .contains("argument over: total is not known by rank"),
        "{e}"
    );
}

#[test]
fn ranks_that_are_alike_are_clusters() {
    let runs = recorded(&[8]);
    let metric = || with("metric", "busy");
    let table = given("cluster-ranks", &runs, metric(), 0).expect("clusters");
    let table = table.section().expect("a table");
    let ranks = table.column("ranks").expect("a column");
    assert_eq!(ranks, [&Item::from("0-2,4-7"), &Item::from("3")]);
    let set = given("cluster-ranks", &runs, metric(), 1).expect("clusters");
    let set = set.set().expect("a set");
    let first = set.vertices()[0];
    assert_eq!(
        figure(set, "first_line", first),
        20.0,
        "the vertex in which they differ comes first"
    );
    let means = ["cluster_0", "cluster_1", "spread"].map(|c| figure(set, c, first));
    assert_eq!(means, [1.0, 2.0, 1.0]);
    let e = given("cluster-ranks", &runs, with("metric", "total"), 0).expect_err("no rows");
    assert!(
        e.to_string()
            .starts_with("pass cluster-ranks, argument metric: total is not known by rank"),
        "{e}"
    );
}

#[test]
fn what_is_made_of_a_metric_has_its_unit() {
    let runs = recorded(&[2, 8]);
    let headings = |set: &Set, names: &[&str]| -> Vec<(String, Unit)> {
        let table = pass::section_of(set, names).expect("a table");
        table
            .columns
            .into_iter()
            .map(|c| (c.name, c.unit))
            .collect()
    };
    let seconds = |name: &str| (format!("{name}_seconds"), Unit::Seconds);
    let models = given("scaling-models", &runs, Parameters::none(), 0).expect("models");
    let models = models.set().expect("a set");
    let names = ["at_2", "at_8", "predicted", "growth"];
    assert_eq!(headings(models, &names), names.map(seconds));
    assert_eq!(
        headings(models, &["slope"]),
        [("slope".to_string(), Unit::None)]
    );
    let clusters = given("cluster-ranks", &runs[1..], Parameters::none(), 1).expect("clusters");
    let clusters = clusters.set().expect("a set");
    let names = ["cluster_0", "cluster_1", "spread"];
    assert_eq!(headings(clusters, &names), names.map(seconds));
    let table = given("cluster-ranks", &runs[1..], Parameters::none(), 0).expect("clusters");
    let table = table.section().expect("a table");
    assert!(
        table
            .columns
            .iter()
            .any(|c| (c.name.clone(), c.unit) == seconds("mean"))
    );
    // What is put together or compared keeps it.
    let all = Set::vertices_of(runs[1].top_down());
    let both = all.top(1).union(clusters).expect("one graph");
    assert_eq!(headings(&both, &["spread"]), [seconds("spread")]);
    let grown = pass::differential(models, models, Compared::All).expect("the same places");
    let names = ["growth", "before_growth", "after_growth"];
    assert_eq!(headings(&grown, &names), names.map(seconds));
}

#[test]
fn the_matrix_has_messages_bytes_and_waiting() {
    let mut run = with_messages(SECOND / 10);
    let sends = run.calls.iter_mut().filter(|c| c.func == 0);
    sends.for_each(|c| c.peer = if c.rank == 0 { 1 } else { i32::MIN + 1 });
    run.messages[0].late_receiver_ns = 0;
    let run = one(run, 2);
    let matrix = pass::communication_matrix(&run).expect("a matrix");
    let table = matrix.edge_table();
    let row: Vec<f64> = [
        "from",
        "to",
        "messages",
        "bytes",
        "late_sender",
        "late_receiver",
        "wait",
    ]
    .iter()
    .map(|c| table.get(c).and_then(|c| c.number(0)).expect("a figure"))
    .map(|x| (x * 1000.0).round() / 1000.0)
    .collect();
    assert_eq!(row, [0.0, 1.0, 100.0, 800.0, 0.2, 0.0, 0.2]);
    assert_eq!(table.len(), 1);
    // Of messages that were not sampled nobody knows who waited.
    let mut unsampled = run.run().clone();
    unsampled.messages.clear();
    let unsampled = one(unsampled, 2);
    let unknown = pass::communication_matrix(&unsampled).expect("a matrix");
    let cell = |name| unknown.edge_table().get(name).map(|c| c.number(0));
    assert_eq!(cell("messages"), Some(Some(100.0)));
    assert_eq!(cell("late_sender"), Some(None));
    assert_eq!(cell("collective_wait"), Some(Some(0.0)), "there are none");
    assert_eq!(cell("wait"), Some(None));
    assert_eq!(matrix.view().vertices.text_of("name", 1), Some("rank 1"));
}

trait TextOf {
    fn text_of(&self, column: &str, row: usize) -> Option<&str>;
}

impl TextOf for Table {
    fn text_of(&self, column: &str, row: usize) -> Option<&str> {
        self.get(column).and_then(|c| c.text(row))
    }
}

#[test]
fn ratios_are_given_where_their_counters_were_recorded() {
    let e =
        given("counter-ratios", &recorded(&[2]), Parameters::none(), 0).expect_err("no counters");
    let said = "pass counter-ratios, argument ratios: ratios need instructions, cycles or cache_misses, which were not recorded; no counters were";
    assert_eq!(e.to_string(), said);
    let mut run = made(2);
    run.header.counters = vec!["instructions".into(), "cache_misses".into()];
    for s in &mut run.samples {
        s.counters = vec![2 * s.cpu_ns, s.cpu_ns / 100];
    }
    let runs = Recorded::join(vec![run], structure(3)).expect("a whole run");
    let made = given("counter-ratios", &runs, Parameters::none(), 0).expect("ratios");
    let set = made.set().expect("a set");
    let mut all = set.vertices().iter().copied();
    let at = all
        .find(|v| set.cell("first_line", *v) == Cell::Number(20.0))
        .expect("a loop");
    let ratios = ["mpki", "speed", "bytes_per_instruction"].map(|r| figure(set, r, at));
    assert_eq!(ratios, [5.0, 2.0, 0.32]);
    let e =
        given("counter-ratios", &runs, with("ratios", ["mpki", "ipc"]), 0).expect_err("no cycles");
    let said = "pass counter-ratios, argument ratios: ipc (instructions per cycle) needs cycles, which was not recorded; recorded are instructions, cache_misses";
    assert_eq!(e.to_string(), said);
}

#[test]
fn what_one_of_two_runs_did_not_record_has_not_changed_by_all_of_it() {
    let mut runs = [made(2), made(4)];
    runs[1].header.counters = vec!["cycles".into()];
    for s in &mut runs[1].samples {
        s.counters = vec![s.cpu_ns];
    }
    for (run, longest) in runs.iter_mut().zip([2, 8]) {
        run.calls
            .iter_mut()
            .for_each(|c| c.max_wall_ns = longest * SECOND);
    }
    let runs = Recorded::join(runs.to_vec(), structure(3)).expect("whole runs");
    let [a, b] = [0, 1].map(|i| Set::vertices_of(runs[i].top_down()));
    let change = |a: &Set, b: &Set, per| pass::differential(a, b, per).expect("top-down views");
    let per_rank = change(&a, &b, pass::Compared::Rank);
    let call = (0..)
        .find(|v| b.cell("class", *v) != Cell::Missing)
        .expect("a call");
    assert_eq!(
        figure(&per_rank, "longest", call),
        6.0,
        "no rank has a part of a call"
    );
    assert_eq!(figure(&per_rank, "count", call), 0.0);
    let counted = (0..)
        .find(|v| figure(&b, "cycles", *v) > 0.0)
        .expect("a loop");
    assert_eq!(per_rank.cell("cycles", counted), Cell::Missing);
    assert_eq!(per_rank.cell("before_cycles", counted), Cell::Missing);
    assert!(figure(&per_rank, "after_cycles", counted) > 0.0);
    // What is left out of the first set was not nothing there.
    let some = Set::new(a.view().clone(), vec![0], vec![]);
    let left_out = change(&some, &b, pass::Compared::All);
    assert_eq!(left_out.cell("time", counted), Cell::Missing);
}

#[test]
fn vertices_are_grouped_by_a_value_and_named_by_conditions() {
    let runs = recorded(&[4]);
    let all = Set::vertices_of(runs[0].top_down());
    let (grouped, table) = pass::group(&all, "type", "time").expect("there are both");
    let numbers = grouped.numbers("group").expect("figures");
    assert!(
        numbers.is_sorted_by(|a, b| a <= b),
        "those of one group follow each other"
    );
    let column = |name| table.column(name).expect("a column");
    let loops = column("value")
        .iter()
        .position(|v| **v == Item::from("loop"));
    let loops = loops.expect("there are loops");
    let own = all.group("type").expect("an attribute")[loops].1.len();
    assert_eq!(column("vertices")[loops], &Item::Number(own as f64));
    assert_eq!(column("vertices").len(), column("time_seconds").len());
    let classes = [("calls", "name ~ 'MPI_*'"), ("rest", "time >= 0")];
    let named = pass::classify(&all, &classes, "kind_of").expect("reads");
    let call = (0..)
        .find(|v| all.cell("class", *v) != Cell::Missing)
        .expect("a call");
    assert_eq!(word(&named, "kind_of", call), "calls");
    assert_eq!(word(&named, "kind_of", 0), "rest");
    let e = given("classify", &runs, with("classes", ["calls"]), 0).expect_err("no condition");
    let said =
        "pass classify, argument classes: \"calls\" is no class such as loops: type == 'loop'";
    assert_eq!(e.to_string(), said);
}

#[test]
fn what_changed_between_ranks_is_reported_by_edge() {
    let matrix = |wait| {
        let run = one(with_messages(wait), 2);
        pass::communication_matrix(&run).expect("a matrix")
    };
    let (before, after) = (matrix(SECOND / 10), matrix(SECOND / 5));
    let change = pass::edge_differential(&before, &after).expect("one program");
    let of = |name: &str| {
        let x = change.edge_table().get(name).and_then(|c| c.number(0));
        x.map(|x| (x * 1000.0).round() / 1000.0)
    };
    assert_eq!(of("wait"), Some(0.2));
    assert_eq!(of("before_wait"), Some(0.2));
    assert_eq!(of("after_wait"), Some(0.4));
    assert_eq!((of("to"), of("bytes")), (Some(1.0), Some(0.0)));
    // An edge that the first run does not have carried nothing there.
    let none = Set::new(before.view().clone(), vec![], vec![]);
    let empty = View::made(
        before.view().vertices.clone(),
        vec![],
        vec![],
        none.edge_table(),
    );
    let empty = View {
        header: before.view().header.clone(),
        ..empty.expect("a graph")
    };
    let new =
        pass::edge_differential(&Set::edges_of(&Arc::new(empty)), &after).expect("one program");
    assert_eq!(
        new.edge_table().get("wait").and_then(|c| c.number(0)),
        Some(0.4)
    );
    let run = one(with_messages(SECOND), 2);
    let e = pass::edge_differential(&Set::edges_of(run.parallel()), &after).expect_err("kinds");
    assert_eq!(
        e.to_string(),
        "argument E2: it is of a made view, and E1 of a parallel view"
    );
    let same = Set::edges_of(run.parallel());
    let same = pass::edge_differential(&same, &same).expect("one run");
    let waits = same.edge_table();
    let waits = waits.get("wait").expect("a column");
    assert!((0..same.len()).all(|e| waits.number(e).is_none_or(|w| w == 0.0)));
    assert!((0..same.len()).any(|e| waits.number(e).is_some()));
}
