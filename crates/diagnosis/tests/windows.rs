//! Waits: chains of them in windows, and paths along messages with and without windows.

mod support;

use headwater_dataflow::Recorded;
use headwater_diagnosis::Options;
use headwater_model::diagnosis::{CauseClass, Clock, Evidence};
use headwater_model::psg::VertexKind;
use headwater_model::report::Item;
use headwater_model::run::{CollectiveWait, CtxId, Event, EventKind, MessageEdge, Run};
use support::{diagnose, piece, run, structure};

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
    // The cause is the work that passes the chain on; the call where ranks wait is on the way to it.
    assert_eq!(
        (c.class, c.place.kind, c.place.first_line, c.ranks.len()),
        (CauseClass::LateSenderChain, VertexKind::Loop, 20, 8)
    );
    assert!(
        c.path.iter().any(|s| s.place.name == "MPI_Recv"),
        "{:?}",
        c.path
    );
    let serial = d.scales[1]
        .efficiencies
        .serialisation
        .expect("windows show serialisation");
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

/// A message of which a receiver waited `ms` for its sender.
fn late(src: u32, dst: u32, ms: u64) -> MessageEdge {
    MessageEdge {
        src,
        dst,
        send_ctx: CtxId(3),
        post_ctx: CtxId(1),
        recv_ctx: CtxId(1),
        sampled: 100,
        bytes: 800,
        late_sender_ns: ms * MS,
        late_senders: 100,
        ..Default::default()
    }
}

#[test]
fn without_windows_the_path_follows_the_messages_that_were_waited_for() {
    // Rank 3 computes longer before it sends; the wait passes from rank 2 to rank 1.
    let pieces = [
        piece("MPI_Recv", |_, _| 0.0),
        piece("MPI_Send", |r, p| {
            2.0 / f64::from(p) * if r == 3 { 3.0 } else { 1.0 }
        }),
        piece("MPI_Allreduce", |_, _| 0.0),
    ];
    let mut run = run(4, &pieces);
    let receive = run.functions.iter().position(|f| f == "MPI_Recv");
    for call in &mut run.calls {
        let waits = Some(call.func as usize) == receive && matches!(call.rank, 1 | 2);
        call.wall_ns = if waits {
            900 * MS + u64::from(call.rank == 1)
        } else {
            1000
        };
    }
    // Rank 0 received in time: that edge is pruned.
    run.messages = vec![late(3, 2, 1000), late(2, 1, 1000), late(1, 0, 1)];
    let d = diagnose(vec![run], structure(3), &Options::default()).expect("one run is enough");
    let c = &d.causes[0];
    assert_eq!(
        (c.class, c.ranks.to_string()),
        (CauseClass::UnevenWork, "3".to_string())
    );
    let path: Vec<String> = c
        .path
        .iter()
        .map(|s| format!("{} {}", s.ranks, s.what))
        .collect();
    assert_eq!(
        path,
        [
            "0-2 wait in MPI_Recv",
            "1 waits in MPI_Recv for rank 2",
            "2 waits in MPI_Recv for rank 3",
            "3 computes",
        ]
    );
    assert!(c.path.iter().take(3).all(|s| s.clock == Clock::Wall));
    let led = |e: &Evidence| e.text.starts_with("backtracking from 1 of 1");
    assert!(c.evidence.iter().any(led), "{:?}", c.evidence);
}

#[test]
fn a_send_that_waits_for_its_receiver_leads_to_it() {
    // Rank 3 computes longer before it receives; rank 2 cannot leave its large send until then.
    let pieces = [
        piece("MPI_Recv", |r, p| {
            2.0 / f64::from(p) * if r == 3 { 3.0 } else { 1.0 }
        }),
        piece("MPI_Send", |_, _| 0.0),
        piece("MPI_Allreduce", |_, _| 0.0),
    ];
    let mut run = run(4, &pieces);
    let send = run.functions.iter().position(|f| f == "MPI_Send");
    for call in &mut run.calls {
        let waits = Some(call.func as usize) == send && call.rank == 2;
        call.wall_ns = if waits { 900 * MS } else { 1000 };
    }
    run.messages = vec![MessageEdge {
        late_sender_ns: 0,
        late_senders: 0,
        late_receiver_ns: 900 * MS,
        ..late(2, 3, 0)
    }];
    let d = diagnose(vec![run], structure(3), &Options::default()).expect("one run is enough");
    let c = &d.causes[0];
    assert_eq!(c.ranks.to_string(), "3");
    let led = |e: &Evidence| e.text.starts_with("backtracking from 1 of 1");
    assert!(c.evidence.iter().any(led), "{:?}", c.evidence);
}

