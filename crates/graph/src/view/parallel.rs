//! The parallel view of one run (PerFlow, section 3.4): a vertex for each place on each rank and thread.
//!
//! A *flow* is what one rank, or one thread that calls no MPI, does in program order: from an MPI call through the
//! computation that follows it to the next call. Calls are in the order of the program. Computation comes before the
//! call that mostly follows it, wherever the compiler put its code: it causes the delays at that call, also where a
//! loop goes back in between. Flows are joined by messages, by collectives (from the root, or from the rank that was
//! last, to the ranks that waited for it), by the begin of teams, by barriers of threads and ends of parallel regions (from
//! the thread that was last), and by locks that one thread passes on to another. Edges point in the direction of time:
//! from what happens first, or from the end that lets the other one go on.
//!
//! Vertices have the columns of the top-down view without `total`, `before` and `parent`, for their rank alone. In
//! addition they have `vertex` (the place in the top-down view), `rank` and `thread`. They are in the order of rank,
//! thread and program order.
//!
//! Columns of edges: `type` and `kind` (see [`EdgeType`], [`EdgeKind`]), `back` (1 where a flow goes back in a loop),
//! `count`, `bytes`, `time` (computing on the way into a call), `wait` (what the later end waited), `late_sender` and
//! `late_receiver`, `first` (for a root that waits for the data of others, the part of the wait until the first of them
//! came), `collective` (its function, also where another call completes it). A value that an edge cannot have is
//! missing.
//!
//! Tables beside the graph: `ranks`; `unheld`, which has waiting without a known rank or thread that was waited for,
//! and waiting of a team's threads where the last one is not always the same, by `vertex`, with `kind`,
//! `collective`, `wait` and `count` as edges have them; and `places`, the vertices of the top-down view with `type`,
//! `name`, `file`, `first_line` and `parent`, which show the call path to a `vertex`.

mod tables;
mod teams;

use super::column::Table;
use super::holders::Holders;
use super::known::{EdgeKind, EdgeType};
use super::waits::scaled;
use super::{Adjacency, View, ViewKind};
use crate::pag::{Pag, RunView};
use crate::threads::ThreadEdge;
use crate::topdown::{TopDown, VertexIx};
use headwater_model::psg::VertexKind;
use headwater_model::run::{Run, WaitKind};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use teams::Meeting;

/// Place of a vertex: rank, thread, program order.
type Spot = (u32, u16, u32);

/// One edge before the columns are made.
struct Edge {
    src: u32,
    dst: u32,
    kind: EdgeKind,
    label: EdgeType,
    back: bool,
    count: u64,
    bytes: Option<u64>,
    time: Option<f64>,
    late_sender: Option<f64>,
    late_receiver: Option<f64>,
    first: Option<f64>,
    /// Index into the run's functions.
    collective: Option<u16>,
}

impl Edge {
    fn new(src: u32, dst: u32, label: EdgeType, kind: EdgeKind, count: u64) -> Self {
        Self {
            src,
            dst,
            kind,
            label,
            back: false,
            count,
            bytes: None,
            time: None,
            late_sender: None,
            late_receiver: None,
            first: None,
            collective: None,
        }
    }
}

struct Builder<'a> {
    pag: &'a Pag,
    view: &'a RunView,
    /// Position in program order by vertex. The next field is its inverse.
    order: Vec<u32>,
    vertex: Vec<VertexIx>,
    /// By place of computation: the call after which it mostly happens.
    home: FxHashMap<VertexIx, Option<VertexIx>>,
    spots: Vec<Spot>,
    edges: Vec<Edge>,
    unheld: Vec<Unheld>,
    holders: Holders<'a>,
}

/// Waiting without a known rank or thread that was waited for.
struct Unheld {
    at: u32,
    kind: EdgeKind,
    wait: f64,
    count: u64,
    /// Index into the run's functions.
    collective: Option<u16>,
}

/// Threads that call MPI share the flow of their rank.
fn flow(view: &RunView, rank: u32, thread: u16) -> u16 {
    if view.threads.calls_mpi(rank, thread) {
        0
    } else {
        thread
    }
}

