//! What was decided at run time becomes part of the steps.

use super::*;
use headwater_mpi_abi::constants::PROC_NULL;
use headwater_trace::likeness::Slack;
use headwater_trace::recorder::Recorder;
use headwater_trace::times::Delta;

/// The steps of calls: function and values, where a list is a slice.
fn steps(calls: &[(&str, &[Given])]) -> Vec<(String, Vec<Value>, f64)> {
    let mut recorder = Recorder::new(1 << 20, Slack::default());
    for (name, given) in calls {
        let id = id_of(name).expect("a function of MPI").0;
        assert_eq!(fields(id).len(), given.len(), "{name}");
        let values: Vec<i64> = given
            .iter()
            .map(|value| match value {
                Given::One(n) => *n,
                Given::Many(list) => recorder.list(list),
            })
            .collect();
        let kinds = vec![headwater_trace::trace::Kind::Plain; values.len()];
        let signature = recorder.signature(name, &kinds, &[]);
        let delta = Delta {
            wall: 100,
            cpu: 100,
            call: 10,
        };
        recorder.event(signature, &values, delta);
    }
    let mut trace = Trace::of_rank(0, 1);
    recorder.finish(&mut trace, 0, 0);
    let ahead = ahead(&trace, 0, 0);
    assert_eq!(ahead.nanoseconds, 110.0 * calls.len() as f64);
    let mut steps = Steps::new(&trace, (0, 0), ahead, Pace::Mean);
    let mut all = Vec::new();
    while let Some(step) = steps.next() {
        let name = FUNCTIONS[usize::from(step.function)].name.to_owned();
        all.push((name, step.values.clone(), step.computation));
    }
    all
}

enum Given {
    One(i64),
    Many(&'static [i64]),
}

use Given::{Many, One};

/// `MPI_Irecv` of one byte from `source` with `tag`, as `request`.
fn irecv(source: i64, tag: i64, request: i64) -> [Given; 7] {
    [0, 1, 0x247, source, tag, 0, request].map(One)
}

const NOT: Given = One(ABSENT);

#[test]
fn wildcards_have_the_source_of_their_message() {
    let [a, b, c] = [
        irecv(ANY_SOURCE, 5, 0),
        irecv(3, 5, 1),
        irecv(ANY_SOURCE, ANY_TAG, 2),
    ];
    let wait = [
        One(3),
        Many(&[2, 1, 0]),
        Many(&[7, ABSENT, 8]),
        Many(&[9, ABSENT, 5]),
        Many(&[1, ABSENT, 1]),
    ];
    let receive = [0, 1, 0x247, ANY_SOURCE, 5, 0, 4, 5, 1].map(One);
    let all = steps(&[
        ("MPI_Irecv", &a),
        ("MPI_Irecv", &b),
        ("MPI_Irecv", &c),
        ("MPI_Waitall", &wait),
        ("MPI_Recv", &receive),
    ]);
    let of = |i: usize| (all[i].1[3].number(), all[i].1[4].number());
    assert_eq!([of(0), of(1), of(2)], [(8, 5), (3, 5), (7, 9)]);
    assert_eq!(of(4), (4, 5));
    assert_eq!(all[4].1[6], Value::Number(ABSENT));
    assert_eq!(all[3].1[2], Value::Number(ABSENT));
}

#[test]
fn a_receive_that_was_called_off_stays_a_wildcard() {
    let receive = irecv(ANY_SOURCE, 5, 0);
    let wait = [One(0), One(3), One(5), One(0)];
    let all = steps(&[
        ("MPI_Irecv", &receive),
        ("MPI_Cancel", &[One(0)]),
        ("MPI_Wait", &wait),
    ]);
    assert_eq!(all[0].1[3], Value::Number(ANY_SOURCE));
}

#[test]
fn a_call_has_the_requests_alone_that_it_completed() {
    let any = [One(3), Many(&[4, 5, 6]), One(1), NOT, NOT, NOT];
    let some = [
        One(3),
        Many(&[4, NULL, 6]),
        One(2),
        Many(&[2, 0]),
        NOT,
        NOT,
        NOT,
    ];
    let all = steps(&[("MPI_Waitany", &any), ("MPI_Waitsome", &some)]);
    assert_eq!(all[0].1[1].list(), Some(&[NULL, 5, NULL][..]));
    assert_eq!(all[1].1[1].list(), Some(&[4, NULL, 6][..]));
}

#[test]
fn idle_polls_are_left_out_and_their_computation_remains() {
    let idle = [0, 0, ABSENT, ABSENT, ABSENT].map(One);
    let done = [0, 1, ABSENT, ABSENT, ABSENT].map(One);
    let probe = [PROC_NULL, 5, 0, 0, ABSENT, ABSENT, ABSENT].map(One);
    let all = steps(&[
        ("MPI_Test", &idle),
        ("MPI_Iprobe", &probe),
        ("MPI_Test", &done),
    ]);
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].0.as_str(), all[0].2), ("MPI_Test", 300.0));
}

