//! Work that does not shrink, and what only seems to stay.

mod support;

use headwater_diagnosis::{Options, diagnose};
use headwater_graph::Structures;
use headwater_model::diagnosis::{CauseClass, Diagnosis};
use headwater_model::run::Run;
use support::{Piece, piece, run, structure};

const SCALES: [u32; 4] = [2, 4, 8, 16];

fn even(_: u32, p: u32) -> f64 {
    8.0 / f64::from(p)
}

fn diagnosed(runs: Vec<Run>, structures: Structures) -> Diagnosis {
    diagnose(runs, structures, &Options::default()).expect("the runs belong together")
}

fn all(pieces: &[Piece]) -> Diagnosis {
    let runs = SCALES.iter().map(|p| run(*p, pieces)).collect();
    diagnosed(runs, structure(pieces.len()))
}

#[test]
fn another_branch_at_the_smaller_scale_is_no_loss() {
    // if (size == 2) the first loop, else the second one: the same work, divided as it should be.
    let d = all(&[
        piece("MPI_Allreduce", |_, p| if p == 2 { 4.0 } else { 0.0 }),
        piece(
            "MPI_Allreduce",
            |r, p| if p == 2 { 0.0 } else { even(r, p) },
        ),
    ]);
    assert_eq!(d.causes, vec![]);
}

#[test]
fn work_that_only_larger_scales_have_is_a_loss() {
    let d = all(&[
        piece("MPI_Allreduce", even),
        piece("MPI_Allreduce", |_, p| if p == 2 { 0.0 } else { 0.4 }),
    ]);
    let c = d.causes.first().expect("0.4 s that two ranks do not need");
    assert_eq!(
        (c.class, c.place.first_line),
        (CauseClass::NonShrinkingWork, 20)
    );
    assert!((c.gain_seconds - 0.4).abs() < 0.02, "{}", c.gain_seconds);
}

#[test]
fn what_another_branch_takes_longer_is_as_uncertain_as_the_branches_together() {
    // The same work in another loop, a third more than ideal. Where cores fill up, the same loop could take that, too.
    let of = |cores: u32| {
        let pieces = [
            piece("MPI_Allreduce", |_, p| if p == 2 { 4.0 } else { 0.0 }),
            piece("MPI_Allreduce", |_, p| if p == 2 { 0.0 } else { 2.7 }),
        ];
        let recorded = |p: u32| {
            let mut made = run(p, &pieces);
            made.header.cores = vec![cores];
            made
        };
        let d = diagnosed(vec![recorded(2), recorded(4)], structure(2));
        d.causes.len()
    };
    assert_eq!((of(4), of(0)), (0, 1));
}

/// The structure of a program whose loops before MPI calls are copies of one loop in the source.
fn copies(pieces: usize) -> Structures {
    let plain = structure(pieces);
    let all = plain.iter().map(|(module, own)| {
        let mut own = own.clone();
        let loops = own.functions[0].vertices.iter_mut().skip(2).step_by(2);
        loops.for_each(|v| (v.first_line, v.last_line) = (10, 15));
        (module.clone(), own)
    });
    Structures::new(all.collect::<Vec<_>>())
}

#[test]
fn copies_of_a_loop_are_compared_together() {
    // The compiler made three copies of one loop, and each scale runs others of them: together they shrink.
    let share = |p: u32, copy: usize| [[0.8, 0.1, 0.1], [0.1, 0.2, 0.7]][usize::from(p > 4)][copy];
    let at = |copy: usize| move |r: u32, p: u32| even(r, p) * share(p, copy);
    let pieces = [0, 1, 2].map(|copy| piece("MPI_Allreduce", at(copy)));
    let runs = SCALES.iter().map(|p| run(*p, &pieces)).collect();
    assert_eq!(diagnosed(runs, copies(3)).causes, vec![]);
}

#[test]
fn a_loss_over_many_ways_to_one_loop_is_one_cause() {
    // Each of eight copies loses too little to be seen; all of them lose 0.12 s of 0.62.
    let pieces: Vec<Piece> = (0..8)
        .map(|_| piece("MPI_Allreduce", |r, p| even(r, p) / 8.0 + 0.015))
        .collect();
    let runs = SCALES.iter().map(|p| run(*p, &pieces)).collect();
    let d = diagnosed(runs, copies(8));
    assert_eq!(d.causes.len(), 1, "{:?}", d.causes);
    let c = &d.causes[0];
    assert_eq!(
        (c.class, c.place.first_line),
        (CauseClass::NonShrinkingWork, 10)
    );
    // Two ranks have the 0.12 s too, of which an eighth would be left if they shrank.
    assert!((c.gain_seconds - 0.105).abs() < 0.01, "{}", c.gain_seconds);
    let (low, high) = c.gain_range_seconds;
    assert!(low < 0.105 && 0.105 < high, "{low} to {high}");
}

#[test]
fn a_loop_that_shrinks_by_too_little_counts_by_what_it_loses() {
    // A slope of -0.7: at 16 ranks nearly half of the time is beyond the ideal.
    let d = all(&[piece("MPI_Allreduce", |_, p| {
        4.0 * (2.0 / f64::from(p)).powf(0.7)
    })]);
    let c = d.causes.first().expect("a large loss");
    assert_eq!(c.class, CauseClass::NonShrinkingWork);
}

#[test]
fn times_that_scatter_between_scales_are_no_loss() {
    // The machine was busy at some scales, and the work took longer there for nothing.
    let busy = |p: u32| match p {
        4 => 1.5,
        16 => 1.25,
        _ => 1.0,
    };
    let d = all(&[piece("MPI_Allreduce", move |r, p| even(r, p) * busy(p))]);
    assert_eq!(d.causes, vec![]);
}
