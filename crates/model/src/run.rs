//! One recorded run, as every later step sees it.
//!
//! The rows are what the collector counts per rank and thread (ScalAna, section III-B); the `format` crate defines
//! which bytes store them on disk. Rows of one table are sorted by rank, thread and then their key, so that the same
//! run results in the same bytes.

pub mod access;
mod calls;
pub mod python;
mod region;
mod symbol;
mod threads;
mod usage;

pub use calls::{CollectiveWait, Event, EventKind, MessageEdge, MpiCalls, peer, tag};
pub use region::{Region, RegionPart, RegionTime};
pub use symbol::{OUTSIDE, Part, Symbol, UNNAMED};
pub use threads::{TeamWork, ThreadInfo, ThreadWait, WaitKind};
pub use usage::{Energy, FileSystem, Usage};

use crate::printable::printable;
use crate::rank::{Rank, RankSet};
use serde::{Deserialize, Serialize};

/// Index of a calling context in [`Run::contexts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CtxId(pub u32);

impl CtxId {
    /// No context: the parent of an outermost frame, or "before the first MPI call".
    pub const NONE: CtxId = CtxId(u32::MAX);

    /// The index, or `None` for [`CtxId::NONE`].
    pub fn index(self) -> Option<usize> {
        (self != Self::NONE).then_some(self.0 as usize)
    }
}

/// Everything recorded of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// The run as a whole: program, machine, settings, and what could not be measured.
    pub header: Header,
    /// Executable and libraries that contexts point into.
    pub modules: Vec<Module>,
    /// Functions and their parts at the offsets of modules without machine code, by module and offset: those of a trace
    /// of another tool, and files of Python (`python`).
    pub symbols: Vec<Symbol>,
    /// The calling context tree, merged over ranks; a parent always comes before its children.
    pub contexts: Vec<Context>,
    /// Names of the MPI functions that `func` columns index.
    pub functions: Vec<String>,
    /// Communicators that `comm` columns index.
    pub comms: Vec<Comm>,
    /// One row per rank.
    pub ranks: Vec<RankInfo>,
    /// One row per thread that was recorded.
    pub threads: Vec<ThreadInfo>,
    /// CPU time samples of computation.
    pub samples: Vec<Sample>,
    /// Computation between two MPI calls, measured exactly.
    pub segments: Vec<Segment>,
    /// What threads of teams did between the points where a team comes together.
    pub teams: Vec<TeamWork>,
    /// Threads that waited for one another.
    pub waits: Vec<ThreadWait>,
    /// Regions that the program named, by rank, thread and context.
    pub regions: Vec<Region>,
    /// How long their iterations took, in the order of the regions.
    pub region_times: Vec<RegionTime>,
    /// MPI calls by context and parameters.
    pub calls: Vec<MpiCalls>,
    /// Sampled messages, both ends joined, by the pair of contexts they connect.
    pub messages: Vec<MessageEdge>,
    /// Sampled collective instances, by context.
    pub collectives: Vec<CollectiveWait>,
    /// Events of short stretches of the run in which every MPI event of every rank was recorded.
    pub events: Vec<Event>,
    /// What each process used, by rank. Empty in imported and older runs, as the next two.
    pub usage: Vec<Usage>,
    /// File systems with files of each process, by rank and name.
    pub file_systems: Vec<FileSystem>,
    /// Energy of each node, by node and zone.
    pub energy: Vec<Energy>,
}

impl Run {
    /// Whether this is a trace of another tool: its program is no file, and has symbols.
    pub fn is_imported(&self) -> bool {
        let module = |s: &Symbol| self.modules.get(s.module as usize);
        let is_python = |s: &Symbol| module(s).is_some_and(Module::is_python);
        self.symbols.iter().any(|s| !is_python(s))
    }

    /// Whether the program did without MPI. An imported run may have calls and not name its library.
    pub fn is_without_mpi(&self) -> bool {
        !self.header.uses_mpi() && self.calls.is_empty()
    }

    /// The name that the program gave a region.
    pub fn region_name(&self, region: &Region) -> Option<&str> {
        let context = self.contexts.get(region.ctx.index()?)?;
        self.modules.get(context.module as usize)?.region()
    }

    /// Name of the MPI function with index `func`; empty if the table does not have it.
    pub fn function(&self, func: u16) -> &str {
        self.functions.get(func as usize).map_or("", String::as_str)
    }
}

