//! Which thread of a team the others wait for at its barriers and at its end.

use super::hybrid::{CREATE, Hybrid, REGION, run, structure};
use super::{of_run, reported};
use headwater_dataflow::Recorded;
use headwater_diagnosis::Options;
use headwater_model::diagnosis::CauseClass::ThreadImbalance;
use headwater_model::report::{Item, Section};
use headwater_model::run::{Context, CtxId, Run, TeamWork};

/// Wait states of a run, and the same by call.
fn waiting(run: Run) -> Vec<Section> {
    let cache = headwater_dataflow::flow::Cache::default();
    let runner = headwater_dataflow::flow::Runner::quiet(&cache);
    let runs = Recorded::join(vec![run], structure()).expect("a whole run");
    let paradigm = headwater_diagnosis::paradigm::by_name("wait-states").expect("a paradigm");
    let report = paradigm.run(&runs, &Options::default(), &runner);
    report.expect("runs").sections
}

/// Wait states of a run: names and seconds.
fn wait_states(of: Hybrid) -> Vec<(Item, Item)> {
    let rows = waiting(run(4, &of))[0].rows.clone().into_iter();
    rows.map(|row| (row[0].clone(), row[1].clone())).collect()
}

#[test]
fn who_waits_for_the_others_of_a_team_waits_at_an_openmp_barrier() {
    let of = Hybrid {
        busy: |_, t| if t == 1 { 1.5 } else { 0.5 },
        ..Default::default()
    };
    let reported = wait_states(of);
    assert_eq!(
        reported[..],
        [("wait at OpenMP barrier".into(), 4.0.into())]
    );
    // Threads that the program makes itself end, and who joins them waits.
    let reported = wait_states(Hybrid { joined: true, ..of });
    assert_eq!(reported[..], [("wait for a thread".into(), 6.0.into())]);
}

/// Threads that the program makes itself may meet at barriers; at their end they wait for nobody.
#[test]
fn threads_that_a_program_makes_wait_at_its_barriers() {
    let mut made = run(
        1,
        &Hybrid {
            busy: |_, t| if t == 1 { 1.5 } else { 0.5 },
            joined: true,
            ..Default::default()
        },
    );
    let barrier = CtxId(made.contexts.len() as u32);
    made.contexts.push(Context {
        parent: CREATE,
        module: 0,
        offset: 0x1501,
        exact: false,
    });
    let (wait, busy) = (1_000_000_000, 0);
    made.teams.iter_mut().for_each(|t| {
        t.to = barrier;
        t.wait_ns = if t.thread == 1 { busy } else { wait };
    });
    let rows = barriers(made);
    let expected = [
        Item::from("pthread_barrier_wait"),
        "pthread_barrier_wait".into(),
        1.0.into(),
    ];
    assert!(rows.contains(&expected), "{rows:?}");
}

/// The first thread meets the others at their barrier, on a call path of its own.
#[test]
fn a_first_thread_that_is_late_at_a_barrier_of_those_that_it_made_is_waited_for() {
    let mut made = run(
        1,
        &Hybrid {
            joined: true,
            busy: |_, _| 0.5,
            serial: |_| 1.5,
            ..Default::default()
        },
    );
    let barrier = CtxId(made.contexts.len() as u32);
    for parent in [CREATE, CtxId::NONE] {
        made.contexts.push(Context {
            parent,
            module: 0,
            offset: 0x1501,
            exact: false,
        });
    }
    for t in &mut made.teams {
        (t.to, t.wait_ns) = (barrier, 1_000_000_000);
    }
    let first = TeamWork {
        thread: 0,
        to: CtxId(barrier.0 + 1),
        wall_ns: 1_500_000_000,
        cpu_ns: 1_500_000_000,
        wait_ns: 0,
        ..made.teams[0].clone()
    };
    let coordinator = TeamWork {
        wall_ns: 10_000_000,
        cpu_ns: 10_000_000,
        ..first.clone()
    };
    made.waits.clear();
    let with = |first: TeamWork| {
        let mut made = made.clone();
        made.teams.push(first);
        made
    };
    let rows = barriers(with(first.clone()));
    let expected = [
        Item::from("pthread_barrier_wait"),
        "pthread_barrier_wait".into(),
        2.0.into(),
    ];
    assert_eq!(rows, [expected]);
    let found = reported(&of_run(with(first)));
    assert_eq!(found[0].0, ThreadImbalance, "{found:?}");
    // One that only waits for the others is not one of them, and nobody is late for its sake.
    let found = reported(&of_run(with(coordinator)));
    assert!(found.iter().all(|f| f.0 != ThreadImbalance), "{found:?}");
}

/// What a run's teams wait in, what the last thread did, and the seconds.
fn barriers(run: Run) -> Vec<[Item; 3]> {
    let sections = waiting(run);
    let by_call = sections.get(1).expect("a table by call");
    let column = |name: &str| by_call.column(name).expect("a column").into_iter();
    let (calls, on) = (column("call"), column("on_call"));
    let ends = calls.zip(on).zip(column("wait_seconds"));
    ends.map(|((call, on), wait)| [call.clone(), on.clone(), wait.clone()])
        .collect()
}

