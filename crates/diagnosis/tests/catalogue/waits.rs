//! What was waited, of messages and collectives that were all seen or sampled: nothing is extrapolated without need,
//! and nothing beyond the time in the call.

use super::programs::one;
use super::support::{Piece, piece, run};
use headwater_graph::view::waits;
use headwater_model::report::Item;
use headwater_model::run::{CollectiveWait, Comm, CtxId, MessageEdge, MpiCalls, Run, peer};
use proptest::prelude::*;
use std::collections::BTreeMap;

const SECOND: u64 = 1_000_000_000;
const CALL: CtxId = CtxId(1);

/// A run whose ranks are ten seconds in a call of `function`, without rows of calls.
fn bare(ranks: u32, function: &'static str) -> Run {
    let busy = |rank, ranks| if rank + 1 == ranks { 10.0 } else { 0.0 };
    let pieces: [Piece; 1] = [piece(function, busy)];
    let mut run = run(ranks, &pieces);
    run.calls.clear();
    run
}

/// So many calls of a rank with a partner, a second in all.
fn calls(rank: u32, partner: i32, count: u64) -> MpiCalls {
    MpiCalls {
        rank,
        ctx: CALL,
        peer: partner,
        count,
        bytes: 8 * count,
        wall_ns: SECOND,
        ..Default::default()
    }
}

/// Messages that both ends sampled, of which the receiver waited a tenth of a second.
fn sampled(src: u32, dst: u32, count: u64) -> MessageEdge {
    MessageEdge {
        src,
        dst,
        send_ctx: CALL,
        post_ctx: CALL,
        recv_ctx: CALL,
        sampled: count,
        bytes: 8 * count,
        late_sender_ns: SECOND / 10,
        late_senders: 1,
        ..Default::default()
    }
}

/// Milliseconds waited, by the rank that waited and the one that was waited for.
fn waited(run: Run) -> Vec<((u32, u32), f64)> {
    let of = one(run, 1);
    let all = waits(of.run(), of.on_graph());
    let mut all: Vec<((u32, u32), f64)> = (all.iter())
        .map(|w| ((w.at.1, w.on.1), (w.seconds * 1e6).round() / 1e3))
        .collect();
    all.sort_by_key(|w| w.0);
    all
}

#[test]
fn where_all_messages_were_seen_nothing_is_extrapolated() {
    // Both neighbours of a line exchange, by one call for each direction; at the ends it has no partner.
    let mut run = bare(3, "MPI_Sendrecv");
    for rank in 0..3 {
        for to in [-1, 1] {
            let there = (0..3).contains(&(rank as i32 + to));
            let partner = if there { to } else { peer::PROC_NULL };
            run.calls.push(calls(rank, partner, 100));
        }
    }
    run.messages = [(0, 1), (1, 0), (1, 2), (2, 1)]
        .map(|(src, dst)| sampled(src, dst, 100))
        .to_vec();
    let each = [
        ((0, 1), 100.0),
        ((1, 0), 100.0),
        ((1, 2), 100.0),
        ((2, 1), 100.0),
    ];
    assert_eq!(waited(run.clone()), each);
    // Of calls without a partner an imported trace says nothing at all.
    run.calls.push(calls(0, peer::NONE, 300));
    assert_eq!(waited(run), each);
}

#[test]
fn messages_to_oneself_stand_for_no_others() {
    let mut run = bare(2, "MPI_Sendrecv");
    run.calls = vec![calls(0, 1, 100), calls(1, 0, 100), calls(1, -1, 100)];
    // Of its own messages a rank has all, of those from others half.
    let own = MessageEdge {
        late_sender_ns: 0,
        ..sampled(1, 1, 100)
    };
    run.messages = vec![sampled(0, 1, 50), own];
    assert_eq!(waited(run), [((1, 0), 200.0)]);
}

#[test]
fn partners_of_which_less_was_sampled_are_extrapolated_further() {
    let mut run = bare(3, "MPI_Recv");
    run.calls = vec![calls(2, -2, 100), calls(2, -1, 100)];
    run.messages = vec![sampled(0, 2, 100), sampled(1, 2, 25)];
    assert_eq!(waited(run), [((2, 0), 100.0), ((2, 1), 400.0)]);
}

#[test]
fn collectives_of_a_rank_alone_stand_for_no_others() {
    let mut run = bare(2, "MPI_Barrier");
    run.comms.push(Comm { hash: 2, size: 1 });
    for rank in 0..2 {
        run.calls.push(calls(rank, peer::NONE, 100));
        run.calls.push(MpiCalls {
            comm: 1,
            ..calls(rank, peer::NONE, 900)
        });
        run.collectives.push(CollectiveWait {
            rank,
            ctx: CALL,
            sampled: 100,
            wait_ns: u64::from(rank == 0) * SECOND / 10,
            last: u64::from(rank) * 100,
            ..Default::default()
        });
    }
    assert_eq!(waited(run), [((0, 1), 100.0)]);
}

