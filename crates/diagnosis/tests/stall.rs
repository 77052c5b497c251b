//! A single long repetition may be the machine's where no other scale shows it.

mod support;

use headwater_diagnosis::{Options, diagnose};
use headwater_model::diagnosis::{CauseClass, Diagnosis};
use headwater_model::run::{Run, Segment};
use support::{piece, run, structure};

const SCALES: [u32; 4] = [2, 4, 8, 16];

fn even(ranks: u32) -> f64 {
    16.0 / f64::from(ranks)
}

/// Seconds that rank 3 loses once.
const LOST: f64 = 0.4;

/// Runs in which rank 3 computes `LOST` longer once, where `loses` says so of the number of ranks.
fn runs(loses: impl Fn(u32) -> bool + Copy + 'static) -> Vec<Run> {
    let made = |p: &u32| {
        let late = move |r: u32, p: u32| if r == 3 && loses(p) { LOST } else { 0.0 };
        let mut made = run(
            *p,
            &[piece("MPI_Allreduce", move |r, p| even(p) + late(r, p))],
        );
        let longest = (LOST * 1e9) as u64;
        let of_rank = made
            .segments
            .iter_mut()
            .filter(|s| s.rank == 3 && loses(*p));
        of_rank.for_each(|s| s.max_busy_ns = longest);
        made
    };
    SCALES.iter().map(made).collect()
}

fn of_runs(runs: Vec<Run>) -> Diagnosis {
    diagnose(runs, structure(1), &Options::default()).expect("the runs belong together")
}

fn one_offs(d: &Diagnosis) -> usize {
    let once = d.causes.iter().filter(|c| c.class == CauseClass::OneOff);
    once.count()
}

#[test]
fn a_stall_at_the_largest_scale_alone_is_a_note() {
    let d = of_runs(runs(|p| p == 16));
    assert_eq!(one_offs(&d), 0, "{:?}", d.causes);
    let said = "No smaller scale shows it.";
    assert!(d.notes.iter().any(|n| n.contains(said)), "{:?}", d.notes);
}

#[test]
fn a_stall_that_a_smaller_scale_shows_too_is_a_cause() {
    for also in [4, 8] {
        let d = of_runs(runs(move |p| p == 16 || p == also));
        assert_eq!(one_offs(&d), 1, "{also}: {:?}", d.notes);
    }
}

/// What is said of runs in which rank 3 of 16 has code of its own, with all of its time in one repetition. `change` is
/// asked whether a segment is of that code.
fn of_own_code(change: impl Fn(&mut Run, &dyn Fn(&Segment) -> bool)) -> Diagnosis {
    let made = |p: &u32| {
        let own = |r: u32, p: u32| if r == 3 && p == 16 { LOST } else { 0.0 };
        let mut made = run(
            *p,
            &[
                piece("MPI_Allreduce", |_, p| even(p)),
                piece("MPI_Allreduce", own),
            ],
        );
        // What comes after the first call is the second piece.
        let first = made.segments[0].to;
        let is_own = |s: &Segment| s.rank == 3 && s.from == first;
        for s in made.segments.iter_mut().filter(|s| is_own(s)) {
            s.max_busy_ns = s.busy_ns();
        }
        change(&mut made, &is_own);
        made
    };
    let runs = SCALES.iter().map(made).collect();
    diagnose(runs, structure(2), &Options::default()).expect("the runs belong together")
}

#[test]
fn a_stall_in_code_that_only_this_rank_runs_is_a_cause() {
    let d = of_own_code(|_, _| ());
    assert_eq!(one_offs(&d), 1, "{:?} {:?}", d.causes, d.notes);
}

/// The class of such code that is run once, in a loop that ranks come by so many times.
fn class_of_own_code(steps: u64) -> Option<CauseClass> {
    let d = of_own_code(|run, is_own| {
        let segments = run.segments.iter_mut();
        segments.filter(|s| is_own(s)).for_each(|s| s.count = 1);
        run.calls.iter_mut().for_each(|c| c.count = steps);
    });
    d.causes.first().map(|c| c.class)
}

#[test]
fn what_is_left_of_a_loop_only_once_is_a_stall_if_the_loop_repeats() {
    assert_eq!(class_of_own_code(100), Some(CauseClass::OneOff));
    assert_eq!(class_of_own_code(2), Some(CauseClass::UnevenWork));
}

/// Classes of causes at 8 ranks, where each rank computes `more` seconds longer in one of its 100 repetitions, which
/// takes `stage` seconds on every rank.
fn in_one_repetition(stage: f64, more: fn(u32) -> f64) -> Vec<CauseClass> {
    let mut made = run(
        8,
        &[piece("MPI_Allreduce", move |r, _| 1.0 + stage + more(r))],
    );
    for s in &mut made.segments {
        s.max_busy_ns = ((0.01 + stage + more(s.rank)) * 1e9) as u64;
    }
    let d = of_runs(vec![made]);
    d.causes.iter().map(|c| c.class).collect()
}

#[test]
fn what_rises_over_the_ranks_is_no_stall() {
    let rises = |rank| 0.1 * f64::from(rank);
    assert_eq!(in_one_repetition(0.0, rises), [CauseClass::UnevenWork]);
}

#[test]
fn ranks_that_do_more_in_a_stage_of_all_ranks_have_no_stall() {
    let one = |rank| if rank == 3 { 0.4 } else { 0.0 };
    assert_eq!(in_one_repetition(0.0, one), [CauseClass::OneOff]);
    assert_eq!(in_one_repetition(0.5, one), [CauseClass::UnevenWork]);
}
