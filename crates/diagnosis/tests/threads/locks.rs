//! Threads that wait for locks.

use super::hybrid::*;
use super::{diagnosis, from, of_run, reported};
use headwater_dataflow::Recorded;
use headwater_diagnosis::{Options, diagnose};
use headwater_graph::view::Cell;
use headwater_model::diagnosis::CauseClass::*;
use headwater_model::run::{Context, CtxId, Module, Run, Sample, WaitKind};

#[test]
fn waiting_for_a_lock_is_priced_by_what_it_lengthens() {
    let d = diagnosis(
        2,
        Hybrid {
            locked: |r, _| if r == 0 { 0.6 } else { 0.0 },
            ..Default::default()
        },
    );
    assert_eq!(reported(&d), [(LockContention, "0".into(), 122, 0.6)]);
    let c = &d.causes[0];
    assert_eq!(c.place.name, "pthread_mutex_lock");
    assert!((c.by_rank[0] - 1.2).abs() < 1e-6 && c.by_rank[1] == 0.0);
    assert!(
        c.evidence
            .iter()
            .any(|e| e.text.contains("2000 times for the mutex"))
    );
    let waits = "waits in pthread_mutex_lock for one another (threads 0-1)";
    assert!(c.path.iter().any(|s| s.what == waits), "{:?}", c.path);
    // A thread with less work may wait without being a cause.
    let d = diagnosis(
        2,
        Hybrid {
            busy: |_, t| if t == 0 { 1.0 } else { 0.8 },
            locked: |_, t| if t == 0 { 0.0 } else { 0.2 },
            ..Default::default()
        },
    );
    assert_eq!(reported(&d), []);
}

#[test]
fn a_lock_of_made_threads_is_waited_for_where_they_are_joined() {
    let mut made = run(
        2,
        &Hybrid {
            joined: true,
            locked: |_, _| 0.5,
            ..Default::default()
        },
    );
    // Callers of the wait are not known, nor is the holder.
    for w in made.waits.iter_mut().filter(|w| w.thread > 0) {
        (w.holder, w.holder_ctx) = (u16::MAX, CtxId::NONE);
    }
    assert_eq!(
        reported(&of_run(made)),
        [(LockContention, "0-1".into(), 122, 0.5)]
    );
}

#[test]
fn a_lock_that_is_released_by_a_call_around_is_named_where_threads_wait() {
    let mut made = run(
        2,
        &Hybrid {
            locked: |_, _| 0.5,
            ..Default::default()
        },
    );
    for w in &mut made.waits {
        (w.kind, w.holder_ctx) = (WaitKind::Futex, REGION);
    }
    assert_eq!(
        reported(&of_run(made)),
        [(LockContention, "0-1".into(), 122, 0.5)]
    );
}

/// Two ranks of two threads on two cores, each of which holds locks for so long of its second.
fn crowded(held: &[(CtxId, f64)]) -> Run {
    crowded_by(2, held)
}

/// The same of so many threads.
fn crowded_by(threads: u16, held: &[(CtxId, f64)]) -> Run {
    let mut made = run(
        2,
        &Hybrid {
            threads,
            cores: 2,
            locked: |_, _| 0.01,
            runq: |_, _| 2.0,
            ..Default::default()
        },
    );
    let mut samples: Vec<Sample> = Vec::new();
    for s in made.samples.iter_mut().filter(|s| s.cpu_ns > 0) {
        for (ctx, seconds) in held {
            let held = Sample {
                ctx: *ctx,
                cpu_ns: (seconds * 1e9) as u64,
                ..s.clone()
            };
            s.cpu_ns -= held.cpu_ns;
            samples.push(held);
        }
    }
    made.samples.extend(samples);
    made
}

