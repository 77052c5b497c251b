//! Dataflows: what is refused before anything runs, what runs, and what does not run again.

use super::programs::{made, recorded};
use super::support::{piece, run, structure};
use headwater_dataflow::Recorded;
use headwater_dataflow::flow::*;
use headwater_dataflow::pass::catalogue;
use headwater_dataflow::set::Set;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

fn none() -> Parameters {
    Parameters::none()
}

/// A flow with a run, its vertices and the hottest of them.
fn hottest() -> (Flow, NodeId, NodeId, NodeId) {
    let mut flow = Flow::new("hottest", catalogue());
    let run = flow.input("run", Kind::Run);
    let all = flow.pass("vertices", [run], none()).expect("a pass");
    let hot = flow.pass("hotspot", [all], with("n", 2.0)).expect("a pass");
    flow.output("hot", hot);
    (flow, run, all, hot)
}

fn inputs() -> Inputs {
    let run = recorded(&[4]).remove(0);
    [("run".to_string(), Value::Run(run))].into_iter().collect()
}

#[test]
fn mistakes_are_found_before_anything_runs_and_name_pass_and_argument() {
    type Spoil = fn(&mut Flow, NodeId, NodeId, NodeId);
    let cases: [(Spoil, &str); 10] = [
        (
            |f, run, _, _| drop(f.pass("hotspot", [run], none())),
            "pass hotspot, argument V: it needs a set and is given a run by input run",
        ),
        (
            |f, _, _, _| drop(f.pass("union", [NodeId::from_index(1)], none())),
            "pass union, argument V2: nothing is given; it needs a set",
        ),
        (
            |f, run, _, hot| drop(f.pass("over-ranks", [hot, run], none())),
            "pass over-ranks, argument V: it needs a set of a parallel view and is given a set of a top-down view by hotspot",
        ),
        (
            |f, _, all, hot| drop(f.pass("top", [all, hot], none())),
            "pass top takes 1 sets, tables or runs, and 2 are given",
        ),
        (
            |f, _, all, _| drop(f.pass("top", [all], with("m", 1.0))),
            "pass top has no parameter m; it has n",
        ),
        (
            |f, _, all, _| drop(f.pass("top", [all], with("n", "ten"))),
            "pass top, argument n: a whole number from 0 on is needed, and not \"ten\"",
        ),
        (
            |f, _, all, _| drop(f.pass("top", [all], with("n", f64::INFINITY))),
            "pass top, argument n: a whole number from 0 on is needed, and not inf",
        ),
        (
            |f, _, all, hot| f.connect(all, 0, hot),
            "the passes hotspot → vertices → hotspot go in a circle",
        ),
        (
            |f, _, all, _| drop(f.pass("top", [all.output(3)], none())),
            "pass top, argument V: output number 3 of vertices is asked for; it has 1",
        ),
        (
            |f, run, all, _| {
                let body = Flow::new("empty", catalogue());
                f.repeat(body, [run, all], 3);
            },
            "the dataflow empty cannot be repeated",
        ),
    ];
    for (spoil, said) in cases {
        let (mut flow, run, all, hot) = hottest();
        spoil(&mut flow, run, all, hot);
        let e = flow.check().expect_err(said).to_string();
        assert!(e.contains(said), "{e}");
    }
    let cache = Cache::default();
    let runner = Runner::quiet(&cache);
    let (flow, ..) = hottest();
    let refused = |e: Result<Outputs, FlowError>| e.expect_err("refused").to_string();
    let e = refused(flow.run(&Inputs::default(), &runner));
    assert!(
        e.contains("input run of the dataflow hottest is not given"),
        "{e}"
    );
    let e = refused(flow.run_only(&["cold"], &inputs(), &runner));
    assert!(e.contains("has no output cold; it has hot"), "{e}");
    assert!(matches!(
        Flow::new("x", catalogue()).pass("nothing", [NodeId::from_index(0)], none()),
        Err(FlowError::NoPass(..))
    ));
}

#[test]
fn a_failing_pass_is_named() {
    let (mut flow, _, all, _) = hottest();
    let hot = flow
        .pass("hotspot", [all], with("metric", "tiem"))
        .expect("a pass");
    flow.output("wrong", hot);
    let cache = Cache::default();
    let e = flow
        .run(&inputs(), &Runner::quiet(&cache))
        .expect_err("no such metric");
    assert!(
        e.to_string().starts_with(
            "pass hotspot, argument metric: there is no attribute tiem; there are name"
        ),
        "{e}"
    );
}

/// A pass that counts how often it runs.
fn counting(name: &'static str, count: &Arc<AtomicUsize>) -> Arc<Pass> {
    let count = count.clone();
    let pass = Pass::new(name, "Counts.", move |call| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok(vec![call.set(0)?.top(call.count("n")).into()])
    });
    let pass = pass.takes("V", Kind::SET).with("n", 2.0, "how many");
    Arc::new(pass.gives(Gives::AsArgument(0)))
}

