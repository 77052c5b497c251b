//! Parallel regions that are so small that beginning and ending them takes a large part of their time.

use super::hybrid::{CALLS, Hybrid, REGION, STEP, WORK, run};
use super::{from, of_run, reported};
use headwater_model::diagnosis::CauseClass::{self, SmallRegions};
use headwater_model::run::{Context, CtxId, Run, Sample};

/// Each rank's first thread computes for `seconds` in the call that begins the regions, of which there are `count`.
fn begun(ranks: u32, of: &Hybrid, count: u64, seconds: f64) -> Run {
    let mut made = run(ranks, of);
    let more = (seconds * 1e9) as u64;
    made.teams.iter_mut().for_each(|t| t.count = count);
    for rank in 0..ranks {
        made.samples.push(Sample {
            rank,
            after: made.segments[0].from,
            ctx: REGION,
            count: (seconds * 200.0) as u32,
            cpu_ns: more,
            ..Default::default()
        });
    }
    for segment in &mut made.segments {
        segment.wall_ns += more;
        segment.cpu_ns += more;
    }
    made.ranks.iter_mut().for_each(|r| r.wall_ns += more);
    made
}

fn small(of: &Hybrid, count: u64, seconds: f64) -> Vec<(String, u32, f64)> {
    let found = reported(&of_run(begun(4, of, count, seconds)));
    let small = found.into_iter().filter(|c| c.0 == SmallRegions);
    small.map(|c| (c.1, c.2, c.3)).collect()
}

fn little() -> Hybrid {
    Hybrid {
        busy: |_, _| 0.5,
        ..Hybrid::default()
    }
}

#[test]
fn regions_that_take_longer_to_begin_than_to_compute_are_small() {
    let all = vec![("0-3".into(), 10, 1.0)];
    assert_eq!(small(&little(), 1_000_000, 1.0), all);
    let d = of_run(begun(4, &little(), 1_000_000, 1.0));
    assert_eq!(d.causes.len(), 1, "{:?}", reported(&d));
    let times = d.causes[0].by_thread.as_ref().expect("threads");
    assert_eq!(
        (&times.concerned[..], &times.seconds[..]),
        (&[0, 1][..], &[0.5, 0.5][..])
    );
    let said: Vec<&str> = (d.causes[0].evidence.iter())
        .map(|e| e.text.as_str())
        .collect();
    let said = said.join("\n");
    let expected = "the region ran 1000000 times; each time its threads 0-1 computed < 1 µs on average, and to begin and end it took 1.00 µs";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn regions_of_one_place_count_together() {
    let mut made = begun(4, &little(), 1_000_000, 1.0);
    // `step`, which begins them, is called from two lines; on the second path nothing is seen inside a region.
    let step = made.contexts[STEP.0 as usize];
    let of = |parent| Context { parent, ..step };
    made.contexts[REGION.0 as usize] = of(CALLS[0]);
    made.contexts.push(of(CALLS[1]));
    let second = CtxId(made.contexts.len() as u32 - 1);
    let teams = made.teams.clone().into_iter().map(|mut t| {
        (t.team, t.from, t.to) = (second, second, second);
        t
    });
    made.teams.extend(teams);
    for t in &mut made.teams {
        (t.count, t.wall_ns, t.cpu_ns) = (t.count / 2, t.wall_ns / 2, t.cpu_ns / 2);
    }
    let samples = made.samples.clone().into_iter().filter(|s| s.ctx == REGION);
    let samples: Vec<Sample> = samples.collect();
    let half = |s: &Sample| (s.count / 2, s.cpu_ns / 2);
    for s in made.samples.iter_mut().filter(|s| s.ctx == REGION) {
        (s.count, s.cpu_ns) = half(s);
    }
    made.samples.extend(samples.into_iter().map(|mut s| {
        (s.count, s.cpu_ns) = half(&s);
        s.ctx = second;
        s
    }));
    assert!(made.samples.iter().any(|s| s.ctx == WORK));
    // Each path alone costs a third of the run.
    let d = from(0.4, made);
    let found = reported(&d);
    assert_eq!(found, [(SmallRegions, "0-3".into(), 210, 1.0)]);
    assert!(
        d.causes[0].evidence[0].text.contains("ran 1000000 times"),
        "{:?}",
        d.causes[0].evidence
    );
}

#[test]
fn other_regions_are_not_small() {
    // They are long, whatever their beginning takes.
    assert_eq!(small(&little(), 1_000, 1.0), []);
    // Beginning them takes little.
    assert_eq!(small(&little(), 1_000_000, 0.02), []);
    // The first thread waits for the other one there.
    let uneven = Hybrid {
        busy: |_, t| if t == 1 { 1.5 } else { 0.5 },
        ..little()
    };
    assert_eq!(small(&uneven, 1_000_000, 0.05), []);
    // It waits for the others' locks there, which is no part of beginning and ending.
    let held = Hybrid {
        locked: |_, t| if t == 1 { 1.0 } else { 0.0 },
        ..little()
    };
    assert_eq!(small(&held, 1_000_000, 0.02), []);
    // One thread is no team.
    let alone = Hybrid {
        threads: 1,
        ..little()
    };
    assert_eq!(small(&alone, 1_000_000, 1.0), []);
    // Where threads wait for cores, they may do so there.
    let crowded = Hybrid {
        cores: 2,
        runq: |_, _| 0.5,
        ..little()
    };
    assert_eq!(small(&crowded, 1_000_000, 1.0), []);
    // Threads that are made and joined are no regions.
    let joined = Hybrid {
        joined: true,
        ..little()
    };
    assert_eq!(small(&joined, 1_000_000, 1.0), []);
}

#[test]
fn only_the_ranks_with_small_regions_are_concerned() {
    let mut made = begun(4, &little(), 1_000_000, 1.0);
    // Rank 2 begins them faster.
    made.samples.retain(|s| s.rank != 2 || s.ctx != REGION);
    made.segments[2].wall_ns -= 1_000_000_000;
    made.segments[2].cpu_ns -= 1_000_000_000;
    let found = reported(&of_run(made));
    let ranks: Vec<&str> = (found.iter())
        .filter(|c| c.0 == CauseClass::SmallRegions)
        .map(|c| c.1.as_str())
        .collect();
    assert_eq!(ranks, ["0-1,3"]);
}
