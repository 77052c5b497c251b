//! The beginning and the end of a recording.
//!
//! A recording is made whole for a thread that calls MPI, and light for other threads. A light one gets the tables of
//! MPI calls with the thread's first call. Another thread may make a thread's recording.

use super::pauses::Pauses;
use super::totals::Base;
use super::unsampled::Unsampled;
use super::{CHECKED, MESSAGES, THREADS, Thread, Waiting};
use crate::guest::{clock, memory, meter::Meter, recording::RECORDING, schedstat::Schedstat};
use crate::libraries::{
    frames::{Contexts, Frames},
    runtimes,
};
use crate::sampling::rate;
use crate::storage::{
    process_spool,
    spool::{FEW_BYTES, FIRST_BYTES, Spool, may_be_as_long},
    table::Table,
    window::Windows,
};
use crate::threads::{
    birth,
    futex::Slept,
    gil,
    local::local,
    named::Regions,
    part,
    polls::Polls,
    roster,
    team::{Stretch, Teams},
    waits::Waits,
};
use crate::trace::Tracer;
use headwater_call_path::{NONE, OwnStack, Stack};
use headwater_format::spool::{layout::LOST_THREADS, window_slots};
use headwater_mpi_call::buffers::CallBuffers;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

/// How many rows a recording's tables have addresses for, and how much disk space its first tables have from the
/// start.
struct Size {
    contexts: u32,
    samples: u32,
    /// For threads that call MPI, like `calls`.
    segments: u32,
    calls: u32,
    first: u64,
    /// Bytes of memory that must be left.
    memory: usize,
}

/// For the thread that calls `MPI_Init`, if addresses are plentiful: room for a hundred thousand call paths.
const AMPLE: Size = Size {
    contexts: 1 << 18,
    samples: 1 << 14,
    segments: 1 << 17,
    calls: 1 << 17,
    first: FIRST_BYTES,
    memory: 256 << 20,
};
/// The same where the program does not use MPI.
const WITHOUT_MPI: Size = Size {
    segments: 0,
    calls: 0,
    ..AMPLE
};
/// For another thread that calls MPI.
const WHOLE: Size = Size {
    contexts: 1 << 16,
    segments: 1 << 15,
    calls: 1 << 15,
    memory: 16 << 20,
    ..AMPLE
};
/// For other threads.
const LIGHT: Size = Size {
    contexts: 1 << 13,
    samples: 1 << 12,
    segments: 0,
    calls: 0,
    first: FEW_BYTES,
    memory: 2 << 20,
};

/// A thread that begins later than this after the call that makes it may have waited for a core, nanoseconds.
const LATE: u64 = 100_000;

/// A recording that waits for its thread to begin.
const TO_BEGIN: libc::pid_t = -1;

/// The calling thread's number in the system.
pub fn tid() -> libc::pid_t {
    // SAFETY: a plain query.
    unsafe { libc::syscall(libc::SYS_gettid) as libc::pid_t }
}

/// Makes the calling thread's recording, or takes it over if it was made already.
#[cold]
pub(super) fn make() -> Option<&'static mut Thread> {
    if local().refused.replace(true) {
        return None;
    }
    let mut at = birth::take_up();
    if at.is_null() {
        at = roster::of_tid(tid()).unwrap_or(at);
        // SAFETY: null or this thread's own recording, made by samples alone until now.
        if let Some(t) = unsafe { at.as_mut() } {
            t.contexts.set_stack(Stack::own());
            t.stack = Stack::own();
            t.for_signals.lend();
            t.begin_here();
        }
    }
    // SAFETY: null or this thread's own recording, which is never freed.
    if let Some(t) = unsafe { at.as_mut() } {
        return Some(t);
    }
    let is_first = THREADS.load(Ordering::Relaxed) == 0;
    let plenty = is_first && has_plenty(&AMPLE);
    let this = Thread::made(if plenty { &AMPLE } else { &WHOLE })?;
    this.in_mpi.store(true, Ordering::Relaxed);
    this.begin_born();
    this.in_mpi.store(true, Ordering::Relaxed);
    Some(this)
}

/// What the thread that begins a recording calls.
#[derive(Clone, Copy, PartialEq)]
pub enum Calls {
    /// MPI.
    Mpi,
    /// Nothing of the kind: the program does not use MPI.
    NoMpi,
}

