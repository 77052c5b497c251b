//! Programs of threads without MPI: one process, whose scale is its threads.

use super::hybrid::{CALLS, Hybrid, REGION, SERIAL, run, structure};
use headwater_diagnosis::{Options, diagnose, impossible};
use headwater_model::diagnosis::{CauseClass, Diagnosis, Scaling};
use headwater_model::run::{Context, CtxId, Run, Sample, Segment, ThreadInfo, WaitKind};

const SECOND: f64 = 1e9;

/// What a process of some threads does, seconds.
#[derive(Clone, Copy)]
struct Process {
    of: Hybrid,
    /// Computation and time without a core of the first thread, outside its teams or beside threads that it made.
    own: (f64, f64),
    /// Time that it sleeps until the threads that it made end.
    join: f64,
}

/// The run of a process whose program is asked for `threads` threads.
fn process(threads: u32, p: Process) -> Run {
    let (computed, runq) = p.own;
    let mut run = run(1, &p.of);
    run.header.name = format!("app.t{threads}");
    run.header.threads_asked = Some(threads);
    run.calls.clear();
    run.comms.clear();
    run.functions.clear();
    let mut wall = computed + runq + p.join;
    if p.of.joined {
        run.samples.retain(|s| s.thread > 0);
        run.samples.push(sample(CtxId(4), computed, 0.0));
        run.samples.push(sample(CtxId(6), 0.0, p.join));
        for w in run.waits.iter_mut().filter(|w| w.kind == WaitKind::Join) {
            w.wait_ns = (p.join * SECOND) as u64;
        }
    } else {
        wall += run.segments[0].wall_ns as f64 / SECOND;
        run.samples.push(sample(CtxId(4), computed, 0.0));
    }
    run.samples.iter_mut().for_each(|s| s.after = CtxId::NONE);
    let ns = |seconds: f64| (seconds * SECOND) as u64;
    let s = &mut run.segments[0];
    let (cpu, waited, slept) = if p.of.joined {
        (0, 0, ns(p.join))
    } else {
        (s.cpu_ns, s.runq_ns, s.blocked_ns)
    };
    *s = Segment {
        from: CtxId::NONE,
        to: CtxId::NONE,
        count: 1,
        wall_ns: ns(wall),
        cpu_ns: cpu + ns(computed),
        runq_ns: waited + ns(runq),
        blocked_ns: slept,
        max_busy_ns: cpu + ns(computed) + slept,
        ..*s
    };
    let first = ThreadInfo {
        thread: 0,
        wall_ns: s.wall_ns,
        cpu_ns: s.cpu_ns,
        runq_ns: s.runq_ns,
        ..Default::default()
    };
    run.ranks[0].wall_ns = s.wall_ns;
    run.ranks[0].cpu_ns = None;
    run.threads.retain(|t| t.thread > 0);
    run.threads.insert(0, first);
    run
}

fn sample(ctx: CtxId, cpu: f64, blocked: f64) -> Sample {
    Sample {
        ctx,
        count: (cpu * 200.0) as u32,
        cpu_ns: (cpu * SECOND) as u64,
        blocked_ns: (blocked * SECOND) as u64,
        ..Default::default()
    }
}

fn of_runs(runs: Vec<Run>, scaling: Option<Scaling>) -> Diagnosis {
    let options = Options {
        scaling,
        ..Options::default()
    };
    let d = diagnose(runs, structure(), &options).expect("runs of one program");
    assert_eq!(impossible(&d), Vec::<String>::new());
    if d.subject().is_process() {
        // It has no ranks, and no sentence speaks of any.
        let value = serde_json::to_value(&d).expect("a diagnosis is data");
        for text in texts(&value).into_iter().filter(|t| t.contains(' ')) {
            assert!(!text.contains("rank") && !text.contains("MPI"), "{text}");
        }
    }
    d
}

