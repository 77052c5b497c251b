//! Begins the recording of this process, and resumes it.

use crate::entry::sessions;
use crate::guest::{
    clock, memory,
    recording::{self, RECORDING},
    usage::{self, IS_LINKED},
};
use crate::libraries::code;
use crate::sampling::rate;
use crate::storage::{
    process_spool::{self, with_spool},
    resources,
    spool::{self, Earlier, Spool},
};
use crate::threads::thread;
use headwater_format::spool::layout::{UNKNOWN_NAME, put_text};
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

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

/// The process that begins to be recorded.
pub struct Process<'a> {
    /// Rank in the world; 0 without MPI.
    pub rank: u32,
    /// Ranks in the world; 1 without MPI.
    pub size: u32,
    /// What the MPI library calls itself; empty without MPI.
    pub library: &'a str,
}

/// Begins recording: `MPI_Init` has returned, or a program without MPI starts. `prepare` runs when there is a spool,
/// before anything is recorded. Returns whether there is a place to record to.
pub fn begin_recording(process: &Process<'_>, prepare: impl FnOnce()) -> bool {
    let Process {
        rank,
        size,
        library,
    } = *process;
    if !memory::room(ROOM) {
        return false;
    }
    let is_wiped_in_children = recording::begin_here();
    let without_mpi = library.is_empty();
    if without_mpi {
        // The program waits for this, and there is no other node whose clock it must fit.
        clock::calibrate(clock::BRIEFLY);
    } else {
        clock::calibrate(clock::EXACTLY);
    }
    let Some(dir) = directory() else { return false };
    let host = usage::host();
    // What started this program in its own place has a file of the same name.
    let wrapper = Spool::earlier(&dir, &host, rank, std::process::id()).filter(|e| e.is_wrapper);
    if let Some(wrapper) = wrapper {
        wrapper.remove();
    }
    let Some(spool) = Spool::create(&dir, &host, rank, std::process::id()) else {
        return false;
    };
    let hz = std::env::var("HEADWATER_HZ")
        .ok()
        .and_then(|v| v.parse().ok())
        .filter(|hz| (1..=10_000).contains(hz))
        .unwrap_or(200);
    rate::HZ.store(hz, Ordering::Relaxed);
    let header = spool.header();
    (header.rank, header.size, header.hz) = (rank, size, hz);
    // SAFETY: a plain query.
    header.cores = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }.max(0) as u32;
    let (allowed, cores) = usage::affinity();
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
    header.before_init_wall_ns = usage::age();
    header.before_init_cpu_ns = clock::process_cpu();
    (header.init_ns, header.end_ns) = (clock::now(), clock::now());
    header.usage_before = usage::usage();
    if !process_spool::set(spool) {
        return false;
    }
    if !is_wiped_in_children {
        process_spool::say(
            "The kernel does not distinguish children from their parent (before Linux 4.14): what children by clone or _Fork do may be counted as their parent's.",
        );
    }
    code::look_at_modules();
    prepare();
    with_spool(resources::begin);
    RECORDING.store(true, Ordering::Release);
    true
}

/// What was recorded of this process when it was another program, before `exec`.
pub fn earlier(rank: u32) -> Option<Earlier> {
    Spool::earlier(&directory()?, &usage::host(), rank, std::process::id())
}

/// Undoes what [`begin`] did: this process records nothing.
pub fn give_up() {
    RECORDING.store(false, Ordering::Release);
    process_spool::remove();
}

/// Resumes the recording that has ended. What the process did meanwhile counts as computation, but no samples
/// show where.
pub fn go_on() {
    with_spool(|spool| {
        spool.header().finished = 0;
        Some(())
    });
    code::look_at_modules();
    RECORDING.store(true, Ordering::Release);
}

/// Children of this process do not record: the spool file belongs to their parent.
pub fn leave_in_children() {
    // SAFETY: a handler that neither allocates nor locks: it stores, and closes descriptors of ours.
    unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
}

/// Stops recording in a child process after `fork`: the spool file belongs to the parent.
extern "C" fn in_child() {
    recording::leave_to_parent();
    // It does not record either which libraries come and go.
    code::leave_to_parent();
    thread::leave_to_parent();
    sessions::leave_to_parent();
}
