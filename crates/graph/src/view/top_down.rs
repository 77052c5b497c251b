//! The top-down view of one run with its figures (PerFlow, section 3.4): a tree of places.
//!
//! | column | what it is |
//! | --- | --- |
//! | `name`, `type` | callee or function, and the vertex kind (`function`, `loop`, `mpi-call` …) |
//! | `file`, `first_line`, `last_line`, `line` | source lines; `line` is the hottest |
//! | `module`, `function`, `parent`, `depth` | where it is |
//! | `site` | number of the place in the program: several ways that lead to one place share it |
//! | `class` | of an MPI call: `point-to-point`, `collective`, `wait`, `one-sided`, `file`, `start-or-end` or `other` |
//! | `time` | own seconds without the vertices inside, all ranks and threads: `busy + mpi + workers` |
//! | `total` | the same with what is inside |
//! | `busy`, `blocked`, `runq` | computing (CPU and asleep), asleep of that, ready without a core (not in `busy`) |
//! | `mpi`, `wait`, `longest` | inside MPI, waiting of that, the longest single call |
//! | `workers` | CPU seconds of threads that call no MPI |
//! | `before` | seconds computed on the way to this MPI call |
//! | `count`, `bytes`, `sent` | MPI calls, their bytes, and of these what the rank sent |
//! | counters | as the run names them |
//!
//! Each metric has a row over ranks. A vertex that is not an MPI call has no `count`. A vertex that no rank sampled has
//! zero seconds, because that is a measurement.

use super::column::{Column, Table};
use super::extrapolate::partners;
use super::known::{EdgeKind, EdgeType};
use super::starts::{Starts, started};
use super::waits;
use super::{Adjacency, View, ViewKind};
use crate::columns::RankRows;
use crate::pag::{Pag, RunView};
use crate::topdown::{TopDown, VertexIx};
use headwater_model::psg::VertexKind;
use headwater_model::run::{MpiCalls, Run, peer};
use headwater_mpi_abi as abi;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

const NANO: f64 = 1e-9;

/// The word for a vertex kind, as it serialises.
pub(crate) fn kind_word(kind: VertexKind) -> &'static str {
    use VertexKind::*;
    match kind {
        Function => "function",
        Inlined => "inlined",
        Loop => "loop",
        IrreducibleLoop => "irreducible-loop",
        Branch => "branch",
        Call => "call",
        MpiCall => "mpi-call",
        ExternalCall => "external-call",
        IndirectCall => "indirect-call",
        RecursiveCall => "recursive-call",
        ThreadCall => "thread-call",
        LockCall => "lock-call",
        Comp => "comp",
    }
}

/// Bytes of the calls of a row that went to other ranks.
fn sent(run: &Run, view: &RunView, starts: &Starts, row: &MpiCalls) -> u64 {
    use abi::Class::*;
    let to_one = row.peer != peer::PROC_NULL;
    if started(run, row).is_some() && to_one {
        let at = view.vertex(row.ctx).map(|v| (v, row.rank));
        let part = at.map_or(0.0, |at| starts.sent_part(row, at));
        return (row.bytes as f64 * part).round() as u64;
    }
    let sends = abi::by_name(run.function(row.func)).is_some_and(|f| match f.class {
        Send | SendRecv => to_one,
        Barrier => false,
        _ => f.is_collective() && !f.is_about_files(),
    });
    if sends { row.bytes } else { 0 }
}

/// The top-down view of run `index` of a graph; `run` is that run as it was recorded.
///
/// If the graph does not have the run, the view has the places but no metrics, and `total` is zero.
pub fn top_down(pag: &Pag, run: &Run, index: usize) -> View {
    let n = pag.top.vertices.len();
    let mut vertices = places(pag);
    let mut rows = BTreeMap::new();
    if let Some(view) = pag.runs.get(index) {
        metrics(run, view, n, &mut vertices, &mut rows);
    }
    total(pag, &mut vertices);
    let (graph, edges) = tree(pag);
    let mut tables: BTreeMap<&'static str, Arc<Table>> = BTreeMap::new();
    tables.insert("ranks", Arc::new(ranks(run)));
    if let Some(view) = pag.runs.get(index) {
        tables.insert("sizes", Arc::new(sizes(run, view)));
        tables.insert("peers", Arc::new(peers(run, view)));
    }
    View {
        kind: ViewKind::TopDown,
        header: Arc::new(run.header.clone()),
        graph: Arc::new(graph),
        vertices,
        edges,
        rows,
        tables,
    }
}

