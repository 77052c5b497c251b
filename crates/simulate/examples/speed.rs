//! How many events a second are simulated, on one core: `cargo run --release -p headwater-simulate --example speed`.
//!
//! Each figure is that of the fastest of five runs. Computations between calls are simulated too, but not counted.

use headwater_simulate::{
    Kind, LogGp, Members, Mode, Network, Op, Options, Outcome, Program, Request, Step, simulate,
};
use std::time::Instant;

/// Ranks of a grid of 8 times 8.
const RANKS: u32 = 64;

/// What a rank does in one turn.
type Steps = fn(u32) -> Vec<Step>;

/// A stream that repeats the steps of one turn.
struct Turns {
    steps: Vec<Vec<Step>>,
    at: Vec<(usize, u32)>,
    turns: u32,
}

impl Program for Turns {
    fn ranks(&self) -> Vec<u32> {
        (0..RANKS).collect()
    }

    #[inline]
    fn next(&mut self, stream: u32) -> Option<Step> {
        let (at, turn) = &mut self.at[stream as usize];
        let steps = &self.steps[stream as usize];
        if *at == steps.len() {
            (*at, *turn) = (0, *turn + 1);
        }
        if *turn == self.turns {
            return None;
        }
        *at += 1;
        Some(steps[*at - 1])
    }

    fn members(&self, _: u32) -> Option<Members> {
        Some(Members::All)
    }
}

/// A step's computation, which differs between ranks.
fn compute(rank: u32) -> Step {
    let seconds = 1e-4 * f64::from(1 + rank * 7 % 13);
    Step::new(0, Op::Compute { seconds })
}

/// Four neighbours: each receive, send and wait is a call.
fn halo(rank: u32) -> Vec<Step> {
    let (x, y) = (rank % 8, rank / 8);
    let at = |x: u32, y: u32| x % 8 + 8 * (y % 8);
    let neighbours = [at(x + 7, y), at(x + 1, y), at(x, y + 7), at(x, y + 1)];
    let mut steps = vec![compute(rank)];
    for (i, from) in (0..).zip(neighbours) {
        let (tag, request) = (i as i32, Some(Request::new(i)));
        let comm = 0;
        steps.push(Step::new(
            1,
            Op::Recv {
                from,
                tag,
                comm,
                request,
            },
        ));
    }
    for (i, to) in (0..).zip(neighbours) {
        let send = Op::Send {
            to,
            tag: (i ^ 1) as i32,
            comm: 0,
            bytes: 4096,
            mode: Mode::Standard,
            request: Some(Request::new(4 + i)),
        };
        steps.push(Step::new(2, send));
    }
    let wait = |i| Op::Wait {
        request: Request::new(i),
    };
    steps.extend((0..8).map(|i| Step::new(3, wait(i))));
    steps
}

/// One reduction.
fn allreduce(rank: u32) -> Vec<Step> {
    let reduce = Op::Collective {
        comm: 0,
        kind: Kind::AllReduce,
        root: 0,
        bytes: 8,
        request: None,
        waits: true,
    };
    vec![compute(rank), Step::new(1, reduce)]
}

/// Blocking messages around a ring, and back.
fn ring(rank: u32) -> Vec<Step> {
    let (right, left) = ((rank + 1) % RANKS, (rank + RANKS - 1) % RANKS);
    let send = |to, tag| Op::Send {
        to,
        tag,
        comm: 0,
        bytes: 64,
        mode: Mode::Standard,
        request: None,
    };
    let receive = |from, tag| Op::Recv {
        from,
        tag,
        comm: 0,
        request: None,
    };
    vec![
        compute(rank),
        Step::new(1, send(right, 0)),
        Step::new(2, receive(left, 0)),
        Step::new(3, send(left, 1)),
        Step::new(4, receive(right, 1)),
    ]
}

fn main() {
    let fitted = Network::LogGp(LogGp {
        latency: 1e-6,
        overhead: 5e-7,
        gap: 2e-7,
        per_byte: 1e-10,
        rendezvous_above: 2048,
    });
    let programs: [(&str, Steps, u32); 3] = [
        ("halo", halo, 5_000),
        ("allreduce", allreduce, 50_000),
        ("ring", ring, 20_000),
    ];
    println!("million events/s at {RANKS} ranks    without path    with path");
    for (name, steps, turns) in programs {
        for (net, network) in [("ideal", Network::Ideal), ("LogGP", fitted)] {
            let rate = |critical_path| {
                let once = || {
                    let program = Turns {
                        steps: (0..RANKS).map(steps).collect(),
                        at: vec![(0, 0); RANKS as usize],
                        turns,
                    };
                    let begin = Instant::now();
                    let outcome: Outcome =
                        simulate(program, &network, Options { critical_path }, ())
                            .expect("no deadlock");
                    let calls: u64 = outcome.streams.iter().map(|s| s.calls).sum();
                    calls as f64 / begin.elapsed().as_secs_f64() * 1e-6
                };
                (0..5).map(|_| once()).fold(0.0, f64::max)
            };
            println!(
                "{name:>12} {net:>8} {:>24.1} {:>12.1}",
                rate(false),
                rate(true)
            );
        }
    }
}
