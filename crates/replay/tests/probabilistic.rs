//! Random lossy traces, replayed by a model without MPI in which every send waits for its receive: nothing deadlocks, and
//! every receive has its send.

use headwater_mpi_abi::constants::ABSENT;
use headwater_mpi_abi::{Field, Kind as Meaning, fields, id_of, may_be_histograms};
use headwater_replay::probabilistic::{Agreement, Message, agree, check};
use headwater_trace::likeness::Slack;
use headwater_trace::lossy::Lossy;
use headwater_trace::recorder::Recorder;
use headwater_trace::times::Delta;
use headwater_trace::trace::{Kind, Trace};
use proptest::prelude::*;

const BYTE: i64 = 0x247;

/// A piece of a program; all ranks run the same pieces, with numbers of their own.
#[derive(Clone, Debug)]
enum Piece {
    Barrier,
    /// A collective that does not block, and its wait after some other pieces.
    Posted(Vec<Piece>),
    Send {
        blocks: bool,
        by: i64,
    },
    Recv {
        blocks: bool,
    },
    SendRecv {
        by: i64,
    },
    Loop(u64, Vec<Piece>),
}

fn piece() -> impl Strategy<Value = Piece> {
    let leaf = prop_oneof![
        Just(Piece::Barrier),
        (any::<bool>(), -3..6_i64).prop_map(|(blocks, by)| Piece::Send { blocks, by }),
        any::<bool>().prop_map(|blocks| Piece::Recv { blocks }),
        (-3..6_i64).prop_map(|by| Piece::SendRecv { by }),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        let many = prop::collection::vec(inner, 1..5);
        prop_oneof![
            (2..6_u64, many.clone()).prop_map(|(times, body)| Piece::Loop(times, body)),
            many.prop_map(Piece::Posted),
        ]
    })
}

struct Rank {
    recorder: Recorder,
    me: i64,
    size: i64,
    state: u64,
    requests: i64,
}

impl Rank {
    fn random(&mut self, below: u64) -> u64 {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % below
    }

    fn call(&mut self, name: &str, given: &[(Meaning, i64)]) {
        let id = id_of(name).expect("a function of MPI").0;
        let kind = |f: &Field| match f.kind {
            Meaning::Peer | Meaning::Root | Meaning::StatusSource => Kind::Peer,
            Meaning::Comm => Kind::Comm,
            kind if kind.is_list() => Kind::List,
            _ => Kind::Plain,
        };
        let value = |f: &Field| match f.kind {
            Meaning::Datatype => BYTE,
            Meaning::Comm => 0,
            kind => {
                let given = given.iter().find(|(k, _)| *k == kind);
                given.map_or(ABSENT, |(_, value)| *value)
            }
        };
        let kinds: Vec<Kind> = fields(id).iter().map(kind).collect();
        let values: Vec<i64> = fields(id).iter().map(value).collect();
        let signature = self.recorder.signature(name, &kinds, &[]);
        let (wall, call) = (self.random(5000), self.random(3000));
        let delta = Delta {
            wall,
            cpu: wall,
            call,
        };
        self.recorder.event(signature, &values, delta);
    }

    /// A message call, which blocks or is waited for at once.
    fn message(&mut self, (blocking, other): (&str, &str), blocks: bool, peer: i64) {
        use Meaning::{Count, NewRequest, Peer, Request, Tag};
        let (count, tag) = (self.random(300) as i64, self.random(3) as i64);
        let mut given = vec![(Count, count), (Tag, tag), (Peer, peer)];
        if blocks {
            return self.call(blocking, &given);
        }
        given.push((NewRequest, self.requests));
        self.call(other, &given);
        self.call("MPI_Wait", &[(Request, self.requests)]);
    }

