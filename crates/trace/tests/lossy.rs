//! Traces in which parameters with many values are histograms.

use headwater_trace::histogram::ParameterHistogram;
use headwater_trace::likeness::Slack;
use headwater_trace::lossy::{LOST, Lossy, Where};
use headwater_trace::recorder::Recorder;
use headwater_trace::text::{self, Numbers};
use headwater_trace::times::Delta;
use headwater_trace::trace::{Kind, Trace};
use proptest::prelude::*;

/// Count, peer, communicator.
const SEND: [Kind; 3] = [Kind::Plain, Kind::Peer, Kind::Comm];

fn may(function: &str) -> u64 {
    match function {
        "MPI_Send" => 0b011,
        _ => 0,
    }
}

/// A rank of `size` that sends these counts, each to the next peer of a row of distances.
fn rank(rank: u32, size: u32, terms: Option<usize>, calls: &[(i64, i64)]) -> Trace {
    let mut recorder = Recorder::new(1 << 22, Slack::default());
    if let Some(terms) = terms {
        recorder = recorder.lossy(Lossy {
            terms,
            columns: may,
        });
    }
    for (count, distance) in calls {
        let peer = (i64::from(rank) + distance).rem_euclid(i64::from(size));
        let send = recorder.signature("MPI_Send", &SEND, &[]);
        recorder.event(send, &[*count, peer, 0], Delta::default());
        let wait = recorder.signature("MPI_Barrier", &[Kind::Plain, Kind::Comm], &[]);
        recorder.event(wait, &[*count, 0], Delta::default());
    }
    let mut trace = Trace::of_rank(rank, size);
    trace.add_communicator(0, rank, rank, size);
    recorder.finish(&mut trace, rank, 0);
    trace
}

fn merged(size: u32, terms: Option<usize>, calls: &[(i64, i64)]) -> Trace {
    let mut all = rank(0, size, terms, calls);
    (1..size).for_each(|r| all.merge(rank(r, size, terms, calls)));
    all
}

fn histogram(trace: &Trace, column: u32) -> Option<&ParameterHistogram> {
    let all = trace.histograms.iter();
    let mut of = all.filter(|(place, _)| place.column == column);
    of.next().map(|(_, histogram)| histogram)
}

/// Counts without order.
const IRREGULAR: [(i64, i64); 6] = [(3, 1), (70, 1), (1, 1), (900, 1), (20, 1), (44, 1)];

#[test]
fn irregular_values_become_a_histogram_and_others_stay() {
    let trace = merged(4, Some(4), &IRREGULAR);
    let counts = histogram(&trace, 0).expect("the counts are irregular");
    assert_eq!((counts.count, counts.sum), (24, 4 * 1038));
    assert_eq!((counts.min, counts.max), (1, 900));
    // The peers are one term, and what the function may not lose is exact.
    assert_eq!(histogram(&trace, 1), None);
    let mut events = trace.events(2, 0);
    for (count, _) in IRREGULAR {
        assert_eq!(
            events.next().map(|e| e.values.to_vec()),
            Some(vec![LOST, 3, 0])
        );
        assert_eq!(
            events.next().map(|e| e.values.to_vec()),
            Some(vec![count, 0])
        );
    }
    assert!(events.next().is_none());
    assert_eq!(trace.lossy_functions(), ["MPI_Send"]);
    assert!(!merged(4, Some(6), &IRREGULAR).is_lossy());
    // What is below 0 and no rank says that there is no value.
    let absent = [(-8, 1), (3, 1), (-8, 1), (-8, -3)];
    let counts = merged(1, Some(0), &absent);
    assert_eq!(
        histogram(&counts, 0).map(|h| (h.count, h.min)),
        Some((1, 3))
    );
    assert!(!merged(4, None, &IRREGULAR).is_lossy());
}

