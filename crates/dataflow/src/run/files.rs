//! Treats time in MPI-IO calls that concern the calling rank alone as the rank's own time, asleep, like computation.
//!
//! A rank that reads or writes makes others wait at the next synchronisation, as a rank that computes does. So these
//! calls become segments of their own, from the call to itself, and the call is their only place. Their time counts as
//! time asleep, although a library may copy data there for the kernel: the cause is the use of files.

use headwater_model::run::{Run, Sample, Segment};
use headwater_mpi_abi::{self as abi, Class, Mode};

/// By index of a function: whether it is such a call.
fn own(run: &Run) -> Vec<bool> {
    (run.functions.iter())
        .map(|name| {
            let function = abi::by_name(name);
            function.is_some_and(|f| f.class == Class::File && f.mode == Mode::Blocking)
        })
        .collect()
}

/// Whether there are such calls.
pub fn are_there(run: &Run) -> bool {
    own(run).contains(&true)
}

/// Turns such calls into work of their ranks.
pub fn as_work(run: &mut Run) {
    let own = own(run);
    let is_own = |func: u16| own.get(func as usize).copied().unwrap_or(false);
    if !own.contains(&true) {
        return;
    }
    for c in run.calls.iter_mut().filter(|c| is_own(c.func)) {
        let asleep = c.wall_ns.saturating_sub(c.runq_ns);
        run.segments.push(Segment {
            rank: c.rank,
            thread: c.thread,
            from: c.ctx,
            to: c.ctx,
            count: c.count,
            wall_ns: c.wall_ns,
            cpu_ns: 0,
            runq_ns: c.runq_ns,
            blocked_ns: asleep,
            max_busy_ns: c.max_wall_ns.min(asleep),
            max_at: 0,
        });
        run.samples.push(Sample {
            rank: c.rank,
            thread: c.thread,
            after: c.ctx,
            ctx: c.ctx,
            count: 0,
            cpu_ns: 0,
            blocked_ns: asleep,
            counters: vec![0; run.header.counters.len()],
        });
        (c.wall_ns, c.cpu_ns, c.runq_ns, c.max_wall_ns) = (0, 0, 0, 0);
    }
    run.segments
        .sort_by_key(|s| (s.rank, s.thread, s.from, s.to));
    run.samples
        .sort_by_key(|s| (s.rank, s.thread, s.after, s.ctx));
    // In windows, their time becomes computation that follows the call.
    let mut owed = 0;
    for i in 0..run.events.len() {
        let (before, rest) = run.events.split_at_mut(i);
        let Some(event) = rest.first_mut() else {
            continue;
        };
        let follows = |b: &headwater_model::run::Event| {
            (b.window, b.rank, b.thread) == (event.window, event.rank, event.thread)
        };
        if !before.last().is_some_and(follows) {
            owed = 0;
        }
        if event.first_of_call {
            event.busy_ns += std::mem::take(&mut owed);
        }
        if is_own(event.func) {
            owed += std::mem::take(&mut event.mpi_ns);
        }
    }
}
