//! Birth and end of threads: records a thread from its first instruction to its last, however it ends.
//!
//! `pthread_create` is wrapped, and the program's start routine runs inside ours. The thread that makes another one
//! also makes its recording, on its own stack: the new thread's stack may be small. If one call makes threads again
//! after earlier ones have ended, the new threads take over the recordings of the earlier ones, the oldest recording
//! first.
//!
//! What a thread makes inside `MPI_Init` or another call of MPI belongs to the library. Such threads, and the threads
//! that they make, are not recorded. Threads from before `MPI_Init` are recorded from then on: with their call paths
//! if our wrapper made them, otherwise by samples alone.

use crate::guest::recording::RECORDING;
use crate::libraries::{code, runtimes};
use crate::storage::process_spool;
use crate::threads::{
    local::local,
    roster,
    thread::{self, Caller, Thread},
};
use headwater_call_path::{NONE, Origin, Root, Stack, root, stack};
use headwater_mpi_call::args::Args;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU64, Ordering};

/// Threads with smaller stacks are not recorded, because a sample needs some of the stack, bytes.
const SMALLEST_STACK: usize = 64 << 10;

/// Words of the maker's stack that are stored for a birth before `MPI_Init`.
const KEPT: usize = 512;

/// A thread between the call that makes it and its end.
pub struct Birth {
    /// The program's function and its argument.
    routine: usize,
    argument: u64,
    /// Its recording; null if it has none, or none yet.
    recording: AtomicPtr<Thread>,
    /// Whether it belongs to the MPI library.
    librarys: bool,
    /// What is known about it if it is from before `MPI_Init`.
    early: Option<Box<Early>>,
    /// The next one in [`OVER`].
    next: *mut Birth,
}

/// What is known about a thread from before `MPI_Init`.
struct Early {
    from: Caller,
    /// The maker's stack at the call. It is not on the maker's stack itself, which may be small.
    words: Box<[u64]>,
    /// Its own stack, once `tid` is known.
    stack: Cell<Stack>,
    tid: AtomicI32,
    cut: AtomicU64,
    ended: AtomicBool,
}

/// Births before `MPI_Init`. Only the thread that takes a birth out of here may free it.
static EARLY: [AtomicPtr<Birth>; 256] = [const { AtomicPtr::new(std::ptr::null_mut()) }; 256];
/// Births of threads that have ended. The next thread that makes one frees them: a thread that allocates nothing would set
/// the allocator up only to free its birth, which takes as long as some threads live.
static OVER: AtomicPtr<Birth> = AtomicPtr::new(std::ptr::null_mut());
/// Whether `MPI_Init` is over.
static INIT_OVER: AtomicBool = AtomicBool::new(false);

/// Runs `f`, which is `MPI_Init`: threads that are made meanwhile belong to the library. Also returns the threads
/// that were there before.
pub fn while_init<T>(f: impl FnOnce() -> T) -> (T, Vec<libc::pid_t>) {
    let there = std::panic::catch_unwind(tids).unwrap_or_default();
    let before = local().is_librarys.replace(true);
    let result = f();
    local().is_librarys.set(before);
    (result, there)
}

/// Stack of a thread of ours, bytes.
const OUR_STACK: usize = 512 << 10;

/// Starts a thread of ours, which is not recorded and takes none of the program's signals. Returns whether it could.
pub fn start_ours(run: fn()) -> bool {
    let before = local().is_librarys.replace(true);
    // SAFETY: sets that are filled before they are read.
    let started = unsafe {
        let mut all = std::mem::zeroed();
        let mut own = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut own);
        let thread = std::thread::Builder::new().stack_size(OUR_STACK);
        let started = thread.spawn(run).is_ok();
        libc::pthread_sigmask(libc::SIG_SETMASK, &own, std::ptr::null_mut());
        started
    };
    local().is_librarys.set(before);
    started
}

/// The process's threads, as the system numbers them.
pub fn tids() -> Vec<libc::pid_t> {
    let task = std::fs::read_dir("/proc/self/task");
    let names = task.into_iter().flatten().flatten().map(|e| e.file_name());
    names.filter_map(|n| n.to_str()?.parse().ok()).collect()
}

