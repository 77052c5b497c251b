//! One thread's recording: what happens when the thread enters and leaves an MPI call.
//!
//! Reading the CPU time costs a system call; reading the time stamp counter costs almost nothing. So the CPU time is
//! read only at the end of a call longer than [`WORTH_READING`] or of computation longer than [`LONG_SEGMENT`]: a
//! shorter interval cannot contain a preemption that matters. Off-CPU time since the last reading then belongs to the
//! interval that has just ended. The scheduler's own statistics distinguish waiting for a core from being asleep.

mod life;
mod pauses;
mod tally;
mod totals;
mod traced;
mod unsampled;

pub use headwater_call_path::Caller;
pub use life::{Calls, begin, leave_to_parent, settle, settle_totals, start, tid};
pub use pauses::{count_what_is_held_back, go_on, pause as begin_pause, world_collective};

use crate::guest::{
    clock,
    meter::{Meter, Spent},
    recording::RECORDING,
    schedstat::Schedstat,
};
use crate::libraries::{code, frames::Contexts};
use crate::sampling::rate;
use crate::storage::{table::Table, window::Windows};
use crate::threads::{
    futex::Slept,
    gil,
    named::Regions,
    part,
    polls::{LONGEST_ROW, Polls, Times},
    team::Teams,
    waits::Waits,
};
use crate::trace::Tracer;
use headwater_call_path::{NONE, OwnStack, Stack, Start};
use headwater_format::spool::layout::{CallRow, MessageRow, SampleRow, SegmentRow, ThreadRow};
use headwater_model::hash::mix2;
use headwater_model::run::EventKind;
use headwater_mpi_call::buffers::CallBuffers;
use headwater_mpi_call::record::{Link, Params, Post};
use pauses::Pauses;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};
use totals::Base;
pub use totals::switch as pause_totals;
use unsampled::Unsampled;

/// CPU time is read at the end of intervals longer than this, nanoseconds.
pub const WORTH_READING: u64 = 20_000;
/// The same for computation. It does not yield its core as MPI calls do: when it loses its core, it loses it for a
/// time slice.
const LONG_SEGMENT: u64 = 100_000;

/// Sleeps longer than this are recorded, nanoseconds.
pub const WORTH_NOTING: u64 = 50_000;

/// From this many rows of calls on, new tags are counted together.
const MANY_CALLS: u32 = 3 << 13;
/// Rows for sampled messages. When all are in use, about half are dropped (see [`Thread::sample_message`]).
const MESSAGES: u32 = 1 << 12;

static THREADS: AtomicU32 = AtomicU32::new(0);

/// The time of our bookkeeping is measured once in so many calls.
const CHECKED: u32 = 64;

/// A call between its enter and its leave.
#[derive(Clone, Copy, Default)]
pub struct Call {
    /// Context.
    pub ctx: u32,
    /// Clock at the start.
    pub enter_ns: u64,
    /// Index of the function.
    pub func: u16,
    /// Where it came from.
    pub from: Caller,
    /// Time since the last call, without what was spent waiting for a core.
    pub busy_ns: u64,
    /// Whether that time is not counted yet, because this call may continue a series of idle polls.
    pending: bool,
    /// Whether it is counted: recording is not paused.
    counted: bool,
}

/// A call in which the thread waits for another one.
#[derive(Clone, Copy)]
pub struct Waiting {
    /// Its context; [`NONE`] if there is none.
    pub ctx: u32,
    /// Its place on the stack.
    pub stack_pointer: u64,
}

/// Keeps samples away while it lives. Dropping it restores the flag to its earlier value.
struct KeptAway<'t>(&'t AtomicBool, bool);

impl Drop for KeptAway<'_> {
    fn drop(&mut self) {
        self.0.store(self.1, Ordering::Relaxed);
    }
}

