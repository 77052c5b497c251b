//! Small programs whose times are worked out by hand.

use headwater_simulate::{
    Blocked, Cause, Done, Error, Kind, LogGp, Members, Mode, Network, Op, Options, Outcome,
    Program, Request, Step, Streams, WaitState, WaitsFor, simulate,
};

fn compute(seconds: f64) -> Op {
    Op::Compute { seconds }
}

fn send(to: u32, bytes: u64, mode: Mode) -> Op {
    Op::Send {
        to,
        tag: 0,
        comm: 0,
        bytes,
        mode,
        request: None,
    }
}

fn receive(from: u32) -> Op {
    Op::Recv {
        from,
        tag: 0,
        comm: 0,
        request: None,
    }
}

fn collective(kind: Kind, root: u32) -> Op {
    Op::Collective {
        comm: 0,
        kind,
        root,
        bytes: 8,
        request: None,
        waits: true,
    }
}

fn with(op: Op, number: u32) -> Op {
    let new = Some(Request::new(number));
    let mut op = op;
    if let Op::Send { request, .. } | Op::Recv { request, .. } | Op::Collective { request, .. } =
        &mut op
    {
        *request = new;
    }
    op
}

fn wait(number: u32) -> Op {
    Op::Wait {
        request: Request::new(number),
    }
}

/// A program whose steps have their index as place.
fn program(ranks: &[&[Op]]) -> Streams<std::vec::IntoIter<Step>> {
    let of = |ops: &&[Op]| -> Vec<Step> {
        let placed = (0..).zip(ops.iter());
        placed.map(|(place, op)| Step::new(place, *op)).collect()
    };
    Streams::new(ranks.iter().map(of).map(Vec::into_iter))
}

/// The outcome, and all that ended, by rank.
fn run(program: impl Program, network: &Network) -> Result<(Outcome, Vec<Vec<Done>>), Error> {
    let mut done = vec![Vec::new(); program.ranks().len()];
    let see = |d: &Done| done[d.rank as usize].push(*d);
    let outcome = simulate(program, network, Options::default(), see)?;
    Ok((outcome, done))
}

fn error(ranks: &[&[Op]]) -> Error {
    run(program(ranks), &Network::Ideal).expect_err("an error")
}

/// L = 10, o = 1, g = 3, G = 0.5, S = 100.
fn slow() -> Network {
    Network::LogGp(LogGp {
        latency: 10.0,
        overhead: 1.0,
        gap: 3.0,
        per_byte: 0.5,
        rendezvous_above: 100,
    })
}

#[test]
fn a_late_sender_is_waited_for() {
    let ranks: [&[Op]; 2] = [
        &[compute(3.0), send(1, 8, Mode::Standard)],
        &[compute(1.0), receive(0), compute(1.0)],
    ];
    let (outcome, done) = run(program(&ranks), &Network::Ideal).unwrap();
    assert_eq!(outcome.seconds, 4.0);
    let received = done[1][1];
    assert_eq!(
        (received.enter, received.leave, received.wait),
        (1.0, 3.0, 2.0)
    );
    let cause = Cause {
        stream: 0,
        rank: 0,
        call: 0,
        place: 1,
        state: WaitState::LateSender,
    };
    assert_eq!(received.waited_for, Some(cause));
    let path: Vec<(u32, f64)> = outcome
        .path
        .iter()
        .map(|p| (p.place, p.seconds()))
        .collect();
    assert_eq!(path, [(0, 3.0), (2, 1.0)]);
    let pop = outcome.efficiencies(Some(outcome.seconds)).unwrap();
    assert_eq!((pop.parallel, pop.load_balance), (2.5 / 4.0, 2.5 / 3.0));
    assert_eq!(
        (pop.serialisation, pop.transfer),
        (Some(3.0 / 4.0), Some(1.0))
    );
}

#[test]
fn waits_go_along_a_chain() {
    let middle = |r: u32| [receive(r - 1), compute(1.0), send(r + 1, 8, Mode::Standard)];
    let ranks: [&[Op]; 4] = [
        &[compute(1.0), send(1, 8, Mode::Standard)],
        &middle(1),
        &middle(2),
        &[receive(2), compute(1.0)],
    ];
    let (outcome, _) = run(program(&ranks), &Network::Ideal).unwrap();
    assert_eq!(outcome.seconds, 4.0);
    let waits: Vec<f64> = outcome.streams.iter().map(|s| s.wait).collect();
    assert_eq!(waits, [0.0, 1.0, 2.0, 3.0]);
    assert_eq!(outcome.path.iter().map(|p| p.compute).sum::<f64>(), 4.0);
}

