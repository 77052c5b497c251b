//! What the traces of a process's threads have in common.

use crate::libraries::loader;
use crate::storage::process_spool;
use headwater_mpi_abi::{FUNCTIONS, Kind as Meaning, fields};
use headwater_mpi_call::library::Library;
use headwater_mpi_call::parameters::{Made, Tables};
use headwater_trace::budget::{Budget, USUAL_MEBIBYTES};
use headwater_trace::likeness::Slack;
use headwater_trace::lossy::Lossy;
use headwater_trace::trace::{Kind, Loss, Trace};
use std::ffi::CString;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

static PROCESS: OnceLock<Process> = OnceLock::new();

/// What is said of a rank until its trace is written.
pub const UNFINISHED: &str =
    "The trace of some ranks ends early or is missing, because they did not reach the end of MPI.";

/// The handles of a process, and how it is traced.
pub struct Process {
    /// Numbers of handles.
    pub tables: Tables,
    /// Memory for the events of all threads.
    pub budget: Arc<Budget>,
    /// How alike call paths must be to be one.
    pub slack: Slack,
    /// Which parameters may become histograms.
    pub lossy: Option<Lossy>,
    /// This process's rank in the world.
    pub rank: u32,
    /// Ranks of the world.
    pub size: u32,
    /// By function: what its values mean.
    kinds: Vec<Vec<Kind>>,
    made: Mutex<Vec<Made>>,
    /// Threads whose calls could not be recorded.
    lost: Mutex<Vec<u32>>,
    /// The function that ends all processes.
    pub abort: Option<u16>,
    /// Starts a thread of ours.
    pub start: fn(fn()) -> bool,
}

/// The process that is traced; `None` if none is.
#[inline]
pub fn process() -> Option<&'static Process> {
    PROCESS.get()
}

/// Rank `rank` of `size` begins to be traced, if that is wanted. `start` starts a thread of ours, and returns whether it
/// could.
pub fn begin(
    library: &'static Library,
    rank: u32,
    size: u32,
    threaded: bool,
    start: fn(fn()) -> bool,
) {
    if std::env::var_os("HEADWATER_TRACE").is_none_or(|v| v.is_empty() || v == "0") {
        return;
    }
    let frames = std::env::var("HEADWATER_TRACE_SLACK").ok();
    let frames = frames.and_then(|v| v.parse().ok()).unwrap_or(0);
    let ranges = std::env::var("HEADWATER_TRACE_ALIKE").ok();
    let ranges = ranges.map_or(Vec::new(), |v| Slack::read_ranges(&v));
    let terms = std::env::var("HEADWATER_TRACE_LOSSY").ok();
    let terms = terms.and_then(|v| v.parse().ok());
    let symbol = |name: &str| {
        let name = CString::new(name).unwrap_or_default();
        loader::symbol(&name)
    };
    let mebibytes = std::env::var("HEADWATER_TRACE_MEMORY").ok();
    let mebibytes = mebibytes.and_then(|v| v.parse::<u32>().ok());
    let mebibytes = mebibytes.unwrap_or(USUAL_MEBIBYTES) as usize;
    process_spool::say(UNFINISHED);
    PROCESS.get_or_init(|| Process {
        tables: Tables::new(library, rank, size, threaded, &symbol),
        budget: Arc::new(Budget::new(mebibytes.saturating_mul(1 << 20))),
        slack: Slack { frames, ranges },
        lossy: terms.map(|terms| Lossy {
            terms,
            columns: headwater_mpi_abi::may_be_histograms,
        }),
        rank,
        size,
        kinds: (0..FUNCTIONS.len() as u16).map(kinds).collect(),
        made: Mutex::new(Vec::new()),
        lost: Mutex::new(Vec::new()),
        abort: headwater_mpi_abi::id_of("MPI_Abort").map(|id| id.0),
        start,
    });
}

fn kinds(function: u16) -> Vec<Kind> {
    let of = |kind: Meaning| match kind {
        Meaning::Peer | Meaning::Root | Meaning::StatusSource => Kind::Peer,
        Meaning::Comm => Kind::Comm,
        Meaning::Text => Kind::Text,
        kind if kind.is_list() => Kind::List,
        _ => Kind::Plain,
    };
    fields(function)
        .iter()
        .map(|field| of(field.kind))
        .collect()
}

impl Process {
    /// Bytes for each communicator that was made, while the list of them grows.
    pub const FOR_EACH_MADE: usize = 3 * size_of::<Made>();

    /// What the values of a function mean.
    pub fn kinds(&self, function: u16) -> &[Kind] {
        self.kinds
            .get(usize::from(function))
            .map_or(&[], Vec::as_slice)
    }

    /// A communicator was made.
    #[cold]
    pub fn add(&self, made: Made) {
        let mut all = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(made);
    }

    /// The calls of a thread could not be recorded.
    #[cold]
    pub fn lose(&self, thread: u32) {
        let mut all = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(thread);
    }

    /// The trace of the process, without streams yet.
    pub fn trace(&self) -> Trace {
        let mut trace = Trace::of_rank(self.rank, self.size);
        trace.add_communicator(0, self.rank, self.rank, self.size);
        trace.add_communicator(1, self.rank, 0, 1);
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        for made in made.iter() {
            trace.add_communicator(made.number, self.rank, made.rank, made.size);
        }
        let lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        // How many calls it made, nobody knows: at least the one that failed.
        trace.losses.extend(lost.iter().map(|thread| Loss {
            rank: self.rank,
            thread: *thread,
            kept: 0,
            lost: 1,
        }));
        trace
    }
}