/// `MPI_Init` is over. From now on, the threads from before it, `tids`, are recorded.
pub fn record_those_there(tids: &[libc::pid_t]) {
    INIT_OVER.store(true, Ordering::Release);
    let mut known = vec![thread::tid()];
    for place in &EARLY {
        let birth = place.swap(std::ptr::null_mut(), Ordering::AcqRel);
        // SAFETY: null, or a birth that only we may free now. We do not free it, because its thread uses it.
        if let Some(birth) = unsafe { birth.as_ref() } {
            known.extend(record_early(birth));
        }
    }
    for tid in tids.iter().filter(|t| !known.contains(t)) {
        if let Some(t) = Thread::light(Some(*tid)) {
            t.sample_from_afar(*tid);
        }
    }
}

/// Makes the recording of a thread from before `MPI_Init`. Returns its number in the system.
fn record_early(birth: &Birth) -> Option<libc::pid_t> {
    let early = birth.early.as_ref()?;
    let tid = early.tid.load(Ordering::Acquire);
    if tid == 0 || birth.librarys {
        return Some(tid);
    }
    // It may be a thread of the process from which this one was forked.
    // SAFETY: no signal is sent, this only asks.
    let ours = unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, 0) == 0 };
    if !ours || early.stack.get().bytes() < SMALLEST_STACK {
        return Some(tid);
    }
    let t = Thread::light(Some(tid))?;
    let root = code::tables().map_or(NONE, |tables| {
        t.contexts.of_kept(tables, early.from, &early.words)
    });
    t.contexts.set_stack(early.stack.get());
    t.made_at(root, !runtimes::is_runtime(early.from.return_address));
    t.sample_from_afar(tid);
    let at = std::ptr::from_mut(t);
    birth.recording.store(at, Ordering::SeqCst);
    if early.ended.load(Ordering::SeqCst) && taken_out(birth) == at {
        t.end_from_afar();
    }
    Some(tid)
}

/// Takes the recording out of a birth. The thread that gets it ends it.
fn taken_out(birth: &Birth) -> *mut Thread {
    birth.recording.swap(std::ptr::null_mut(), Ordering::SeqCst)
}

/// The calling thread's recording if another thread has made it; null if none has. The signal handler calls this too.
#[cold]
pub fn take_up() -> *mut Thread {
    // SAFETY: null or the calling thread's own birth, which lives as long as it does.
    let Some(birth) = (unsafe { local().birth.get().as_ref() }) else {
        return std::ptr::null_mut();
    };
    let at = birth.recording.load(Ordering::Acquire);
    // SAFETY: null or a recording, which is never freed, of this thread.
    if let (Some(t), Some(early)) = (unsafe { at.as_mut() }, &birth.early) {
        let (ctx, cut) = (t.made_by(), early.cut.load(Ordering::Relaxed));
        t.contexts.root = Root { ctx, cut };
        t.starts_with(birth.routine);
        t.begin_here();
        t.join_team();
    }
    at
}

/// The program calls `pthread_create` or `thrd_create`. Argument `at` is the start routine, and the next one is the
/// routine's argument.
pub fn create(real: usize, args: &Args, from: Caller, at: u8) -> i64 {
    free_those_over();
    let birth = birth_of(args, from, at).map(|b| Box::into_raw(Box::new(b)));
    let Some(birth) = birth.filter(|b| is_in_order(*b)) else {
        // SAFETY: the libc's own function for these arguments.
        return unsafe { args.call_wide(real) };
    };
    let mut ours = *args;
    ours.replace(at, begin as *const () as u64);
    ours.replace(at + 1, birth as u64);
    // SAFETY: as above, with a routine and an argument of ours.
    let result = unsafe { ours.call_wide(real) };
    if result as i32 != 0 {
        // SAFETY: no thread uses it.
        unsafe { unborn(birth) };
    }
    result
}

