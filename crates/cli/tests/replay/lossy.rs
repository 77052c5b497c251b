//! Lossy traces end to end: recorded with the collector, replayed by random choice on which all ranks agree.

use super::{assert_refused, skeleton, traced};
use crate::support::said;
use std::path::Path;
use std::process::Command;

/// Messages by rank and length: what the traces of two replays have in common if they draw alike.
fn sent(dir: &Path) -> Vec<String> {
    let trace = headwater_format::read_trace(dir).expect("a whole trace");
    let mut all = Vec::new();
    for rank in 0..trace.size {
        let mut events = trace.events(rank, 0);
        while let Some(event) = events.next() {
            if event.signature.function.to_lowercase().ends_with("send") {
                all.push(format!(
                    "{rank} {} {:?}",
                    event.signature.function, event.values
                ));
            }
        }
    }
    all
}

#[test]
fn a_lossy_trace_is_replayed_alike_with_the_same_seed_and_without_a_deadlock() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    let command = env!("CARGO_BIN_EXE_headwater");
    // In the environment of mpirun, the ranks inherit it.
    let lossy = ["env", "HEADWATER_TRACE_LOSSY=0"];
    for name in ["random", "mg"] {
        let Some(program) = skeleton(dir, name) else {
            return;
        };
        for ranks in [2, 4] {
            let words = [&lossy[..], &[program.to_str().expect("a path")]].concat();
            let (trace, _) = traced(dir, &format!("{name}.{ranks}"), ranks, &words);
            let trace = trace.to_str().expect("a path");
            let replayed = |seed: &str, copy: &str| {
                let words = [
                    command,
                    "replay",
                    "--compute",
                    "none",
                    "--seed",
                    seed,
                    trace,
                ];
                let to = format!("{name}.{ranks}.{copy}");
                let (dir, out) = traced(dir, &to, ranks, &words);
                let text = said(&out);
                assert!(text.contains(&format!("with seed {seed}")), "{text}");
                assert!(!text.contains("returned an error"), "{text}");
                sent(&dir)
            };
            let first = replayed("7", "first");
            assert!(!first.is_empty());
            assert_eq!(first, replayed("7", "again"), "{name}");
            let mut mpich = Command::new("mpirun.mpich");
            mpich.args(["-n", &ranks.to_string(), command, "replay"]);
            let Ok(out) = mpich.args(["--compute", "none", trace]).output() else {
                continue;
            };
            assert!(out.status.success(), "{name}: {}", said(&out));
        }
    }
}

#[test]
fn what_needs_each_value_refuses_a_lossy_trace() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    let Some(program) = skeleton(dir, "mg") else {
        return;
    };
    let words = [
        "env",
        "HEADWATER_TRACE_LOSSY=0",
        program.to_str().expect("a path"),
    ];
    let (trace, _) = traced(dir, "mg.lossy", 2, &words);
    let output = dir.join("out");
    let command = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headwater"));
        command.args(words).arg(&trace);
        command
    };
    assert_refused(command(&["simulate"]), &["is lossy", "without --lossy"]);
    for format in ["goal", "simgrid", "otf2"] {
        let mut export = command(&["export", format]);
        export.arg("-o").arg(&output);
        assert_refused(export, &["is lossy", "without --lossy"]);
        assert!(!output.exists(), "{format}");
    }
    let shown = command(&["show"]).output().expect("starts");
    let text = String::from_utf8_lossy(&shown.stdout);
    assert!(text.contains("the trace is lossy"), "{text}");
}
