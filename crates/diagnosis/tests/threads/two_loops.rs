//! Uneven loops of teams: which of the loops around the work is named, and several of them, each a cause of its own.

use super::hybrid::{CELL, Hybrid, REGION, WORK, run};
use super::{of_run, reported};
use headwater_model::diagnosis::CauseClass::ThreadImbalance;
use headwater_model::run::{Context, CtxId, Run, Sample, TeamWork};

/// A context in the region; the number of it.
fn context(made: &mut Run, offset: u64, exact: bool) -> CtxId {
    made.contexts.push(Context {
        parent: REGION,
        module: 0,
        offset,
        exact,
    });
    CtxId(made.contexts.len() as u32 - 1)
}

/// A run of two ranks in which parts of each thread's work are in other loops: their places, and the parts by thread.
fn of_loops(busy: fn(u32, u16) -> f64, parts: &[(u64, [f64; 2])]) -> Run {
    let mut made = run(
        2,
        &Hybrid {
            busy,
            ..Default::default()
        },
    );
    let whole: Vec<Sample> = made
        .samples
        .iter()
        .filter(|s| s.ctx == WORK)
        .cloned()
        .collect();
    for (offset, part) in parts {
        let ctx = context(&mut made, *offset, true);
        for s in &whole {
            let part = part[usize::from(s.thread)];
            made.samples.push(Sample {
                ctx,
                cpu_ns: (s.cpu_ns as f64 * part) as u64,
                count: (f64::from(s.count) * part) as u32,
                ..s.clone()
            });
        }
    }
    for s in made.samples.iter_mut().filter(|s| s.ctx == WORK) {
        let moved: f64 = parts
            .iter()
            .map(|(_, part)| part[usize::from(s.thread)])
            .sum();
        s.cpu_ns = (s.cpu_ns as f64 * (1.0 - moved)) as u64;
        s.count = (f64::from(s.count) * (1.0 - moved)) as u32;
    }
    made
}

/// The same with one other loop.
fn divided(busy: fn(u32, u16) -> f64, part: [f64; 2]) -> Run {
    of_loops(busy, &[(0x1310, part)])
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
    let said = "several loops of this team are uneven and lose 10.0 s together";
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

/// Two loops have 65 % of the loss, and others the rest: no cause may leave a third out.
#[test]
fn many_uneven_loops_are_one_cause() {
    let parts = [(0x1310, 0.25), (0x1410, 0.175), (0x1210, 0.175)];
    let parts = parts.map(|(offset, part)| (offset, [part, part]));
    let d = of_run(of_loops(LATE, &parts));
    let gains: Vec<f64> = reported(&d).into_iter().map(|cause| cause.3).collect();
    assert_eq!(gains, [5.0]);
}

/// The place is the first barrier behind the loop, whatever was recorded first.
#[test]
fn a_team_waits_at_the_barrier_behind_the_loop() {
    let mut made = divided(LATE, [0.4, 0.4]);
    let last = context(&mut made, 0x1501, false);
    let first = context(&mut made, 0x1401, false);
    let halves = made.teams.iter().flat_map(|t| {
        let half = |from, to| TeamWork {
            from,
            to,
            wall_ns: t.wall_ns / 2,
            cpu_ns: t.cpu_ns / 2,
            wait_ns: t.wait_ns / 2,
            ..t.clone()
        };
        [half(t.team, last), half(last, first)]
    });
    made.teams = halves.collect();
    let d = of_run(made);
    let waits = d.causes.iter().map(|c| c.path[0].place.first_line);
    assert_eq!(waits.collect::<Vec<u32>>(), [140, 140]);
}

#[test]
fn a_loop_that_divides_work_unevenly_is_named_and_not_what_it_calls() {
    let uneven = Hybrid {
        busy: |_, t| if t == 1 { 1.5 } else { 0.5 },
        ..Default::default()
    };
    let mut made = run(2, &uneven);
    let in_cell = |s: &&mut Sample| s.ctx == WORK;
    (made.samples.iter_mut().filter(in_cell)).for_each(|s| s.ctx = CELL);
    assert_eq!(
        reported(&of_run(made)),
        [(ThreadImbalance, "0-1".into(), 110, 0.5)]
    );
    // What only the late thread calls is the cause itself. Few samples leave open whether the others call it, too.
    for (called_ns, line) in [(0, 302), (50_000_000, 302), (130_000_000, 110)] {
        let mut made = run(2, &uneven);
        let mut others = Vec::new();
        for s in made.samples.iter_mut().filter(|s| s.ctx == WORK) {
            if s.thread == 1 {
                s.ctx = CELL;
            } else {
                s.cpu_ns -= called_ns;
                others.push(Sample {
                    ctx: CELL,
                    cpu_ns: called_ns,
                    count: 0,
                    ..s.clone()
                });
            }
        }
        made.samples.extend(others);
        let found = [(ThreadImbalance, "0-1".to_string(), line, 0.5)];
        assert_eq!(reported(&of_run(made)), found, "{called_ns}");
    }
}
