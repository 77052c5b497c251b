//! Teams with several uneven loops: each is a cause of its own.

use super::hybrid::{Hybrid, REGION, WORK, run};
use super::{of_run, reported};
use headwater_model::diagnosis::CauseClass::ThreadImbalance;
use headwater_model::run::{Context, CtxId, Run};

/// A run of two ranks in which a part of each thread's work is in another loop; `part` has it by thread.
fn divided(busy: fn(u32, u16) -> f64, part: [f64; 2]) -> Run {
    let mut made = run(
        2,
        &Hybrid {
            busy,
            ..Default::default()
        },
    );
    made.contexts.push(Context {
        parent: REGION,
        module: 0,
        offset: 0x1310,
        exact: true,
    });
    let other = CtxId(made.contexts.len() as u32 - 1);
    let mut samples = Vec::new();
    for mut s in made.samples {
        if s.ctx == WORK {
            let mut moved = s.clone();
            moved.ctx = other;
            moved.cpu_ns = (s.cpu_ns as f64 * part[usize::from(s.thread)]) as u64;
            moved.count = (f64::from(s.count) * part[usize::from(s.thread)]) as u32;
            (s.cpu_ns, s.count) = (s.cpu_ns - moved.cpu_ns, s.count - moved.count);
            samples.push(moved);
        }
        samples.push(s);
    }
    made.samples = samples;
    made
}

const LATE: fn(u32, u16) -> f64 = |_, t| if t == 1 { 15.0 } else { 5.0 };

#[test]
fn two_uneven_loops_are_two_causes() {
    let d = of_run(divided(LATE, [0.4, 0.4]));
    let all = "0-1".to_string();
    let expected = [
        (ThreadImbalance, all.clone(), 110, 3.0),
        (ThreadImbalance, all, 130, 2.0),
    ];
    assert_eq!(reported(&d), expected);
    let times = d.causes[1].by_thread.as_ref().expect("threads");
    assert_eq!(
        (&times.seconds, &times.concerned),
        (&vec![2.0, 6.0], &vec![1])
    );
    // What is this loop's is known from samples of 5 ms.
    let (least, most) = d.causes[1].gain_range_seconds;
    assert!(least < 1.9 && most > 2.1, "{least} to {most}");
    let said = "several loops of the team are uneven and take 10.0 s in all";
    assert!(
        d.causes[1]
            .evidence
            .iter()
            .any(|e| e.text.starts_with(said)),
        "{:?}",
        d.causes[1].evidence
    );
}

#[test]
fn a_loop_that_is_even_is_no_cause() {
    // Both threads spend 4 s in the other loop.
    let d = of_run(divided(LATE, [0.8, 4.0 / 15.0]));
    assert_eq!(
        reported(&d),
        [(ThreadImbalance, "0-1".to_string(), 110, 5.0)]
    );
}

#[test]
fn loops_that_make_up_for_each_other_are_no_causes() {
    let even: fn(u32, u16) -> f64 = |_, _| 10.0;
    assert_eq!(reported(&of_run(divided(even, [0.2, 0.8]))), []);
    // One of them does so in part: the loss of the whole is in the other one.
    let d = of_run(divided(LATE, [0.1, 0.8]));
    assert_eq!(
        reported(&d),
        [(ThreadImbalance, "0-1".to_string(), 130, 5.0)]
    );
}