/// Makes the calling thread's recording. Returns whether there is room for it.
pub fn begin(calls: Calls) -> bool {
    // SAFETY: null or this thread's own recording.
    if unsafe { super::current().as_ref() }.is_some() {
        return true;
    }
    if calls == Calls::Mpi {
        return make().is_some();
    }
    let size = if has_plenty(&WITHOUT_MPI) {
        &WITHOUT_MPI
    } else {
        &LIGHT
    };
    let this = Thread::made(size);
    if let Some(t) = this {
        t.in_mpi.store(true, Ordering::Relaxed);
        t.expect_waits();
        t.begin_born();
        return true;
    }
    false
}

/// Whether the process has memory and addresses in plenty.
fn has_plenty(size: &Size) -> bool {
    !memory::is_locked() && memory::room(size.memory) && may_be_as_long(size.memory as u64)
}

/// Begins to record the calling thread: `MPI_Init` is about to return, computation starts.
pub fn start() {
    // SAFETY: null or this thread's own recording.
    if let Some(t) = unsafe { super::current().as_mut() } {
        // Messages that the ranks exchanged since the recording was made are ours, not the program's.
        t.begin_here();
        t.sampler.counters.rebase();
    }
}

/// Recording has ended: writes the totals of the living threads into their rows.
pub fn settle() {
    // The reader takes at most twice its room per rank. Before that, it drops windows that the ranks do not have in
    // common, which may be half of them.
    let size = process_spool::with_spool(|spool| Some(spool.header().size)).unwrap_or(1);
    let most = 4 * window_slots::room(size) as u32;
    for at in roster::all() {
        // SAFETY: a recording; nothing is recorded any more, so its thread writes no totals.
        let t = unsafe { &mut *at };
        t.windows.leave(most);
        t.sampler.say_refused();
    }
    settle_totals();
}

/// The same for the totals alone. Neither allocates nor locks, so a signal handler may call this.
pub fn settle_totals() {
    for at in roster::all() {
        // SAFETY: as above.
        let t = unsafe { &mut *at };
        let tid = t.tid.load(Ordering::Acquire);
        if tid > 0
            && let Some(cpu) = clock::cpu_of(tid)
        {
            t.sum_up(cpu, clock::now(), t.run_delay());
        }
    }
}

/// For a child after `fork`. It has only the thread that called `fork`; the events and timers of the parent's threads
/// are not its own.
pub fn leave_to_parent() {
    for at in roster::all() {
        // SAFETY: a recording; the other threads, which might use theirs, are not in this process.
        let t = unsafe { &mut *at };
        t.sampler.leave_to_parent();
        t.schedstat.close();
    }
}

