//! Traces that need more memory than they may take.

use super::{read, recorder};
use crate::support::{built, headwater, said};
use std::path::{Path, PathBuf};

const UNLIKE: &str = include_str!("unlike.c");
const MESSAGES: u64 = 40_000;

/// Traces the program with so many MiB. Returns the directory and what was said of the run.
fn traced_within(dir: &Path, program: &Path, mebibytes: &str) -> (PathBuf, String) {
    let to = dir.join(format!("trace-{mebibytes}"));
    let mut command = headwater(dir);
    command.env("HEADWATER_COLLECTOR", recorder());
    command.args(["trace", "--trace-memory", mebibytes, "-o"]);
    command.arg(&to).args(["--", "mpirun.openmpi", "-n", "1"]);
    command.arg(program).arg(MESSAGES.to_string());
    let out = command.output().expect("starts");
    assert!(out.status.success(), "{}", said(&out));
    (to, said(&out))
}

/// Events of the trace, and those that are missing.
fn events(dir: &Path) -> (u64, u64) {
    let trace = read(dir);
    let mut events = trace.events(0, 0);
    let mut count = 0;
    while events.next().is_some() {
        count += 1;
    }
    (count, trace.losses.iter().map(|loss| loss.lost).sum())
}

#[test]
fn options_of_traces_are_refused_without_a_trace() {
    let dir = tempfile::tempdir().expect("a directory");
    for given in [
        "record --trace-memory 9 -- true",
        "record --lossy 5 -- true",
        "run -n 1 --signature-slack 2 -- true",
        "exec --signature-any libx.so -- true",
    ] {
        let words = given.split(' ');
        let out = headwater(dir.path()).args(words).output().expect("starts");
        assert_eq!(out.status.code(), Some(2), "{given}");
        assert!(said(&out).contains("add --trace"), "{}", said(&out));
    }
}

#[test]
fn a_trace_that_is_too_large_says_how_much_memory_holds_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let Some(program) = built("mpicc.openmpi", dir.path(), "unlike", UNLIKE, &[]) else {
        return;
    };
    let (small, said) = traced_within(dir.path(), &program, "1");
    let (kept, lost) = events(&small);
    assert!(kept > 0 && lost > 0, "{kept} events, {lost} missing");
    assert!(
        said.contains(&format!("{lost} later calls are missing")),
        "{said}"
    );
    let words: Vec<&str> = said.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "--trace-memory");
    let proposed = at.and_then(|at| words.get(at + 1)).expect("a proposal");
    let (whole, said) = traced_within(dir.path(), &program, proposed);
    assert_eq!(events(&whole), (kept + lost, 0), "{said}");
    assert!(kept + lost >= MESSAGES, "{kept} + {lost}");
    assert!(!said.contains("--trace-memory"), "{said}");
}