/// The recording of one thread.
pub struct Thread {
    /// Its number, in the order in which threads were first seen.
    pub number: u32,
    /// Its number in the system; 0 once it has ended.
    pub tid: AtomicI32,
    /// What `pthread_self` returns in it.
    pub handle: AtomicU64,
    /// The thread that made it and the calling context of that call, as one key.
    pub made_at_key: AtomicU64,
    /// Whether that call made it a member of a team.
    in_team: bool,
    /// Set while the thread is in a wrapper: the sampler then takes no sample.
    pub in_mpi: AtomicBool,
    /// Its call paths.
    pub contexts: Contexts,
    /// Whether it has called MPI. Until then the tables of segments, calls, messages and windows have no room.
    calls_mpi: bool,
    segments: Table<SegmentRow>,
    calls: Table<CallRow>,
    samples: Table<SampleRow>,
    messages: Table<MessageRow>,
    /// Messages whose mixed id is above this are not recorded.
    message_limit: u64,
    windows: Windows,
    /// What decoding needs from the start of a call to its end, with its links.
    pub buffers: CallBuffers,
    stack: Stack,
    /// How large a stack the thread was made with, bytes; `usize::MAX` for the usual size.
    pub stack_asked: usize,
    /// The handle of the thread whose stack that is, and how large it was made.
    stack_of: (libc::pthread_t, usize),
    /// Records all its events, if the run is traced.
    trace: Option<Box<Tracer>>,
    /// Whether tracing the last call took longer than usual.
    traced_long: bool,
    /// The stack that it has for signal handlers if the program gave it none.
    for_signals: OwnStack,
    /// Stack pointer of the call in progress.
    call_sp: u64,
    /// Its return address.
    call_return: u64,
    /// CPU time in MPI calls. `sampled_at` has the thread's own CPU time and this one at the last sample.
    mpi_cpu: u64,
    sampled_at: (u64, u64),
    unsampled: Unsampled,
    /// Calls and samples in code of no known module.
    strays: u64,
    strays_looked_at: u64,
    polls: Polls,
    /// The shortest time that our own bookkeeping between two calls took, nanoseconds.
    bookkeeping: u64,
    left: u32,
    totals: &'static mut ThreadRow,
    base: Base,
    last_ctx: u32,
    left_ns: u64,
    meter: Meter,
    pauses: Pauses,
    /// The same as `meter` for stretches of teams, which end at other points.
    pub team_meter: Meter,
    /// The teams that it is in.
    pub teams: Teams,
    /// The wait that it is in.
    pub waiting: Waiting,
    /// Its waits for other threads.
    pub waits: Waits,
    /// Its wait for Python's global lock that is not over.
    pub gil: gil::Pending,
    /// Its sleep that nothing else explains.
    pub slept: Slept,
    /// The regions that the program has named.
    pub regions: Regions,
    /// Its part in OpenMP regions.
    pub openmp: part::RegionState,
    /// The scheduler's statistics of the thread.
    pub schedstat: Schedstat,
    /// When the call began that made the thread; 0 if no wrapper of ours saw it.
    made_ns: u64,
    /// State of the sampler.
    pub sampler: rate::SamplerState,
    misses_looked_at: u64,
}

pub use crate::threads::local::recording as current;

impl Thread {
    /// Divides an interval that has just ended into CPU time, waiting for a core, and sleep.
    #[inline]
    fn spent(&mut self, interval: u64, now: u64, worth: u64) -> Spent {
        self.meter.spent(interval, now, worth, &self.schedstat)
    }

    #[inline]
    fn close_segment(&mut self, ctx: u32, now: u64) -> u64 {
        let wall = now.saturating_sub(self.left_ns);
        let spent = self.spent(wall, now, LONG_SEGMENT);
        self.count_segment(ctx, 1, wall, spent);
        spent.cpu + spent.blocked
    }

    /// Computation begins. The time of our bookkeeping since `then` is charged to nothing. It is the same each time,
    /// so the clock is read only now and then, and if the bookkeeping may have been `long`. If it was, off-CPU time
    /// in it does not belong to the next interval either.
    #[inline]
    fn leave_at(&mut self, then: u64, long: bool) {
        self.left = self.left.wrapping_add(1);
        if !long && !self.left.is_multiple_of(CHECKED) {
            self.left_ns = then + self.bookkeeping;
            return;
        }
        self.left_ns = clock::now();
        let took = self.left_ns.saturating_sub(then);
        if self.bookkeeping == 0 || took < self.bookkeeping {
            self.bookkeeping = took;
        }
        if took > WORTH_READING {
            self.meter.begin(self.left_ns, &self.schedstat);
        }
    }

    /// Whether a call from this place on the stack comes from within another one. It does not if it comes from the
    /// same height of the same stack or from higher up. It does not either if the other call's return address was
    /// overwritten there. In both cases the program left the other call by `longjmp`.
    #[inline]
    pub fn inside(&self, stack_pointer: u64) -> bool {
        self.in_mpi.load(Ordering::Relaxed) && !self.was_left(stack_pointer)
    }

