//! Small traces, whose times in virtual time are known by hand.

use headwater_mpi_abi::constants::{ABSENT, ANY_SOURCE, ANY_TAG, PROC_NULL, ROOT};
use headwater_mpi_abi::{Kind as Meaning, fields, id_of};
use headwater_simulate::{Network, Options, Outcome, simulate};
use headwater_trace::likeness::Slack;
use headwater_trace::recorder::Recorder;
use headwater_trace::times::Delta;
use headwater_trace::trace::{Frame, Kind, Trace};
use headwater_virtual_run::{NotSimulated, Place, Recorded};

const INT: i64 = 0x209;
const MILLISECOND: u64 = 1_000_000;

/// A call: function, values by field name, milliseconds of computation before it, and how often in a row.
struct Call(&'static str, Vec<(&'static str, i64)>, u64);

fn call(function: &'static str, values: &[(&'static str, i64)], before: u64) -> Call {
    Call(function, values.to_vec(), before)
}

/// The trace of a rank, which is member `comms` (number, rank, size) of communicators.
fn of_rank(
    rank: u32,
    size: u32,
    comms: &[(i64, u32, u32)],
    calls: &[Call],
    lists: &[&[i64]],
) -> Trace {
    let mut recorder = Recorder::new(usize::MAX, Slack::default());
    for Call(function, named, before) in calls {
        let id = id_of(function).expect("a function of MPI").0;
        let all = fields(id);
        let kind = |k: Meaning| match k {
            Meaning::Peer | Meaning::Root | Meaning::StatusSource => Kind::Peer,
            Meaning::Comm => Kind::Comm,
            k if k.is_list() => Kind::List,
            _ => Kind::Plain,
        };
        let kinds: Vec<Kind> = all.iter().map(|f| kind(f.kind)).collect();
        let values: Vec<i64> = all
            .iter()
            .map(|f| {
                let value = named.iter().find(|(n, _)| *n == f.name).map(|(_, v)| *v);
                match (value, f.kind.is_list()) {
                    (Some(at), true) => recorder.list(lists[at as usize]),
                    (value, _) => value.unwrap_or(ABSENT),
                }
            })
            .collect();
        let frame = Frame {
            module: 1,
            offset: u64::from(id),
        };
        let signature = recorder.signature(function, &kinds, &[frame]);
        let wall = before * MILLISECOND;
        recorder.event(
            signature,
            &values,
            Delta {
                wall,
                cpu: wall,
                call: 1000,
            },
        );
    }
    let mut trace = Trace::of_rank(rank, size);
    trace.add_communicator(0, rank, rank, size);
    for (number, me, size) in comms {
        trace.add_communicator(*number, rank, *me, *size);
    }
    recorder.finish(&mut trace, rank, 0);
    trace
}

fn merged(traces: Vec<Trace>) -> Trace {
    let all = traces.into_iter().reduce(|mut a, b| {
        a.merge(b);
        a
    });
    let all = all.expect("a rank");
    // As from a file.
    let again = Trace::from_bytes(&all.to_packed_bytes()).expect("a trace");
    assert_eq!(again, all);
    again
}

fn run(trace: &Trace) -> (Outcome, Vec<&'static str>) {
    let recorded = Recorded::of(trace).expect("it can be simulated");
    let outcome = simulate(recorded.program(), &Network::Ideal, Options::default(), ());
    let notes = recorded.notes();
    let notes = notes.iter().map(|(note, _)| note.text()).collect();
    (outcome.expect("it ends"), notes)
}

/// Times are rounded to 1/2048 of the run.
fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-3 * b.max(1e-3)
}

/// A program of four ranks that meet in each of 200 iterations. Who `is_slow` there computes for 10 ms, the others for 1 ms.
fn with_slow(is_slow: fn(u32, u32) -> bool) -> Trace {
    let of = |rank| {
        let ms = |iteration| if is_slow(iteration, rank) { 10 } else { 1 };
        let calls = (0..200).map(|i| call("MPI_Barrier", &[("comm", 0)], ms(i)));
        let calls: Vec<Call> = calls.collect();
        of_rank(rank, 4, &[], &calls, &[])
    };
    let mut trace = merged((0..4).map(of).collect());
    trace.drop_small_outliers();
    merged(vec![trace])
}