/// A section of the report on wait states: its rows.
fn rows(run: Run, section: usize) -> Vec<Vec<Item>> {
    let cache = headwater_dataflow::flow::Cache::default();
    let runner = headwater_dataflow::flow::Runner::quiet(&cache);
    let paradigm = headwater_diagnosis::paradigm::by_name("wait-states").expect("a paradigm");
    let of = [one(run, 1)];
    let report = paradigm.run(&of, &headwater_diagnosis::Options::default(), &runner);
    report.expect("runs").sections[section].rows.clone()
}

#[test]
fn a_collective_that_another_call_completes_has_its_own_name() {
    let mut run = bare(2, "MPI_Wait");
    run.functions.push("MPI_Iallreduce".into());
    for rank in 0..2 {
        run.calls.push(calls(rank, peer::NONE, 100));
        run.collectives.push(CollectiveWait {
            rank,
            ctx: CALL,
            func: 1,
            sampled: 100,
            wait_ns: u64::from(rank == 0) * SECOND / 10,
            last: u64::from(rank) * 100,
            ..Default::default()
        });
    }
    let by_call = rows(run, 1);
    let words = |at: usize| match &by_call[0][at] {
        Item::Text(text) => text.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        [words(0), words(1), words(2)],
        ["wait at n-to-n", "MPI_Iallreduce", "app.c:17"]
    );
}

/// Messages and collectives of four ranks, many or few of them sampled, with waits of any length.
fn any_run() -> impl Strategy<Value = Run> {
    let message = (
        0u32..4,
        0u32..4,
        1u64..100,
        0u64..5 * SECOND,
        0u64..5 * SECOND,
    );
    let row = (0u32..4, -4i32..4, 1u64..1000, 0..SECOND);
    let collective = (0u32..4, 0u16..3, 1u64..100, 0u64..5 * SECOND);
    let all = (
        prop::collection::vec(message, 0..20),
        prop::collection::vec(row, 0..20),
        prop::collection::vec(collective, 0..8),
        prop::sample::select(vec!["MPI_Sendrecv", "MPI_Recv", "MPI_Wait", "MPI_Barrier"]),
    );
    all.prop_map(|(messages, rows, collectives, function)| {
        let mut run = bare(4, function);
        run.functions
            .extend(["MPI_Iallreduce".into(), "MPI_Ibcast".into()]);
        let of = |(src, dst, count, late_sender, late_receiver)| MessageEdge {
            late_sender_ns: late_sender,
            late_receiver_ns: late_receiver,
            ..sampled(src, dst, count)
        };
        run.messages = messages.into_iter().map(of).collect();
        run.calls = (rows.into_iter())
            .map(|(rank, partner, count, wall_ns)| MpiCalls {
                wall_ns,
                ..calls(
                    rank,
                    if partner == -4 {
                        peer::PROC_NULL
                    } else {
                        partner
                    },
                    count,
                )
            })
            .collect();
        run.collectives = (collectives.into_iter())
            .map(|(rank, func, sampled, wait_ns)| CollectiveWait {
                rank,
                ctx: CALL,
                func,
                sampled,
                wait_ns,
                last: sampled / 2,
                ..Default::default()
            })
            .collect();
        run
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nobody_waits_longer_in_a_call_than_it_took_and_states_share_out_the_waits(run in any_run()) {
        let mut spent = [0.0; 4];
        run.calls.iter().for_each(|c| spent[c.rank as usize] += c.wall_ns as f64 * 1e-9);
        let of = one(run.clone(), 1);
        let mut by_rank: BTreeMap<u32, f64> = BTreeMap::new();
        for w in waits(of.run(), of.on_graph()) {
            *by_rank.entry(w.at.1).or_default() += w.seconds;
        }
        for (rank, waited) in by_rank {
            prop_assert!(waited <= spent[rank as usize] + 1e-6, "rank {rank}: {waited} of {spent:?}");
        }
        let in_calls = of.top_down().vertices.get("wait").expect("a column");
        let once: f64 = (0..in_calls.len()).filter_map(|v| in_calls.number(v)).sum();
        let second = |row: &Vec<Item>| match &row[1] {
            Item::Number(seconds) => *seconds,
            other => panic!("{other:?}"),
        };
        let states: f64 = rows(run, 0).iter().map(second).sum();
        prop_assert!((states - once).abs() < 1e-6, "{states} in states, {once} in calls");
    }
}