impl Builder<'_> {
    fn spot(&self, rank: u32, thread: u16, v: VertexIx) -> Option<Spot> {
        let order = *self.order.get(v as usize)?;
        (rank < self.view.ranks).then_some((rank, thread, order))
    }

    fn at(&self, rank: u32, thread: u16, v: VertexIx) -> Option<u32> {
        self.number(self.spot(rank, thread, v)?)
    }

    fn number(&self, spot: Spot) -> Option<u32> {
        self.spots.binary_search(&spot).ok().map(|i| i as u32)
    }

    fn flow(&self, rank: u32, thread: u16) -> u16 {
        flow(self.view, rank, thread)
    }

    /// The spot of the thread that was waited for.
    fn holder(&self, e: &ThreadEdge) -> Option<Spot> {
        let thread = self.flow(e.rank, e.holder?);
        match e.on {
            Some(on) => self.spot(e.rank, thread, self.holders.at(e.rank, thread, on)),
            // It waits for the thread's end, or for the end of its work.
            None if matches!(e.kind, WaitKind::Join | WaitKind::Pause) && thread > 0 => {
                self.last(e.rank, thread)
            }
            None => None,
        }
    }

    /// The last spot of a thread in program order.
    fn last(&self, rank: u32, thread: u16) -> Option<Spot> {
        let end = self.spots.partition_point(|s| (s.0, s.1) <= (rank, thread));
        let last = self.spots.get(end.checked_sub(1)?)?;
        ((last.0, last.1) == (rank, thread)).then_some(*last)
    }

    /// Puts computation before the call that comes next.
    fn put_before_calls(&mut self) {
        // By call (`None` for the start): the next calls, how often.
        let mut next: FxHashMap<Option<VertexIx>, BTreeMap<VertexIx, u64>> = FxHashMap::default();
        for f in &self.view.parallel.flows {
            if let Some(to) = f.to {
                *next.entry(f.from).or_default().entry(to).or_default() += f.count;
            }
        }
        let place = |v: VertexIx| self.order.get(v as usize).copied().unwrap_or(0);
        let usual: FxHashMap<Option<VertexIx>, u32> = next
            .into_iter()
            .filter_map(|(from, to)| {
                let most = to.into_iter().max_by_key(|(v, n)| (*n, Reverse(*v)))?;
                Some((from, place(most.0)))
            })
            .collect();
        // The call after which each place computes most.
        let data = &self.view.computation;
        let mut busy: BTreeMap<(VertexIx, Option<VertexIx>), f64> = BTreeMap::new();
        for (key, of) in (0..).zip(&data.keys) {
            let seconds = data.busy.row(key).map_or(0.0, |row| row.sum());
            *busy
                .entry((of.vertex, self.view.vertex(of.after)))
                .or_default() += seconds;
        }
        let mut mostly: FxHashMap<VertexIx, (f64, Option<VertexIx>)> = FxHashMap::default();
        for ((vertex, after), seconds) in busy {
            let most = mostly.entry(vertex).or_insert((seconds, after));
            if seconds > most.0 {
                *most = (seconds, after);
            }
        }
        let key = |v: &VertexIx| {
            let own = place(*v);
            let calls = self.pag.top.get(*v).kind == VertexKind::MpiCall;
            let after = mostly.get(v).filter(|_| !calls).map(|m| m.1);
            match after.and_then(|a| usual.get(&a)) {
                Some(before) => (*before, 0, own),
                None => (own, 1, own),
            }
        };
        let mut vertices: Vec<VertexIx> = (0..self.order.len() as VertexIx).collect();
        vertices.sort_by_key(key);
        for (at, v) in (0..).zip(&vertices) {
            self.order[*v as usize] = at;
        }
        self.vertex = vertices;
        self.home = mostly.into_iter().map(|(v, most)| (v, most.1)).collect();
    }

    /// The top-down vertex of a spot.
    fn place_of(&self, spot: u32) -> VertexIx {
        let order = self.spots.get(spot as usize).map_or(0, |s| s.2);
        self.vertex.get(order as usize).copied().unwrap_or(0)
    }

    /// Whether a spot is inside a place.
    fn is_in(&self, place: VertexIx, spot: u32) -> bool {
        self.pag.top.contains(place, self.place_of(spot))
    }

    /// Whether a spot is a call of `MPI_Finalize`, or of what ends a session.
    fn ends(&self, spot: u32) -> bool {
        let called = self.pag.top.get(self.place_of(spot)).mpi.as_deref();
        let function = called.and_then(headwater_mpi_abi::by_name);
        function.is_some_and(|f| f.class == headwater_mpi_abi::Class::Finalize)
    }

    fn collect_spots(&mut self, meetings: &[Meeting]) {
        let data = &self.view.computation;
        let mut spots: Vec<Spot> = Vec::new();
        let mut add = |spot: Option<Spot>| spots.extend(spot);
        for (key, of) in (0..).zip(&data.keys) {
            for row in data.busy.row(key).into_iter().chain(data.runq.row(key)) {
                row.iter()
                    .filter(|(_, value)| *value > 0.0)
                    .for_each(|(rank, _)| add(self.spot(rank, 0, of.vertex)));
            }
        }
        for v in self.view.mpi.keys() {
            let row = self.view.mpi.row(v).into_iter();
            row.flat_map(|r| r.iter())
                .for_each(|(rank, _)| add(self.spot(rank, 0, v)));
        }
        let links = &self.view.parallel;
        for f in &links.flows {
            add(f.from.and_then(|v| self.spot(f.rank, 0, v)));
            add(f.to.and_then(|v| self.spot(f.rank, 0, v)));
        }
        for m in &links.messages {
            add(self.spot(m.src, 0, m.send));
            add(self.spot(m.src, 0, m.done));
            add(self.spot(m.dst, 0, m.recv));
            add(self.spot(m.dst, 0, m.post));
        }
        for c in &links.collectives {
            add(self.spot(c.rank, 0, c.vertex));
        }
        for e in &links.threads {
            add(self.spot(e.rank, self.flow(e.rank, e.thread), e.at));
            add(self.holder(e));
        }
        for t in &links.teams {
            add(self.spot(t.rank, 0, t.team));
        }
        let met = meetings.iter().flat_map(|m| self.met(m));
        met.for_each(|spot| add(Some(spot)));
        for t in &self.view.threads.times {
            add(self.spot(t.rank, self.flow(t.rank, t.thread), t.vertex));
        }
        spots.sort_unstable();
        spots.dedup();
        self.spots = spots;
    }

    /// An edge of program order within a flow.
    fn step(&self, src: u32, dst: u32) -> Edge {
        let to = self.place_of(dst);
        let (a, b) = (self.pag.top.get(self.place_of(src)), self.pag.top.get(to));
        let label = if (a.module, a.function) == (b.module, b.function) {
            EdgeType::IntraProcedural
        } else {
            EdgeType::InterProcedural
        };
        let kind = if self.pag.top.get(to).kind.is_control() {
            EdgeKind::ControlFlow
        } else {
            EdgeKind::DataFlow
        };
        Edge {
            back: dst <= src,
            ..Edge::new(src, dst, label, kind, 0)
        }
    }

    /// From every MPI call through what follows it in program order to the next ones.
    fn flows(&mut self) {
        // Computation by rank and the MPI call before it; `u32::MAX` means the start.
        let mut after: FxHashMap<(u32, u32), Vec<u32>> = FxHashMap::default();
        let data = &self.view.computation;
        let mut last_after: Option<(headwater_model::run::CtxId, Option<u32>)> = None;
        for (key, of) in (0..).zip(&data.keys) {
            let call = match last_after {
                Some((ctx, call)) if ctx == of.after => call,
                _ => self.view.vertex(of.after),
            };
            last_after = Some((of.after, call));
            let Some(row) = data.busy.row(key) else {
                continue;
            };
            for (rank, _) in row.iter().filter(|r| r.1 > 0.0) {
                let begin = call.and_then(|c| self.at(rank, 0, c));
                if let (Some(at), begin) = (self.at(rank, 0, of.vertex), begin.unwrap_or(u32::MAX))
                {
                    after.entry((rank, begin)).or_default().push(at);
                }
            }
        }
        // The rows are by rank, ends and thread; here threads are put together.
        let mut next: FxHashMap<(u32, u32), BTreeMap<u32, (u64, f64)>> = FxHashMap::default();
        for f in &self.view.parallel.flows {
            let from = f.from.and_then(|v| self.at(f.rank, 0, v));
            let Some(to) = f.to.and_then(|v| self.at(f.rank, 0, v)) else {
                continue;
            };
            let begin = (f.rank, from.unwrap_or(u32::MAX));
            let sum = next.entry(begin).or_default().entry(to).or_default();
            (sum.0, sum.1) = (sum.0 + f.count, sum.1 + f.busy);
            after.entry(begin).or_default();
        }
        let mut begins: Vec<((u32, u32), Vec<u32>)> = after.into_iter().collect();
        begins.sort_unstable_by_key(|b| b.0);
        let mut sums: BTreeMap<(u32, u32), (u64, f64)> = BTreeMap::new();
        for (begin, mut through) in begins {
            through.sort_unstable();
            through.dedup();
            let call = begin.1;
            through.retain(|v| *v != call);
            // Vertices before the call in program order run after it by going back in a loop.
            let split = through.partition_point(|v| call != u32::MAX && *v < call);
            through.rotate_left(split);
            let to = next.remove(&begin).unwrap_or_default();
            let count: u64 = to.values().map(|t| t.0).sum();
            // Computation that mostly follows another call belongs there: it goes beside the others, not between them.
            let begin = (call != u32::MAX).then_some(call);
            let of_call = begin.map(|c| self.place_of(c));
            let here = |v: &u32| self.home.get(&self.place_of(*v)) == Some(&of_call);
            // What a rank computes at the end leads to `MPI_Finalize` alone: another call may follow in a loop.
            let at_end = |v: &u32| self.is_in(TopDown::WINDDOWN, *v);
            let (ending, through): (Vec<u32>, Vec<u32>) = through.into_iter().partition(at_end);
            let (own, beside): (Vec<u32>, Vec<u32>) = through.into_iter().partition(here);
            let mut last = begin;
            for v in own {
                if let Some(from) = last {
                    sums.entry((from, v)).or_default().0 += count;
                }
                last = Some(v);
            }
            for &v in &beside {
                if let Some(from) = begin {
                    sums.entry((from, v)).or_default().0 += count;
                }
            }
            let ended: u64 = (to.iter().filter(|t| self.ends(*t.0))).map(|t| t.1.0).sum();
            let mut end = last;
            for v in ending {
                if let Some(from) = end {
                    sums.entry((from, v)).or_default().0 += ended;
                }
                end = Some(v);
            }
            for (to, (count, busy)) in to {
                for from in beside.iter().copied().filter(|v| *v != to) {
                    sums.entry((from, to)).or_default().0 += count;
                }
                let before = if self.ends(to) { end } else { last };
                if let Some(from) = before {
                    let sum = sums.entry((from, to)).or_default();
                    (sum.0, sum.1) = (sum.0 + count, sum.1 + busy);
                }
            }
        }
        for ((src, dst), (count, busy)) in sums {
            self.edges.push(Edge {
                count,
                time: (busy > 0.0).then_some(busy),
                ..self.step(src, dst)
            });
        }
    }

    /// Program order of threads that call no MPI, and where their teams begin.
    fn threads(&mut self) {
        let mut edges = Vec::new();
        for i in 1..self.spots.len() {
            let (a, b) = (self.spots[i - 1], self.spots[i]);
            if (a.0, a.1) == (b.0, b.1) && a.1 > 0 {
                edges.push(Edge {
                    count: 1,
                    ..self.step(i as u32 - 1, i as u32)
                });
            }
        }
        let mut teams: Vec<(u32, u16, VertexIx, u64)> = (self.view.parallel.teams.iter())
            .filter(|t| self.flow(t.rank, t.thread) > 0)
            .map(|t| (t.rank, t.thread, t.team, t.count))
            .collect();
        teams.sort_unstable();
        teams.dedup_by_key(|t| (t.0, t.1, t.2));
        for (rank, thread, team, count) in teams {
            let begin = self.spots.partition_point(|s| (s.0, s.1) < (rank, thread));
            let own = self.spots[begin..].iter().zip(begin as u32..);
            let mut own = own.take_while(|(s, _)| (s.0, s.1) == (rank, thread));
            let inside = |order: u32| {
                let v = self.vertex.get(order as usize);
                v.is_some_and(|v| self.pag.top.contains(team, *v))
            };
            let first = own.find(|(s, _)| inside(s.2));
            if let (Some(src), Some((_, dst))) = (self.at(rank, 0, team), first) {
                let label = EdgeType::InterThread;
                edges.push(Edge::new(src, dst, label, EdgeKind::Begin, count));
            }
        }
        let mut unheld = Vec::new();
        for e in &self.view.parallel.threads {
            let Some(dst) = self.at(e.rank, self.flow(e.rank, e.thread), e.at) else {
                continue;
            };
            let kind = EdgeKind::from(e.kind);
            let holder = self.holder(e).and_then(|spot| self.number(spot));
            match holder {
                Some(src) => edges.push(Edge {
                    late_sender: Some(e.wait),
                    ..Edge::new(src, dst, EdgeType::InterThread, kind, e.count)
                }),
                None => unheld.push(Unheld {
                    at: dst,
                    kind,
                    wait: e.wait,
                    count: e.count,
                    collective: None,
                }),
            }
        }
        self.edges.extend(edges);
        self.unheld.extend(unheld);
    }

    /// Messages and collectives.
    fn ranks(&mut self, run: &Run) {
        let mut edges = Vec::new();
        let mut unheld = Vec::new();
        for s in scaled(run, self.view) {
            let at = |(v, rank): (VertexIx, u32)| self.at(rank, 0, v);
            let (Some(dst), Some(post), Some(done)) = (at(s.to), at(s.post), at(s.done)) else {
                continue;
            };
            let collective = s.collective.is_some();
            let Some(src) = s.from.and_then(at) else {
                unheld.push(Unheld {
                    at: dst,
                    kind: EdgeKind::Collective,
                    wait: s.late_sender,
                    count: s.count,
                    collective: s.collective,
                });
                continue;
            };
            let kind = if collective {
                EdgeKind::Collective
            } else {
                EdgeKind::PointToPoint
            };
            edges.push(Edge {
                bytes: (!collective).then_some(s.bytes),
                late_sender: Some(s.late_sender),
                late_receiver: (!collective).then_some(s.late_receiver),
                first: s.first,
                collective: s.collective,
                ..Edge::new(src, dst, EdgeType::InterProcess, kind, s.count)
            });
            if s.late_receiver > 0.0 {
                edges.push(Edge {
                    late_receiver: Some(s.late_receiver),
                    ..Edge::new(
                        post,
                        done,
                        EdgeType::InterProcess,
                        EdgeKind::LateReceiver,
                        s.count,
                    )
                });
            }
        }
        self.edges.extend(edges);
        self.unheld.extend(unheld);
    }
}