/// All texts of a value.
fn texts(value: &serde_json::Value) -> Vec<&str> {
    use serde_json::Value::{Array, Object, String};
    match value {
        String(text) => vec![text],
        Array(all) => all.iter().flat_map(texts).collect(),
        Object(all) => all.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

fn reported(d: &Diagnosis) -> Vec<(CauseClass, u32)> {
    let one = |c: &headwater_model::diagnosis::Cause| (c.class, c.place.first_line);
    d.causes.iter().map(one).collect()
}

/// A program whose first thread makes all others and then computes as much as each of them, and `serial` seconds
/// before, with one, two and four threads on two cores.
fn first_works_too(serial: f64) -> Diagnosis {
    let quarter = Hybrid {
        joined: true,
        cores: 2,
        threads: 3,
        runq: |_, _| 1.0,
        ..Default::default()
    };
    let half = Hybrid {
        threads: 1,
        busy: |_, _| 2.0,
        runq: |_, _| 0.0,
        ..quarter
    };
    let alone = Hybrid {
        threads: 0,
        ..quarter
    };
    let of = |threads, of, computed: f64, runq, join| {
        let own = (computed + serial, runq);
        process(threads, Process { of, own, join })
    };
    let runs = vec![
        of(1, alone, 4.0, 0.0, 0.0),
        of(2, half, 2.0, 0.0, 0.0),
        of(4, quarter, 1.0, 0.5, 0.5),
    ];
    of_runs(runs, Some(Scaling::Strong))
}

#[test]
fn a_first_thread_works_beside_others_that_had_no_core_to_begin() {
    // Each thread begins later than the one before and ends earlier than the first thread.
    let of = Hybrid {
        joined: true,
        cores: 2,
        threads: 3,
        runq: |_, _| 0.7,
        ..Default::default()
    };
    let own = (1.0, 0.5);
    let mut run = process(4, Process { of, own, join: 0.5 });
    run.teams.iter_mut().for_each(|t| t.count = 1);
    for t in run.threads.iter_mut().filter(|t| t.thread > 0) {
        t.begin_ns = u64::from(t.thread - 1) * 150_000_000;
    }
    let d = of_runs(vec![run], Some(Scaling::Strong));
    let last = d.scales.last().expect("a scale");
    assert!((last.model_seconds - 1.0).abs() < 0.01, "{last:?}");
}

#[test]
fn a_first_thread_that_had_no_core_before_its_team_computed_little_there() {
    let of = Hybrid {
        joined: true,
        cores: 2,
        threads: 3,
        runq: |_, _| 8.7,
        ..Default::default()
    };
    // In the last 0.3 s of its 10.3 s the first thread is alone, and it has a core for a tenth of its time.
    let own = (1.0, 9.0);
    let mut run = process(4, Process { of, own, join: 0.3 });
    run.header.counters = vec!["run_queue_ns".into()];
    for s in &mut run.samples {
        s.counters = vec![if s.thread == 0 { s.cpu_ns * 9 } else { 0 }];
    }
    run.teams.iter_mut().for_each(|t| t.count = 1);
    for t in run.threads.iter_mut().filter(|t| t.thread > 0) {
        t.begin_ns = u64::from(t.thread - 1) * 150_000_000;
    }
    let d = of_runs(vec![run], Some(Scaling::Strong));
    let last = d.scales.last().expect("a scale");
    assert!((last.model_seconds - 1.0).abs() < 0.05, "{last:?}");
}

#[test]
fn threads_made_on_two_call_paths_work_at_the_same_time() {
    let of = Hybrid {
        joined: true,
        cores: 2,
        threads: 4,
        runq: |_, _| 1.0,
        ..Default::default()
    };
    let own = (0.001, 0.0);
    let mut run = process(4, Process { of, own, join: 2.0 });
    for t in &mut run.teams {
        t.count = 1;
        // As where a vector of threads grows now and then.
        if t.thread > 2 {
            (t.team, t.from, t.to) = (CALLS[0], CALLS[0], CALLS[0]);
        }
    }
    let d = of_runs(vec![run], Some(Scaling::Strong));
    let last = d.scales.last().expect("a scale");
    assert!((last.model_seconds - 1.0).abs() < 0.01, "{last:?}");
}

#[test]
fn a_first_thread_that_works_beside_the_others_is_no_serial_part() {
    let d = first_works_too(0.0);
    assert_eq!(reported(&d), []);
    let last = d.scales.last().expect("three scales");
    assert!((last.model_seconds - 1.0).abs() < 0.01, "{last:?}");
    // What it does before it makes them is one.
    let d = first_works_too(1.0);
    let last = d.scales.last().expect("three scales");
    assert!((last.model_seconds - 2.0).abs() < 0.01, "{last:?}");
    let found = reported(&d);
    assert!(
        found.contains(&(CauseClass::SerialRegion, 20))
            || found.contains(&(CauseClass::NonShrinkingWork, 20)),
        "{found:?}"
    );
}

/// Thread efficiency at the largest scale.
fn thread_efficiency(d: &Diagnosis) -> f64 {
    let last = d.scales.last().expect("a scale");
    last.efficiencies.threads.expect("threads").parallel
}

/// A process of threads that compute for so many seconds each in a team.
fn in_a_team(threads: u16, busy: fn(u32, u16) -> f64) -> Run {
    let of = Hybrid {
        threads,
        busy,
        ..Default::default()
    };
    let own = (0.001, 0.0);
    process(u32::from(threads), Process { of, own, join: 0.0 })
}

#[test]
fn an_uneven_thread_may_have_been_on_a_slower_core() {
    let uneven = |_, t: u16| if t == 1 { 1.8 } else { 1.0 };
    let cause = |alone| {
        let runs = vec![in_a_team(1, alone), in_a_team(2, uneven)];
        let d = of_runs(runs, Some(Scaling::Strong));
        d.causes.into_iter().next().expect("a late thread")
    };
    let range = |alone| {
        let c = cause(alone);
        assert_eq!(c.class, CauseClass::ThreadImbalance);
        assert!((c.gain_seconds - 0.4).abs() < 0.01, "{}", c.gain_seconds);
        c.gain_range_seconds
    };
    let (least, most) = range(|_, _| 2.8);
    assert!(least > 0.39 && most < 0.41, "{least} to {most}");
    // Two threads compute 0.8 s more than one did, for the same work.
    let (least, most) = range(|_, _| 2.0);
    assert!(
        (least - 0.14).abs() < 0.01 && most > 0.6,
        "{least} to {most}"
    );
    let said = cause(|_, _| 2.0).evidence;
    let more = |e: &&headwater_model::diagnosis::Evidence| e.text.contains("40 % more than");
    assert!(said.iter().any(|e| more(&e)), "{said:?}");
}

#[test]
fn threads_that_are_a_little_uneven_have_a_sentence() {
    let sentence = |late: fn(u32, u16) -> f64, waited: bool| {
        let mut run = in_a_team(2, late);
        for t in run.teams.iter_mut().filter(|_| !waited) {
            t.wait_ns = 0;
        }
        let d = of_runs(vec![run], None);
        assert_eq!(reported(&d), []);
        let mut notes = d.notes.into_iter();
        notes.find(|n| n.contains("slowest thread"))
    };
    let late = |_, t| if t == 1 { 1.25 } else { 1.0 };
    let said = sentence(late, true).expect("a sentence");
    let begin = "The slowest thread of the team at app.c:10 computes 1.11 times as long";
    assert!(said.starts_with(begin), "{said}");
    assert!(said.contains("which costs 125 ms (10 %)"), "{said}");
    assert_eq!(sentence(late, false), None);
    assert_eq!(sentence(|_, t| if t == 1 { 1.08 } else { 1.0 }, true), None);
}

/// The run with `seconds` of sleep of its first thread more.
fn asleep(mut run: Run, seconds: f64, at: CtxId) -> Run {
    let ns = (seconds * SECOND) as u64;
    run.samples.push(sample(at, 0.0, seconds));
    let s = &mut run.segments[0];
    (s.wall_ns, s.blocked_ns) = (s.wall_ns + ns, s.blocked_ns + ns);
    s.max_busy_ns += ns;
    run.ranks[0].wall_ns += ns;
    run.threads[0].wall_ns += ns;
    run
}

/// Seconds to gain by causes that are sleep.
fn of_sleep(runs: Vec<Run>) -> Vec<f64> {
    let d = of_runs(runs, Some(Scaling::Strong));
    let all = d.causes.iter();
    let sleep = all.filter(|c| c.class == CauseClass::SystemCallOrIo);
    sleep.map(|c| c.gain_seconds).collect()
}

#[test]
fn sleep_outside_of_regions_is_found_and_waits_in_them_are_not() {
    let causes = |at| {
        let (one, two) = (in_a_team(1, |_, _| 2.0), in_a_team(2, |_, _| 1.0));
        of_sleep(vec![asleep(one, 0.4, at), asleep(two, 0.4, at)])
    };
    // In a function of a library, between regions: half of it should be left on two threads.
    assert!(matches!(causes(CALLS[0])[..], [gain] if (gain - 0.2).abs() < 0.01));
    assert!(causes(REGION).is_empty());
}

#[test]
fn sleep_beside_threads_that_the_program_made_is_no_finding() {
    let beside = |threads: u16, busy: fn(u32, u16) -> f64| {
        let of = Hybrid {
            threads,
            busy,
            joined: true,
            ..Default::default()
        };
        let (own, join) = ((0.001, 0.0), busy(0, 1));
        let run = process(u32::from(threads), Process { of, own, join });
        asleep(run, 0.4, CALLS[0])
    };
    let found = of_sleep(vec![beside(1, |_, _| 2.0), beside(2, |_, _| 1.0)]);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn what_threads_lose_is_charged_once() {
    let of = in_a_team;
    // The same work, and on two threads one has three times as much of it as the other.
    let uneven = of(2, |_, t| if t == 1 { 1.5 } else { 0.5 });
    let d = of_runs(vec![of(1, |_, _| 2.0), uneven], Some(Scaling::Strong));
    let e = &d.scales.last().expect("two scales").efficiencies;
    let computation = e.computation_scaling.expect("two scales");
    assert!((computation - 1.0).abs() < 0.01, "{computation}");
    let global = e.global.expect("two scales");
    assert!((global - 2.0 / 3.0).abs() < 0.01, "{global}");
    assert!((thread_efficiency(&d) - 2.0 / 3.0).abs() < 0.01);
}

#[test]
fn polling_in_mpi_is_not_useful() {
    let mut made = run(
        2,
        &Hybrid {
            busy: |_, _| 0.0,
            serial: |_| 1.0,
            ..Default::default()
        },
    );
    made.header.mpi_library = "Open MPI".into();
    made.header.threads_asked = Some(2);
    for t in made.threads.iter_mut().filter(|t| t.thread == 0) {
        t.cpu_ns = 2_000_000_000;
    }
    let found = thread_efficiency(&of_runs(vec![made], None));
    assert!((found - 0.5).abs() < 0.01, "{found}");
}

#[test]
fn serial_parts_of_a_loop_with_regions_are_told_apart() {
    let of_threads = |threads: u16, busy| {
        let of = Hybrid {
            threads,
            busy,
            ..Default::default()
        };
        let own = (2.0, 0.0);
        let mut run = process(u32::from(threads), Process { of, own, join: 0.0 });
        let serial = run.samples.iter().position(|s| s.ctx == SERIAL);
        let at = serial.expect("a serial loop");
        (run.samples[at].count, run.samples[at].cpu_ns) = (240, 1_200_000_000);
        run.contexts.push(Context {
            parent: CALLS[0],
            offset: 0x3110,
            exact: true,
            ..run.contexts[0]
        });
        let elsewhere = Sample {
            ctx: CtxId(run.contexts.len() as u32 - 1),
            count: 160,
            cpu_ns: 800_000_000,
            ..run.samples[at].clone()
        };
        run.samples.push(elsewhere);
        run
    };
    let runs = vec![
        of_threads(1, |_, _| 1.6),
        of_threads(2, |_, _| 0.8),
        of_threads(4, |_, _| 0.4),
    ];
    let d = of_runs(runs, Some(Scaling::Strong));
    let serial = CauseClass::SerialRegion;
    assert_eq!(reported(&d), [(serial, 20), (serial, 302)]);
    // Its figures are those of the serial computation.
    let last = d.causes[0].by_scale.last().expect("scales");
    assert!((last.2 - 1.2).abs() < 0.01, "{last:?}");
}

#[test]
fn spinning_between_the_regions_of_a_team_is_not_useful() {
    // A runtime with its default policy: threads without work use their cores as well.
    let spinning = |threads: u16, busy| {
        let of = Hybrid {
            threads,
            busy,
            ..Default::default()
        };
        let own = (1.0, 0.0);
        let p = Process { of, own, join: 0.0 };
        let mut run = process(u32::from(threads), p);
        let wall = run.ranks[0].wall_ns;
        for t in &mut run.threads {
            (t.wall_ns, t.cpu_ns) = (wall, wall);
        }
        run
    };
    let runs = vec![
        spinning(1, |_, _| 0.8),
        spinning(2, |_, _| 0.4),
        spinning(4, |_, _| 0.2),
    ];
    let d = of_runs(runs, None);
    assert_eq!(d.scaling, Scaling::Strong, "{}", d.scaling_reason);
    let found = thread_efficiency(&d);
    assert!((found - 1.8 / 4.8).abs() < 0.01, "{found}");
    assert_eq!(reported(&d), [(CauseClass::SerialRegion, 20)]);
    // Work that only the first thread does is the same at all scales.
    let runs = vec![
        spinning(1, |_, _| 0.08),
        spinning(2, |_, _| 0.04),
        spinning(4, |_, _| 0.02),
    ];
    let d = of_runs(runs, None);
    assert_eq!(d.scaling, Scaling::Strong, "{}", d.scaling_reason);
    assert_eq!(reported(&d), [(CauseClass::NonShrinkingWork, 20)]);
}

#[test]
fn a_process_is_reported_without_ranks() {
    use CauseClass::{LockContention, NonShrinkingWork, ThreadImbalance};
    let own = (0.001, 0.0);
    let one = |of| {
        let p = Process { of, own, join: 0.0 };
        of_runs(vec![process(2, p)], None)
    };
    let uneven = one(Hybrid {
        busy: |_, t| if t == 1 { 1.5 } else { 0.5 },
        ..Default::default()
    });
    assert_eq!(reported(&uneven), [(ThreadImbalance, 110)]);
    let locked = one(Hybrid {
        locked: |_, _| 0.5,
        ..Default::default()
    });
    assert_eq!(reported(&locked), [(LockContention, 122)]);
    // What the first thread does takes as long at each scale.
    let of = |threads: u16| {
        let of = Hybrid {
            threads,
            busy: |_, _| 0.01,
            ..Default::default()
        };
        let own = (1.5 + 0.001 * f64::from(threads), 0.0);
        process(u32::from(threads), Process { of, own, join: 0.0 })
    };
    let d = of_runs(vec![of(1), of(2), of(4)], Some(Scaling::Strong));
    assert_eq!(reported(&d), [(NonShrinkingWork, 20)]);
}