#[test]
fn an_eager_message_takes_overheads_latency_and_its_bytes() {
    // 0: o until 1, 8 more bytes until 5, there at 15, received at 16. The next leaves 3 after the first.
    let ranks: [&[Op]; 2] = [
        &[send(1, 9, Mode::Standard), send(1, 1, Mode::Standard)],
        &[receive(0), receive(0)],
    ];
    let (outcome, done) = run(program(&ranks), &slow()).unwrap();
    assert_eq!((done[0][0].leave, done[0][1].leave), (1.0, 2.0));
    assert_eq!((done[1][0].leave, done[1][1].leave), (16.0, 19.0));
    assert_eq!(done[1][1].wait, 0.0);
    assert_eq!(outcome.streams[1].transfer, 19.0);
}

#[test]
fn a_rendezvous_waits_for_the_receiver() {
    let receiver = [compute(50.0), receive(0)];
    let ranks: [&[Op]; 2] = [&[send(1, 101, Mode::Standard)], &receiver];
    let (outcome, done) = run(program(&ranks), &slow()).unwrap();
    // The answer is back at 60, the data flow for 50, are there at 120 and received at 121.
    assert_eq!((done[0][0].leave, done[0][0].wait), (110.0, 50.0 - 1.0));
    assert_eq!((done[1][1].leave, done[1][1].wait), (121.0, 0.0));
    assert_eq!(done[0][0].waited_for.unwrap().rank, 1);
    assert_eq!(outcome.path[0].compute, 50.0);
    // On the ideal network only a synchronous send waits.
    assert_eq!(
        run(program(&ranks), &Network::Ideal).unwrap().0.streams[0].wait,
        0.0
    );
    let ranks: [&[Op]; 2] = [&[send(1, 101, Mode::Synchronous)], &receiver];
    let (outcome, _) = run(program(&ranks), &Network::Ideal).unwrap();
    assert_eq!(outcome.streams[0].wait, 50.0);
    assert_eq!(outcome.streams[1].end, 50.0);
}

#[test]
fn what_is_posted_early_overlaps_with_computation() {
    let ranks: [&[Op]; 2] = [
        &[
            compute(2.0),
            with(send(1, 500, Mode::Synchronous), 4),
            compute(9.0),
            wait(4),
        ],
        &[with(receive(0), 0), compute(5.0), wait(0)],
    ];
    let (outcome, _) = run(program(&ranks), &Network::Ideal).unwrap();
    let waits: Vec<f64> = outcome.streams.iter().map(|s| s.wait).collect();
    assert_eq!(waits, [0.0, 0.0]);
    // A call of several steps is one call, with the last wait as its cause.
    let part = Step::part;
    let exchange = |other: u32| {
        let send = with(send(other, 8, Mode::Standard), 0);
        [
            part(7, send),
            part(7, with(receive(other), 1)),
            part(7, wait(0)),
            Step::new(7, wait(1)),
        ]
    };
    let late = [Step::new(1, compute(2.0))];
    let ranks = [[&late[..], &exchange(1)].concat(), exchange(0).to_vec()];
    let (_, done) = run(Streams::new(ranks.map(Vec::into_iter)), &Network::Ideal).unwrap();
    assert_eq!((done[0].len(), done[1].len()), (2, 1));
    assert_eq!(
        (done[1][0].wait, done[1][0].waited_for.unwrap().rank),
        (2.0, 0)
    );
}

#[test]
fn a_call_that_needs_nobody_is_a_call() {
    let ranks: [&[Op]; 1] = [&[Op::Nothing, compute(1.0), Op::Nothing]];
    let (outcome, done) = run(program(&ranks), &slow()).unwrap();
    assert_eq!((outcome.seconds, outcome.streams[0].calls), (1.0, 2));
    let calls: Vec<u64> = done[0].iter().map(|d| d.call).collect();
    assert_eq!(calls, [0, 1, 1]);
    assert_eq!(outcome.steps, 3);
}

