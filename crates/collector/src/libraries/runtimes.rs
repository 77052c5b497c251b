//! Finds the runtime's functions behind the wrappers.
//!
//! A program may see one runtime everywhere, or a runtime only from modules that bring their own, as those of Python
//! do. Each module's calls then go to the runtime that it would have called without us.
//!
//! Whether code belongs to a runtime is decided by the addresses of modules, without asking the loader. Asking it
//! would wait while another thread opens a library, and that thread may be waiting for this one. A runtime that is
//! linked into the program cannot be distinguished from the program, and is not treated as a runtime.

use crate::libraries::loader;
use headwater_call_path::Loaded;
use headwater_format::spool::layout;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The functions of one runtime, by their row in the table.
type Functions = [AtomicUsize; FUNCTIONS.len()];

/// Those that everybody sees.
static REAL: Functions = [const { AtomicUsize::new(0) }; FUNCTIONS.len()];

/// A module with a runtime of its own, and the functions that it sees.
struct Local {
    module: Range,
    real: Functions,
}

/// First address, and the one behind the last.
struct Range {
    start: AtomicU64,
    end: AtomicU64,
}

impl Range {
    const fn empty() -> Self {
        Self {
            start: AtomicU64::new(0),
            end: AtomicU64::new(0),
        }
    }

    #[inline]
    fn holds(&self, address: u64) -> bool {
        (self.start.load(Ordering::Relaxed)..self.end.load(Ordering::Acquire)).contains(&address)
    }

    fn set(&self, (start, end): (u64, u64)) {
        self.end.store(0, Ordering::Release);
        self.start.store(start, Ordering::Relaxed);
        self.end.store(end, Ordering::Release);
    }
}

/// Modules with a runtime of their own. For modules that do not fit here, functions are looked up at each call.
static LOCAL: [Local; 16] = [const {
    Local {
        module: Range::empty(),
        real: [const { AtomicUsize::new(0) }; FUNCTIONS.len()],
    }
}; 16];

/// How the names of runtimes' files begin.
const NAMES: [&str; 3] = ["libgomp", "libomp", "libiomp"];

/// The runtimes in the process, known by their file names or because one of their functions was found.
static RUNTIMES: [Range; 4] = [const { Range::empty() }; 4];

/// Held while a module or a runtime is recorded.
static NOTING: Mutex<()> = Mutex::new(());

/// A function.
#[derive(Clone, Copy)]
pub struct Real {
    /// Its address; 0 if there is none.
    pub address: usize,
    /// Whether its runtime reports its own events (`ompt`), so that the wrapper need not.
    pub reports_events: bool,
}

/// The function behind row `id`, for a call from `caller`.
#[inline]
pub fn real(id: usize, caller: u64) -> Real {
    let everybodys = REAL.get(id).map_or(0, |p| p.load(Ordering::Relaxed));
    let address = if everybodys == 0 {
        find(id, caller)
    } else {
        everybodys
    };
    Real {
        address,
        reports_events: reports_events(address as u64),
    }
}

/// The runtime that reports its own events.
static REPORTING: Range = Range::empty();

/// Notes that the runtime that holds `address` reports its own events. Returns `false` if it is part of the program.
pub fn note_reporting(address: u64) -> bool {
    let Some(range) = library_of(address) else {
        return false;
    };
    REPORTING.set(range);
    note_runtime(range);
    true
}

/// Whether code at `address` belongs to a runtime that reports its own events. The signal handler may call this.
#[inline]
pub fn reports_events(address: u64) -> bool {
    REPORTING.holds(address)
}

#[cold]
fn find(id: usize, caller: u64) -> usize {
    let (Some(name), Some(everybodys)) = (FUNCTIONS.get(id), REAL.get(id)) else {
        return 0;
    };
    let known = LOCAL.iter().find(|l| l.module.holds(caller));
    let known = known.and_then(|l| l.real.get(id));
    let own = known.map_or(0, |p| p.load(Ordering::Relaxed));
    if own != 0 {
        return own;
    }
    let found = loader::next(name);
    if found != 0 {
        note_who_has(found as u64);
        everybodys.store(found, Ordering::Relaxed);
        return found;
    }
    let found = loader::through(name, caller);
    if found != 0 {
        note_who_has(found as u64);
        note_module(id, caller, found);
    }
    found
}

