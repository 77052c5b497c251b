//! Random programs without deadlock are simulated as the plain reference does it.
//!
//! A program is a row of messages and collectives. Each goes to the ends of its members' steps, so whoever waits in the
//! first of them that is not over has its partners there.

use super::reference::{KINDS, reference};
use crate::network::{LogGp, Network};
use crate::op::{Mode, Op, Request, Step};
use crate::outcome::Done;
use crate::program::{Members, Streams};
use crate::{Options, simulate};
use proptest::prelude::*;

const RANKS: usize = 6;

/// Communicators: all ranks, every second one, and some in another order.
fn comms() -> [Vec<usize>; 3] {
    [(0..RANKS).collect(), vec![0, 2, 4], vec![5, 1, 3, 0]]
}

/// What happens next between ranks.
#[derive(Clone, Debug)]
enum Event {
    Compute(usize, f64),
    Message {
        from: usize,
        to: usize,
        tag: i32,
        bytes: u64,
        mode: Mode,
        sends: bool,
        receives: bool,
        probes: bool,
    },
    Collective {
        comm: usize,
        kind: usize,
        root: usize,
        bytes: Vec<u64>,
        posts: Vec<bool>,
    },
    /// A rank waits for so many of its oldest requests.
    Wait(usize, usize),
}

fn event() -> impl Strategy<Value = Event> {
    let rank = || 0..RANKS;
    let bytes = || prop_oneof![0u64..100, 1000u64..100_000];
    let modes = [Mode::Standard, Mode::Eager, Mode::Synchronous, Mode::Local];
    let message = (
        (rank(), rank(), 0..2i32, bytes()),
        prop::sample::select(modes.to_vec()),
        any::<[bool; 3]>(),
    );
    let message = message.prop_map(
        |((from, to, tag, bytes), mode, [sends, receives, probes])| {
            Event::Message {
                from,
                to,
                tag,
                bytes,
                mode,
                // To itself, a rank cannot send but with a request.
                sends: sends || from == to,
                receives,
                probes: probes && !sends && from != to,
            }
        },
    );
    let each = |of| prop::collection::vec(of, RANKS);
    let collective = (
        (0..3usize, 0..KINDS.len(), rank()),
        each(bytes().boxed()),
        prop::collection::vec(any::<bool>(), RANKS),
    );
    let collective = collective.prop_map(|((comm, kind, root), bytes, posts)| Event::Collective {
        comm,
        kind,
        root,
        bytes,
        posts,
    });
    prop_oneof![
        4 => (rank(), 0..1000u32).prop_map(|(r, t)| Event::Compute(r, f64::from(t) * 1e-6)),
        5 => message,
        2 => collective,
        2 => (rank(), 1..4usize).prop_map(|(r, n)| Event::Wait(r, n)),
    ]
}

/// The steps of each rank.
fn steps(events: &[Event]) -> Vec<Vec<Step>> {
    let comms = comms();
    let mut all: Vec<Vec<Step>> = vec![Vec::new(); RANKS];
    let mut open: Vec<Vec<Request>> = vec![Vec::new(); RANKS];
    let new = |open: &mut Vec<Request>, nonblocking: bool| {
        let free = (0..).map(Request::new).find(|r| !open.contains(r));
        let request = free.filter(|_| nonblocking);
        open.extend(request);
        request
    };
    for (place, event) in (1..).zip(events) {
        let mut push = |rank: usize, op| all[rank].push(Step::new(place, op));
        match event {
            Event::Compute(rank, seconds) => push(*rank, Op::Compute { seconds: *seconds }),
            Event::Message {
                from,
                to,
                tag,
                bytes,
                mode,
                sends,
                receives,
                probes,
            } => {
                let (comm, tag) = (*tag as u32, *tag);
                let request = new(&mut open[*from], *sends);
                let send = Op::Send {
                    to: *to as u32,
                    tag,
                    comm,
                    bytes: *bytes,
                    mode: *mode,
                    request,
                };
                push(*from, send);
                let sender = *from as u32;
                if *probes {
                    let from = sender;
                    push(*to, Op::Probe { from, tag, comm });
                }
                let request = new(&mut open[*to], *receives);
                let from = sender;
                let receive = Op::Recv {
                    from,
                    tag,
                    comm,
                    request,
                };
                push(*to, receive);
            }
            Event::Collective {
                comm,
                kind,
                root,
                bytes,
                posts,
            } => {
                let members = &comms[*comm];
                let root = members[root % members.len()] as u32;
                for m in members {
                    let collective = Op::Collective {
                        comm: *comm as u32,
                        kind: KINDS[*kind],
                        root,
                        bytes: bytes[*m],
                        request: new(&mut open[*m], posts[*m]),
                        waits: true,
                    };
                    push(*m, collective);
                }
            }
            Event::Wait(rank, count) => {
                let count = (*count).min(open[*rank].len());
                for request in open[*rank].drain(..count) {
                    push(*rank, Op::Wait { request });
                }
            }
        }
    }
    for (rank, open) in open.iter_mut().enumerate() {
        let waits = open.drain(..).map(|request| Op::Wait { request });
        all[rank].extend(waits.map(|op| Step::new(0, op)));
    }
    all
}

fn network() -> impl Strategy<Value = Network> {
    let time = || prop_oneof![Just(0.0), 1e-7..1e-4f64];
    let fitted = (time(), time(), time(), 0.0..1e-8f64, 0..50_000u64);
    let fitted = fitted.prop_map(|(latency, overhead, gap, per_byte, rendezvous_above)| {
        Network::LogGp(LogGp {
            latency,
            overhead,
            gap,
            per_byte,
            rendezvous_above,
        })
    });
    prop_oneof![1 => Just(Network::Ideal), 3 => fitted]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_engine_agrees_with_the_reference(
        events in prop::collection::vec(event(), 0..80),
        network in network(),
    ) {
        let steps = steps(&events);
        let comms = comms();
        let went = reference(&steps, &comms, network.parameters());
        for (went, steps) in went.iter().zip(&steps) {
            prop_assert_eq!(went.len(), steps.len(), "the reference has no deadlock");
        }
        let list = |m: &[usize]| Members::List(m.iter().map(|r| *r as u32).collect());
        let program = Streams::new(steps.iter().map(|s| s.iter().copied()));
        let every_second = Members::Range { first: 0, stride: 2, count: 3 };
        let program = program.with(every_second).with(list(&comms[2]));
        let mut done: Vec<Vec<Done>> = vec![Vec::new(); RANKS];
        let see = |d: &Done| done[d.stream as usize].push(*d);
        let outcome = simulate(program, &network, Options::default(), see);
        let outcome = outcome.expect("no deadlock");
        for (done, went) in done.iter().zip(&went) {
            prop_assert_eq!(done.len(), went.len());
            for (d, w) in done.iter().zip(went) {
                let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
                let same = near(d.enter, w.enter) && near(d.leave, w.leave) && near(d.wait, w.wait);
                prop_assert!(same, "{:?} {:?}", d, w);
                prop_assert!(d.wait == 0.0 || d.waited_for.is_some());
                prop_assert!(d.wait <= d.leave - d.enter + 1e-15);
            }
        }
        let path: f64 = outcome.path.iter().map(|p| p.seconds()).sum();
        prop_assert!((path - outcome.seconds).abs() < 1e-12, "{path} {}", outcome.seconds);
        for s in &outcome.streams {
            prop_assert!((s.compute + s.wait + s.transfer - s.end).abs() < 1e-12);
        }
        prop_assert_eq!(outcome.unreceived, 0);
    }
}