    fn run(&mut self, program: &[Piece]) {
        for piece in program {
            let by = |rank: &mut Self, by: i64| match by {
                -3 => -3,
                by => (rank.me + by + rank.random(2) as i64).rem_euclid(rank.size),
            };
            match piece {
                Piece::Barrier => self.call("MPI_Barrier", &[]),
                Piece::Posted(body) => {
                    let request = self.requests;
                    self.requests += 1;
                    self.call("MPI_Ibarrier", &[(Meaning::NewRequest, request)]);
                    self.run(body);
                    // No request of a message is before it, so the model knows that this is a collective's.
                    self.call("MPI_Comm_rank", &[]);
                    self.call("MPI_Wait", &[(Meaning::Request, request)]);
                }
                Piece::Send { blocks, by: n } => {
                    let peer = by(self, *n);
                    self.message(("MPI_Send", "MPI_Isend"), *blocks, peer);
                }
                Piece::Recv { blocks } => self.message(("MPI_Recv", "MPI_Irecv"), *blocks, -4),
                Piece::SendRecv { by: n } => {
                    let peer = by(self, *n);
                    self.message(("MPI_Sendrecv", ""), true, peer);
                }
                Piece::Loop(times, body) => (0..*times).for_each(|_| self.run(body)),
            }
        }
    }
}

fn traced(program: &[Piece], size: u32, terms: usize, seed: u64) -> Trace {
    let mut all: Option<Trace> = None;
    for rank in 0..size {
        let recorder = Recorder::new(1 << 22, Slack::default()).lossy(Lossy {
            terms,
            columns: may_be_histograms,
        });
        let mut one = Rank {
            recorder,
            me: i64::from(rank),
            size: i64::from(size),
            state: seed ^ u64::from(rank) << 20,
            requests: 0,
        };
        one.call("MPI_Init", &[]);
        one.run(program);
        one.call("MPI_Finalize", &[]);
        let mut trace = Trace::of_rank(rank, size);
        trace.add_communicator(0, rank, rank, size);
        one.recorder.finish(&mut trace, rank, 0);
        match &mut all {
            None => all = Some(trace),
            Some(all) => all.merge(trace),
        }
    }
    all.expect("a rank")
}

/// A rank of the model.
struct Model<'a> {
    agreement: &'a Agreement,
    names: &'a [String],
    /// Messages of its own events.
    sends: Vec<Message>,
    at: usize,
    /// Whether the call of the current event has been entered.
    entered: bool,
    posted: usize,
    meetings: u64,
    /// Collectives that do not block and were not waited for.
    outstanding: Vec<u64>,
}

/// Runs the ranks of a model until nothing moves; returns those that have not ended.
fn stuck(agreements: &[Agreement], names: &[Vec<String>]) -> Vec<usize> {
    let all: Vec<Message> = agreements.iter().flat_map(|a| a.messages.clone()).collect();
    let model = |(rank, (agreement, names))| Model {
        agreement,
        names,
        sends: all.iter().filter(|m| m.from == rank).copied().collect(),
        at: 0,
        entered: false,
        posted: 0,
        meetings: 0,
        outstanding: Vec::new(),
    };
    let both = agreements.iter().zip(names.iter().map(Vec::as_slice));
    let mut ranks: Vec<Model> = (0..).zip(both).map(model).collect();
    let mut moved = true;
    while moved {
        moved = false;
        for rank in 0..ranks.len() {
            while step(&mut ranks, rank) {
                moved = true;
            }
        }
    }
    let is_stuck = |r: &usize| ranks[*r].at < ranks[*r].names.len();
    (0..ranks.len()).filter(is_stuck).collect()
}

