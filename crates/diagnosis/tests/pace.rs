//! The same work takes longer where ranks share cores, caches and memory. That is no work that does not shrink.

mod support;

use headwater_diagnosis::Options;
use headwater_model::diagnosis::{Cause, CauseClass, Diagnosis, LossKind, Scaling};
use headwater_model::run::Run;
use support::{Piece, diagnose, piece, run, structure};

const SCALES: [u32; 3] = [2, 4, 8];

/// The run on a machine of two cores, without instructions counted.
fn on_two_cores(p: u32, pieces: &[Piece]) -> Run {
    let mut run = run(p, pieces);
    run.header.cores = vec![2];
    let crowd = u64::from(p.max(2)) / 2;
    run.ranks.iter_mut().for_each(|r| r.wall_ns *= crowd);
    run
}

/// `seconds` of all ranks together, divided; on 8 ranks each second takes `slower` times as long.
fn divided(seconds: f64, slower: f64) -> impl Fn(u32, u32) -> f64 {
    move |_, p| seconds / f64::from(p) * (1.0 + (slower - 1.0) * (f64::from(p) - 2.0) / 6.0)
}

fn strong() -> Options {
    Options {
        scaling: Some(Scaling::Strong),
        ..Options::default()
    }
}

fn diagnosed(pieces: &[Piece]) -> Diagnosis {
    let runs = SCALES.iter().map(|p| on_two_cores(*p, pieces)).collect();
    diagnose(runs, structure(pieces.len()), &strong()).expect("they belong together")
}

fn texts(c: &Cause) -> String {
    let all: Vec<&str> = c.evidence.iter().map(|e| e.text.as_str()).collect();
    all.join("; ")
}

#[test]
fn a_slower_machine_is_no_work_that_does_not_shrink() {
    // All loops take about 1.5 times as long; one of them a little more, one a little less.
    let d = diagnosed(&[
        piece("MPI_Allreduce", divided(3.0, 1.5)),
        piece("MPI_Barrier", divided(2.0, 1.6)),
        piece("MPI_Bcast", divided(2.0, 1.4)),
    ]);
    assert_eq!(d.causes, vec![]);
    let said = d.notes.iter().find(|n| n.contains("1.5"));
    assert!(
        said.is_some_and(|n| n.contains("slower machine")),
        "{:?}",
        d.notes
    );
    // Ideal would be a quarter of the 3.5 s that a rank computes on 2 ranks; the parts of the loss sum to the loss.
    let mut parts = d.account.parts.iter();
    let pace = parts.find(|p| p.kind == LossKind::Pace).expect("a part");
    assert!((pace.seconds - 0.5 * 0.875).abs() < 0.05, "{pace:?}");
    let all: f64 = d.account.parts.iter().map(|p| p.seconds).sum();
    assert!((all - d.account.loss_seconds).abs() < 1e-6, "{all}");
}

#[test]
fn a_loop_that_alone_does_not_shrink_is_found_on_a_slower_machine() {
    let d = diagnosed(&[
        piece("MPI_Allreduce", divided(3.0, 1.3)),
        piece("MPI_Barrier", |_, _| 0.25),
        piece("MPI_Bcast", divided(3.0, 1.3)),
    ]);
    let c = d.causes.first().expect("0.25 s that stay");
    assert_eq!(
        (c.class, c.place.first_line),
        (CauseClass::NonShrinkingWork, 20)
    );
    assert_eq!(d.causes.len(), 1, "{:?}", d.causes);
    // A quarter of it is ideal, at a pace of 1.3.
    let truth = 0.25 - 1.3 * 0.25 / 4.0;
    assert!((c.gain_seconds - truth).abs() < 0.01, "{}", c.gain_seconds);
    assert!(texts(c).contains("1.30"), "{}", texts(c));
}

#[test]
fn the_pace_is_that_of_the_machine_where_the_rest_shrinks() {
    // Half of the program takes 1.8 times as long as it should, and nothing else is slower.
    let d = diagnosed(&[
        piece("MPI_Allreduce", divided(2.5, 1.0)),
        piece("MPI_Barrier", divided(2.0, 1.8)),
        piece("MPI_Bcast", divided(1.5, 1.0)),
    ]);
    let c = d.causes.first().expect("a large loss");
    assert_eq!(
        (c.class, c.place.first_line),
        (CauseClass::NonShrinkingWork, 20)
    );
}

#[test]
fn work_that_every_rank_does_is_no_slow_machine() {
    // From 2 to 8 ranks all of it takes four times what it should.
    let d = diagnosed(&[
        piece("MPI_Allreduce", |_, _| 0.5),
        piece("MPI_Barrier", |_, _| 0.4),
    ]);
    let places: Vec<u32> = d.causes.iter().map(|c| c.place.first_line).collect();
    assert!(places.contains(&10) && places.contains(&20), "{places:?}");
    let class = |c: &Cause| c.class == CauseClass::NonShrinkingWork;
    assert!(d.causes.iter().all(class), "{:?}", d.causes);
}

#[test]
fn twice_the_ranks_that_all_do_everything_are_no_slow_machine() {
    // From 4 to 8 ranks all of it takes nearly twice what it should: all of the growth that is possible.
    // The last time, the machine was slower at 4 ranks than at 8.
    for faster in [0.002, 0.0134] {
        let pieces = [
            piece("MPI_Allreduce", move |_, p| 0.5 - faster * f64::from(p)),
            piece("MPI_Barrier", move |_, p| 0.4 - 0.8 * faster * f64::from(p)),
        ];
        let runs = [4, 8].map(|p| on_two_cores(p, &pieces)).into();
        let d = diagnose(runs, structure(2), &strong()).expect("they belong together");
        assert!(!d.causes.is_empty(), "{faster}");
    }
}
