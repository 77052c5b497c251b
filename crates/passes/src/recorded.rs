//! Recorded runs joined on graphs, one for each build of their program: what a dataflow begins with.

use crate::{cores, files, scale};
use headwater_graph::view::{Column, Table, View, parallel, top_down};
use headwater_graph::{Pag, RunView, Structures};
use headwater_model::run::Run;
use rustc_hash::FxHasher;
use std::fmt::{self, Debug, Write};
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

/// Makes computation comparable between ranks and scales: calls that concern files are work of their ranks, and
/// time in which a rank had no core is nobody's.
pub(crate) fn prepare(run: &mut Run, structures: &Structures) {
    files::as_work(run);
    cores::set_aside(run, structures);
}

/// Runs and the graph that they share.
#[derive(Debug)]
struct Joined {
    runs: Vec<Run>,
    pag: Pag,
    digests: Vec<u64>,
    top_down: Vec<OnceLock<Arc<View>>>,
    parallel: Vec<OnceLock<Arc<View>>>,
    /// As they came, where files as work would be something else.
    plain: Option<(Vec<Run>, Structures)>,
    /// Joined with files as work.
    computing: OnceLock<Arc<Joined>>,
}

impl Joined {
    /// Runs that are prepared on one graph.
    fn new(mut runs: Vec<Run>, structures: Structures, digests: Vec<u64>) -> Self {
        let pag = Pag::build(&mut runs, structures);
        let empty = || runs.iter().map(|_| OnceLock::new()).collect();
        let (top_down, parallel) = (empty(), empty());
        Self {
            runs,
            pag,
            digests,
            top_down,
            parallel,
            plain: None,
            computing: OnceLock::new(),
        }
    }
}

