//! What the diagnosis makes of runs that were recorded with pauses.

mod support;

use headwater_model::RankSet;
use headwater_model::diagnosis::{CauseClass, Diagnosis};
use headwater_model::run::Paused;
use headwater_passes::{Options, diagnose};
use support::{piece, run, structure};

/// Rank 3 has twice the work; `paused` are ranks that recording was paused on once.
fn diagnosis(paused: &str) -> Diagnosis {
    let work = [piece("MPI_Allreduce", |r, p| {
        f64::from(1 + u32::from(r == 3)) * 8.0 / f64::from(p)
    })];
    let mut runs: Vec<_> = [4, 8].map(|p| run(p, &work)).into();
    for run in &mut runs {
        let ranks: RankSet = paused.parse().expect("a set of ranks");
        run.header.paused.push(Paused {
            ranks: ranks
                .as_slice()
                .iter()
                .copied()
                .filter(|r| *r < run.header.ranks)
                .collect(),
            times: 1,
            shortest_seconds: 1.0,
            longest_seconds: 1.0,
        });
    }
    diagnose(runs, structure(1), &Options::default()).expect("the runs belong together")
}

fn compares(d: &Diagnosis) -> bool {
    let uneven = d.causes.iter().any(|c| c.class == CauseClass::UnevenWork);
    let said = d
        .notes
        .iter()
        .any(|n| n.contains("paused recording more often"));
    assert_ne!(uneven, said, "{:?} {:?}", d.causes, d.notes);
    uneven && !d.abnormal.is_empty()
}

#[test]
fn ranks_are_compared_where_all_paused_alike() {
    assert!(compares(&diagnosis("0-7")));
}

#[test]
fn ranks_are_not_compared_where_some_paused_more_often() {
    assert!(!compares(&diagnosis("0-2,4-7")));
}
