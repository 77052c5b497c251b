//! Recorded runs joined on graphs, one for each build of their program: the input of a dataflow.

use crate::run::together::{self, RunError};
use crate::run::{cores, files, pauses, sleeping, stopped, threads};
use headwater_graph::view::{Column, Table, View, parallel, top_down};
use headwater_graph::{Pag, RunView, Structures};
use headwater_model::run::Run;
use rustc_hash::FxHasher;
use std::fmt::{self, Debug, Write};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

/// Makes computation comparable between ranks and scales: calls that concern files become work of their ranks, and
/// waits for threads that had no core are set aside.
fn prepare(run: &mut Run, structures: &Structures) {
    files::as_work(run);
    cores::set_aside(run, structures);
}

/// Removes what is neither work nor sleep of a rank. Returns a sentence for each run, if there is something to report.
pub fn clean(runs: &mut [Run]) -> Vec<Option<String>> {
    let one = |run: &mut Run| {
        sleeping::set_aside(run);
        stopped::set_aside(run)
    };
    runs.iter_mut().map(one).collect()
}

/// Sentences about each of several runs, if there is something to report.
#[derive(Clone, Debug, Default)]
struct Said {
    /// Which of its threads no figure covers.
    unseen: Vec<Option<String>>,
    /// How long the machine stopped its cores.
    stopped: Vec<Option<String>>,
}

/// Runs and the graph that they share.
#[derive(Debug)]
struct Joined {
    runs: Vec<Run>,
    pag: Pag,
    digests: Vec<u64>,
    /// Sentences about each run.
    said: Said,
    top_down: Vec<OnceLock<Arc<View>>>,
    parallel: Vec<OnceLock<Arc<View>>>,
    /// The runs as they were given, if they have calls that concern files.
    plain: Option<(Vec<Run>, Structures)>,
    /// The runs joined with calls that concern files as work.
    computing: OnceLock<Arc<Joined>>,
}

impl Joined {
    /// Joins prepared runs on one graph.
    fn new(mut runs: Vec<Run>, structures: Structures, digests: Vec<u64>, said: Said) -> Self {
        let pag = Pag::build(&mut runs, structures);
        let empty = || runs.iter().map(|_| OnceLock::new()).collect();
        let (top_down, parallel) = (empty(), empty());
        Self {
            runs,
            pag,
            digests,
            said,
            top_down,
            parallel,
            plain: None,
            computing: OnceLock::new(),
        }
    }
}

/// A copy of structures.
pub fn copy(structures: &Structures) -> Structures {
    Structures::new(structures.iter().map(|(m, s)| (m.clone(), s.clone())))
}

/// One of several runs that share a graph. Its views are made at their first use.
#[derive(Clone, Debug)]
pub struct Recorded {
    joined: Arc<Joined>,
    index: usize,
}

impl Recorded {
    /// Joins runs with the structures of their modules; returns one for each run, in the order given.
    ///
    /// Runs of one build share a graph. Modules are identified by their build id, so on a common graph each of two
    /// builds would have its own places. So each build has its own graph, and builds are compared by the call paths to
    /// places. A run with an unknown build counts as one of the first build.
    ///
    /// # Errors
    /// A run that cannot be analysed.
    pub fn join(runs: Vec<Run>, structures: Structures) -> Result<Vec<Self>, RunError> {
        runs.iter().try_for_each(together::whole)?;
        let mut builds: Vec<String> = Vec::new();
        for id in runs.iter().filter_map(together::build) {
            if !builds.iter().any(|known| known == id) {
                builds.push(id.to_string());
            }
        }
        if builds.len() < 2 {
            return Ok(Self::of_build(runs, structures));
        }
        let number = |run: &Run| {
            let id = together::build(run);
            builds.iter().position(|known| Some(known.as_str()) == id)
        };
        let mut of_builds: Vec<(Vec<usize>, Vec<Run>)> = vec![Default::default(); builds.len()];
        for (at, run) in runs.into_iter().enumerate() {
            let build = number(&run).unwrap_or(0);
            of_builds[build].0.push(at);
            of_builds[build].1.push(run);
        }
        let mut out: Vec<(usize, Self)> = Vec::new();
        for (places, all) in of_builds {
            let modules = all.iter().flat_map(|run| &run.modules);
            let own = modules.filter_map(|m| Some((m.clone(), structures.find(m)?.clone())));
            let own = Structures::new(own);
            out.extend(places.into_iter().zip(Self::of_build(all, own)));
        }
        out.sort_by_key(|(at, _)| *at);
        Ok(out.into_iter().map(|(_, run)| run).collect())
    }

    /// Runs of one build on one graph. Its vertices are numbered in the order of the runs, so the runs are put in an
    /// order that does not depend on how they were named.
    fn of_build(runs: Vec<Run>, structures: Structures) -> Vec<Self> {
        let (places, mut runs) = by_ranks(runs);
        let digests = digests(&runs, &structures);
        let unseen = runs.iter().map(threads::unseen).collect();
        let stopped = clean(&mut runs);
        for run in &mut runs {
            pauses::add_waits(run, &structures);
        }
        let plain = runs.iter().any(files::are_there);
        let plain = plain.then(|| (runs.clone(), copy(&structures)));
        for run in &mut runs {
            cores::set_aside(run, &structures);
        }
        let said = Said { unseen, stopped };
        let joined = Joined::new(runs, structures, digests, said);
        Self::all_of(Joined { plain, ..joined }, &places)
    }

