//! The account of the whole loss, and what is said of losses that have no single place.

#[path = "account/steps.rs"]
mod steps;
mod support;

use headwater_diagnosis::Options;
use headwater_model::diagnosis::{Against, CauseClass, Diagnosis, LossKind};
use support::{Piece, diagnose, piece, run, structure};

const SCALES: [u32; 4] = [2, 4, 8, 16];

fn diagnosis(pieces: &[Piece]) -> Diagnosis {
    let runs = SCALES.iter().map(|p| run(*p, pieces)).collect();
    diagnose(runs, structure(pieces.len()), &Options::default()).expect("they belong together")
}

fn even(ranks: u32) -> f64 {
    8.0 / f64::from(ranks)
}

fn part(d: &Diagnosis, kind: LossKind) -> f64 {
    let own = d.account.parts.iter().filter(|p| p.kind == kind);
    own.map(|p| p.seconds).sum()
}

#[test]
fn many_small_losses_are_named_together() {
    // One loop is divided; 49 others stay as they are, each with 1 % of the run.
    let mut pieces = vec![piece("MPI_Allreduce", |_, p| even(p))];
    pieces.extend((0..49).map(|_| piece("MPI_Allreduce", |_, _| 0.01)));
    let d = diagnosis(&pieces);
    assert_eq!(d.causes, vec![]);
    // 16 ranks: 0.5 s are divided, 0.49 s are not; on 2 ranks these were 0.49 s too.
    let loss = 0.49 * (1.0 - 1.0 / 8.0);
    assert_eq!(d.account.against, Against::Ideal);
    assert!(
        (d.account.loss_seconds - loss).abs() < 0.01,
        "{:?}",
        d.account
    );
    assert!(
        (part(&d, LossKind::SmallGrowth) - loss).abs() < 0.01,
        "{:?}",
        d.account
    );
    let small = d.account.small.as_ref().expect("there are small losses");
    assert!((46..=50).contains(&small.places), "{small:?}");
    let said = d.headline.join(" ");
    for words in [
        "At 16 ranks 43 % is lost, and no single place explains it.",
        "they do not shrink as ranks are added",
        "they are in main",
        "together 43 %",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!said.contains("no cause was found"), "{said}");
}

#[test]
fn small_losses_with_the_same_late_ranks_say_which() {
    let late = |r: u32, p: u32| even(p) / 40.0 * if r.is_multiple_of(4) { 1.9 } else { 1.0 };
    let pieces: Vec<Piece> = (0..40).map(|_| piece("MPI_Allreduce", late)).collect();
    let d = diagnosis(&pieces);
    let small = part(&d, LossKind::SmallUneven);
    if d.causes.is_empty() {
        assert!((small - 0.5 * 0.675).abs() < 0.02, "{:?}", d.account);
        let said = d.headline.join(" ");
        assert!(
            said.contains("the late ranks are the same: ranks 0,4,8,12"),
            "{said}"
        );
    } else {
        // A finder that sums small places over a larger one has explained it.
        let by_causes = part(&d, LossKind::Causes);
        assert!(by_causes > 0.8 * d.account.loss_seconds, "{:?}", d.account);
    }
}

#[test]
fn a_cause_takes_its_gain_out_of_the_loss() {
    let d = diagnosis(&[
        piece("MPI_Allreduce", |_, p| even(p)),
        piece("MPI_Allreduce", |r, p| {
            if r % 4 == 0 { 2.0 * even(p) } else { even(p) }
        }),
    ]);
    let by_causes = part(&d, LossKind::Causes);
    let gains: f64 = d.causes.iter().map(|c| c.gain_seconds).sum();
    assert!((by_causes - gains).abs() < 1e-6, "{:?}", d.account);
    assert!(
        part(&d, LossKind::SmallUneven) < 0.05 * by_causes,
        "{:?}",
        d.account
    );
    let parts: f64 = d.account.parts.iter().map(|p| p.seconds).sum();
    assert!((parts - d.account.loss_seconds).abs() < 1e-9);
}

/// Even work on few ranks with so many seconds before `MPI_Init` returned, of wall and of CPU time.
fn with_startup(wall: fn(u32) -> f64, cpu: fn(u32) -> f64, crowded: bool) -> Diagnosis {
    let pieces = [piece("MPI_Allreduce", |_, p| even(p))];
    let runs = SCALES.iter().map(|p| {
        let mut run = run(*p, &pieces);
        for info in &mut run.ranks {
            info.before_init_wall_ns = (wall(*p) * 1e9) as u64;
            info.before_init_cpu_ns = (cpu(*p) * 1e9) as u64;
        }
        if crowded {
            run.header.cores = vec![2];
        }
        run
    });
    diagnose(runs.collect(), structure(1), &Options::default()).expect("they belong together")
}

#[test]
fn start_up_that_grows_is_a_cause_of_its_own() {
    let d = with_startup(|p| 0.25 * f64::from(p), |_| 0.1, false);
    let c = d.causes.first().expect("3.5 s more before MPI_Init");
    assert_eq!(c.class, CauseClass::Startup);
    assert!((c.gain_seconds - 3.5).abs() < 1e-6, "{}", c.gain_seconds);
    // Of the run with its start-up: 0.5 s and 4 s.
    assert!((c.gain_share - 3.5 / 4.5).abs() < 0.01, "{}", c.gain_share);
    assert!(
        (part(&d, LossKind::BeforeInit) - 3.5).abs() < 1e-6,
        "{:?}",
        d.account
    );
    let said = d.headline.join(" ");
    assert!(!said.contains("No scaling loss"), "{said}");
    assert!(
        said.contains("The main cause is the start-up before MPI_Init returned"),
        "{said}"
    );
}

#[test]
fn start_up_on_crowded_cores_is_a_sentence() {
    let d = with_startup(|p| 0.1 * f64::from(p), |_| 0.1, true);
    assert_eq!(d.causes, vec![]);
    let said = d.headline.join(" ");
    assert!(said.contains("No scaling loss found."), "{said}");
    assert!(
        said.contains("Before MPI_Init returned, a rank took 200 ms"),
        "{said}"
    );
    // Where it is CPU time, it is the program's own.
    let own = with_startup(|p| 0.1 * f64::from(p), |p| 0.09 * f64::from(p), true);
    assert_eq!(
        own.causes.first().map(|c| c.class),
        Some(CauseClass::Startup)
    );
}

#[test]
fn usual_start_up_of_a_short_program_is_no_cause() {
    let d = with_startup(|p| 0.2 + 0.02 * f64::from(p), |_| 0.1, false);
    assert_eq!(d.causes, vec![]);
    assert!(
        !d.headline.join(" ").contains("MPI_Init"),
        "{:?}",
        d.headline
    );
}
