//! Time off the core is sleep only where the rank can have slept; a stall that happens once is a one-off.

mod support;

use headwater_diagnosis::{Options, diagnose};
use headwater_model::diagnosis::{CauseClass, Diagnosis};
use headwater_model::run::Run;
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

fn reported(d: &Diagnosis) -> Vec<(CauseClass, String, f64)> {
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
        assert_eq!(
            reported(&of_run(stalled(0.5, switches))),
            io,
            "{switches:?}"
        );
    }
    // What it was then is waiting for a core.
    let preempted = [(CauseClass::Preempted, "1".to_string(), 0.5)];
    assert_eq!(reported(&of_run(stalled(0.5, Some(0)))), preempted);
}

#[test]
fn a_rank_sleeps_in_as_many_repetitions_as_it_has_switches_at_the_most() {
    // Forty repetitions of 20 ms each.
    let both = [
        (CauseClass::SystemCallOrIo, "1".to_string(), 0.8),
        (CauseClass::Preempted, "1".to_string(), 0.2),
    ];
    assert_eq!(reported(&of_run(stalled(1.0, Some(40)))), both);
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
        reported(&of_run(once)),
        [(CauseClass::OneOff, "1".to_string(), 0.5)]
    );
}

/// Ranks with 1 s of work that scatters by `scatter`, of which `asleep` seconds a rank are sleep.
fn sleeping(ranks: u32, scatter: f64, asleep: impl Fn(u32) -> f64) -> Run {
    let noise = move |r: u32| 1.0 + scatter * (f64::from((r * 7 + 3) % 11) / 5.0 - 1.0);
    let mut made = run(ranks, &[piece("MPI_Allreduce", move |r, _| noise(r))]);
    for s in &mut made.segments {
        let off = (asleep(s.rank) * 1e9) as u64;
        s.wall_ns += off;
        s.blocked_ns += off;
        s.max_busy_ns += off / s.count;
    }
    for s in &mut made.samples {
        s.blocked_ns = (asleep(s.rank) * 1e9) as u64;
    }
    for r in &mut made.ranks {
        r.voluntary_switches = Some(100);
    }
    made
}

#[test]
fn sleep_is_seen_beside_work_that_scatters_more() {
    let d = of_run(sleeping(16, 0.04, |r| if r == 5 { 0.1 } else { 0.0 }));
    let [(class, ranks, gain)] = &reported(&d)[..] else {
        panic!("{:?}", reported(&d))
    };
    assert_eq!((*class, ranks.as_str()), (CauseClass::SystemCallOrIo, "5"));
    assert!((0.03..0.11).contains(gain), "{gain}");
    let evidence = &d.causes[0].evidence[0].text;
    assert!(
        evidence.contains("1 of 16 ranks sleeps 100 ms here"),
        "{evidence}"
    );
}

#[test]
fn sleep_of_all_ranks_is_a_cause_where_more_ranks_do_not_shorten_it() {
    let scale = |p: u32, asleep: f64| {
        let mut made = sleeping(p, 0.0, move |_| asleep);
        let less = |ns: u64| ns * 4 / u64::from(p);
        for s in &mut made.segments {
            s.cpu_ns = less(s.cpu_ns);
            s.wall_ns = s.cpu_ns + s.blocked_ns;
            s.max_busy_ns = s.wall_ns / s.count;
        }
        made.samples
            .iter_mut()
            .for_each(|s| s.cpu_ns = less(s.cpu_ns));
        made
    };
    let options = Options {
        scaling: Some(headwater_model::diagnosis::Scaling::Strong),
        ..Options::default()
    };
    let of = |asleep: [f64; 2]| {
        let runs = vec![scale(4, asleep[0]), scale(16, asleep[1])];
        reported(&diagnose(runs, structure(1), &options).expect("two runs are enough"))
    };
    assert_eq!(
        of([0.1, 0.1]),
        [(CauseClass::SystemCallOrIo, "0-15".to_string(), 0.08)]
    );
    assert_eq!(of([0.4, 0.1]), []);
}

/// Rank 1 takes 0.5 s of CPU time more in one repetition, of which `sampled` is in samples.
fn once_longer(sampled: f64) -> Run {
    let mut made = run(RANKS, &[piece("MPI_Allreduce", |_, _| 1.0)]);
    let off = 500_000_000;
    for s in made.segments.iter_mut().filter(|s| s.rank == 1) {
        s.wall_ns += off;
        s.cpu_ns += off;
        s.max_busy_ns += off;
    }
    for s in made.samples.iter_mut().filter(|s| s.rank == 1) {
        s.cpu_ns += off;
        s.count += (sampled * 0.5 * 200.0) as u32 + 1;
    }
    for c in made.calls.iter_mut().filter(|c| c.rank != 1) {
        c.wall_ns += off;
        c.cpu_ns += off;
    }
    made.ranks.iter_mut().for_each(|r| r.wall_ns += off);
    made
}

#[test]
fn a_core_that_stood_still_is_no_work() {
    let worked = of_run(once_longer(1.0));
    assert_eq!(
        reported(&worked),
        [(CauseClass::OneOff, "1".to_string(), 0.5)]
    );
    let stopped = of_run(once_longer(0.0));
    assert_eq!(
        reported(&stopped),
        [(CauseClass::Preempted, "1".to_string(), 0.5)]
    );
    let note = |n: &&String| n.contains("stopped the core of rank 1 for up to 500 ms");
    assert_eq!(
        stopped.notes.iter().filter(note).count(),
        1,
        "{:?}",
        stopped.notes
    );
}