/// Advances a rank by what it can do at once; whether it could do anything.
fn step(ranks: &mut [Model], number: usize) -> bool {
    let rank = &mut ranks[number];
    let Some(name) = rank.names.get(rank.at) else {
        return false;
    };
    let name = name.as_str();
    let end = match name {
        "MPI_Finalize" => f64::INFINITY,
        _ => rank.agreement.ends[rank.at],
    };
    let moved = !rank.entered;
    if moved {
        rank.entered = true;
        let due = rank.agreement.messages.iter().take_while(|m| m.time <= end);
        rank.posted = rank.posted.max(due.count());
        if matches!(
            name,
            "MPI_Init" | "MPI_Barrier" | "MPI_Ibarrier" | "MPI_Finalize"
        ) {
            rank.meetings += 1;
        }
        if name == "MPI_Ibarrier" {
            rank.outstanding.push(rank.meetings);
        }
    }
    let before = rank.at.checked_sub(1).and_then(|at| rank.names.get(at));
    let of_collective = name == "MPI_Wait" && before.is_some_and(|b| b == "MPI_Comm_rank");
    let meeting = match name {
        "MPI_Init" | "MPI_Barrier" => rank.meetings,
        _ if of_collective => rank.outstanding.last().copied().unwrap_or(0),
        _ => 0,
    };
    let (at, rank) = (rank.at as u64, &ranks[number]);
    // Every send waits for its receive, also one that need not.
    let sent = rank.sends.iter().filter(|m| m.event == at).all(|m| {
        let to = &ranks[m.to as usize];
        to.agreement.messages[..to.posted].contains(m)
    });
    let met = ranks.iter().all(|r| r.meetings >= meeting);
    let receives = matches!(
        name,
        "MPI_Recv" | "MPI_Sendrecv" | "MPI_Wait" | "MPI_Finalize"
    );
    let has_come = |m: &Message| {
        let from = &ranks[m.from as usize];
        from.at as u64 > m.event || from.at as u64 == m.event && from.entered
    };
    let mut due = rank.agreement.messages.iter().take_while(|m| m.time < end);
    if sent && met && (!receives || due.all(has_come)) {
        let rank = &mut ranks[number];
        if of_collective {
            rank.outstanding.pop();
        }
        rank.at += 1;
        rank.entered = false;
        return true;
    }
    moved
}

fn names(trace: &Trace) -> Vec<Vec<String>> {
    let of = |rank| {
        let mut events = trace.events(rank, 0);
        let mut all = Vec::new();
        while let Some(event) = events.next() {
            all.push(event.signature.function.clone());
        }
        all
    };
    (0..trace.size).map(of).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn random_lossy_traces_do_not_deadlock_and_every_receive_has_its_send(
        program in prop::collection::vec(piece(), 1..6),
        size in 1..6_u32,
        terms in 0..3_usize,
        seed in any::<u64>(),
    ) {
        let trace = traced(&program, size, terms, seed);
        prop_assert_eq!(check(&trace), Ok(()));
        let agreements: Vec<Agreement> = (0..size)
            .map(|rank| agree(&trace, rank, seed).expect("all take part"))
            .collect();
        let names = names(&trace);
        for (rank, (agreement, names)) in (0..).zip(agreements.iter().zip(&names)) {
            prop_assert_eq!(agreement.ends.len(), names.len());
            prop_assert!(agreement.ends.is_sorted_by(|a, b| a < b));
            prop_assert!(agreement.messages.is_sorted_by(|a, b| a.time <= b.time));
            prop_assert!(agreement.messages.iter().all(|m| m.to == rank && m.from < size));
        }
        // Each event sends at most one message, to one rank.
        let all = agreements.iter().flat_map(|a| &a.messages);
        let mut all: Vec<_> = all.map(|m| (m.from, m.event)).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        prop_assert_eq!(all.len(), count);
        prop_assert_eq!(stuck(&agreements, &names), Vec::<usize>::new());
    }
}

#[test]
fn another_seed_draws_others() {
    let send = Piece::Send {
        blocks: true,
        by: 1,
    };
    let trace = traced(&[Piece::Loop(40, vec![send])], 4, 0, 7);
    assert!(trace.is_lossy());
    let drawn = |seed| agree(&trace, 2, seed).expect("all take part").messages;
    assert_eq!(drawn(1), drawn(1));
    assert_ne!(drawn(1), drawn(2));
}

#[test]
fn what_the_clocks_do_not_know_is_refused() {
    let send = Piece::Send {
        blocks: true,
        by: 1,
    };
    let mut trace = traced(&[send], 2, 0, 7);
    let mut recorder = Recorder::new(1 << 20, Slack::default());
    let lock = recorder.signature("MPI_Win_lock", &[Kind::Plain; 4], &[]);
    recorder.event(lock, &[0; 4], Delta::default());
    let mut other = Trace::of_rank(0, 2);
    recorder.finish(&mut other, 0, 0);
    trace.signatures.extend(other.signatures);
    let why = check(&trace).expect_err("a lock").to_string();
    assert!(why.contains("MPI_Win_lock"), "{why}");
}
