//! Regions of a runtime's threads: called from several places, run once, a little uneven.

use super::hybrid::{CALLS, Hybrid, REGION, STEP, WORK, run};
use super::{from, of_run, reported};
use headwater_model::diagnosis::CauseClass::ThreadImbalance;
use headwater_model::run::{Context, CtxId, Run};

/// A region in a function that is called from two places: each call has a late thread, but another one.
fn called_twice() -> Run {
    let late = |_, t| if t == 0 { 1.5 } else { 0.5 };
    let mut made = run(
        2,
        &Hybrid {
            busy: late,
            ..Default::default()
        },
    );
    let copy = |run: &mut Run, of: CtxId, parent: CtxId| {
        let context = run.contexts[of.0 as usize];
        run.contexts.push(Context { parent, ..context });
        CtxId(run.contexts.len() as u32 - 1)
    };
    // `step`, which has the region, is called by `main` twice.
    let first = copy(&mut made, CALLS[0], CtxId::NONE);
    let second = copy(&mut made, CALLS[1], CtxId::NONE);
    let step = made.contexts[STEP.0 as usize];
    made.contexts[REGION.0 as usize] = Context {
        parent: first,
        ..step
    };
    let region = copy(&mut made, STEP, second);
    let work = copy(&mut made, WORK, region);
    let other = |t: u16| 1 - t;
    let teams = made.teams.clone();
    made.teams.extend(teams.into_iter().map(|mut t| {
        (t.team, t.from, t.to, t.thread) = (region, region, region, other(t.thread));
        t
    }));
    let samples = made.samples.clone();
    made.samples.extend(samples.into_iter().map(|mut s| {
        let to = |ctx| if ctx == WORK { work } else { region };
        (s.ctx, s.cpu_ns, s.thread) = (to(s.ctx), s.cpu_ns, s.thread);
        s
    }));
    for s in made.samples.iter_mut().filter(|s| s.ctx == work) {
        s.cpu_ns = if s.thread == 0 {
            500_000_000
        } else {
            1_500_000_000
        };
    }
    for s in made.samples.iter_mut().filter(|s| s.ctx == region) {
        s.blocked_ns = if s.thread == 0 { 1_000_000_000 } else { 0 };
    }
    for s in &mut made.segments {
        (s.wall_ns, s.cpu_ns, s.blocked_ns) = (3_000_000_000, 2_000_000_000, 1_000_000_000);
    }
    for r in &mut made.ranks {
        r.wall_ns = 3_000_000_000;
    }
    for t in &mut made.threads {
        t.wall_ns = 3_000_000_000;
    }
    made
}

#[test]
fn a_region_that_is_called_from_two_places_is_one_cause() {
    // Threads that are late in turn do not even out, and each call alone may cost too little: a sixth of the run here.
    for least in [0.0, 0.2] {
        let d = from(least, called_twice());
        let expected = [(ThreadImbalance, "0-1".to_string(), 110, 1.0)];
        assert_eq!(reported(&d), expected, "{least}");
        let times = d.causes[0].by_thread.as_ref().expect("threads");
        assert_eq!(times.seconds, [2.0, 2.0]);
        assert_eq!(times.concerned, [0, 1]);
    }
}

#[test]
fn a_region_that_runs_once_in_the_long_life_of_its_threads_is_a_team() {
    let late = |_, t| if t == 1 { 1.5 } else { 0.5 };
    let of = Hybrid {
        busy: late,
        ..Default::default()
    };
    let mut made = run(1, &of);
    for t in &mut made.teams {
        t.count = 1;
    }
    for t in &mut made.threads {
        t.wall_ns *= 10;
    }
    assert_eq!(
        reported(&of_run(made)),
        [(ThreadImbalance, "0".to_string(), 110, 0.5)]
    );
}
