//! Waits of collectives and of sends by the formulas that Scalasca documents.

use super::*;
use crate::spool::clock;

const FUNCTIONS: [&str; 3] = ["MPI_Reduce", "MPI_Exscan", "MPI_Isend"];

/// An end of message 7 on a rank, in the call of context `ctx`.
fn end(rank: u32, kind: EventKind, ctx: u32, times: (u64, u64)) -> End {
    End {
        row: MessageRow {
            id: 7,
            peer: 0,
            kind: kind as u32,
            enter_ns: times.0,
            leave_ns: times.1,
            ..MessageRow::default()
        },
        rank,
        ctx: CtxId(ctx),
        post: CtxId::NONE,
        comm: 0,
        func: 0,
    }
}

fn joined(ends: Vec<End>) -> Run {
    let mut run = Run {
        functions: FUNCTIONS.map(str::to_string).to_vec(),
        comms: vec![Comm { hash: 1, size: 4 }],
        ..Run::default()
    };
    let clocks = clock::common(&mut run.header, &[]);
    let mut messages = Messages::default();
    ends.into_iter().for_each(|e| messages.take(e));
    super::messages(&mut run, messages, &clocks);
    run
}

/// Four ranks come to a collective at these times and leave it at 100; by rank, what they waited.
fn waits(func: u16, arrivals: [u64; 4]) -> Vec<(u64, Option<u64>)> {
    let of = |(rank, enter)| End {
        func,
        ..end(rank, EventKind::Collective, 1, (enter, 100))
    };
    let run = joined((0..).zip(arrivals).map(of).collect());
    run.collectives
        .iter()
        .map(|c| (c.wait_ns, c.first_ns))
        .collect()
}

#[test]
fn a_root_is_early_until_the_first_of_the_others_comes() {
    let others = (0, None);
    assert_eq!(
        waits(0, [10, 90, 40, 30]),
        [(80, Some(20)), others, others, others]
    );
    assert_eq!(waits(0, [50, 20, 60, 30])[0], (10, Some(0)));
}

#[test]
fn in_a_scan_ranks_wait_for_lower_ones() {
    let waited: Vec<u64> = waits(1, [10, 50, 30, 90]).iter().map(|w| w.0).collect();
    assert_eq!(waited, [0, 0, 20, 0]);
}

#[test]
fn who_sends_without_blocking_waits_in_the_call_that_completes_the_send() {
    let mut recv = end(1, EventKind::Recv, 3, (60, 70));
    recv.row.peer = 0;
    let run = joined(vec![
        end(0, EventKind::Send, 1, (0, 1)),
        end(0, EventKind::SendDone, 2, (10, 65)),
        recv,
    ]);
    let told: Vec<_> = run
        .messages
        .iter()
        .map(|m| (m.send_ctx, m.done_ctx, m.late_receiver_ns))
        .collect();
    assert_eq!(told, [(CtxId(1), CtxId(2), 50)]);
}
