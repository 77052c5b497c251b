//! Programs without MPI: recorded from their start to their end, however they end.

use crate::case::{alone, collector};
use headwater_format::spool::read_spool;
use headwater_model::run::{CtxId, Run};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// The program, compiled.
pub struct Program {
    dir: TempDir,
    program: PathBuf,
    /// A variable of its environment.
    pub variable: Option<(&'static str, &'static str)>,
}

impl Program {
    fn new(name: &str) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let program = dir.path().join(name);
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
        let source = sources.join(format!("{name}.c"));
        let built = Command::new("cc")
            .args(["-g", "-O1", "-pthread", "-o"])
            .arg(&program)
            .arg(source)
            .output()
            .expect("a compiler");
        assert!(built.status.success(), "{built:?}");
        Self {
            dir,
            program,
            variable: None,
        }
    }

    /// The program of this name in a folder where it was compiled. It runs there.
    pub fn in_folder(folder: &Path, name: &str) -> Self {
        Self {
            dir: tempfile::tempdir().expect("a temporary directory"),
            program: folder.join(name),
            variable: None,
        }
    }

    fn run(&self, shell: &str, how: &str) -> Output {
        Command::new("timeout")
            .args(["-k", "5", "60", "sh", "-c", shell, "sh"])
            .arg(&self.program)
            .arg(how)
            .envs(self.variable)
            .env("SPOOL", self.dir.path().join("spool"))
            .env("COLLECTOR", collector())
            .current_dir(self.program.parent().expect("a folder"))
            .output()
            .expect("a shell")
    }

    /// Runs bare and recorded: code and output must be the same.
    pub fn recorded(&self, how: &str) -> Run {
        let spool = self.dir.path().join("spool");
        let _ = std::fs::remove_dir_all(&spool);
        let bare = self.run(r#"exec "$@""#, how);
        // The shell becomes the program, so its process is the one that is recorded.
        let recorded = self.run(
            r#"export HEADWATER_SPOOL="$SPOOL" HEADWATER_WITHOUT_MPI=$$ LD_PRELOAD="$COLLECTOR"; exec "$@""#,
            how,
        );
        assert_eq!(
            (bare.status, bare.stdout),
            (recorded.status, recorded.stdout),
            "{how}: {}",
            String::from_utf8_lossy(&recorded.stderr)
        );
        read_spool(&spool).unwrap_or_else(|e| panic!("{how}: {e}"))
    }
}

#[test]
fn a_program_without_mpi_is_recorded_however_it_ends() {
    let _alone = alone();
    let program = Program::new("ends");
    for (how, by_itself) in [
        ("return", true),
        ("exit", true),
        ("_exit", true),
        ("quick_exit", true),
        ("handler", true),
        ("exec", true),
        ("execl", true),
        ("long", true),
        ("becomes", true),
        ("fails", true),
        ("detached", true),
        ("last", true),
        ("child", true),
        ("child, _exit", true),
        ("signal", false),
        ("abort", false),
    ] {
        let run = program.recorded(how);
        let header = &run.header;
        assert_eq!(header.ranks, 1, "{how}");
        assert!(!header.uses_mpi(), "{how}: {}", header.mpi_library);
        assert_eq!(header.incomplete.is_empty(), by_itself, "{how}");
        assert!(header.program.ends_with("/ends"), "{how}: {header:?}");
        let [main] = &run.segments[..] else {
            panic!("{how}: {:?}", run.segments)
        };
        assert_eq!((main.from, main.to), (CtxId::NONE, CtxId::NONE), "{how}");
        let made = run.threads.iter().filter(|t| t.made_by != CtxId::NONE);
        let made: Vec<_> = made.collect();
        assert!(made.len() >= 2, "{how}: {:?}", run.threads);
        for thread in &made[..2] {
            assert!(thread.cpu_ns > 3_000_000, "{how}: {thread:?}");
            let own = run.samples.iter().filter(|s| s.thread == thread.thread);
            let sampled: u64 = own.map(|s| s.cpu_ns).sum();
            assert!(sampled > thread.cpu_ns / 10 * 8, "{how}: {sampled}");
        }
        // What the first thread itself computes after it has waited for the others.
        assert!(main.cpu_ns > 1_500_000, "{how}: {main:?}");
        assert!(main.wall_ns >= main.cpu_ns + main.blocked_ns, "{main:?}");
        let children = header
            .missing
            .iter()
            .any(|m| m.contains("Processes that the program started"));
        let expected = how.starts_with("child");
        assert_eq!(children, expected, "{how}: {:?}", header.missing);
    }
}

