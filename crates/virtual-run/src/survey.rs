//! The first pass over a trace: which ranks communicators have, which messages wildcards received, how often each
//! computation ran.

use crate::comms::Comms;
use crate::handles::Lists;
use crate::places::{Place, Places};
use crate::ranks::Rank;
use crate::shape::{Shape, value};
use headwater_mpi_abi::constants::{ANY_SOURCE, ANY_TAG};
use headwater_mpi_abi::{Class, Kind, Mode};
use headwater_trace::outliers::Upcoming;
use headwater_trace::times::{BUCKETS, bucket};
use headwater_trace::trace::{BEGIN, Trace};
use headwater_trace::work::{self, Expected};
use rustc_hash::{FxHashMap, FxHashSet};

/// Computation between two calls of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// Its place.
    pub place: u32,
    /// How long the rank takes, by the mean of all ranks; outliers excepted.
    pub factor: f64,
    /// By what the rank's outliers there are multiplied, so that all executions take as long as they did: 1, unless
    /// rounding has made them longer than that.
    pub of_outliers: f64,
}

/// What is found out.
#[derive(Debug, Default)]
pub struct Survey {
    pub comms: Comms,
    /// By rank: identities of communicators by number.
    pub numbers: Vec<FxHashMap<i64, u32>>,
    /// By stream and number of the receive that was posted: source and tag of its message. `None`: it had no message.
    pub resolved: FxHashMap<(u32, u64), Option<(i64, i64)>>,
    pub segments: FxHashMap<(u32, u64, u64), Segment>,
    /// By thread and the signatures around a computation: how many outliers of all ranks are in each bucket.
    pub outliers: FxHashMap<(u32, u64, u64), [u32; BUCKETS]>,
    pub places: Places,
    /// Functions of calls that all ranks make.
    pub init: u32,
    pub finalize: u32,
}

/// Which requests a call has completed, and the position of each one's status.
pub fn completed(lists: &Lists, shape: &Shape, values: &[i64], out: &mut Vec<(i64, usize)>) {
    out.clear();
    if shape.flag.is_some() && value(values, shape.flag) != 1 {
        return;
    }
    let Some(requests) = shape.requests else {
        out.push((value(values, shape.request), 0));
        return;
    };
    let Some(all) = lists.get(value(values, Some(requests))) else {
        return;
    };
    let at = |index: i64| {
        usize::try_from(index)
            .ok()
            .and_then(|i| all.get(i))
            .copied()
    };
    if let Some(index) = shape.at(Kind::Index) {
        out.extend(at(value(values, Some(index))).map(|r| (r, 0)));
    } else if let Some(indices) = shape.at(Kind::Indices) {
        let indices = lists.get(value(values, Some(indices))).unwrap_or(&[]);
        out.extend(
            (0..)
                .zip(indices)
                .filter_map(|(i, index)| Some((at(*index)?, i))),
        );
    } else {
        out.extend(all.iter().copied().zip(0..));
    }
}

/// Source and tag of the status at a position.
fn status(lists: &Lists, shape: &Shape, values: &[i64], at: usize) -> (i64, i64) {
    let of = |kind: Kind, field: Option<usize>| {
        let value = value(values, field);
        match shape.at(kind) {
            Some(_) => lists
                .get(value)
                .and_then(|l| l.get(at))
                .copied()
                .unwrap_or(-8),
            None => value,
        }
    };
    (
        of(Kind::StatusSources, shape.status_source),
        of(Kind::StatusTags, shape.status_tag),
    )
}

/// The request that a value means, whichever thread names it.
#[inline]
pub fn request_key(thread: u32, value: i64) -> Option<i64> {
    match value {
        n if n < 0 => None,
        n if n >> 32 == 0 => Some(i64::from(thread) << 32 | n),
        n => Some(((n >> 32) - 1) << 32 | (n & 0xffff_ffff)),
    }
}

impl Survey {
    /// Goes through all streams, sorted by rank.
    pub fn of(
        trace: &Trace,
        lists: &Lists,
        shapes: &FxHashMap<u64, Shape>,
        streams: &[(u32, u32)],
    ) -> Self {
        let mut this = Self {
            comms: Comms::new(trace.size, |rank| trace.ranks.contains(rank)),
            numbers: vec![FxHashMap::default(); trace.size as usize],
            ..Self::default()
        };
        for of_rank in streams.chunk_by(|a, b| a.0 == b.0) {
            let Some((number, _)) = of_rank.first() else {
                continue;
            };
            let mut rank = Rank::new(*number);
            let mut requests = Requests::default();
            for (_, thread) in of_rank {
                let stream = streams.iter().position(|s| s == &(*number, *thread));
                let stream = stream.unwrap_or(0) as u32;
                this.stream(
                    trace,
                    lists,
                    shapes,
                    stream,
                    *thread,
                    &mut rank,
                    &mut requests,
                );
            }
            if let Some(numbers) = this.numbers.get_mut(*number as usize) {
                *numbers = rank.comms;
            }
        }
        this.comms.join_groups();
        this
    }

