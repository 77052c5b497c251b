//! Waits of collectives and of sends by the formulas that Scalasca documents.

use super::*;
use crate::spool::clock;

const FUNCTIONS: [&str; 7] = [
    "MPI_Reduce",
    "MPI_Exscan",
    "MPI_Isend",
    "MPI_Sendrecv",
    "MPI_Waitall",
    "MPI_Iallreduce",
    "MPI_Barrier",
];
const SENDRECV: u16 = 3;
const WAITALL: u16 = 4;
const IALLREDUCE: u16 = 5;
const BARRIER: u16 = 6;

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
        thread: 0,
        ctx: CtxId(ctx),
        post: CtxId::NONE,
        comm: 0,
        func: 0,
    }
}

fn joined(ends: Vec<End>) -> Run {
    let mut run = Run {
        functions: FUNCTIONS.map(str::to_string).to_vec(),
        comms: vec![Comm { hash: 1, size: 4 }, Comm { hash: 2, size: 1 }],
        ..Run::default()
    };
    let clocks = clock::common(&mut run.header, &[]);
    let mut messages = Messages::new(false);
    ends.into_iter().for_each(|e| messages.take(e));
    super::messages(&mut run, messages, &clocks);
    run
}

/// Four ranks reach a collective at these times and leave it at 100; by rank, what they waited.
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
    let waits: Vec<_> = run
        .messages
        .iter()
        .map(|m| (m.send_ctx, m.done_ctx, m.late_receiver_ns))
        .collect();
    assert_eq!(waits, [(CtxId(1), CtxId(2), 50)]);
}

/// Rank 0 sends message 1 to rank 1, which posts its receive at 50, and receives message 2 from it, which is sent at
/// `sent`; all of rank 0 is in a call of `func` from 0 to 100.
fn both_ways(func: u16, sent: u64) -> Vec<End> {
    let of = |id: u64, end: End| End {
        row: MessageRow { id, ..end.row },
        func,
        ..end
    };
    vec![
        of(1, end(0, EventKind::Send, 1, (0, 100))),
        of(1, end(1, EventKind::Recv, 3, (50, 100))),
        of(2, end(1, EventKind::Send, 4, (sent, sent + 1))),
        of(2, end(0, EventKind::Recv, 1, (0, 100))),
    ]
}

/// Waiting for senders and for receivers, all messages together.
fn totals(run: &Run) -> (u64, u64) {
    let messages = run.messages.iter();
    messages.fold((0, 0), |sum, m| {
        (sum.0 + m.late_sender_ns, sum.1 + m.late_receiver_ns)
    })
}

#[test]
fn a_call_that_waits_for_a_sender_does_not_wait_for_a_receiver_as_well() {
    assert_eq!(totals(&joined(both_ways(WAITALL, 60))), (60, 0));
    assert_eq!(totals(&joined(both_ways(SENDRECV, 60))), (60, 0));
    assert_eq!(totals(&joined(both_ways(WAITALL, 0))), (0, 50));
    // When its send was done nobody knows of a call that receives as well.
    assert_eq!(totals(&joined(both_ways(SENDRECV, 0))), (0, 0));
}

/// Four ranks complete collective `id` in one call from `enter` to 100; they posted it at these times.
fn completed(id: u64, enter: u64, posted: [u64; 4]) -> Vec<End> {
    let part = |(rank, posted)| {
        let mut part = end(rank, EventKind::Collective, 1, (enter, 100));
        (part.row.id, part.row.post_ns, part.func) = (id, posted, IALLREDUCE);
        part
    };
    (0..).zip(posted).map(part).collect()
}

#[test]
fn a_call_that_completes_several_collectives_waits_for_the_last_alone() {
    let mut ends = completed(1, 40, [1, 2, 60, 3]);
    ends.extend(completed(2, 40, [4, 5, 6, 90]));
    let mut recv = end(0, EventKind::Recv, 1, (40, 100));
    let mut send = end(1, EventKind::Send, 2, (70, 71));
    (recv.row.id, send.row.id) = (3, 3);
    ends.extend([recv, send]);
    let run = joined(ends);
    let waited: Vec<(u32, u64, u64)> = (run.collectives.iter())
        .map(|c| (c.rank, c.sampled, c.wait_ns))
        .collect();
    assert_eq!(waited, [(0, 2, 50), (1, 2, 50), (2, 2, 50), (3, 2, 50)]);
    assert_eq!(totals(&run), (0, 0));
}

