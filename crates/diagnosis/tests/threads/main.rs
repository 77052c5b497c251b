//! What the diagnosis says of programs whose ranks have threads.

mod barriers;
mod critical_path;
mod hybrid;
mod locks;
mod pools;
mod process;
mod regions;
mod serial;
mod short;
mod small;
mod two_loops;

use headwater_diagnosis::{Options, diagnose, impossible};
use headwater_model::diagnosis::{CauseClass, Diagnosis};
use headwater_model::run::{CtxId, Run, TeamWork, ThreadInfo};
use hybrid::{CALLS, Hybrid, LOCK, REGION, STEP, WORK, module, named, run, structure};

fn of_run(run: Run) -> Diagnosis {
    from(Options::default().least_share, run)
}

/// Causes that cost at least this share of the run time.
fn from(least_share: f64, run: Run) -> Diagnosis {
    let options = Options {
        least_share,
        ..Options::default()
    };
    let d = diagnose(vec![run], structure(), &options).expect("one run is enough");
    assert_eq!(impossible(&d), Vec::<String>::new());
    d
}

fn diagnosis(ranks: u32, of: Hybrid) -> Diagnosis {
    of_run(run(ranks, &of))
}

/// Class, ranks, first line and seconds to gain, to hundredths, of each cause.
fn reported(d: &Diagnosis) -> Vec<(CauseClass, String, u32, f64)> {
    let gain = |seconds: f64| (seconds * 100.0).round() / 100.0;
    d.causes
        .iter()
        .map(|c| {
            (
                c.class,
                c.ranks.to_string(),
                c.place.first_line,
                gain(c.gain_seconds),
            )
        })
        .collect()
}

use CauseClass::*;

#[test]
fn threads_that_do_the_same_are_no_finding() {
    let d = diagnosis(4, Hybrid::default());
    assert_eq!(reported(&d), []);
    let note = "2 threads a rank were recorded (4 ranks)";
    assert!(d.notes.iter().any(|n| n.starts_with(note)), "{:?}", d.notes);
    let scatter = Hybrid {
        threads: 16,
        busy: |r, t| 1.0 + 0.02 * f64::from((u32::from(t) * 7 + r) % 5),
        locked: |_, t| 0.005 * f64::from(t % 2),
        serial: |_| 0.005,
        ..Default::default()
    };
    assert_eq!(reported(&diagnosis(4, scatter)), []);
}

#[test]
fn threads_with_uneven_work_are_found_with_their_loop() {
    let late = |_, t| if t == 1 { 1.5 } else { 0.5 };
    let d = diagnosis(
        4,
        Hybrid {
            busy: late,
            ..Default::default()
        },
    );
    assert_eq!(reported(&d), [(ThreadImbalance, "0-3".into(), 110, 0.5)]);
    let c = &d.causes[0];
    let times = c.by_thread.as_ref().expect("threads");
    assert_eq!((&times.threads, &times.concerned), (&vec![0, 1], &vec![1]));
    assert_eq!(times.seconds, [0.5, 1.5]);
    let steps: Vec<(&str, u32)> = c
        .path
        .iter()
        .map(|s| (s.what.as_str(), s.place.first_line))
        .collect();
    let expected = [
        ("wait in thread 0 for thread 1", 10),
        ("compute longer in some threads", 110),
    ];
    assert_eq!(steps, expected);
    // The rank's own thread may be the late one, and most may be late.
    for (late, price, who) in [
        (
            (|_, t| if t == 0 { 1.5 } else { 0.5 }) as fn(u32, u16) -> f64,
            0.75,
            vec![0],
        ),
        (|_, t| if t == 3 { 0.0 } else { 1.0 }, 0.25, vec![0, 1, 2]),
    ] {
        let d = diagnosis(
            2,
            Hybrid {
                threads: 4,
                busy: late,
                ..Default::default()
            },
        );
        assert_eq!(reported(&d), [(ThreadImbalance, "0-1".into(), 110, price)]);
        let times = d.causes[0].by_thread.as_ref().expect("threads");
        assert_eq!(times.concerned, who);
    }
}

#[test]
fn gains_between_threads_have_a_range() {
    let uneven = Hybrid {
        threads: 4,
        busy: |_, t| {
            if t == 3 {
                2.0
            } else {
                0.9 + 0.1 * f64::from(t)
            }
        },
        ..Default::default()
    };
    let serial = Hybrid {
        serial: |_| 1.0,
        ..Default::default()
    };
    for of in [uneven, serial] {
        let d = diagnosis(2, of);
        let c = d.causes.first().expect("a cause");
        let (least, most) = c.gain_range_seconds;
        assert!(least <= c.gain_seconds && c.gain_seconds <= most);
        assert!(most - least < 0.5 * c.gain_seconds, "{least} to {most}");
        let between = c.class == ThreadImbalance;
        assert!(!between || most > least, "{least} to {most}");
    }
}

