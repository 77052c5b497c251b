//! Work that takes time: detached from the interpreter, and ended where the user presses Ctrl-C.
//!
//! Python reports signals only to its main thread, and only when it asks. So the work runs on a thread of its own
//! while the caller asks for signals now and then; where one raises, the work is asked to end, which it does between two
//! passes or within a long one. Work that does not hear is left behind after a moment: it owns all that it uses, and
//! what it makes in the end is thrown away.
//!
//! A child made by `fork` has none of the threads that share the work: it is refused there.

use crate::error::raised;
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// Time between two looks at signals.
pub const LOOK: Duration = Duration::from_millis(50);

/// How long we wait for work that was asked to end.
pub const PATIENCE: Duration = Duration::from_millis(500);

/// The process that worked first.
static WORKER: OnceLock<u32> = OnceLock::new();

/// Asks whether to end.
pub type Interrupted<'a> = &'a (dyn Fn() -> bool + Sync);

/// Does `work`, which is given whom to ask whether to end.
///
/// # Errors
/// What a signal's handler raised, as `KeyboardInterrupt`; the process was forked.
pub fn work<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(Interrupted<'_>) -> T + Send + 'static,
) -> PyResult<T> {
    let here = std::process::id();
    if *WORKER.get_or_init(|| here) != here {
        return Err(raised(
            "this process was forked after headwater had worked, and has none of its threads; use multiprocessing's spawn",
        ));
    }
    // Where progress is reported we are on a thread of the pool: waiting there for another thread of it could wait for
    // ever, and signals are looked for by who runs the flow.
    if rayon::current_thread_index().is_some() {
        return Ok(py.detach(|| work(&|| false)));
    }
    let end = Arc::new(AtomicBool::new(false));
    let ending = end.clone();
    let (send, done) = channel();
    let done = Mutex::new(done);
    std::thread::spawn(move || {
        let asked = || ending.load(Ordering::Relaxed);
        let result = catch_unwind(AssertUnwindSafe(|| work(&asked)));
        // Nobody takes it where the work was left behind.
        let _ = send.send(result);
    });
    loop {
        match py.detach(|| wait(&done, LOOK)) {
            Ok(Ok(result)) => return Ok(result),
            Ok(Err(panic)) => resume_unwind(panic),
            // The worker sends before it ends, whatever happens.
            Err(RecvTimeoutError::Disconnected) => unreachable!("the work ended without a word"),
            Err(RecvTimeoutError::Timeout) => {}
        }
        // Signals are for the main thread alone; a pass written in Python is asked to end by what is raised in its
        // thread, and that is seen only where Python runs.
        let look = py.check_signals();
        if let Err(raised) = look.and_then(|()| py.run(c"pass", None, None)) {
            end.store(true, Ordering::Relaxed);
            let _ = py.detach(|| wait(&done, PATIENCE));
            return Err(raised);
        }
    }
}

fn wait<T>(done: &Mutex<Receiver<T>>, most: Duration) -> Result<T, RecvTimeoutError> {
    let done = done.lock().unwrap_or_else(PoisonError::into_inner);
    done.recv_timeout(most)
}
