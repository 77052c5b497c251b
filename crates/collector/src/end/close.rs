//! Ends recording: totals become final, and the file says so.

use crate::guest::{
    clock,
    recording::{self, RECORDING},
    usage::{self, Used},
};
use crate::libraries::{code, interpreter, past};
use crate::storage::{
    process_spool::{self, say, with_spool},
    resources, spool,
};
use crate::threads::{pause, thread};
use headwater_format::spool::layout::{BECAME_ANOTHER, FileHeader, LOST_TO_DISK, put_text};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Ends recording. The totals are final, unless recording is resumed.
pub fn close() {
    RECORDING.store(false, Ordering::Release);
    let stopped = recording::take_stopped();
    resources::end();
    thread::settle();
    let paused = pause::used();
    // What follows is ours, not the program's.
    with_spool(|spool| {
        sum_up(spool.header(), paused);
        Some(())
    });
    if stopped {
        say("A rank's memory ran out, and from then on nothing was recorded of it.");
    }
    code::note_modules();
    past::report_bypasses();
    interpreter::report();
    // From here on, MPI unloads its own libraries, one by one.
    code::end();
    say_of_children();
    resources::count_open_files();
    let (allowed, cores) = usage::affinity();
    with_spool(|spool| {
        let header = spool.header();
        // Programs bind themselves after MPI_Init as well.
        header.cpus_allowed = allowed;
        header.cpus = [0; 256];
        put_text(&mut header.cpus, cores.as_bytes());
        note_full_disk(header);
        header.finished = u32::from(!stopped);
        Some(())
    });
}

fn note_full_disk(header: &mut FileHeader) {
    if spool::disk_was_full() {
        header.lost |= LOST_TO_DISK;
    }
}

/// Writes what the process used into the header, without what it used in pauses.
pub fn sum_up(header: &mut FileHeader, paused: Used) {
    header.end_ns = clock::now();
    let before = Used {
        cpu_ns: header.before_init_cpu_ns,
        usage: header.usage_before,
    };
    let used = Used::now().minus(before).minus(paused);
    (header.cpu_ns, header.usage) = (used.cpu_ns, used.usage);
}

/// Makes the totals final where the process may be in a signal handler, or where it is about to become another program.
/// The header says how it `finished`. Neither allocates nor locks. Returns whether recording was on until now.
pub fn at_once(finished: u32) -> bool {
    let stopped = recording::take_stopped();
    let recorded = RECORDING.swap(false, Ordering::AcqRel);
    if !recorded && !stopped {
        return false;
    }
    resources::end();
    thread::settle_totals();
    // SAFETY: null or the header in our mapping, which is there until the process ends. Nothing is recorded any more, so
    // nobody else writes these fields, but for notes: if another thread adds a sentence at the same time, the text of one
    // may be in the other, and it still ends within its field.
    if let Some(header) = unsafe { process_spool::header().as_mut() } {
        sum_up(header, pause::used_so_far());
        note_full_disk(header);
        if finished != BECAME_ANOTHER {
            note_children(header);
        }
        header.finished = if stopped { 0 } else { finished };
    }
    recorded
}

/// Recording goes on after [`at_once`] has ended it.
pub fn undo() {
    // SAFETY: as above.
    if let Some(header) = unsafe { process_spool::header().as_mut() } {
        header.finished = 0;
        RECORDING.store(true, Ordering::Release);
    }
}

/// Children that used less are nothing worth a sentence.
const LEAST_OF_CHILDREN: Duration = Duration::from_millis(10);

/// Reports children of a program without MPI: what they did is not recorded. Those of an MPI library are its own.
fn say_of_children() {
    let used = usage::of_children();
    let seconds = used.as_secs_f64();
    let without_mpi = || with_spool(|spool| Some(spool.header().library[0] == 0));
    if used > LEAST_OF_CHILDREN && without_mpi() == Some(true) {
        say(&format!(
            "Processes that the program started used {seconds:.2} s of CPU time, and nothing of them was recorded: this run is of process {} alone.",
            std::process::id()
        ));
    }
}

/// The same where nothing may be allocated, and so without numbers.
fn note_children(header: &mut FileHeader) {
    const SENTENCE: &str = "Processes that the program started used CPU time, and nothing of them was recorded: this run is of its first process alone.";
    if header.library[0] == 0 && usage::of_children() > LEAST_OF_CHILDREN {
        process_spool::append(&mut header.notes, SENTENCE);
    }
}
