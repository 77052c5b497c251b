//! The parallel view: message and collective edges join the flows of all ranks, and inter-thread edges join the threads
//! of a rank (PerFlow, 3.4).
//!
//! A vertex of this view is (top-down vertex, rank). Edges have counts, bytes and waiting times in seconds. Work of
//! teams is sorted; all other edges are in the order of the run's rows, so that equal inputs result in equal views.

use crate::threads::{self, TeamStretch, ThreadEdge};
use crate::topdown::VertexIx;
use headwater_model::run::{CtxId, Run};
use headwater_mpi_abi as abi;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// Control flow within a rank: computation from one MPI call to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowEdge {
    /// Rank.
    pub rank: u32,
    /// MPI call that the rank left; `None` before the first.
    pub from: Option<VertexIx>,
    /// MPI call entered.
    pub to: Option<VertexIx>,
    /// Repetitions.
    pub count: u64,
    /// Computation on the way, seconds.
    pub busy: f64,
}

/// Messages from one (vertex, rank) to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MessageLink {
    /// Sending rank.
    pub src: u32,
    /// Receiving rank.
    pub dst: u32,
    /// The sending call.
    pub send: VertexIx,
    /// The call that completed the send, in which its rank may wait for the receiver; the sending call if that one
    /// completed the send itself.
    pub done: VertexIx,
    /// The call that completed the receive.
    pub recv: VertexIx,
    /// The call that posted the receive; a sender may wait for it.
    pub post: VertexIx,
    /// Messages sampled.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Time that the receiver waited for the sender, seconds.
    pub late_sender: f64,
    /// Time that the sender waited for the receiver, seconds.
    pub late_receiver: f64,
}

/// A collective call site on one rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CollectiveEdge {
    /// Rank.
    pub rank: u32,
    /// The call.
    pub vertex: VertexIx,
    /// Index into the run's communicators.
    pub comm: u16,
    /// Index into the run's functions: the collective; for a nonblocking one, the function that posts it.
    pub func: u16,
    /// Instances sampled.
    pub count: u64,
    /// Time waited for the last rank whose data this rank needs, seconds.
    pub wait: f64,
    /// For a root that needs the data of all others: the part of `wait` until the first of them came, where that is
    /// known.
    pub first: Option<f64>,
    /// Instances in which this rank was the last.
    pub last: u64,
    /// The rank that this rank waits for, and where. If the data are the root's, it is the root; in a scan, the lower
    /// rank that waited least; else the rank that was last most often. It is another rank than this one if there is
    /// any.
    pub on: Option<(u32, VertexIx)>,
}

/// All edges of the parallel view of one run.
#[derive(Clone, Debug, Default)]
pub struct ParallelView {
    /// Within ranks.
    pub flows: Vec<FlowEdge>,
    /// Point-to-point.
    pub messages: Vec<MessageLink>,
    /// Collectives.
    pub collectives: Vec<CollectiveEdge>,
    /// Edges between threads of one rank.
    pub threads: Vec<ThreadEdge>,
    /// Work of teams, by team, rank, ends and thread: it shows where threads come together.
    pub teams: Vec<TeamStretch>,
}

const NANO: f64 = 1e-9;

impl ParallelView {
    /// The edges of `run`; `ctx_vertex` has the vertex of each context.
    pub(crate) fn new(run: &Run, ctx_vertex: &[VertexIx]) -> Self {
        let vertex = |ctx: CtxId| ctx.index().and_then(|i| ctx_vertex.get(i)).copied();
        let flows = run.segments.iter().map(|s| FlowEdge {
            rank: s.rank,
            from: vertex(s.from),
            to: vertex(s.to),
            count: s.count,
            busy: s.busy_ns() as f64 * NANO,
        });
        let messages = run.messages.iter().filter_map(|m| {
            let recv = vertex(m.recv_ctx)?;
            let send = vertex(m.send_ctx)?;
            Some(MessageLink {
                src: m.src,
                dst: m.dst,
                send,
                done: vertex(m.done_ctx).unwrap_or(send),
                recv,
                post: vertex(m.post_ctx).unwrap_or(recv),
                count: m.sampled,
                bytes: m.bytes,
                late_sender: m.late_sender_ns as f64 * NANO,
                late_receiver: m.late_receiver_ns as f64 * NANO,
            })
        });
        let collectives = run.collectives.iter().filter_map(|c| {
            Some(CollectiveEdge {
                rank: c.rank,
                vertex: vertex(c.ctx)?,
                comm: c.comm,
                func: c.func,
                count: c.sampled,
                wait: c.wait_ns as f64 * NANO,
                first: c.first_ns.map(|ns| ns as f64 * NANO),
                last: c.last,
                on: None,
            })
        });
        let mut collectives: Vec<CollectiveEdge> = collectives.collect();
        let roots = Roots::new(run, vertex, &collectives);
        let last = last_most_often(&collectives);
        let before = before_in_scans(run, &collectives);
        let of_scan = |c: &CollectiveEdge| before.get(&(c.rank, site(c))).map(|r| (*r, c.vertex));
        for c in &mut collectives {
            let last = last.get(&site(c)).and_then(|last| {
                let other = last.iter().find(|(_, Reverse(rank))| *rank != c.rank);
                other.or(last.first())
            });
            let last = last.map(|(_, Reverse(rank))| (*rank, c.vertex));
            c.on = roots.of(c).or_else(|| of_scan(c)).or(last);
        }
        Self {
            flows: flows.collect(),
            messages: messages.collect(),
            collectives,
            threads: threads::edges(run, vertex),
            teams: threads::stretches(run, vertex),
        }
    }
}