/// What is known of the run as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Header {
    /// Name of the run, `program.ranks[.job]`.
    pub name: String,
    /// Path of the measured program.
    pub program: String,
    /// GNU build id of the measured program, hexadecimal; empty where there is none.
    #[serde(default)]
    pub build_id: String,
    /// Command line of the measured program, without the launcher.
    pub command: Vec<String>,
    /// Command line of the launcher, if we started it.
    pub launcher: Vec<String>,
    /// Size of `MPI_COMM_WORLD`; 1 for a program without MPI.
    pub ranks: u32,
    /// Threads of each rank that the program was asked to use, where we asked it.
    #[serde(default)]
    pub threads_asked: Option<u32>,
    /// Host names, indexed by [`RankInfo::node`].
    pub nodes: Vec<String>,
    /// Processor cores available on each node, same order.
    pub cores: Vec<u32>,
    /// What the MPI library calls itself; empty for a program without MPI.
    pub mpi_library: String,
    /// Samples per second of CPU time at first; after 256 ticks of a thread half, then again at each doubling, to an eighth.
    pub sampling_hz: f64,
    /// Names of the columns of [`Sample::counters`].
    pub counters: Vec<String>,
    /// Start of the run, seconds since 1970.
    pub started_unix: f64,
    /// Longest time of any rank from `MPI_Init` to the end of `MPI_Finalize`, pauses of recording left out,
    /// seconds.
    pub wall_seconds: f64,
    /// Exit code of the launcher, if we started it.
    pub exit_code: Option<i32>,
    /// Largest uncertainty of the alignment of node clocks, seconds; 0 on one node.
    pub clock_error_seconds: f64,
    /// Ranks whose data stop before `MPI_Finalize`.
    pub incomplete: Vec<Rank>,
    /// Whether the program still ran when this was read: the data are those until then.
    #[serde(default)]
    pub still_running: bool,
    /// A process that a program without MPI had started, as a daemon does, and that went on when the program ended.
    #[serde(default)]
    pub went_on: Option<u32>,
    /// Ranks that lost records because the disk was full.
    #[serde(default)]
    pub disk_full: Vec<Rank>,
    /// Ranks that had more threads than are recorded.
    #[serde(default)]
    pub threads_lost: Vec<Rank>,
    /// Pauses of recording by `MPI_Pcontrol`: ranks that paused equally often are in one row.
    #[serde(default)]
    pub paused: Vec<Paused>,
    /// Event windows, by their numbers.
    #[serde(default)]
    pub windows: Vec<Window>,
    /// One sentence for each thing that could not be measured.
    pub missing: Vec<String>,
    /// How many recordings of this scale are pooled here; 0 in a recording itself.
    #[serde(skip)]
    pub recordings: u32,
}

/// Counters of the kernel, in the order in which a sample has them, before those of the processor.
pub const KERNEL_COUNTERS: [&str; 4] = [
    "page_faults",
    "context_switches",
    "run_queue_ns",
    "migrations",
];

/// A stretch of time in which every MPI event of every rank was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Window {
    /// Begin on the run's common clock, from the begin of the run, ns.
    pub begin_ns: u64,
    /// Length, ns.
    pub length_ns: u64,
    /// Whether it begins where the run does: no rank called MPI before.
    pub from_start: bool,
    /// Whether no rank calls MPI behind it.
    pub to_end: bool,
}

impl Header {
    /// Whether the program used MPI.
    pub fn uses_mpi(&self) -> bool {
        !self.mpi_library.is_empty() || self.ranks > 1
    }

    /// Says that the data stop before the program does; `None` if it has ended, or its recording has.
    pub fn so_far(&self) -> Option<String> {
        let goes_on = self.still_running && !self.incomplete.is_empty();
        goes_on.then(|| {
            format!(
                "{} still runs: the figures are those of its first {:.1} s.",
                self.name, self.wall_seconds
            )
        })
    }

    /// How often all ranks paused recording; `None` if some did more often than others. Ranks or scales can be compared
    /// only if they paused equally often: then all of them miss the same part of the program.
    pub fn pauses(&self) -> Option<u64> {
        match self.paused.as_slice() {
            [] => Some(0),
            [all] if all.ranks.len() as u32 == self.ranks => Some(all.times),
            _ => None,
        }
    }

    /// Whether all ranks paused recording equally often, or none did.
    pub fn paused_alike(&self) -> bool {
        self.pauses().is_some()
    }
}

/// Pauses of recording on some ranks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Paused {
    /// The ranks.
    pub ranks: RankSet,
    /// How often each of them paused.
    pub times: u64,
    /// Time of the shortest sum of a rank's pauses, seconds.
    pub shortest_seconds: f64,
    /// Time of the longest, seconds.
    pub longest_seconds: f64,
}

/// An executable or shared library.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Module {
    /// Path as the process saw it.
    pub path: String,
    /// GNU build id in hexadecimal, or empty.
    pub build_id: String,
}

/// What the path of a module begins with that is a region of the program and no file.
const REGION: &str = "region:";

/// What the build id of a file of Python begins with; its path follows.
const PYTHON: &str = "python:";

impl Module {
    /// A file of Python, whose functions and lines are places in it.
    pub fn of_python(path: &str) -> Self {
        let path = printable(path).into_owned();
        Self {
            build_id: format!("{PYTHON}{path}"),
            path,
        }
    }

    /// Whether it is a file of Python.
    pub fn is_python(&self) -> bool {
        self.build_id.starts_with(PYTHON)
    }

    /// The module of a region that the program named. It has no file, and one place.
    pub fn of_region(name: &str) -> Self {
        Self {
            path: format!("{REGION}{}", printable(&name.replace(['\n', '\t'], " "))),
            build_id: String::new(),
        }
    }

    /// The name of the region, if it is one.
    pub fn region(&self) -> Option<&str> {
        self.path.strip_prefix(REGION)
    }