#[test]
fn ranks_that_are_each_alone_in_their_communicator_do_not_wait_for_each_other() {
    let of = |(rank, enter)| End {
        func: BARRIER,
        comm: 1,
        ..end(rank, EventKind::Collective, 1, (enter, 100))
    };
    let run = joined((0..).zip([10, 20, 30, 90]).map(of).collect());
    assert_eq!(run.collectives, []);
}

/// Numbers that look drawn, the same in every run.
struct Drawn(u64);

impl Drawn {
    fn below(&mut self, n: u64) -> u64 {
        let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = next.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// Calls of four ranks, each with ends of some messages and collectives.
fn drawn(seed: u64) -> Vec<End> {
    let mut draw = Drawn(seed);
    // By rank: calls, one after the other, each with its function and times.
    let calls: Vec<Vec<(u16, u64, u64)>> = (0..4)
        .map(|_| {
            let mut now = 0;
            let mut call = |_| {
                let enter = now + draw.below(50);
                now = enter + draw.below(80);
                (2 + draw.below(3) as u16, enter, now)
            };
            (0..8).map(&mut call).collect()
        })
        .collect();
    let mut ends = Vec::new();
    let of = |id: u64, rank: u64, kind, at: usize, draw: &mut Drawn| {
        let (func, enter, leave) = calls[rank as usize][at];
        let mut one = end(rank as u32, kind, at as u32, (enter, leave));
        (one.row.id, one.func) = (id, func);
        // Some were posted in an earlier call.
        one.row.post_ns = calls[rank as usize][draw.below(at as u64 + 1) as usize].1;
        one
    };
    for id in 1..40 {
        let (from, to) = (draw.below(4), draw.below(4));
        let (sent, received) = (draw.below(8) as usize, draw.below(8) as usize);
        ends.push(of(id, from, EventKind::Send, sent, &mut draw));
        ends.push(of(id, to, EventKind::Recv, received, &mut draw));
        if draw.below(2) == 0 {
            let done = sent + draw.below(8 - sent as u64) as usize;
            ends.push(of(id, from, EventKind::SendDone, done, &mut draw));
        }
    }
    for id in 40..50 {
        for rank in 0..4 {
            let mut part = of(
                id,
                rank,
                EventKind::Collective,
                draw.below(8) as usize,
                &mut draw,
            );
            part.func = IALLREDUCE;
            ends.push(part);
        }
    }
    ends
}

#[test]
fn no_call_waits_longer_than_it_takes_whatever_it_completes() {
    let mut counted = 0;
    for seed in 0..200 {
        let ends = drawn(seed);
        let mut spent: FxHashMap<(u32, CtxId), u64> = FxHashMap::default();
        for e in &ends {
            spent.insert((e.rank, e.ctx), e.row.leave_ns - e.row.enter_ns);
        }
        let run = joined(ends);
        let mut waited: FxHashMap<(u32, CtxId), u64> = FxHashMap::default();
        for m in &run.messages {
            let done = if m.done_ctx == CtxId::NONE {
                m.send_ctx
            } else {
                m.done_ctx
            };
            *waited.entry((m.dst, m.recv_ctx)).or_default() += m.late_sender_ns;
            *waited.entry((m.src, done)).or_default() += m.late_receiver_ns;
        }
        for c in &run.collectives {
            *waited.entry((c.rank, c.ctx)).or_default() += c.wait_ns;
        }
        for (call, wait) in waited {
            assert!(wait <= spent[&call], "seed {seed}: {call:?} waits {wait}");
            counted += usize::from(wait > 0);
        }
    }
    assert!(counted > 1000, "{counted}");
}
