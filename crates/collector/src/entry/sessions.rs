//! Sessions: each part of a program may use MPI for itself, with or without `MPI_Init`.
//!
//! Without `MPI_Init`, recording begins with the first session. The process set that every library has then takes the
//! place of the world: its order is that of the ranks. Recording ends with the last session, and goes on if another
//! one is opened later.
//!
//! The ranks' data are not merged then: each process's file stays, and the reader takes those. To merge, all ranks
//! would have to meet. But a process that closes its last session does not wait for the others, some may have opened
//! none at all, and none of the program's communicators need have all of them as members.

use crate::entry::begin;
use crate::libraries::abi;
use headwater_mpi_call::args::Args;
use headwater_mpi_call::library::Library;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Held by a thread that begins to record or joins the world: a session and `MPI_Init` may come at once.
static TURN: Mutex<()> = Mutex::new(());
/// Sessions that are open.
static OPEN: Mutex<Vec<u64>> = Mutex::new(Vec::new());
/// Whether there is a world, by `MPI_Init`.
static WORLD: AtomicBool = AtomicBool::new(false);
/// Whether recording has begun with a session.
static BEGAN: AtomicBool = AtomicBool::new(false);
/// Whether recording has ended with one, and may resume.
static RESTS: AtomicBool = AtomicBool::new(false);

/// Position of the session in the arguments of the function that opens a session, and of the function that closes
/// one.
const OPENED: u8 = 2;
const CLOSED: u8 = 0;

/// What launchers set in the environment of processes that others have started.
const STARTED_BY_OTHERS: [&str; 2] = ["OMPI_PARENT_PORT", "PMI_SPAWNED"];

/// Prevents other threads from beginning to record as long as it lives. It is not held while the library begins.
pub fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The program enters `MPI_Init`. The first time, returns whether recording has begun before, with a session.
pub fn joining_world() -> bool {
    static JOINS: AtomicBool = AtomicBool::new(false);
    !JOINS.swap(true, Ordering::AcqRel) && began()
}

/// `MPI_Init` is over, so there is a world. The first time, returns whether recording has begun before, with a
/// session.
pub fn join_world() -> bool {
    let first = !WORLD.swap(true, Ordering::AcqRel);
    first && began()
}

/// Whether recording has begun with a session.
pub fn began() -> bool {
    BEGAN.load(Ordering::Acquire)
}

/// The first session has been opened. Returns this process's rank and the number of all, if it is to be recorded.
pub fn first_opened(args: &Args) -> Option<(u32, u32)> {
    opened(args);
    let others = |name| std::env::var_os(name).is_some_and(|value| value != "0");
    if STARTED_BY_OTHERS.into_iter().any(others) {
        return None;
    }
    let library = abi::library()?;
    let mut all = everybody(library)?;
    let real = library.functions(["MPI_Group_rank", "MPI_Group_size", "MPI_Group_free"])?;
    type Ask = unsafe extern "C" fn(u64, *mut i32) -> i32;
    let (mut rank, mut size) = (-1i32, 0i32);
    // SAFETY: the library's functions with arguments of their signatures, on a group of ours, which is freed in the
    // library's own width.
    unsafe {
        let [ask_rank, ask_size] =
            [real[0], real[1]].map(|at| std::mem::transmute::<usize, Ask>(at));
        ask_rank(library.narrow(all), &mut rank);
        ask_size(library.narrow(all), &mut size);
        let free: unsafe extern "C" fn(*mut u64) -> i32 = std::mem::transmute(real[2]);
        free(&mut all);
    }
    let found = (u32::try_from(rank).ok()?, u32::try_from(size).ok()?);
    BEGAN.store(true, Ordering::Release);
    Some(found)
}

/// A session has been opened.
pub fn opened(args: &Args) {
    let Some(library) = abi::library() else {
        return;
    };
    let handle = args.handle_at(OPENED, 0, &library.session);
    if let Ok(mut open) = OPEN.lock()
        && !open.contains(&handle)
    {
        open.push(handle);
    }
}

/// The program is about to close a session. Returns whether recording ends with it.
pub fn close(args: &Args) -> bool {
    let (Some(library), Ok(mut open)) = (abi::library(), OPEN.lock()) else {
        return false;
    };
    let handle = args.handle_at(CLOSED, 0, &library.session);
    let before = open.len();
    open.retain(|o| *o != handle);
    before > 0 && open.is_empty() && !WORLD.load(Ordering::Acquire)
}

/// Recording has ended with the last session, and may resume with another one.
pub fn rest() {
    RESTS.store(true, Ordering::Release);
}

/// Resumes recording if it has ended with the last session.
pub fn wake() {
    if RESTS.swap(false, Ordering::AcqRel) {
        let _ = std::panic::catch_unwind(begin::go_on);
    }
}

/// Recording does not resume: this is a child of the process.
pub fn leave_to_parent() {
    RESTS.store(false, Ordering::Release);
}

/// The group of all processes, for the caller to free.
pub fn everybody(library: &Library) -> Option<u64> {
    let mut group = 0u64;
    // SAFETY: the library's functions with arguments of their signatures: on the world while there is one, or else on
    // an open session and the name that the standard defines for the set of all processes.
    let result = unsafe {
        if WORLD.load(Ordering::Acquire) {
            let [real] = library.functions(["MPI_Comm_group"])?;
            let of: unsafe extern "C" fn(u64, *mut u64) -> i32 = std::mem::transmute(real);
            of(library.world, &mut group)
        } else {
            let [real] = library.functions(["MPI_Group_from_session_pset"])?;
            type Of = unsafe extern "C" fn(u64, *const libc::c_char, *mut u64) -> i32;
            let of: Of = std::mem::transmute(real);
            // The lock keeps the session from being closed meanwhile.
            let open = OPEN.lock().ok()?;
            of(*open.last()?, c"mpi://WORLD".as_ptr(), &mut group)
        }
    };
    (result == 0).then_some(library.narrow(group))
}
