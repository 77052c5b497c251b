//! What the diagnosis makes of runs that were recorded with pauses.

mod support;

use headwater_diagnosis::Options;
use headwater_model::RankSet;
use headwater_model::diagnosis::{CauseClass, Diagnosis, Scaling};
use headwater_model::run::Paused;
use support::{Piece, diagnose, piece, run, structure};

/// A program on 4 and 8 ranks, of which those of a set paused recording so often at each scale.
fn diagnosis(work: [Piece; 1], paused: [(&str, u64); 2]) -> Diagnosis {
    let mut runs: Vec<_> = [4, 8].map(|p| run(p, &work)).into();
    for (run, (ranks, times)) in runs.iter_mut().zip(paused) {
        let ranks: RankSet = ranks.parse().expect("a set of ranks");
        if times > 0 {
            run.header.paused.push(Paused {
                ranks,
                times,
                shortest_seconds: 1.0,
                longest_seconds: 1.0,
            });
        }
    }
    // Work that stays on each rank may be weak scaling too.
    let strong = Options {
        scaling: Some(Scaling::Strong),
        ..Options::default()
    };
    diagnose(runs, structure(1), &strong).expect("the runs belong together")
}

/// Whether rank 3 is reported, which has twice the work.
fn compares_ranks(paused: [(&str, u64); 2]) -> bool {
    let late = |r: u32| f64::from(1 + u32::from(r == 3));
    let work = piece("MPI_Allreduce", move |r, p| late(r) * 8.0 / f64::from(p));
    let d = diagnosis([work], paused);
    let uneven = d.causes.iter().any(|c| c.class == CauseClass::UnevenWork);
    let said = d
        .notes
        .iter()
        .any(|n| n.contains("paused recording more often"));
    assert_ne!(uneven, said, "{:?} {:?}", d.causes, d.notes);
    let last = &d.scales[1].efficiencies;
    assert_eq!(uneven, last.load_balance.is_some(), "{last:?}");
    uneven && !d.abnormal.is_empty()
}

#[test]
fn ranks_are_compared_where_all_paused_alike() {
    assert!(compares_ranks([("0-3", 1), ("0-7", 1)]));
}

#[test]
fn ranks_are_not_compared_where_some_paused_more_often() {
    assert!(!compares_ranks([("0-2", 1), ("0-2,4-7", 1)]));
}

/// Whether the report says that the work does not shrink.
fn compares_scales(paused: [(&str, u64); 2]) -> bool {
    let d = diagnosis([piece("MPI_Allreduce", |_, _| 1.0)], paused);
    let last = &d.scales[1].efficiencies;
    assert!(last.load_balance.is_some(), "ranks of one scale are alike");
    let reported = !d.causes.is_empty();
    assert_eq!(reported, !d.non_scalable.is_empty());
    assert_eq!(
        reported,
        last.computation_scaling.is_some() && last.global.is_some()
    );
    let said = d.notes.iter().any(|n| n.contains("not paused as often"));
    assert_ne!(reported, said, "{:?}", d.notes);
    let speedup = d.headline.iter().any(|h| h.contains("times as fast"));
    assert_eq!(reported, speedup, "{:?}", d.headline);
    reported
}

#[test]
fn scales_are_compared_where_they_paused_alike() {
    assert!(compares_scales([("0-3", 2), ("0-7", 2)]));
    assert!(compares_scales([("0-3", 0), ("0-7", 0)]));
    assert!(!compares_scales([("0-3", 1), ("0-7", 2)]));
    assert!(!compares_scales([("0-3", 0), ("0-7", 1)]));
}