    #[cold]
    fn was_left(&self, stack_pointer: u64) -> bool {
        if !self.stack.holds(stack_pointer) || !self.stack.holds(self.call_sp) {
            return false;
        }
        // The slot of the return address in the trampoline's frame.
        let slot = self.call_sp - if cfg!(target_arch = "x86_64") { 8 } else { 72 };
        let still_there = self.stack.word(stack_pointer, slot) == Some(self.call_return);
        stack_pointer >= self.call_sp || !still_there
    }

    /// CPU time of computation since the last sample, nanoseconds: what this sample represents. So no time is lost by
    /// ticks that took no sample because they fell into MPI, or into the kernel, where they are not seen.
    pub fn since_last_sample(&mut self) -> u64 {
        let now = (clock::thread_cpu(), self.mpi_cpu);
        self.seen(now.0, clock::now());
        let last = std::mem::replace(&mut self.sampled_at, now);
        let in_mpi = now.1.saturating_sub(last.1);
        now.0.saturating_sub(last.0).saturating_sub(in_mpi).max(1)
    }

    /// Charges the computation until now to no sample, because nothing is recorded. Touches no table.
    pub fn forget_since_last_sample(&mut self) {
        self.sampled_at = (clock::thread_cpu(), self.mpi_cpu);
    }

    /// Whether the calling thread is the one of this recording, and not a process that shares its memory and
    /// variables, as after `vfork`.
    pub fn is_here(&self) -> bool {
        self.tid.load(Ordering::Relaxed) == tid()
    }

    /// The same for a caller at this place on a stack. No system call is made if that is the thread's own stack.
    pub fn is_at(&self, stack_pointer: u64) -> bool {
        self.stands_on(stack_pointer) || self.is_here()
    }

    /// Whether the thread has left a call of MPI since its recording began.
    #[inline]
    pub fn has_called(&self) -> bool {
        self.last_ctx != NONE
    }

    /// Keeps samples away until the returned guard is dropped. An error handler may leave the call by `longjmp`. The
    /// next call detects this by the place of this call on the stack (see [`Thread::inside`]).
    #[inline]
    pub fn keep_samples_away(&mut self, stack_pointer: u64, return_address: u64) -> impl Drop + '_ {
        let before = self.in_mpi.swap(true, Ordering::Relaxed);
        if !before {
            (self.call_sp, self.call_return) = (stack_pointer, return_address);
        }
        KeptAway(&self.in_mpi, before)
    }

    /// Whether a stack pointer is in the stack that the system gave this thread.
    pub fn stands_on(&self, stack_pointer: u64) -> bool {
        self.stack.holds(stack_pointer)
    }

    /// Records time in a system call of the program, which samples of CPU time do not cover: the part of `wall`
    /// during which the thread was asleep.
    pub fn asleep(&mut self, from: Caller, wall: u64) {
        self.undisturbed(|t| {
            if let Some(tables) = code::tables() {
                let ctx = t.contexts.of_call(tables, from);
                t.waits.explained += wall;
                t.note_sleep(ctx, wall);
            }
        });
    }

    /// Records at `ctx` the part of `wall`, which has just passed, during which the thread was asleep.
    pub fn note_sleep(&mut self, ctx: u32, wall: u64) {
        let nanoseconds = self.meter.asleep(wall, &self.schedstat);
        self.note_asleep(ctx, nanoseconds);
    }

    /// Records this time asleep at `ctx`.
    pub fn note_asleep(&mut self, ctx: u32, nanoseconds: u64) {
        if let Some(row) = self.sample_row(ctx) {
            row.blocked_ns += nanoseconds;
        }
    }

    /// Takes a sample of computation. Returns its context; `None` if the sample fell into a measured wait, or if no
    /// unwind tables are in force. The signal handler calls this only if `in_mpi` was false, so no table is in use.
    pub fn sample(
        &mut self,
        start: Start,
        cpu_ns: u64,
        count: u64,
        counters: &[u64],
    ) -> Option<u32> {
        let tables = code::tables()?;
        let waits = self.waiting.ctx != NONE && start.sp < self.waiting.stack_pointer;
        let ctx = if waits {
            self.waiting.ctx
        } else {
            // If a wait is still noted here, `longjmp` left it: the sample is not below it on the stack.
            self.waiting.ctx = NONE;
            self.strays += u64::from(!tables.know(start.ip));
            self.contexts.of_sample(tables, start)
        };
        if let Some(row) = self.sample_row(ctx) {
            row.count += count;
            row.cpu_ns += cpu_ns;
            row.counters
                .iter_mut()
                .zip(counters)
                .for_each(|(sum, c)| *sum += c);
        }
        (!waits).then_some(ctx)
    }

    /// Off-CPU time in calls of MPI, nanoseconds: asleep or waiting for a core.
    pub fn slept_in_mpi(&self) -> u64 {
        self.totals.mpi_ns.saturating_sub(self.mpi_cpu)
    }

    /// CPU time at the last sample, nanoseconds.
    pub fn cpu_at_sample(&self) -> u64 {
        self.sampled_at.0
    }

    /// The row for samples in `ctx` since the last call.
    fn sample_row(&mut self, ctx: u32) -> Option<&mut SampleRow> {
        let after = self.last_ctx;
        let hash = mix2(u64::from(after), u64::from(ctx));
        let row = self.samples.find_or_push(
            hash,
            |r| r.after == after && r.ctx == ctx,
            || SampleRow {
                after,
                ctx,
                ..Default::default()
            },
        )?;
        self.samples.get(row)
    }

    /// Adds CPU time of computation to the core that the thread is on.
    pub fn computed(&mut self, cpu_ns: u64) {
        // SAFETY: a plain query, which a handler may make.
        let Ok(core) = u64::try_from(unsafe { libc::sched_getcpu() }) else {
            return;
        };
        let Some((others, separate_cores)) = self.totals.on_cores.split_last_mut() else {
            return;
        };
        let mut places = separate_cores.iter_mut();
        let own = places.find(|c| c.core == core || c.cpu_ns == 0);
        let place = own.unwrap_or(others);
        (place.core, place.cpu_ns) = (core, place.cpu_ns + cpu_ns);
    }

    /// Counts a core change that the sampler saw.
    pub fn migrated(&mut self) {
        self.totals.migrations += 1;
    }
}

