//! Holds a performance event open while the launcher runs.
//!
//! At a switch between threads, the kernel looks for events only while there are any on the machine. The process that
//! opens the first one waits until all cores know, some ten milliseconds. The program would lose its first
//! milliseconds by that. So the launcher's side opens an event that counts nothing while MPI starts. On other nodes,
//! each first rank waits itself.

use perf_event::events::Software;
use perf_event::{Builder, Counter};
use std::thread::JoinHandle;

/// An event that is open until this is dropped, if the kernel allows it.
pub struct Held(Option<JoinHandle<Option<Counter>>>);

/// Opens the event, and does not wait for that.
pub fn hold() -> Held {
    let open = || Builder::new().kind(Software::TASK_CLOCK).build().ok();
    Held(std::thread::Builder::new().spawn(open).ok())
}

impl Drop for Held {
    fn drop(&mut self) {
        // The event is closed here.
        let _ = self.0.take().map(JoinHandle::join);
    }
}
