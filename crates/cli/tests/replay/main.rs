//! Replays: the trace of a replay is the trace that was replayed, and what cannot be replayed is named before anything
//! starts.

#[path = "../support/mod.rs"]
mod support;

mod lossy;
mod memory;

use headwater_replay::compare::difference;
use headwater_trace::trace::{Loss, Trace};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::{built, collector, headwater, said};

const CALLS: &str = include_str!("calls.c");
const THREADS: &str = include_str!("threads.c");
const LATE: &str = include_str!("late.c");

/// The collector that records; a built one may be named.
fn recorder() -> PathBuf {
    let named = std::env::var_os("HEADWATER_COLLECTOR").filter(|c| !c.is_empty());
    named.map_or_else(|| collector().to_path_buf(), PathBuf::from)
}

/// A program of testbed/skeletons, built; `None` where there is no compiler.
fn skeleton(dir: &Path, name: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbed/skeletons");
    let source = std::fs::read_to_string(folder.join(format!("{name}.c"))).expect("a skeleton");
    let include = format!("-I{}", folder.display());
    built("mpicc.openmpi", dir, name, &source, &[&include])
}

/// Starts `words` on so many ranks.
fn mpirun(dir: &Path, ranks: u32, words: &[&str]) -> Command {
    let mut command = Command::new("mpirun.openmpi");
    let options = ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-n"];
    command
        .current_dir(dir)
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .args(options)
        .arg(ranks.to_string())
        .args(words);
    command
}

/// Runs `words` with the collector loaded, and returns the directory with the trace, and what was printed.
fn traced(dir: &Path, name: &str, ranks: u32, words: &[&str]) -> (PathBuf, Output) {
    traced_with(dir, name, ranks, words, "")
}

/// The same with `libraries` loaded, too: paths with a colon before each.
fn traced_with(
    dir: &Path,
    name: &str,
    ranks: u32,
    words: &[&str],
    libraries: &str,
) -> (PathBuf, Output) {
    let spool = dir.join(name);
    std::fs::create_dir_all(&spool).expect("makes a directory");
    let preload = format!("LD_PRELOAD={}{libraries}", recorder().display());
    let all = [&["env", &preload], words].concat();
    let mut command = mpirun(dir, ranks, &all);
    command
        .env("HEADWATER_SPOOL", &spool)
        .env("HEADWATER_TRACE", "1");
    let out = command.output().expect("mpirun starts");
    assert!(out.status.success(), "{name}: {}", said(&out));
    (spool, out)
}

fn read(dir: &Path) -> Trace {
    headwater_format::read_trace(dir).expect("a whole trace")
}

/// Holds that the trace of a replay of a program's trace has the same calls with the same parameters.
fn assert_fixed_point(dir: &Path, program: &Path, ranks: u32, arguments: &[&str]) {
    assert_fixed_point_with(dir, program, ranks, arguments, "");
}

/// The same with `libraries` loaded into the replay.
fn assert_fixed_point_with(
    dir: &Path,
    program: &Path,
    ranks: u32,
    arguments: &[&str],
    libraries: &str,
) {
    let name = program.file_name().expect("a name").to_string_lossy();
    let words = [&[program.to_str().expect("a path")], arguments].concat();
    let (first, _) = traced(dir, &format!("{name}.first"), ranks, &words);
    let trace = first.to_str().expect("a path");
    let command = env!("CARGO_BIN_EXE_headwater");
    let words = [command, "replay", "--compute", "none", trace];
    let second = format!("{name}.second");
    let (second, out) = traced_with(dir, &second, ranks, &words, libraries);
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(
        text.contains("replayed ") && text.contains("run time "),
        "{name}: {text}"
    );
    assert!(!text.contains("returned an error"), "{name}: {text}");
    assert_eq!(difference(&read(&first), &read(&second)), None, "{name}");
}

#[test]
fn the_trace_of_a_replay_is_the_trace_that_was_replayed() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    for name in ["cg", "mg", "is", "mixed", "every", "random", "mpmd"] {
        let Some(program) = skeleton(dir, name) else {
            return;
        };
        assert_fixed_point(dir, &program, 4, &[]);
    }
    let Some(program) = built("mpicc.openmpi", dir, "calls", CALLS, &[]) else {
        return;
    };
    let file = dir.join("data").display().to_string();
    assert_fixed_point(dir, &program, 4, &[&file]);
    assert!(
        !Path::new(&file).exists(),
        "a replay makes no file of the program"
    );
}

#[test]
fn threads_that_call_mpi_are_threads_again() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    let Some(program) = built("mpicc.openmpi", dir, "threads", THREADS, &["-pthread"]) else {
        return;
    };
    assert_fixed_point(dir, &program, 2, &[]);
    let replayed = |mode: &str| {
        let words = [program.to_str().expect("a path"), mode];
        let (trace, _) = traced(dir, mode, 2, &words);
        let command = env!("CARGO_BIN_EXE_headwater");
        let trace = trace.display().to_string();
        mpirun(dir, 2, &[command, "replay", "--compute", "none", &trace])
    };
    let out = replayed("own").output().expect("starts");
    assert!(out.status.success(), "{}", said(&out));
    let words = ["rank 0", "collectives", "order between threads"];
    assert_refused(replayed("in-turn"), &words);
}

