//! `MPI_Finalize` and the last session: recording ends before the library's function is called.

use crate::end::{close, finalize, trace};
use crate::entry::{program, sessions};
use crate::guest::{clock, recording};
use crate::threads::thread::{self, Call, Caller};
use headwater_mpi_call::args::Args;
use std::sync::atomic::Ordering;

/// The program enters `MPI_Finalize`. The last computation ends, the ranks wait for one another, and their data are
/// merged.
pub fn finalize_recording(id: u16, from: Caller, args: &mut Args) {
    if !recording::to_be_ended() || program::is_recorded() {
        return;
    }
    // The other ranks wait in MPI_Finalize for a late one, so it is measured as a collective. A thread without a
    // recording still takes part.
    let mut call = Call::of(from, id);
    match thread::enter(thread::current(), &mut call) {
        Some(t) => {
            t.trace_before(&call, args);
            finalize::meet(Some(t));
            t.trace_after(&call, args, 0, clock::now());
            thread::leave(t, &call, &finalize::PARAMS, false);
        }
        None => finalize::meet(None),
    }
    // The other ranks wait for this one to merge, whatever else goes wrong here.
    let _ = std::panic::catch_unwind(close::close);
    let _ = std::panic::catch_unwind(finalize::merge);
}

/// The program is about to close its last session, and there is no world. The last computation ends.
pub fn last_session(id: u16, from: Caller) {
    let goes_on = recording::RECORDING.load(Ordering::Acquire);
    if !recording::to_be_ended() {
        return;
    }
    let mut call = Call::of(from, id);
    if let Some(t) = thread::enter(thread::current(), &mut call) {
        thread::leave(t, &call, &finalize::PARAMS, false);
    }
    let _ = std::panic::catch_unwind(close::close);
    trace::write_own();
    if goes_on {
        sessions::rest();
    }
}