#[test]
fn a_rank_that_its_threads_make_late_has_no_more_work() {
    let busy = |r, t| match (r, t) {
        (2, 0) => 0.5,
        (2, 1) => 1.5,
        _ => 1.0,
    };
    for joined in [false, true] {
        let of = Hybrid {
            busy: if joined {
                |r, t| {
                    if (r, t) == (2, 1) {
                        1.5
                    } else if r == 2 {
                        0.5
                    } else {
                        1.0
                    }
                }
            } else {
                busy
            },
            joined,
            ..Default::default()
        };
        let d = diagnosis(4, of);
        assert_eq!(
            reported(&d),
            [(ThreadImbalance, "2".into(), 110, 0.5)],
            "{joined}"
        );
        let waiting = d.causes[0].waiting_seconds.expect("the others wait");
        assert!((waiting - 1.5).abs() < 0.05, "{waiting}");
        assert_eq!(d.causes[0].path[0].place.first_line, 30);
    }
}

#[test]
fn a_rank_with_more_work_for_all_its_threads_is_uneven_work() {
    for joined in [false, true] {
        let d = diagnosis(
            4,
            Hybrid {
                busy: |r, _| if r == 2 { 2.0 } else { 1.0 },
                joined,
                ..Default::default()
            },
        );
        assert_eq!(
            reported(&d),
            [(UnevenWork, "2".into(), 110, 1.0)],
            "{joined}"
        );
    }
}

#[test]
fn a_rank_late_by_both_has_two_causes_that_add_up() {
    let d = diagnosis(
        4,
        Hybrid {
            busy: |r, t| match (r, t) {
                (2, 0) => 1.2,
                (2, 1) => 2.4,
                _ => 1.0,
            },
            ..Default::default()
        },
    );
    let expected = [
        (UnevenWork, "2".to_string(), 110, 0.8),
        (ThreadImbalance, "2".to_string(), 110, 0.6),
    ];
    assert_eq!(reported(&d), expected);
}

#[test]
fn late_threads_of_a_rank_that_nobody_waits_for_cost_nothing() {
    let d = diagnosis(
        4,
        Hybrid {
            busy: |r, t| match (r, t) {
                (2, 0) => 0.2,
                (2, 1) => 0.8,
                _ => 1.0,
            },
            ..Default::default()
        },
    );
    assert!(
        d.causes.iter().all(|c| c.class != ThreadImbalance),
        "{:?}",
        reported(&d)
    );
}

#[test]
fn sleep_of_threads_that_allocate_is_contention_in_the_allocator() {
    let d = diagnosis(
        2,
        Hybrid {
            allocates: |_, _| 0.4,
            ..Default::default()
        },
    );
    assert_eq!(
        reported(&d),
        [(AllocatorContention, "0-1".into(), 130, 0.4)]
    );
}

#[test]
fn threads_made_anew_are_one_team_after_another() {
    // In two generations of two threads first the one is late and then the other.
    let mut made = run(
        1,
        &Hybrid {
            joined: true,
            threads: 4,
            busy: |_, t| if t == 1 || t == 4 { 0.9 } else { 0.3 },
            ..Default::default()
        },
    );
    for t in &mut made.teams {
        t.count = 1;
    }
    for t in &mut made.threads {
        (t.begin_ns, t.wall_ns) = (if t.thread > 2 { 900_000_000 } else { 0 }, t.cpu_ns);
    }
    let s = &mut made.segments[0];
    (s.blocked_ns, s.wall_ns) = (1_800_000_000, 1_800_000_000);
    for w in &mut made.waits {
        w.wait_ns = 1_800_000_000;
    }
    made.ranks[0].wall_ns = 1_800_000_000;
    assert_eq!(
        reported(&of_run(made)),
        [(ThreadImbalance, "0".into(), 110, 0.6)]
    );
}