/// A rank that computes before each of 1000 barriers, nanoseconds of wall and CPU time.
fn computing(rank: u32, times: impl Fn(u64) -> (u64, u64)) -> Trace {
    let mut recorder = Recorder::new(1 << 20, Slack::default());
    let signature = recorder.signature("MPI_Barrier", &[headwater_trace::trace::Kind::Comm], &[]);
    for n in 0..1000 {
        let (wall, cpu) = times(n);
        let delta = Delta {
            wall,
            cpu,
            call: 10,
        };
        recorder.event(signature, &[0], delta);
    }
    let mut trace = Trace::of_rank(rank, 2);
    recorder.finish(&mut trace, rank, 0);
    trace
}

/// The same each time.
fn barriers(rank: u32, wall: u64, cpu: u64) -> Trace {
    computing(rank, |_| (wall, cpu))
}

fn computations(trace: &Trace, rank: u32, pace: Pace) -> Vec<f64> {
    let mut steps = Steps::new(trace, (rank, 0), ahead(trace, rank, 0), pace);
    let mut all = Vec::new();
    while let Some(step) = steps.next() {
        all.push(step.computation);
    }
    all
}

fn computation(trace: &Trace, rank: u32, pace: Pace) -> f64 {
    computations(trace, rank, pace).iter().sum()
}

#[test]
fn times_differ_as_the_recorded_ones_did() {
    // Of rank 1, all are twice as long. Three times as long would be an outlier.
    let of = |rank: u32| {
        computing(rank, |n| {
            let time = u64::from(rank + 1) * if n % 2 == 0 { 1 << 20 } else { 9 << 18 };
            (time, time)
        })
    };
    let mut trace = of(0);
    trace.merge(of(1));
    for rank in 0..2 {
        let [drawn, again] = [0, 1].map(|_| computations(&trace, rank, Pace::Drawn));
        assert_eq!(drawn, again);
        let sum: f64 = drawn.iter().sum();
        let mean = sum / 1000.0;
        let recorded =
            f64::from(rank + 1) * (500 << 20) as f64 + f64::from(rank + 1) * (4500 << 18) as f64;
        assert!((sum / recorded - 1.0).abs() < 0.01, "{sum} for {recorded}");
        let far = drawn
            .iter()
            .filter(|time| (**time - mean).abs() > mean / 8.0);
        assert!(far.count() > 500, "rank {rank}");
        let means = computations(&trace, rank, Pace::Mean);
        assert!(
            means
                .iter()
                .skip(1)
                .all(|time| (time - means[1]).abs() < 1.0)
        );
    }
}

