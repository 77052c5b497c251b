//! Small files that claim very much, or that contradict themselves: refused when they are read, at once.

use headwater_trace::elastic::{Elastic, Form, Part};
use headwater_trace::file::Error;
use headwater_trace::likeness::Slack;
use headwater_trace::ranks::Ranks;
use headwater_trace::recorder::Recorder;
use headwater_trace::times::Delta;
use headwater_trace::trace::{Body, Event, Kind, Node, Trace};
use headwater_trace::vector::{Term, Vector};
use headwater_trace::work::{Place, Units};
use std::time::{Duration, Instant};

const MANY: u64 = 1 << 47;

/// A loop of ten trips with one call, of one of two ranks.
fn trace() -> Trace {
    let mut recorder = Recorder::new(1 << 20, Slack::default());
    for peer in [1, 0].into_iter().cycle().take(20) {
        let kinds = [Kind::Peer, Kind::Comm];
        let send = recorder.signature("MPI_Send", &kinds, &[]);
        recorder.event(send, &[peer, 0], Delta::default());
        let wait = recorder.signature("MPI_Wait", &[], &[]);
        recorder.event(wait, &[], Delta::default());
    }
    let mut trace = Trace::of_rank(0, 2);
    trace.add_communicator(0, 0, 0, 2);
    recorder.finish(&mut trace, 0, 0);
    trace
}

fn refused(trace: &Trace) {
    let began = Instant::now();
    for bytes in [trace.to_bytes(), trace.to_packed_bytes()] {
        assert_eq!(Trace::from_bytes(&bytes), Err(Error::Malformed));
    }
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
}

fn one(values: Vector) -> Elastic {
    Elastic::of(values, Ranks::one(0))
}

fn first(trace: &mut Trace) -> &mut Node {
    &mut trace.streams.get_mut(&0).unwrap()[0]
}

fn body(node: &mut Node) -> &mut Vec<Node> {
    match &mut node.body {
        Body::Loop(row) => row,
        Body::Event(_) => panic!("it is a loop"),
    }
}

fn event(node: &mut Node) -> &mut Event {
    match &mut node.body {
        Body::Event(event) => event,
        Body::Loop(_) => panic!("it is an event"),
    }
}

#[test]
fn loops_without_an_event_are_refused() {
    let mut empty = trace();
    first(&mut empty).trips = one(Vector::repeated(MANY as i64, 1));
    for node in body(first(&mut empty)) {
        let zeros = Vector::repeated(0, MANY);
        node.trips = one(zeros);
        event(node)
            .values
            .iter_mut()
            .for_each(|column| *column = one(Vector::default()));
    }
    refused(&empty);
    // One event at the end makes it no better.
    for node in body(first(&mut empty)) {
        let mut trips = Vector::repeated(0, MANY - 1);
        trips.push(1);
        node.trips = one(trips);
        event(node)
            .values
            .iter_mut()
            .for_each(|column| *column = one(Vector::repeated(0, 1)));
    }
    refused(&empty);
    let mut hollow = trace();
    first(&mut hollow).trips = one(Vector::repeated(MANY as i64, 1));
    body(first(&mut hollow)).clear();
    refused(&hollow);
}

#[test]
fn what_has_not_as_many_values_as_executions_is_refused() {
    let whole = trace();
    assert_eq!(Trace::from_bytes(&whole.to_bytes()), Ok(whole.clone()));
    let mut short = whole.clone();
    event(&mut body(first(&mut short))[0]).values[0] = one(Vector::repeated(1, 19));
    refused(&short);
    let mut long = whole.clone();
    body(first(&mut long))[1].trips = one(Vector::repeated(1, 21));
    refused(&long);
    let mut nobody = whole.clone();
    event(&mut body(first(&mut nobody))[0]).values[0]
        .parts
        .clear();
    refused(&nobody);
    let mut other = whole.clone();
    other.size = 9;
    first(&mut other).trips = Elastic::of(Vector::repeated(20, 1), Ranks::one(7));
    refused(&other);
    let mut twice = whole;
    let trips = &mut first(&mut twice).trips.parts;
    trips.push(trips[0].clone());
    refused(&twice);
}

#[test]
fn what_cannot_be_computed_is_refused() {
    let mut unknown = trace();
    unknown.signatures.pop_first();
    refused(&unknown);
    let mut narrow = trace();
    event(&mut body(first(&mut narrow))[0]).values.pop();
    refused(&narrow);
    // Each further column costs the reader a look at those before it.
    let mut wide = trace();
    let values = &mut event(&mut body(first(&mut wide))[0]).values;
    values.resize(1000, one(Vector::repeated(1, 20)));
    refused(&wide);
    let mut nowhere = trace();
    event(&mut body(first(&mut nowhere))[0]).values[0].parts[0].form = Form::Relative;
    assert!(Trace::from_bytes(&nowhere.to_bytes()).is_ok());
    nowhere.add_communicator(0, 1, 1, 2);
    refused(&nowhere);
    nowhere.communicators.clear();
    refused(&nowhere);
}

#[test]
fn work_of_no_rank_of_another_trace_or_of_one_twice_is_refused() {
    let place = Place {
        thread: 0,
        signature: *trace().signatures.keys().next().unwrap(),
        before: 0,
    };
    let with = |units: Units| {
        let mut trace = trace();
        trace.work.places = [(place, units)].into();
        trace
    };
    refused(&with(vec![(4, Ranks::default())]));
    refused(&with(vec![(4, Ranks::one(0)), (9, Ranks::one(0))]));
    refused(&with(vec![(4, Ranks::one(1))]));
    let whole = with(vec![(4, Ranks::one(0))]);
    assert_eq!(Trace::from_bytes(&whole.to_bytes()), Ok(whole));
}

#[test]
fn a_stride_that_no_rank_has_is_not_written_out_to_merge_it() {
    let began = Instant::now();
    let of = |rank: u32| {
        let mut one = trace();
        one.streams.clear();
        one.ranks = Ranks::one(rank);
        one.size = 2;
        one.communicators.clear();
        one.add_communicator(0, rank, rank, 2);
        let stride = Term::Run {
            first: i64::from(rank),
            stride: -3,
            count: MANY,
        };
        let elastic = |values: Vector| Elastic {
            parts: vec![Part {
                values,
                form: Form::Absolute,
                ranks: Ranks::one(rank),
            }],
        };
        let signature = one.signatures.iter().find(|(_, s)| s.kinds.len() == 2);
        let event = Event {
            signature: *signature.unwrap().0,
            values: vec![
                elastic(Vector::from_terms(vec![stride]).unwrap()),
                elastic(Vector::repeated(0, MANY)),
            ],
            times: Default::default(),
        };
        let node = Node {
            trips: elastic(Vector::repeated(MANY as i64, 1)),
            body: Body::Event(Box::new(event)),
        };
        one.streams.insert(0, vec![node]);
        Trace::from_bytes(&one.to_bytes()).unwrap()
    };
    let mut both = of(0);
    both.merge(of(1));
    assert_eq!(both.events(1, 0).next().unwrap().values, [1, 0]);
    assert!(began.elapsed() < Duration::from_secs(5));
}