#[test]
fn threads_made_on_two_call_paths_are_one_team_if_they_run_at_the_same_time() {
    let reported_if = |two_begin_at: u64| {
        let mut made = run(
            1,
            &Hybrid {
                joined: true,
                threads: 4,
                busy: |_, t| if t > 2 { 0.3 } else { 0.9 },
                ..Default::default()
            },
        );
        // The call in `step` makes all threads; `main` calls `step` at two places.
        let (step, work) = (
            made.contexts[STEP.0 as usize],
            made.contexts[WORK.0 as usize],
        );
        let teams = CALLS.map(|parent| {
            let context = |parent, of| headwater_model::run::Context { parent, ..of };
            let at = CtxId(made.contexts.len() as u32);
            made.contexts
                .extend([context(parent, step), context(at, work)]);
            (at, CtxId(at.0 + 1))
        });
        let of = |thread: u16| teams[usize::from(thread > 2)];
        for t in &mut made.teams {
            let team = of(t.thread).0;
            (t.team, t.from, t.to, t.count) = (team, team, team, 1);
        }
        for t in made.threads.iter_mut().filter(|t| t.thread > 0) {
            let begin = if t.thread > 2 { two_begin_at } else { 0 };
            (t.made_by, t.begin_ns, t.wall_ns) = (of(t.thread).0, begin, t.cpu_ns);
        }
        for s in made.samples.iter_mut().filter(|s| s.thread > 0) {
            s.ctx = of(s.thread).1;
        }
        reported(&of_run(made))
    };
    assert_eq!(
        reported_if(0),
        [(ThreadImbalance, "0".to_string(), 110, 0.3)]
    );
    assert_eq!(reported_if(900_000_000), []);
}

/// Two ranks of which one has a thread without a core, on two cores.
fn without_core(joined: bool) -> Run {
    let of = Hybrid {
        joined,
        cores: 2,
        runq: |r, t| if (r, t) == (1, 1) { 2.0 } else { 0.0 },
        ..Default::default()
    };
    run(2, &of)
}

/// The same with threads that live to the end, and which the ranks' first threads wait for in calls that are no waits for
/// threads.
fn asleep_beside_threads() -> Run {
    let mut made = without_core(true);
    made.teams.clear();
    made.waits.clear();
    for s in made.samples.iter_mut().filter(|s| s.blocked_ns > 0) {
        s.ctx = LOCK;
    }
    made
}

#[test]
fn waiting_for_a_thread_without_a_core_is_set_aside() {
    for joined in [false, true] {
        let d = of_run(without_core(joined));
        assert_eq!(reported(&d), [], "{joined}");
        assert!(
            d.notes[0].contains("more threads than cores (2)"),
            "{:?}",
            d.notes
        );
        assert!((d.scales[0].model_seconds - 1.0).abs() < 0.01);
        assert_eq!(d.scales[0].threads, 4);
    }
}

/// Threads that live to the end of the program left no team, and whoever waits for them may wait for their signals.
#[test]
fn waiting_for_a_thread_that_lives_to_the_end_or_its_signal_is_set_aside() {
    let mut unended = without_core(true);
    unended.teams.clear();
    let signalled = asleep_beside_threads();
    // A thread that sleeps all the time is none of those that anybody waits for.
    let mut with_sleeper = without_core(true);
    for rank in 0..2 {
        with_sleeper.teams.push(TeamWork {
            rank,
            thread: 9,
            team: REGION,
            from: REGION,
            to: REGION,
            count: 1,
            wall_ns: 3_000_000_000,
            blocked_ns: 3_000_000_000,
            ..Default::default()
        });
        with_sleeper.threads.push(ThreadInfo {
            rank,
            thread: 9,
            made_by: REGION,
            wall_ns: 3_000_000_000,
            ..Default::default()
        });
    }
    with_sleeper.threads.sort_by_key(|t| (t.rank, t.thread));
    let runs = [
        (unended, "pthread_mutex_lock"),
        (signalled, "sigsuspend"),
        (with_sleeper, "pthread_mutex_lock"),
    ];
    for (made, name) in runs {
        let structures = named(name, module());
        let d = diagnose(vec![made], structures, &Options::default()).expect("a run");
        let seconds = d.scales[0].model_seconds;
        assert!((seconds - 1.0).abs() < 0.01, "{name}: {seconds}");
    }
}

/// A first thread that is awake for as long as its workers work may pause before they begin.
#[test]
fn only_a_pause_in_which_workers_must_have_worked_is_a_wait_for_them() {
    let mut paused = asleep_beside_threads();
    for rank in 0..2 {
        paused.threads.push(ThreadInfo {
            rank,
            ..Default::default()
        });
    }
    paused.threads.sort_by_key(|t| (t.rank, t.thread));
    let seconds_if_it_lives = |wall_ns: u64| {
        let mut made = paused.clone();
        for t in made.threads.iter_mut().filter(|t| t.thread == 0) {
            t.wall_ns = wall_ns;
        }
        let structures = named("nanosleep", module());
        let d = diagnose(vec![made], structures, &Options::default());
        d.expect("a run").scales[0].model_seconds
    };
    let waits = seconds_if_it_lives(3_000_000_000);
    assert!((waits - 1.0).abs() < 0.01, "{waits}");
    let sleeps = seconds_if_it_lives(9_000_000_000);
    assert!(sleeps > 2.5, "{sleeps}");
}

