//! Generates the exported wrappers, C and Fortran, from the one table of MPI functions.

#[path = "build/markers.rs"]
mod markers;
#[path = "build/openmp.rs"]
mod openmp;

use markers::MARKERS;
use openmp::{OMPT, OPENMP};
use std::fmt::Write;
use std::path::Path;

/// Endings of Fortran names: what compilers append, and the two kinds of `mpi_f08` names.
const FORTRAN: [&str; 4] = ["_", "__", "_f08_", "_f08ts_"];

/// Functions of the libc that are wrapped, and why (`guarded::Why`), besides those that concern files: in these a thread
/// sleeps.
const LIBC: [(&str, &str); 45] = [
    ("nanosleep", "NeverRestarts"),
    ("clock_nanosleep", "NeverRestarts"),
    ("thrd_sleep", "NeverRestarts"),
    ("usleep", "NeverRestarts"),
    ("sleep", "NeverRestarts"),
    ("poll", "NeverRestarts"),
    ("__poll_chk", "NeverRestarts"),
    ("ppoll", "Masks(3)"),
    ("__ppoll_chk", "Masks(3)"),
    ("select", "NeverRestarts"),
    ("pselect", "Masks(5)"),
    ("epoll_wait", "NeverRestarts"),
    ("epoll_pwait", "Masks(4)"),
    ("epoll_pwait2", "Masks(4)"),
    ("semop", "NeverRestarts"),
    ("semtimedop", "NeverRestarts"),
    ("msgsnd", "NeverRestarts"),
    ("msgrcv", "NeverRestarts"),
    ("pause", "NeverRestarts"),
    ("sigsuspend", "Masks(0)"),
    ("sigwait", "WaitsFor"),
    ("sigwaitinfo", "WaitsFor"),
    ("sigtimedwait", "WaitsFor"),
    ("dlclose", "ClosesLibrary"),
    ("syscall", "CallsTheSystem"),
    ("pthread_create", "MakesThread(2)"),
    ("thrd_create", "MakesThread(1)"),
    ("sigaction", "SetsAction"),
    ("signal", "SetsHandler"),
    ("bsd_signal", "SetsHandler"),
    ("ssignal", "SetsHandler"),
    ("sysv_signal", "SetsHandler"),
    ("__sysv_signal", "SetsHandler"),
    ("_exit", "Ends"),
    ("_Exit", "Ends"),
    ("quick_exit", "Ends"),
    ("execv", "Becomes"),
    ("execve", "Becomes"),
    ("execvp", "Becomes"),
    ("execvpe", "Becomes"),
    ("fexecve", "Becomes"),
    ("execveat", "Becomes"),
    ("execl", "BecomesOf(c\"execv\")"),
    ("execlp", "BecomesOf(c\"execvp\")"),
    ("execle", "BecomesIn(c\"execve\")"),
];

/// Functions of the libc in which a thread waits for another one, what they do (`locks::What`), and how long
/// (`locks::Until`).
const WAITING: [(&str, &str, &str); 30] = [
    ("pthread_mutex_lock", "MUTEX", "Ever"),
    ("pthread_mutex_timedlock", "MUTEX", "At(1)"),
    ("pthread_mutex_clocklock", "MUTEX", "ByClock(2)"),
    ("mtx_lock", "C_MUTEX", "Ever"),
    ("mtx_timedlock", "C_MUTEX", "At(1)"),
    ("pthread_rwlock_rdlock", "READ_LOCK", "Ever"),
    ("pthread_rwlock_timedrdlock", "READ_LOCK", "At(1)"),
    ("pthread_rwlock_clockrdlock", "READ_LOCK", "ByClock(2)"),
    ("pthread_rwlock_wrlock", "WRITE_LOCK", "Ever"),
    ("pthread_rwlock_timedwrlock", "WRITE_LOCK", "At(1)"),
    ("pthread_rwlock_clockwrlock", "WRITE_LOCK", "ByClock(2)"),
    ("pthread_spin_lock", "SPIN_LOCK", "Ever"),
    ("sem_wait", "SEMAPHORE", "Ever"),
    ("sem_timedwait", "TIMED_SEMAPHORE", "At(1)"),
    ("sem_clockwait", "TIMED_SEMAPHORE", "ByClock(2)"),
    ("pthread_cond_wait", "What::Waits", "Ever"),
    ("pthread_cond_timedwait", "What::Waits", "At(2)"),
    ("pthread_cond_clockwait", "What::Waits", "ByClock(3)"),
    ("cnd_wait", "What::Waits", "Ever"),
    ("cnd_timedwait", "What::Waits", "At(2)"),
    ("pthread_cond_signal", "What::Lets", "Ever"),
    ("pthread_cond_broadcast", "What::Lets", "Ever"),
    ("cnd_signal", "What::Lets", "Ever"),
    ("cnd_broadcast", "What::Lets", "Ever"),
    ("sem_post", "What::Lets", "Ever"),
    ("pthread_join", "What::Joins", "Ever"),
    ("pthread_timedjoin_np", "What::Joins", "At(2)"),
    ("pthread_clockjoin_np", "What::Joins", "ByClock(3)"),
    ("thrd_join", "What::Joins", "Ever"),
    ("pthread_barrier_wait", "What::Meets", "Ever"),
];