/// Structures once more.
fn copy(structures: &Structures) -> Structures {
    Structures::new(structures.iter().map(|(m, s)| (m.clone(), s.clone())))
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
    /// Runs of one build share a graph. Modules are known by their build id, so that on one graph each of two
    /// builds would have places of its own; so builds have a graph each, and are compared by the ways to places.
    ///
    /// # Errors
    /// A run that cannot be analysed.
    pub fn join(runs: Vec<Run>, structures: Structures) -> Result<Vec<Self>, RunError> {
        runs.iter().try_for_each(check)?;
        let mut builds: Vec<&str> = runs.iter().map(build).collect();
        builds.dedup();
        if builds.len() < 2 {
            return Ok(Self::of_build(runs, structures));
        }
        let mut of_builds: Vec<(String, Vec<(usize, Run)>)> = Vec::new();
        for (at, run) in runs.into_iter().enumerate() {
            match of_builds.iter_mut().find(|b| b.0 == build(&run)) {
                Some((_, all)) => all.push((at, run)),
                None => of_builds.push((build(&run).to_string(), vec![(at, run)])),
            }
        }
        let mut out: Vec<(usize, Self)> = Vec::new();
        for (_, all) in of_builds {
            let (places, all): (Vec<usize>, Vec<Run>) = all.into_iter().unzip();
            let modules = all.iter().flat_map(|run| &run.modules);
            let own = modules.filter_map(|m| Some((m.clone(), structures.find(m)?.clone())));
            let own = Structures::new(own);
            out.extend(places.into_iter().zip(Self::of_build(all, own)));
        }
        out.sort_by_key(|(at, _)| *at);
        Ok(out.into_iter().map(|(_, run)| run).collect())
    }

    /// Runs of one build on one graph.
    fn of_build(mut runs: Vec<Run>, structures: Structures) -> Vec<Self> {
        let digests = digests(&runs, &structures);
        let plain = runs.iter().any(files::are_there);
        let plain = plain.then(|| (runs.clone(), copy(&structures)));
        for run in &mut runs {
            cores::set_aside(run, &structures);
        }
        let n = runs.len();
        let joined = Joined::new(runs, structures, digests);
        let joined = Arc::new(Joined { plain, ..joined });
        let one = |index| Self {
            joined: joined.clone(),
            index,
        };
        (0..n).map(one).collect()
    }

    /// The same run with calls that concern files as work of their ranks, as a diagnosis has it, for questions
    /// about computation; it has a graph of its own. Itself where there are no such calls.
    pub fn computing(&self) -> Self {
        let Some((runs, structures)) = &self.joined.plain else {
            return self.clone();
        };
        let make = || {
            let mut runs = runs.clone();
            for run in &mut runs {
                prepare(run, structures);
            }
            let digest = |plain: &u64| {
                let mut hasher = FxHasher::default();
                ("computing", plain).hash(&mut hasher);
                hasher.finish()
            };
            let digests = self.joined.digests.iter().map(digest).collect();
            Arc::new(Joined::new(runs, copy(structures), digests))
        };
        Self {
            joined: self.joined.computing.get_or_init(make).clone(),
            index: self.index,
        }
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

    /// A view with how it was sampled beside it: `sampled_every`, CPU seconds that a sample stands for.
    fn with_sampling(&self, mut view: View) -> Arc<View> {
        let every = scale::period(self.run(), self.on_graph());
        let table = Table::new(1).with("sampled_every", Column::known(vec![every]));
        view.tables.insert("sampling", Arc::new(table));
        Arc::new(view)
    }

    /// Its top-down view.
    pub fn top_down(&self) -> &Arc<View> {
        let make = || self.with_sampling(top_down(self.pag(), self.run(), self.index));
        self.joined.top_down[self.index].get_or_init(make)
    }

    /// Its parallel view.
    pub fn parallel(&self) -> &Arc<View> {
        let top = self.top_down();
        let make = || self.with_sampling(parallel(self.pag(), self.run(), self.index, top));
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

/// The build id of a run's program; empty where none is known.
fn build(run: &Run) -> &str {
    let header = &run.header;
    let program = run.modules.iter().find(|m| m.path == header.program);
    match program.map(|m| m.build_id.as_str()) {
        Some(known) if header.build_id.is_empty() => known,
        _ => &header.build_id,
    }
}

/// What tells each of the runs that share a graph from others: its contents, and what the graph is made of, which
/// are all of the runs and the structures, down to the depth to which these have loops.
fn digests(runs: &[Run], structures: &Structures) -> Vec<u64> {
    let all: Vec<u64> = runs.iter().map(digest).collect();
    let mut graph = FxHasher::default();
    all.hash(&mut graph);
    for (module, structure) in structures.iter() {
        (module, structure.functions.len()).hash(&mut graph);
        for function in &structure.functions {
            function.vertices.len().hash(&mut graph);
        }
    }
    let of_run = |own: u64| {
        let mut hasher = graph.clone();
        own.hash(&mut hasher);
        hasher.finish()
    };
    all.into_iter().map(of_run).collect()
}

/// Hashes what is written to it.
struct Hashed<'a>(&'a mut FxHasher);

impl Write for Hashed<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

/// Hashes something with all of its fields, some of which are fractions, which have no hash: it is written out for it.
fn whole(thing: &impl Debug, hasher: &mut FxHasher) {
    // Hashing does not fail.
    let _ = write!(Hashed(hasher), "{thing:?}");
}

/// A hash of all that was recorded.
fn digest(run: &Run) -> u64 {
    let mut hasher = FxHasher::default();
    whole(&run.header, &mut hasher);
    (&run.modules, &run.contexts, &run.functions).hash(&mut hasher);
    (&run.comms, &run.ranks, &run.threads).hash(&mut hasher);
    (&run.samples, &run.segments, &run.calls).hash(&mut hasher);
    (&run.messages, &run.collectives, &run.events).hash(&mut hasher);
    (&run.teams, &run.waits).hash(&mut hasher);
    hasher.finish()
}
