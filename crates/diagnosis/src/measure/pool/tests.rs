//! Recordings made up and pooled.

use super::*;
use headwater_model::run::{Context, Module, RankInfo};

fn run(contexts: &[u64], times: [(u32, u64); 3]) -> Run {
    let context = |offset: &u64| Context {
        parent: CtxId::NONE,
        module: 0,
        offset: *offset,
        exact: true,
    };
    let segment = |(ctx, ms): (u32, u64)| Segment {
        from: CtxId(ctx),
        to: CtxId(ctx),
        count: 1,
        wall_ns: ms * 1_000_000,
        cpu_ns: ms * 1_000_000,
        max_busy_ns: ms * 1_000_000,
        ..Segment::default()
    };
    let sample = |(ctx, ms): (u32, u64)| Sample {
        after: CtxId(ctx),
        ctx: CtxId(ctx),
        count: 1,
        cpu_ns: ms * 1_000_000,
        ..Sample::default()
    };
    let mut run = Run {
        modules: vec![Module::default()],
        contexts: contexts.iter().map(context).collect(),
        segments: times.map(segment).to_vec(),
        samples: times.map(sample).to_vec(),
        ..Run::default()
    };
    run.header.ranks = 1;
    run.ranks = vec![RankInfo::default()];
    run.header.sampling_hz = 200.0;
    run
}

/// Milliseconds by offset.
fn times(run: &Run) -> Vec<(u64, u64)> {
    let of = |s: &Segment| (run.contexts[s.from.0 as usize].offset, s.cpu_ns / 1_000_000);
    run.segments.iter().map(of).collect()
}

#[test]
fn one_recording_stays_what_it_is() {
    let one = run(&[1, 2, 3], [(0, 5), (1, 6), (2, 7)]);
    assert_eq!(pool(&[&one]), Some(one.clone()));
    let mut twice = pool(&[&one, &one]).expect("a run");
    assert_eq!(twice.header.sampling_hz, 400.0);
    assert!(twice.samples.iter().all(|s| s.count == 2));
    assert_eq!(twice.segments, one.segments);
    twice.samples.iter_mut().for_each(|s| s.count = 1);
    assert_eq!(twice.samples, one.samples);
    assert_eq!(pool(&[]), None);
}

#[test]
fn places_are_the_same_whatever_their_numbers() {
    let a = run(&[1, 2, 3], [(0, 10), (1, 20), (2, 30)]);
    let b = run(&[3, 9, 1], [(0, 30), (1, 20), (2, 10)]);
    let both = pool(&[&a, &b]).expect("a run");
    assert_eq!(both.contexts.len(), 4);
    assert_eq!(times(&both), [(1, 10), (2, 10), (3, 30), (9, 10)]);
    assert_eq!(both.samples.len(), 4);
}

#[test]
fn a_stall_of_one_recording_is_in_none_of_three() {
    let usual = run(&[1, 2, 3], [(0, 10), (1, 20), (2, 30)]);
    let stalled = run(&[1, 2, 3], [(0, 10), (1, 90), (2, 30)]);
    let all = pool(&[&stalled, &usual, &usual]).expect("a run");
    assert_eq!(times(&all), times(&usual));
}

#[test]
fn parts_add_up_to_the_usual_whole() {
    // Each recording computes for 60 ms, elsewhere each time.
    let runs = [(0, 40), (1, 40), (2, 40)].map(|(most, ms)| {
        run(
            &[1, 2, 3],
            [0, 1, 2].map(|i| (i, if i == most { ms } else { 10 })),
        )
    });
    let all = pool(&runs.iter().collect::<Vec<_>>()).expect("a run");
    let sum: u64 = all.segments.iter().map(|s| s.cpu_ns).sum();
    assert_eq!(sum, 60_000_000);
}

#[test]
fn a_module_is_known_by_its_build_wherever_it_lies() {
    // Batch jobs copy the program to a directory of their own.
    let runs = ["/tmp/1/app", "/tmp/2/app", "/tmp/3/app"].map(|path| {
        let mut run = run(&[1, 2, 3], [(0, 10), (1, 20), (2, 30)]);
        run.modules[0] = Module {
            path: path.into(),
            build_id: "ab".into(),
        };
        run
    });
    let all = pool(&runs.iter().collect::<Vec<_>>()).expect("a run");
    assert_eq!(times(&all), times(&runs[0]));
    assert_eq!(all.modules.len(), 1);
}

#[test]
fn time_asleep_is_no_cpu_time() {
    // The first thread waits for others, in one recording longer than in the other.
    let asleep = |ms: u64| {
        let mut run = run(&[1, 2, 3], [(0, 10), (1, 20), (2, 30)]);
        run.segments[0].blocked_ns = ms * 1_000_000;
        run.ranks[0].cpu_ns = Some(60_000_000);
        run.ranks[0].wall_ns = (60 + ms) * 1_000_000;
        run
    };
    let all = pool(&[&asleep(10), &asleep(50)]).expect("a run");
    assert_eq!(all.ranks[0].cpu_ns, Some(60_000_000));
    assert_eq!(all.ranks[0].wall_ns, 90_000_000);
}

#[test]
fn nothing_is_lost_of_recordings_that_do_not_do_the_same() {
    // Timing decides which call comes next: 500 ms are in another stretch each time.
    let at = [(3, 500), (4, 500), (5, 500)];
    let runs = at.map(|odd| run(&[1, 2, 3, 4, 5, 6], [(0, 10), (1, 0), odd]));
    let all = pool(&runs.iter().collect::<Vec<_>>()).expect("a run");
    let sum: u64 = all.segments.iter().map(|s| s.cpu_ns).sum();
    assert_eq!(sum, 510_000_000);
    assert_eq!(times(&all)[0], (1, 10));
}

#[test]
fn samples_of_a_stall_move_no_time_to_where_they_fell() {
    // Two places after one call, 10 and 30 ms; one recording has a stall of 200 ms in the first.
    let recording = |first: u64| {
        let mut run = run(&[1, 2, 3], [(0, 30 + first), (1, 20), (2, 30)]);
        let place = |ctx: u32, ms: u64| Sample {
            after: CtxId(0),
            ctx: CtxId(ctx),
            count: 1,
            cpu_ns: ms * 1_000_000,
            ..Sample::default()
        };
        run.samples = vec![place(0, first), place(1, 30)];
        run
    };
    let (usual, stalled) = (recording(10), recording(210));
    let all = pool(&[&usual, &stalled, &usual]).expect("a run");
    let sampled: Vec<u64> = all.samples.iter().map(|s| s.cpu_ns / 1_000_000).collect();
    assert_eq!(sampled, [10, 30]);
    assert_eq!(all.ranks[0].cpu_ns, None);
}

#[test]
fn a_rank_takes_as_much_less_as_it_computes_less() {
    let mut stalled = run(&[1, 2, 3], [(0, 10), (1, 90), (2, 30)]);
    stalled.ranks[0].wall_ns = 150_000_000;
    let usual = run(&[1, 2, 3], [(0, 10), (1, 20), (2, 30)]);
    let all = pool(&[&stalled, &usual, &usual]).expect("a run");
    assert_eq!(all.ranks[0].wall_ns, 80_000_000);
    assert_eq!(all.header.wall_seconds, 0.08);
    assert_eq!(all.header.recordings, 3);
}
