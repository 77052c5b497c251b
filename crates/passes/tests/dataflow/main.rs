//! Sets, dataflows and paradigms on runs and graphs made by hand.

mod algorithms;
mod bad_input;
mod built_in;
mod communication;
mod extrapolated;
mod flows;
mod interrupted;
mod paradigms;
mod sets;
#[path = "../support/mod.rs"]
#[allow(dead_code)] // each test uses its part
mod support;
mod views;
mod waits;

use headwater_model::run::{CollectiveWait, CtxId, Run};
use headwater_passes::Recorded;
use support::{Piece, piece, run, structure};

/// A program of three loops, of which rank 3 has twice as much of the second, on `ranks` ranks.
fn recorded(ranks: &[u32]) -> Vec<Recorded> {
    let runs = ranks.iter().map(|n| made(*n)).collect();
    Recorded::join(runs, structure(3)).expect("whole runs")
}

/// One run of it.
fn made(ranks: u32) -> Run {
    let pieces = || -> Vec<Piece> {
        vec![
            piece("MPI_Allreduce", |_, n| 4.0 / f64::from(n)),
            piece("MPI_Barrier", |r, _| if r == 3 { 2.0 } else { 1.0 }),
            piece("MPI_Send", |_, _| 0.5),
        ]
    };
    let mut run = run(ranks, &pieces());
    run.header.wall_seconds = 5.0;
    // In the barrier all wait a second for rank 3, where there is one.
    run.collectives = (0..ranks)
        .map(|rank| CollectiveWait {
            rank,
            ctx: CtxId(3),
            func: 1,
            sampled: 100,
            wait_ns: u64::from(rank != 3 && ranks > 3) * 1_000_000_000,
            last: u64::from(rank == 3) * 100,
            ..Default::default()
        })
        .collect();
    run
}
