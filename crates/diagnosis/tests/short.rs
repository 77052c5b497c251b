//! Runs that are too short for gains of a few milliseconds.

mod support;

use headwater_diagnosis::Options;
use headwater_model::diagnosis::Diagnosis;
use support::{diagnose, piece, run, structure};

/// Seven of eight ranks compute for `seconds`, rank 3 for `more` besides.
fn with_late(seconds: f64, more: f64) -> Diagnosis {
    let late = move |r: u32, _: u32| seconds + if r == 3 { more } else { 0.0 };
    let run = run(8, &[piece("MPI_Allreduce", late)]);
    diagnose(vec![run], structure(1), &Options::default()).expect("one run is enough")
}

fn says_short(d: &Diagnosis) -> bool {
    d.notes.iter().any(|n| n.contains("so short a run"))
}

#[test]
fn milliseconds_of_a_short_run_are_noise() {
    let d = with_late(0.04, 0.0025);
    assert_eq!(d.causes, vec![]);
    assert!(says_short(&d), "{:?}", d.notes);
    // What is more is a cause there too.
    let d = with_late(0.04, 0.02);
    assert_eq!(d.causes.len(), 1);
    assert!(says_short(&d));
}

#[test]
fn a_run_that_is_long_enough_has_no_such_floor() {
    let d = with_late(1.0, 0.1);
    assert_eq!(d.causes.len(), 1);
    assert!(!says_short(&d), "{:?}", d.notes);
}