#[test]
fn waits_are_those_of_the_replay_where_ranks_outnumber_cores() {
    let pieces = pieces();
    let mut crowded = with_wall(run(8, &pieces), 20.0);
    crowded.header.cores = vec![2];
    // As measured, every call waits for a core.
    crowded.calls.iter_mut().for_each(|c| c.wall_ns = 5000 * MS);
    add_window(&mut crowded, 4, true, |_| 10);
    let d = diagnose(vec![crowded], structure(3), &Options::default()).expect("one run is enough");
    let c = &d.causes[0];
    assert_eq!(
        (c.class, c.clock),
        (CauseClass::LateSenderChain, Clock::Virtual)
    );
    // A window holds 40 ms of computation per rank, the run 250 ms: rank 1 waits a quarter second.
    assert!((c.by_rank[1] - 0.25).abs() < 0.01, "{:?}", c.by_rank);
    assert!((c.by_rank[7] - 7.0 * 0.25).abs() < 0.05, "{:?}", c.by_rank);
}

/// Adds a window of `epochs` iterations that compute `busy(rank, epoch)` µs and reduce.
fn add_iterations(run: &mut Run, epochs: u32, busy: impl Fn(u32, u32) -> u64) {
    for rank in 0..run.header.ranks {
        for epoch in 0..epochs {
            run.events.push(Event {
                rank,
                ctx: CtxId(1),
                first_of_call: true,
                peer: u32::MAX,
                kind: EventKind::Collective,
                link: 1 + epoch,
                busy_ns: busy(rank, epoch) * 1000,
                ..Default::default()
            });
        }
    }
}

#[test]
fn a_path_names_the_collective_that_another_call_completes() {
    let pieces = [
        piece("MPI_Iallreduce", |_, _| 0.0),
        piece("MPI_Wait", |r, _| if r == 3 { 3.0 } else { 1.0 }),
    ];
    let mut run = run(4, &pieces);
    let wait = |rank| CollectiveWait {
        rank,
        ctx: CtxId(3),
        sampled: 100,
        wait_ns: u64::from(rank < 3) * 2000 * MS,
        last: u64::from(rank == 3) * 100,
        ..Default::default()
    };
    run.collectives = (0..4).map(wait).collect();
    let d = diagnose(vec![run], structure(2), &Options::default()).expect("one run is enough");
    let steps = d.causes[0].path.iter().map(|s| s.what.as_str());
    let steps: Vec<&str> = steps.collect();
    assert_eq!(steps[0], "wait in MPI_Wait for MPI_Iallreduce");
    let to = "waits in MPI_Wait for rank 3 to reach MPI_Iallreduce";
    assert!(
        steps[1..].iter().all(|s| *s == to || *s == "computes"),
        "{steps:?}"
    );
}

/// Asserts that no more is waited than the 6 s that ranks are in the call.
fn assert_delay_cost_fits(run: Run) {
    let cache = headwater_dataflow::flow::Cache::default();
    let runner = headwater_dataflow::flow::Runner::quiet(&cache);
    let runs = Recorded::join(vec![run], structure(1)).expect("a whole run");
    let paradigm = headwater_diagnosis::paradigm::by_name("scalability").expect("a paradigm");
    let report = paradigm.run(&runs, &Options::default(), &runner);
    let report = report.expect("runs");
    let costs = report.sections.iter().find(|s| s.name == "delay_cost");
    let costs = costs.expect("a section").column("wait_seconds");
    let seconds = |item: &&Item| match item {
        Item::Number(seconds) => *seconds,
        other => panic!("{other:?}"),
    };
    let all: f64 = costs.expect("a column").iter().map(seconds).sum();
    assert!(all > 0.0 && all < 6.001, "{all}");
}

#[test]
fn no_step_of_a_path_takes_longer_than_the_call_that_it_is_in() {
    // All that rank 3 does once is in the window; the run is 3 s long, of which the others wait 2 s.
    let of = |calls: u64| {
        let pieces = [piece(
            "MPI_Allreduce",
            |r, _| if r == 3 { 3.0 } else { 1.0 },
        )];
        let mut run = run(4, &pieces);
        run.calls.iter_mut().for_each(|c| c.count = calls);
        add_iterations(&mut run, 4, |rank, epoch| match (rank, epoch) {
            (3, 0) => 500_000,
            _ => 1000,
        });
        assert_delay_cost_fits(run.clone());
        let d = diagnose(vec![run], structure(1), &Options::default());
        let d = d.expect("one run is enough");
        // Three ranks wait 2 s.
        let caused = d.causes[0].waiting_seconds.expect("somebody waits");
        assert!(caused < 6.001, "{caused}");
        let steps = &d.causes[0].path;
        assert_eq!(steps[0].what, "wait in MPI_Allreduce");
        assert!(steps.iter().all(|s| s.seconds <= 3.0), "{steps:?}");
        steps[0].seconds
    };
    let waited = of(100);
    assert!((1.9..2.001).contains(&waited), "{waited}");
    // Where the window has all calls, its waits are those of the run.
    let waited = of(4);
    assert!((0.49..0.51).contains(&waited), "{waited}");
}

