//! The critical path of ranks with threads: where the slowest thread of each team is.

use super::hybrid::{CALLS, CREATE, Hybrid, LOCK, REGION, WORK, run, structure};
use headwater_dataflow::Recorded;
use headwater_dataflow::flow::{Cache, Runner};
use headwater_diagnosis::Options;
use headwater_diagnosis::paradigm::by_name;
use headwater_model::report::{Item, Report};
use headwater_model::run::{Run, Sample, TeamWork};

fn report(paradigm: &str, run: Run) -> Report {
    let recorded = Recorded::join(vec![run], structure()).expect("a whole run");
    let paradigm = by_name(paradigm).expect("a paradigm");
    let cache = Cache::default();
    let report = paradigm.run(&recorded, &Options::default(), &Runner::quiet(&cache));
    report.expect("runs")
}

/// Places on the path: first line, seconds to hundredths, and threads.
fn path(run: Run) -> Vec<(String, f64, String)> {
    let report = report("critical-path", run);
    let table = report.sections.first().expect("a table");
    let column = |name: &str| table.column(name).expect("a column");
    let text = |item: &Item| match item {
        Item::Text(text) => text.clone(),
        _ => String::new(),
    };
    let number = |item: &Item| match item {
        Item::Number(x) => (x * 100.0).round() / 100.0,
        _ => f64::NAN,
    };
    let places = column("location").into_iter().map(text);
    let seconds = column("on_path_seconds").into_iter().map(number);
    let threads = column("path_threads").into_iter().map(text);
    places
        .zip(seconds)
        .zip(threads)
        .map(|((place, seconds), threads)| (place, seconds, threads))
        .filter(|p| p.1 > 0.0)
        .collect()
}

fn at(place: &str, seconds: f64, threads: &str) -> (String, f64, String) {
    (place.to_string(), seconds, threads.to_string())
}

#[test]
fn it_goes_through_the_slowest_thread_of_a_team() {
    let late = Hybrid {
        threads: 4,
        busy: |_, t| if t == 2 { 1.5 } else { 0.5 },
        serial: |_| 0.25,
        ..Hybrid::default()
    };
    let found = path(run(1, &late));
    assert_eq!(
        found,
        [at("app.c:110-115", 1.5, "2"), at("app.c:20-25", 0.25, "")],
        "{REGION:?} {WORK:?}"
    );
}

#[test]
fn it_goes_through_threads_that_the_rank_sleeps_for() {
    let late = Hybrid {
        threads: 3,
        busy: |_, t| if t == 1 { 1.5 } else { 0.5 },
        joined: true,
        ..Hybrid::default()
    };
    let found = path(run(1, &late));
    assert_eq!(found, [at("app.c:110-115", 1.5, "1")], "{CREATE:?}");
}

#[test]
fn it_goes_through_threads_that_lose_nothing() {
    for threads in [1, 3] {
        let equal = Hybrid {
            threads,
            busy: |_, _| 1.5,
            joined: true,
            ..Hybrid::default()
        };
        let found = path(run(1, &equal));
        assert_eq!(found, [at("app.c:110-115", 1.5, "1")], "{threads} threads");
    }
}

#[test]
fn it_stays_with_the_rank_where_its_own_thread_is_the_slowest() {
    let own = Hybrid {
        busy: |_, t| if t == 0 { 1.5 } else { 0.5 },
        ..Hybrid::default()
    };
    assert_eq!(path(run(1, &own)), [at("app.c:110-115", 1.5, "")]);
}

#[test]
fn waiting_for_a_lock_is_where_others_hold_it() {
    let waits = Hybrid {
        busy: |_, _| 1.0,
        locked: |_, t| if t == 1 { 0.5 } else { 0.0 },
        ..Hybrid::default()
    };
    let found = path(run(1, &waits));
    let waited: f64 = found
        .iter()
        .filter(|p| p.0 != "app.c:110-115")
        .map(|p| p.1)
        .sum();
    let computed: f64 = found
        .iter()
        .filter(|p| p.0 == "app.c:110-115")
        .map(|p| p.1)
        .sum();
    assert_eq!((computed, waited), (1.0, 0.5), "{found:?} {LOCK:?}");
}

/// The rank sleeps for both teams in the same call.
#[test]
fn teams_that_follow_one_another_are_each_on_it() {
    let first = Hybrid {
        threads: 3,
        busy: |_, t| if t == 1 { 1.5 } else { 0.5 },
        joined: true,
        ..Hybrid::default()
    };
    let mut run = run(1, &first);
    let asleep = run.samples.iter().filter(|s| s.thread == 0);
    let asleep: u64 = asleep.map(|s| s.blocked_ns).sum();
    // The same again, of threads that another call made.
    let later: Vec<_> = (run.teams.iter())
        .map(|t| TeamWork {
            team: CALLS[0],
            from: CALLS[0],
            to: CALLS[0],
            thread: t.thread + 10,
            ..*t
        })
        .collect();
    run.teams.extend(later);
    let workers: Vec<_> = run
        .samples
        .iter()
        .filter(|s| s.thread > 0)
        .cloned()
        .collect();
    let later = workers.into_iter().map(|s| Sample {
        thread: s.thread + 10,
        ctx: CALLS[0],
        ..s
    });
    run.samples.extend(later);
    for s in run.samples.iter_mut().filter(|s| s.thread == 0) {
        s.blocked_ns *= 2;
    }
    for s in &mut run.segments {
        if s.thread == 0 && s.blocked_ns > 0 {
            s.blocked_ns += asleep;
            s.wall_ns += asleep;
            s.max_busy_ns += asleep;
        }
    }
    run.ranks[0].wall_ns += asleep;
    let found = path(run);
    let of = |threads: &str| -> f64 {
        let own = found.iter().filter(|p| p.2 == threads);
        own.map(|p| p.1).sum()
    };
    assert_eq!((of("1"), of("11")), (1.5, 1.5), "{found:?}");
}

/// Whoever waits for a thread waits for its last place.
#[test]
fn a_join_waits_for_the_end_of_the_thread() {
    let made = Hybrid {
        threads: 1,
        busy: |_, _| 1.5,
        joined: true,
        ..Hybrid::default()
    };
    let report = report("wait-states", run(1, &made));
    let by_call = report.sections.get(1).expect("a second table");
    let column = |name: &str| -> Vec<Item> {
        let items = by_call.column(name).expect("a column");
        items.into_iter().cloned().collect()
    };
    assert_eq!(column("call"), [Item::from("pthread_join")]);
    assert_eq!(column("on_call"), [Item::from("work")]);
}
