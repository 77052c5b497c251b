//! Work that is on another rank in each iteration.

mod support;

use headwater_diagnosis::Options;
use headwater_model::diagnosis::Cause;
use headwater_model::run::{CtxId, Event, EventKind, Run};
use support::{diagnose, piece, run, structure};

/// Scatter between 0 and 1 that is the same every time.
fn scatter(rank: u32, step: u32) -> f64 {
    let mixed = (u64::from(rank) << 32 | u64::from(step)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed >> 40) as f64 / (1u64 << 24) as f64
}

/// A run in which each rank computes `busy(rank, step)` µs in each of 40 steps before a reduction.
fn with_steps(ranks: u32, busy: impl Fn(u32, u32) -> f64) -> Run {
    const STEPS: u32 = 40;
    let of_rank: Vec<f64> = (0..ranks)
        .map(|r| (0..STEPS).map(|s| busy(r, s)).sum::<f64>() * 1e-6)
        .collect();
    let slowest = |s: u32| (0..ranks).map(|r| busy(r, s)).fold(0.0, f64::max);
    let wall: f64 = (0..STEPS).map(slowest).sum::<f64>() * 1e-6;
    let own = of_rank.clone();
    let mut run = run(
        ranks,
        &[piece("MPI_Allreduce", move |r, _| own[r as usize])],
    );
    run.ranks
        .iter_mut()
        .for_each(|r| r.wall_ns = (wall * 1e9) as u64);
    for c in &mut run.calls {
        let waits = wall - of_rank[c.rank as usize];
        (c.wall_ns, c.cpu_ns) = ((waits * 1e9) as u64, (waits * 1e9) as u64);
    }
    for rank in 0..ranks {
        for step in 0..STEPS {
            run.events.push(Event {
                rank,
                ctx: CtxId(1),
                kind: EventKind::Collective,
                link: 1 + step,
                peer: u32::MAX,
                busy_ns: (busy(rank, step) * 1000.0) as u64,
                first_of_call: true,
                ..Default::default()
            });
        }
    }
    run
}

fn causes(run: Run) -> Vec<Cause> {
    let d = diagnose(vec![run], structure(1), &Options::default());
    d.expect("one run is enough").causes
}

/// Each rank computes for 20 ms with some noise, and one of them in turn for `more` of that besides.
fn in_turn(ranks: u32, noise: f64, more: f64) -> Vec<Cause> {
    causes(with_steps(ranks, move |rank, step| {
        let late = if step % ranks == rank { more } else { 0.0 };
        20_000.0 * (1.0 + noise * scatter(rank, step) + late)
    }))
}

#[test]
fn a_twentieth_of_the_run_by_turns_is_found() {
    for (ranks, more) in [(8, 0.057), (8, 0.05), (8, 0.2), (16, 0.06)] {
        let found = in_turn(ranks, 0.01, more);
        assert!(!found.is_empty(), "{ranks} ranks, {more}");
        let c = &found[0];
        assert_eq!(c.ranks.len(), ranks as usize, "{more}");
        // Evened out, each rank has its part of it in each step.
        let truth = 0.8 * more * (1.0 - 1.0 / f64::from(ranks));
        let (low, high) = c.gain_range_seconds;
        let off = (c.gain_seconds - truth).abs() / truth;
        assert!(off < 0.15, "{more}: {low} to {high} for {truth}");
    }
}

#[test]
fn scatter_of_single_steps_is_not_work_by_turns() {
    for noise in [0.01, 0.05, 0.1, 0.2] {
        assert_eq!(in_turn(8, noise, 0.0), vec![], "{noise}");
        assert_eq!(in_turn(16, noise, 0.0), vec![], "{noise}");
    }
    // A rank is interrupted in every other step.
    let interrupted = with_steps(8, |rank, step| {
        let late = step % 2 == 0 && (scatter(99, step) * 8.0) as u32 == rank;
        20_000.0 * (1.0 + 0.01 * scatter(rank, step)) + f64::from(u8::from(late)) * 3_000.0
    });
    assert_eq!(causes(interrupted), vec![]);
}