    /// What identifies the module between runs: its build id, or its path where it has none.
    pub fn identity(&self) -> &str {
        if self.build_id.is_empty() {
            &self.path
        } else {
            &self.build_id
        }
    }
}

/// A node of the calling context tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Context {
    /// The caller's context, or [`CtxId::NONE`].
    pub parent: CtxId,
    /// Index into [`Run::modules`]; `u32::MAX` where the address is in no module.
    pub module: u32,
    /// Offset from the module's load base, as in its ELF symbol values. A return address points one
    /// past its call, so look up `offset - 1`; a sampled address (`exact`) is the instruction itself.
    pub offset: u64,
    /// Whether `offset` is a sampled instruction instead of a return address.
    pub exact: bool,
}

impl Context {
    /// The offset to look up in the structure: inside the call instruction, or the sample itself.
    pub fn lookup(&self) -> u64 {
        if self.exact {
            self.offset
        } else {
            self.offset.saturating_sub(1)
        }
    }
}

/// A communicator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Comm {
    /// Same on all member ranks; 1 is `MPI_COMM_WORLD`.
    pub hash: u64,
    /// Number of ranks in it.
    pub size: u32,
}

/// Totals of one rank.
#[derive(Clone, Debug, Default, PartialEq, Hash, Serialize, Deserialize)]
pub struct RankInfo {
    /// Rank in `MPI_COMM_WORLD`.
    pub rank: Rank,
    /// Index into [`Header::nodes`].
    pub node: u32,
    /// Number of cores that this process was allowed to run on.
    pub cpus_allowed: u32,
    /// Those cores, as `0-3,7`.
    pub cpus: String,
    /// Whether the rank reached `MPI_Finalize` and its data are complete.
    pub complete: bool,
    /// From process start to the end of the first MPI call, wall time.
    pub before_init_wall_ns: u64,
    /// CPU time of the same stretch.
    pub before_init_cpu_ns: u64,
    /// From leaving `MPI_Init` to entering `MPI_Finalize` (or the last sign of life), wall time, without the
    /// pauses of recording ([`Header::paused`]), which are in no other figure either.
    pub wall_ns: u64,
    /// CPU time of the same stretch, all threads. Like the four counts below it is read at the end of the stretch, so
    /// it is missing if the rank did not finish.
    pub cpu_ns: Option<u64>,
    /// Time inside MPI calls in that stretch, wall time of the recorded threads.
    pub mpi_wall_ns: u64,
    /// Time ready to run but without a core in that stretch.
    pub runq_ns: u64,
    /// Minor page faults.
    pub minor_faults: Option<u64>,
    /// Major page faults.
    pub major_faults: Option<u64>,
    /// Voluntary context switches.
    pub voluntary_switches: Option<u64>,
    /// Involuntary context switches.
    pub involuntary_switches: Option<u64>,
    /// How often a sample found the thread on another core than the sample before.
    pub migrations: u64,
    /// The core on which samples found it for two thirds of its computation or more, if there is one.
    pub core: Option<u64>,
}

/// Samples of computation at one place.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct Sample {
    /// Rank sampled.
    pub rank: Rank,
    /// Thread within the rank, in the order of first sight.
    pub thread: u16,
    /// Context of the MPI call that was left last before the sample; it joins samples to segments.
    pub after: CtxId,
    /// Where the sample fell; an `exact` context.
    pub ctx: CtxId,
    /// Number of samples.
    pub count: u32,
    /// CPU time that they represent.
    pub cpu_ns: u64,
    /// Time asleep in system calls made here, measured at the calls.
    pub blocked_ns: u64,
    /// Growth of the counters named in [`Header::counters`].
    pub counters: Vec<u64>,
}

/// Computation from leaving one MPI call to entering the next, summed over repetitions.
///
/// It is measured at the calls themselves and therefore exact, while samples are statistical: samples say *where* in
/// the segment, the segment says *how much*.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct Segment {
    /// Rank that computed.
    pub rank: Rank,
    /// Thread within the rank.
    pub thread: u16,
    /// Context of the MPI call left; [`CtxId::NONE`] before the first.
    pub from: CtxId,
    /// Context of the MPI call entered next.
    pub to: CtxId,
    /// Repetitions.
    pub count: u64,
    /// Wall time.
    pub wall_ns: u64,
    /// CPU time.
    pub cpu_ns: u64,
    /// Part of `wall - cpu` spent ready to run but without a core.
    pub runq_ns: u64,
    /// Part of `wall - cpu` spent asleep: input and output, sleeping, page faults to disk.
    pub blocked_ns: u64,
    /// Largest `cpu + blocked` of a single repetition.
    pub max_busy_ns: u64,
    /// Which repetition that was, counted from 0.
    pub max_at: u64,
}

impl Segment {
    /// Time that the rank needs whatever the scheduler does: CPU time plus time asleep.
    pub fn busy_ns(&self) -> u64 {
        self.cpu_ns + self.blocked_ns
    }
}

impl Default for CtxId {
    fn default() -> Self {
        Self::NONE
    }
}