/// Records the runtimes among the process's modules.
pub fn note_runtimes(modules: &[Loaded]) {
    for module in modules {
        let path = layout::text(&module.row.path);
        let file = path.rsplit('/').next().unwrap_or("");
        if NAMES.iter().any(|name| file.starts_with(name)) {
            note_runtime((module.row.start, module.row.end));
        }
    }
}

/// Records the runtime that holds a function.
fn note_who_has(function: u64) {
    if !is_runtime(function)
        && let Some(range) = library_of(function)
    {
        note_runtime(range);
    }
}

fn note_runtime(range: (u64, u64)) {
    let _alone = NOTING.lock();
    let free = RUNTIMES.iter().find(|r| r.end.load(Ordering::Relaxed) == 0);
    if let Some(free) = free.filter(|_| !is_runtime(range.0)) {
        free.set(range);
    }
}

/// Records a function that a module sees.
fn note_module(id: usize, caller: u64, found: usize) {
    let module = range_of(caller).map(|m| m.0);
    let _alone = NOTING.lock();
    let is_free = |l: &&Local| l.module.end.load(Ordering::Relaxed) == 0;
    let place = match LOCAL.iter().find(|l| l.module.holds(caller)) {
        Some(known) => Some(known),
        None => module.and_then(|range| {
            let free = LOCAL.iter().find(is_free)?;
            free.real.iter().for_each(|p| p.store(0, Ordering::Relaxed));
            free.module.set(range);
            Some(free)
        }),
    };
    if let Some(function) = place.and_then(|p| p.real.get(id)) {
        function.store(found, Ordering::Relaxed);
    }
}

/// Whether code at `address` belongs to a runtime, which forms its own teams.
pub fn is_runtime(address: u64) -> bool {
    RUNTIMES.iter().any(|r| r.holds(address))
}

/// Forgets what was found: libraries were unloaded.
pub fn forget() {
    REAL.iter().for_each(|p| p.store(0, Ordering::Relaxed));
    let _alone = NOTING.lock();
    let modules = LOCAL.iter().map(|l| &l.module);
    modules.chain(&RUNTIMES).for_each(|r| r.set((0, 0)));
    // A runtime that reports its own events is finalized before it is unloaded, and is initialized again when it is
    // loaded again.
}

/// First address, and the one behind the last, of the library that holds an address; `None` if that is the program
/// itself.
fn library_of(address: u64) -> Option<(u64, u64)> {
    range_of(address).filter(|m| !m.1).map(|m| m.0)
}

/// The same of any module, and whether it is the program.
fn range_of(address: u64) -> Option<((u64, u64), bool)> {
    /// The address; the module's range when it is found, and whether it is the program; whether others were seen.
    type Search = (u64, Option<((u64, u64), bool)>, bool);
    unsafe extern "C" fn visit(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        data: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: `data` is the search below; `info` is valid during the call, with as many headers as it says.
        let (search, info, headers) = unsafe {
            let info = &*info;
            let headers = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize);
            (&mut *data.cast::<Search>(), info, headers)
        };
        let loaded = headers.iter().filter(|h| h.p_type == libc::PT_LOAD);
        let parts =
            loaded.map(|h| info.dlpi_addr + h.p_vaddr..info.dlpi_addr + h.p_vaddr + h.p_memsz);
        let (mut all, mut holds) = ((u64::MAX, 0), false);
        for part in parts {
            holds |= part.contains(&search.0);
            all = (all.0.min(part.start), all.1.max(part.end));
        }
        // The program is the first one.
        search.1 = holds.then_some((all, !search.2));
        search.2 = true;
        libc::c_int::from(holds)
    }
    let mut search: Search = (address, None, false);
    // SAFETY: the callback gets our search back and is called before this function returns.
    unsafe { libc::dl_iterate_phdr(Some(visit), std::ptr::from_mut(&mut search).cast()) };
    search.1
}

include!(concat!(env!("OUT_DIR"), "/runtime_functions.rs"));