#[test]
fn a_rank_does_not_draw_the_long_executions_of_another() {
    let of = |rank| {
        computing(rank, |n| {
            let time = if rank == 0 && n % 10 == 3 {
                100 << 20
            } else {
                1 << 20
            };
            (time, time)
        })
    };
    let mut trace = of(0);
    trace.merge(of(1));
    let other = computations(&trace, 1, Pace::Drawn);
    assert!(other.iter().all(|time| *time < 2e6), "{other:?}");
    let sum: f64 = other.iter().sum();
    assert!((sum / (1000 << 20) as f64 - 1.0).abs() < 0.05, "{sum}");
}

#[test]
fn a_long_execution_is_as_long_as_it_was_where_the_place_is_in_two_events() {
    let of = |rank: u32| {
        let mut recorder = Recorder::new(1 << 20, Slack::default());
        let [a, b, c] = ["MPI_Barrier", "MPI_Bcast", "MPI_Allreduce"]
            .map(|name| recorder.signature(name, &[headwater_trace::trace::Kind::Comm], &[]));
        let mut call = |signature, time| {
            let delta = Delta {
                wall: time,
                cpu: time,
                call: 10,
            };
            recorder.event(signature, &[0], delta);
        };
        for _ in 0..500 {
            call(a, 64);
            call(b, 1 << 20);
        }
        call(c, 64);
        call(a, 64);
        call(b, if rank == 0 { 512 << 20 } else { 1 << 20 });
        let mut trace = Trace::of_rank(rank, 8);
        recorder.finish(&mut trace, rank, 0);
        trace
    };
    let mut trace = of(0);
    (1..8).for_each(|rank| trace.merge(of(rank)));
    assert_eq!(trace.outliers_of(0, 0).len(), 1);
    let last = |rank| computations(&trace, rank, Pace::Drawn).last().copied();
    assert_eq!(last(0), Some((512 << 20) as f64));
    // A bucket is as wide as from a time to four times that.
    assert!(
        last(1).is_some_and(|time| time < 4.0 * (1 << 20) as f64),
        "{:?}",
        last(1)
    );
}

#[test]
fn long_executions_of_all_ranks_at_once_are_so_in_a_replay() {
    let of = |rank| {
        computing(rank, |n| {
            let time = if n % 10 == 3 { 100 << 20 } else { 1 << 20 };
            (time, time)
        })
    };
    let mut trace = of(0);
    trace.merge(of(1));
    let [one, other] = [0, 1].map(|rank| computations(&trace, rank, Pace::Drawn));
    let is_long = |time: &f64| *time > 5e7;
    let long: Vec<usize> = (0..1000).filter(|n| is_long(&one[*n])).collect();
    assert_eq!(long, (0..100).map(|n| 10 * n + 3).collect::<Vec<_>>());
    // Nobody waits for long.
    let slowest: f64 = one.iter().zip(&other).map(|(a, b)| a.max(*b)).sum();
    assert!(slowest < 1.05 * one.iter().sum::<f64>(), "{slowest}");
}

#[test]
fn a_rank_computes_as_long_as_it_did() {
    let mut trace = barriers(0, 3_000_000, 3_000_000);
    trace.merge(barriers(1, 1_000_000, 1_000_000));
    for pace in [Pace::Mean, Pace::Drawn] {
        let [slow, fast] = [0, 1].map(|rank| computation(&trace, rank, pace));
        assert!((slow / 3e9 - 1.0).abs() < 0.01, "{slow}");
        assert!((fast / 1e9 - 1.0).abs() < 0.01, "{fast}");
    }
    // Both sleep two milliseconds each time.
    let mut trace = barriers(0, 5_000_000, 3_000_000);
    trace.merge(barriers(1, 3_000_000, 1_000_000));
    let [slow, fast] = [0, 1].map(|rank| computation(&trace, rank, Pace::Mean));
    assert!((slow / 5e9 - 1.0).abs() < 0.01, "{slow}");
    assert!((fast / 3e9 - 1.0).abs() < 0.01, "{fast}");
}
