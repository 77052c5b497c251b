//! The graph as a whole: one top-down view, and a view of each run.

use crate::barriers;
use crate::columns::RankRows;
use crate::computation::{Computation, HotLines};
use crate::embed::place;
use crate::keys::Mapped;
use crate::mapping::map_contexts;
use crate::parallel::ParallelView;
use crate::stages::Stages;
use crate::structures::Structures;
use crate::threads::{self, ThreadView};
use crate::topdown::{TopDown, VertexIx};
use headwater_model::diagnosis::Place;
use headwater_model::run::{Context, CtxId, Run, Sample};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The Program Abstraction Graph of several runs of one program.
#[derive(Debug)]
pub struct Pag {
    /// Structures of the modules.
    pub structures: Structures,
    /// The view that all runs share.
    pub top: TopDown,
    /// Children of each vertex of it, in index order.
    pub children: Vec<Vec<VertexIx>>,
    /// A view of each run, in the order given.
    pub runs: Vec<RunView>,
    /// Calls of barriers that have several.
    barriers: FxHashMap<VertexIx, VertexIx>,
    /// By team and call of a barrier outside of it: the call inside of it.
    met_from_outside: FxHashMap<(VertexIx, VertexIx), VertexIx>,
    /// For each vertex, the source line with the most sampled CPU time.
    hottest: FxHashMap<VertexIx, u32>,
    /// Sampled CPU time of each run by vertex and source line, nanoseconds.
    lines: Vec<HotLines>,
}

/// One run on the graph.
#[derive(Debug)]
pub struct RunView {
    /// Ranks.
    pub ranks: u32,
    /// Vertex of each context.
    pub ctx_vertex: Vec<VertexIx>,
    /// CPU time that a sample of computation represents on average, seconds; 0 without samples.
    pub sampled_every: f64,
    /// Computation by preceding MPI call and vertex, over ranks.
    pub computation: Computation,
    /// Time in MPI calls by vertex over ranks, wall seconds.
    pub mpi: RankRows,
    /// Edges.
    pub parallel: ParallelView,
    /// What the threads did, for ranks that have several.
    pub threads: ThreadView,
}

impl RunView {
    /// The vertex of a context.
    pub fn vertex(&self, ctx: CtxId) -> Option<VertexIx> {
        ctx.index().and_then(|i| self.ctx_vertex.get(i)).copied()
    }
}

impl Pag {
    /// Joins `runs` with the structures of their modules. A module without structure gets an empty one.
    ///
    /// The samples are removed from the runs: they need most of a run's memory, and the graph contains their
    /// information afterwards.
    pub fn build(runs: &mut [Run], mut structures: Structures) -> Self {
        // The segments of a rank do not contain the computation of threads that call no MPI.
        let workers: Vec<Vec<Sample>> = runs.iter_mut().map(threads::take_workers).collect();
        let mut top = TopDown::default();
        let mapped: Vec<Mapped> = runs
            .iter()
            .map(|run| Mapped {
                ctx_vertex: map_contexts(run, &mut structures, &mut top),
                stages: Stages::new(run, &mut structures, &mut top),
            })
            .collect();
        let mut hot_lines = HotLines::default();
        let mut lines = Vec::new();
        for ((run, mapped), workers) in runs.iter().zip(&mapped).zip(&workers) {
            let mut own = HotLines::default();
            add_hot_lines(run, workers, mapped, &structures, &mut own);
            for (at, cpu) in &own {
                *hot_lines.entry(*at).or_default() += cpu;
            }
            lines.push(own);
        }
        let views: Vec<RunView> = runs
            .iter_mut()
            .zip(mapped)
            .zip(workers)
            .map(|((run, mapped), workers)| {
                let mut view = view(run, &workers, mapped, &top);
                crate::futex::name(&top, &structures, &mut view.parallel.threads);
                run.samples = Vec::new();
                view
            })
            .collect();
        let barriers = barriers::first_calls(&views, &top, &structures);
        Self {
            met_from_outside: barriers::from_outside(&views, &top, &structures, &barriers),
            barriers,
            structures,
            children: top.children(),
            top,
            runs: views,
            hottest: hottest(&hot_lines),
            lines,
        }
    }

    /// The first call of the barrier of `team` that `v` is a call of; `v` itself where nothing else is one.
    pub fn barrier(&self, team: VertexIx, v: VertexIx) -> VertexIx {
        let first = self.barriers.get(&v).copied().unwrap_or(v);
        let inside = self.met_from_outside.get(&(team, first)).copied();
        inside.unwrap_or(first)
    }

    /// Whether the team that `v` begins is of threads that the program makes there, and not of an OpenMP runtime.
    pub fn makes_threads(&self, v: VertexIx) -> bool {
        let name = self.place(v).name;
        ["pthread_", "thrd_", "std::thread::"]
            .iter()
            .any(|p| name.starts_with(p))
    }

    /// Whether the team that `v` begins is of threads of an OpenMP runtime, which live on behind it.
    pub fn begins_region(&self, v: VertexIx) -> bool {
        let name = self.place(v).name;
        ["GOMP_", "__kmpc_"].iter().any(|p| name.starts_with(p))
    }