#[test]
fn a_probe_leaves_the_message_to_its_receive() {
    let probe = Op::Probe {
        from: 0,
        tag: 0,
        comm: 0,
    };
    let sender: [Op; 2] = [compute(3.0), send(1, 8, Mode::Standard)];
    for early in [0.0, 5.0] {
        let ranks: [&[Op]; 2] = [&sender, &[compute(early), probe, receive(0)]];
        let (_, done) = run(program(&ranks), &Network::Ideal).unwrap();
        let wait = (3.0f64 - early).max(0.0);
        assert_eq!((done[1][1].wait, done[1][2].wait), (wait, 0.0));
    }
}

#[test]
fn members_of_a_collective_wait_for_whom_they_need() {
    // Ranks arrive at 10, 30 and 20.
    let waits = |kind, root| {
        let c = collective(kind, root);
        let arrive = [10.0, 30.0, 20.0].map(|t| [compute(t), c]);
        let ranks: [&[Op]; 3] = [&arrive[0], &arrive[1], &arrive[2]];
        let (outcome, _) = run(program(&ranks), &Network::Ideal).unwrap();
        assert_eq!(outcome.seconds, 30.0);
        outcome.streams.iter().map(|s| s.wait).collect::<Vec<f64>>()
    };
    for kind in [
        Kind::Barrier,
        Kind::AllReduce,
        Kind::AllGather,
        Kind::AllToAll,
        Kind::ReduceScatter,
    ] {
        assert_eq!(waits(kind, 0), [20.0, 0.0, 10.0], "{kind:?}");
    }
    for kind in [Kind::Broadcast, Kind::Scatter] {
        assert_eq!(waits(kind, 1), [20.0, 0.0, 10.0]);
        assert_eq!(waits(kind, 0), [0.0; 3]);
        assert_eq!(waits(kind, 2), [10.0, 0.0, 0.0]);
    }
    for kind in [Kind::Reduce, Kind::Gather] {
        assert_eq!(waits(kind, 0), [20.0, 0.0, 0.0]);
        assert_eq!(waits(kind, 1), [0.0; 3]);
    }
    assert_eq!(waits(Kind::Scan, 0), [0.0, 0.0, 10.0]);
}

#[test]
fn collectives_take_the_time_of_their_algorithm() {
    // A message of one byte takes 12, each more byte a half.
    let net = |per_byte| {
        Network::LogGp(LogGp {
            latency: 10.0,
            overhead: 1.0,
            gap: 0.0,
            per_byte,
            rendezvous_above: u64::MAX,
        })
    };
    let ends = |kind, count: usize, per_byte| {
        let c = [collective(kind, 0)];
        let ranks: Vec<&[Op]> = vec![&c[..]; count];
        let (outcome, _) = run(program(&ranks), &net(per_byte)).unwrap();
        outcome.streams.iter().map(|s| s.end).collect::<Vec<f64>>()
    };
    assert_eq!(ends(Kind::Barrier, 1, 0.0), [0.0]);
    assert_eq!(ends(Kind::Barrier, 5, 0.0), [36.0; 5]);
    assert_eq!(ends(Kind::AllReduce, 4, 0.5), [2.0 * (12.0 + 3.5); 4]);
    // Pairwise: three messages; Bruck: two of twice the length.
    assert_eq!(ends(Kind::AllToAll, 4, 0.5), [2.0 * (12.0 + 7.5); 4]);
    // The root sends to the farthest first: to 2, then to 1; 3 has it from 2.
    assert_eq!(ends(Kind::Broadcast, 4, 0.0), [2.0, 13.0, 12.0, 24.0]);
    // The other way round; who has nobody below it only sends.
    assert_eq!(ends(Kind::Reduce, 4, 0.0), [24.0, 1.0, 2.0, 1.0]);
    assert_eq!(ends(Kind::Scan, 4, 0.0), [0.0, 12.0, 24.0, 24.0]);
}