#[test]
fn spinning_for_a_thread_without_a_core_is_set_aside() {
    let mut made = without_core(false);
    // The runtime waits on the core, in code of its own below the call.
    let inside = CtxId(made.contexts.len() as u32);
    made.modules.push(headwater_model::run::Module {
        path: "/usr/lib/libgomp.so.1".into(),
        build_id: "ef".into(),
    });
    made.contexts.push(headwater_model::run::Context {
        parent: REGION,
        module: made.modules.len() as u32 - 1,
        offset: 0x10,
        exact: true,
    });
    for s in made.samples.iter_mut().filter(|s| s.ctx == REGION) {
        (s.ctx, s.cpu_ns, s.blocked_ns) = (inside, s.blocked_ns, 0);
    }
    for s in &mut made.segments {
        (s.cpu_ns, s.blocked_ns) = (s.cpu_ns + s.blocked_ns, 0);
    }
    let d = of_run(made);
    assert_eq!(reported(&d), []);
    assert!((d.scales[0].model_seconds - 1.0).abs() < 0.01);
}

#[test]
fn threads_of_a_rank_bound_to_one_core_share_it() {
    let mut bound = run(
        1,
        &Hybrid {
            cores: 2,
            joined: true,
            runq: |_, _| 1.0,
            ..Default::default()
        },
    );
    bound.ranks[0].cpus = "0".into();
    bound.ranks[0].runq_ns = 2_000_000_000;
    let d = of_run(bound);
    assert_eq!(reported(&d), [(Preempted, "0".into(), 2, 1.0)]);
    let cause = &d.causes[0];
    assert!(
        cause.explanation.contains("bound to"),
        "{}",
        cause.explanation
    );
}

#[test]
fn a_guest_of_threads_that_it_made_may_be_the_slowest() {
    // Between two barriers the rank's own thread computes 1.5 s, the two that it made 0.5 s each.
    let mut made = run(
        2,
        &Hybrid {
            joined: true,
            busy: |_, _| 0.5,
            serial: |_| 1.5,
            ..Default::default()
        },
    );
    let guests: Vec<TeamWork> = made
        .teams
        .iter()
        .filter(|t| t.thread == 1)
        .map(|t| TeamWork {
            thread: 0,
            wall_ns: 1_500_000_000,
            cpu_ns: 1_500_000_000,
            ..t.clone()
        })
        .collect();
    made.teams.extend(guests);
    made.waits.clear();
    made.samples.retain(|s| s.blocked_ns == 0);
    for s in &mut made.segments {
        (s.wall_ns, s.cpu_ns, s.blocked_ns) = (1_500_000_000, 1_500_000_000, 0);
    }
    for r in &mut made.ranks {
        r.wall_ns = 1_500_000_000;
    }
    let d = of_run(made);
    assert_eq!(reported(&d), [(ThreadImbalance, "0-1".into(), 20, 0.67)]);
    let times = d.causes[0].by_thread.as_ref().expect("threads");
    assert_eq!(times.concerned, [0]);
}

#[test]
fn copies_of_a_call_begin_one_team() {
    // The compiler has unrolled the loop that makes the threads: the second is made by another call of the line.
    let mut made = run(
        2,
        &Hybrid {
            joined: true,
            busy: |_, t| if t == 1 { 1.5 } else { 0.5 },
            ..Default::default()
        },
    );
    let copy = |run: &mut Run, of: usize, parent: CtxId| {
        let context = run.contexts[of];
        run.contexts.push(headwater_model::run::Context {
            parent,
            offset: context.offset + 4,
            ..context
        });
        CtxId(run.contexts.len() as u32 - 1)
    };
    let create = copy(&mut made, 5, CtxId::NONE);
    let work = copy(&mut made, 7, create);
    for t in made.teams.iter_mut().filter(|t| t.thread == 2) {
        (t.team, t.from, t.to) = (create, create, create);
    }
    for s in made.samples.iter_mut().filter(|s| s.thread == 2) {
        s.ctx = work;
    }
    let d = of_run(made);
    assert_eq!(reported(&d), [(ThreadImbalance, "0-1".into(), 110, 0.5)]);
}
