//! What was appended comes back, value by value and event by event.
use headwater_trace::compress::{BEGIN, Kind, Node, Stream};
use headwater_trace::likeness::Slack;
use headwater_trace::recorder::Recorder;
use headwater_trace::times::{Delta, TICK, Times};
use headwater_trace::trace::{Frame, Kind as Meaning, Trace};
use headwater_trace::vector::Vector;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// All events of a row that runs `runs` times, by plain recursion.
fn expand(row: &[Node]) -> Vec<(u32, i64)> {
    struct Cursor<'a> {
        trips: headwater_trace::vector::Iter<'a>,
        parameters: Option<(u32, headwater_trace::vector::Iter<'a>)>,
        body: Vec<Cursor<'a>>,
    }
    fn cursors(row: &[Node]) -> Vec<Cursor<'_>> {
        row.iter()
            .map(|n| match &n.kind {
                Kind::Event(e) => Cursor {
                    trips: n.trips.iter(),
                    parameters: Some((e.signature, e.parameters.iter())),
                    body: vec![],
                },
                Kind::Loop(b) => Cursor {
                    trips: n.trips.iter(),
                    parameters: None,
                    body: cursors(b),
                },
            })
            .collect()
    }
    fn run(row: &mut [Cursor], out: &mut Vec<(u32, i64)>) {
        for c in row {
            for _ in 0..c.trips.next().unwrap() {
                match &mut c.parameters {
                    Some((s, p)) => out.push((*s, p.next().unwrap())),
                    None => run(&mut c.body, out),
                }
            }
        }
    }
    let mut all = cursors(row);
    let mut out = vec![];
    run(&mut all, &mut out);
    out
}

/// All times, by the signature of the event before and that of the event.
fn add_times(row: &[Node], all: &mut BTreeMap<(u32, u32), Times>) {
    for node in row {
        match &node.kind {
            Kind::Event(event) => {
                for (before, times) in &event.times {
                    times.add_to(all.entry((*before, event.signature)).or_default());
                }
            }
            Kind::Loop(body) => add_times(body, all),
        }
    }
}

/// A random program: nested loops, branches by iteration.
#[derive(Clone, Debug)]
enum Piece {
    Call(u32, u8),
    Loop(u8, bool, Vec<Piece>),
    If(u8, u8, Vec<Piece>),
}

fn piece() -> impl Strategy<Value = Piece> {
    let leaf = (0..12_u32, 0..4_u8).prop_map(|(s, p)| Piece::Call(s, p));
    leaf.prop_recursive(4, 24, 5, |inner| prop_oneof![
        3 => (0..12_u32, 0..4_u8).prop_map(|(s, p)| Piece::Call(s, p)),
        2 => (1..6_u8, any::<bool>(), prop::collection::vec(inner.clone(), 1..5)).prop_map(|(n, v, b)| Piece::Loop(n, v, b)),
        1 => (2..4_u8, 0..3_u8, prop::collection::vec(inner, 1..4)).prop_map(|(m, r, b)| Piece::If(m, r, b)),
    ])
}

fn execute(program: &[Piece], i: u64, out: &mut Vec<(u32, i64)>) {
    for p in program {
        match p {
            Piece::Call(s, k) => out.push((
                *s,
                match k {
                    0 => 7,
                    1 => i as i64,
                    2 => (i % 2) as i64,
                    _ => (i * i) as i64 % 1000,
                },
            )),
            Piece::Loop(n, varies, body) => {
                for j in 0..u64::from(*n) + if *varies { i % 3 } else { 0 } {
                    execute(body, j, out)
                }
            }
            Piece::If(m, r, body) => {
                if i % u64::from(*m) == u64::from(*r) {
                    execute(body, i, out)
                }
            }
        }
    }
}