impl Call {
    /// The call as those know it that complete what it has posted.
    #[inline]
    pub fn post(&self) -> Post {
        Post {
            ctx: self.ctx,
            enter_ns: self.enter_ns,
            func: self.func,
        }
    }

    /// A call of the function `func` that has not begun yet.
    #[inline]
    pub fn of(from: Caller, func: u16) -> Self {
        Self {
            ctx: NONE,
            enter_ns: 0,
            func,
            from,
            busy_ns: 0,
            pending: true,
            counted: true,
        }
    }
}

/// Begins a call of the thread `at`. Returns `None` if the call is not recorded. The results are written directly
/// into `call`: on the path of a call, copying it costs as much as a reading of the clock.
#[inline]
pub fn enter(at: *mut Thread, call: &mut Call) -> Option<&'static mut Thread> {
    if !RECORDING.load(Ordering::Relaxed) {
        return None;
    }
    // SAFETY: null or this thread's own recording, a leaked box that only this thread uses.
    let t = match unsafe { at.as_mut() } {
        Some(t) => t,
        None => life::make()?,
    };
    let tables = code::tables();
    // Another thread may be unloading a library. Even then the messages of this call must be recorded.
    if tables.is_none() && !code::are_away() {
        return None;
    }
    t.in_mpi.store(true, Ordering::Relaxed);
    let (from, now) = (call.from, clock::now());
    let unwound = t.contexts.unwound;
    let ctx = t.contexts.of_call_by(tables, from);
    if t.contexts.unwound > unwound || tables.is_none() {
        t.strays += u64::from(tables.is_some_and(|tables| !tables.know(from.return_address)));
        // The path of a call from a new place is always unwound, so a thread's first call of MPI comes here.
        if !t.calls_mpi {
            t.call_mpi();
        }
    }
    t.buffers.links.clear();
    (t.call_sp, t.call_return) = (from.stack_pointer, from.return_address);
    (call.ctx, call.enter_ns) = (ctx, now);
    call.busy_ns = now.saturating_sub(t.left_ns);
    if t.pauses.any() {
        t.enter_behind_a_pause(call);
    } else if !t.polls.goes_on(call) {
        if t.polls.times.count > 0 {
            t.count_polls();
        }
        t.polls.armed = false;
        call.busy_ns = t.close_segment(ctx, now);
        call.pending = false;
    }
    Some(t)
}