#[test]
fn another_rank_that_is_slow_in_each_iteration_is_waited_for() {
    // In turn, and without an order.
    let in_turn = |i, rank| i % 4 == rank;
    let mixed = |i: u32, rank| i.wrapping_mul(0x9e37_79b9) >> 30 == rank;
    for is_slow in [in_turn, mixed] {
        let trace = with_slow(is_slow);
        let (outcome, _) = run(&trace);
        assert!((outcome.seconds - 2.0).abs() < 0.04, "{}", outcome.seconds);
        for (rank, compute) in (0..4).zip(outcome.compute_of_ranks()) {
            let own = (0..200).map(|i| if is_slow(i, rank) { 0.010 } else { 0.001 });
            let own: f64 = own.sum();
            assert!((compute / own - 1.0).abs() < 0.01, "{compute}, not {own}");
        }
        let recorded = Recorded::of(&trace).expect("it can be simulated");
        assert_eq!(recorded.changing(), None);
    }
}

#[test]
fn only_a_program_with_outliers_has_some_and_alike_ranks_have_them_once() {
    let bytes = |trace: &Trace| trace.to_packed_bytes().len();
    let even = with_slow(|_, _| false);
    assert!(even.outliers.is_empty());
    // No execution is longer than others of its rank.
    assert!(with_slow(|_, rank| rank == 1).outliers.is_empty());
    let together = with_slow(|i, _| i % 4 == 0);
    assert_eq!(together.outliers[&0].len(), 1);
    let in_turn = with_slow(|i, rank| i % 4 == rank);
    // 50 and 200 outliers.
    let more = [together, in_turn].map(|trace| bytes(&trace) - bytes(&even));
    assert!(more[0] < 75 && more[1] < 200, "{more:?}");
}

#[test]
fn each_rank_computes_as_long_as_it_did() {
    let barrier = |ms| call("MPI_Barrier", &[("comm", 0)], ms);
    let of = |rank, ms| of_rank(rank, 3, &[], &[barrier(ms), barrier(10)], &[]);
    let trace = merged(vec![of(0, 10), of(1, 100), of(2, 10)]);
    let (outcome, notes) = run(&trace);
    assert!(close(outcome.seconds, 0.110), "{}", outcome.seconds);
    assert!(close(outcome.streams[0].wait, 0.090), "{outcome:?}");
    assert!(notes.is_empty(), "{notes:?}");
}

#[test]
fn wildcards_receive_what_they_received() {
    let receive = |request| {
        let wild = [
            ("count", 4),
            ("datatype", INT),
            ("source", ANY_SOURCE),
            ("tag", ANY_TAG),
        ];
        call(
            "MPI_Irecv",
            &[&wild[..], &[("comm", 0), ("request", request)]].concat(),
            1,
        )
    };
    let wait = call(
        "MPI_Waitall",
        &[
            ("count", 2),
            ("array_of_requests", 0),
            ("status_sources", 1),
            ("status_tags", 2),
        ],
        0,
    );
    let send = |ms, tag| {
        let to = [("count", 4), ("datatype", INT), ("dest", 0), ("tag", tag)];
        call("MPI_Send", &[&to[..], &[("comm", 0)]].concat(), ms)
    };
    let lists: [&[i64]; 3] = [&[0, 1], &[2, 1], &[7, 5]];
    let trace = merged(vec![
        of_rank(0, 3, &[], &[receive(0), receive(1), wait], &lists),
        of_rank(1, 3, &[], &[send(20, 5)], &[]),
        of_rank(2, 3, &[], &[send(50, 7)], &[]),
    ]);
    let (outcome, notes) = run(&trace);
    assert!(close(outcome.seconds, 0.050), "{}", outcome.seconds);
    assert_eq!(outcome.unreceived, 0);
    assert!(notes.is_empty(), "{notes:?}");
}

#[test]
fn parts_of_a_split_have_their_own_members_though_they_have_one_number() {
    let split = |color| {
        let values = [("comm", 0), ("color", color), ("key", 0), ("newcomm", 2)];
        call("MPI_Comm_split", &values, 0)
    };
    let reduce = |ms| {
        let values = [("count", 1), ("datatype", INT), ("comm", 2)];
        call("MPI_Allreduce", &values, ms)
    };
    let of = |rank: u32, ms| {
        let place = (2, rank / 2, 2);
        of_rank(
            rank,
            4,
            &[place],
            &[split(i64::from(rank % 2)), reduce(ms)],
            &[],
        )
    };
    let trace = merged(vec![of(0, 10), of(1, 20), of(2, 30), of(3, 80)]);
    let (outcome, notes) = run(&trace);
    let ends: Vec<f64> = outcome.streams.iter().map(|s| s.end).collect();
    for (end, expected) in ends.iter().zip([0.030, 0.080, 0.030, 0.080]) {
        assert!(close(*end, expected), "{ends:?}");
    }
    assert!(notes.is_empty(), "{notes:?}");
}