#[test]
fn a_lock_at_which_threads_seldom_meet_is_priced_by_how_long_they_hold_it() {
    let d = of_run(crowded(&[(HELD, 0.8)]));
    assert_eq!(reported(&d), [(LockContention, "0-1".into(), 122, 0.6)]);
    assert!((d.causes[0].gain_share - 0.6 / 1.6).abs() < 0.01);
    // The run time and the efficiencies say the same as the cause.
    let mut made = crowded(&[(HELD, 0.8)]);
    made.header.threads_asked = Some(2);
    let last = of_run(made).scales.pop().expect("a scale");
    assert!((last.model_seconds - 1.6).abs() < 0.02, "{last:?}");
    let threads = last.efficiencies.threads.expect("threads");
    assert!((threads.scheduling - 1.0 / 1.6).abs() < 0.02, "{threads:?}");
    // The compiler may have put a branch of it behind a call that gives the lock back.
    let d = of_run(crowded(&[(HELD, 0.4), (HELD_IN_BRANCH, 0.4)]));
    assert_eq!(reported(&d), [(LockContention, "0-1".into(), 122, 0.6)]);
    // Held for less, they need not queue.
    assert_eq!(reported(&of_run(crowded(&[]))), []);
}

/// All that lies between the calls that take and release a lock is not under it, if it takes longer than the run.
#[test]
fn no_lock_is_held_for_longer_than_the_run_takes() {
    let of = |wall_ns: u64| {
        let mut made = crowded_by(4, &[(HELD, 0.9)]);
        made.ranks.iter_mut().for_each(|r| r.wall_ns = wall_ns);
        let found = reported(&of_run(made));
        found.iter().any(|f| f.0 == LockContention)
    };
    // With what samples scatter by.
    assert!(of(3_700_000_000) && of(3_500_000_000));
    assert!(!of(3_000_000_000));
}

/// A loop that begins where the lock is held holds it throughout, unless it releases it itself.
#[test]
fn a_loop_that_releases_the_lock_holds_it_only_where_its_calls_do() {
    let at = |ctx: CtxId, releases: bool| {
        let made = crowded(&[(ctx, 0.8)]);
        let structures = loop_begins_under_lock(releases);
        let d = diagnose(vec![made], structures, &Options::default());
        reported(&d.expect("a run"))
    };
    let found = [(LockContention, "0-1".to_string(), 122, 0.6)];
    assert_eq!(at(CELL, false), found);
    assert_eq!(at(CELL, true), []);
    assert_eq!(at(HELD_IN_BRANCH, true), found);
}

#[test]
fn one_lock_that_is_taken_at_two_places_is_priced_once() {
    let mut two = crowded(&[(HELD, 0.6), (OTHER_HELD, 0.3)]);
    let here = two.waits.clone();
    for w in &mut two.waits {
        w.holder_ctx = OTHER_LOCK;
    }
    two.waits.extend(here.into_iter().map(|mut w| {
        w.ctx = OTHER_LOCK;
        w
    }));
    // Both threads together hold it for 1.8 s, a third of that at the second place.
    let expected = [
        (LockContention, "0-1".to_string(), 122, 0.53),
        (LockContention, "0-1".to_string(), 140, 0.27),
    ];
    assert_eq!(reported(&of_run(two)), expected);
}

#[test]
fn while_threads_stand_in_line_for_one_lock_they_do_so_for_another() {
    let mut two = crowded_by(4, &[(HELD, 0.5), (OTHER_HELD, 0.45)]);
    let here = two.waits.clone();
    two.waits.extend(here.into_iter().map(|mut w| {
        (w.ctx, w.holder_ctx) = (OTHER_LOCK, OTHER_LOCK);
        w
    }));
    // All together hold the one for 2 s and the other for 1.8 s, while each computes for one: the team takes 1 s
    // longer.
    let expected = [
        (LockContention, "0-1".to_string(), 122, 0.6),
        (LockContention, "0-1".to_string(), 140, 0.4),
    ];
    assert_eq!(reported(&of_run(two)), expected);
}

#[test]
fn locks_that_are_taken_at_one_place_have_a_line_each() {
    let mut several = crowded(&[(HELD, 0.8)]);
    for w in &mut several.waits {
        w.locks = if w.thread == 0 { 1 << 7 } else { 1 << 9 };
    }
    assert_eq!(reported(&from(0.03, several.clone())), []);
    // Held by one at a time they would be 1.6 s.
    for w in &mut several.waits {
        w.locks = 1 << 7;
    }
    let one = [(LockContention, "0-1".to_string(), 122, 0.6)];
    assert_eq!(reported(&of_run(several)), one);
}

