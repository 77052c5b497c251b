//! Pools: threads that wait for work beside the rank's own thread, which works too.

use super::hybrid::{CREATE, Hybrid, WORK, run};
use super::{of_run, reported};
use headwater_model::diagnosis::CauseClass::{SerialRegion, ThreadImbalance};
use headwater_model::run::{Context, CtxId, Run, Sample, ThreadWait, WaitKind};

/// A run of one rank whose own thread works for so many seconds in the loop of the pool's one thread.
fn beside(busy: fn(u32, u16) -> f64, own: f64) -> Run {
    with_serial(busy, own, |_| 0.0)
}

/// The same with what that thread computes alone.
fn with_serial(busy: fn(u32, u16) -> f64, own: f64, serial: fn(u32) -> f64) -> Run {
    let mut made = run(
        1,
        &Hybrid {
            threads: 1,
            busy,
            serial,
            joined: true,
            ..Default::default()
        },
    );
    let after = made.samples.iter().find(|s| s.thread == 0).map(|s| s.after);
    made.samples.push(Sample {
        after: after.unwrap_or(CtxId::NONE),
        ctx: WORK,
        count: (own * 200.0) as u32,
        cpu_ns: (own * 1e9) as u64,
        ..Default::default()
    });
    made.segments[0].cpu_ns += (own * 1e9) as u64;
    made.segments[0].wall_ns += (own * 1e9) as u64;
    made
}

#[test]
fn a_pool_and_the_thread_that_works_beside_it_may_be_uneven() {
    let d = of_run(beside(|_, _| 1.5, 0.5));
    assert_eq!(reported(&d), [(ThreadImbalance, "0".to_string(), 110, 0.5)]);
    let times = d.causes[0].by_thread.as_ref().expect("threads");
    assert_eq!((&times.threads, &times.concerned), (&vec![0, 1], &vec![1]));
    assert_eq!(times.seconds, [0.5, 1.5]);
}

#[test]
fn a_pool_that_is_there_at_the_end_is_one_too() {
    let mut made = beside(|_, _| 1.5, 0.5);
    made.teams.clear();
    let d = of_run(made);
    assert_eq!(reported(&d), [(ThreadImbalance, "0".to_string(), 110, 0.5)]);
}

#[test]
fn an_even_pool_is_no_cause() {
    for own in [1.0, 0.0] {
        let d = of_run(beside(|_, _| 1.0, own));
        assert_eq!(reported(&d), [], "{own} s");
    }
}

#[test]
fn what_the_first_thread_does_alone_is_serial_but_not_its_part_of_the_pools_work() {
    let d = of_run(with_serial(|_, _| 1.0, 1.0, |_| 0.8));
    assert_eq!(reported(&d), [(SerialRegion, "0".to_string(), 20, 0.4)]);
}

#[test]
fn a_thread_that_waits_for_no_other_loses_nothing_to_a_pool() {
    let mut made = beside(|_, _| 1.5, 0.5);
    made.waits.clear();
    assert_eq!(reported(&of_run(made)), []);
}

/// A late first thread, and a pool that waits so long for work.
fn led(waits: f64, serial: fn(u32) -> f64) -> Run {
    let mut made = with_serial(|_, _| 0.5, 1.5, serial);
    made.waits.push(ThreadWait {
        thread: 1,
        ctx: WORK,
        kind: WaitKind::Condition,
        count: 100,
        wait_ns: (waits * 1e9) as u64,
        ..Default::default()
    });
    made
}

#[test]
fn a_first_thread_that_a_pool_waits_for_is_late() {
    let d = of_run(led(1.0, |_| 0.0));
    assert_eq!(reported(&d), [(ThreadImbalance, "0".to_string(), 110, 0.5)]);
    let times = d.causes[0].by_thread.as_ref().expect("threads");
    assert_eq!(times.concerned, [0]);
    // It costs no more than the pool waits, and what the thread does alone meanwhile is serial.
    let d = of_run(led(0.3, |_| 0.0));
    assert_eq!(reported(&d), [(ThreadImbalance, "0".to_string(), 110, 0.3)]);
    let both = reported(&of_run(led(1.4, |_| 1.0)));
    let expected = [
        (SerialRegion, "0".to_string(), 20, 0.5),
        (ThreadImbalance, "0".to_string(), 110, 0.4),
    ];
    assert_eq!(both, expected);
}

#[test]
fn who_is_late_beside_a_pool_is_not_waited_for_by_itself() {
    assert_eq!(reported(&of_run(led(0.0, |_| 0.0))), []);
}

/// A helper that runs one small function of many is no pool: what the rank's own thread does is not serial for its sake.
#[test]
fn a_helper_with_a_small_function_in_common_is_no_pool() {
    let mut made = with_serial(|_, _| 2.0, 0.3, |_| 8.0);
    made.contexts.push(Context {
        parent: CREATE,
        module: 0,
        offset: 0x1310,
        exact: true,
    });
    let elsewhere = CtxId(made.contexts.len() as u32 - 1);
    let own = made.samples.iter().position(|s| s.thread == 1);
    let mut moved = made.samples[own.expect("samples of the helper")].clone();
    let all = moved.cpu_ns;
    (moved.ctx, moved.cpu_ns) = (elsewhere, all / 20 * 19);
    made.samples
        .iter_mut()
        .filter(|s| s.thread == 1)
        .for_each(|s| s.cpu_ns = all / 20);
    made.samples.push(moved);
    assert_eq!(reported(&of_run(made)), []);
}
