//! `headwater stop`: recording ends, and the program goes on.
//!
//! The command writes one word into the header of the process's file, which both have mapped. The handler of our signal
//! looks at this word, so no call of the program does. Recording then ends like a pause that the program does not end: the
//! totals are final, calls are still decoded, and at the end the ranks merge their data as ever. A process that sleeps
//! takes no signal: its recording ends when it computes again.

use crate::end::close;
use crate::guest::recording::RECORDING;
use crate::storage::{process_spool, resources};
use crate::threads::pause;
use headwater_format::spool::layout::{STOP_ASKED, STOP_DONE};
use std::sync::atomic::Ordering;

/// Ends recording, if that is asked for. For the signal handler: neither allocates nor locks. If another thread has the
/// spool, the next signal tries again.
pub fn look() {
    if !process_spool::is_asked_to_stop() || !RECORDING.load(Ordering::Relaxed) {
        return;
    }
    process_spool::try_with_spool(|spool| {
        let header = spool.header();
        if header.stop == STOP_ASKED {
            pause::begin_last(header);
            resources::end();
            close::sum_up(header, pause::used_so_far());
            header.stop = STOP_DONE;
        }
        Some(())
    });
}