fn nodes(row: &[Node]) -> usize {
    row.iter()
        .map(|n| {
            1 + match &n.kind {
                Kind::Loop(b) => nodes(b),
                _ => 0,
            }
        })
        .sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn a_vector_has_the_values_that_were_appended(values in prop::collection::vec(prop_oneof![Just(0_i64), 0..4_i64, any::<i64>()], 0..200), again in 1..4_usize, at in 0..200_usize) {
        let all: Vec<i64> = std::iter::repeat_n(values.clone(), again).flatten().collect();
        let v: Vector = all.iter().copied().collect();
        prop_assert_eq!(v.iter().collect::<Vec<_>>(), all.clone());
        prop_assert_eq!(v.len(), all.len() as u64);
        prop_assert_eq!(v.sum(), all.iter().fold(0_i64, |a, b| a.wrapping_add(*b)));
        let at = at.min(all.len());
        let mut joined: Vector = all[..at].iter().copied().collect();
        joined.append(&all[at..].iter().copied().collect());
        prop_assert_eq!(&joined, &v);
        let mut popped = v.clone();
        let mut rest = all.clone();
        for _ in 0..5 { prop_assert_eq!(popped.pop(), rest.pop()); }
        popped.push(5); rest.push(5);
        prop_assert_eq!(popped.iter().collect::<Vec<_>>(), rest);
        prop_assert_eq!(v.map(|x| x / 2).iter().collect::<Vec<_>>(), all.iter().map(|x| x / 2).collect::<Vec<_>>());
    }

    #[test]
    fn an_expanded_stream_is_the_stream(program in prop::collection::vec(piece(), 1..6), steps in 1..30_u64, again in 1..6_usize, tick in prop_oneof![Just(1), Just(TICK)]) {
        let mut events = vec![];
        for i in 0..steps { execute(&program, i, &mut events); }
        events.truncate(20_000);
        // A loop that goes on as before is followed.
        let events: Vec<(u32, i64)> = std::iter::repeat_n(events, again).flatten().collect();
        let mut stream = Stream::new();
        let mut times: BTreeMap<(u32, u32), Times> = BTreeMap::new();
        let mut before = BEGIN;
        for (i, (s, p)) in events.iter().enumerate() {
            let i = i as u64;
            let delta = Delta { wall: i * i % 977 * tick, cpu: i % 13 * tick, call: i * tick };
            stream.push(*s, *p as u32, delta);
            times.entry((before, *s)).or_default().add(delta);
            before = *s;
            if i % 97 == 96 { stream.settle(); }
        }
        let row = stream.finish();
        let mut recorded = BTreeMap::new();
        add_times(&row, &mut recorded);
        prop_assert_eq!(recorded, times);
        prop_assert_eq!(expand(&row), events.into_iter().map(|(s, p)| (s, i64::from(p as u32))).collect::<Vec<_>>());
    }
}

#[test]
fn many_steps_take_no_more_nodes() {
    let program = [
        Piece::Call(1, 0),
        Piece::Loop(
            3,
            true,
            vec![Piece::Call(2, 1), Piece::Call(3, 0), Piece::Call(4, 0)],
        ),
        Piece::If(3, 1, vec![Piece::Call(5, 0)]),
    ];
    let size = |steps| {
        let mut events = vec![];
        for i in 0..steps {
            execute(&program, i, &mut events);
        }
        let mut stream = Stream::new();
        for (s, p) in &events {
            stream.push(*s, *p as u32, Delta::default());
        }
        let row = stream.finish();
        (nodes(&row), row.iter().map(Node::memory).sum::<usize>())
    };
    eprintln!("{:?} {:?} {:?}", size(10), size(100), size(1000));
    assert!(size(1000).0 <= size(10).0 + 2 && size(1000).1 < 2 * size(10).1);
}

/// Nodes of the row that events of these signatures become, and how deep its loops are.
fn compressed(signatures: impl Iterator<Item = u32>) -> (usize, usize) {
    let all: Vec<u32> = signatures.collect();
    let mut stream = Stream::new();
    for signature in &all {
        stream.push(*signature, 0, Delta::default());
    }
    let row = stream.finish();
    let events: Vec<u32> = expand(&row).into_iter().map(|(s, _)| s).collect();
    assert_eq!(events, all);
    (nodes(&row), row.iter().map(Node::depth).max().unwrap_or(0))
}

