//! Ends recording: totals become final, and the file says so.

use crate::guest::{
    clock,
    recording::{self, RECORDING},
    usage::{self, Used},
};
use crate::libraries::{code, past};
use crate::storage::{
    process_spool::{say, with_spool},
    spool,
};
use crate::threads::{pause, thread};
use headwater_format::spool::layout::put_text;
use std::sync::atomic::Ordering;

/// Ends recording. The totals are final, unless recording is resumed.
pub fn close() {
    RECORDING.store(false, Ordering::Release);
    let stopped = recording::take_stopped();
    thread::settle();
    if stopped {
        say("A rank's memory ran out, and from then on nothing was recorded of it.");
    }
    code::note_modules();
    past::report_bypasses();
    // From here on, MPI unloads its own libraries, one by one.
    code::end();
    let (allowed, cores) = usage::affinity();
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
