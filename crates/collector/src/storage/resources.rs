//! What the process uses, and the energy of its node: the system's counters at both ends of the recording.
//!
//! The rows are made at the begin. What is read at the end needs neither memory nor a lock, because a process may end in
//! a signal handler. Files are the exception: they are counted where the program opens them, where a call takes long,
//! and at an ordinary end.

use crate::guest::{clock, usage};
use crate::storage::process_spool::{has_stopped, with_spool};
use crate::storage::spool::Spool;
use headwater_format::spool::layout::{Resource, ResourceRow, ZONE_NAME, put_text};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// Counters of the process, in the order of the first rows.
const OF_PROCESS: [Resource; 7] = [
    Resource::PeakMemory,
    Resource::ReadBytes,
    Resource::Reads,
    Resource::WrittenBytes,
    Resource::Writes,
    Resource::StorageRead,
    Resource::StorageWritten,
];

/// Energy counters of a node at the most.
const ZONES: usize = 16;

/// Kinds of file systems at the most.
const FILE_SYSTEMS: usize = 16;

/// What is counted for each of them by calls that take long. These rows are behind those of the energy counters.
const OF_CALLS: [Resource; 2] = [Resource::LongCalls, Resource::LongCallTime];

/// What is counted for each of them otherwise. These rows are made as they are needed.
const OF_FILES: [Resource; 2] = [Resource::MpiFiles, Resource::OpenFiles];

/// Rows of the table.
pub const ROWS: u32 =
    (OF_PROCESS.len() + ZONES + (OF_CALLS.len() + OF_FILES.len()) * FILE_SYSTEMS) as u32;

/// Open files that are looked at in the end.
const MOST_FILES: usize = 4096;

/// The first row in the mapping; null without one.
static FIRST: AtomicPtr<ResourceRow> = AtomicPtr::new(std::ptr::null_mut());

/// The first row of long calls; null without one.
static LONG_CALLS: AtomicPtr<ResourceRow> = AtomicPtr::new(std::ptr::null_mut());

/// The files of the energy counters, whose rows follow those of the process.
static ENERGY: OnceLock<Vec<Zone>> = OnceLock::new();

/// An energy counter.
struct Zone {
    /// Its file, with NUL at the end.
    path: Vec<u8>,
    name: String,
    /// Behind this value it begins again; 0 if it does not.
    range: u64,
    /// Microjoules of its unit.
    unit: u64,
}

impl Zone {
    fn new(path: &Path, name: String, range: u64, unit: u64) -> Option<Self> {
        let mut path = path.as_os_str().as_encoded_bytes().to_vec();
        path.push(0);
        let this = Self {
            path,
            name,
            range,
            unit,
        };
        this.read().map(|_| this)
    }

    /// Microjoules.
    fn read(&self) -> Option<u64> {
        let mut text = [0; 64];
        let first = usage::words(usage::contents(&self.path, &mut text)).next()?;
        usage::number(first)?.checked_mul(self.unit)
    }
}

/// Energy counters that this user may read: the processor's (RAPL), by package and of its memory, and that of Cray's
/// nodes.
fn zones() -> Vec<Zone> {
    let listing = std::fs::read_dir("/sys/class/powercap")
        .into_iter()
        .flatten();
    let mut all: Vec<PathBuf> = listing.filter_map(|e| Some(e.ok()?.path())).collect();
    all.sort();
    let text = |path: PathBuf| Some(std::fs::read_to_string(path).ok()?.trim().to_string());
    let of_rapl = |dir: &PathBuf| {
        let name = text(dir.join("name"))?;
        let number = dir.file_name()?.to_str()?.strip_prefix("intel-rapl:")?;
        let name = match number.split_once(':') {
            None => name,
            // Parts of a package are in the package's counter, but its memory is not.
            Some((package, _)) if name == "dram" => format!("dram-{package}"),
            Some(_) => return None,
        };
        let range = text(dir.join("max_energy_range_uj"))?.parse().ok()?;
        Zone::new(&dir.join("energy_uj"), name, range, 1)
    };
    let cray = Path::new("/sys/cray/pm_counters/energy");
    let cray = Zone::new(cray, "node".to_string(), 0, 1_000_000);
    let all = all.iter().filter_map(of_rapl).chain(cray);
    all.take(ZONES).collect()
}

/// Reads the counters for the first time; this comes last before the recording begins.
pub fn begin(spool: &mut Spool) -> Option<()> {
    FIRST.store(std::ptr::null_mut(), Ordering::Release);
    LONG_CALLS.store(std::ptr::null_mut(), Ordering::Release);
    let zones = ENERGY.get_or_init(zones);
    let table = spool.resources()?;
    for what in OF_PROCESS {
        table.push(ResourceRow::new(what, 0))?;
    }
    for zone in zones {
        let mut row = ResourceRow::new(Resource::Energy, 0);
        row.range = zone.range;
        put_text(&mut row.name[..ZONE_NAME], zone.name.as_bytes());
        table.push(row)?;
    }
    let calls = table.len();
    for what in [OF_CALLS; FILE_SYSTEMS].into_iter().flatten() {
        table.push(ResourceRow::new(what, 0))?;
    }
    LONG_CALLS.store(std::ptr::from_mut(table.get(calls)?), Ordering::Release);
    let first = std::ptr::from_mut(table.get(0)?);
    usage::forget_own_reads();
    each(first, |row, now| {
        (row.begin, row.at_ns[0]) = (now.unwrap_or(0), clock::now());
        // A counter that could not be read now has no growth.
        row.ended = if now.is_some() { 0 } else { UNREADABLE };
    });
    FIRST.store(first, Ordering::Release);
    Some(())
}