#[test]
fn persistent_requests_are_their_operation_at_each_start() {
    let of = |rank: i64| {
        let (function, other) = match rank {
            0 => ("MPI_Send_init", "dest"),
            _ => ("MPI_Recv_init", "source"),
        };
        let made = [
            ("count", 1),
            ("datatype", INT),
            (other, 1 - rank),
            ("tag", 3),
        ];
        let mut calls = vec![call(
            function,
            &[&made[..], &[("comm", 0), ("request", 0)]].concat(),
            0,
        )];
        for _ in 0..5 {
            calls.push(call(
                "MPI_Start",
                &[("request", 0)],
                if rank == 0 { 10 } else { 1 },
            ));
            calls.push(call("MPI_Wait", &[("request", 0)], 0));
        }
        calls.push(call("MPI_Request_free", &[("request", 0)], 0));
        of_rank(rank as u32, 2, &[], &calls, &[])
    };
    let (outcome, notes) = run(&merged(vec![of(0), of(1)]));
    assert!(close(outcome.seconds, 0.050), "{}", outcome.seconds);
    assert_eq!(outcome.unreceived, 0);
    assert!(notes.is_empty(), "{notes:?}");
}

#[test]
fn neighbours_on_a_grid_wait_for_each_other_alone() {
    let of = |rank: u32, ms| {
        let grid = [
            ("comm", 0),
            ("ndims", 1),
            ("dims", 0),
            ("periods", 1),
            ("newcomm", 2),
        ];
        let data = [
            ("sendcount", 1),
            ("sendtype", INT),
            ("recvcount", 1),
            ("recvtype", INT),
        ];
        let calls = [
            call("MPI_Cart_create", &grid, 0),
            call(
                "MPI_Neighbor_allgather",
                &[&data[..], &[("comm", 2)]].concat(),
                ms,
            ),
        ];
        of_rank(rank, 4, &[(2, rank, 4)], &calls, &[&[4], &[0]])
    };
    let (outcome, _) = run(&merged(vec![of(0, 10), of(1, 10), of(2, 10), of(3, 90)]));
    let ends: Vec<f64> = outcome.streams.iter().map(|s| s.end).collect();
    // Work of ranks is known to a thousandth of the run.
    for (end, expected) in ends.iter().zip([0.010, 0.010, 0.090, 0.090]) {
        assert!((end - expected).abs() < 1e-4, "{ends:?}");
    }
}

/// Ranks 0 and 1 are one group, ranks 2 and 3 the other one. `calls` are those of each rank, on the intercommunicator 3
/// and on its copy 4.
fn between(calls: impl Fn(u32) -> Vec<Call>) -> Trace {
    let of = |rank: u32| {
        let color = i64::from(rank / 2);
        let split = [("comm", 0), ("color", color), ("key", 0), ("newcomm", 2)];
        let create = [
            ("local_comm", 2),
            ("local_leader", 0),
            ("peer_comm", 0),
            ("remote_leader", 2 - 2 * color),
            ("tag", 7),
            ("newintercomm", 3),
        ];
        let mut all = vec![
            call("MPI_Comm_split", &split, 0),
            call("MPI_Intercomm_create", &create, 0),
            call("MPI_Comm_dup", &[("comm", 3), ("newcomm", 4)], 0),
        ];
        all.extend(calls(rank));
        of_rank(rank, 4, &[(2, rank % 2, 2)], &all, &[])
    };
    merged((0..4).map(of).collect())
}