    #[allow(
        clippy::too_many_arguments,
        reason = "all are parts of what is surveyed"
    )]
    fn stream(
        &mut self,
        trace: &Trace,
        lists: &Lists,
        shapes: &FxHashMap<u64, Shape>,
        stream: u32,
        thread: u32,
        rank: &mut Rank,
        requests: &mut Requests,
    ) {
        let mut events = trace.events(rank.rank, thread);
        let (mut before, mut posts) = (BEGIN, 0);
        let mut expected: FxHashMap<(u64, u64), Expected> = FxHashMap::default();
        let mut outliers = Upcoming::of(trace, rank.rank, thread);
        let mut done = Vec::new();
        while let Some(event) = events.next() {
            let signature = event.event.signature;
            let mean = event.event.times.get(&before).map_or(0.0, |t| t.cpu.mean());
            let of_place = expected.entry((before, signature)).or_default();
            of_place.all += mean;
            match outliers.next() {
                Some(nanoseconds) => {
                    of_place.outliers += nanoseconds as f64;
                    let all = self.outliers.entry((thread, before, signature));
                    if let Some(n) = all.or_default().get_mut(bucket(nanoseconds)) {
                        *n += 1;
                    }
                }
                None => of_place.others += mean,
            }
            before = signature;
            let (Some(shape), values) = (shapes.get(&signature), event.values) else {
                continue;
            };
            rank.observe(trace, lists, &mut self.comms, shape, values);
            match shape.class {
                Class::Init => self.init += 1,
                Class::Finalize => self.finalize += 1,
                Class::Recv | Class::SendRecv if shape.mode != Mode::Blocking => {
                    let source = shape.peers.iter().flatten().next_back().copied();
                    let tag = shape.tags.iter().flatten().next_back().copied();
                    let wild = value(values, source) == ANY_SOURCE || value(values, tag) == ANY_TAG;
                    let Some(key) = request_key(thread, value(values, shape.request)) else {
                        continue;
                    };
                    if shape.mode == Mode::Persistent {
                        requests.persistent.insert(key, wild);
                    } else {
                        requests.post(&mut self.resolved, key, (stream, posts), wild);
                        posts += 1;
                    }
                }
                Class::Start => {
                    let one = [value(values, shape.request)];
                    let all = shape.requests.map(|at| value(values, Some(at)));
                    let all = all.and_then(|l| lists.get(l)).unwrap_or(&one);
                    for key in all.iter().filter_map(|r| request_key(thread, *r)) {
                        if let Some(wild) = requests.persistent.get(&key).copied() {
                            requests.post(&mut self.resolved, key, (stream, posts), wild);
                            posts += 1;
                        }
                    }
                }
                Class::Wait | Class::Test => {
                    completed(lists, shape, values, &mut done);
                    for (request, at) in &done {
                        let key = request_key(thread, *request);
                        let Some(post) = key.and_then(|k| requests.active.remove(&k)) else {
                            continue;
                        };
                        if requests.cancelled.remove(&post) {
                            self.resolved.insert(post, None);
                        } else if let Some(place) = self.resolved.get_mut(&post) {
                            let (source, tag) = status(lists, shape, values, *at);
                            *place = (source >= 0).then_some((source, tag));
                        }
                    }
                }
                Class::Cancel => {
                    let key = request_key(thread, value(values, shape.request));
                    if let Some(post) = key.and_then(|k| requests.active.get(&k)) {
                        requests.cancelled.insert(*post);
                    }
                }
                Class::RequestFree => {
                    if let Some(key) = request_key(thread, value(values, shape.request)) {
                        requests.persistent.remove(&key);
                        requests.active.remove(&key);
                    }
                }
                _ => {}
            }
        }
        for ((before, after), expected) in expected {
            let place = work::Place {
                thread,
                signature: after,
                before,
            };
            let own = trace.work.own(place, rank.rank, expected.all);
            let (factor, of_outliers) = expected.factors(own);
            let place = self.places.add(Place::Between { before, after });
            self.places.add(Place::Call(after));
            self.segments.insert(
                (stream, before, after),
                Segment {
                    place,
                    factor,
                    of_outliers,
                },
            );
        }
    }
}

/// Receives that are posted.
#[derive(Default)]
struct Requests {
    /// By request: stream and number of the receive.
    active: FxHashMap<i64, (u32, u64)>,
    /// Whether they are wildcards.
    persistent: FxHashMap<i64, bool>,
    cancelled: FxHashSet<(u32, u64)>,
}

impl Requests {
    fn post(
        &mut self,
        resolved: &mut FxHashMap<(u32, u64), Option<(i64, i64)>>,
        key: i64,
        post: (u32, u64),
        wild: bool,
    ) {
        self.active.insert(key, post);
        if wild {
            // Until it is completed.
            resolved.insert(post, None);
        }
    }
}
