//! What-if questions, and fits of networks.

use headwater_simulate::{
    Edit, Edited, Error, Kind, LogGp, Measured, Mode, Network, NoFit, Op, Program, Sample, Step,
    Streams, Work, calibrate, what_if,
};

const WORK: u32 = 1;
const REST: u32 = 2;
const REDUCE: u32 = 3;

/// Three turns; rank r computes 1 + r s at one place and 1 s at another, then all reduce.
fn uneven() -> Streams<std::vec::IntoIter<Step>> {
    let of = |rank: u32| {
        let step = |place, seconds| Step::new(place, Op::Compute { seconds });
        let reduce = Op::Collective {
            comm: 0,
            kind: Kind::AllReduce,
            root: 0,
            bytes: 1000,
            request: None,
            waits: true,
        };
        let turn = [
            step(WORK, 1.0 + f64::from(rank)),
            step(REST, 1.0),
            Step::new(REDUCE, reduce),
        ];
        [turn; 3].concat().into_iter()
    };
    Streams::new((0..3).map(of))
}

fn after(edits: &[(u32, Edit)]) -> f64 {
    what_if(uneven, &Network::Ideal, edits)
        .unwrap()
        .after
        .seconds
}

#[test]
fn edits_change_the_run_time_as_they_say() {
    assert_eq!(after(&[]), 12.0);
    // The mean of 1, 2 and 3 s.
    assert!((after(&[(WORK, Edit::Balanced)]) - 9.0).abs() < 1e-12);
    assert_eq!(after(&[(WORK, Edit::Compute(0.5))]), 7.5);
    assert_eq!(after(&[(WORK, Edit::Compute(0.0))]), 3.0);
    assert_eq!(
        after(&[(WORK, Edit::Compute(0.0)), (REST, Edit::Compute(3.0))]),
        9.0
    );
    let both = [(WORK, Edit::Balanced), (WORK, Edit::Compute(0.5))];
    assert!((after(&both) - 6.0).abs() < 1e-12);
    // Nobody waits, but the slowest rank needs as long.
    let answer = what_if(uneven, &Network::Ideal, &[(REDUCE, Edit::NoWait)]).unwrap();
    assert_eq!(answer.gain(), 0.0);
    assert_eq!(answer.after.streams[0].end, 6.0);
    assert!(answer.before.streams[0].wait == 6.0 && answer.after.streams[0].wait == 0.0);
    assert_eq!(answer.longest().unwrap().place, WORK);
    let gone = what_if(uneven, &Network::Ideal, &[(WORK, Edit::Compute(0.0))]).unwrap();
    assert_eq!((gone.gain(), gone.longest().unwrap().place), (9.0, REST));
}

#[test]
fn shorter_messages_take_less_time() {
    let net = Network::LogGp(LogGp {
        per_byte: 1e-3,
        ..LogGp::IDEAL
    });
    let seconds = |factor| {
        let edits = [(REDUCE, Edit::Bytes(factor))];
        what_if(uneven, &net, &edits).unwrap().after.seconds
    };
    // Two rounds of 999 steps of a byte, or the shorter way by halving.
    assert!(seconds(0.5) < seconds(1.0) && seconds(1.0) < seconds(2.0));
    assert_eq!(seconds(0.0), 12.0);
    // A message has the length of its sender's place.
    let pair = || {
        let send = Op::Send {
            to: 1,
            tag: 0,
            comm: 0,
            bytes: 1001,
            mode: Mode::Standard,
            request: None,
        };
        let receive = Op::Recv {
            from: 0,
            tag: 0,
            comm: 0,
            request: None,
        };
        let ranks = [Step::new(4, send), Step::new(5, receive)];
        Streams::new(ranks.map(std::iter::once))
    };
    let of = |place| what_if(pair, &net, &[(place, Edit::Bytes(0.5))]).unwrap();
    assert!((of(4).gain() - 0.5).abs() < 1e-12);
    assert_eq!(of(5).gain(), 0.0);
}

#[test]
fn what_no_time_results_from_is_refused() {
    let refused = what_if(uneven, &Network::Ideal, &[(WORK, Edit::Compute(-1.0))]);
    assert!(matches!(refused, Err(Error::Time { .. })));
}