/// What every vertex is, and where in the program.
fn places(pag: &Pag) -> Table {
    let all = 0..pag.top.vertices.len() as VertexIx;
    let hot = pag.hottest_lines();
    let places: Vec<_> = (all.clone())
        .map(|v| pag.top.place(&pag.structures, v))
        .collect();
    let vertex = |v: VertexIx| pag.top.get(v);
    let line = |line: u32| (line > 0).then_some(f64::from(line));
    let mut depth = vec![0.0; places.len()];
    for v in 1..places.len() {
        depth[v] = 1.0 + depth[vertex(v as VertexIx).parent.unwrap_or(0) as usize];
    }
    let word = |w: &str| (!w.is_empty()).then(|| w.to_string());
    Table::new(places.len())
        .with("name", Column::texts(places.iter().map(|p| word(&p.name))))
        .with(
            "type",
            Column::texts(all.clone().map(|v| Some(kind_word(vertex(v).kind)))),
        )
        .with("file", Column::texts(places.iter().map(|p| p.file.clone())))
        .with(
            "first_line",
            Column::numbers(places.iter().map(|p| line(p.first_line))),
        )
        .with(
            "last_line",
            Column::numbers(places.iter().map(|p| line(p.last_line))),
        )
        .with(
            "line",
            Column::numbers(places.iter().zip(all.clone()).map(|(p, v)| {
                let hottest = hot.get(&v).copied();
                line(hottest.unwrap_or(p.first_line))
            })),
        )
        .with(
            "module",
            Column::texts(places.iter().map(|p| word(&p.module))),
        )
        .with(
            "function",
            Column::texts(places.iter().map(|p| word(&p.function))),
        )
        .with(
            "parent",
            Column::numbers(all.map(|v| vertex(v).parent.map(f64::from))),
        )
        .with("depth", Column::known(depth))
        .with("site", Column::known(sites(pag)))
        .with(
            "class",
            Column::texts(
                pag.top
                    .vertices
                    .iter()
                    .map(|v| v.mpi.as_deref().map(class_word)),
            ),
        )
}

/// What kind of MPI function `name` is.
fn class_word(name: &str) -> &'static str {
    use abi::Class::*;
    let Some(function) = abi::by_name(name) else {
        return "other";
    };
    match function.class {
        // This includes calls that all ranks make together: ranks wait in them as in collectives, but they move no
        // messages.
        _ if function.is_about_files() => "file",
        _ if function.is_collective() => "collective",
        _ if function.is_start_or_end() => "start-or-end",
        Send | Recv | SendRecv | Probe | Start => "point-to-point",
        Wait | Test => "wait",
        WinCreate | WinFree | WinPost | WinStart | WinComplete | WinWait => "one-sided",
        _ => "other",
    }
}

/// A number for each place: its smallest vertex. A vertex in no known function is a place of its own.
fn sites(pag: &Pag) -> Vec<f64> {
    let mut first: FxHashMap<(u32, u32, u32), VertexIx> = FxHashMap::default();
    let all = (0..).zip(&pag.top.vertices);
    all.map(|(v, vertex)| {
        let known = vertex.function != u32::MAX;
        let place = (vertex.module, vertex.function, vertex.psg);
        let site = if known {
            *first.entry(place).or_insert(v)
        } else {
            v
        };
        f64::from(site)
    })
    .collect()
}

/// The sum of a column of computation by vertex and rank.
fn by_vertex(view: &RunView, column: &RankRows, vertices: usize) -> RankRows {
    let mut keys: Vec<(VertexIx, u32)> = (0..)
        .zip(&view.computation.keys)
        .map(|(i, k)| (k.vertex, i))
        .filter(|k| (k.0 as usize) < vertices)
        .collect();
    keys.sort_unstable();
    let mut out = RankRows::default();
    let mut full = vec![0.0f64; view.ranks as usize];
    for of_vertex in keys.chunk_by(|a, b| a.0 == b.0) {
        full.fill(0.0);
        let rows = of_vertex.iter().filter_map(|k| column.row(k.1));
        rows.for_each(|row| row.add_to(&mut full));
        let narrow: Vec<f32> = full.iter().map(|v| *v as f32).collect();
        out.set(of_vertex[0].0, &narrow);
    }
    out.seal();
    out
}

/// Sums over ranks of each vertex.
fn summed(rows: &RankRows, vertices: usize) -> Vec<f64> {
    let mut out = vec![0.0; vertices];
    for key in rows.keys() {
        if let (Some(slot), Some(row)) = (out.get_mut(key as usize), rows.row(key)) {
            *slot = row.sum();
        }
    }
    out
}