#[test]
fn communicators_have_members_in_their_order_and_numbers_of_their_own() {
    let on = |comm, root| Op::Collective {
        comm,
        kind: Kind::Scan,
        root,
        bytes: 0,
        request: None,
        waits: true,
    };
    let ranks: [&[Op]; 4] = [
        &[compute(1.0), on(1, 0), on(2, 0)],
        &[compute(2.0), on(2, 0)],
        &[compute(3.0), on(1, 0), on(2, 0)],
        &[compute(4.0), on(2, 0)],
    ];
    let even = Members::Range {
        first: 0,
        stride: 2,
        count: 2,
    };
    let backward = Members::List([3, 2, 1, 0].into());
    let (outcome, _) = run(program(&ranks).with(even).with(backward), &Network::Ideal).unwrap();
    let waits: Vec<f64> = outcome.streams.iter().map(|s| s.wait).collect();
    assert_eq!(waits, [3.0, 2.0, 1.0, 0.0]);
}

#[test]
fn threads_depend_on_each_other_by_local_messages() {
    struct Threads(Vec<Vec<Op>>);
    impl Program for Threads {
        fn ranks(&self) -> Vec<u32> {
            vec![0, 0]
        }
        fn next(&mut self, stream: u32) -> Option<Step> {
            let list = &mut self.0[stream as usize];
            (!list.is_empty()).then(|| Step::new(0, list.remove(0)))
        }
        fn members(&self, _: u32) -> Option<Members> {
            None
        }
    }
    let labelled = |op: Op, label: i32| match op {
        Op::Recv {
            from,
            comm,
            request,
            ..
        } => Op::Recv {
            from,
            tag: label,
            comm,
            request,
        },
        Op::Send {
            to,
            comm,
            bytes,
            mode,
            request,
            ..
        } => Op::Send {
            to,
            tag: label,
            comm,
            bytes,
            mode,
            request,
        },
        other => other,
    };
    let signal = |label| labelled(send(0, 0, Mode::Local), label);
    let main = vec![compute(1.0), signal(0), labelled(receive(0), 1)];
    let thread = vec![labelled(receive(0), 0), compute(5.0), signal(1)];
    let outcome = simulate(Threads(vec![main, thread]), &slow(), Options::default(), ()).unwrap();
    assert_eq!(outcome.seconds, 6.0);
    assert_eq!(outcome.compute_of_ranks(), [6.0]);
}

#[test]
fn a_deadlock_names_everyone_and_what_they_wait_for() {
    let ranks: [&[Op]; 4] = [
        &[compute(1.0), receive(1)],
        &[send(0, 8, Mode::Synchronous), collective(Kind::Barrier, 0)],
        &[with(receive(3), 3), wait(3)],
        &[],
    ];
    // Rank 0 has its message, and then ranks 0, 2 and 3 are missing in the barrier.
    let Error::Deadlock(blocked) = error(&ranks) else {
        panic!("a deadlock");
    };
    let members = WaitsFor::Members {
        comm: 0,
        number: 0,
        missing: vec![0, 2, 3],
        count: 3,
    };
    let message = WaitsFor::Message {
        from: 3,
        tag: 0,
        comm: 0,
        ended: true,
    };
    let waits = |rank, waits_for| Blocked {
        rank,
        stream: rank,
        call: 1,
        place: 1,
        waits_for,
    };
    assert_eq!(blocked, [waits(1, members), waits(2, message)]);
    assert_eq!(
        Error::Deadlock(blocked).to_string(),
        "deadlock: rank 1 waits in its call 1 for rank 0, 2, 3 in collective 0 of communicator 0; rank 2 waits in its \
         call 1 for a message with tag 0 in communicator 0 from rank 3, which has ended"
    );
    let ranks: [&[Op]; 2] = [
        &[send(1, 1, Mode::Synchronous), receive(1)],
        &[send(0, 1, Mode::Synchronous), receive(0)],
    ];
    let text = error(&ranks).to_string();
    assert!(
        text.contains("rank 0 waits in its call 0 for a receive with tag 0"),
        "{text}"
    );
    assert!(text.contains("by rank 0"), "{text}");
}

