//! What belongs to the process as a whole: the spool file and the rank.

use crate::memory;
use crate::spool::{self, Spool};
use crate::{clock, openmp, past, pause};
use headwater_call_path::{Host, InForce, Loaded, Tables};
use headwater_format::spool::layout::{self, UNKNOWN_NAME, put_text};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// What is true only in the process that began recording. It is on pages of its own, which the kernel clears in a
/// child process, because not every way to make a child calls the handlers of `fork`.
#[cfg_attr(target_arch = "x86_64", repr(C, align(4096)))]
#[cfg_attr(target_arch = "aarch64", repr(C, align(65536)))]
struct Own {
    /// Whether these pages are those of the process that began.
    here: AtomicBool,
    recording: AtomicBool,
    stopped: AtomicBool,
}

static OWN: Own = Own {
    here: AtomicBool::new(false),
    recording: AtomicBool::new(false),
    stopped: AtomicBool::new(false),
};

/// Whether calls are recorded: between `MPI_Init` and `MPI_Finalize`, or between the first session and the last, in
/// the process that began.
pub static RECORDING: &AtomicBool = &OWN.recording;
/// Whether recording had to stop early, for lack of memory. Other ranks still wait for this one at the end.
static STOPPED: &AtomicBool = &OWN.stopped;
/// Whether recording ever began, in this process or in one that this is a child of.
static BEGUN: AtomicBool = AtomicBool::new(false);
/// World collectives left so far.
pub static WORLD_COLLECTIVES: AtomicU64 = AtomicU64::new(0);
/// Rank and size of the world.
pub static RANK: AtomicU32 = AtomicU32::new(0);
pub static SIZE: AtomicU32 = AtomicU32::new(0);
/// Samples per second of CPU time.
pub static HZ: AtomicU32 = AtomicU32::new(200);

/// Taken only for rare events, such as the start of a thread, a new table or communicator, a pause and the end. Never
/// taken on the common path of a call.
static SPOOL: Mutex<Option<Spool>> = Mutex::new(None);

/// Runs `f` with the spool, if there is one.
pub fn with_spool<T>(f: impl FnOnce(&mut Spool) -> Option<T>) -> Option<T> {
    SPOOL.lock().ok()?.as_mut().and_then(f)
}

/// The unwind tables of this process.
static IN_FORCE: InForce<This> = InForce::new(This);

/// What the unwind tables need of the process.
struct This;

impl Host for This {
    fn has_room(&self, bytes: usize) -> bool {
        memory::room(bytes)
    }

    fn note(&self, modules: &[Loaded]) {
        let rows: Vec<_> = modules.iter().map(|m| m.row).collect();
        with_spool(|spool| {
            spool.set_modules(&rows);
            Some(())
        });
        openmp::note_runtimes(modules);
    }

    fn unloaded(&self) {
        openmp::forget();
    }

    fn is_a_child(&self) -> bool {
        is_a_child()
    }

    fn lost(&self) {
        // Calls are still recorded, by their return addresses.
        say(
            "A rank had no memory to note what libraries it had loaded: from then on it took no samples.",
        );
    }
}

/// See [`InForce::tables`].
#[inline]
pub fn tables() -> Option<&'static Tables> {
    IN_FORCE.tables()
}

/// See [`InForce::are_away`].
#[inline]
pub fn are_away() -> bool {
    IN_FORCE.are_away()
}

/// See [`InForce::look_at_modules`].
pub fn look_at_modules() {
    IN_FORCE.look_at_modules();
}

/// See [`InForce::while_modules_change`].
pub fn while_modules_change<T>(f: impl FnOnce() -> T) -> T {
    IN_FORCE.while_modules_change(f)
}

/// Adds a sentence to the notes about what could not be measured.
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
        put_text(notes.get_mut(used..)?, text.as_bytes());
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

/// Whether the collector is linked into the program, instead of being loaded before it.
pub const IS_LINKED: bool = cfg!(feature = "linked");

/// The launcher's side sets this variable for programs that have the collector linked in: those record only when
/// asked. `headwater` also recognises such a program by these letters in it.
const ASKED: &str = "HEADWATER_RECORD_LINKED";

