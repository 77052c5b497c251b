//! The file of programs whose values follow a grid of processes, or lists of other ranks, and what rounding keeps.
use headwater_trace::likeness::Slack;
use headwater_trace::recorder::Recorder;
use headwater_trace::times::{Delta, Histogram, Times};
use headwater_trace::trace::{Body, Frame, Kind, Trace};
use proptest::prelude::*;

/// The trace of a program, which gets its rank.
fn trace_of(ranks: u32, program: impl Fn(i64, &mut Recorder)) -> Trace {
    let mut all: Option<Trace> = None;
    for rank in 0..ranks {
        let mut recorder = Recorder::new(usize::MAX, Slack::default());
        program(i64::from(rank), &mut recorder);
        let mut trace = Trace::of_rank(rank, ranks);
        trace.add_communicator(0, rank, rank, ranks);
        recorder.finish(&mut trace, rank, 0);
        match &mut all {
            Some(all) => all.merge(trace),
            None => all = Some(trace),
        }
    }
    all.expect("a rank")
}

fn call(recorder: &mut Recorder, offset: u64, function: &str, kinds: &[Kind], values: &[i64]) {
    let frames = [Frame { module: 1, offset }];
    let signature = recorder.signature(function, kinds, &frames);
    let delta = Delta {
        wall: 100,
        cpu: 100,
        call: 50,
    };
    recorder.event(signature, values, delta);
}

/// The tags of BT's sweep along x and back: where the cell is that each stage works on. `p` x `p` ranks.
fn sweeps(recorder: &mut Recorder, rank: i64, p: i64) {
    use Kind::{Comm, Peer, Plain};
    let (i, j) = (rank % p, rank / p);
    let tag = |stage: i64| {
        let c = (stage + p - i) % p;
        (j + p - c) % p + c * p
    };
    let next = (i + 1) % p + p * j;
    for _ in 0..20 {
        for stage in 0..p {
            let values = |base, tag| [480, next, base + tag, 0];
            let kinds = [Plain, Peer, Plain, Comm];
            if stage > 0 {
                call(recorder, 1, "MPI_Irecv", &kinds, &values(2000, tag(stage)));
            }
            if stage < p - 1 {
                call(recorder, 2, "MPI_Isend", &kinds, &values(2000, tag(stage)));
            }
        }
        for stage in 0..p - 1 {
            let values = [80, next, 3000 + tag(p - 1 - stage), 0];
            call(
                recorder,
                3,
                "MPI_Isend",
                &[Plain, Peer, Plain, Comm],
                &values,
            );
        }
        call(recorder, 4, "MPI_Barrier", &[Comm], &[0]);
    }
}

fn is_read_again(trace: &Trace) -> usize {
    let plain = trace.to_bytes();
    assert_eq!(Trace::from_bytes(&plain).as_ref(), Ok(trace));
    let packed = trace.to_packed_bytes();
    assert_eq!(Trace::from_bytes(&packed).as_ref(), Ok(trace));
    packed.len()
}

#[test]
fn tags_that_follow_a_grid_take_little_more_on_many_ranks() {
    let of = |p: i64| {
        let trace = trace_of((p * p) as u32, |rank, recorder| sweeps(recorder, rank, p));
        is_read_again(&trace)
    };
    let (few, many) = (of(2), of(8));
    // In full, as a value for each rank and stage, the three columns would take 3 x 64 x 7 x 6 bits: 1,000 bytes.
    assert!(many < few + 330, "{few} {many}");
}

#[test]
fn what_is_received_is_a_column_of_what_is_sent() {
    use Kind::{Comm, List};
    let ranks = 32;
    let count = |from: i64, to: i64| {
        let mut noise = (from * 64 + to + 1) as u64;
        for _ in 0..3 {
            noise = (noise ^ (noise >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            noise ^= noise >> 32;
        }
        200 + (noise >> 40) as i64 % 64
    };
    let size = |received: bool| {
        let trace = trace_of(ranks, |rank, recorder| {
            let others = 0..i64::from(ranks);
            let sent: Vec<i64> = others.clone().map(|to| count(rank, to)).collect();
            let arrived: Vec<i64> = others.map(|from| count(from, rank)).collect();
            let arrived = if received { &arrived } else { &sent };
            let lists = [recorder.list(&sent), recorder.list(arrived)];
            let values = [lists[0], lists[1], 0];
            call(recorder, 1, "MPI_Alltoallv", &[List, List, Comm], &values);
        });
        is_read_again(&trace)
    };
    let (once, both) = (size(false), size(true));
    // The counts are random: 32 x 32 x 6 bits are 768 bytes. The other half of the lists takes a byte or two each.
    assert!(once > 768 && both < once + 110, "{once} {both}");
}

#[test]
fn branches_that_follow_no_rule_take_a_bit_each() {
    let taken = |step: u64| (step + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40 & 1 == 1;
    let trace = trace_of(2, |_, recorder| {
        for step in 0..2000 {
            call(recorder, 1, "MPI_Send", &[Kind::Comm], &[0]);
            if taken(step) {
                call(recorder, 2, "MPI_Recv", &[Kind::Comm], &[0]);
            }
        }
    });
    let size = is_read_again(&trace);
    assert!(size < 2000 / 8 + 150, "{size}");
}

fn exact(h: &Histogram) -> (u64, u64, u64, u64, u64) {
    let all = h.buckets.iter().map(|n| u64::from(*n)).sum();
    (h.count, h.sum, h.min, h.max, all)
}

proptest! {
    #[test]
    fn rounding_keeps_count_sum_and_extremes(durations in prop::collection::vec((0..40_u32, any::<u32>()), 1..300)) {
        let mut times = Times::default();
        for (bits, noise) in durations {
            let time = u64::from(noise) >> (bits % 32);
            times.add(Delta { wall: time, cpu: time / 2, call: time / 3 });
        }
        let mut round = times.clone();
        round.round();
        prop_assert!(round.wall.is_round() && round.cpu.is_round() && round.call.is_round());
        for (a, b) in [(&times.wall, &round.wall), (&times.cpu, &round.cpu), (&times.call, &round.call)] {
            prop_assert_eq!(exact(a), exact(b));
            let most = a.buckets.iter().max().copied().unwrap_or(0);
            for (a, b) in a.buckets.iter().zip(b.buckets) {
                prop_assert!(*a == most || (b <= *a && *a - b <= *a / 3), "{} {}", a, b);
            }
        }
        // The form of round histograms is read again, and exact ones are not rounded by writing.
        let mut trace = trace_of(1, |_, recorder| call(recorder, 1, "MPI_Barrier", &[Kind::Comm], &[0]));
        for times in [times, round] {
            for node in trace.streams.values_mut().flatten() {
                if let Body::Event(event) = &mut node.body {
                    event.times.values_mut().for_each(|old| **old = times.clone());
                }
            }
            is_read_again(&trace);
        }
    }
}