impl Thread {
    /// A recording that waits for its thread to begin, or the recording of the running thread with this number.
    pub fn light(tid: Option<libc::pid_t>) -> Option<&'static mut Self> {
        let t = Self::made(&LIGHT)?;
        t.expect_waits();
        t.tid.store(tid.unwrap_or(TO_BEGIN), Ordering::Release);
        Some(t)
    }

    fn made(size: &Size) -> Option<&'static mut Self> {
        /// Whether there was no room for one.
        static FULL: AtomicBool = AtomicBool::new(false);
        if FULL.load(Ordering::Relaxed) {
            return None;
        }
        if !memory::room(size.memory) {
            process_spool::say("There was no memory left for recording some of the threads.");
            return None;
        }
        let number = THREADS.fetch_add(1, Ordering::Relaxed);
        let made = || process_spool::with_spool(|spool| Self::new(number, size, spool));
        let thread = if (number as usize) < roster::MOST {
            std::panic::catch_unwind(made).ok().flatten()
        } else {
            None
        };
        let Some(mut thread) = thread else {
            if RECORDING.load(Ordering::Relaxed) && !FULL.swap(true, Ordering::Relaxed) {
                process_spool::say(
                    "There were more threads than there is room for, so some were not recorded.",
                );
                process_spool::with_spool(|spool| {
                    spool.header().lost |= LOST_THREADS;
                    Some(())
                });
            }
            return None;
        };
        thread.contexts.expect_interpreter();
        let contexts = thread.contexts.rows();
        let at = Box::into_raw(thread);
        roster::put(number, at, contexts);
        // SAFETY: just leaked, and nobody else uses it until it has a thread.
        Some(unsafe { &mut *at })
    }

    /// Made in a box from the start: it has some KiB, and the stack that this runs on may be small.
    fn new(number: u32, size: &Size, spool: &mut Spool) -> Option<Box<Self>> {
        let whole = size.calls > 0;
        let contexts = spool.table_from(number, size.contexts, true, size.first)?;
        Some(Box::new(Self {
            number,
            tid: AtomicI32::new(TO_BEGIN),
            handle: AtomicU64::new(0),
            made_at_key: AtomicU64::new(u64::MAX),
            in_team: false,
            in_mpi: AtomicBool::new(true),
            contexts: Contexts::new(
                contexts,
                Stack::NONE,
                runtimes::reports_events,
                Frames::new(number),
            ),
            calls_mpi: whole,
            segments: later(spool, number, size.segments, true, whole)?,
            calls: later(spool, number, size.calls, true, whole)?,
            samples: spool.table_from(number, size.samples, true, size.first)?,
            messages: later(spool, number, MESSAGES, false, whole)?,
            message_limit: u64::MAX,
            windows: Windows::new(later(spool, number, Windows::ROWS, false, whole)?),
            buffers: CallBuffers::new(number, if whole { 256 } else { 0 }),
            stack: Stack::NONE,
            stack_asked: 0,
            stack_of: (0, 0),
            trace: if whole {
                Tracer::of_thread(number)
            } else {
                None
            },
            traced_long: false,
            for_signals: OwnStack::mapped(),
            call_sp: 0,
            call_return: 0,
            mpi_cpu: 0,
            sampled_at: (0, 0),
            unsampled: Unsampled::NONE,
            strays: 0,
            strays_looked_at: 0,
            polls: Polls::default(),
            bookkeeping: 0,
            left: CHECKED - 1,
            totals: spool.row(number)?,
            base: Base::new(),
            last_ctx: NONE,
            left_ns: 0,
            meter: Meter::default(),
            pauses: Pauses::new(0),
            team_meter: Meter::default(),
            teams: Teams::new(),
            waiting: Waiting {
                ctx: NONE,
                stack_pointer: 0,
            },
            waits: Waits::new(),
            regions: Regions::new(),
            gil: gil::Pending::NONE,
            slept: Slept::new(),
            openmp: part::RegionState::new(),
            schedstat: Schedstat::none(),
            made_ns: 0,
            sampler: rate::SamplerState::new(),
            misses_looked_at: 0,
        }))
    }

    /// The first call of MPI of a thread that was not known to make any.
    #[cold]
    pub(super) fn call_mpi(&mut self) {
        self.calls_mpi = true;
        self.trace = Tracer::of_thread(self.number);
        let number = self.number;
        let tables = process_spool::with_spool(|spool| {
            Some((
                spool.table(number, WHOLE.segments, true)?,
                spool.table(number, WHOLE.calls, true)?,
                spool.table(number, MESSAGES, false)?,
                spool.table(number, Windows::ROWS, false)?,
            ))
        });
        match tables {
            Some((segments, calls, messages, windows)) => {
                (self.segments, self.calls, self.messages) = (segments, calls, messages);
                self.windows = Windows::new(windows);
            }
            None => process_spool::say(
                "There was no room left for the MPI calls of some of the threads.",
            ),
        }
        self.buffers.links.reserve(256);
        // From here on this time is counted with segments and calls.
        self.totals.runq_ns = 0;
    }

    /// Sets the call that made the thread, a context of its own, and whether that call made it a member of a team.
    pub fn made_at(&mut self, ctx: u32, in_team: bool) {
        self.totals.made_by = u64::from(ctx.wrapping_add(1));
        self.in_team = in_team;
    }

    /// The call that makes the thread begins now.
    pub fn is_being_made(&mut self) {
        self.made_ns = clock::now();
    }

    /// Whether the thread begins now, right after the call that made it, so that the scheduler has counted next to nothing.
    fn is_newborn(&self) -> bool {
        self.made_ns > 0 && clock::now().saturating_sub(self.made_ns) < LATE
    }

    /// Context of the call that made the thread.
    pub fn made_by(&self) -> u32 {
        (self.totals.made_by as u32).wrapping_sub(1)
    }

    /// Enters the team of the threads that the same call made.
    pub fn join_team(&mut self) {
        if self.in_team && self.made_by() != NONE {
            self.enter_team(self.made_by());
        }
    }

    /// Takes the recording of a thread that has ended for one that is about to be made. Returns whether it could.
    pub fn take_for_next(&self) -> bool {
        let taken = self
            .tid
            .compare_exchange(0, TO_BEGIN, Ordering::AcqRel, Ordering::Relaxed);
        taken.is_ok()
    }

    /// The calling thread begins, and this is its recording.
    pub fn begin_born(&mut self) {
        // SAFETY: a plain query.
        let (tid, handle) = (tid(), unsafe { libc::pthread_self() });
        self.find_stack(handle);
        self.regions.close_all();
        self.for_signals.lend();
        self.schedstat.follow(tid);
        // A thread that has ended may have had the same handle.
        for other in roster::all().filter(|t| !std::ptr::eq(*t, self)) {
            // SAFETY: recordings are never freed, and this is atomic.
            let theirs = unsafe { &(*other).handle };
            let _ = theirs.compare_exchange(handle, 0, Ordering::Relaxed, Ordering::Relaxed);
        }
        self.handle.store(handle, Ordering::Relaxed);
        self.tid.store(tid, Ordering::Release);
        self.in_mpi.store(true, Ordering::Relaxed);
        let is_newborn = self.is_newborn();
        self.sampler
            .start(tid, self.unsampled.carried(), is_newborn);
        // The totals begin after the start of the sampler and of the meters. That start takes up part of a short
        // thread's life, and this time is ours, not the thread's. The sampled CPU time and the totals begin with the
        // same reading of the clock.
        self.begin_counting(is_newborn);
        self.begin_totals(self.sampled_at.0, true);
        self.in_mpi.store(false, Ordering::Relaxed);
    }

    /// Finds the calling thread's stack. To ask for it takes a system call and memory. In glibc, a thread's handle points to
    /// the end of its stack. So a thread with the handle of the one before it, and as large a stack asked for, has a stack that
    /// ends there, and nearly always the same one.
    fn find_stack(&mut self, handle: libc::pthread_t) {
        let is_of = (handle, self.stack_asked);
        if std::mem::replace(&mut self.stack_of, is_of) != is_of {
            self.stack = Stack::own();
        }
        self.contexts.set_stack(self.stack);
    }

    /// For a thread that is running already, and not the calling one: it is sampled from now on.
    pub fn sample_from_afar(&mut self, tid: libc::pid_t) {
        self.schedstat.follow(tid);
        let cpu = clock::cpu_of(tid).unwrap_or(0);
        self.begin_totals(cpu, false);
        self.sampled_at = (cpu, 0);
        self.left_ns = clock::now();
        self.in_mpi.store(false, Ordering::Release);
        self.sampler.start(tid, 0, false);
    }

    /// Everything begins now for the calling thread, which this is the recording of. The signal handler may call
    /// this.
    pub fn begin_here(&mut self) {
        self.in_mpi.store(true, Ordering::Relaxed);
        self.begin_counting(false);
        self.in_mpi.store(false, Ordering::Relaxed);
    }

    /// The same, for a caller that keeps samples away. The scheduler is not asked about a newborn thread.
    fn begin_counting(&mut self, is_newborn: bool) {
        let now = clock::now();
        local().recording.set(self);
        local().refused.set(true);
        (self.left_ns, self.last_ctx) = (now, NONE);
        self.pauses = Pauses::new(now);
        self.slept.forget();
        let mut cpu = clock::thread_cpu();
        if is_newborn {
            self.meter.begin_newborn(now, cpu);
            self.team_meter.begin_newborn(now, cpu);
        } else {
            self.meter.begin(now, &self.schedstat);
            self.team_meter.begin(now, &self.schedstat);
            cpu = clock::thread_cpu();
        }
        self.sampled_at = (cpu, self.mpi_cpu);
    }

    /// The calling thread ends, and this was its recording.
    pub fn end(&mut self) {
        self.in_mpi.store(true, Ordering::Relaxed);
        if RECORDING.load(Ordering::Relaxed) {
            if self.polls.times.count > 0 {
                self.count_polls();
            }
            if self.teams.in_one() {
                self.leave_team(Stretch::NONE);
            }
            let cpu = clock::thread_cpu();
            self.sum_up(cpu, clock::now(), self.own_run_delay());
            self.place_unsampled(cpu);
            // Opening events is not what it lived for.
            self.sampler.has_lived(self.base.lived());
        }
        // Pending signals arrive before this returns. They are recognised by what the recording still has.
        self.sampler.stop();
        self.for_signals.take_back();
        local().recording.set(std::ptr::null_mut());
        local().refused.set(true);
        self.end_from_afar();
    }

    /// The thread has ended. Another thread may now take over its recording.
    pub fn end_from_afar(&mut self) {
        self.in_mpi.store(true, Ordering::Relaxed);
        self.sampler.stop();
        self.schedstat.close();
        self.teams.forget();
        self.openmp.forget();
        self.tid.store(0, Ordering::Release);
    }
}

/// A table. It has room from the start only if the recording is `whole`.
fn later<R: headwater_format::spool::layout::Row>(
    spool: &mut Spool,
    number: u32,
    capacity: u32,
    indexed: bool,
    whole: bool,
) -> Option<Table<R>> {
    if whole {
        spool.table(number, capacity, indexed)
    } else {
        Some(Table::nowhere())
    }
}
