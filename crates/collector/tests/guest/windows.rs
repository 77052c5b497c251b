//! Event windows: what they hold of programs without a collective, short and long.

use crate::case::{alone, cases};
use headwater_model::run::{EventKind, Run};

/// Part of the run time in windows, and events of the rank with the most.
fn covered(run: &Run) -> (f64, usize) {
    let length: u64 = run.header.windows.iter().map(|w| w.length_ns).sum();
    let wall = run.ranks.iter().map(|r| r.wall_ns).max().unwrap_or(0);
    let events = |rank: u32| run.events.iter().filter(|e| e.rank == rank).count();
    (
        length as f64 / wall.max(1) as f64,
        (0..run.header.ranks).map(events).max().unwrap_or(0),
    )
}

#[test]
fn a_short_program_without_a_collective_is_kept_as_a_whole() {
    let _alone = alone();
    for case in cases("pipeline.c") {
        case.unchanged("", &["300"]);
        let run = case.recorded();
        let [window] = run.header.windows[..] else {
            panic!("{}: {:?}", case.library, run.header.windows)
        };
        assert!(window.from_start && window.to_end, "{window:?}");
        for (rank, kind) in [(0, EventKind::Send), (1, EventKind::Recv)] {
            let of = |e: &&_| matches!(e, headwater_model::run::Event { rank: r, kind: k, link, .. } if (*r, *k) == (rank, kind) && *link != 0);
            assert_eq!(
                run.events.iter().filter(of).count(),
                300,
                "{}",
                case.library
            );
        }
    }
}

#[test]
fn windows_of_a_long_program_without_a_collective_are_spread_over_it() {
    let _alone = alone();
    for case in cases("pipeline.c") {
        case.unchanged("", &["40000"]);
        let run = case.recorded();
        let (share, events) = covered(&run);
        let what = format!("{}: {share:.3} {events}", case.library);
        assert!(share >= 0.3 || events >= 4096, "{what}");
        assert!(events < 4 * 4096, "{what}");
        assert!(run.header.windows.len() >= 8, "{what}");
        let wall = run.ranks.iter().map(|r| r.wall_ns).max().unwrap_or(0);
        for quarter in 0..4 {
            let here = |begin: u64| (wall / 4 * quarter..wall / 4 * (quarter + 1)).contains(&begin);
            let all = run.header.windows.iter();
            assert!(
                all.filter(|w| here(w.begin_ns)).count() > 0,
                "{what} {quarter}"
            );
        }
        // Both ends of a message are in the same windows, but for those on the way when one begins or ends.
        let joined = |kind| {
            run.events
                .iter()
                .filter(|e| e.kind == kind && e.link != 0)
                .count()
        };
        let (sent, received) = (joined(EventKind::Send), joined(EventKind::Recv));
        assert!(received * 10 >= sent * 7, "{what}: {received} of {sent}");
    }
}