#[test]
fn the_program_that_a_wrapper_becomes_is_recorded() {
    let _alone = alone();
    let program = Program::new("ends");
    let out = program.run(
        r#"export HEADWATER_SPOOL="$SPOOL" HEADWATER_WITHOUT_MPI=$$ LD_PRELOAD="$COLLECTOR"; exec env A=b "$@""#,
        "exit",
    );
    assert_eq!(out.status.code(), Some(3), "{out:?}");
    let run = read_spool(&program.dir.path().join("spool")).expect("a run");
    assert!(run.header.program.ends_with("/ends"), "{:?}", run.header);
    assert!(run.header.incomplete.is_empty() && run.threads.len() == 3);
    let said = run.header.missing.iter().any(|m| m.contains("by exec"));
    assert!(said, "{:?}", run.header.missing);
}

#[test]
fn threads_made_in_turn_share_a_recording() {
    let _alone = alone();
    let run = Program::new("ends").recorded("many");
    let made = run.threads.iter().filter(|t| t.made_by != CtxId::NONE);
    assert!((1..=4).contains(&made.count()), "{:?}", run.threads);
    assert!(run.header.incomplete.is_empty());
}

#[test]
fn a_thread_that_outlives_those_before_it_is_sampled() {
    let _alone = alone();
    let run = Program::new("ends").recorded("outlives");
    let made: Vec<_> = (run.threads.iter())
        .filter(|t| t.made_by != CtxId::NONE)
        .collect();
    let [thread] = &made[..] else {
        panic!("{:?}", run.threads);
    };
    let own = run.samples.iter().filter(|s| s.thread == thread.thread);
    let (count, cpu_ns) = own.fold((0, 0), |(n, ns), s| (n + u64::from(s.count), ns + s.cpu_ns));
    assert!(cpu_ns > thread.cpu_ns / 10 * 9, "{cpu_ns} of {thread:?}");
    // It would have two hundred in a second, and as few as one in forty milliseconds after many.
    let expected = thread.cpu_ns / 40_000_000;
    assert!(expected > 1 && count > expected, "{count} of {thread:?}");
}

#[test]
fn many_threads_at_once_are_recorded_and_too_many_are_said() {
    let _alone = alone();
    let program = Program::new("ends");
    let run = program.recorded("crowd300");
    assert_eq!(run.threads.len(), 301, "{:?}", run.header.missing);
    assert!(run.header.threads_lost.is_empty(), "{:?}", run.header);
    let run = program.recorded("crowd700");
    assert_eq!(run.header.threads_lost, [0], "{:?}", run.header.missing);
}

/// What a library does when it is unloaded, behind our end.
#[test]
fn an_exec_that_fails_after_the_end_does_not_go_on_recording() {
    const LAST: &str = r#"
#include <unistd.h>
__attribute__((destructor)) static void last(void) {
    char *const none[] = {"none", NULL};
    execv("/no/such/program", none);
}
"#;
    let _alone = alone();
    let program = Program::new("ends");
    let library = program.dir.path().join("last.so");
    let source = program.dir.path().join("last.c");
    std::fs::write(&source, LAST).expect("a source");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .status();
    assert!(built.expect("a compiler").success());
    let shell = format!(
        r#"export HEADWATER_SPOOL="$SPOOL" HEADWATER_WITHOUT_MPI=$$ LD_PRELOAD="$COLLECTOR:{}"; exec "$@""#,
        library.display()
    );
    let out = program.run(&shell, "exit");
    assert_eq!(out.status.code(), Some(3), "{out:?}");
    let run = read_spool(&program.dir.path().join("spool")).expect("a run");
    assert!(run.header.incomplete.is_empty(), "{:?}", run.header);
}

