//! Communication that grows, and what only seems to.

mod support;

use headwater_diagnosis::{Options, diagnose};
use headwater_model::diagnosis::{Cause, CauseClass, Diagnosis};
use headwater_model::run::{Run, tag};
use support::{piece, run, structure};

fn even(_: u32, p: u32) -> f64 {
    4.0 / f64::from(p)
}

/// Sets what all calls of a function take and move on each rank.
fn set(run: &mut Run, function: &str, bytes: u64, seconds: f64) {
    let func = run.functions.iter().position(|f| f == function);
    for c in &mut run.calls {
        if Some(c.func as usize) == func {
            (c.bytes, c.tag) = (bytes, tag::NONE);
            c.wall_ns = (seconds * 1e9) as u64;
            c.cpu_ns = c.wall_ns;
        }
    }
    let longer = (seconds * 1e9) as u64;
    run.ranks.iter_mut().for_each(|r| r.wall_ns += longer);
}

fn diagnosed(runs: Vec<Run>) -> Diagnosis {
    diagnose(runs, structure(2), &Options::default()).expect("the runs belong together")
}

fn texts(c: &Cause) -> String {
    let all: Vec<&str> = c.evidence.iter().map(|e| e.text.as_str()).collect();
    all.join("; ")
}

#[test]
fn a_wait_is_not_charged_with_the_bytes_of_other_calls() {
    // Cores are shared, so that CPU time in a call is mostly polling. Only the reduction moves data, and it is quick.
    let runs = [2, 8].map(|p| {
        let pieces = [piece("MPI_Allreduce", even), piece("MPI_Waitall", even)];
        let mut run = run(p, &pieces);
        run.header.cores = vec![1];
        set(&mut run, "MPI_Allreduce", 400_000_000, 0.001);
        set(&mut run, "MPI_Waitall", 0, 0.1 * f64::from(p));
        run
    });
    assert_eq!(diagnosed(runs.into()).causes, vec![]);
}

#[test]
fn a_collective_whose_message_grows_is_growing_communication() {
    // Each rank gives as much as before, so that all of them receive the more.
    let runs = [2, 8].map(|p| {
        let pieces = [piece("MPI_Allgather", even), piece("MPI_Barrier", even)];
        let mut run = run(p, &pieces);
        set(&mut run, "MPI_Allgather", 1_000_000, 0.05 * f64::from(p));
        set(&mut run, "MPI_Barrier", 0, 1e-5);
        run
    });
    let d = diagnosed(runs.into());
    let c = &d.causes[0];
    assert_eq!(
        (c.class, c.place.name.as_str()),
        (CauseClass::GrowingCommunication, "MPI_Allgather")
    );
    assert!(!texts(c).contains("0 B"), "{}", texts(c));
}

#[test]
fn no_evidence_speaks_of_no_bytes() {
    let runs = [2, 8].map(|p| {
        let pieces = [piece("MPI_Barrier", even), piece("MPI_Barrier", even)];
        let mut run = run(p, &pieces);
        set(&mut run, "MPI_Barrier", 0, 0.05 * f64::from(p));
        run
    });
    let d = diagnosed(runs.into());
    assert!(!d.causes.is_empty());
    for c in &d.causes {
        assert!(!texts(c).contains(" 0 B"), "{}", texts(c));
    }
}

#[test]
fn another_call_at_the_smaller_scale_is_no_growth() {
    // Two ranks exchange by one call, more by another one; it is as many calls and bytes in the end.
    let at = |p: u32| {
        let pieces = [piece("MPI_Bcast", even), piece("MPI_Allreduce", even)];
        let mut run = run(p, &pieces);
        let unused = if p == 2 { "MPI_Allreduce" } else { "MPI_Bcast" };
        let func = run.functions.iter().position(|f| f == unused);
        run.calls.retain(|c| Some(c.func as usize) != func);
        for function in ["MPI_Bcast", "MPI_Allreduce"] {
            set(&mut run, function, 1_000_000, 0.8 / f64::from(p));
        }
        run
    };
    assert_eq!(diagnosed(vec![at(2), at(8)]).causes, vec![]);
}

/// Ranks that share one core: they exchange `bytes` for each rank in a collective, and a loop that stays is measured.
fn crowded(bytes: impl Fn(u32) -> u64) -> Diagnosis {
    let stays = |_: u32, _: u32| 0.2;
    let runs = [2, 8].map(|p| {
        let pieces = [piece("MPI_Alltoall", even), piece("MPI_Barrier", stays)];
        let mut run = run(p, &pieces);
        run.header.cores = vec![1];
        set(&mut run, "MPI_Alltoall", bytes(p), 2.0);
        set(&mut run, "MPI_Barrier", 0, 1e-5);
        run
    });
    diagnosed(runs.into())
}

fn classes(d: &Diagnosis) -> Vec<CauseClass> {
    d.causes.iter().map(|c| c.class).collect()
}

#[test]
fn an_estimate_that_may_be_next_to_nothing_is_a_note() {
    // Where cores are shared, data that grow are priced by their amount; the loop that stays is measured.
    let d = crowded(|p| 40_000_000 * u64::from(p));
    assert_eq!(classes(&d), [CauseClass::NonShrinkingWork]);
    let note = d.notes.iter().find(|n| n.contains("MPI_Alltoall"));
    let note = note.expect("it grows");
    // 320 MB where it should be 20 MB take 30 ms at 10 GB/s.
    assert!(
        note.contains("app.c:17") && note.contains("between 30.0 ms and "),
        "{note}"
    );
}

#[test]
fn data_that_no_machine_moves_in_less_time_are_a_known_cause() {
    // 3.2 GB instead of 0.2 GB take 0.3 s at least.
    let d = crowded(|p| 400_000_000 * u64::from(p));
    assert_eq!(classes(&d)[0], CauseClass::GrowingCommunication);
    let (low, high) = d.causes[0].gain_range_seconds;
    assert!((low - 0.3).abs() < 1e-6 && high > d.causes[0].gain_seconds);
}

#[test]
fn a_collective_that_may_grow_by_its_algorithm_must_cost_much_to_be_a_cause() {
    // The same calls and data on 2 and on 8 ranks, which take three stages in place of one.
    for (bytes, expected) in [
        (4_000_000, vec![]),
        (60_000_000, vec![CauseClass::CollectiveAlgorithm]),
    ] {
        let runs = [2, 8].map(|p| {
            let pieces = [piece("MPI_Allreduce", even), piece("MPI_Barrier", even)];
            let mut run = run(p, &pieces);
            run.header.cores = vec![1];
            set(&mut run, "MPI_Allreduce", bytes, 2.0);
            set(&mut run, "MPI_Barrier", 0, 1e-5);
            run
        });
        assert_eq!(classes(&diagnosed(runs.into())), expected, "{bytes} bytes");
    }
}
