//! Recorded runs joined on one graph: what a dataflow begins with.

use crate::cores;
use headwater_graph::view::{View, parallel, top_down};
use headwater_graph::{Pag, RunView, Structures};
use headwater_model::run::Run;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

/// A run that cannot be analysed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// Nothing recorded.
    #[error("run {0} holds no MPI activity; record it again and check that the program calls MPI")]
    Empty(String),
    /// A number of ranks that cannot be.
    #[error(
        "run {0} says that it had {1} ranks, which no run has; its header is damaged, so record it again"
    )]
    Ranks(String, u32),
}

/// More ranks than any machine runs; a larger number is a damaged file, not something to allocate.
const MOST_RANKS: u32 = 1 << 24;

/// Checks that a run can be put on a graph.
pub(crate) fn check(run: &Run) -> Result<(), RunError> {
    let name = || run.header.name.clone();
    if run.ranks.is_empty() || run.segments.is_empty() && run.calls.is_empty() {
        return Err(RunError::Empty(name()));
    }
    if !(1..=MOST_RANKS).contains(&run.header.ranks) {
        return Err(RunError::Ranks(name(), run.header.ranks));
    }
    Ok(())
}

/// Runs and the graph that they share.
#[derive(Debug)]
struct Joined {
    runs: Vec<Run>,
    pag: Pag,
    digests: Vec<u64>,
    top_down: Vec<OnceLock<Arc<View>>>,
    parallel: Vec<OnceLock<Arc<View>>>,
}

/// One of several runs that share a graph. Its views are made when they are first asked for.
#[derive(Clone, Debug)]
pub struct Recorded {
    joined: Arc<Joined>,
    index: usize,
}

impl Recorded {
    /// Joins runs with the structures of their modules; one for each run, in the order given.
    ///
    /// Runs may be of different builds or programs: places that are not the same are then different vertices.
    ///
    /// # Errors
    /// A run that cannot be analysed.
    pub fn join(mut runs: Vec<Run>, structures: Structures) -> Result<Vec<Self>, RunError> {
        runs.iter().try_for_each(check)?;
        let digests = runs.iter().map(digest).collect();
        for run in &mut runs {
            cores::set_aside(run, &structures);
        }
        let pag = Pag::build(&mut runs, structures);
        let n = runs.len();
        let empty = || (0..n).map(|_| OnceLock::new()).collect();
        let joined = Arc::new(Joined {
            runs,
            pag,
            digests,
            top_down: empty(),
            parallel: empty(),
        });
        let one = |index| Self {
            joined: joined.clone(),
            index,
        };
        Ok((0..n).map(one).collect())
    }

    /// The run; its samples are in the graph.
    pub fn run(&self) -> &Run {
        &self.joined.runs[self.index]
    }

    /// The graph.
    pub fn pag(&self) -> &Pag {
        &self.joined.pag
    }

    /// The run on the graph.
    pub fn on_graph(&self) -> &RunView {
        &self.joined.pag.runs[self.index]
    }

    /// Its top-down view.
    pub fn top_down(&self) -> &Arc<View> {
        let make = || Arc::new(top_down(self.pag(), self.run(), self.index));
        self.joined.top_down[self.index].get_or_init(make)
    }

    /// Its parallel view.
    pub fn parallel(&self) -> &Arc<View> {
        let top = self.top_down();
        let make = || Arc::new(parallel(self.pag(), self.run(), self.index, top));
        self.joined.parallel[self.index].get_or_init(make)
    }

    /// What tells it from runs with other contents.
    pub fn digest(&self) -> u64 {
        self.joined.digests[self.index]
    }

    /// Whether two share a graph, so that vertices of their top-down views are the same places.
    pub fn shares_graph(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.joined, &other.joined)
    }
}

/// A hash of what was recorded.
fn digest(run: &Run) -> u64 {
    let mut hasher = FxHasher::default();
    let header = &run.header;
    (
        &header.name,
        &header.program,
        &header.build_id,
        header.ranks,
    )
        .hash(&mut hasher);
    header.started_unix.to_bits().hash(&mut hasher);
    header.wall_seconds.to_bits().hash(&mut hasher);
    for module in &run.modules {
        module.hash(&mut hasher);
    }
    for context in &run.contexts {
        context.hash(&mut hasher);
    }
    run.functions.hash(&mut hasher);
    for s in &run.samples {
        (
            s.rank,
            s.thread,
            s.after,
            s.ctx,
            s.count,
            s.cpu_ns,
            s.blocked_ns,
            &s.counters,
        )
            .hash(&mut hasher);
    }
    for s in &run.segments {
        (s.rank, s.thread, s.from, s.to, s.count, s.wall_ns).hash(&mut hasher);
        (s.cpu_ns, s.runq_ns, s.blocked_ns, s.max_busy_ns, s.max_at).hash(&mut hasher);
    }
    for c in &run.calls {
        (
            c.rank,
            c.thread,
            c.ctx,
            c.func,
            c.comm,
            c.peer,
            c.tag,
            c.size_class,
        )
            .hash(&mut hasher);
        (
            c.count,
            c.bytes,
            c.wall_ns,
            c.cpu_ns,
            c.runq_ns,
            c.max_wall_ns,
        )
            .hash(&mut hasher);
    }
    for m in &run.messages {
        (
            m.src, m.dst, m.send_ctx, m.post_ctx, m.recv_ctx, m.sampled, m.bytes,
        )
            .hash(&mut hasher);
        (m.late_sender_ns, m.late_senders, m.late_receiver_ns).hash(&mut hasher);
    }
    for c in &run.collectives {
        (
            c.rank,
            c.ctx,
            c.func,
            c.comm,
            c.sampled,
            c.wait_ns,
            c.last,
            c.after_last_ns,
        )
            .hash(&mut hasher);
    }
    for t in &run.teams {
        (t.rank, t.thread, t.team, t.from, t.to, t.count, t.wall_ns).hash(&mut hasher);
        (t.cpu_ns, t.runq_ns, t.blocked_ns, t.locked_ns, t.wait_ns).hash(&mut hasher);
    }
    for w in &run.waits {
        (
            w.rank,
            w.thread,
            w.ctx,
            w.kind,
            w.holder,
            w.holder_ctx,
            w.count,
            w.wait_ns,
        )
            .hash(&mut hasher);
    }
    for e in &run.events {
        (
            e.window, e.rank, e.thread, e.ctx, e.kind, e.link, e.busy_ns, e.enter_ns, e.mpi_ns,
        )
            .hash(&mut hasher);
    }
    hasher.finish()
}
