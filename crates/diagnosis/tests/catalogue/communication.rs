//! What the views of a run say of its messages, collectives and files.

use super::programs::{one, with_messages};
use super::support::{Piece, piece, run};
use headwater_graph::view::{EdgeKind, View};
use headwater_model::report::Item;
use headwater_model::run::{CollectiveWait, CtxId, MessageEdge, MpiCalls, Run, peer};

const SECOND: u64 = 1_000_000_000;

/// An edge between ranks.
#[derive(Debug, PartialEq)]
struct Joined {
    /// The rank that was waited for, and the one that waited.
    ranks: (u32, u32),
    count: f64,
    /// Seconds.
    wait: f64,
    collective: Option<String>,
}

fn edges(view: &View, kind: EdgeKind) -> Vec<Joined> {
    let ranks = view.vertices.get("rank").expect("a column");
    let rank = |v: u32| ranks.number(v as usize).expect("a rank") as u32;
    let column = |name: &str| view.edges.get(name).expect("a column");
    let (sources, targets) = (view.graph.sources(), view.graph.targets());
    (0..view.edges.len())
        .filter(|e| column("kind").text(*e) == Some(kind.words()))
        .map(|e| Joined {
            ranks: (rank(sources[e]), rank(targets[e])),
            count: column("count").number(e).expect("a figure"),
            wait: column("wait").number(e).expect("seconds"),
            collective: column("collective").text(e).map(str::to_string),
        })
        .collect()
}

#[test]
fn calls_that_have_no_partner_bring_no_messages_and_no_waiting() {
    let mut run = with_messages(SECOND / 10);
    let whole = |run: &Run| edges(one(run.clone(), 2).parallel(), EdgeKind::PointToPoint);
    let before = whole(&run);
    assert_eq!(before[0].count, 100.0, "half of them were sampled");
    let own = |c: &&MpiCalls| c.rank == 1 && c.func == 1;
    let none = MpiCalls {
        peer: peer::PROC_NULL,
        count: 900,
        bytes: 0,
        ..run.calls.iter().find(own).cloned().expect("receives")
    };
    run.calls.push(none);
    assert_eq!(whole(&run), before);
}

#[test]
fn no_edge_carries_more_waiting_than_there_was_time_in_the_call() {
    let runs = one(with_messages(10 * SECOND), 2);
    let waits = edges(runs.parallel(), EdgeKind::PointToPoint);
    assert!((waits[0].wait - 1.0).abs() < 1e-3, "{waits:?}");
    let in_call = runs.top_down().vertices.get("wait").expect("a column");
    let all: f64 = (0..in_call.len()).filter_map(|v| in_call.number(v)).sum();
    assert!((all - waits[0].wait).abs() < 1e-6, "{all} {waits:?}");
}

#[test]
fn waits_of_sampled_messages_stand_for_all() {
    let run = one(with_messages(SECOND / 10), 2);
    let waits = headwater_graph::view::waits(run.run(), run.on_graph());
    assert_eq!(waits.len(), 1, "{waits:?}");
    let (wait, ranks) = (waits[0].seconds, (waits[0].on.1, waits[0].at.1));
    assert!(
        (wait - 0.2).abs() < 1e-9,
        "half of them were sampled: {wait}"
    );
    assert_eq!(ranks, (0, 1));
}

