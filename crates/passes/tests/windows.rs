//! What windows add: chains of waits, and paths along real messages.

mod support;

use headwater_model::diagnosis::CauseClass;
use headwater_model::run::{CtxId, Event, EventKind, Run};
use headwater_passes::{Options, diagnose};
use support::{piece, run, structure};

const MS: u64 = 1_000_000;

/// Adds a window of `epochs` iterations of: receive from the left, compute `busy(rank)` ms, send to the
/// right, reduce. Contexts are those of the pieces: 1 receives, 3 sends, 5 reduces.
fn add_window(run: &mut Run, epochs: u32, chained: bool, busy: impl Fn(u32) -> u64) {
    let p = run.header.ranks;
    let func = |name: &str| run.functions.iter().position(|f| f == name).unwrap_or(0) as u16;
    let (recv, send, reduce) = (func("MPI_Recv"), func("MPI_Send"), func("MPI_Allreduce"));
    for rank in 0..p {
        for epoch in 0..epochs {
            let link = |from: u32| 1 + epoch * (p + 1) + from;
            let base = Event {
                rank,
                first_of_call: true,
                peer: u32::MAX,
                ..Default::default()
            };
            let mut push = |e: Event| run.events.push(e);
            if rank > 0 {
                push(Event {
                    ctx: CtxId(1),
                    func: recv,
                    kind: EventKind::Recv,
                    link: link(rank - 1),
                    peer: rank - 1,
                    busy_ns: if chained { 0 } else { busy(rank) * MS },
                    ..base
                });
            }
            let before_send = if chained || rank == 0 {
                busy(rank) * MS
            } else {
                0
            };
            if rank + 1 < p {
                push(Event {
                    ctx: CtxId(3),
                    func: send,
                    kind: EventKind::Send,
                    link: link(rank),
                    peer: rank + 1,
                    busy_ns: before_send,
                    ..base
                });
            }
            let rest = if rank + 1 == p { before_send } else { 0 };
            push(Event {
                ctx: CtxId(5),
                func: reduce,
                kind: EventKind::Collective,
                link: link(p),
                busy_ns: rest,
                ..base
            });
        }
    }
}

fn pieces() -> [support::Piece; 3] {
    [
        piece("MPI_Recv", |_, _| 0.0),
        piece("MPI_Send", |_, p| 2.0 / f64::from(p)),
        piece("MPI_Allreduce", |_, _| 0.0),
    ]
}

fn with_wall(mut run: Run, seconds: f64) -> Run {
    run.ranks
        .iter_mut()
        .for_each(|r| r.wall_ns = (seconds * 1e9) as u64);
    run
}

#[test]
fn ranks_that_wait_in_turn_are_a_chain() {
    let pieces = pieces();
    let mut runs: Vec<Run> = [2, 8]
        .iter()
        .map(|p| with_wall(run(*p, &pieces), 2.0))
        .collect();
    runs.iter_mut().for_each(|r| add_window(r, 4, true, |_| 10));
    let d = diagnose(runs, structure(3), &Options::default()).expect("the runs belong together");
    let c = &d.causes[0];
    assert_eq!(
        (c.class, c.place.name.as_str(), c.ranks.len()),
        (CauseClass::LateSenderChain, "MPI_Recv", 8)
    );
    let serial = d.scales[1]
        .efficiencies
        .serialisation
        .expect("windows tell serialisation");
    assert!((serial - 1.0 / 8.0).abs() < 0.03, "{serial}");
}

#[test]
fn messages_without_a_wait_are_no_chain() {
    let pieces = pieces();
    let mut runs: Vec<Run> = [2, 8]
        .iter()
        .map(|p| with_wall(run(*p, &pieces), 2.0 / f64::from(*p)))
        .collect();
    runs.iter_mut()
        .for_each(|r| add_window(r, 4, false, |_| 10));
    let d = diagnose(runs, structure(3), &Options::default()).expect("the runs belong together");
    assert_eq!(d.causes, vec![]);
}

#[test]
fn a_window_cut_in_the_middle_is_played_as_far_as_it_goes() {
    let pieces = pieces();
    let mut cut = with_wall(run(8, &pieces), 0.25);
    add_window(&mut cut, 4, true, |_| 10);
    for keep in [0, 1, 7, 30, 60] {
        let mut short = cut.clone();
        short.events.truncate(keep);
        diagnose(vec![short], structure(3), &Options::default()).expect("a cut window is no error");
    }
}
