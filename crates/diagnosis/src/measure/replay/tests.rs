//! Collectives in a replay: which rank waits for which.

use super::*;
use headwater_dataflow::algorithm::NEVER;
use headwater_model::run::Header;

const MS: u64 = 1_000_000;

/// A call of a window: rank, function, kind, link, root, and computation before it in milliseconds.
type Row = (u32, u16, EventKind, u32, u32, u64);

/// The waits of each rank's calls, by rank: milliseconds, and the rank that was waited for.
fn waits(functions: &[&str], rows: &[Row]) -> Vec<Vec<(u64, Option<u32>)>> {
    let event = |&(rank, func, kind, link, peer, busy): &Row| Event {
        rank,
        func,
        kind,
        link,
        peer,
        busy_ns: busy * MS,
        ctx: CtxId(u32::from(func)),
        first_of_call: true,
        ..Default::default()
    };
    let run = Run {
        header: Header {
            ranks: 3,
            ..Default::default()
        },
        functions: functions.iter().map(ToString::to_string).collect(),
        events: rows.iter().map(event).collect(),
        ..Default::default()
    };
    let wait = |c: &Played| {
        (
            ((c.leave - c.enter) * 1e3).round() as u64,
            c.waited_for.map(|w| w.0),
        )
    };
    let window = play(&run, NEVER).windows.remove(0);
    window
        .iter()
        .map(|r| r.iter().map(wait).collect())
        .collect()
}

/// Each rank enters one collective after 10, 30 and 20 ms.
fn alone(function: &str, root: u32) -> Vec<(u64, Option<u32>)> {
    let rows = [(0, 10), (1, 30), (2, 20)]
        .map(|(rank, busy)| (rank, 0, EventKind::Collective, 1, root, busy));
    waits(&[function], &rows).concat()
}

#[test]
fn members_of_a_collective_wait_for_whom_they_need() {
    let nobody = (0, None);
    assert_eq!(
        alone("MPI_Allreduce", u32::MAX),
        [(20, Some(1)), nobody, (10, Some(1))]
    );
    assert_eq!(
        alone("MPI_Bcast", 1),
        [(20, Some(1)), nobody, (10, Some(1))]
    );
    assert_eq!(alone("MPI_Bcast", 0), [nobody; 3]);
    assert_eq!(alone("MPI_Reduce", 0), [(20, Some(1)), nobody, nobody]);
    assert_eq!(alone("MPI_Reduce", 1), [nobody; 3]);
    assert_eq!(alone("MPI_Scan", u32::MAX), [nobody, nobody, (10, Some(1))]);
}

#[test]
fn a_nonblocking_collective_is_come_to_where_it_is_posted() {
    use EventKind::{Collective, CollectivePost};
    const NONE: u32 = u32::MAX;
    let functions = ["MPI_Iallreduce", "MPI_Wait"];
    // All post at the same time and compute for different times: no rank waits.
    let post = |rank, busy| (rank, 0, CollectivePost, 1, NONE, busy);
    let done = |rank, busy| (rank, 1, Collective, 1, NONE, busy);
    let rows = [
        [post(0, 10), done(0, 10)],
        [post(1, 10), done(1, 50)],
        [post(2, 10), done(2, 20)],
    ];
    let nobody = (0, None);
    assert_eq!(waits(&functions, rows.as_flattened()).concat(), [nobody; 6]);
    // One posts late.
    let rows = [
        [post(0, 10), done(0, 10)],
        [post(1, 50), done(1, 50)],
        [post(2, 10), done(2, 20)],
    ];
    assert_eq!(
        waits(&functions, rows.as_flattened()).concat(),
        [nobody, (30, Some(1)), nobody, nobody, nobody, (20, Some(1))]
    );
    // One posted before the window began.
    let rows = [
        &[post(0, 10), done(0, 10)][..],
        &[done(1, 50)],
        &[post(2, 15), done(2, 20)],
    ];
    assert_eq!(
        waits(&functions, &rows.concat()),
        [vec![nobody, nobody], vec![nobody], vec![nobody, nobody]]
    );
    // With a root: it does not wait for those to whom it sends.
    let root = |(rank, func, kind, link, _, busy): Row| (rank, func, kind, link, 0, busy);
    let rows = [
        [post(0, 10), done(0, 10)],
        [post(1, 50), done(1, 50)],
        [post(2, 1), done(2, 1)],
    ]
    .map(|r| r.map(root));
    assert_eq!(
        waits(&["MPI_Ibcast", "MPI_Wait"], rows.as_flattened()).concat(),
        [nobody, nobody, nobody, nobody, nobody, (8, Some(0))]
    );
}

/// A run of `ranks` ranks with a window that is cut out of it. Each rank has calls: kind, link, computation before the
/// call and its start in the window, both in milliseconds.
/// They share one core.
fn cut(ranks: u32, calls: impl Fn(u32) -> Vec<(EventKind, u32, u64, u64)>) -> Replay {
    cut_on(1, ranks, calls)
}