#[test]
fn what_goes_to_nobody_or_into_files_is_not_sent() {
    const FILES: [&str; 3] = ["MPI_File_open", "MPI_File_write_at_all", "MPI_File_close"];
    let mut pieces: Vec<Piece> = FILES.iter().map(|f| piece(f, |_, _| 0.1)).collect();
    pieces.push(piece("MPI_Send", |_, _| 0.1));
    let mut run = run(4, &pieces);
    for c in run.calls.iter_mut().filter(|c| c.func == 3) {
        c.peer = if c.rank == 3 { peer::PROC_NULL } else { 1 };
    }
    let runs = one(run, 4);
    let view = runs.top_down();
    let column = |name: &str| view.vertices.get(name).expect("a column");
    for v in (0..view.vertices.len()).filter(|v| column("class").text(*v).is_some()) {
        let file = column("name").text(v) != Some("MPI_Send");
        let (class, sent) = if file {
            ("file", 0.0)
        } else {
            ("point-to-point", 3.0 * 800.0)
        };
        assert_eq!(column("class").text(v), Some(class));
        assert_eq!(column("sent").number(v), Some(sent));
    }
    let sizes = view
        .table("sizes")
        .and_then(|t| t.get("sent"))
        .expect("there");
    let sent: f64 = (0..sizes.len()).filter_map(|i| sizes.number(i)).sum();
    assert_eq!(sent, 3.0 * 800.0);
}

/// All ranks but 1 wait half a second in a collective of a function, and rank 2 was `last` so many times.
fn with_collective(function: &'static str, posted_by: &str, last: u64) -> Run {
    let mut run = run(4, &[piece(function, |r, _| if r == 1 { 1.0 } else { 0.5 })]);
    let mut func = 0;
    if posted_by != function {
        run.functions.push(posted_by.into());
        func = 1;
    }
    run.collectives = (0..4)
        .map(|rank| CollectiveWait {
            rank,
            ctx: CtxId(1),
            func,
            sampled: 100,
            wait_ns: u64::from(rank != 1) * SECOND / 2,
            last: if rank == 2 { last } else { 0 },
            ..Default::default()
        })
        .collect();
    run
}

fn waited_for(run: Run) -> Vec<(u32, u32)> {
    let runs = one(run, 1);
    let all = edges(runs.parallel(), EdgeKind::Collective);
    all.iter().map(|e| e.ranks).collect()
}

#[test]
fn where_data_are_the_roots_it_is_the_root_that_is_waited_for() {
    let mut run = with_collective("MPI_Bcast", "MPI_Bcast", 60);
    assert_eq!(waited_for(run.clone()), [(2, 0), (2, 1), (2, 3)]);
    for c in &mut run.calls {
        c.peer = 1 - c.rank as i32;
    }
    assert_eq!(waited_for(run.clone()), [(1, 0), (1, 2), (1, 3)]);
    // Rank 3 was the root now and then.
    let mut row = run.calls[0].clone();
    (row.peer, row.count) = (3, 10);
    run.calls.push(row);
    assert_eq!(waited_for(run), [(1, 0), (3, 1), (1, 2), (1, 3)]);
}

#[test]
fn who_is_mostly_last_waits_for_who_else_is_last() {
    let mut run = with_collective("MPI_Barrier", "MPI_Barrier", 60);
    for c in &mut run.collectives {
        match c.rank {
            1 => c.last = 40,
            2 => c.wait_ns = SECOND / 5,
            _ => {}
        }
    }
    let runs = one(run, 1);
    let all = edges(runs.parallel(), EdgeKind::Collective);
    let of_two = all.iter().find(|e| e.ranks == (1, 2)).expect("an edge");
    assert!((of_two.wait - 0.2).abs() < 1e-3, "{all:?}");
}

#[test]
fn in_a_scan_who_waited_least_of_the_lower_ranks_is_waited_for() {
    let mut run = with_collective("MPI_Exscan", "MPI_Exscan", 60);
    let waits = [0, 0, SECOND / 5, SECOND / 5];
    for (c, wait) in run.collectives.iter_mut().zip(waits) {
        c.wait_ns = wait;
    }
    assert_eq!(waited_for(run), [(2, 0), (0, 1), (0, 2), (0, 3)]);
}

