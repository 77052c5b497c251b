//! What is extrapolated from event windows stays within what is exact: run time, time in calls, computation of each
//! rank.

use super::support::{piece, run, structure};
use headwater_dataflow::Recorded;
use headwater_dataflow::flow::{Cache, Runner};
use headwater_diagnosis::paradigm::by_name;
use headwater_diagnosis::{Options, diagnose};
use headwater_model::report::{Item, Report};
use headwater_model::run::{CtxId, Event, EventKind, Run};

/// Four ranks compute a second each, evenly, and run for 1.2 seconds; in the only window, ten iterations, one rank
/// after another has four times the work of the others.
fn uneven_window() -> Run {
    let mut run = run(4, &[piece("MPI_Allreduce", |_, _| 1.0)]);
    run.ranks.iter_mut().for_each(|r| r.wall_ns = 1_200_000_000);
    run.calls.iter_mut().for_each(|c| c.wall_ns = 200_000_000);
    run.header.wall_seconds = 1.2;
    for rank in 0..4 {
        for n in 0..10 {
            run.events.push(Event {
                rank,
                ctx: CtxId(1),
                kind: EventKind::Collective,
                first_of_call: true,
                link: n + 1,
                peer: u32::MAX,
                busy_ns: if n % 4 == rank {
                    40_000_000
                } else {
                    10_000_000
                },
                ..Default::default()
            });
        }
    }
    run
}

fn sum(report: &Report, section: &str, column: &str) -> f64 {
    let of = report.sections.iter().find(|s| s.name == section);
    let items = of.and_then(|s| s.column(column)).expect("a column");
    let number = |i: &Item| match i {
        Item::Number(x) => *x,
        _ => 0.0,
    };
    items.into_iter().map(number).sum()
}

fn report(name: &str) -> Report {
    let recorded = Recorded::join(vec![uneven_window()], structure(1)).expect("a whole run");
    let cache = Cache::default();
    let paradigm = by_name(name).expect("a paradigm");
    let report = paradigm.run(&recorded, &Options::default(), &Runner::quiet(&cache));
    report.expect("runs")
}

#[test]
fn no_critical_path_is_longer_than_the_run() {
    // By the window alone it would take 40 ms for each 17.5 ms that ranks compute on the mean: 2.3 seconds.
    let path = sum(&report("critical-path"), "critical_path", "on_path_seconds");
    assert!(path > 0.9 && path <= 1.2 + 1e-9, "{path}");
}

#[test]
fn no_wait_is_longer_than_the_calls_and_nothing_lost_is_longer_than_the_run() {
    let d = diagnose(vec![uneven_window()], structure(1), &Options::default());
    let d = d.expect("one run is enough");
    let most = d.scales[0].wall_seconds;
    for cause in &d.causes {
        assert!(cause.gain_seconds <= 0.2 + 1e-9, "{cause:?}");
        assert!(
            cause.waiting_seconds.unwrap_or(0.0) <= 4.0 * 0.2 + 1e-6,
            "{cause:?}"
        );
    }
    assert!(d.scales[0].model_seconds <= most + 1e-9);
    // Ten iterations of a hundred.
    assert!(
        d.scales[0]
            .replayed_share
            .is_some_and(|s| (s - 0.175).abs() < 1e-3)
    );
}