#[test]
fn a_thread_uses_a_communicator_once_the_call_that_makes_it_has_returned() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    let Some(program) = built("mpicc.openmpi", dir, "threads", THREADS, &["-pthread"]) else {
        return;
    };
    let shared = &["-shared", "-fPIC"];
    let late = built("mpicc.openmpi", dir, "late.so", LATE, shared).expect("a library");
    let late = format!(":{}", late.display());
    for how in [&[][..], &["without-blocking"]] {
        assert_fixed_point_with(dir, &program, 2, how, &late);
    }
}

/// The trace of two ranks of `mixed`, recorded with Open MPI.
fn recorded(dir: &Path) -> Option<PathBuf> {
    let program = skeleton(dir, "mixed")?;
    let words = [program.to_str().expect("a path")];
    Some(traced(dir, "recorded", 2, &words).0)
}

#[test]
fn a_trace_of_one_library_is_replayed_with_another() {
    let dir = tempfile::tempdir().expect("a directory");
    let Some(trace) = recorded(dir.path()) else {
        return;
    };
    let mut command = Command::new("mpirun.mpich");
    command.args(["-n", "2", env!("CARGO_BIN_EXE_headwater"), "replay"]);
    let Ok(out) = command.arg(&trace).output() else {
        eprintln!("MPICH is not installed: not tested");
        return;
    };
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{}", said(&out));
    assert!(text.contains("of 2 ranks on MPICH"), "{text}");
}

#[test]
fn a_replay_is_traced_as_any_program() {
    let dir = tempfile::tempdir().expect("a directory");
    let Some(trace) = recorded(dir.path()) else {
        return;
    };
    let again = dir.path().join("again");
    let own = env!("CARGO_BIN_EXE_headwater");
    let mut command = headwater(dir.path());
    command.env("HEADWATER_COLLECTOR", recorder());
    command.args(["trace", "-o"]).arg(&again);
    command.args(["--", "mpirun.openmpi", "--oversubscribe", "-n", "2", own]);
    command.args(["replay", "--compute", "none"]).arg(&trace);
    let out = command.output().expect("starts");
    assert!(out.status.success(), "{}", said(&out));
    assert_eq!(difference(&read(&trace), &read(&again)), None);
}

/// Holds that a command ends with 2, and that just one line of it is ours, with these words.
fn assert_refused(mut command: Command, words: &[&str]) {
    let out = command.output().expect("starts");
    let text = said(&out);
    assert_eq!(out.status.code(), Some(2), "{text}");
    let ours: Vec<&str> = text
        .lines()
        .filter(|l| l.starts_with("headwater: "))
        .collect();
    assert_eq!(ours.len(), 1, "{text}");
    for word in words {
        assert!(ours[0].contains(word), "no \"{word}\" in: {text}");
    }
}

#[test]
fn what_cannot_be_replayed_is_named_before_anything_starts() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    let Some(trace) = recorded(dir) else { return };
    let shown = trace.to_str().expect("a path");
    let own = env!("CARGO_BIN_EXE_headwater");
    let alone = |args: &[&str]| {
        let mut command = headwater(dir);
        command.arg("replay").args(args);
        command
    };
    assert_refused(alone(&[shown]), &[shown, "2 ranks", "mpirun -n 2"]);
    assert_refused(alone(&["no-such"]), &["no-such", "No such file"]);
    let bytes = read(&trace).to_bytes();
    std::fs::write(dir.join("cut"), &bytes[..bytes.len() / 2]).expect("writes");
    assert_refused(alone(&["cut"]), &["cut", "cut short"]);
    assert_refused(
        mpirun(dir, 3, &[own, "replay", shown]),
        &[shown, "2 ranks", "sees 3"],
    );
    let other = [own, "replay", "--mpi", "libm.so.6", shown];
    assert_refused(mpirun(dir, 2, &other), &["libm.so.6", "--mpi"]);
    // A function that the replay cannot call.
    let mut changed = read(&trace);
    for signature in changed.signatures.values_mut() {
        if signature.function == "MPI_Barrier" {
            "MPI_Comm_disconnect_all".clone_into(&mut signature.function);
        }
    }
    std::fs::write(dir.join("changed"), changed.to_bytes()).expect("writes");
    let words = ["MPI_Comm_disconnect_all", "cannot be replayed"];
    assert_refused(mpirun(dir, 2, &[own, "replay", "changed"]), &words);
    let as_changed = |change: &dyn Fn(&mut Trace), words: &[&str]| {
        let mut changed = read(&trace);
        change(&mut changed);
        std::fs::write(dir.join("changed"), changed.to_bytes()).expect("writes");
        assert_refused(mpirun(dir, 2, &[own, "replay", "changed"]), words);
    };
    as_changed(
        &|trace| *trace = Trace::of_rank(0, 2),
        &["cannot replay changed", "rank 1 is not in the trace"],
    );
    let loss = |lost| Loss {
        rank: 1,
        thread: 0,
        kept: 7,
        lost,
    };
    as_changed(
        &|trace| trace.losses.push(loss(3)),
        &["rank 1 ends after 7 events", "no memory for 3 more"],
    );
    as_changed(
        &|trace| trace.losses.push(loss(0)),
        &["rank 1 ends after 7 events", "MPI_Finalize"],
    );
}
