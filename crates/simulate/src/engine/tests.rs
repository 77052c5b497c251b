//! The order in which streams are run has no effect, and memory is needed only for what is outstanding.

mod random;
mod reference;

use super::*;
use crate::op::{Mode, Request};
use crate::program::Streams;

/// Takes one of the streams that can run.
type Pick = Box<dyn FnMut(&mut VecDeque<u32>) -> Option<u32>>;

/// A program with messages of both kinds, probes and collectives of each kind; eight ranks.
fn program() -> Streams<std::vec::IntoIter<Step>> {
    const RANKS: u32 = 8;
    let of_rank = |rank: u32| {
        let mut steps = Vec::new();
        for (turn, kind) in (0..).zip(reference::KINDS.iter().cycle().take(40)) {
            let work = |n: u32| f64::from((rank * 31 + turn * 17 + n * 7) % 23) * 1e-5;
            let compute = |n| Step::new(n, Op::Compute { seconds: work(n) });
            let (right, left) = ((rank + 1) % RANKS, (rank + RANKS - 1) % RANKS);
            let (comm, tag) = (0, turn as i32 % 3);
            let receive = |request| Op::Recv {
                from: left,
                tag,
                comm,
                request,
            };
            let mode = [Mode::Standard, Mode::Synchronous][turn as usize % 2];
            let send = Op::Send {
                to: right,
                tag,
                comm,
                bytes: u64::from(turn) * 100,
                mode,
                request: Some(Request::new(1)),
            };
            let wait = |n| Op::Wait {
                request: Request::new(n),
            };
            steps.push(compute(0));
            if turn % 3 == 0 {
                let probe = Op::Probe {
                    from: left,
                    tag,
                    comm,
                };
                steps.extend([Step::new(1, send), compute(2), Step::new(3, probe)]);
                steps.extend([Step::part(4, receive(None)), Step::new(4, wait(1))]);
            } else {
                steps.push(Step::new(5, receive(Some(Request::new(0)))));
                steps.extend([compute(6), Step::new(7, send), compute(8)]);
                steps.extend([Step::part(9, wait(0)), Step::new(9, wait(1))]);
            }
            let collective = Op::Collective {
                comm,
                kind: *kind,
                root: turn % RANKS,
                bytes: u64::from(rank + turn),
                request: (turn % 4 == 0).then_some(Request::new(2)),
                waits: turn % 7 > 0,
            };
            steps.extend([compute(10), Step::new(11, collective), compute(12)]);
            steps.extend((turn % 4 == 0).then_some(Step::new(13, wait(2))));
        }
        steps.into_iter()
    };
    Streams::new((0..RANKS).map(of_rank))
}

/// All that ended, by stream, with the outcome; streams are picked by `pick`.
fn all(
    network: &Network,
    pick: impl FnMut(&mut VecDeque<u32>) -> Option<u32>,
) -> (Vec<Done>, Outcome) {
    let mut done = Vec::new();
    let see = |d: &Done| done.push(*d);
    let engine = Engine::new(program(), network, Options::default(), see).expect("a program");
    let outcome = engine.run(pick).expect("no deadlock");
    done.sort_by_key(|d| d.stream);
    (done, outcome)
}

#[test]
fn any_order_of_streams_gives_the_same() {
    let fitted = LogGp {
        latency: 1e-5,
        overhead: 2e-6,
        gap: 3e-6,
        per_byte: 1e-8,
        rendezvous_above: 1000,
    };
    for network in [Network::Ideal, Network::LogGp(fitted)] {
        let (done, outcome) = all(&network, VecDeque::pop_front);
        let sum: f64 = outcome.path.iter().map(OnPath::seconds).sum();
        assert!((sum - outcome.seconds).abs() < 1e-12 * f64::from(1000));
        for s in &outcome.streams {
            let parts = s.compute + s.wait + s.transfer;
            assert!((parts - s.end).abs() < 1e-12, "{parts} {}", s.end);
        }
        let mut seed = 1u32;
        let random = move |ready: &mut VecDeque<u32>| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let at = (seed >> 8) as usize % ready.len().max(1);
            ready.remove(at)
        };
        let orders: [Pick; 2] = [Box::new(VecDeque::pop_back), Box::new(random)];
        for pick in orders {
            let (other, its) = all(&network, pick);
            assert_eq!(other, done);
            assert_eq!(its.streams, outcome.streams);
            assert_eq!(its.path.len(), outcome.path.len());
            for (a, b) in its.path.iter().zip(&outcome.path) {
                assert_eq!(a.place, b.place);
                assert!((a.seconds() - b.seconds()).abs() < 1e-12, "{a:?} {b:?}");
            }
        }
    }
}

#[test]
fn who_is_far_ahead_lets_others_receive() {
    let send = |to| Op::Send {
        to,
        tag: 0,
        comm: 0,
        bytes: 1,
        mode: Mode::Standard,
        request: None,
    };
    let receive = |from| Op::Recv {
        from,
        tag: 0,
        comm: 0,
        request: None,
    };
    const MANY: u32 = 50_000;
    let of_rank = |rank: u32| {
        (0..MANY).flat_map(move |_| {
            let compute = Op::Compute { seconds: 1e-6 };
            let op = if rank == 3 { receive(0) } else { send(3) };
            let others = [receive(1), receive(2)];
            let more = others.into_iter().filter(move |_| rank == 3);
            [compute, op]
                .into_iter()
                .chain(more)
                .map(|op| Step::new(0, op))
        })
    };
    let program = Streams::new((0..4).map(of_rank));
    let mut engine =
        Engine::new(program, &Network::Ideal, Options::default(), ()).expect("a program");
    let mut most = 0;
    while let Some(s) = engine
        .ready
        .pop_front()
        .or_else(|| engine.far.pop().map(|f| f.0.1))
    {
        engine.go(s).expect("no error");
        most = most.max(engine.channels.rest().count());
    }
    assert!(engine.streams.iter().all(|s| s.ended));
    assert!(most < 10 * AHEAD as usize, "{most} messages at once");
    assert!(most > 0 && engine.channels.rest().count() == 0);
}
