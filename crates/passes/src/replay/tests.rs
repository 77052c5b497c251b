//! Collectives played again: who waits for whom.

use super::*;
use crate::algorithm::NEVER;
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
    // All post at once and compute for unlike times: nobody waits.
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
