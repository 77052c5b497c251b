//! What the process as a whole has: the spool file and the rank.

use crate::in_force;
pub use crate::in_force::{are_away, look_at_modules, tables, while_modules_change};
use crate::memory;
use crate::modules::copy_text;
use crate::spool::{self, Spool};
use crate::{clock, past, pause};
use headwater_format::spool::layout::{self, UNKNOWN_NAME};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// What holds in the process that began alone: on pages of its own, which the kernel empties in a child, as not all
/// ways to make one call the handlers of `fork`.
#[cfg_attr(target_arch = "x86_64", repr(C, align(4096)))]
#[cfg_attr(target_arch = "aarch64", repr(C, align(65536)))]
struct Own {
    /// That these pages are those of the process that began.
    here: AtomicBool,
    recording: AtomicBool,
    stopped: AtomicBool,
}

static OWN: Own = Own {
    here: AtomicBool::new(false),
    recording: AtomicBool::new(false),
    stopped: AtomicBool::new(false),
};

/// Whether calls are recorded: between `MPI_Init` and `MPI_Finalize`, or the first session and the last, in
/// the process that began.
pub static RECORDING: &AtomicBool = &OWN.recording;
/// Whether recording had to stop in the middle, for want of memory: other ranks wait for this one at the
/// end all the same.
static STOPPED: &AtomicBool = &OWN.stopped;
/// Whether recording ever began, here or in a process that this one is a child of.
static BEGUN: AtomicBool = AtomicBool::new(false);
/// World collectives left so far.
pub static WORLD_COLLECTIVES: AtomicU64 = AtomicU64::new(0);
/// Rank and size of the world.
pub static RANK: AtomicU32 = AtomicU32::new(0);
pub static SIZE: AtomicU32 = AtomicU32::new(0);
/// Samples per second of CPU time.
pub static HZ: AtomicU32 = AtomicU32::new(200);

/// Only taken when a thread begins and at the end: never on the way of a call.
static SPOOL: Mutex<Option<Spool>> = Mutex::new(None);

/// Runs `f` with the spool, if there is one.
pub fn with_spool<T>(f: impl FnOnce(&mut Spool) -> Option<T>) -> Option<T> {
    SPOOL.lock().ok()?.as_mut().and_then(f)
}

/// Adds a sentence to what could not be measured.
pub fn say(note: &str) {
    with_spool(|spool| {
        let notes = &mut spool.header().notes;
        if layout::text(notes).lines().any(|said| said == note) {
            return Some(());
        }
        let used = notes.iter().position(|b| *b == 0).unwrap_or(notes.len());
        let text = if used == 0 {
            note.to_string()
        } else {
            format!("\n{note}")
        };
        copy_text(notes.get_mut(used..)?, text.as_bytes());
        Some(())
    });
}

/// The name of this node.
pub fn host() -> String {
    let mut name = [0u8; 64];
    // SAFETY: the buffer and its length.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    layout::text(&name)
}

/// Whether this is a part of the program, linked into it, instead of being loaded before it.
pub const IS_LINKED: bool = cfg!(feature = "linked");

/// Said by the launcher's side to programs that this is a part of: those record when asked only. `headwater`
/// also knows such a program by these letters in it.
const ASKED: &str = "HEADWATER_RECORD_LINKED";

/// Whether the process is to be recorded: whoever loads this object wants that.
pub fn is_wanted() -> bool {
    !IS_LINKED || std::env::var_os(ASKED).is_some()
}

/// Where to spool: said by the launcher, or beside the program when loaded by hand.
fn directory() -> Option<PathBuf> {
    if let Some(dir) = std::env::var_os("HEADWATER_SPOOL") {
        return Some(PathBuf::from(dir));
    }
    let said = |name: &str| std::env::var(name).ok();
    // One job of Slurm's may start the program several times.
    let step = || {
        Some(format!(
            "{}-{}",
            said("SLURM_JOB_ID")?,
            said("SLURM_STEP_ID")?
        ))
    };
    let job = said("PMIX_NAMESPACE").or_else(step);
    let job = job.or_else(|| {
        let others = ["SLURM_JOB_ID", "FLUX_JOB_ID", "PBS_JOBID"];
        others.into_iter().find_map(said)
    });
    // SAFETY: no arguments.
    let job = job.unwrap_or_else(|| unsafe { libc::getppid() }.to_string());
    let program = std::fs::read_link("/proc/self/exe").ok()?;
    let word: String = job
        .chars()
        .map(|c| if c.is_alphanumeric() { c } else { '-' })
        .collect();
    Some(
        PathBuf::from(format!(
            "headwater-{}-{word}",
            program.file_name()?.to_string_lossy()
        ))
        .join("spool"),
    )
}