#[test]
fn with_no_term_allowed_all_is_lost_and_peers_are_relative() {
    let trace = merged(4, Some(0), &[(8, 1), (8, 3), (8, 1)]);
    let place = Where {
        signature: *trace
            .histograms
            .keys()
            .next()
            .map(|p| &p.signature)
            .expect("a histogram"),
        column: 1,
        relative: true,
    };
    let peers = &trace.histograms[&place];
    let counts: Vec<_> = peers.buckets().iter().map(|(v, b)| (*v, b.count)).collect();
    assert_eq!(counts, [(1, 8), (3, 4)]);
    assert_eq!(trace.histograms.len(), 2);
}

#[test]
fn a_lossy_trace_does_not_grow_with_its_steps() {
    let calls = |steps: i64| -> Vec<(i64, i64)> {
        (0..steps)
            .map(|i| (i * i * 7919 % 1009, 1 + i * i % 3))
            .collect()
    };
    let bytes = |steps, terms| {
        let mut recorder = Recorder::new(1 << 22, Slack::default());
        if let Some(terms) = terms {
            recorder = recorder.lossy(Lossy {
                terms,
                columns: may,
            });
        }
        for (count, peer) in calls(steps) {
            let send = recorder.signature("MPI_Send", &SEND, &[]);
            recorder.event(send, &[count, peer, 0], Delta::default());
        }
        let mut trace = Trace::of_rank(0, 4);
        trace.add_communicator(0, 0, 0, 4);
        recorder.finish(&mut trace, 0, 0);
        trace.to_packed_bytes().len()
    };
    let (few, many) = (bytes(200, Some(8)), bytes(20_000, Some(8)));
    assert!(many < few * 2, "{few} {many}");
    assert!(bytes(20_000, None) > 8 * many);
}

#[test]
fn the_text_says_where_a_trace_is_lossy() {
    let text = text::show(&merged(4, Some(4), &IRREGULAR), &Numbers, None).to_string();
    insta::assert_snapshot!(text);
}

#[test]
fn a_lossy_trace_that_is_changed_is_refused_or_read() {
    let trace = merged(2, Some(0), &IRREGULAR);
    let bytes = trace.to_bytes();
    // The form with histograms, and where the body begins.
    let (form, start) = (2, headwater_trace::file::framed(0, &[0; 200]).len() - 200);
    let head = bytes.len().saturating_sub(200).max(start);
    for at in head..bytes.len() {
        for value in [0, 1, 7, 127, 128, 255] {
            let mut changed = bytes[start..].to_vec();
            changed[at - start] = value;
            let _ = Trace::from_bytes(&headwater_trace::file::framed(form, &changed));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_lossy_trace_is_read_as_it_was_written_and_merges_in_any_order(
        calls in prop::collection::vec((prop_oneof![Just(-3_i64), 0..40_i64, any::<i32>().prop_map(i64::from)], 0..9_i64), 0..80),
        terms in 0..6_usize,
    ) {
        let forward = merged(5, Some(terms), &calls);
        for bytes in [forward.to_bytes(), forward.to_packed_bytes()] {
            prop_assert_eq!(&Trace::from_bytes(&bytes).expect("what was written"), &forward);
        }
        let mut backward = rank(4, 5, Some(terms), &calls);
        (0..4).rev().for_each(|r| backward.merge(rank(r, 5, Some(terms), &calls)));
        prop_assert_eq!(&forward.histograms, &backward.histograms);
        // As many events, and what is not lost is exact.
        let exact = merged(5, None, &calls);
        for rank in 0..5 {
            let (mut lossy, mut exact) = (forward.events(rank, 0), exact.events(rank, 0));
            while let Some(event) = exact.next() {
                let other = lossy.next().expect("an event");
                for (a, b) in event.values.iter().zip(other.values) {
                    prop_assert!(a == b || *b == LOST);
                }
            }
            prop_assert!(lossy.next().is_none());
        }
        for histogram in forward.histograms.values() {
            prop_assert_eq!(histogram.count, histogram.buckets().values().map(|b| b.count).sum::<u64>());
            for first in histogram.buckets().keys() {
                let (low, high) = histogram.bounds(*first);
                prop_assert!(low <= high && low >= histogram.min && high <= histogram.max);
            }
        }
    }
}