/// The largest write took long, on the file system of its file.
fn has_long_calls(run: &Run) {
    let systems = run.file_systems.iter();
    let long: Vec<_> = systems.filter(|s| s.long_calls > 0).collect();
    let [one] = &long[..] else {
        panic!("{:?}", run.file_systems)
    };
    let wall_ns = run.ranks.first().map_or(0, |r| r.wall_ns);
    assert!((50_000..wall_ns).contains(&one.long_ns), "{one:?}");
    assert_ne!(one.name, "unknown");
}

#[test]
fn what_a_process_uses_is_counted_however_it_ends() {
    let _alone = alone();
    // Not every kernel counts what processes read.
    let counts = std::fs::read("/proc/self/io").is_ok();
    let program = Program::new("uses");
    for how in ["", "at once"] {
        let run = program.recorded(how);
        let [usage] = &run.usage[..] else {
            panic!("{how}: {:?}", run.usage)
        };
        let is_near = |value: Option<u64>, wanted: u64, more: u64| {
            let near = value.is_some_and(|v| (wanted..=wanted + more).contains(&v));
            assert!(near, "{how}: {value:?} for {wanted}: {usage:?}");
        };
        is_near(usage.peak_memory_bytes, 64 << 20, 64 << 20);
        has_long_calls(&run);
        if counts {
            is_near(usage.written_bytes, 1_000_000 + (16 << 20), 10_000);
            is_near(usage.writes, 1000, 50);
            // The collector asks the scheduler after each sleep, which is not the program's reading.
            is_near(usage.reads, 500, 50);
            is_near(usage.read_bytes, 50_000, 50_000);
        }
    }
    // The reader learns of no end, so there are no figures, and not zeros.
    let killed = program.recorded("abort");
    has_long_calls(&killed);
    let figures = killed.usage.iter().map(|u| (u.reads, u.peak_memory_bytes));
    assert!(
        figures.into_iter().all(|f| f == (None, None)),
        "{:?}",
        killed.usage
    );
}

#[test]
fn the_first_thread_is_one_of_those_that_it_made_and_meets() {
    let _alone = alone();
    let run = Program::new("beside").recorded("");
    let first = || run.teams.iter().filter(|t| t.thread == 0);
    let others = || run.teams.iter().filter(|t| t.thread > 0 && t.to != t.team);
    // Two rounds of five barriers.
    assert_eq!(first().map(|t| t.count).sum::<u64>(), 10, "{:?}", run.teams);
    let team = others().next().map(|t| t.team);
    assert!(first().all(|t| Some(t.team) == team), "{:?}", run.teams);
    // Ten times 12 ms, and nothing of what it did before. It waits for a semaphore on the way to the first barrier.
    let own: u64 = first().map(|t| t.cpu_ns).sum();
    assert!((110_000_000..150_000_000).contains(&own), "{own}");
    let locked: u64 = first().map(|t| t.locked_ns).sum();
    assert!(locked > 35_000_000, "{locked}: {:?}", run.teams);
    let waited: u64 = others().map(|t| t.wait_ns).sum();
    let by_first: u64 = first().map(|t| t.wait_ns).sum();
    assert!(by_first < waited / 4, "{by_first} of {waited}");
}

/// Each signal of a traced process takes longer than the shortest period between samples.
#[test]
fn threads_of_a_process_that_is_traced_live_on() {
    let _alone = alone();
    let run = Program::new("debugged").recorded("");
    let made = run.threads.iter().filter(|t| t.made_by != CtxId::NONE);
    assert_eq!(made.count(), 1, "{:?}", run.threads);
}