#[test]
fn mistakes_name_the_rank() {
    let barrier = collective(Kind::Barrier, 0);
    let elsewhere = Op::Collective {
        comm: 7,
        kind: Kind::Barrier,
        root: 0,
        bytes: 0,
        request: None,
        waits: true,
    };
    let cases: [(&[Op], &str); 8] = [
        (
            &[send(9, 0, Mode::Standard)],
            "rank 0 names rank 9, which is not in the program",
        ),
        (
            &[receive(2)],
            "rank 0 names rank 2, which is not in the program",
        ),
        (
            &[wait(3)],
            "rank 0 waits for request 3, which is not active",
        ),
        (
            &[elsewhere],
            "rank 0 uses communicator 7, which is not known",
        ),
        (&[compute(-1.0)], "rank 0 computes for -1 seconds"),
        (&[compute(f64::NAN)], "rank 0 computes for NaN seconds"),
        (
            &[with(receive(1), 0), with(receive(1), 0)],
            "rank 0 uses request 0 again before it is complete, or its number is too large",
        ),
        (
            &[collective(Kind::Broadcast, 5)],
            "rank 5 is not in communicator 0, as rank 0 takes it to be",
        ),
    ];
    for (steps, expected) in cases {
        assert_eq!(error(&[steps, &[]]).to_string(), expected);
    }
    let text = error(&[&[barrier], &[collective(Kind::AllReduce, 0)]]).to_string();
    assert_eq!(
        text,
        "rank 1 calls AllReduce as collective 0 of communicator 0, others Barrier"
    );
    let roots = [[collective(Kind::Reduce, 0)], [collective(Kind::Reduce, 1)]];
    assert!(matches!(
        error(&[&roots[0], &roots[1]]),
        Error::OtherRoot {
            rank: 1,
            number: 0,
            ..
        }
    ));
    assert_eq!(error(&[]), Error::Streams);
    let large = with(receive(1), u32::MAX);
    assert!(matches!(
        error(&[&[large], &[]]),
        Error::RequestInUse { rank: 0, .. }
    ));
    let bad = Network::LogGp(LogGp {
        gap: f64::INFINITY,
        ..LogGp::IDEAL
    });
    assert_eq!(run(program(&[&[]]), &bad).unwrap_err(), Error::Network);
}

#[test]
fn what_nobody_receives_is_counted() {
    let ranks: [&[Op]; 2] = [
        &[send(1, 8, Mode::Standard), send(1, 8, Mode::Standard)],
        &[receive(0)],
    ];
    assert_eq!(
        run(program(&ranks), &Network::Ideal).unwrap().0.unreceived,
        1
    );
    // A request that is given back needs no wait, whether it is complete or not.
    let free = Op::Free {
        request: Request::new(0),
    };
    for sender in [0.0, 2.0] {
        let receiver = [compute(1.0), with(receive(0), 0), free, with(receive(0), 1)];
        let twice = [
            compute(sender),
            send(1, 8, Mode::Standard),
            send(1, 8, Mode::Standard),
        ];
        let ranks: [&[Op]; 2] = [&twice, &receiver];
        assert_eq!(
            run(program(&ranks), &Network::Ideal).unwrap().0.unreceived,
            0
        );
    }
}

#[test]
fn waits_have_their_states() {
    let state = |kind, root_late: bool| {
        let late = Op::Compute { seconds: 1.0 };
        let op = Op::Collective {
            comm: 0,
            kind,
            root: 0,
            bytes: 8,
            request: None,
            waits: true,
        };
        let rank = |is_late: bool| {
            let mut steps = vec![Step::new(1, op)];
            if is_late {
                steps.insert(0, Step::new(0, late));
            }
            steps.into_iter()
        };
        let mut found = Vec::new();
        let program = Streams::new([rank(root_late), rank(!root_late)]);
        let see = |done: &Done| found.extend(done.waited_for.map(|c| c.state));
        simulate(program, &Network::Ideal, Options::default(), see).unwrap();
        found
    };
    for (kind, root_late, expected) in [
        (Kind::Barrier, true, WaitState::WaitAtBarrier),
        (Kind::AllReduce, false, WaitState::WaitAtNxN),
        (Kind::Broadcast, true, WaitState::LateBroadcast),
        (Kind::Reduce, false, WaitState::EarlyReduce),
        (Kind::Scan, true, WaitState::EarlyScan),
    ] {
        assert_eq!(state(kind, root_late), [expected], "{kind:?}");
    }
    let ranks: [&[Op]; 2] = [
        &[send(1, 8, Mode::Synchronous)],
        &[compute(1.0), receive(0)],
    ];
    let (_, done) = run(program(&ranks), &Network::Ideal).unwrap();
    let cause = done[0][0].waited_for.unwrap();
    assert_eq!((cause.state, cause.rank), (WaitState::LateReceiver, 1));
}