/// The parallel view of run `index` of a graph; `run` is that run as it was recorded, `top` its top-down view. If the
/// graph does not have the run, the view is empty.
pub fn parallel(pag: &Pag, run: &Run, index: usize, top: &View) -> View {
    let mut this = top.clone();
    this.kind = ViewKind::Parallel;
    // The other tables name vertices by their number in the top-down view.
    this.tables.retain(|name, _| *name == "ranks");
    let Some(view) = pag.runs.get(index) else {
        this.graph = Arc::default();
        (this.vertices, this.edges) = (Table::new(0), Table::new(0));
        return this;
    };
    let order = pag.top.program_order();
    let mut builder = Builder {
        pag,
        view,
        order,
        vertex: Vec::new(),
        home: FxHashMap::default(),
        spots: Vec::new(),
        edges: Vec::new(),
        unheld: Vec::new(),
        holders: Holders::new(pag, view, |rank, thread| flow(view, rank, thread)),
    };
    builder.put_before_calls();
    let meetings = builder.meetings();
    builder.collect_spots(&meetings);
    builder.flows();
    builder.threads();
    builder.team_waits(&meetings);
    builder.ranks(run);
    let src = builder.edges.iter().map(|e| e.src).collect();
    let dst = builder.edges.iter().map(|e| e.dst).collect();
    let graph = Adjacency::new(builder.spots.len(), src, dst).unwrap_or_default();
    this.graph = Arc::new(graph);
    this.vertices = builder.vertex_table(top);
    this.edges = builder.edge_table(run);
    this.tables
        .insert("unheld", Arc::new(builder.unheld_table(run)));
    this.tables.insert("places", Arc::new(tables::places(top)));
    this.rows = BTreeMap::new();
    this
}