    /// Joins runs of one build for questions about computation alone: as [`Recorded::computing`] returns them, and
    /// without the graph in which calls that concern files are calls.
    ///
    /// # Errors
    /// A run that cannot be analysed.
    pub fn join_computing(runs: Vec<Run>, structures: Structures) -> Result<Vec<Self>, RunError> {
        runs.iter().try_for_each(together::whole)?;
        let (places, mut runs) = by_ranks(runs);
        let mut digests = digests(&runs, &structures);
        if runs.iter().any(files::are_there) {
            digests.iter_mut().for_each(|d| *d = digest_computing(*d));
        }
        let unseen = runs.iter().map(threads::unseen).collect();
        let stopped = clean(&mut runs);
        for run in &mut runs {
            pauses::add_waits(run, &structures);
            prepare(run, &structures);
        }
        Ok(Self::all_of(
            Joined::new(runs, structures, digests, Said { unseen, stopped }),
            &places,
        ))
    }

    /// One for each of the joined runs, in the order in which they were given.
    fn all_of(joined: Joined, places: &[usize]) -> Vec<Self> {
        let joined = Arc::new(joined);
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_unstable_by_key(|index| places[*index]);
        let one = |index| Self {
            joined: joined.clone(),
            index,
        };
        order.into_iter().map(one).collect()
    }

    /// The same run with calls that concern files as work of their ranks, as in a diagnosis, for questions about
    /// computation; it has its own graph. The run itself if it has no such calls.
    pub fn computing(&self) -> Self {
        let Some((runs, structures)) = &self.joined.plain else {
            return self.clone();
        };
        let make = || {
            let mut runs = runs.clone();
            for run in &mut runs {
                prepare(run, structures);
            }
            let digests = self.joined.digests.iter().copied();
            let digests = digests.map(digest_computing).collect();
            let said = self.joined.said.clone();
            Arc::new(Joined::new(runs, copy(structures), digests, said))
        };
        Self {
            joined: self.joined.computing.get_or_init(make).clone(),
            index: self.index,
        }
    }

    /// Which of its threads no figure covers, in words, if there are any.
    pub fn unseen(&self) -> Option<&String> {
        self.joined.said.unseen.get(self.index)?.as_ref()
    }

    /// How long the machine stopped its cores, in words, if it did.
    pub fn stopped(&self) -> Option<&String> {
        self.joined.said.stopped.get(self.index)?.as_ref()
    }

    /// The run; its samples are in the graph.
    pub fn run(&self) -> &Run {
        &self.joined.runs[self.index]
    }

    /// Its number among the runs of its graph.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The graph.
    pub fn pag(&self) -> &Pag {
        &self.joined.pag
    }

    /// The run on the graph.
    pub fn on_graph(&self) -> &RunView {
        &self.joined.pag.runs[self.index]
    }

    /// A view with a table about its sampling: `sampled_every`, CPU seconds that a sample represents.
    fn with_sampling(&self, mut view: View) -> Arc<View> {
        let every = period(self.run(), self.on_graph());
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

    /// A number that distinguishes it from runs with other contents.
    pub fn digest(&self) -> u64 {
        self.joined.digests[self.index]
    }

    /// The run, or the same run with files as work, if a view comes from it; this makes no view.
    pub fn of_view(&self, view: &View) -> Option<Self> {
        let gave = |joined: &Joined| {
            let views = [&joined.top_down[self.index], &joined.parallel[self.index]];
            let mut made = views.into_iter().filter_map(OnceLock::get);
            made.any(|own| own.shares_graph(view))
        };
        if gave(&self.joined) {
            return Some(self.clone());
        }
        let joined = self.joined.computing.get().filter(|j| gave(j))?;
        Some(Self {
            joined: joined.clone(),
            index: self.index,
        })
    }

    /// Whether two share a graph, so that vertices of their top-down views are the same places.
    pub fn shares_graph(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.joined, &other.joined)
    }
}

/// CPU time that a sample represents, seconds: the requested period or more, because the rate falls in a long run, and
/// a timer that fires at ticks of the kernel produces fewer samples than requested.
pub fn period(run: &Run, view: &RunView) -> f64 {
    let asked = 1.0 / run.header.sampling_hz.max(1.0);
    asked.max(view.sampled_every)
}

/// Sorts runs by their number of ranks, those with equal numbers in the order given; returns their former positions
/// too.
fn by_ranks(runs: Vec<Run>) -> (Vec<usize>, Vec<Run>) {
    let mut all: Vec<(usize, Run)> = runs.into_iter().enumerate().collect();
    all.sort_by_key(|(_, run)| threads::scale(run));
    all.into_iter().unzip()
}

/// The digest of a run with files as work, from that of the run as it was given.
fn digest_computing(plain: u64) -> u64 {
    let mut hasher = FxHasher::default();
    ("computing", plain).hash(&mut hasher);
    hasher.finish()
}

/// A digest of each of the runs that share a graph: of its contents, and of what the graph is made from, which is all
/// of the runs and the structures, down to the number of vertices of their functions.
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

/// Hashes a value with all of its fields. Some of them are fractions, which have no hash, so the value is formatted as
/// text.
fn whole(thing: &impl Debug, hasher: &mut FxHasher) {
    // Hashing does not fail.
    let _ = write!(Hashed(hasher), "{thing:?}");
}

/// A hash of all that was recorded.
fn digest(run: &Run) -> u64 {
    let mut hasher = FxHasher::default();
    whole(&run.header, &mut hasher);
    (&run.modules, &run.symbols, &run.contexts, &run.functions).hash(&mut hasher);
    (&run.comms, &run.ranks, &run.threads).hash(&mut hasher);
    (&run.samples, &run.segments, &run.calls).hash(&mut hasher);
    (&run.messages, &run.collectives, &run.events).hash(&mut hasher);
    (&run.teams, &run.waits).hash(&mut hasher);
    (&run.regions, &run.region_times).hash(&mut hasher);
    (&run.usage, &run.file_systems, &run.energy).hash(&mut hasher);
    hasher.finish()
}