#[test]
fn work_of_a_place_without_computation_stays() {
    let work = Work::of(uneven(), &[WORK, 99]);
    let mut edited = Edited::new(
        uneven(),
        &[(99, Edit::Balanced), (WORK, Edit::Balanced)],
        &work,
    );
    let first = edited.next(2).unwrap();
    assert_eq!(first.op, Op::Compute { seconds: 2.0 });
    assert_eq!(
        edited.next(2),
        Some(Step::new(REST, Op::Compute { seconds: 1.0 }))
    );
}

/// Samples of a network with noise that only makes times longer, and some stalls.
fn samples(net: &LogGp, noise: f64) -> Vec<Sample> {
    let mut seed = 7u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as f64 / f64::from(1u32 << 31)
    };
    let lengths = (0..23).map(|i| 1u64 << i);
    let all = lengths.flat_map(|bytes| std::iter::repeat_n(bytes, 9));
    all.map(|bytes| {
        let more = if bytes > net.rendezvous_above {
            2.0 * net.latency
        } else {
            0.0
        };
        let stall = if random() < 0.1 { 20.0 } else { 1.0 };
        let seconds = (net.message(bytes) + more) * (1.0 + noise * random()) * stall;
        Sample { bytes, seconds }
    })
    .collect()
}

#[test]
fn a_fit_finds_the_parameters_it_was_made_of() {
    let net = LogGp {
        latency: 2e-6,
        overhead: 4e-7,
        gap: 9e-7,
        per_byte: 2e-10,
        rendezvous_above: 1 << 14,
    };
    let near = |a: f64, b: f64, part: f64| assert!((a - b).abs() < part * b, "{a} {b}");
    for (noise, part) in [(0.0, 1e-6), (0.04, 0.25)] {
        let ping_pong = samples(&net, noise);
        let of = |seconds| vec![Sample { bytes: 1, seconds }; 5];
        let (send, burst) = (of(net.overhead), of(net.gap));
        let alone = Measured {
            ping_pong: &ping_pong,
            ..Measured::default()
        };
        let all = Measured {
            send: &send,
            burst: &burst,
            ..alone
        };
        for measured in [alone, all] {
            let fit = calibrate(measured).unwrap();
            near(fit.network.per_byte, net.per_byte, 0.05f64.min(part));
            near(fit.network.latency, net.latency, part);
            near(
                2.0 * fit.network.overhead + fit.network.latency,
                2.8e-6,
                0.1,
            );
            assert_eq!(fit.network.rendezvous_above, net.rendezvous_above);
            assert!(fit.error <= noise, "{}", fit.error);
        }
        let fit = calibrate(all).unwrap().network;
        near(fit.overhead, net.overhead, part);
        near(fit.gap, net.gap, 1e-9);
    }
    // Without a jump there is no threshold.
    let flat = LogGp {
        rendezvous_above: u64::MAX,
        ..net
    };
    let ping_pong = samples(&flat, 0.02);
    let measured = Measured {
        ping_pong: &ping_pong,
        ..Measured::default()
    };
    let fit = calibrate(measured).unwrap();
    assert_eq!(fit.network.rendezvous_above, u64::MAX);
    assert!(fit.network.is_valid() && fit.error < 0.03);
}

#[test]
fn what_cannot_be_fitted_is_refused() {
    let of = |list: &[(u64, f64)]| {
        let list: Vec<Sample> = list
            .iter()
            .map(|(bytes, seconds)| Sample {
                bytes: *bytes,
                seconds: *seconds,
            })
            .collect();
        let measured = Measured {
            ping_pong: &list,
            ..Measured::default()
        };
        calibrate(measured).map(|f| f.network.is_valid())
    };
    assert_eq!(of(&[]), Err(NoFit::Few));
    assert_eq!(of(&[(1, 1.0), (1, 1.0), (2, 1.0)]), Err(NoFit::Few));
    assert_eq!(of(&[(1, 1.0), (2, f64::NAN), (3, 1.0)]), Err(NoFit::Time));
    assert_eq!(of(&[(1, 1.0), (2, 0.0), (3, 1.0)]), Err(NoFit::Time));
    // Times that fall with the length.
    assert_eq!(of(&[(1, 3.0), (2, 2.0), (3, 1.0)]), Ok(true));
    assert_eq!(of(&[(0, 1.0), (u64::MAX, 2.0), (5, 1.0)]), Ok(true));
}