/// Whether a birth can continue. One from before `MPI_Init` must be on the list, to be found then. If it cannot
/// continue, it is freed.
fn is_in_order(birth: *mut Birth) -> bool {
    // SAFETY: just made, and no thread uses it yet.
    unsafe {
        let ok = (*birth).early.is_none() || enlist(birth);
        if !ok {
            drop(Box::from_raw(birth));
        }
        ok
    }
}

/// The birth of a thread that is about to be made; `None` if we do nothing for it.
fn birth_of(args: &Args, from: Caller, at: u8) -> Option<Birth> {
    let new = |librarys| Birth {
        routine: args.raw(at) as usize,
        argument: args.raw(at + 1),
        recording: AtomicPtr::new(std::ptr::null_mut()),
        librarys,
        early: None,
        next: std::ptr::null_mut(),
    };
    if local().is_librarys.get() {
        return Some(new(true));
    }
    // SAFETY: null or this thread's own recording.
    let t = unsafe { thread::current().as_mut() };
    match t {
        Some(t) if t.in_mpi.load(Ordering::Relaxed) => Some(new(true)),
        Some(t) if RECORDING.load(Ordering::Relaxed) => {
            let stack_asked = stack_asked(if at == 2 { args.raw(1) } else { 0 });
            if stack_asked < SMALLEST_STACK {
                process_spool::say(
                    "Threads whose stacks are smaller than 64 KiB were not recorded.",
                );
                return None;
            }
            let ctx = t.context(from);
            let in_team = !runtimes::is_runtime(from.return_address);
            if in_team {
                t.makes();
            }
            t.expect_waits();
            let child = t.undisturbed(|t| {
                let origin = t.origin(ctx);
                t.contexts.with_room(|| recording_for(origin, in_team))
            })?;
            // SAFETY: nobody else uses it until the thread begins.
            unsafe { (*child).stack_asked = stack_asked };
            let mut birth = new(false);
            birth.recording = AtomicPtr::new(child);
            Some(birth)
        }
        None if !INIT_OVER.load(Ordering::Acquire) => {
            let mut birth = new(false);
            birth.early = Some(Box::new(Early {
                from,
                words: stack::words_from(from.stack_pointer, KEPT),
                stack: Cell::new(Stack::NONE),
                tid: AtomicI32::new(0),
                cut: AtomicU64::new(0),
                ended: AtomicBool::new(false),
            }));
            Some(birth)
        }
        _ => None,
    }
}

/// How large a stack is asked for by `attributes`, bytes; `usize::MAX` for the usual size.
fn stack_asked(attributes: u64) -> usize {
    let mut bytes = usize::MAX;
    if attributes != 0 {
        // SAFETY: the program's own attributes, as the function is defined.
        unsafe { libc::pthread_attr_getstacksize(attributes as *const _, &mut bytes) };
    }
    bytes
}

/// A number for the threads that thread `maker` makes by the call `ctx`.
pub fn made_at_key(maker: u32, ctx: u32) -> u64 {
    u64::from(maker) << 32 | u64::from(ctx)
}

/// The maker and the call of such a number.
pub fn maker_and_call(key: u64) -> (u32, u32) {
    ((key >> 32) as u32, key as u32)
}

/// A recording for a thread that is made at `origin`. It is the recording of a thread that was made there too and has
/// ended, or else a new one. If there is no room for a new one, it is that of any thread that has ended.
fn recording_for(origin: Origin, in_team: bool) -> Option<*mut Thread> {
    let key = made_at_key(origin.thread, origin.ctx);
    let free = |t: &Thread| t.take_for_next();
    let same = |t: &Thread| t.made_at_key.load(Ordering::Relaxed) == key && free(t);
    let at = roster::find(same)
        .or_else(|| Thread::light(None).map(std::ptr::from_mut))
        .or_else(|| roster::find(free))?;
    // SAFETY: nobody else uses it until the thread begins.
    let t = unsafe { &mut *at };
    t.made_at_key.store(key, Ordering::Relaxed);
    let root = t.contexts.adopt(origin, t.number);
    t.made_at(root, in_team);
    t.is_being_made();
    Some(at)
}