/// The same on `cores` cores.
fn cut_on(
    cores: u32,
    ranks: u32,
    calls: impl Fn(u32) -> Vec<(EventKind, u32, u64, u64)>,
) -> Replay {
    let mut run = Run {
        header: Header {
            ranks,
            cores: vec![cores],
            windows: vec![headwater_model::run::Window {
                length_ns: 1000 * MS,
                ..Default::default()
            }],
            ..Default::default()
        },
        // By code of the kind of event, modulo 3.
        functions: ["MPI_Allreduce", "MPI_Send", "MPI_Recv"]
            .map(String::from)
            .to_vec(),
        ..Default::default()
    };
    for rank in 0..ranks {
        for (kind, link, busy, enter) in calls(rank) {
            run.events.push(Event {
                rank,
                func: kind as u16 % 3,
                kind,
                link,
                busy_ns: busy * MS,
                enter_ns: enter * MS,
                ctx: CtxId(kind as u32),
                first_of_call: true,
                peer: u32::MAX,
                ..Default::default()
            });
        }
    }
    play(&run, NEVER)
}

#[test]
fn a_pipeline_that_is_full_has_no_chain_wherever_its_window_begins() {
    // Each rank receives an item, computes 10 ms and passes it on, and ranks are several items apart: rank r works on
    // item n - r in step n. In the window rank 0 sends items from 100 on, the others receive what is on the way first.
    let link = |from: u32, item: u32| 1 + from * 1000 + item;
    let replay = cut(4, |rank| {
        (0..40)
            .flat_map(|n| {
                let item = 100 + n - rank;
                let mut calls = Vec::new();
                if rank > 0 {
                    calls.push((EventKind::Recv, link(rank - 1, item), 0, u64::from(10 * n)));
                }
                if rank < 3 {
                    calls.push((EventKind::Send, link(rank, item), 10, u64::from(10 * n)));
                }
                calls
            })
            .collect()
    });
    let chain: f64 = replay.epochs.iter().map(Epoch::chain).sum();
    assert!(chain < 0.011, "at most a step: {chain}");
    assert!(replay.mean_busy() > 0.2, "{}", replay.mean_busy());
}

#[test]
fn how_far_ranks_are_apart_when_a_window_begins_is_no_wait() {
    // The scheduler let rank 0 run two iterations ahead; between the two there is one message each iteration.
    let item = |rank: u32, n: u32| {
        let link = 1 + n + if rank == 0 { 2 } else { 0 };
        let kind = if rank == 0 {
            EventKind::Recv
        } else {
            EventKind::Send
        };
        (kind, link, 10, u64::from(5 + 10 * n))
    };
    // Rank 0 receives what rank 1 sends two iterations later; with its first wait it only takes over the origin of rank
    // 1.
    let replay = cut(2, |rank| (0..20).map(|n| item(rank, n)).collect());
    assert!(replay.waited() < 1e-9, "{}", replay.waited());
    assert!(replay.mean_busy() > 0.1, "{}", replay.mean_busy());
}

#[test]
fn of_a_cut_window_what_follows_the_first_synchronisation_is_known() {
    // Rank 1 has 20 ms where the others have 10; before the window rank 2 was in the middle of its computation.
    let calls = |rank: u32| {
        let busy = if rank == 1 { 20 } else { 10 };
        (0..8u32)
            .map(|n| {
                let enter = if rank == 2 && n == 0 {
                    3
                } else {
                    20 * (u64::from(n) + 1)
                };
                (EventKind::Collective, 1 + n, busy, enter)
            })
            .collect::<Vec<_>>()
    };
    let replay = cut(3, calls);
    assert_eq!(replay.epochs.len(), 7);
    assert!(
        replay
            .epochs
            .iter()
            .all(|e| e.whole && e.closed && (e.seconds - 0.02).abs() < 1e-9)
    );
    assert!(
        (replay.waited() - 7.0 * 0.02).abs() < 1e-9,
        "{}",
        replay.waited()
    );
}

#[test]
fn ranks_on_cores_of_their_own_are_in_step_at_once() {
    // Forty ranks pass items on, the first one a little more slowly, and a window holds ten steps: it ends before the
    // last rank has waited for the one before.
    let link = |from: u32, item: u32| 1 + from * 1000 + item;
    let calls = |rank: u32| {
        let of_step = move |n: u32| {
            let item = 100 + n - rank;
            let at = u64::from(10 * (n + 1));
            let receive = (
                EventKind::Recv,
                link(rank.saturating_sub(1), item),
                0,
                at - 10,
            );
            let busy = if rank == 0 { 12 } else { 10 };
            let send = (EventKind::Send, link(rank, item), busy, at.max(busy));
            let both = [(rank > 0).then_some(receive), (rank < 39).then_some(send)];
            both.into_iter().flatten()
        };
        (0..10).flat_map(of_step).collect()
    };
    let crowded = cut_on(1, 40, calls);
    assert!(crowded.mean_busy() < 0.03, "{}", crowded.mean_busy());
    let replay = cut_on(40, 40, calls);
    assert!(replay.mean_busy() > 0.08, "{}", replay.mean_busy());
    let chain: f64 = replay.epochs.iter().map(Epoch::chain).sum();
    assert!(chain < 0.03, "two steps at most: {chain}");
    // The others wait for a rank that begins late because it computes.
    let late = |rank: u32| {
        let enter = if rank == 1 { 30 } else { 10 };
        vec![
            (EventKind::Collective, 1, enter, enter),
            (EventKind::Collective, 2, 10, 40),
        ]
    };
    assert!((cut_on(3, 3, late).waited() - 0.04).abs() < 1e-9);
}