/// Those of them that take a lock and have no other argument: they have a shorter way.
const ONLY_LOCK: [(&str, &str); 5] = [
    ("pthread_mutex_lock", "to_mutex"),
    ("mtx_lock", "to_mutex"),
    ("pthread_rwlock_rdlock", "to_lock"),
    ("pthread_rwlock_wrlock", "to_lock"),
    ("pthread_spin_lock", "to_lock"),
];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=build/openmp.rs");
    println!("cargo:rerun-if-changed=build/markers.rs");
    // As a part of the program, the real function is known to the linker: `PMPI_*`, and for those of the libc
    // what its option `--wrap` says. Each wrapper is a section of its own, and those that the program does not
    // call go, so that what its library does not have is not missed.
    let linked = std::env::var_os("CARGO_FEATURE_LINKED").is_some();
    let mut out = String::new();
    let mut wrapper = |symbol: &str, code: usize, jump: &str, way: &str, real: String| {
        let real = match linked && !real.is_empty() {
            true => format!(", \"{real}\""),
            false => String::new(),
        };
        writeln!(
            out,
            "/// Wrapper, see `trampoline`.\n#[unsafe(no_mangle)]\n#[unsafe(naked)]\nunsafe extern \"C\" fn {symbol}() {{\n    {jump}!({code}, {way}{real})\n}}"
        )
        .expect("writing to a string succeeds");
    };
    let nobody = String::new;
    // Linked into the program, locks are not recorded: they are too many to ask the linker for. Nor are
    // runtimes, which are no modules of their own, by which their part of the time could be found.
    for (id, (name, _, _)) in WAITING.iter().enumerate().filter(|_| !linked) {
        let short = ONLY_LOCK.iter().find(|(lock, _)| lock == name);
        let way = short.map_or("to_wait", |(_, way)| way);
        wrapper(name, id, "jump", way, nobody());
    }
    for (id, (name, _, _)) in OPENMP.iter().enumerate().filter(|_| !linked) {
        wrapper(name, 8 << 16 | id, "jump", "common", nobody());
    }
    // Linked into the program, they would be there twice.
    for (id, (symbol, _, _)) in MARKERS.iter().enumerate().filter(|_| !linked) {
        wrapper(symbol, 10 << 16 | id, "jump", "common", nobody());
    }
    let mut ompt = String::new();
    for id in 0..OMPT.len() {
        // The runtime is given these by their addresses: they have no names that others see.
        writeln!(
            ompt,
            "{{ #[unsafe(naked)] unsafe extern \"C\" fn event() {{ jump!({}, common) }} event }},",
            9 << 16 | id
        )
        .expect("writing to a string succeeds");
    }
    // Those are recorded as sleeps, because any signal ends them.
    let timed = ["sem_timedwait", "sem_clockwait"].map(|name| (name, "NeverRestarts"));
    let timed = timed.iter().filter(|_| linked);
    // A program with the collector linked in uses MPI, so how it ends does not matter.
    let ends = |why: &str| why == "Ends" || why.starts_with("Becomes");
    let files = headwater_model::files::CALLS.map(|name| match name {
        // It has an address.
        "msync" => (name, "Sleeps"),
        _ => (name, "SleepsFor(0)"),
    });
    let libc: Vec<_> = LIBC
        .iter()
        .chain(&files)
        .chain(timed)
        .filter(|(_, why)| !(linked && ends(why)))
        .collect();
    for (id, (name, why)) in libc.iter().enumerate() {
        let (code, real) = (7 << 16 | id, format!("__real_{name}"));
        match (linked, *why) {
            (false, "CallsTheSystem") => wrapper(name, code, "jump_if_lock", "common", nobody()),
            (true, "CallsTheSystem") => {}
            (false, _) => wrapper(name, code, "jump", "common", nobody()),
            (true, _) => wrapper(&format!("__wrap_{name}"), code, "jump", "common", real),
        }
    }
    let libc_rows = libc.len();
    let libc: String = libc
        .iter()
        .map(|(name, why)| format!("(c\"{name}\", Why::{why}), "))
        .collect();
    let openmp: String = OPENMP
        .iter()
        .map(|(_, count, does)| format!("({count}, {does}), "))
        .collect();
    let markers: String = MARKERS
        .iter()
        .map(|(symbol, count, does)| format!("(c\"{symbol}\", {count}, Does::{does}), "))
        .collect();
    let functions: String = OPENMP
        .iter()
        .map(|(name, _, _)| format!("c\"{name}\", "))
        .collect();
    let events: String = OMPT
        .iter()
        .map(|(number, event)| format!("({number}, Event::{event}), "))
        .collect();
    let waiting: String = WAITING
        .iter()
        .map(|(name, what, until)| format!("(c\"{name}\", {what}, Until::{until}), "))
        .collect();
    let mut names = String::new();
    for (id, function) in headwater_mpi_abi::FUNCTIONS.iter().enumerate() {
        let way = match function.class {
            headwater_mpi_abi::Class::Control => "passing_on",
            _ => "common",
        };
        let real = format!("P{}", function.name);
        wrapper(function.name, id, "jump", way, real);
        // A library's Fortran layer that comes through C is seen there; for another one there are no names
        // that every library has.
        for (kind, ending) in FORTRAN.iter().enumerate().filter(|_| !linked) {
            let symbol = format!("{}{ending}", function.name.to_lowercase());
            wrapper(&symbol, (kind + 1) << 16 | id, "jump", way, nobody());
        }
        writeln!(names, "c\"{0}\", c\"P{0}\",", function.name)
            .expect("writing to a string succeeds");
    }
    writeln!(
        out,
        "/// Callbacks for the events of OpenMP runtimes, in the order of `openmp::EVENTS`.\npub static CALLBACKS: [unsafe extern \"C\" fn(); {}] = [{ompt}];",
        OMPT.len()
    )
    .expect("writing to a string succeeds");
    let count = headwater_mpi_abi::FUNCTIONS.len();
    // Each table is a file of its own, which the module that uses it includes.
    let tables = [
        ("wrappers", out),
        (
            "libc",
            format!(
                "/// Wrapped functions of the libc, and why they are.\npub static LIBC: [(&std::ffi::CStr, Why); {libc_rows}] = [{libc}];"
            ),
        ),
        (
            "openmp",
            format!(
                "/// Arguments of the wrapped functions of GNU's OpenMP runtime, and what they do, in the order of `runtimes::FUNCTIONS`.\nstatic OPENMP: [(usize, Does); {}] = {{ use {{Does::*, Section::*}}; use WaitKind::{{Condition, Ordered, Tasks}}; [{openmp}] }};",
                OPENMP.len()
            ),
        ),
        (
            "markers",
            format!(
                "/// Wrapped functions of Caliper and Score-P: symbol, number of arguments, and what they do.\nstatic MARKERS: [(&CStr, usize, Does); {}] = [{markers}];",
                MARKERS.len()
            ),
        ),
        (
            "runtime_functions",
            format!(
                "/// Wrapped functions of GNU's OpenMP runtime.\nstatic FUNCTIONS: [&std::ffi::CStr; {}] = [{functions}];",
                OPENMP.len()
            ),
        ),
        (
            "events",
            format!(
                "/// Events of OpenMP runtimes: their numbers, and what they are.\npub static EVENTS: [(u32, Event); {}] = [{events}];",
                OMPT.len()
            ),
        ),
        (
            "waiting",
            format!(
                "/// Functions in which threads wait for one another, what they do, and how long.\npub static WAITING: [(&std::ffi::CStr, What, Until); {}] = [{waiting}];",
                WAITING.len()
            ),
        ),
        (
            "c_names",
            format!(
                "/// C names and their PMPI twins, in pairs.\nstatic C_NAMES: [&std::ffi::CStr; {}] = [{names}];",
                2 * count
            ),
        ),
    ];
    let dir = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    for (name, text) in tables {
        let file = Path::new(&dir).join(name).with_extension("rs");
        std::fs::write(file, text).expect("OUT_DIR can be written");
    }
}