/// `A C` looks like an iteration of its own, behind which `B C` begins nothing.
#[test]
fn branches_that_end_with_the_same_call_are_one_loop() {
    let alternating = |i: u32| if i.is_multiple_of(2) { [0, 2] } else { [1, 2] };
    let (nodes, depth) = compressed((0..5000).flat_map(alternating));
    assert!((nodes, depth) <= (5, 1), "{nodes} nodes, {depth} deep");
    let three = |i: u32| [i % 3, 7, 8];
    let (nodes, depth) = compressed((0..5000).flat_map(three));
    assert!(nodes <= 12 && depth <= 2, "{nodes} nodes, {depth} deep");
}

/// What was a loop that is followed may have become an event.
#[test]
fn what_is_no_loop_any_more_is_not_followed() {
    let inner = |trips| std::iter::once(0).chain([1, 8].repeat(trips));
    let step: Vec<u32> = [5, 7]
        .into_iter()
        .chain(inner(3))
        .chain(inner(4))
        .chain([7])
        .collect();
    for again in 1..8 {
        compressed(step.repeat(again).into_iter());
    }
}

/// Whoever walks through a trace recurses into its loops, on stacks of any size.
#[test]
fn loops_are_not_nested_without_end() {
    let mixed = |i: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u32;
    for kinds in 2..8 {
        for rare in [1, 3, 50] {
            let row = |i: u64| [mixed(i) % kinds, 20 + u32::from(mixed(i) % rare == 0), 30];
            let (_, depth) = compressed((0..5000).flat_map(row));
            assert!(depth <= 80, "{kinds} {rare}: {depth} deep");
        }
    }
}

/// As in MG: a rank takes values along one axis, gives along the next and takes along the third, by the same calls. From
/// the second of them to the next step's first one is no iteration of a loop.
#[test]
fn calls_that_a_step_has_twice_are_no_loop_around_the_step() {
    let takes = [1, 2, 3, 4];
    let step = (10..40)
        .chain(takes)
        .chain([5, 6])
        .chain(takes)
        .chain(50..90);
    let step: Vec<u32> = step.collect();
    let (nodes, depth) = compressed((0..20).flat_map(|_| step.iter().copied()));
    assert!(
        nodes == step.len() + 1 && depth == 1,
        "{nodes} nodes, {depth} deep"
    );
}

/// A search through all earlier ones would be five thousand million comparisons.
#[test]
fn a_hundred_thousand_call_paths_are_numbered_at_once() {
    let mut recorder = Recorder::new(usize::MAX, Slack::default());
    for offset in 0..100_000 {
        let path = [Frame { module: 1, offset }];
        assert_eq!(recorder.signature("MPI_Send", &[], &path) as u64, offset);
    }
}

#[test]
fn events_that_are_only_counted_take_no_memory() {
    let mut recorder = Recorder::new(1 << 20, Slack::default());
    let kinds = [Meaning::Plain, Meaning::List];
    let signature = recorder.signature("MPI_Send", &kinds, &[]);
    let mut at_first = None;
    for i in 0..200_000_i64 {
        let list = recorder.list(&[i, i * i]);
        recorder.event(signature, &[i * i % 1009 * i, list], Delta::default());
        if recorder.lost() > 0 && i % 10_000 == 0 {
            let first = *at_first.get_or_insert(recorder.memory());
            assert!(recorder.memory() == first, "event {i}");
        }
    }
    let lost = recorder.lost();
    let mut trace = Trace::of_rank(0, 1);
    recorder.finish(&mut trace, 0, 0);
    let kept = trace.losses.first().map_or(0, |loss| loss.kept);
    assert!(
        kept > 0 && kept + lost == 200_000,
        "{kept} kept, {lost} lost"
    );
    assert!(trace.lists.len() as u64 <= kept + 4096);
}
