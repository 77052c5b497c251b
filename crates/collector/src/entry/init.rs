//! `MPI_Init` and the first session: recording begins when the library's function has returned.

use crate::end::{finalize, tree};
use crate::entry::{begin, mpi, program, sample, sessions};
use crate::guest::{descriptors, recording, usage};
use crate::libraries::{abi, weak};
use crate::sampling::signal;
use crate::threads::{
    birth,
    thread::{self, Call, Caller, Calls},
};
use crate::trace;
use headwater_mpi_call::args::Args;
use headwater_mpi_call::library::Library;
use std::sync::atomic::{AtomicBool, Ordering};

static BEGUN: AtomicBool = AtomicBool::new(false);

/// Whether recording was begun, or tried to begin.
pub fn has_begun() -> bool {
    BEGUN.load(Ordering::Acquire)
}

/// Handles `MPI_Init` and its Fortran and threaded variants. Recording begins when the library's function has
/// returned.
pub fn init(id: u16, real: usize, args: &Args, from: Caller) -> i32 {
    undo_weak_references();
    descriptors::make_room();
    // A Fortran `mpi_init` may pass here twice, because it calls the C function.
    let mut call = Call::of(from, id);
    let recorded = if sessions::joining_world() {
        sessions::wake();
        thread::enter(thread::current(), &mut call)
    } else {
        None
    };
    // SAFETY: the library's own function for these arguments.
    let (result, threads) = birth::while_init(|| unsafe { args.call(real) });
    // Another thread may have opened the first session meanwhile, or closed the last one.
    let _turn = sessions::turn();
    if sessions::join_world() {
        sessions::wake();
        // There are other ranks to merge with now.
        begin_or_not(|| {
            let Some(library) = abi::library() else {
                return;
            };
            if answer_of("MPI_Initialized") == 0 {
                return;
            }
            // At its first session, the process could not tell that another job had started it.
            if was_spawned(library) {
                begin::give_up();
                return;
            }
            let [rank, size] = place_in(library);
            tree::grow(library, rank, size);
            finalize::agree_to_merge(recording::RECORDING.load(Ordering::Acquire));
        });
    } else if program::is_recorded() {
        program::met_mpi();
    } else if !BEGUN.swap(true, Ordering::AcqRel) {
        begin_or_not(|| begin_with_init(&threads));
    }
    if let Some(t) = recorded {
        thread::leave(t, &call, &finalize::PARAMS, false);
    }
    result
}

/// Handles `MPI_Session_init` before recording has begun. Recording begins when the library's function has returned.
pub fn first_session(real: usize, args: &Args) -> i32 {
    undo_weak_references();
    descriptors::make_room();
    // SAFETY: the library's own function for these arguments.
    let (result, threads) = birth::while_init(|| unsafe { args.call(real) });
    let _turn = sessions::turn();
    if result == 0 {
        sessions::opened(args);
    }
    if program::is_recorded() {
        program::met_mpi();
    } else if result == 0 && !BEGUN.swap(true, Ordering::AcqRel) {
        begin_or_not(|| begin_with_session(args, &threads));
        if !sessions::began() {
            // `MPI_Init` may still begin the recording, and there other ranks count on this one.
            BEGUN.store(false, Ordering::Release);
        }
    }
    result
}

fn undo_weak_references() {
    // If the collector is linked into the program, our module is the program itself.
    if !usage::IS_LINKED {
        let _ = std::panic::catch_unwind(weak::undo);
    }
}

fn begin_or_not(begin: impl FnOnce()) {
    let find_and_begin = || {
        // Also if nothing is recorded: a later call must not ask the loader. The thread that holds the loader's lock
        // may be waiting for that call.
        abi::find_all();
        begin();
    };
    if std::panic::catch_unwind(std::panic::AssertUnwindSafe(find_and_begin)).is_err() {
        recording::RECORDING.store(false, Ordering::Release);
    }
}

/// Whether processes of another job started this one.
fn was_spawned(library: &Library) -> bool {
    let real = abi::pmpi("MPI_Comm_get_parent");
    let mut parent = 0u64;
    if real != 0 {
        // SAFETY: the function writes a communicator, in the library's own width.
        unsafe {
            let get: unsafe extern "C" fn(*mut u64) -> i32 = std::mem::transmute(real);
            get(&mut parent);
        }
    }
    parent != 0 && parent != library.comm_null
}

/// Calls a function such as `MPI_Initialized`, which is allowed at any time, and returns its answer; 0 if the library
/// has no such function.
fn answer_of(name: &str) -> i32 {
    let real = abi::pmpi(name);
    let mut answer = 0i32;
    if real != 0 {
        // SAFETY: such functions write one int.
        unsafe {
            let ask: unsafe extern "C" fn(*mut i32) -> i32 = std::mem::transmute(real);
            ask(&mut answer);
        }
    }
    answer
}

fn begin_with_init(threads: &[libc::pid_t]) {
    if answer_of("MPI_Initialized") == 0 {
        return;
    }
    let Some(library) = known_library() else {
        return;
    };
    // The processes that started it record into the same directory, and their ranks have the same numbers.
    if was_spawned(library) {
        return;
    }
    let [rank, size] = place_in(library);
    let level = answer_of("MPI_Query_thread");
    tree::grow(library, rank, size);
    let threaded = abi::get().is_some_and(|a| level >= a.thread_multiple);
    begin_as(library, rank, size, threaded, threads);
}

/// This process's rank in the world, and how many ranks there are.
fn place_in(library: &Library) -> [u32; 2] {
    ["MPI_Comm_rank", "MPI_Comm_size"]
        .map(|name| library.ask(name, library.world).unwrap_or(0).max(0) as u32)
}

/// Begins recording with the first session. Each session has a thread level of its own, so all threads may call MPI
/// at once.
fn begin_with_session(args: &Args, threads: &[libc::pid_t]) {
    if let Some(library) = known_library()
        && let Some((rank, size)) = sessions::first_opened(args)
    {
        begin_as(library, rank, size, true, threads);
    }
}

/// The library, if the process is to be recorded and the library is known.
fn known_library() -> Option<&'static Library> {
    if !begin::is_wanted() {
        return None;
    }
    let library = abi::learn();
    if library.is_none() {
        begin::unknown_library(&abi::name());
    }
    library
}

/// Begins to record rank `rank` of `size`; `threaded` says whether threads may call MPI at the same time.
fn begin_as(
    library: &'static Library,
    rank: u32,
    size: u32,
    threaded: bool,
    threads: &[libc::pid_t],
) {
    begin::leave_in_children();
    let process = begin::Process {
        rank,
        size,
        library: &library.version,
    };
    let began = begin::begin_recording(&process, || {
        mpi::begin_decoding(library, rank, size, threaded);
        trace::begin(library, rank, size, threaded, birth::start_ours);
        signal::prepare(sample::handler);
    });
    if began {
        crate::sampling::counters::name();
        abi::say_who_stands_before_us();
    }
    let ready = began && thread::begin(Calls::Mpi);
    if began && !ready {
        begin::give_up();
    }
    finalize::agree_to_merge(ready);
    if ready {
        birth::record_those_there(threads);
    }
    thread::start();
}