/// Whether the process is to be recorded. Loading this object is enough to ask for it.
pub fn is_wanted() -> bool {
    !IS_LINKED || std::env::var_os(ASKED).is_some()
}

/// Where to spool: where the launcher says, or beside the program if the collector was loaded by hand.
fn directory() -> Option<PathBuf> {
    if let Some(dir) = std::env::var_os("HEADWATER_SPOOL") {
        return Some(PathBuf::from(dir));
    }
    let said = |name: &str| std::env::var(name).ok();
    // One Slurm job may start the program several times.
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

/// Writes a note instead of a spool: the MPI library, which is called `name`, is not known.
pub fn unknown_library(name: &str) {
    let Some(dir) = directory() else { return };
    // The reader of this note reports that nothing was recorded. It also reports that if the note could not be
    // written.
    let new = || {
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        options.open(dir.join(UNKNOWN_NAME))
    };
    let _ = spool::make(&dir)
        .and_then(|()| new())
        .and_then(|mut file| file.write_all(name.as_bytes()));
}

/// With less memory than this, nothing is recorded, bytes: what is left is the program's.
const ROOM: usize = 32 << 20;

/// Cores that the process may use: their number, and a list as text.
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

/// What a process used in some interval.
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

    /// In both intervals together.
    pub fn plus(self, other: Self) -> Self {
        self.with(other, |a, b| a + b)
    }

    /// In this interval without `part` of it.
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

/// Begins recording: `MPI_Init` has returned. Returns whether there is a place to record to.
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
    put_text(&mut header.cpus, cores.as_bytes());
    put_text(&mut header.host, host.as_bytes());
    put_text(
        &mut header.library,
        library.lines().next().unwrap_or("").as_bytes(),
    );
    if let Ok(program) = std::fs::read_link("/proc/self/exe") {
        put_text(&mut header.program, program.as_os_str().as_encoded_bytes());
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

/// Whether this is a child of the process that began, with memory of its own, however it was made.
pub fn is_a_child() -> bool {
    BEGUN.load(Ordering::Acquire) && !OWN.here.load(Ordering::Acquire)
}

/// Undoes what [`begin`] did: this process records nothing.
pub fn give_up() {
    RECORDING.store(false, Ordering::Release);
    if let Ok(mut place) = SPOOL.lock()
        && let Some(spool) = place.take()
    {
        spool.remove();
    }
}

/// Nothing more is recorded. Takes no lock and no memory, because there is none left.
#[cold]
pub fn stop() {
    STOPPED.store(true, Ordering::Release);
    RECORDING.store(false, Ordering::Release);
}

/// For a child after `fork`: the file and the other ranks belong to its parent.
pub fn leave_to_parent() {
    OWN.here.store(false, Ordering::Release);
    RECORDING.store(false, Ordering::Release);
    STOPPED.store(false, Ordering::Release);
    // It does not record either which libraries come and go.
    IN_FORCE.leave_to_parent();
}

/// Whether other ranks count on this process at the end.
pub fn to_be_ended() -> bool {
    RECORDING.load(Ordering::Acquire) || STOPPED.load(Ordering::Acquire)
}

/// Resumes the recording that [`end`] has ended. What the process did meanwhile counts as computation, but no samples
/// show where.
pub fn go_on() {
    with_spool(|spool| {
        spool.header().finished = 0;
        Some(())
    });
    look_at_modules();
    RECORDING.store(true, Ordering::Release);
}

/// Ends recording. The totals are final, unless recording is resumed.
pub fn end() {
    RECORDING.store(false, Ordering::Release);
    let stopped = STOPPED.swap(false, Ordering::AcqRel);
    crate::thread::settle();
    if stopped {
        say("A rank's memory ran out, and from then on nothing was recorded of it.");
    }
    IN_FORCE.note_modules();
    past::tell();
    // From here on, MPI unloads its own libraries, one by one.
    IN_FORCE.end();
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
        put_text(&mut header.cpus, cores.as_bytes());
        header.disk_full = u16::from(spool::disk_was_full());
        header.finished = u32::from(!stopped);
        Some(())
    });
}