/// Puts a birth from before `MPI_Init` on the list. Returns whether there is room.
fn enlist(birth: *mut Birth) -> bool {
    let none = std::ptr::null_mut();
    EARLY.iter().any(|place| {
        let put = place.compare_exchange(none, birth, Ordering::AcqRel, Ordering::Relaxed);
        put.is_ok()
    })
}

/// Takes a birth off the list. Returns `false` if it was not there, because it is being recorded.
fn struck(birth: *mut Birth) -> bool {
    let none = std::ptr::null_mut();
    EARLY.iter().any(|place| {
        let out = place.compare_exchange(birth, none, Ordering::AcqRel, Ordering::Relaxed);
        out.is_ok()
    })
}

/// The thread was not made.
unsafe fn unborn(birth: *mut Birth) {
    // SAFETY: promised by the caller; the next thread gets the recording.
    unsafe {
        if let Some(t) = (*birth).recording.load(Ordering::Relaxed).as_ref() {
            t.tid.store(0, Ordering::Release);
        }
        if (*birth).early.is_none() || struck(birth) {
            drop(Box::from_raw(birth));
        }
    }
}

/// Ends a thread's recording, also if `pthread_exit` or a cancellation ends the thread.
struct End(*mut Birth);

impl Drop for End {
    fn drop(&mut self) {
        local().birth.set(std::ptr::null());
        // SAFETY: the calling thread's own birth and recording.
        unsafe {
            let birth = &*self.0;
            if let Some(early) = &birth.early {
                early.ended.store(true, Ordering::SeqCst);
            }
            if let Some(t) = taken_out(birth).as_mut() {
                t.end();
            }
            // The thread that makes recordings in `MPI_Init` may be looking at it. Then it is not freed.
            if birth.early.is_none() || struck(self.0) {
                is_over(self.0);
            }
        }
    }
}

/// Leaves the birth of the calling thread, which nobody else uses, to be freed.
unsafe fn is_over(birth: *mut Birth) {
    let mut first = OVER.load(Ordering::Relaxed);
    loop {
        // SAFETY: promised by the caller.
        unsafe { (*birth).next = first };
        match OVER.compare_exchange_weak(first, birth, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return,
            Err(now) => first = now,
        }
    }
}

/// Frees the births of threads that have ended.
fn free_those_over() {
    if OVER.load(Ordering::Relaxed).is_null() {
        return;
    }
    let mut next = OVER.swap(std::ptr::null_mut(), Ordering::Acquire);
    while !next.is_null() {
        // SAFETY: each was left here by its thread, and nobody else has taken it.
        let birth = unsafe { Box::from_raw(next) };
        next = birth.next;
    }
}

/// The start routine of all threads that the program makes.
unsafe extern "C-unwind" fn begin(birth: *mut libc::c_void) -> u64 {
    let at = birth.cast::<Birth>();
    let _end = End(at);
    // SAFETY: made for this thread, which owns it.
    let birth = unsafe { &*at };
    local().birth.set(at);
    local().is_librarys.set(birth.librarys);
    let (routine, argument) = (birth.routine, birth.argument);
    let recording = birth.recording.load(Ordering::Acquire);
    // SAFETY: the recording that was made for this thread; the program's routine and its argument.
    unsafe {
        if let Some(t) = recording.as_mut() {
            t.starts_with(routine);
            // Samples before the routine and after it are also below the call that made the thread.
            let cut = std::ptr::from_ref(&_end) as u64;
            t.contexts.root = match t.made_by() {
                NONE => Root::NONE,
                ctx => Root { ctx, cut },
            };
            t.begin_born();
            t.join_team();
            let made_by = t.made_by();
            // From the pointer itself: the routine makes other references to the recording.
            let root = &raw mut (*recording).contexts.root;
            return root::run(root, made_by, routine, argument);
        }
        let mut unused = 0;
        let cut = match &birth.early {
            Some(early) => {
                early.stack.set(Stack::own());
                early.tid.store(thread::tid(), Ordering::Release);
                early.cut.as_ptr()
            }
            None => &raw mut unused,
        };
        root::call(routine, argument, cut)
    }
}