#[test]
fn only_what_is_asked_for_runs_and_only_once() {
    let counts = [Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0))];
    let of = || counts.each_ref().map(|c| c.load(Ordering::Relaxed));
    let passes = [counting("one", &counts[0]), counting("two", &counts[1])];
    let build = |n: f64| {
        let (mut flow, _, all, _) = hottest();
        let one = flow.add(&passes[0], [all], with("n", n));
        let two = flow.add(&passes[1], [one], none());
        flow.output("one", one);
        flow.output("two", two);
        flow
    };
    let cache = Cache::default();
    let events = std::sync::Mutex::new(Vec::new());
    let record_event = |e: &Event<'_>| events.lock().unwrap().push((e.pass.to_string(), e.state));
    let runner = Runner {
        progress: &record_event,
        ..Runner::quiet(&cache)
    };
    let given = build(3.0)
        .run_only(&["one"], &inputs(), &runner)
        .expect("runs");
    assert_eq!(given.get("one").and_then(Value::set).map(Set::len), Some(3));
    assert_eq!(of(), [1, 0]);
    // Runs read anew have the same contents; another parameter gives another result.
    build(3.0).run(&inputs(), &runner).expect("runs");
    assert_eq!(of(), [1, 1]);
    build(4.0).run(&inputs(), &runner).expect("runs");
    assert_eq!(of(), [2, 2]);
    let events = events.lock().unwrap();
    assert!(
        events.contains(&("one".to_string(), State::Known)),
        "{events:?}"
    );
    assert!(
        events.contains(&("two".to_string(), State::Done)),
        "{events:?}"
    );
}

/// A flow that counts how often it was repeated, up to four times.
fn counts() -> Flow {
    let add = Pass::new("add", "One more, four at the most.", |call| {
        let set = call.set(0)?;
        let n = set.numbers("n")?.first().copied().flatten().unwrap_or(0.0);
        let all = vec![Some((n + 1.0).min(4.0)); set.len()];
        Ok(vec![set.with_metric("n", &all)?.into()])
    });
    let add = Arc::new(add.takes("V", Kind::SET).gives(Gives::AsArgument(0)));
    let mut body = Flow::new("counting", catalogue());
    let set = body.input("V", Kind::SET);
    let more = body.add(&add, [set], none());
    body.output("V", more);
    let (mut flow, _, all, _) = hottest();
    let begun = flow.pass("derive", [all], with("name", "n").with("as", "0"));
    let counted = flow.repeat(body, [begun.expect("a pass")], 100);
    flow.output("counted", counted);
    flow
}

#[test]
fn what_is_repeated_has_settled_when_metrics_have_too() {
    let cache = Cache::default();
    let given = counts().run(&inputs(), &Runner::quiet(&cache));
    let given = given.expect("runs");
    let set = given.get("counted").and_then(Value::set).expect("a set");
    assert_eq!(set.numbers("n").expect("figures")[0], Some(4.0));
}

#[test]
fn progress_counts_the_passes_of_the_flow_that_must_run() {
    let cache = Cache::default();
    let events = std::sync::Mutex::new(Vec::new());
    let record_event = |e: &Event<'_>| events.lock().unwrap().push((e.state, e.done, e.of));
    let runner = Runner {
        progress: &record_event,
        ..Runner::quiet(&cache)
    };
    counts()
        .run_only(&["counted"], &inputs(), &runner)
        .expect("runs");
    let events = events.lock().unwrap();
    assert!(events.iter().all(|t| t.2 == 3 && t.1 <= 3), "{events:?}");
    assert_eq!(events.last(), Some(&(State::Done, 3, 3)));
}

#[test]
fn sets_without_what_a_pass_looks_at_are_refused() {
    let cases = [
        (
            "parallel",
            "contended",
            "argument E: it is no set of edges: it has vertices alone",
        ),
        (
            "edges",
            "hotspot",
            "argument V: it is no set of vertices: it has edges alone",
        ),
    ];
    for (first, second, said) in cases {
        let (mut flow, run, ..) = hottest();
        let all = flow.pass(first, [run], none()).expect("a pass");
        let wrong = flow.pass(second, [all], none()).expect("a pass");
        flow.output("wrong", wrong);
        let cache = Cache::default();
        let e = flow.run(&inputs(), &Runner::quiet(&cache)).expect_err(said);
        assert_eq!(e.to_string(), format!("pass {second}, {said}"));
    }
}

#[test]
fn places_of_another_graph_are_refused() {
    let mut flow = Flow::new("elsewhere", catalogue());
    let [a, b] = ["a", "b"].map(|name| flow.input(name, Kind::Run));
    for (all, to) in [("vertices", "on-ranks"), ("parallel", "over-ranks")] {
        let all = flow.pass(all, [a], none()).expect("a pass");
        let there = flow.pass(to, [all, b], none()).expect("a pass");
        flow.output(to, there);
    }
    let other = run(
        2,
        &[
            piece("MPI_Send", |_, _| 1.0),
            piece("MPI_Barrier", |_, _| 1.0),
        ],
    );
    let other = Recorded::join(vec![other], structure(2))
        .expect("a whole run")
        .remove(0);
    let two = recorded(&[2, 4]);
    let cache = Cache::default();
    let go = |b: &Recorded, to: &str| {
        let given = [("a", &two[0]), ("b", b)].map(|(n, r)| (n.to_string(), r.clone().into()));
        flow.run_only(&[to], &given.into_iter().collect(), &Runner::quiet(&cache))
    };
    for to in ["on-ranks", "over-ranks"] {
        assert!(go(&two[1], to).is_ok(), "{to}: of one graph");
        let e = go(&other, to).expect_err("two graphs").to_string();
        let said = format!("pass {to}, argument V: its places are not those of run app.2");
        assert!(e.starts_with(&said), "{e}");
    }
}