/// Leaves word in place of a spool that the MPI library, which is called `name`, is not known.
pub fn unknown_library(name: &str) {
    let Some(dir) = directory() else { return };
    // Who reads it says that nothing was recorded, which it also does where this cannot be written.
    let new = || {
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        options.open(dir.join(UNKNOWN_NAME))
    };
    let _ = spool::make(&dir)
        .and_then(|()| new())
        .and_then(|mut file| file.write_all(name.as_bytes()));
}

/// Bytes of memory without which nothing is recorded: what is left is the program's.
const ROOM: usize = 32 << 20;

/// Cores that the process may use, and as text.
fn affinity() -> (u32, String) {
    // SAFETY: a zeroed set is a valid empty set, filled by the call.
    let (set, ok) = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        let ok = libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) == 0;
        (set, ok)
    };
    if !ok {
        return (0, String::new());
    }
    // SAFETY: indices below the set's size.
    let cores =
        (0..libc::CPU_SETSIZE as u32).filter(|c| unsafe { libc::CPU_ISSET(*c as usize, &set) });
    let cores: headwater_model::RankSet = cores.collect();
    (cores.len() as u32, cores.to_string())
}

/// What a process used in some stretch.
#[derive(Clone, Copy)]
pub struct Used {
    /// CPU time, nanoseconds.
    cpu_ns: u64,
    /// Faults and switches.
    usage: [u64; 4],
}

impl Used {
    /// Nothing.
    pub const NOTHING: Self = Self {
        cpu_ns: 0,
        usage: [0; 4],
    };

    /// By this process since it started.
    pub fn now() -> Self {
        Self {
            cpu_ns: clock::process_cpu(),
            usage: usage(),
        }
    }

    fn with(self, other: Self, join: impl Fn(u64, u64) -> u64) -> Self {
        let mut usage = self.usage;
        let pairs = usage.iter_mut().zip(other.usage);
        pairs.for_each(|(a, b)| *a = join(*a, b));
        Self {
            cpu_ns: join(self.cpu_ns, other.cpu_ns),
            usage,
        }
    }

    /// In both stretches.
    pub fn plus(self, other: Self) -> Self {
        self.with(other, |a, b| a + b)
    }

    /// In this stretch without `part` of it.
    pub fn minus(self, part: Self) -> Self {
        self.with(part, u64::saturating_sub)
    }
}

/// Counters of the process since it started: faults and switches.
fn usage() -> [u64; 4] {
    // SAFETY: a zeroed structure is valid and filled by the call.
    let u = unsafe {
        let mut u: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut u);
        u
    };
    [u.ru_minflt, u.ru_majflt, u.ru_nvcsw, u.ru_nivcsw].map(|v| v.max(0) as u64)
}

/// Nanoseconds since the process started, to the precision of the kernel's ticks.
fn age() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let uptime = std::fs::read_to_string("/proc/uptime").unwrap_or_default();
    let started: Option<f64> = stat
        .rsplit(") ")
        .next()
        .and_then(|s| s.split(' ').nth(19))
        .and_then(|s| s.parse().ok());
    let up: Option<f64> = uptime.split(' ').next().and_then(|s| s.parse().ok());
    // SAFETY: a plain query.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as f64;
    started
        .zip(up)
        .map_or(0, |(s, u)| ((u - s / per_second).max(0.0) * 1e9) as u64)
}

