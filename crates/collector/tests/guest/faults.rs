//! What may go wrong in a program, or be done by it, while it is recorded: a row for each. A program runs
//! alone, bare and recorded, and ends both times in the same way, having said the same.

use crate::case::{alone, collector};
use crate::counts::{calls_of, said};
use crate::library::{DEBIAN, Library};
use headwater_format::FormatError;
use headwater_format::spool::read_spool;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What is there of a recorded run.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kept {
    /// All of it.
    All,
    /// What was recorded until the end came: so many reductions at the least.
    Until(u64),
    /// A sentence that names what prevents recording.
    Told(&'static str),
    /// Nothing, or something that can be read.
    Any,
    /// Nothing.
    Nothing,
}
use Kept::{All, Any, Nothing, Told, Until};

/// A program of `programs/faults` with its arguments, words before it, and what is kept of it. `$HERE` has
/// the other programs and the tools.
type Fault = (&'static str, &'static str, Kept);

const FAULTS: [Fault; 102] = [
    // Children, which are not recorded.
    ("", "children fork", All),
    ("", "children work", All),
    ("", "children crash", All),
    ("", "children vfork", All),
    ("", "children posix_spawn", All),
    ("", "children second-spawn", All),
    ("", "children mpi", All),
    ("", "children exec", Until(20)),
    ("", "children exec-blocked", Until(20)),
    // Signals of the program's own.
    ("", "own_signals prof", All),
    ("", "own_signals alarm", All),
    ("", "own_signals vtalrm", All),
    ("", "own_signals first-prof", All),
    ("", "own_signals first-alarm", All),
    ("", "own_signals segv", All),
    ("", "own_signals overflow", All),
    ("", "own_signals jump", All),
    ("", "own_signals sleeps", All),
    ("", "own_signals wait", All),
    ("", "own_signals segv-default", Until(10)),
    // Ways out of calls, and other stacks.
    ("", "jumps", Until(20)),
    ("", "throws", All),
    ("", "throws uncaught", Until(10)),
    ("", "coroutines", All),
    // Ends.
    ("", "ends _exit", Until(30)),
    ("", "ends quick", Until(30)),
    ("", "ends exit", Until(30)),
    ("", "ends abort", Until(30)),
    ("", "ends Abort", Until(30)),
    ("", "ends kill", Until(30)),
    ("", "ends term", Until(30)),
    ("", "ends trap", Until(30)),
    ("", "ends segv", Until(30)),
    ("", "ends return", Until(30)),
    ("", "ends thread-_exit", Until(30)),
    ("", "ends thread-exit", Until(30)),
    ("", "ends thread-quick", Until(30)),
    ("", "ends thread-abort", Until(30)),
    ("", "ends thread-Abort", Until(30)),
    ("", "ends thread-kill", Until(30)),
    ("", "ends thread-segv", Until(30)),
    ("", "ends thread-gone-exit", Until(30)),
    // Threads that come and go, and locks of the program's own.
    ("", "threads early", All),
    ("", "threads cancel", All),
    ("", "threads exits", All),
    ("", "threads forks", All),
    ("", "threads many", All),
    ("", "threads rounds", All),
    ("", "threads verdicts", All),
    ("", "threads small", Told("64 KiB")),
    ("", "threads stays", All),
    ("$HERE/seccomp 1 perf_event_open --", "threads timers", All),
    ("", "threads untimely", All),
    // Stacks that are small, of signals, fibers and threads.
    ("", "small_stacks signals", All),
    ("", "small_stacks fibers", All),
    ("", "small_stacks makers", All),
    // Libraries that are opened meanwhile.
    ("", "opens many", All),
    ("", "opens slowly", All),
    ("", "own_locks", All),
    ("", "throws_apart", All),
    ("", "throws_apart uncaught", Until(10)),
    // In the middle of a parallel region, and teams that come and go.
    ("", "teams fork", All),
    ("", "teams fork-region", All),
    ("", "teams threads", All),
    ("", "teams jump", All),
    ("", "teams exit", Until(10)),
    ("", "teams kill", Until(10)),
    // Memory that is short from the start, from some moment on, or for a time; and not ours to ask for.
    ("", "memory init 12000", Any),
    ("", "memory init 60000", Any),
    ("", "memory later 64", Until(5)),
    ("", "memory later 512", Until(5)),
    ("", "memory later 2048", Until(5)),
    ("", "memory later 8192", Until(5)),
    ("", "memory later 40000", All),
    ("", "memory many 9000", Until(5)),
    ("", "memory many 64000", All),
    ("", "memory used", Until(5)),
    ("", "own_malloc", All),
    // Files that run out, are closed, are in the way or are gone.
    ("", "descriptors lowest", All),
    ("", "descriptors limit", Told("at most a quarter")),
    ("", "files used0", Until(5)),
    ("", "files used1", Until(5)),
    ("", "files used3", Until(5)),
    ("", "files closed", Until(5)),
    ("", "files vanished", Nothing),
    ("", "files small", Until(5)),
    ("prlimit --fsize=0", "plain", Any),
    ("prlimit --fsize=300000", "plain", Any),
    ("env HEADWATER_SPOOL=/proc/none", "plain", Nothing),
    ("env HEADWATER_SPOOL=/dev/null/none", "plain", Nothing),
    (NOBODY, "plain", Nothing),
    // System calls that are forbidden.
    ("$HERE/seccomp 1 perf_event_open --", "plain", All),
    (
        "$HERE/seccomp 38 perf_event_open timer_create --",
        "plain",
        All,
    ),
    (
        "$HERE/seccomp 1 process_vm_readv madvise getcpu --",
        "coroutines",
        All,
    ),
    ("$HERE/seccomp 95 fallocate --", "plain", All),
    (
        "$HERE/seccomp 1 fcntl-dup --",
        "plain",
        Told("sandbox forbids fcntl"),
    ),
    // Another tool, behind the collector and before it.
    ("env LD_PRELOAD=$LD_PRELOAD:$HERE/tool.so", "plain", All),
    (
        "env LD_PRELOAD=$LD_PRELOAD:$HERE/tool_init.so",
        "plain",
        All,
    ),
    (
        "env LD_PRELOAD=$HERE/tool.so:$LD_PRELOAD",
        "plain",
        Told("tool.so is loaded before the collector"),
    ),
    (
        "env LD_PRELOAD=$HERE/tool_init.so:$LD_PRELOAD",
        "plain",
        Nothing,
    ),
    // The loader preloads nothing into a program that runs as another user.
    ("", "changes_user", Nothing),
    // Fibers of 4 KiB.
    ("", "small_stacks tiny", All),
];

/// One who may start hardly a process more, and who may not write where it is recorded.
const NOBODY: &str = "setpriv --reuid=65534 --regid=65534 --clear-groups prlimit --nproc=30";

/// The collector beside the programs.
const COLLECTOR: &str = "collector.so";

const PROGRAMS: [&str; 15] = [
    "children.c",
    "own_signals.c",
    "jumps.c",
    "throws.cpp",
    "coroutines.c",
    "ends.c",
    "threads.c",
    "own_locks.c",
    "throws_apart.cpp",
    "memory.c",
    "own_malloc.c",
    "files.c",
    "plain.c",
    "small_stacks.c",
    "descriptors.c",
];

/// Everything that the rows name; `false` where there is no compiler for the library.
fn build(dir: &Path, library: &Library) -> bool {
    let made = |name: &str, more: &[&str]| {
        let program = dir.join(Path::new(name).file_stem()?);
        library.compiled(&format!("faults/{name}"), &program, more)?;
        Some(program)
    };
    let rename = |from: PathBuf, to: &str| std::fs::rename(from, dir.join(to)).is_ok();
    let tool = ["-shared", "-fPIC"];
    let first = [&tool[..], &["-DTAKES_INIT"]].concat();
    let all = made("seccomp.c", &[]).is_some()
        && made("tool.c", &tool).is_some_and(|f| rename(f, "tool.so"))
        && made("tool.c", &first).is_some_and(|f| rename(f, "tool_init.so"))
        && made("teams.c", &["-fopenmp"]).is_some()
        && made("opens.c", &["-pthread", "-rdynamic"]).is_some()
        && made("part.c", &tool).is_some_and(|part| {
            (0..20).all(|i| std::fs::copy(&part, dir.join(format!("part{i}.so"))).is_ok())
        })
        && PROGRAMS.iter().all(|p| made(p, &["-pthread"]).is_some());
    if all {
        let copied = std::fs::copy(dir.join("plain"), dir.join("changes_user"));
        // Where another user can read it.
        let ours = std::fs::copy(collector(), dir.join(COLLECTOR));
        assert!(copied.is_ok() && ours.is_ok());
        // Where the tests do not run as root, the mode alone is set, which is another case of the same.
        let shell =
            "chown 65534 changes_user; chmod 4755 changes_user . ; mkdir tmp; chmod 777 tmp";
        let _ = Command::new("sh")
            .args(["-c", shell])
            .current_dir(dir)
            .status();
    }
    all
}

/// How a program ended and what it said. Numbers, addresses and host names with them come and go.
fn outcome(
    dir: &Path,
    before: &str,
    program: &str,
    preload: &str,
) -> (Option<i32>, Option<i32>, String, String) {
    let line = format!("exec timeout -k 5 60 {before} $HERE/{program}");
    let out = Command::new("sh")
        .args(["-c", &line])
        .current_dir(dir.join("tmp"))
        .stdin(Stdio::null())
        .envs([
            ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
            ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
            // Otherwise libraries report signals with a stack of addresses.
            ("OMPI_MCA_opal_signal", ""),
            ("UCX_HANDLE_ERRORS", "none"),
            ("UCX_ERROR_SIGNALS", ""),
            ("UCX_LOG_LEVEL", "fatal"),
            ("LD_PRELOAD", preload),
        ])
        .env("HERE", dir)
        .env("HEADWATER_SPOOL", dir.join("spool"))
        .output()
        .expect("a shell runs");
    let words = |text: &[u8]| {
        let text = String::from_utf8_lossy(text).into_owned();
        let same = |w: &&str| !w.contains(|c: char| c.is_ascii_digit());
        let line = |l: &str| l.split(' ').filter(same).collect::<Vec<_>>().join(" ");
        // A daemon of the library's may say its part earlier or later.
        let mut lines: Vec<String> = text.lines().map(line).collect();
        lines.sort_unstable();
        lines.join("\n")
    };
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    (
        out.status.code(),
        out.status.signal(),
        said,
        words(&out.stderr),
    )
}

/// Runs a row; returns what is not as it should be.
fn run(dir: &Path, (before, program, kept): Fault) -> Result<(), String> {
    let spool = dir.join("spool");
    let _ = std::fs::remove_dir_all(&spool);
    let bare = outcome(dir, before, program, "");
    let recorded = outcome(
        dir,
        before,
        program,
        &dir.join(COLLECTOR).display().to_string(),
    );
    if bare != recorded {
        return Err(format!("bare {bare:?}\nrecorded {recorded:?}"));
    }
    if !spool.exists() && matches!(kept, Nothing | Any) {
        return Ok(());
    }
    let run = match read_spool(&spool) {
        Ok(run) => run,
        Err(FormatError::NothingRecorded(_)) if matches!(kept, Nothing | Any) => return Ok(()),
        Err(e) => return Err(e.to_string()),
    };
    let whole = run.header.incomplete.is_empty();
    let reductions = calls_of(&run, "MPI_Allreduce");
    match kept {
        All if !whole => Err("the end is missing".into()),
        Told(words) if said(&run, words) == 0 => Err("it is not said".into()),
        Nothing => Err("something was recorded".into()),
        Until(least) if reductions < least => Err(format!("{reductions} reductions were kept")),
        _ => Ok(()),
    }
}

#[test]
fn a_program_behaves_as_it_does_without_the_collector() {
    let _alone = alone();
    let all = std::env::var_os("HEADWATER_ALL_FAULTS").is_some();
    let mut wrong = Vec::new();
    for mpi in &DEBIAN {
        let library = mpi.name;
        let dir = tempfile::tempdir().expect("a temporary directory");
        if !build(dir.path(), mpi) {
            continue;
        }
        // Alone, programs start slowly under Open MPI: unless all are wanted, it gets every third.
        let step = if library == "openmpi" && !all { 3 } else { 1 };
        for fault in FAULTS.into_iter().step_by(step) {
            if let Err(e) = run(dir.path(), fault) {
                wrong.push(format!("{library}: {} {}: {e}", fault.0, fault.1));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
