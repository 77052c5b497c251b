//! What hardware counters add: more work is distinguished from slower work.

mod support;

use headwater_diagnosis::Options;
use headwater_model::diagnosis::{CauseClass, Diagnosis, Scaling};
use headwater_model::run::Run;
use support::{diagnose, piece, run, structure};

const SCALES: [u32; 2] = [4, 16];

/// Gives each sample of a run instructions and cycles: `pace` is instructions per cycle of a rank.
fn counted(mut run: Run, pace: impl Fn(u32, u32) -> f64) -> Run {
    run.header.counters = ["page_faults", "instructions", "cycles"]
        .map(String::from)
        .into();
    let p = run.header.ranks;
    for s in &mut run.samples {
        let cycles = 2.0 * s.cpu_ns as f64;
        s.counters = vec![0, (cycles * pace(s.rank, p)) as u64, cycles as u64];
    }
    run
}

fn reported(runs: Vec<Run>) -> Diagnosis {
    diagnose(runs, structure(1), &Options::default()).expect("the runs belong together")
}

/// Every fourth rank takes twice as long.
fn uneven(p: u32) -> Run {
    let pieces = [piece("MPI_Allreduce", |r, p| {
        let even = 8.0 / f64::from(p);
        if r % 4 == 0 { 2.0 * even } else { even }
    })];
    run(p, &pieces)
}

fn evidence(d: &Diagnosis) -> String {
    let all: Vec<&str> = d.causes[0]
        .evidence
        .iter()
        .map(|e| e.text.as_str())
        .collect();
    all.join("\n")
}

#[test]
fn equal_instructions_in_more_time_are_slower_work() {
    let pace = |r: u32, _| if r.is_multiple_of(4) { 0.9 } else { 1.8 };
    let d = reported(SCALES.map(|p| counted(uneven(p), pace)).into());
    let c = &d.causes[0];
    assert_eq!(
        (c.class, c.ranks.to_string()),
        (CauseClass::SlowerWork, "0,4,8,12".to_string())
    );
    let text = evidence(&d);
    assert!(text.contains("1.00 times the instructions"), "{text}");
    assert!(
        text.contains("IPC 0.90") && text.contains("IPC 1.80"),
        "{text}"
    );
    assert!(
        text.contains("IPC by rank: 0.90 1.80 1.80 1.80 0.90"),
        "{text}"
    );
    assert!(d.missing.is_empty(), "{:?}", d.missing);
}

#[test]
fn computation_scaling_is_instructions_by_ipc_by_frequency() {
    // A fifth more instructions than there should be, at a lower pace, on slower cores.
    let even = |p: u32, more: f64| {
        let seconds = move |_, p: u32| more * 8.0 / f64::from(p);
        run(p, &[piece("MPI_Allreduce", seconds)])
    };
    let clocked = |run: Run, gigahertz: f64, pace: f64| {
        let mut run = counted(run, |_, _| pace);
        for s in &mut run.samples {
            for counter in &mut s.counters {
                *counter = (*counter as f64 * gigahertz / 2.0) as u64;
            }
        }
        run
    };
    let base = clocked(even(4, 1.0), 2.0, 2.0);
    let slower = 1.2 * (2.0 / 1.6) * (2.0 / 1.5);
    let strong = Options {
        scaling: Some(Scaling::Strong),
        ..Options::default()
    };
    let d = diagnose(
        vec![base.clone(), clocked(even(16, slower), 1.6, 1.5)],
        structure(1),
        &strong,
    )
    .expect("the runs belong together");
    let near = |value: Option<f64>, wanted: f64| {
        let value = value.expect("is known");
        assert!((value - wanted).abs() < 1e-3, "{value} for {wanted}");
    };
    let e = &d.scales[1].efficiencies;
    near(e.instruction_scaling, 1.0 / 1.2);
    near(e.ipc_scaling, 0.75);
    near(e.frequency_scaling, 0.8);
    near(e.computation_scaling, 0.75 * 0.8 / 1.2);
    let first = &d.scales[0].efficiencies;
    near(first.instruction_scaling, 1.0);
    // Where one of the runs has no counters, nothing is said.
    let d = diagnose(vec![base, even(16, slower)], structure(1), &strong);
    let e = &d.expect("the runs belong together").scales[1].efficiencies;
    assert_eq!((e.instruction_scaling, e.ipc_scaling), (None, None));
}

#[test]
fn more_instructions_in_more_time_are_more_work() {
    let d = reported(SCALES.map(|p| counted(uneven(p), |_, _| 1.5)).into());
    assert_eq!(d.causes[0].class, CauseClass::UnevenWork);
    let text = evidence(&d);
    assert!(text.contains("2.00 times the instructions"), "{text}");
}

#[test]
fn page_faults_explain_by_themselves_why_work_is_slower() {
    // A fault for every `ns` of the half second that late ranks take longer.
    let faulting = |ns: u64| {
        let mut run = uneven(16);
        run.header.counters = vec!["page_faults".into()];
        for s in &mut run.samples {
            let late = s.rank.is_multiple_of(4);
            s.counters = vec![if late { 500_000_000 / ns } else { 12 }];
        }
        reported(vec![run])
    };
    let d = faulting(1500);
    assert_eq!(d.causes[0].class, CauseClass::SlowerWork);
    assert!(
        evidence(&d).contains("one for every 1.50 µs"),
        "{}",
        evidence(&d)
    );
    assert_eq!(faulting(20_000).causes[0].class, CauseClass::UnevenWork);
}

#[test]
fn without_instructions_it_is_said_once_that_nobody_can_tell() {
    let d = reported(SCALES.map(uneven).into());
    assert_eq!(d.causes[0].class, CauseClass::UnevenWork);
    let said = d.missing.iter().filter(|m| m.contains("nstructions"));
    assert_eq!(said.count(), 1, "{:?}", d.missing);
    let mut runs = SCALES.map(uneven);
    for run in &mut runs {
        run.header.missing = vec!["instructions: not on this machine".into()];
    }
    assert_eq!(reported(runs.into()).missing.len(), 1);
}

#[test]
fn memory_that_ranks_share_is_no_work_that_stays() {
    let stays = |p: u32| run(p, &[piece("MPI_Allreduce", |_, _| 2.0)]);
    // The instructions shrink with the ranks; the time does not.
    let shared = reported(
        SCALES
            .map(|p| counted(stays(p), |_, p| 6.0 / f64::from(p)))
            .into(),
    );
    assert_eq!(shared.causes[0].class, CauseClass::SlowerWork);
    let text = evidence(&shared);
    assert!(text.contains("1.00 times the instructions"), "{text}");
    assert!(text.contains("IPC 1.50, 2.00 GHz on 4 ranks"), "{text}");
    // Where instructions stay too it may be weak scaling: the user says that it is not.
    let strong = Options {
        scaling: Some(Scaling::Strong),
        ..Options::default()
    };
    let stays = SCALES.map(|p| counted(stays(p), |_, _| 1.5)).into();
    let copied = diagnose(stays, structure(1), &strong).expect("the runs belong together");
    assert_eq!(copied.causes[0].class, CauseClass::NonShrinkingWork);
}