    /// Where `v` is, with its hottest line.
    pub fn place(&self, v: VertexIx) -> Place {
        let mut place = self.top.place(&self.structures, v);
        place.hot_line = self.hottest.get(&v).copied().unwrap_or(place.first_line);
        place
    }

    /// Sampled CPU seconds of a run in the vertices that are wanted, without those inside them, by source line.
    pub fn line_seconds(&self, run: usize, wanted: impl Fn(VertexIx) -> bool) -> Vec<(u32, f64)> {
        let mut sums: BTreeMap<u32, u64> = BTreeMap::new();
        for ((vertex, line), cpu) in self.lines.get(run).into_iter().flatten() {
            if *line > 0 && wanted(*vertex) {
                *sums.entry(*line).or_default() += cpu;
            }
        }
        sums.into_iter()
            .map(|(line, cpu)| (line, cpu as f64 * 1e-9))
            .collect()
    }

    /// Call path to `v`, outermost first.
    pub fn call_path(&self, v: VertexIx) -> Vec<Place> {
        self.top.call_path(&self.structures, v)
    }

    /// The hottest source line of every vertex that has samples.
    pub(crate) fn hottest_lines(&self) -> &FxHashMap<VertexIx, u32> {
        &self.hottest
    }

    /// `v` and everything inside it.
    pub fn inside(&self, v: VertexIx) -> impl Iterator<Item = VertexIx> + '_ {
        let mut open = vec![v];
        std::iter::from_fn(move || {
            let next = open.pop()?;
            open.extend(self.children.get(next as usize).into_iter().flatten());
            Some(next)
        })
    }
}

/// For each vertex, the line with the most CPU time; ties go to the smaller line.
fn hottest(lines: &HotLines) -> FxHashMap<VertexIx, u32> {
    let mut most: FxHashMap<VertexIx, (u64, Reverse<u32>)> = FxHashMap::default();
    for ((vertex, line), cpu) in lines {
        let own = (*cpu, Reverse(*line));
        let best = most.entry(*vertex).or_insert(own);
        *best = own.max(*best);
    }
    most.into_iter().map(|(v, (_, line))| (v, line.0)).collect()
}

fn add_hot_lines(
    run: &Run,
    workers: &[Sample],
    mapped: &Mapped,
    structures: &Structures,
    hot: &mut HotLines,
) {
    let modules: Vec<_> = run.modules.iter().map(|m| structures.find(m)).collect();
    let mut add = |context: Option<&Context>, v: VertexIx, n: u64| {
        let Some(context) = context.filter(|_| n > 0) else {
            return;
        };
        let structure = modules.get(context.module as usize).copied().flatten();
        if let Some((_, line)) = structure.and_then(|s| s.line(context.lookup())) {
            *hot.entry((v, line)).or_default() += n;
        }
    };
    // A context has one vertex, except for the few that were sampled before the first or after the last MPI call.
    let mut by_ctx = vec![0u64; run.contexts.len()];
    for sample in &run.samples {
        match (mapped.stages.base(sample.after), sample.ctx.index()) {
            (Some(_), Some(i)) => {
                if let Some(key) = mapped.key(sample.after, sample.ctx) {
                    add(run.contexts.get(i), key.vertex, sample.cpu_ns);
                }
            }
            (_, index) => {
                if let Some(sum) = index.and_then(|i| by_ctx.get_mut(i)) {
                    *sum += sample.cpu_ns;
                }
            }
        }
    }
    for sample in workers {
        if let Some(sum) = sample.ctx.index().and_then(|i| by_ctx.get_mut(i)) {
            *sum += sample.cpu_ns;
        }
    }
    for ((context, &v), n) in run.contexts.iter().zip(&mapped.ctx_vertex).zip(by_ctx) {
        add(Some(context), v, n);
    }
}

fn view(run: &Run, workers: &[Sample], mapped: Mapped, top: &TopDown) -> RunView {
    let computation = place(run, &mapped, top);
    let (count, cpu) = run.samples.iter().fold((0u64, 0u64), |sum, s| {
        (sum.0 + u64::from(s.count), sum.1 + s.cpu_ns)
    });
    let threads = ThreadView::new(run, workers, &mapped, top);
    let ctx_vertex = mapped.ctx_vertex;
    let mut mpi: Vec<(u32, u32, f64)> = run
        .calls
        .iter()
        // A rank that the run does not have is a damaged row, not a row to make room for.
        .filter(|c| c.rank < run.header.ranks)
        .filter_map(|c| {
            Some((
                *ctx_vertex.get(c.ctx.index()?)?,
                c.rank,
                c.wall_ns as f64 * 1e-9,
            ))
        })
        .collect();
    mpi.sort_by_key(|m| (m.0, m.1));
    let parallel = ParallelView::new(run, &ctx_vertex);
    RunView {
        ranks: run.header.ranks,
        sampled_every: cpu as f64 * 1e-9 / count.max(1) as f64,
        computation,
        mpi: RankRows::from_sorted(&mpi),
        parallel,
        threads,
        ctx_vertex,
    }
}
