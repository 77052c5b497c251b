//! A program that does not use MPI: recorded from its start to its end, as a run of one rank.
//!
//! The launcher's side looks at the program and names the process that is to be recorded. Recording begins when this
//! object is loaded, before the program's own constructors. It ends after the program's destructors, or where the
//! program calls `_exit`, `quick_exit` or a function of `exec`. A signal that ends the program leaves the file as it is.
//! Children that become other programs load this object too, but theirs is another process number.

use crate::end::close;
use crate::entry::{begin, sample};
use crate::guest::{recording, usage::IS_LINKED};
use crate::libraries::{interpreter, loader, references::modules};
use crate::sampling::{counters, signal};
use crate::storage::process_spool;
use crate::threads::{
    birth,
    thread::{self, Calls},
};
use headwater_format::spool::layout::{BECAME_ANOTHER, WRAPPER_NS};
use headwater_model::interpreters;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicI32, Ordering};

/// The process that is recorded as a program without MPI; 0 for none.
static PROCESS: AtomicI32 = AtomicI32::new(0);

/// The launcher's side sets this variable to the number of the process that it becomes.
const ASKED: &str = "HEADWATER_WITHOUT_MPI";

fn own_number() -> libc::pid_t {
    // SAFETY: a plain query.
    unsafe { libc::getpid() }
}

/// Whether the program's calls come to this object first. They do not where the program opened it late, as ITT does: then
/// recording would not see what the program unloads.
fn is_preloaded() -> bool {
    let first = loader::object_of(loader::first(c"dlclose"));
    !first.is_empty() && first == loader::object_of(begin as *const () as usize)
}

/// Whether this process is recorded as a program without MPI. A child is not, even where it shares the memory.
pub fn is_recorded() -> bool {
    let recorded = PROCESS.load(Ordering::Acquire);
    recorded != 0 && recorded == own_number()
}

/// Begins to record this process, if that is asked for.
pub fn begin() {
    let named = std::env::var(ASKED).ok().and_then(|v| v.parse().ok());
    if IS_LINKED || named != Some(own_number()) || !is_preloaded() {
        return;
    }
    let _ = std::panic::catch_unwind(|| {
        let earlier = begin::earlier(0);
        // Where the process did not only start this program, the run ends there.
        if earlier.as_ref().is_some_and(|e| e.cpu_ns > WRAPPER_NS) {
            return;
        }
        // One that ended without our knowledge. The file of this program, or that of `MPI_Init`, has the same name.
        if let Some(unknown) = earlier.as_ref().filter(|e| !e.is_wrapper) {
            unknown.remove();
        }
        if !uses_mpi() && (!is_interpreter() || is_python_without_mpi()) {
            begin_recording();
            if earlier.is_some() {
                process_spool::say(
                    "The process became this program by exec: what it was before is not in this run.",
                );
            }
        }
    });
}

/// Bytes of a script that are searched.
const SCRIPT: u64 = 1 << 20;

/// Whether the process became a Python whose command line and script do not name mpi4py. A script that names it is
/// recorded from `MPI_Init`.
fn is_python_without_mpi() -> bool {
    let command = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    interpreter::is_there() && !names_mpi(&command)
}

/// Whether a command line of Python or its script names mpi4py.
fn names_mpi(command: &[u8]) -> bool {
    const NAME: &[u8] = b"mpi4py";
    let names = |text: &[u8]| text.windows(NAME.len()).any(|w| w == NAME);
    let mut words = command.split(|b| *b == 0).skip(1);
    let script = loop {
        match words.next() {
            // Options with a value behind them.
            Some(b"-W" | b"-X" | b"--check-hash-based-pycs") => drop(words.next()),
            Some(b"-c" | b"-m" | b"-" | b"") | None => break None,
            Some(option) if option.starts_with(b"-") => {}
            Some(script) => break Some(Path::new(OsStr::from_bytes(script))),
        }
    };
    let text = script.filter(|s| s.is_file()).and_then(|script| {
        let mut text = Vec::new();
        let file = std::fs::File::open(script).ok()?;
        file.take(SCRIPT).read_to_end(&mut text).ok()?;
        Some(text)
    });
    names(command) || text.is_some_and(|text| names(&text))
}

/// Whether the process became the interpreter of a script: only programs are recorded without MPI.
fn is_interpreter() -> bool {
    std::fs::read_link("/proc/self/exe").is_ok_and(|program| interpreters::is_one(&program))
}

/// Whether an MPI library is loaded with the program.
fn uses_mpi() -> bool {
    let mut found = false;
    modules(|module| {
        let path = module.path().to_string_lossy();
        let name = path.rsplit('/').next().unwrap_or("");
        found |= headwater_mpi_abi::is_library(name);
    });
    found
}

fn begin_recording() {
    let threads = birth::tids();
    begin::leave_in_children();
    let process = begin::Process {
        rank: 0,
        size: 1,
        library: "",
    };
    if !begin::begin_recording(&process, || signal::prepare(sample::handler)) {
        return;
    }
    counters::name();
    if !thread::begin(Calls::NoMpi) {
        begin::give_up();
        return;
    }
    birth::record_those_there(&threads);
    PROCESS.store(own_number(), Ordering::Release);
    thread::start();
}

/// The program opened an MPI library while it ran. Calls by functions that it looked up there do not come to us.
pub fn met_mpi() {
    process_spool::say(
        "The program loaded MPI while it ran, and its calls of MPI were not recorded; if it calls any, start it with the launcher of its MPI library: headwater record -- mpirun -n 1 ./app",
    );
}

/// The program ends by itself, after its own destructors, or calls a function that may not return to it. The rest of
/// what such a function does is not recorded. A signal handler may call this, so it neither allocates nor locks.
pub fn ends() {
    if is_recorded() {
        close::at_once(ENDED);
    }
}

/// The header of a program that ended by itself says this.
const ENDED: u32 = 1;

/// The program is about to become another one by `exec`, which returns only if that fails: then recording goes on. It
/// does not if it had ended before, as where the destructor of a library calls `exec`.
pub fn while_becoming_another(exec: impl FnOnce() -> i64) -> i64 {
    let closed = is_recorded() && close::at_once(BECAME_ANOTHER);
    let result = exec();
    if closed {
        close::undo();
    }
    result
}

#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;

/// Runs when the program exits, after its own destructors and before those of its libraries.
extern "C" fn end() {
    // A signal handler that calls `exit` may have interrupted a thread of ours that holds the spool.
    if is_recorded() && recording::to_be_ended() && process_spool::is_free_soon() {
        let _ = std::panic::catch_unwind(|| {
            if uses_mpi() {
                met_mpi();
            }
            close::close();
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_of_mpi_are_known_by_what_they_name() {
        let dir = tempfile::tempdir().expect("a directory");
        let script = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).expect("a script");
            path.display().to_string()
        };
        let (plain, mpi) = (
            script("a.py", "x = 1\n"),
            script("b.py", "from mpi4py import MPI\n"),
        );
        for (words, names) in [
            (vec![&*plain], false),
            (vec!["-X", "importtime", &*mpi], true),
            (vec!["-u", &*plain, &*mpi], false),
            (vec!["--check-hash-based-pycs", "never", &*mpi], true),
            (vec!["-m", "mpi4py", &*plain], true),
            (vec!["-c", "print()"], false),
            (vec!["/no/such"], false),
            (vec![], false),
        ] {
            let mut command = b"python3\0".to_vec();
            for word in &words {
                command.extend(word.bytes().chain([0]));
            }
            assert_eq!(names_mpi(&command), names, "{words:?}");
        }
    }
}