#[test]
fn a_pass_made_anew_does_not_get_the_results_of_the_one_before() {
    let cache = Cache::default();
    for n in 1..4 {
        let (mut flow, _, all, _) = hottest();
        let pass = Pass::new("some", "The first.", move |call| {
            Ok(vec![call.set(0)?.top(n).into()])
        });
        let pass = pass.takes("V", Kind::SET).gives(Gives::AsArgument(0));
        let some = flow.add(&Arc::new(pass), [all], none());
        flow.output("some", some);
        let given = flow.run(&inputs(), &Runner::quiet(&cache)).expect("runs");
        assert_eq!(
            given.get("some").and_then(Value::set).map(Set::len),
            Some(n)
        );
    }
}

#[test]
fn a_run_differs_from_others_by_all_that_its_figures_come_from() {
    let digest = |runs: Vec<_>, pieces| {
        Recorded::join(runs, structure(pieces)).expect("whole runs")[0].digest()
    };
    let plain = digest(vec![made(2)], 3);
    assert_eq!(plain, digest(vec![made(2)], 3));
    let (mut cores, mut ranks) = (made(2), made(2));
    cores.header.cores = vec![1];
    ranks.ranks[1].wall_ns += 1;
    for (what, other) in [
        ("cores", digest(vec![cores], 3)),
        ("ranks", digest(vec![ranks], 3)),
        ("joined with another", digest(vec![made(2), made(4)], 3)),
        ("loops", digest(vec![made(2)], 4)),
    ] {
        assert_ne!(plain, other, "{what}");
    }
}

#[test]
fn a_caller_who_wants_no_more_is_heard() {
    let cache = Cache::default();
    let runner = Runner {
        interrupted: &|| true,
        ..Runner::quiet(&cache)
    };
    let (flow, ..) = hottest();
    let ended = flow.run(&inputs(), &runner).map(|_| ());
    assert_eq!(ended, Err(FlowError::Interrupted));
}

#[test]
fn a_flow_is_repeated_until_it_gives_what_it_was_given() {
    let (mut flow, _, all, _) = hottest();
    let mut body = Flow::new("halve", catalogue());
    let set = body.input("V", Kind::SET);
    let halve = Pass::new("halve", "The first half, but for the last one.", |call| {
        let set = call.set(0)?;
        Ok(vec![set.top(set.len().div_ceil(2)).into()])
    });
    let halve = halve.takes("V", Kind::SET).gives(Gives::AsArgument(0));
    let half = body.add(&Arc::new(halve), [set], none());
    body.output("V", half);
    let last = flow.repeat(body.clone(), [all], 100);
    let some = flow.repeat(body, [all], 1);
    flow.output("last", last);
    flow.output("some", some);
    let cache = Cache::default();
    let unsettled = Mutex::new(Vec::new());
    let record_event = |event: &Event<'_>| {
        if event.state == State::Unsettled {
            unsettled.lock().expect("lock").push(event.pass.to_string());
        }
    };
    let runner = Runner {
        progress: &record_event,
        ..Runner::quiet(&cache)
    };
    let given = flow.run(&inputs(), &runner).expect("runs");
    assert_eq!(*unsettled.lock().expect("lock"), ["halve"]);
    let len = |name| given.get(name).and_then(Value::set).map(Set::len);
    assert_eq!(len("last"), Some(1));
    assert!(len("some") > Some(1));
}

#[test]
fn a_flow_is_saved_and_read_again_printed_and_drawn() {
    let (flow, ..) = hottest();
    let json = flow.to_json();
    let again = Flow::from_json(&json, &[], catalogue()).expect("reads");
    assert_eq!(again.to_json(), json);
    assert_eq!(
        again.to_string(),
        "dataflow hottest\n  %0 = input run(a run)\n  %1 = vertices of %0\n  %2 = hotspot(n=2) of %1\n  output hot = %2\n"
    );
    let svg = flow.svg();
    assert_eq!(svg.matches("<rect").count(), 3);
    assert_eq!(svg.matches("<path d=\"M").count(), 1 + 2);
    for (bad, what) in [
        ("{", "cannot be read"),
        (
            &json.replace("hotspot", "hotpot"),
            "there is no pass hotpot",
        ),
        (&json.replace("\"schema\": 1", "\"schema\": 9"), "version 9"),
        (
            &json.replace("\"kind\": \"run\"", "\"kind\": \"walk\""),
            "is of kind walk",
        ),
    ] {
        let e = Flow::from_json(bad, &[], catalogue())
            .expect_err(what)
            .to_string();
        assert!(e.contains(what), "{e}");
    }
}