/// Call, communicator and function.
type Site = (VertexIx, u16, u16);

fn site(c: &CollectiveEdge) -> Site {
    (c.vertex, c.comm, c.func)
}

/// By site: the two ranks that came last most often, and how often; of equal ones, the smaller rank first.
fn last_most_often(collectives: &[CollectiveEdge]) -> FxHashMap<Site, Vec<(u64, Reverse<u32>)>> {
    let mut out: FxHashMap<Site, Vec<(u64, Reverse<u32>)>> = FxHashMap::default();
    for c in collectives.iter().filter(|c| c.last > 0) {
        let most = out.entry(site(c)).or_default();
        most.push((c.last, Reverse(c.rank)));
        most.sort_unstable_by_key(|m| Reverse(*m));
        most.truncate(2);
    }
    out
}

/// By rank and site of a scan: of the lower ranks the one that waited least, because a late rank waits little; of
/// several, the first.
fn before_in_scans(run: &Run, collectives: &[CollectiveEdge]) -> FxHashMap<(u32, Site), u32> {
    let is_scan: Vec<bool> = (run.functions.iter())
        .map(|f| abi::by_name(f).is_some_and(|f| f.class == abi::Class::Scan))
        .collect();
    let scans = collectives.iter();
    let mut scans: Vec<&CollectiveEdge> = scans
        .filter(|c| is_scan.get(c.func as usize) == Some(&true))
        .collect();
    scans.sort_by_key(|c| (site(c), c.rank));
    let mut out = FxHashMap::default();
    for of_site in scans.chunk_by(|a, b| site(a) == site(b)) {
        let mut least: Option<(f64, u32)> = None;
        for c in of_site {
            if let Some((_, rank)) = least {
                out.insert((c.rank, site(c)), rank);
            }
            if least.is_none_or(|l| c.wait < l.0) {
                least = Some((c.wait, c.rank));
            }
        }
    }
    out
}

/// How often, and the call.
type Frequent = (Reverse<u64>, VertexIx);

/// The roots of collectives in which all ranks need the data of one rank.
struct Roots {
    /// By call (where it is known), communicator and function: the two ranks that were the root most often.
    of: FxHashMap<(Option<VertexIx>, u16, u16), Vec<u32>>,
    /// The calls in which a rank takes part, by rank, communicator and function, the most frequent first.
    places: FxHashMap<(u32, u16, u16), Vec<Frequent>>,
}

impl Roots {
    fn new(
        run: &Run,
        vertex: impl Fn(CtxId) -> Option<VertexIx>,
        collectives: &[CollectiveEdge],
    ) -> Self {
        let rooted: Vec<bool> = (run.functions.iter())
            .map(|f| abi::by_name(f).is_some_and(abi::Function::is_one_to_all))
            .collect();
        let has_one = |func: u16| rooted.get(func as usize) == Some(&true);
        type Counts = FxHashMap<u32, u64>;
        let mut counts: FxHashMap<(Option<VertexIx>, u16, u16), Counts> = FxHashMap::default();
        for c in run.calls.iter().filter(|c| has_one(c.func)) {
            let root = i64::from(c.rank) + i64::from(c.peer);
            let Some(root) = u32::try_from(root).ok().filter(|r| *r < run.header.ranks) else {
                continue;
            };
            let mut count = |v| {
                let of_call = counts.entry((v, c.comm, c.func)).or_default();
                let sum = of_call.entry(root).or_default();
                *sum = sum.saturating_add(c.count);
            };
            count(None);
            if let Some(v) = vertex(c.ctx) {
                count(Some(v));
            }
        }
        let most = |counts: Counts| {
            let mut all: Vec<_> = counts.into_iter().map(|(r, n)| (Reverse(n), r)).collect();
            all.sort_unstable();
            all.into_iter().take(2).map(|(_, root)| root).collect()
        };
        let of = counts.into_iter().map(|(key, n)| (key, most(n))).collect();
        let mut places: FxHashMap<_, Vec<_>> = FxHashMap::default();
        for c in collectives.iter().filter(|c| has_one(c.func)) {
            let of_rank = places.entry((c.rank, c.comm, c.func)).or_default();
            of_rank.push((Reverse(c.count), c.vertex));
        }
        places.values_mut().for_each(|p| p.sort_unstable());
        Self { of, places }
    }

    /// The root that the other ranks of a collective wait for, and where it calls; of several roots, one that is not
    /// the rank itself.
    fn of(&self, c: &CollectiveEdge) -> Option<(u32, VertexIx)> {
        // A nonblocking collective is posted in one call and completed in another; only the posting call names the
        // root.
        let at = [Some(c.vertex), None];
        let roots = at.iter().find_map(|v| self.of.get(&(*v, c.comm, c.func)))?;
        let root = roots.iter().find(|r| **r != c.rank).or(roots.first())?;
        let places = self.places.get(&(*root, c.comm, c.func))?;
        let here = places.iter().find(|p| p.1 == c.vertex);
        Some((*root, here.or(places.first())?.1))
    }
}