/// Adds time at the end of each stretch in which a rank's threads wait for the last of them.
fn waits_at_the_end(made: &mut Run, seconds: f64) {
    let more = (seconds * 1e9) as u64;
    for t in &mut made.teams {
        t.wait_ns += more;
    }
    for s in &mut made.segments {
        (s.wall_ns, s.blocked_ns) = (s.wall_ns + more, s.blocked_ns + more);
    }
    for s in made.samples.iter_mut().filter(|s| s.ctx == REGION) {
        s.blocked_ns += more;
    }
    for r in &mut made.ranks {
        r.wall_ns += more;
    }
}

#[test]
fn threads_that_take_turns_at_a_lock_wait_for_as_long_as_the_last_of_them() {
    // Each holds the lock for 0.2 s in all and is the second one every other time: it waits for half of that at the
    // lock, and for the other half at the end for who came second.
    let of = Hybrid {
        locked: |_, _| 0.1,
        ..Default::default()
    };
    let mut turns = run(2, &of);
    waits_at_the_end(&mut turns, 0.1);
    let expected = [(LockContention, "0-1".to_string(), 122, 0.2)];
    assert_eq!(reported(&of_run(turns)), expected);
    // Where the wait at the end is another's, as of threads that are late by turns, it is none of the lock's.
    let mut others = run(2, &of);
    for w in &mut others.waits {
        w.wait_ns /= 50;
    }
    for t in &mut others.teams {
        let locked = t.locked_ns / 50;
        (t.cpu_ns, t.blocked_ns) = (t.cpu_ns + t.locked_ns - locked, locked);
        t.locked_ns = locked;
    }
    waits_at_the_end(&mut others, 0.1);
    assert_eq!(reported(&of_run(others)), []);
}

/// Two ranks of four threads on two cores that compute for 0.8 s and then hold the lock for 0.2 s in each of 100
/// steps, and wait for it so often.
fn queued(count: u64, locked: fn(u32, u16) -> f64) -> Run {
    queued_on(2, count, locked)
}

/// The same on so many cores.
fn queued_on(cores: u32, count: u64, locked: fn(u32, u16) -> f64) -> Run {
    let of = Hybrid {
        threads: 4,
        cores,
        locked,
        runq: if cores < 8 { |_, _| 2.0 } else { |_, _| 0.0 },
        ..Default::default()
    };
    let mut made = run(2, &of);
    let mut held: Vec<Sample> = Vec::new();
    for s in made.samples.iter_mut().filter(|s| s.cpu_ns > 0) {
        let part = 200_000_000;
        let (ctx, count) = (HELD, 40);
        held.push(Sample {
            ctx,
            count,
            cpu_ns: part,
            ..s.clone()
        });
        s.cpu_ns -= part;
    }
    made.samples.extend(held);
    for w in &mut made.waits {
        w.count = count;
        w.brief_ns = w.wait_ns.min(count * 1_000_000);
    }
    made
}

#[test]
fn threads_that_compute_and_then_all_queue_are_priced_on_crowded_cores_too() {
    let expected = [(LockContention, "0-1".to_string(), 122, 0.6)];
    let d = of_run(queued(100, |_, t| 0.2 * f64::from(t)));
    assert_eq!(reported(&d), expected);
    // Together they hold it for less than one of them computes, so that it might be nothing.
    let (least, most) = d.causes[0].gain_range_seconds;
    assert!(least < 0.01 && most >= 0.6, "{least} to {most}");
    // They seldom meet: it is taken in between, or hardly ever.
    assert_eq!(reported(&of_run(queued(2, |_, t| 0.01 * f64::from(t)))), []);
}

#[test]
fn a_lock_costs_no_more_than_threads_waited_for_it() {
    let waits: [fn(u32, u16) -> f64; 4] = [
        |_, t| 0.05 * f64::from(t),
        |r, t| 0.1 * f64::from((u32::from(t) + r) % 3),
        |_, _| 0.3,
        |r, t| if r == 1 && t == 2 { 0.4 } else { 0.0 },
    ];
    for locked in waits {
        for cores in [2, 64] {
            for count in [3, 30, 100, 1000] {
                let made = queued_on(cores, count, locked);
                let of_rank = |r: u32| (0..4).map(|t| locked(r, t)).sum::<f64>();
                let most = of_rank(0).max(of_rank(1));
                for c in of_run(made).causes {
                    assert!(
                        c.class != LockContention || c.gain_seconds <= most + 1e-6,
                        "{cores} cores, {count}: {} of {most}",
                        c.gain_seconds
                    );
                }
            }
        }
    }
}

