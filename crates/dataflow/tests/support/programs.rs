//! Two small programs: one of three loops, and one that sends messages.

use super::support::{Piece, piece, run, structure};
use headwater_dataflow::Recorded;
use headwater_model::run::{CollectiveWait, CtxId, MessageEdge, Run};

/// A program of three loops, of which rank 3 has twice as much of the second, on `ranks` ranks.
pub fn recorded(ranks: &[u32]) -> Vec<Recorded> {
    let runs = ranks.iter().map(|n| made(*n)).collect();
    Recorded::join(runs, structure(3)).expect("whole runs")
}

/// One run of it.
pub fn made(ranks: u32) -> Run {
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

/// One run on its own graph.
pub fn one(run: Run, pieces: usize) -> Recorded {
    let mut runs = Recorded::join(vec![run], structure(pieces)).expect("a whole run");
    runs.remove(0)
}

/// Rank 1 receives from rank 0, in a call in which it is for a second.
pub fn with_messages(wait_ns: u64) -> Run {
    let pieces = [
        piece("MPI_Send", |_, _| 0.5),
        piece("MPI_Recv", |rank, _| if rank == 0 { 1.5 } else { 0.5 }),
    ];
    let mut run = run(2, &pieces);
    run.messages.push(MessageEdge {
        src: 0,
        dst: 1,
        send_ctx: CtxId(1),
        post_ctx: CtxId(3),
        recv_ctx: CtxId(3),
        sampled: 50,
        bytes: 400,
        late_sender_ns: wait_ns,
        late_senders: 50,
        ..Default::default()
    });
    run
}