#[test]
fn a_late_receiver_is_waited_for_where_the_send_is_completed() {
    let pieces = [
        piece("MPI_Isend", |_, _| 0.5),
        piece("MPI_Wait", |rank, _| if rank == 1 { 1.5 } else { 0.5 }),
    ];
    let mut run = run(2, &pieces);
    run.messages.push(MessageEdge {
        src: 0,
        dst: 1,
        send_ctx: CtxId(1),
        done_ctx: CtxId(3),
        post_ctx: CtxId(1),
        recv_ctx: CtxId(3),
        sampled: 100,
        bytes: 800,
        late_receiver_ns: SECOND / 2,
        ..Default::default()
    });
    let runs = one(run, 2);
    let view = runs.parallel();
    let (names, waits) = (view.vertices.get("name"), view.vertices.get("wait"));
    let waited = |v: usize| waits.and_then(|w| w.number(v)).unwrap_or(0.0) > 0.0;
    let who: Vec<_> = (0..view.vertices.len())
        .filter(|v| waited(*v))
        .map(|v| names.and_then(|n| n.text(v)))
        .collect();
    assert_eq!(who, [Some("MPI_Wait")]);
    let all = edges(view, EdgeKind::LateReceiver);
    assert_eq!((all[0].ranks, all.len()), ((1, 0), 1));
    let target = view.graph.targets().last().map(|v| *v as usize);
    let name = target.and_then(|v| names.and_then(|n| n.text(v)));
    assert_eq!(name, Some("MPI_Wait"));
}

/// Rank 0 sends to rank 1 by requests that were made once; both start them in the same call.
fn with_requests(start: &'static str) -> Run {
    let made = ["MPI_Send_init", "MPI_Recv_init"].map(|f| piece(f, |_, _| 0.1));
    let started = [start, "MPI_Waitall"].map(|f| piece(f, |_, _| 0.1));
    let pieces: Vec<Piece> = made.into_iter().chain(started).collect();
    let mut run = run(2, &pieces);
    // Rank 0 makes no request to receive, and rank 1 none to send.
    run.calls
        .retain(|c| c.func > 1 || u32::from(c.func) == c.rank);
    for c in &mut run.calls {
        let of_one = c.func < 2 || start == "MPI_Start";
        if of_one && c.func < 3 {
            (c.peer, c.tag) = (1 - 2 * c.rank as i32, 5);
        }
        if c.func < 2 {
            (c.count, c.bytes) = (1, 0);
        }
    }
    run.messages.push(MessageEdge {
        src: 0,
        dst: 1,
        send_ctx: CtxId(5),
        post_ctx: CtxId(5),
        recv_ctx: CtxId(7),
        sampled: 25,
        bytes: 200,
        ..Default::default()
    });
    run
}

#[test]
fn of_started_requests_only_sends_are_sent() {
    for start in ["MPI_Start", "MPI_Startall"] {
        let runs = one(with_requests(start), 4);
        let view = runs.top_down();
        let column = |name: &str| view.vertices.get(name).expect("a column");
        let at = (0..view.vertices.len()).find(|v| column("name").text(*v) == Some(start));
        let at = at.expect("a call");
        let row = view.rows.get("sent").and_then(|r| r.row(at as u32));
        let sent = row.map(|r| (r.at(0), r.at(1)));
        assert_eq!(sent, Some((800.0, 0.0)), "{start}");
    }
}

#[test]
fn messages_of_a_call_that_starts_several_are_distinguished_by_their_bytes() {
    for start in ["MPI_Start", "MPI_Startall"] {
        let runs = one(with_requests(start), 4);
        let all = edges(runs.parallel(), EdgeKind::PointToPoint);
        assert_eq!(all[0].count, 100.0, "{start}: of which 25 were sampled");
    }
}

#[test]
fn collectives_that_other_calls_complete_are_as_many_as_were_posted() {
    let pieces = [
        piece("MPI_Ibarrier", |_, _| 0.1),
        piece("MPI_Waitall", |_, _| 0.1),
    ];
    let mut run = run(2, &pieces);
    // The call that completes them has others to complete too.
    for c in &mut run.calls {
        c.count *= if c.func == 0 { 2 } else { 7 };
        c.comm = 0;
    }
    run.collectives = (0..2)
        .map(|rank| CollectiveWait {
            rank,
            ctx: CtxId(3),
            func: 0,
            sampled: 50,
            last: u64::from(rank) * 50,
            ..Default::default()
        })
        .collect();
    let runs = one(run, 2);
    let all = edges(runs.parallel(), EdgeKind::Collective);
    assert_eq!(all[0].count, 200.0);
}