/// In [`ResourceRow::ended`]: it could not be read at the begin.
const UNREADABLE: u32 = 2;

/// Reads the counters at the end. Neither allocates nor locks. If recording was ended before the program, they were read
/// then.
pub fn end() {
    let first = FIRST.load(Ordering::Acquire);
    if first.is_null() || has_stopped() {
        return;
    }
    each(first, |row, now| {
        let Some(now) = now.filter(|_| row.ended != UNREADABLE) else {
            return;
        };
        (row.end, row.at_ns[1]) = (now, clock::now());
        row.ended = 1;
    });
}

/// Gives each row of a counter to `f`, with what it says now. The most memory counts from the process's start.
fn each(first: *mut ResourceRow, mut f: impl FnMut(&mut ResourceRow, Option<u64>)) {
    let io = usage::io();
    let zones = ENERGY.get().map_or(&[][..], Vec::as_slice);
    let of_process = OF_PROCESS.iter().enumerate().map(|(i, what)| match what {
        Resource::PeakMemory => usage::peak_memory(),
        _ => io.and_then(|io| io.get(i - 1).copied()),
    });
    let values = of_process.chain(zones.iter().map(Zone::read));
    for (i, now) in values.enumerate() {
        // SAFETY: as many rows were made, in a mapping that stays; only the begin and the end of the process write them.
        let row = unsafe { &mut *first.add(i) };
        f(row, now);
        if row.what == Resource::PeakMemory as u32 {
            row.begin = 0;
        }
    }
}

/// A call that concerns an open file took so many nanoseconds. Neither allocates nor locks: the program may call from a
/// signal handler.
pub fn took_long(file: libc::c_int, nanoseconds: u64) {
    let first = LONG_CALLS.load(Ordering::Acquire);
    if first.is_null() {
        return;
    }
    let Some(kind) = usage::file_system_of(file).filter(|kind| *kind != 0) else {
        return;
    };
    // SAFETY: as many rows were made, in a mapping that stays. While recording, all threads use these fields as here.
    let words = |row| unsafe {
        let row = first.add(row);
        let which = AtomicU64::from_ptr(&raw mut (*row).which);
        (which, AtomicU64::from_ptr(&raw mut (*row).end))
    };
    for system in 0..FILE_SYSTEMS {
        let [calls, time] = [0, 1].map(|row| words(system * OF_CALLS.len() + row));
        let order = Ordering::Relaxed;
        let other = calls.0.compare_exchange(0, kind, order, order).err();
        if other.is_none_or(|other| other == kind) {
            time.0.store(kind, order);
            calls.1.fetch_add(1, order);
            time.1.fetch_add(nanoseconds, order);
            return;
        }
    }
}

/// Counts a file on a kind of file system.
fn count(spool: &mut Spool, what: Resource, which: u64) -> Option<()> {
    let table = spool.resources()?;
    let is_it = |row: &ResourceRow| (row.what, row.which) == (what as u32, which);
    let at = (0..table.len()).find(|at| table.get(*at).is_some_and(|row| is_it(row)));
    let at = match at {
        Some(at) => at,
        None if table.len() == ROWS => return None,
        None => table.push(ResourceRow::new(what, which))?,
    };
    table.get(at)?.end += 1;
    Some(())
}

/// The program has opened a file by MPI. `path` is its name, if that ends with NUL.
///
/// # Safety
/// `path` is null or a C string.
pub unsafe fn opened_by_mpi(path: *const libc::c_char) {
    // SAFETY: as promised; errno belongs to this thread.
    let which = unsafe {
        let errno = *libc::__errno_location();
        let which = usage::file_system(path);
        *libc::__errno_location() = errno;
        which
    };
    with_spool(|spool| count(spool, Resource::MpiFiles, which));
}

/// Counts the regular files that are open. Allocates.
pub fn count_open_files() {
    let listing = std::fs::read_dir("/proc/self/fd").into_iter().flatten();
    let numbers = listing.filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok());
    let numbers: Vec<libc::c_int> = numbers.take(MOST_FILES).collect();
    with_spool(|spool| {
        let table = spool.resources()?;
        // A recording may end several times.
        for at in 0..table.len() {
            if let Some(row) = table
                .get(at)
                .filter(|r| r.what == Resource::OpenFiles as u32)
            {
                row.end = 0;
            }
        }
        for file in numbers {
            let name = std::fs::read_link(format!("/proc/self/fd/{file}")).unwrap_or_default();
            // Memory that processes share is no file of a user.
            let is_memory = ["/dev/shm", "/memfd:"].iter().any(|at| {
                let name = name.as_os_str().as_encoded_bytes();
                name.starts_with(at.as_bytes())
            });
            if !is_memory
                && !spool.is(file)
                && let Some(which) = usage::file_system_of(file)
            {
                count(spool, Resource::OpenFiles, which);
            }
        }
        Some(())
    });
}
