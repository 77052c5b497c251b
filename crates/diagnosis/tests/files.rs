//! What the diagnosis makes of time in calls of MPI-IO.

mod support;

use headwater_diagnosis::Options;
use headwater_model::diagnosis::{CauseClass, Diagnosis};
use support::{diagnose, piece, run, structure};

/// Rank 0 takes half a second for all of its calls of `function`, and the others wait for it in a reduction.
fn diagnosis(function: &'static str) -> Diagnosis {
    const LATE_NS: u64 = 500_000_000;
    let pieces = [
        piece(function, |_, p| 4.0 / f64::from(p)),
        piece("MPI_Allreduce", |_, p| 0.4 / f64::from(p)),
    ];
    let mut runs: Vec<_> = [2, 4, 8].map(|p| run(p, &pieces)).into();
    for run in &mut runs {
        for rank in &mut run.ranks {
            rank.wall_ns += LATE_NS;
        }
        for c in &mut run.calls {
            let writes = run.functions[c.func as usize] == function;
            if writes == (c.rank == 0) {
                c.wall_ns += LATE_NS;
                c.cpu_ns += LATE_NS / 4;
                c.max_wall_ns = LATE_NS / 100;
            }
        }
    }
    diagnose(runs, structure(2), &Options::default()).expect("the runs belong together")
}

#[test]
fn a_rank_that_is_late_in_a_file_is_the_cause_and_the_call_its_place() {
    let d = diagnosis("MPI_File_write_at");
    let c = &d.causes[0];
    assert_eq!(c.class, CauseClass::SystemCallOrIo, "{:?}", d.causes);
    // The call behind the first loop.
    assert_eq!(c.place.first_line, 17, "{:?}", c.place);
    assert_eq!(c.ranks.to_string(), "0");
    assert!((c.gain_seconds - 0.5).abs() < 0.05, "{}", c.gain_seconds);
    assert_eq!(d.causes.len(), 1, "{:?}", d.causes);
}

#[test]
fn a_rank_that_waits_in_a_call_for_all_is_none() {
    let d = diagnosis("MPI_File_write_at_all");
    let named = d.causes.iter().any(|c| c.ranks.to_string() == "0");
    assert!(!named, "{:?}", d.causes);
}
