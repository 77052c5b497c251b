//! Threads that end before they are sampled.

use super::hybrid::*;
use headwater_dataflow::Recorded;
use headwater_model::run::{Run, Sample};

/// Seconds of all places of each thread of a rank that calls no MPI, and what is outside the call that made them.
fn places(run: Run, rank: u32) -> (Vec<(u16, f64)>, f64) {
    let recorded = Recorded::join(vec![run], structure()).expect("a run");
    let view = recorded[0].on_graph();
    let made = view.vertex(CREATE).expect("the call is known");
    let pag = recorded[0].pag();
    let (mut threads, mut outside) = (Vec::<(u16, f64)>::new(), 0.0);
    for t in view
        .threads
        .times
        .iter()
        .filter(|t| t.rank == rank && t.thread > 0)
    {
        match threads.iter_mut().find(|known| known.0 == t.thread) {
            Some(known) => known.1 += t.cpu,
            None => threads.push((t.thread, t.cpu)),
        }
        if !pag.top.contains(made, t.vertex) {
            outside += t.cpu;
        }
    }
    threads.sort_by_key(|t| t.0);
    (threads, outside)
}

fn made() -> Run {
    let of = Hybrid {
        threads: 3,
        joined: true,
        busy: |r, t| 0.5 + 0.1 * f64::from(t) + 0.05 * f64::from(r),
        ..Default::default()
    };
    run(2, &of)
}

/// CPU seconds of the threads of a rank as they were measured.
fn exact(run: &Run, rank: u32) -> Vec<(u16, f64)> {
    let threads = run
        .threads
        .iter()
        .filter(|t| t.rank == rank && t.thread > 0);
    threads
        .map(|t| (t.thread, t.cpu_ns as f64 * 1e-9))
        .collect()
}

#[test]
fn threads_have_all_their_time_in_some_place() {
    // Whatever part of it samples represent.
    for (keeps, of) in [(0u64, 1u64), (1, 2), (1, 1)] {
        let mut short = made();
        for s in short.samples.iter_mut().filter(|s| s.thread > 0) {
            s.cpu_ns = s.cpu_ns * keeps / of;
        }
        short
            .samples
            .retain(|s: &Sample| s.thread == 0 || s.cpu_ns > 0);
        for rank in 0..2 {
            let expected = exact(&short, rank);
            let (threads, outside) = places(short.clone(), rank);
            assert_eq!(threads.len(), expected.len(), "{keeps}/{of}: {threads:?}");
            for (have, exact) in threads.iter().zip(&expected) {
                assert_eq!(have.0, exact.0);
                assert!((have.1 - exact.1).abs() < 1e-6, "{have:?} {exact:?}");
            }
            assert!(outside < 1e-9, "{outside}");
        }
    }
}

#[test]
fn what_samples_leave_out_is_where_other_threads_start() {
    let mut short = made();
    // Only one thread lived long enough for samples.
    short.samples.retain(|s| s.thread < 2);
    let recorded = Recorded::join(vec![short], structure()).expect("a run");
    let view = recorded[0].on_graph();
    let (pag, call) = (recorded[0].pag(), view.vertex(CREATE).expect("a call"));
    let unsampled: Vec<_> = view
        .threads
        .times
        .iter()
        .filter(|t| t.thread == 2)
        .collect();
    let [one, other] = &unsampled[..] else {
        panic!("{unsampled:?}")
    };
    assert!(one.vertex == other.vertex && one.vertex != call);
    assert_eq!(pag.place(one.vertex).name, "work");
}
