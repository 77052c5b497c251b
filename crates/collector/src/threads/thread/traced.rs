//! The calls of a thread whose run is traced.

use super::{Call, Thread};
use crate::storage::process_spool::say;
use crate::trace::{Returned, Tracer, keeper, process};
use headwater_mpi_call::args::Args;
use headwater_trace::times::Delta;
use std::panic::{AssertUnwindSafe, catch_unwind};

impl Thread {
    /// Whether the calls of the thread are traced.
    #[inline]
    pub fn is_traced(&self) -> bool {
        self.trace.is_some()
    }

    /// The call is about to be made.
    ///
    /// This and [`Self::trace_after`] are functions of their own, so that calls that are not traced have less code to
    /// run over.
    #[inline(never)]
    pub fn trace_before(&mut self, call: &Call, args: &mut Args) {
        guarded(&mut self.trace, self.number, |tracer| {
            tracer.before(call.func, call.ctx, args, &mut self.contexts);
        });
    }

    /// The library has returned `result` at `now`.
    #[inline(never)]
    pub fn trace_after(&mut self, call: &Call, args: &Args, result: i32, now: u64) {
        self.traced_long = false;
        let traced_long = &mut self.traced_long;
        let met = self.teams.take_met();
        guarded(&mut self.trace, self.number, |tracer| {
            let wall = call.enter_ns.saturating_sub(self.left_ns);
            let cpu = met.with_cores(wall, call.busy_ns);
            let delta = Delta::in_ticks(self.left_ns, call.enter_ns, now, cpu);
            let returned = Returned {
                function: call.func,
                ctx: call.ctx,
                result,
                now,
            };
            *traced_long = tracer.after(returned, args, &mut self.contexts, delta);
        });
    }

    /// An exception has left the call.
    #[cold]
    pub fn trace_left(&mut self) {
        guarded(&mut self.trace, self.number, |tracer| tracer.left());
    }

    /// Takes out what has recorded the thread's events. Later calls are not traced.
    pub fn take_trace(&mut self) -> Option<Box<Tracer>> {
        self.trace.take()
    }
}

/// Runs `run` with the tracer, if there is one. A panic must not reach the program: it ends this thread's trace, and the
/// run says so.
#[inline]
fn guarded<T>(tracer: &mut Option<Box<T>>, thread: u32, run: impl FnOnce(&mut T)) {
    if let Some(at) = tracer
        && catch_unwind(AssertUnwindSafe(|| run(at))).is_err()
    {
        failed(tracer, thread);
    }
}

#[cold]
fn failed<T>(tracer: &mut Option<Box<T>>, thread: u32) {
    // What it holds may be in no state to be freed.
    let at = tracer
        .take()
        .map(|tracer| Box::into_raw(tracer).cast::<()>());
    let _ = catch_unwind(|| {
        at.inspect(|at| keeper::leave(at.cast_const()));
        if let Some(process) = process() {
            process.lose(thread);
        }
        say(
            "The trace of a thread is missing, because recording it failed. Please report this as an error of Headwater.",
        );
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_the_trace_of_the_thread_and_goes_no_further() {
        let mut tracer = Some(Box::new(1));
        guarded(&mut tracer, 0, |n| *n += 1);
        assert_eq!(tracer.as_deref(), Some(&2));
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| ()));
        guarded(&mut tracer, 0, |_| panic!("a test"));
        std::panic::set_hook(hook);
        assert_eq!(tracer, None);
        guarded(&mut tracer, 0, |_| {
            unreachable!("there is no tracer any more")
        });
    }
}
