//! Traces of single processes, in files: what is left if the process does not reach `MPI_Finalize`.

use crate::libraries::mapped;
use crate::storage::process_spool::{file_number, say, with_spool};
use crate::storage::spool::may_be_as_long;
use headwater_trace::file::{Whose, shared_job, spooled_name, unknown_job};
use headwater_trace::identity::text_identity;
use headwater_trace::open::ENDING;
use headwater_trace::trace::Trace;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of the job; 0 while it is not known.
static JOB: AtomicU64 = AtomicU64::new(0);

/// Variables by which a launcher names the job, or the step of it: the same for all ranks, and others for other jobs.
const JOBS: [&[&str]; 3] = [
    &["PMIX_NAMESPACE"],
    &["PMI_JOBID"],
    &["SLURM_JOB_ID", "SLURM_STEP_ID"],
];

/// The number of the job that the launcher has started, if it has told its name.
fn launched() -> Option<u64> {
    JOBS.iter().find_map(|names| {
        let values = names.iter().map(std::env::var_os);
        let all: Vec<_> = values.collect::<Option<_>>()?;
        let all: Vec<u8> = all
            .into_iter()
            .flat_map(|v| v.into_encoded_bytes())
            .collect();
        Some(shared_job(text_identity(&all) as u64))
    })
}

/// From now on files have this number, which all ranks of the job have. The file of `rank`, if there is one, gets the new
/// name.
pub fn set_job(number: u64, rank: u32) {
    let before = path(Whose::Rank(rank));
    JOB.store(shared_job(number), Ordering::Relaxed);
    if let (Some(before), Some(now)) = (before, path(Whose::Rank(rank))) {
        let _ = std::fs::rename(with_call(&before), with_call(&now));
        let _ = std::fs::rename(before, now);
    }
}

/// The file with the call that a thread is in.
pub fn path_of_call(whose: Whose) -> Option<PathBuf> {
    path(whose).map(|path| with_call(&path))
}

fn with_call(path: &Path) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(ENDING);
    path.into()
}

fn path(whose: Whose) -> Option<PathBuf> {
    let own = || {
        let number = launched().unwrap_or_else(|| unknown_job(file_number()));
        let known = JOB.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed);
        known.map_or_else(|known| known, |_| number)
    };
    let job = match JOB.load(Ordering::Relaxed) {
        // The ranks could not agree on a number.
        0 => own(),
        job => job,
    };
    let name = spooled_name(job, whose);
    with_spool(|spool| Some(spool.directory()?.join(name)))
}

/// Writes the bytes of a trace. Returns whether it could.
pub fn write(bytes: &[u8], whose: Whose) -> bool {
    // Whoever reads it sees a whole one.
    let written = path(whose).and_then(|path| {
        let mut part = path.clone().into_os_string();
        part.push(".part");
        // A file beyond its limit would send the program a signal.
        may_be_as_long(bytes.len() as u64).then_some(())?;
        let written = std::fs::write(&part, bytes).and_then(|()| std::fs::rename(&part, path));
        if written.is_err() {
            // The disk may be full, and other ranks need what is left of it.
            let _ = std::fs::remove_file(part);
        }
        written.ok()
    });
    if written.is_none() {
        say("The trace of a rank, or of the run, could not be written: the disk may be full.");
    }
    written.is_some()
}

/// Removes a trace that is in another one now.
pub fn forget(whose: Whose) {
    if let Some(path) = path(whose) {
        let _ = std::fs::remove_file(path);
    }
}

/// Adds the names of the modules that are in call paths.
pub fn name_modules(trace: &mut Trace) {
    let frames = trace.signatures.values().flat_map(|s| &s.frames);
    let modules = frames.filter_map(|f| Some((f.module, mapped::path(f.module)?)));
    trace.modules = modules.collect();
}
