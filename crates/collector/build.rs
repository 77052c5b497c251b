//! Generates the exported wrappers, C and Fortran, from the one table of MPI functions.

#[path = "build/openmp.rs"]
mod openmp;

use openmp::{OMPT, OPENMP};
use std::fmt::Write;
use std::path::Path;

/// Endings of Fortran names: what compilers append, and the two kinds of `mpi_f08` names.
const FORTRAN: [&str; 4] = ["_", "__", "_f08_", "_f08ts_"];

/// Functions of the libc that are wrapped, and why (`guarded::Why`).
const LIBC: [(&str, &str); 41] = [
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
    ("sem_timedwait", "NeverRestarts"),
    ("sem_clockwait", "NeverRestarts"),
    ("semop", "NeverRestarts"),
    ("semtimedop", "NeverRestarts"),
    ("msgsnd", "NeverRestarts"),
    ("msgrcv", "NeverRestarts"),
    ("pause", "NeverRestarts"),
    ("sigsuspend", "Masks(0)"),
    ("sigwait", "WaitsFor"),
    ("sigwaitinfo", "WaitsFor"),
    ("sigtimedwait", "WaitsFor"),
    ("fsync", "Sleeps"),
    ("fdatasync", "Sleeps"),
    ("msync", "Sleeps"),
    ("read", "Sleeps"),
    ("write", "Sleeps"),
    ("pread", "Sleeps"),
    ("pwrite", "Sleeps"),
    ("pread64", "Sleeps"),
    ("pwrite64", "Sleeps"),
    ("dlclose", "ClosesLibrary"),
    ("sigaction", "SetsAction"),
    ("signal", "SetsHandler"),
    ("bsd_signal", "SetsHandler"),
    ("ssignal", "SetsHandler"),
    ("sysv_signal", "SetsHandler"),
    ("__sysv_signal", "SetsHandler"),
];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=build/openmp.rs");
    let mut out = String::new();
    let mut wrapper = |symbol: &str, code: usize, way: &str| {
        writeln!(
            out,
            "/// Wrapper, see `trampoline`.\n#[unsafe(no_mangle)]\n#[unsafe(naked)]\nunsafe extern \"C\" fn {symbol}() {{\n    jump!({code}, {way})\n}}"
        )
        .expect("writing to a string succeeds");
    };
    for (id, (name, _)) in LIBC.iter().enumerate() {
        wrapper(name, 7 << 16 | id, "common");
    }
    for (id, (name, _, _)) in OPENMP.iter().enumerate() {
        wrapper(name, 8 << 16 | id, "common");
    }
    let mut ompt = String::new();
    for (id, (number, event)) in OMPT.iter().enumerate() {
        // The runtime is given these by their addresses: they have no names that others see.
        writeln!(
            ompt,
            "{{ #[unsafe(naked)] unsafe extern \"C\" fn event() {{ jump!({}, common) }} ({number}, event, crate::openmp::Event::{event}) }},",
            9 << 16 | id
        )
        .expect("writing to a string succeeds");
    }
    let openmp: String = OPENMP
        .iter()
        .map(|(name, count, does)| format!("(c\"{name}\", {count}, {does}), "))
        .collect();
    let libc: String = LIBC
        .iter()
        .map(|(name, why)| format!("(c\"{name}\", crate::guarded::Why::{why}), "))
        .collect();
    let mut names = String::new();
    for (id, function) in headwater_mpi_abi::FUNCTIONS.iter().enumerate() {
        let way = match function.class {
            headwater_mpi_abi::Class::Control => "passing_on",
            _ => "common",
        };
        wrapper(function.name, id, way);
        for (kind, ending) in FORTRAN.iter().enumerate() {
            let symbol = format!("{}{ending}", function.name.to_lowercase());
            wrapper(&symbol, (kind + 1) << 16 | id, way);
        }
        writeln!(names, "c\"{0}\", c\"P{0}\",", function.name)
            .expect("writing to a string succeeds");
    }
    writeln!(
        out,
        "/// Events of OpenMP runtimes: number, callback, and what it is.\npub static OMPT: [(u32, unsafe extern \"C\" fn(), crate::openmp::Event); {}] = [{ompt}];",
        OMPT.len()
    )
    .expect("writing to a string succeeds");
    writeln!(
        out,
        "/// Wrapped functions of the libc, and why they are.\npub static LIBC: [(&std::ffi::CStr, crate::guarded::Why); {}] = [{libc}];",
        LIBC.len()
    )
    .expect("writing to a string succeeds");
    writeln!(
        out,
        "/// Wrapped functions of GNU's OpenMP runtime, their arguments, and what they do.\npub static OPENMP: [(&std::ffi::CStr, usize, crate::openmp::Does); {}] = {{ use crate::openmp::{{Does::*, Section::*}}; use headwater_model::run::WaitKind::{{Condition, Ordered, Tasks}}; [{openmp}] }};",
        OPENMP.len()
    )
    .expect("writing to a string succeeds");
    let count = headwater_mpi_abi::FUNCTIONS.len();
    writeln!(out, "/// C names and their PMPI twins, in pairs.\npub static C_NAMES: [&std::ffi::CStr; {}] = [{names}];", 2 * count)
        .expect("writing to a string succeeds");
    let dir = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    std::fs::write(Path::new(&dir).join("wrappers.rs"), out).expect("OUT_DIR can be written");
}