#[test]
fn nobody_is_waited_for_where_nobody_was_seen_to_be_last() {
    let barrier = |last| with_collective("MPI_Barrier", "MPI_Barrier", last);
    assert_eq!(waited_for(barrier(1)), [(2, 0), (2, 1), (2, 3)]);
    assert!(waited_for(barrier(0)).is_empty());
    let runs = one(barrier(0), 1);
    let unheld = runs.parallel().table("unheld").expect("there");
    let seconds = unheld.get("wait").expect("seconds");
    let known: f64 = (0..unheld.len()).filter_map(|i| seconds.number(i)).sum();
    assert!((known - 1.5).abs() < 1e-3, "{known}");
    let wait = runs.top_down().vertices.get("wait").expect("a column");
    let all: f64 = (0..wait.len()).filter_map(|v| wait.number(v)).sum();
    assert!((all - 1.5).abs() < 1e-3, "they waited all the same: {all}");
}

#[test]
fn edges_tell_the_collective_that_another_call_completes() {
    let runs = one(with_collective("MPI_Wait", "MPI_Ibarrier", 100), 1);
    let all = edges(runs.parallel(), EdgeKind::Collective);
    assert_eq!(all.len(), 3);
    let is_ibarrier = |e: &Joined| e.collective.as_deref() == Some("MPI_Ibarrier");
    assert!(all.iter().all(is_ibarrier), "{all:?}");
}

#[test]
fn tables_that_number_vertices_are_beside_the_view_that_has_them() {
    let runs = one(with_messages(0), 2);
    let there = |view: &View| ["ranks", "sizes", "peers"].map(|t| view.table(t).is_some());
    assert_eq!(there(runs.top_down()), [true; 3]);
    assert_eq!(there(runs.parallel()), [true, false, false]);
    assert!(runs.parallel().table("unheld").is_some());
}

/// Names and seconds of the wait states of a run.
fn states(run: Run) -> Vec<(String, f64)> {
    let cache = headwater_dataflow::flow::Cache::default();
    let runner = headwater_dataflow::flow::Runner::quiet(&cache);
    let paradigm = headwater_diagnosis::paradigm::by_name("wait-states").expect("a paradigm");
    let report = paradigm
        .run(
            &[one(run, 1)],
            &headwater_diagnosis::Options::default(),
            &runner,
        )
        .expect("runs");
    let row = |row: &Vec<Item>| match (&row[0], &row[1]) {
        (Item::Text(name), Item::Number(seconds)) => {
            (name.clone(), (seconds * 100.0).round() / 100.0)
        }
        other => panic!("{other:?}"),
    };
    report.sections[0].rows.iter().map(row).collect()
}

#[test]
fn wait_states_are_those_of_the_collective_whoever_is_waited_for() {
    let state = |name: &str, seconds| vec![(name.to_string(), seconds)];
    let posted = with_collective("MPI_Wait", "MPI_Ibarrier", 100);
    assert_eq!(states(posted), state("wait at barrier", 1.5));
    let nobody = with_collective("MPI_Wait", "MPI_Iallreduce", 0);
    assert_eq!(states(nobody), state("wait at n-to-n", 1.5));
}

#[test]
fn a_reduction_is_early_until_the_first_of_the_others_comes() {
    let mut run = with_collective("MPI_Reduce", "MPI_Reduce", 100);
    for c in run.collectives.iter_mut() {
        c.wait_ns *= u64::from(c.rank == 0);
        c.first_ns = (c.rank == 0).then_some(SECOND / 5);
    }
    assert_eq!(states(run.clone()), [("early reduce".to_string(), 0.2)]);
    run.collectives[0].first_ns = None;
    assert_eq!(
        states(run),
        [("early reduce".to_string(), 0.5)],
        "of older runs"
    );
}