#[test]
fn work_that_moves_from_rank_to_rank_is_uneven_though_all_have_the_same_in_the_end() {
    // Each of 8 ranks has the front for an eighth of the iterations: 50 ms then, 10 ms otherwise.
    let total = 100.0 * (10.0 + 40.0 / 8.0) * 1e-3;
    let recorded = |busy: &dyn Fn(u32, u32) -> u64| {
        // Twelve seconds of computation take six on two cores at the least.
        let mut run = with_wall(run(8, &[piece("MPI_Allreduce", move |_, _| total)]), 6.0);
        run.header.cores = vec![2];
        add_iterations(&mut run, 16, busy);
        diagnose(vec![run], structure(1), &Options::default()).expect("one run is enough")
    };
    let d = recorded(&|rank, epoch| if epoch / 2 == rank { 50_000 } else { 10_000 });
    let c = &d.causes[0];
    assert_eq!(
        (c.class, c.place.first_line, c.ranks.len()),
        (CauseClass::UnevenWork, 10, 8)
    );
    // A hundred iterations of 50 ms instead of 15: what is found is at most that, but most of it.
    assert!((3.2..=3.5).contains(&c.gain_seconds), "{}", c.gain_seconds);
    assert!(c.explanation.contains("In turn"), "{}", c.explanation);
    let time = d.scales[0].model_seconds;
    assert!((4.7..=5.1).contains(&time), "{time}");
    // In iterations this short, what stands out may be an interruption.
    let short = recorded(&|rank, epoch| if epoch / 2 == rank { 120 } else { 40 });
    assert_eq!(short.causes, vec![]);
    // Scatter is no such thing, and neither are ranks that are late every time, with scatter.
    let d = recorded(
        &|rank, epoch| if rank < 2 { 50_000 } else { 10_000 } + 1000 * u64::from((rank * 5 + epoch * 3) % 4),
    );
    assert!(
        !d.causes.iter().any(|c| c.explanation.contains("In turn")),
        "{:?}",
        d.causes
    );
    let d = recorded(&|rank, epoch| 14_000 + 1000 * u64::from((rank * 5 + epoch * 3) % 4));
    assert_eq!(d.causes, vec![]);
}

#[test]
fn waiting_for_ranks_that_are_late_in_turn_is_not_the_time_of_the_collective() {
    // Every rank has a core, so that calls count by wall time; each waits 100 times 35 ms in the mean.
    let at = |ranks: u32| {
        let waited = if ranks == 1 { 0.0 } else { 3.5 };
        let busy = if ranks == 1 { 12.0 } else { 1.5 };
        let mut run = run(ranks, &[piece("MPI_Allreduce", move |_, _| busy)]);
        for call in &mut run.calls {
            call.wall_ns += (waited * 1e9) as u64;
        }
        add_iterations(&mut run, 16, |rank, epoch| match ranks {
            1 => 120_000,
            _ if epoch / 2 == rank => 50_000,
            _ => 10_000,
        });
        with_wall(run, busy + waited)
    };
    let runs = vec![at(1), at(8)];
    let d = diagnose(runs, structure(1), &Options::default()).expect("the runs belong together");
    let classes: Vec<CauseClass> = d.causes.iter().map(|c| c.class).collect();
    assert_eq!(classes, [CauseClass::UnevenWork]);
}

/// Adds `epochs` iterations in which rank 1 starts when rank 0 has computed 10 ms, and all others compute
/// 10 ms at the same time; the pair is (0, 1) in even and (2, 3) in odd iterations if it `wanders`.
fn add_pairs(run: &mut Run, epochs: u32, wanders: bool) {
    let func = |name: &str| run.functions.iter().position(|f| f == name).unwrap_or(0) as u16;
    let (recv, send, reduce) = (func("MPI_Recv"), func("MPI_Send"), func("MPI_Allreduce"));
    for rank in 0..run.header.ranks {
        for epoch in 0..epochs {
            let first = if wanders && epoch % 2 == 1 { 2 } else { 0 };
            let call = |ctx, func, kind, link, busy_ns| Event {
                rank,
                ctx: CtxId(ctx),
                func,
                kind,
                link,
                busy_ns,
                first_of_call: true,
                peer: first + u32::from(rank == first),
                ..Default::default()
            };
            let link = 1 + 2 * epoch;
            if rank == first {
                run.events
                    .push(call(3, send, EventKind::Send, link, 10 * MS));
            } else if rank == first + 1 {
                run.events.push(call(1, recv, EventKind::Recv, link, 0));
            }
            let rest = if rank == first { 0 } else { 10 * MS };
            run.events
                .push(call(5, reduce, EventKind::Collective, link + 1, rest));
        }
    }
}

#[test]
fn a_chain_is_what_comes_back() {
    let chains = |epochs, wanders| {
        let mut one = with_wall(run(8, &pieces()), 0.5);
        add_pairs(&mut one, epochs, wanders);
        let d = diagnose(vec![one], structure(3), &Options::default()).expect("one run is enough");
        let is_chain =
            |c: &&headwater_model::diagnosis::Cause| c.class == CauseClass::LateSenderChain;
        d.causes.iter().filter(is_chain).count()
    };
    assert_eq!(chains(4, false), 1, "every time");
    assert_eq!(chains(2, true), 0, "each link once in two iterations");
    assert_eq!(chains(1, false), 0, "one link once");
}