#[test]
fn who_held_a_lock_is_where_its_thread_was_seen() {
    let mut made = run(
        1,
        &Hybrid {
            locked: |_, _| 0.2,
            ..Default::default()
        },
    );
    // Of where the lock was taken the way to it is not recorded.
    let alone = Context {
        parent: CtxId::NONE,
        ..made.contexts[LOCK.0 as usize]
    };
    let held = CtxId(made.contexts.len() as u32);
    made.contexts.push(alone);
    made.waits.iter_mut().for_each(|w| w.holder_ctx = held);
    let runs = Recorded::join(vec![made], structure()).expect("a run");
    let view = runs[0].parallel();
    let place = |v: u32| view.vertices.cell("vertex", v as usize);
    let mutex = |e: &usize| view.edges.cell("kind", *e) == Cell::Text("mutex");
    let edges: Vec<usize> = (0..view.graph.edges()).filter(mutex).collect();
    assert!(!edges.is_empty());
    for e in edges {
        let (src, dst) = (view.graph.sources()[e], view.graph.targets()[e]);
        assert_eq!(place(src), place(dst));
    }
}

/// Libraries build more than locks on the kernel's lock, and the functions around the call say what.
#[test]
fn what_a_wait_in_the_kernels_lock_was_for() {
    let of = Hybrid {
        locked: |_, _| 0.5,
        ..Default::default()
    };
    let state = |function: &str, library: &str| {
        let mut made = run(1, &of);
        made.waits.iter_mut().for_each(|w| w.kind = WaitKind::Futex);
        let module = Module {
            path: format!("/lib/{library}"),
            ..module()
        };
        made.modules[0] = module.clone();
        let runs = Recorded::join(vec![made], named(function, module)).expect("a whole run");
        let view = runs[0].parallel();
        let kinds = view.edges.get("kind").expect("kinds");
        let mut kinds = (0..view.edges.len()).filter_map(|e| kinds.text(e));
        let is_wait = |kind: &&str| ["futex", "condition", "tasks"].contains(kind);
        kinds.find(is_wait).map(String::from)
    };
    for (function, library, kind) in [
        ("syscall", "libapp.so", "futex"),
        (
            "<std::sys::sync::mutex::futex::Mutex>::lock_contended",
            "app",
            "futex",
        ),
        (
            "<std::sys::sync::rwlock::futex::RwLock>::read_contended",
            "app",
            "futex",
        ),
        (
            "<std::sys::sync::condvar::futex::Condvar>::wait",
            "app",
            "condition",
        ),
        ("<std::thread::thread::Thread>::park", "app", "condition"),
        ("syscall", "libtbb.so.12", "tasks"),
        ("tbb::detail::r1::wait_on_address", "libtbb.so.12", "futex"),
    ] {
        let found = state(function, library);
        assert_eq!(found.as_deref(), Some(kind), "{function} of {library}");
    }
}

/// A task is the program's own code.
#[test]
fn a_lock_in_a_task_is_a_lock() {
    let of = Hybrid {
        locked: |_, _| 0.5,
        ..Default::default()
    };
    let mut made = run(1, &of);
    made.waits.iter_mut().for_each(|w| w.kind = WaitKind::Futex);
    let library = Module {
        path: "/lib/libtbb.so.12".into(),
        ..module()
    };
    made.modules[0] = library.clone();
    made.modules.push(Module {
        path: "/home/u/lambda".into(),
        build_id: "ef".into(),
    });
    made.contexts[LOCK.0 as usize].module = made.modules.len() as u32 - 1;
    let runs = Recorded::join(vec![made], named("syscall", library)).expect("a whole run");
    let view = runs[0].parallel();
    let kinds = view.edges.get("kind").expect("kinds");
    let has = |kind| (0..view.edges.len()).any(|e| kinds.text(e) == Some(kind));
    assert!(has("futex") && !has("tasks"));
}
