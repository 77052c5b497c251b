//! Time off the core is sleep only where the rank can have slept; a stall that happens once is a one-off.

mod support;

use headwater_model::diagnosis::{CauseClass, Diagnosis};
use headwater_model::run::Run;
use headwater_passes::{Options, diagnose};
use support::{piece, run, structure};

/// Ranks of the made-up program, each with 1 s of work in 100 repetitions.
const RANKS: u32 = 4;

/// The rank that spends `off` seconds more off the core, and gave its core up so many times.
fn stalled(off: f64, switches: Option<u64>) -> Run {
    let mut made = run(RANKS, &[piece("MPI_Allreduce", |_, _| 1.0)]);
    let off = (off * 1e9) as u64;
    for s in made.segments.iter_mut().filter(|s| s.rank == 1) {
        s.wall_ns += off;
        s.blocked_ns += off;
        s.max_busy_ns += off / s.count;
    }
    for c in made.calls.iter_mut().filter(|c| c.rank != 1) {
        c.wall_ns += off;
        c.cpu_ns += off;
    }
    for r in &mut made.ranks {
        r.wall_ns += off;
        r.voluntary_switches = switches;
    }
    made
}

fn of_run(run: Run) -> Diagnosis {
    diagnose(vec![run], structure(1), &Options::default()).expect("one run is enough")
}

fn told(d: &Diagnosis) -> Vec<(CauseClass, String, f64)> {
    let gain = |seconds: f64| (seconds * 100.0).round() / 100.0;
    d.causes
        .iter()
        .map(|c| (c.class, c.ranks.to_string(), gain(c.gain_seconds)))
        .collect()
}

#[test]
fn a_rank_that_never_gave_its_core_up_did_not_sleep() {
    let io = [(CauseClass::SystemCallOrIo, "1".to_string(), 0.5)];
    // Where the switches were not counted, and where each repetition has one, it may have slept.
    for switches in [None, Some(100)] {
        assert_eq!(told(&of_run(stalled(0.5, switches))), io, "{switches:?}");
    }
    // What it was then is waiting for a core.
    let preempted = [(CauseClass::Preempted, "1".to_string(), 0.5)];
    assert_eq!(told(&of_run(stalled(0.5, Some(0)))), preempted);
}

#[test]
fn a_rank_sleeps_in_as_many_repetitions_as_it_has_switches_at_the_most() {
    // Forty repetitions of 20 ms each.
    let both = [
        (CauseClass::SystemCallOrIo, "1".to_string(), 0.8),
        (CauseClass::Preempted, "1".to_string(), 0.2),
    ];
    assert_eq!(told(&of_run(stalled(1.0, Some(40)))), both);
    for switches in (0..200).step_by(7) {
        let d = of_run(stalled(1.0, Some(switches)));
        let most = (switches as f64 * 0.02).min(1.0);
        let asleep = d.causes.iter();
        let asleep = asleep.filter(|c| c.class == CauseClass::SystemCallOrIo);
        let asleep: f64 = asleep.map(|c| c.gain_seconds).sum();
        assert!(asleep <= most + 1e-6, "{switches}: {asleep} of {most}");
    }
}

#[test]
fn a_sleep_that_happens_once_is_a_one_off() {
    let mut once = stalled(0.5, Some(3));
    for s in once.segments.iter_mut().filter(|s| s.rank == 1) {
        s.max_busy_ns = 510_000_000;
    }
    assert_eq!(
        told(&of_run(once)),
        [(CauseClass::OneOff, "1".to_string(), 0.5)]
    );
}
