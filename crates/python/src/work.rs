//! Work that takes time: detached from the interpreter, and ended where the user presses Ctrl-C.
//!
//! Python tells of signals only to its main thread, and only when it asks. So the work runs on a thread of its own
//! while the caller asks for signals now and then; where one raises, the work is told to end, which it does between two
//! passes or within a long one.

use crate::function::locked;
use pyo3::prelude::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Time between two looks at signals.
const LOOK: Duration = Duration::from_millis(50);

/// Asks whether to end.
pub type Interrupted<'a> = &'a (dyn Fn() -> bool + Sync);

/// Does `work`, which is given whom to ask whether to end.
///
/// # Errors
/// What a signal's handler raised, as `KeyboardInterrupt`.
pub fn work<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(Interrupted<'_>) -> T + Send,
) -> PyResult<T> {
    // Within a pass written in Python we are on a thread of the pool: waiting there for another thread of it
    // could wait for ever, and signals are looked for by who runs the flow.
    if rayon::current_thread_index().is_some() {
        return Ok(py.detach(|| work(&|| false)));
    }
    let end = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (done, ended) = channel();
        let ended = Mutex::new(ended);
        let (end, asked) = (&end, || end.load(Ordering::Relaxed));
        let worker = scope.spawn(move || {
            let result = work(&asked);
            let _ = done.send(());
            result
        });
        let mut raised = None;
        // A worker that panicked drops its end of the channel.
        while py.detach(|| locked(&ended).recv_timeout(LOOK)) == Err(RecvTimeoutError::Timeout) {
            if raised.is_none()
                && let Err(e) = py.check_signals()
            {
                end.store(true, Ordering::Relaxed);
                raised = Some(e);
            }
        }
        let result = py.detach(|| worker.join());
        match (raised, result) {
            (Some(e), _) => Err(e),
            (None, Ok(result)) => Ok(result),
            (None, Err(panic)) => std::panic::resume_unwind(panic),
        }
    })
}