#[test]
fn groups_of_an_intercommunicator_wait_for_each_other() {
    for comm in [3, 4] {
        let message = |other, ms| {
            let to = [("count", 1), ("datatype", INT), other, ("tag", 5)];
            let name = if other.0 == "dest" {
                "MPI_Send"
            } else {
                "MPI_Recv"
            };
            call(name, &[&to[..], &[("comm", comm)]].concat(), ms)
        };
        // Member 1 of the first group sends to member 0 of the other one.
        let trace = between(|rank| match rank {
            1 => vec![message(("dest", 0), 30)],
            2 => vec![message(("source", 1), 10)],
            _ => Vec::new(),
        });
        let (outcome, notes) = run(&trace);
        assert!(close(outcome.streams[2].end, 0.030), "{outcome:?}");
        assert_eq!(outcome.unreceived, 0);
        assert!(notes.is_empty(), "{notes:?}");

        let barrier = |ms| vec![call("MPI_Barrier", &[("comm", comm)], ms)];
        let (outcome, _) = run(&between(|rank| barrier(if rank == 3 { 40 } else { 10 })));
        assert!(
            outcome.streams.iter().all(|s| close(s.end, 0.040)),
            "{outcome:?}"
        );

        // The root is member 1 of the second group. The other member of its group waits for nobody.
        let root = |rank| match rank {
            3 => ROOT,
            2 => PROC_NULL,
            _ => 1,
        };
        let collective = |name, rank, ms| {
            let data = [("count", 1), ("datatype", INT), ("root", root(rank))];
            call(name, &[&data[..], &[("comm", comm)]].concat(), ms)
        };
        let late = |late: u32, rank| if rank == late { 50 } else { 10 };
        let ends = |name, last| {
            let (outcome, notes) = run(&between(|r| vec![collective(name, r, late(last, r))]));
            assert!(notes.is_empty() && outcome.unreceived == 0, "{notes:?}");
            let ends = outcome.streams.iter().map(|s| (s.end * 1e3).round() as u32);
            ends.collect::<Vec<_>>()
        };
        assert_eq!(ends("MPI_Bcast", 3), [50, 50, 10, 50]);
        assert_eq!(ends("MPI_Reduce", 1), [10, 50, 10, 50]);
    }
}

#[test]
fn what_is_not_known_is_noted() {
    let unknown = [("count", 1), ("datatype", INT), ("comm", 9)];
    let wait = call("MPI_Wait", &[("request", 5)], 0);
    let calls = [call("MPI_Allreduce", &unknown, 10), wait];
    let (outcome, notes) = run(&of_rank(0, 1, &[], &calls, &[]));
    assert!(close(outcome.seconds, 0.010), "{}", outcome.seconds);
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert_eq!(
        Recorded::of(&Trace::default()).err(),
        Some(NotSimulated::Empty)
    );
}

#[test]
fn samples_divide_computation_over_the_source() {
    let barrier = |ms| call("MPI_Barrier", &[("comm", 0)], ms);
    let trace = of_rank(0, 1, &[], &[barrier(0), barrier(100)], &[]);
    let mut recorded = Recorded::of(&trace).expect("it can be simulated");
    let before = *trace.signatures.keys().next().expect("a signature");
    recorded.divide([(0, before, 0, 3.0), (0, before, 1, 1.0)]);
    let outcome = simulate(recorded.program(), &Network::Ideal, Options::default(), ());
    let outcome = outcome.expect("it ends");
    let longest = outcome.longest().expect("a place");
    assert_eq!(recorded.places().get(longest.place), Some(Place::Source(0)));
    assert!(close(longest.compute, 0.075), "{longest:?}");
}

#[test]
fn a_network_is_fitted_to_the_shortest_calls() {
    let comm = ("comm", 0);
    let send = |count: i64| {
        call(
            "MPI_Send",
            &[
                ("count", count),
                ("datatype", INT),
                ("dest", 1),
                ("tag", 0),
                comm,
            ],
            1,
        )
    };
    let recv = || {
        call(
            "MPI_Recv",
            &[
                ("count", 4096),
                ("datatype", INT),
                ("source", 0),
                ("tag", 0),
                comm,
                ("status.source", 0),
                ("status.tag", 0),
            ],
            1,
        )
    };
    let barrier = || call("MPI_Barrier", &[comm], 0);
    let trace = merged(vec![
        of_rank(0, 2, &[], &[barrier(), send(1), send(4096)], &[]),
        of_rank(1, 2, &[], &[barrier(), recv(), recv()], &[]),
    ]);
    let recorded = Recorded::of(&trace).expect("events");
    let fit = recorded.fit().expect("a fit");
    // Each call of these traces takes a microsecond, whatever its length.
    let message = fit.network.message(4096);
    assert!((message - 1e-6).abs() < 1e-9, "{fit:?}");
    assert_eq!(fit.network.per_byte, 0.0);
    let silent = of_rank(0, 1, &[], &[barrier()], &[]);
    let recorded = Recorded::of(&silent).expect("events");
    assert_eq!(
        recorded.fit(),
        Err(headwater_virtual_run::NotFitted::NoLatency)
    );
}
