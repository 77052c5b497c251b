//! Merged traces of random programs of several ranks have each rank's events.
use headwater_trace::likeness::Slack;
use headwater_trace::recorder::Recorder;
use headwater_trace::times::Delta;
use headwater_trace::trace::{Frame, Kind, Trace};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Piece {
    Call(u32, u8),
    Loop(u8, u8, Vec<Piece>),
    If(u8, u8, bool, Vec<Piece>),
}

fn piece() -> impl Strategy<Value = Piece> {
    let leaf = (0..10_u32, 0..7_u8).prop_map(|(s, p)| Piece::Call(s, p));
    leaf.prop_recursive(4, 24, 5, |inner| prop_oneof![
        3 => (0..10_u32, 0..7_u8).prop_map(|(s, p)| Piece::Call(s, p)),
        2 => (1..5_u8, 0..4_u8, prop::collection::vec(inner.clone(), 1..5)).prop_map(|(n, v, b)| Piece::Loop(n, v, b)),
        1 => (2..4_u8, 0..3_u8, any::<bool>(), prop::collection::vec(inner, 1..4)).prop_map(|(m, r, k, b)| Piece::If(m, r, k, b)),
    ])
}

fn execute(program: &[Piece], i: i64, rank: i64, size: i64, out: &mut Vec<(u32, i64)>) {
    for p in program {
        match p {
            Piece::Call(s, k) => out.push((
                *s,
                match k {
                    0 => 0,
                    1 => (rank + 1) % size,
                    2 => rank ^ 1,
                    3 => i % size,
                    4 => (rank + i) % size,
                    5 => -1,
                    _ => (rank * i) % 5,
                },
            )),
            Piece::Loop(n, varies, body) => {
                let more = match varies {
                    0 => 0,
                    1 => i % 3,
                    2 => rank % 2,
                    _ => (rank + i) % 3,
                };
                for j in 0..i64::from(*n) + more {
                    execute(body, j, rank, size, out)
                }
            }
            Piece::If(m, r, by_rank, body) => {
                if (if *by_rank { rank } else { i }) % i64::from(*m) == i64::from(*r) {
                    execute(body, i, rank, size, out)
                }
            }
        }
    }
}

fn trace_of(events: &[(u32, i64)], rank: u32, size: u32) -> Trace {
    let mut recorder = Recorder::new(usize::MAX, Slack::default());
    for (s, p) in events {
        let n = recorder.signature(
            &format!("MPI_F{s}"),
            &[Kind::Peer, Kind::Comm, Kind::Plain],
            &[Frame {
                module: 1,
                offset: u64::from(*s),
            }],
        );
        recorder.event(
            n,
            &[*p, 0, 8],
            Delta {
                wall: 100,
                cpu: 100,
                call: 5,
            },
        );
    }
    let mut trace = Trace::of_rank(rank, size);
    trace.add_communicator(0, rank, rank, size);
    recorder.finish(&mut trace, rank, 0);
    trace
}

fn read(trace: &Trace, rank: u32) -> Vec<(u32, i64)> {
    let mut events = trace.events(rank, 0);
    let mut out = vec![];
    while let Some(e) = events.next() {
        assert_eq!(e.values[1..], [0, 8]);
        out.push((e.signature.frames[0].offset as u32, e.values[0]));
    }
    out
}

fn merged(all: &[Vec<(u32, i64)>]) -> Trace {
    let size = all.len() as u32;
    let mut traces: Vec<Trace> = all
        .iter()
        .enumerate()
        .map(|(r, e)| trace_of(e, r as u32, size))
        .collect();
    while traces.len() > 1 {
        let mut next = vec![];
        let mut pairs = traces.into_iter();
        while let Some(mut a) = pairs.next() {
            if let Some(b) = pairs.next() {
                a.merge(b);
            }
            next.push(a);
        }
        traces = next;
    }
    traces.pop().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn a_merged_trace_has_the_events_of_every_rank(program in prop::collection::vec(piece(), 1..5), steps in 1..12_i64, size in 1..9_u32) {
        let all: Vec<Vec<(u32, i64)>> = (0..size).map(|rank| {
            let mut events = vec![];
            for i in 0..steps { execute(&program, i, i64::from(rank), i64::from(size), &mut events); }
            events.truncate(5000);
            events
        }).collect();
        let trace = merged(&all);
        let (plain, packed) = (trace.to_bytes(), trace.to_packed_bytes());
        prop_assert_eq!(Trace::from_bytes(&plain), Ok(trace.clone()));
        prop_assert_eq!(Trace::from_bytes(&packed), Ok(trace.clone()));
        for rank in 0..size { prop_assert_eq!(read(&trace, rank), all[rank as usize].clone()); }
    }

    #[test]
    fn a_set_of_ranks_has_what_was_united(ranks in prop::collection::btree_set(0..64_u32, 1..40), shuffled in any::<u64>()) {
        use headwater_trace::ranks::Ranks;
        let mut order: Vec<u32> = ranks.iter().copied().collect();
        order.sort_by_key(|r| (u64::from(*r) + 1).wrapping_mul(shuffled | 1));
        let mut set = Ranks::default();
        for r in &order { set.unite(&Ranks::one(*r)); }
        prop_assert_eq!(set.to_vec(), ranks.iter().copied().collect::<Vec<_>>());
        for r in 0..70 { prop_assert_eq!(set.contains(r), ranks.contains(&r)); }
        prop_assert!(Ranks::from_blocks(set.blocks().to_vec(), 64).is_some());
    }
}

#[test]
fn a_stencil_has_as_many_nodes_on_many_ranks() {
    let nodes = |size: u32, side: i64| {
        let all: Vec<Vec<(u32, i64)>> = (0..i64::from(size))
            .map(|r| {
                (0..50)
                    .flat_map(|_| {
                        let (x, y) = (r % side, r / side);
                        let mut e = vec![];
                        if x > 0 {
                            e.push((1, r - 1));
                        }
                        if x < side - 1 {
                            e.push((2, r + 1));
                        }
                        if y > 0 {
                            e.push((3, r - side));
                        }
                        if y < side - 1 {
                            e.push((4, r + side));
                        }
                        e.push((5, 0));
                        e
                    })
                    .collect()
            })
            .collect();
        let t = merged(&all);
        t.streams[&0].iter().map(|n| n.nodes()).sum::<usize>()
    };
    assert!(nodes(64, 8) <= nodes(16, 4) + 1);
}