/// Begins recording: `MPI_Init` has returned. Gives whether there is somewhere to record to.
pub fn begin(rank: u32, size: u32, library: &str) -> bool {
    if !memory::room(ROOM) {
        return false;
    }
    // SAFETY: advice for a variable that fills its pages.
    let told_apart = unsafe {
        let own = std::ptr::from_ref(&OWN).cast_mut().cast();
        libc::madvise(own, size_of::<Own>(), libc::MADV_WIPEONFORK) == 0
    };
    OWN.here.store(true, Ordering::Release);
    BEGUN.store(true, Ordering::Release);
    clock::calibrate();
    RANK.store(rank, Ordering::Relaxed);
    SIZE.store(size, Ordering::Relaxed);
    let Some(dir) = directory() else { return false };
    let host = host();
    let Some(spool) = Spool::create(&dir, &host, rank, std::process::id()) else {
        return false;
    };
    let hz = std::env::var("HEADWATER_HZ")
        .ok()
        .and_then(|v| v.parse().ok())
        .filter(|hz| (1..=10_000).contains(hz))
        .unwrap_or(200);
    HZ.store(hz, Ordering::Relaxed);
    let header = spool.header();
    (header.rank, header.size, header.hz) = (rank, size, hz);
    // SAFETY: a plain query.
    header.cores = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }.max(0) as u32;
    let (allowed, cores) = affinity();
    header.cpus_allowed = allowed;
    copy_text(&mut header.cpus, cores.as_bytes());
    copy_text(&mut header.host, host.as_bytes());
    copy_text(
        &mut header.library,
        library.lines().next().unwrap_or("").as_bytes(),
    );
    if let Ok(program) = std::fs::read_link("/proc/self/exe") {
        copy_text(&mut header.program, program.as_os_str().as_encoded_bytes());
    }
    let command = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    let len = command.len().min(header.command.len() - 1);
    header.command[..len].copy_from_slice(&command[..len]);
    header.unix_ns = clock::unix_base();
    header.before_init_wall_ns = age();
    header.before_init_cpu_ns = clock::process_cpu();
    (header.init_ns, header.end_ns) = (clock::now(), clock::now());
    header.usage_before = usage();
    match SPOOL.lock() {
        Ok(mut place) => *place = Some(spool),
        Err(_) => return false,
    }
    if !told_apart {
        say(
            "The kernel does not tell children from their parent (before Linux 4.14): what children by clone or _Fork do may be counted as their parent's.",
        );
    }
    look_at_modules();
    RECORDING.store(true, Ordering::Release);
    true
}

/// Whether this is a child of the process that began, however it was made, with memory of its own.
pub fn is_a_child() -> bool {
    BEGUN.load(Ordering::Acquire) && !OWN.here.load(Ordering::Acquire)
}

/// Takes back what [`begin`] did: this process records nothing.
pub fn give_up() {
    RECORDING.store(false, Ordering::Release);
    if let Ok(mut place) = SPOOL.lock()
        && let Some(spool) = place.take()
    {
        spool.remove();
    }
}

/// Nothing more is recorded. Takes no lock and no memory: there is none left.
#[cold]
pub fn stop() {
    STOPPED.store(true, Ordering::Release);
    RECORDING.store(false, Ordering::Release);
}

/// This is a child after `fork`: the file and the other ranks are its parent's.
pub fn leave_to_parent() {
    OWN.here.store(false, Ordering::Release);
    RECORDING.store(false, Ordering::Release);
    STOPPED.store(false, Ordering::Release);
    // Nor does it note which libraries come and go.
    in_force::leave_to_parent();
}

/// Whether other ranks count on this process at the end.
pub fn to_be_ended() -> bool {
    RECORDING.load(Ordering::Acquire) || STOPPED.load(Ordering::Acquire)
}

/// Recording goes on that [`end`] has ended: what the process did meanwhile is computation like any other, but
/// that no samples say where.
pub fn go_on() {
    with_spool(|spool| {
        spool.header().finished = 0;
        Some(())
    });
    in_force::look_at_modules();
    RECORDING.store(true, Ordering::Release);
}

/// Ends recording: totals are final, unless it goes on.
pub fn end() {
    RECORDING.store(false, Ordering::Release);
    let stopped = STOPPED.swap(false, Ordering::AcqRel);
    crate::thread::settle();
    if stopped {
        say("A rank's memory ran out, and from then on nothing was recorded of it.");
    }
    in_force::note_modules();
    past::tell();
    // MPI closes its own libraries, one by one.
    in_force::end();
    let (allowed, cores) = affinity();
    let paused = pause::used();
    with_spool(|spool| {
        let header = spool.header();
        header.end_ns = clock::now();
        let before = Used {
            cpu_ns: header.before_init_cpu_ns,
            usage: header.usage_before,
        };
        let used = Used::now().minus(before).minus(paused);
        (header.cpu_ns, header.usage) = (used.cpu_ns, used.usage);
        // Programs bind themselves after MPI_Init as well.
        header.cpus_allowed = allowed;
        header.cpus = [0; 256];
        copy_text(&mut header.cpus, cores.as_bytes());
        header.finished = u32::from(!stopped);
        Some(())
    });
}
