//! A performance event that is held while the launcher runs.
//!
//! The kernel looks for events at a switch between threads only while there are any on the machine. Whoever opens the first one
//! waits until all cores know, some ten milliseconds, which would be the program's first ones. So the launcher's side opens one
//! that counts nothing, while MPI starts. On other nodes each first rank waits for itself.

use perf_event::events::Software;
use perf_event::{Builder, Counter};
use std::thread::JoinHandle;

/// An event that is open until this is dropped, if the kernel gives it to us.
pub struct Held(Option<JoinHandle<Option<Counter>>>);

/// Opens it, and does not wait for that.
pub fn hold() -> Held {
    let open = || Builder::new().kind(Software::TASK_CLOCK).build().ok();
    Held(std::thread::Builder::new().spawn(open).ok())
}

impl Drop for Held {
    fn drop(&mut self) {
        // What it holds is closed here.
        let _ = self.0.take().map(JoinHandle::join);
    }
}