/// A figure of MPI calls by vertex and rank, where calls were counted: a profile of another tool may have the time in
/// calls alone.
fn of_calls(
    run: &Run,
    view: &RunView,
    figure: impl Fn(&MpiCalls) -> f64,
    join: fn(f64, f64) -> f64,
) -> Vec<(VertexIx, u32, f64)> {
    let mut sums: FxHashMap<(VertexIx, u32), f64> = FxHashMap::default();
    let is_counted = |c: &&MpiCalls| c.rank < run.header.ranks && c.count > 0;
    for c in run.calls.iter().filter(is_counted) {
        if let Some(v) = view.vertex(c.ctx) {
            let sum = sums.entry((v, c.rank)).or_default();
            *sum = join(*sum, figure(c));
        }
    }
    let mut out: Vec<_> = sums.into_iter().map(|((v, r), x)| (v, r, x)).collect();
    out.sort_unstable_by_key(|e| (e.0, e.1));
    out
}

fn metrics(
    run: &Run,
    view: &RunView,
    n: usize,
    vertices: &mut Table,
    rows: &mut BTreeMap<String, Arc<RankRows>>,
) {
    let data = &view.computation;
    let mut add = |name: &str, values: RankRows, vertices: &mut Table| {
        vertices.set(name, Column::known(summed(&values, n)));
        rows.insert(name.to_string(), Arc::new(values));
    };
    let busy = by_vertex(view, &data.busy, n);
    let time = time(view, &busy, n);
    add("time", time, vertices);
    // Computed from `time` when all metrics are there; set here to be in this position among them.
    vertices.set("total", Column::known(vec![0.0; n]));
    add("busy", busy, vertices);
    add("blocked", by_vertex(view, &data.blocked, n), vertices);
    add("runq", by_vertex(view, &data.runq, n), vertices);
    add("mpi", view.mpi.clone(), vertices);
    add(
        "wait",
        RankRows::from_sorted(&waits::by_call(run, view)),
        vertices,
    );
    add("workers", view.threads.workers.clone(), vertices);
    let mut before: Vec<(VertexIx, u32, f64)> = (view.parallel.flows.iter())
        .filter(|f| f.rank < run.header.ranks)
        .filter_map(|f| Some((f.to?, f.rank, f.busy)))
        .collect();
    before.sort_by_key(|b| (b.0, b.1));
    add("before", RankRows::from_sorted(&before), vertices);
    for (counter, values) in run.header.counters.iter().zip(&data.counters) {
        add(counter, by_vertex(view, values, n), vertices);
    }
    let of_call = |name: &str, entries: Vec<(VertexIx, u32, f64)>, most: bool| {
        let mut sums: Vec<Option<f64>> = vec![None; n];
        for (v, _, x) in &entries {
            if let Some(slot) = sums.get_mut(*v as usize) {
                let sum = slot.unwrap_or(0.0);
                *slot = Some(if most { sum.max(*x) } else { sum + x });
            }
        }
        (name.to_string(), Column::numbers(sums), entries)
    };
    let add_up = |a, b| a + b;
    let starts = Starts::new(run, view);
    for (name, column, entries) in [
        of_call(
            "count",
            of_calls(run, view, |c| c.count as f64, add_up),
            false,
        ),
        of_call(
            "bytes",
            of_calls(run, view, |c| c.bytes as f64, add_up),
            false,
        ),
        of_call(
            "sent",
            of_calls(run, view, |c| sent(run, view, &starts, c) as f64, add_up),
            false,
        ),
        of_call(
            "longest",
            of_calls(run, view, |c| c.max_wall_ns as f64 * NANO, f64::max),
            true,
        ),
    ] {
        vertices.set(&name, column);
        rows.insert(name, Arc::new(RankRows::from_sorted(&entries)));
    }
}

/// Own seconds of all threads.
fn time(view: &RunView, busy: &RankRows, n: usize) -> RankRows {
    let mut out = RankRows::default();
    let mut full = vec![0.0f64; view.ranks as usize];
    for v in 0..n as VertexIx {
        let parts = [busy, &view.mpi, &view.threads.workers].map(|rows| rows.row(v));
        if parts.iter().all(Option::is_none) {
            continue;
        }
        full.fill(0.0);
        let rows = parts.into_iter().flatten();
        rows.for_each(|row| row.add_to(&mut full));
        let narrow: Vec<f32> = full.iter().map(|v| *v as f32).collect();
        out.set(v, &narrow);
    }
    out.seal();
    out
}

/// Fills in `total`.
fn total(pag: &Pag, vertices: &mut Table) {
    let own = |v| vertices.get("time").and_then(|t| t.number(v));
    let mut total: Vec<f64> = (0..vertices.len()).map(|v| own(v).unwrap_or(0.0)).collect();
    // A parent has a smaller index than its children, so each sum is complete before it is added to its parent.
    for v in (1..total.len()).rev() {
        let parent = pag.top.get(v as VertexIx).parent.unwrap_or(TopDown::ROOT);
        total[parent as usize] += total[v];
    }
    vertices.set("total", Column::known(total));
}