/// Whether a link of a call that took `wall` shows when its message began or ended. A posted operation does not,
/// because its completion does. A send that completes at once waited for nobody.
#[inline]
fn says_when(link: &Link, wall: u64) -> bool {
    match EventKind::from_code(link.kind) {
        Some(EventKind::SendDone) => wall > WORTH_READING,
        Some(kind) => !kind.is_posting(),
        // Calls that may wait for the lock of an RMA window are no messages.
        None => false,
    }
}

/// Ends a call. `idle` says that the call asked for something and found nothing.
#[inline]
pub fn leave(t: &mut Thread, call: &Call, params: &Params, idle: bool) {
    leave_by(t, call, params, idle, clock::now());
}

/// Ends a call that the library returned from at `now`.
#[inline]
pub fn leave_by(t: &mut Thread, call: &Call, params: &Params, idle: bool, now: u64) {
    if !call.counted {
        t.leave_uncounted(call, now);
        look_for_modules(t);
        t.in_mpi.store(false, Ordering::Relaxed);
        return;
    }
    let wall = now.saturating_sub(call.enter_ns);
    let wall = wall.saturating_sub(t.paused_inside(now));
    if call.pending {
        if idle && wall < WORTH_READING && *params == t.polls.params {
            t.polls.add(call, wall);
            t.mpi_cpu += wall;
            t.locked(wall);
            if t.polls.times.wall + t.polls.between > LONGEST_ROW {
                t.count_polls();
            }
            t.totals.end_ns = now;
            t.leave_at(now, t.traced_long);
            t.in_mpi.store(false, Ordering::Relaxed);
            return;
        }
        if t.polls.times.count > 0 {
            t.count_polls();
        }
        let spent = Spent {
            cpu: call.busy_ns,
            ..Default::default()
        };
        t.count_segment(call.ctx, 1, call.busy_ns, spent);
    }
    let spent = t.spent(wall, now, WORTH_READING);
    let once = Times {
        count: 1,
        wall,
        longest: wall,
    };
    t.count_calls(call, params, once, spent);
    t.mpi_cpu += spent.cpu;
    t.locked(wall);
    t.totals.end_ns = now;
    for i in 0..t.buffers.links.len() {
        if let Some(link) = t
            .buffers
            .links
            .get(i)
            .copied()
            .filter(|l| says_when(l, wall))
        {
            t.sample_message(&link, call.ctx, call.func, params.comm, call.enter_ns, now);
        }
    }
    t.buffers
        .links
        .retain(|l| l.kind != EventKind::SendDone as u8);
    let thinned = t.windows.record(
        call.ctx,
        call.func,
        call.busy_ns,
        call.enter_ns,
        wall,
        &t.buffers.links,
    );
    t.last_ctx = call.ctx;
    t.polls.arm(idle, call, params);
    if wall > WORTH_READING {
        // Counts from inside the call do not belong to the next computation.
        t.sampler.counters.rebase();
    }
    let looked = look_for_modules(t);
    let long = looked || thinned || wall > WORTH_READING || t.traced_long;
    t.leave_at(now, long);
    t.in_mpi.store(false, Ordering::Relaxed);
}

/// The same where Python's interpreter gives its lock up, in no signal handler: samples alone say that there is such code. The
/// loader is asked for no symbols, as its own lock may be held by a thread that waits for the interpreter.
#[inline]
pub fn look_for_code(t: &mut Thread) {
    if t.strays > 2 * t.strays_looked_at && RECORDING.load(Ordering::Relaxed) {
        look_at_code(t);
    }
}

/// Notes the code that is loaded now.
#[cold]
pub fn look_at_code(t: &mut Thread) {
    // SAFETY: errno belongs to this thread and is the program's to read.
    let errno = unsafe { *libc::__errno_location() };
    t.undisturbed(|t| {
        t.strays_looked_at = t.strays;
        let look = || std::panic::catch_unwind(code::look_at_code);
        let _ = t.contexts.with_room(look);
        t.contexts.forget();
    });
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// Looks for new modules: code outside all known modules may be in a library that was opened since the last look.
/// Looks again when the number of calls and samples in such code, or the number of unwound calls, has more than
/// doubled. Returns whether it looked.
#[inline]
fn look_for_modules(t: &mut Thread) -> bool {
    let look =
        t.contexts.unwound > 2 * t.misses_looked_at + 64 || t.strays > 2 * t.strays_looked_at;
    if look {
        (t.misses_looked_at, t.strays_looked_at) = (t.contexts.unwound, t.strays);
        let look = || std::panic::catch_unwind(code::look_at_modules);
        let _ = t.contexts.with_room(look);
        t.contexts.forget();
    }
    look
}