#[test]
fn a_team_waits_for_the_thread_that_is_last() {
    let of = |busy| Hybrid {
        threads: 4,
        busy,
        ..Default::default()
    };
    let row = |on: Option<&str>, seconds: f64| {
        let on = on.map_or(Item::Missing, Item::from);
        [Item::from("GOMP_parallel"), on, seconds.into()]
    };
    let third = of(|_, t| [0.5, 1.0, 1.5, 1.0][usize::from(t)]);
    assert_eq!(barriers(run(4, &third)), [row(Some("work"), 8.0)]);
    // The rank's own thread is.
    let first = of(|_, t| [1.5, 1.0, 1.0, 1.0][usize::from(t)]);
    assert_eq!(barriers(run(4, &first)), [row(Some("work"), 6.0)]);
    // All wait as long again, since it is not always the same.
    let mut changing = run(4, &third);
    for t in &mut changing.teams {
        t.wait_ns += 125_000_000;
    }
    let expected = [row(Some("work"), 8.0), row(None, 2.0)];
    assert_eq!(barriers(changing), expected);
    // Nobody is always last.
    let mut even = run(4, &of(|_, _| 1.0));
    for t in &mut even.teams {
        t.wait_ns += 125_000_000;
    }
    assert_eq!(barriers(even), [row(None, 2.0)]);
}

/// A run in which thread 1 is late, and two calls of a barrier on one line.
fn two_calls() -> (Run, [CtxId; 2]) {
    let late = Hybrid {
        busy: |_, t| if t == 1 { 1.5 } else { 0.5 },
        ..Default::default()
    };
    let mut made = run(2, &late);
    let calls = [0x12c1, 0x12e1].map(|offset| {
        made.contexts.push(Context {
            parent: REGION,
            module: 0,
            offset,
            exact: false,
        });
        CtxId(made.contexts.len() as u32 - 1)
    });
    (made, calls)
}

/// Adds as much work in which the threads change places, so that both compute as much in all; `ends` has its ends for what
/// was there.
fn and_in_turn(made: &mut Run, ends: impl Fn(&TeamWork) -> (CtxId, CtxId)) {
    let others = made.teams.iter().zip(made.teams.iter().rev());
    let turned = others.map(|(t, other)| TeamWork {
        rank: t.rank,
        thread: t.thread,
        from: ends(t).0,
        to: ends(t).1,
        ..other.clone()
    });
    let turned: Vec<TeamWork> = turned.collect();
    made.teams.extend(turned);
    made.samples.iter_mut().for_each(|s| {
        let seconds = if s.cpu_ns > 0 { 2_000_000_000 } else { 0 };
        (s.cpu_ns, s.blocked_ns) = (seconds, s.blocked_ns * 2);
    });
}

/// Compilers make several calls of one barrier, and each thread may come to another one.
#[test]
fn calls_of_one_barrier_are_one() {
    let (mut made, calls) = two_calls();
    for t in &mut made.teams {
        t.to = calls[usize::from(t.thread)];
    }
    assert_eq!(barriers(made.clone())[0][2], Item::from(2.0));
    let d = of_run(made.clone());
    assert_eq!(reported(&d), [(ThreadImbalance, "0-1".into(), 110, 0.5)]);

    and_in_turn(&mut made, |t| (t.to, REGION));
    let d = of_run(made);
    let cause = d.causes.first().expect("a cause");
    assert_eq!(cause.class, ThreadImbalance, "{:?}", reported(&d));
    let text = &cause.evidence[0].text;
    let end = "computed 2.00 s on average, each the slowest between some of its barriers";
    assert!(text.ends_with(&format!("threads 0-1 {end}")), "{text}");
    let step = &cause.path[0].what;
    assert!(step.ends_with("in each thread for the slowest"), "{step}");
}

/// Each thread waits in the call that it came to.
#[test]
fn waits_are_at_the_call_that_a_thread_came_to() {
    let (mut made, calls) = two_calls();
    for t in &mut made.teams {
        t.to = calls[usize::from(t.thread)];
    }
    let runs = Recorded::join(vec![made], structure()).expect("a whole run");
    let view = runs[0].parallel();
    let number = |name: &str, v: u32| {
        let column = view.vertices.get(name).expect("a column");
        column.number(v as usize).expect("a number")
    };
    let kinds = view.edges.get("kind").expect("kinds");
    let ends = view.graph.sources().iter().zip(view.graph.targets());
    let barriers = (ends.enumerate()).filter(|(e, _)| kinds.text(*e) == Some("barrier"));
    let mut found = 0;
    for (_, (src, dst)) in barriers {
        assert_eq!((number("thread", *src), number("thread", *dst)), (1.0, 0.0));
        assert_ne!(number("vertex", *src), number("vertex", *dst));
        found += 1;
    }
    assert_eq!(found, 2);
}

/// Threads go from one to the other, so these are two, and threads that are late in turn do not even out.
#[test]
fn two_barriers_on_one_line_are_two() {
    let (mut made, [first, second]) = two_calls();
    for t in &mut made.teams {
        (t.from, t.to) = (first, second);
    }
    and_in_turn(&mut made, |t| (t.to, t.from));
    let d = of_run(made);
    let cause = d.causes.first().expect("a cause");
    assert_eq!(cause.class, ThreadImbalance, "{:?}", reported(&d));
}