fn tree(pag: &Pag) -> (Adjacency, Table) {
    let children = 1..pag.top.vertices.len() as VertexIx;
    let src: Vec<u32> = (children.clone())
        .map(|v| pag.top.get(v).parent.unwrap_or(TopDown::ROOT))
        .collect();
    let enters = |v: &VertexIx| {
        let vertex = pag.top.get(*v);
        vertex.kind == VertexKind::Function
    };
    let labels = children.clone().map(|v| {
        if enters(&v) {
            (EdgeType::InterProcedural, EdgeKind::Call)
        } else {
            (EdgeType::IntraProcedural, EdgeKind::Contains)
        }
    });
    let (types, kinds): (Vec<_>, Vec<_>) = labels
        .map(|(t, k)| (Some(t as i32), Some(k as i32)))
        .unzip();
    let edges = Table::new(src.len())
        .with("type", Column::coded(&EdgeType::WORDS, types))
        .with("kind", Column::coded(&EdgeKind::WORDS, kinds));
    let graph = Adjacency::new(pag.top.vertices.len(), src, children.collect());
    (graph.unwrap_or_default(), edges)
}

/// A row for each rank; for a rank that did not finish, figures that are read at the end are missing.
pub(crate) fn ranks(run: &Run) -> Table {
    let of = |figure: fn(&headwater_model::run::RankInfo) -> Option<f64>| {
        Column::numbers(run.ranks.iter().map(figure))
    };
    let node = |r: &headwater_model::run::RankInfo| run.header.nodes.get(r.node as usize);
    Table::new(run.ranks.len())
        .with("rank", of(|r| Some(f64::from(r.rank))))
        .with("node", Column::texts(run.ranks.iter().map(node)))
        .with("wall", of(|r| Some(r.wall_ns as f64 * NANO)))
        .with("mpi", of(|r| Some(r.mpi_wall_ns as f64 * NANO)))
        .with("cpu", of(|r| Some(r.cpu_ns? as f64 * NANO)))
        .with("runq", of(|r| Some(r.runq_ns as f64 * NANO)))
        .with("startup", of(|r| Some(r.before_init_wall_ns as f64 * NANO)))
        .with("migrations", of(|r| Some(r.migrations as f64)))
}

/// MPI calls by vertex, rank and a third key; `messages` are those sent to single ranks.
fn grouped(
    run: &Run,
    view: &RunView,
    name: &str,
    third: impl Fn(&MpiCalls) -> Option<i64>,
) -> Table {
    type Sum = (u64, u64, u64, u64, u64, f64);
    type Row = ((VertexIx, u32, i64), Sum);
    let mut sums: FxHashMap<(VertexIx, u32, i64), Sum> = FxHashMap::default();
    let starts = Starts::new(run, view);
    for c in run.calls.iter().filter(|c| c.rank < run.header.ranks) {
        let (Some(v), Some(third)) = (view.vertex(c.ctx), third(c)) else {
            continue;
        };
        let sum = sums.entry((v, c.rank, third)).or_default();
        *sum = (
            sum.0 + c.count,
            sum.1 + c.bytes,
            sum.2 + sent(run, view, &starts, c),
            sum.3 + c.wall_ns,
            sum.4.max(c.max_wall_ns),
            sum.5 + partners(run, &starts, c, (v, c.rank)).sends,
        );
    }
    let mut all: Vec<Row> = sums.into_iter().collect();
    all.sort_unstable_by_key(|e| e.0);
    let of = |figure: fn(&Row) -> f64| Column::known(all.iter().map(figure).collect());
    let counted = |figure: fn(&Row) -> f64| {
        Column::numbers(all.iter().map(|e| (e.1.0 > 0).then(|| figure(e))))
    };
    Table::new(all.len())
        .with("vertex", of(|e| f64::from(e.0.0)))
        .with("rank", of(|e| f64::from(e.0.1)))
        .with(name, of(|e| e.0.2 as f64))
        .with("count", counted(|e| e.1.0 as f64))
        .with("bytes", counted(|e| e.1.1 as f64))
        .with("sent", counted(|e| e.1.2 as f64))
        .with("messages", of(|e| e.1.5))
        .with("time", of(|e| e.1.3 as f64 * NANO))
        .with("longest", counted(|e| e.1.4 as f64 * NANO))
}

/// Calls by vertex, rank and size class: the number of bits of the message's byte count.
fn sizes(run: &Run, view: &RunView) -> Table {
    grouped(run, view, "size_class", |c| Some(i64::from(c.size_class)))
}

/// Calls that name a partner, by vertex, rank and partner's rank.
fn peers(run: &Run, view: &RunView) -> Table {
    let ranks = i64::from(run.header.ranks);
    grouped(run, view, "peer", |c| {
        let peer = i64::from(c.rank) + i64::from(c.peer);
        (0..ranks).contains(&peer).then_some(peer)
    })
}
