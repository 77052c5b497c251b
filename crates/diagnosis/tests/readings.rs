//! How the problem grows, where the arguments do not say it for certain, and several recordings of a scale.

mod support;

use headwater_diagnosis::Options;
use headwater_model::diagnosis::{CauseClass, Diagnosis, Scaling};
use headwater_model::run::Run;
use support::{Piece, diagnose, piece, run, structure};

fn of_runs(runs: Vec<Run>, pieces: usize) -> Diagnosis {
    diagnose(runs, structure(pieces), &Options::default()).expect("they belong together")
}

fn diagnosis(pieces: &[Piece]) -> Diagnosis {
    let runs = [2, 4, 8, 16].map(|p| run(p, pieces));
    of_runs(runs.into(), pieces.len())
}

#[test]
fn equal_arguments_and_equal_work_of_each_rank_have_two_readings() {
    // Weak scaling with its size in a file, or work that no rank shares: nobody can know.
    let d = diagnosis(&[
        piece("MPI_Allreduce", |_, _| 1.0),
        piece("MPI_Barrier", |r, _| if r == 3 { 0.4 } else { 0.2 }),
    ]);
    assert_eq!((d.scaling, d.scaling_certain), (Scaling::Weak, false));
    let uneven = d.causes.first().expect("rank 3 is late in both readings");
    assert_eq!(
        (uneven.class, uneven.only_if),
        (CauseClass::UnevenWork, None)
    );
    let other = d.other_reading.as_ref().expect("a second reading");
    assert_eq!(other.scaling, Scaling::Strong);
    let found: Vec<_> = other.causes.iter().map(|c| (c.class, c.only_if)).collect();
    assert!(
        found.contains(&(CauseClass::NonShrinkingWork, Some(Scaling::Strong))),
        "{found:?}"
    );
    assert!(
        !found.iter().any(|c| c.0 == CauseClass::UnevenWork),
        "{found:?}"
    );
    let said = d.headline.join(" ");
    for words in [
        "If the problem is the same at every scale (strong scaling): ",
        "If it grows with the ranks (weak scaling): ",
        "--scaling strong or --scaling weak",
        "computation of all ranks together grows 8",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn work_that_does_not_shrink_beside_divided_work_is_strong_scaling() {
    let d = diagnosis(&[
        piece("MPI_Allreduce", |_, p| 8.0 / f64::from(p)),
        piece("MPI_Allreduce", |_, _| 4.0),
    ]);
    assert_eq!((d.scaling, d.scaling_certain), (Scaling::Strong, true));
    assert_eq!(d.causes[0].class, CauseClass::NonShrinkingWork);
    assert!(d.other_reading.is_none());
    assert!(
        d.scaling_reason.contains("of it is divided"),
        "{}",
        d.scaling_reason
    );
}

#[test]
fn what_the_user_says_is_certain() {
    let pieces = [piece("MPI_Allreduce", |_, _| 1.0)];
    let runs = [2, 4].map(|p| run(p, &pieces)).into();
    let options = Options {
        scaling: Some(Scaling::Weak),
        ..Options::default()
    };
    let d = diagnose(runs, structure(1), &options).expect("they belong together");
    assert!(d.scaling_certain && d.other_reading.is_none());
    assert!(
        d.headline.join(" ").contains("No scaling loss found"),
        "{:?}",
        d.headline
    );
}

/// A recording of even work, and of rank 1 that takes longer before the barrier.
fn recording(ranks: u32, number: u32, more: f64) -> Run {
    let pieces = [
        piece("MPI_Allreduce", |_, p| 8.0 / f64::from(p)),
        piece("MPI_Barrier", move |r, p| {
            let even = 4.0 / f64::from(p);
            even * (1.0 + 1e-4 * f64::from(number)) + if r == 1 { more } else { 0.0 }
        }),
    ];
    let mut run = run(ranks, &pieces);
    run.header.name = format!("app.{ranks}.{number}");
    run
}

fn repeated(more: [f64; 3]) -> Diagnosis {
    let all = [2, 8].into_iter().flat_map(|ranks| {
        (0..3).map(move |i| recording(ranks, i, more[i as usize] * 4.0 / f64::from(ranks)))
    });
    of_runs(all.collect(), 2)
}

#[test]
fn several_recordings_of_a_scale_give_the_scatter_of_a_gain() {
    let d = repeated([0.5, 0.6, 0.7]);
    assert_eq!(d.scales.iter().map(|s| s.ranks).collect::<Vec<_>>(), [2, 8]);
    // The middle one of each scale, by its run time.
    assert_eq!(d.scales[1].run, "app.8.1");
    let c = d.causes.first().expect("rank 1 is late");
    let repeated = c.repeated.expect("three recordings");
    assert_eq!((repeated.found, repeated.of), (3, 3));
    let (least, most) = c.gain_range_seconds;
    assert!(
        least < 0.9 * c.gain_seconds && most > 1.02 * c.gain_seconds,
        "{c:?}"
    );
    let said = |text: &str| c.evidence.iter().any(|e| e.text == text);
    let text = "found in 3 of 3 diagnoses that each leave out one recording of each scale";
    assert!(said(text), "{:?}", c.evidence);
    assert!(d.headline.join(" ").contains('–'), "{:?}", d.headline);
}

#[test]
fn what_one_of_three_recordings_shows_is_no_cause() {
    // Also if it is the one in the middle by run time.
    let mut slow = recording(8, 2, 0.0);
    for info in &mut slow.ranks {
        info.wall_ns += 2_000_000_000;
    }
    let runs = vec![recording(8, 0, 0.0), recording(8, 1, 0.5), slow];
    let d = of_runs(runs, 2);
    assert!(d.causes.is_empty(), "{:?}", d.causes);
}

#[test]
fn a_verdict_that_a_repetition_would_not_show_says_so() {
    let d = of_runs(vec![recording(8, 0, 0.0), recording(8, 1, 0.8)], 2);
    let c = d.causes.iter().find(|c| c.class == CauseClass::UnevenWork);
    let c = c.expect("it is half of it on the mean");
    let said = |text: &str| c.evidence.iter().any(|e| e.text == text);
    let text = "would not survive a repetition: found in 1 of 2 diagnoses that each leave out one recording of each scale";
    assert!(said(text), "{:?}", c.evidence);
    let said = d.headline.join(" ");
    let text =
        "A repetition may not show it: 1 of 2 diagnoses that each leave out one recording do.";
    assert!(said.contains(text), "{said}");
}

#[test]
fn a_recording_that_was_cut_off_is_left_out_with_a_note() {
    let mut killed = recording(8, 0, 0.0);
    killed.header.incomplete = vec![3];
    let d = of_runs(vec![killed, recording(8, 1, 0.5)], 2);
    assert_eq!(d.scales[0].run, "app.8.1");
    let said = d.notes.join(" ");
    assert!(
        said.contains("The recording app.8.0 on 8 ranks is not used"),
        "{said}"
    );
    assert_eq!(d.causes.first().map(|c| c.repeated), Some(None));
}

#[test]
fn recordings_may_be_of_a_program_that_lies_elsewhere_each_time() {
    let of = |number: u32| {
        let mut run = recording(8, number, 0.5);
        run.modules[0].path = format!("/tmp/{number}/app");
        run
    };
    let d = of_runs((0..3).map(of).collect(), 2);
    let c = d.causes.first().expect("rank 1 is late");
    assert_eq!(c.ranks.to_string(), "1");
}

/// A recording in which times scatter by 1.5 %, and rank 1 besides takes 5 % more than the others.
fn scattering(number: u32) -> Run {
    let chance = move |rank: u32| {
        let mut mixed = u64::from(rank) << 32 | u64::from(number + 1);
        let mut next = || {
            mixed = (mixed ^ mixed >> 29).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            (mixed >> 40) as f64 / (1u64 << 24) as f64
        };
        next();
        next();
        // The sum of four of them is about normal, with a variance of a third.
        let sum: f64 = (0..4).map(|_| next()).sum();
        (sum - 2.0) * 3f64.sqrt()
    };
    let pieces = [
        piece("MPI_Allreduce", |_, _| 0.2),
        piece("MPI_Barrier", move |r, _| {
            let late = if r == 1 { 0.05 } else { 0.0 };
            1.0 + 0.015 * chance(r) + late
        }),
    ];
    let mut run = run(16, &pieces);
    run.header.name = format!("app.16.{number}");
    run
}

#[test]
fn what_scatter_hides_in_each_recording_several_show() {
    let late = |numbers: std::ops::Range<u32>| {
        let d = of_runs(numbers.map(scattering).collect(), 2);
        let uneven = d.causes.into_iter();
        let uneven = uneven.filter(|c| c.class == CauseClass::UnevenWork);
        uneven.map(|c| c.ranks.to_string()).collect::<Vec<_>>()
    };
    let alone = (0..9).filter(|n| late(*n..n + 1) == ["1"]).count();
    assert!(alone < 5, "{alone} of 9 recordings");
    assert_eq!(late(0..9), ["1"]);
}
