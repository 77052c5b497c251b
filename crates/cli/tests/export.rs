//! Where `export` writes, and where it refuses to.

mod support;

use headwater_model::run::*;
use std::path::Path;
use std::process::Output;
use support::{headwater, said};

/// A rank that computes a second before a barrier.
fn run() -> Run {
    let ctx = CtxId(0);
    Run {
        header: Header {
            name: "app.1".into(),
            program: "/nowhere/app".into(),
            ranks: 1,
            ..Default::default()
        },
        modules: vec![Module {
            path: "/nowhere/app".into(),
            ..Default::default()
        }],
        contexts: vec![Context {
            offset: 0x10,
            ..Default::default()
        }],
        functions: vec!["MPI_Barrier".into()],
        comms: vec![Comm { hash: 1, size: 1 }],
        ranks: vec![RankInfo {
            complete: true,
            wall_ns: 2_000_000_000,
            ..Default::default()
        }],
        segments: vec![Segment {
            from: ctx,
            to: ctx,
            count: 1,
            wall_ns: 1_000_000_000,
            cpu_ns: 1_000_000_000,
            ..Default::default()
        }],
        calls: vec![MpiCalls {
            ctx,
            peer: peer::NONE,
            count: 2,
            wall_ns: 1_000_000_000,
            ..Default::default()
        }],
        ..Default::default()
    }
}

fn export(dir: &Path, args: &[&str]) -> Output {
    let mut command = headwater(dir);
    command.arg("export").args(args).output().expect("runs")
}

fn names(dir: &Path) -> Vec<String> {
    let there = std::fs::read_dir(dir).expect("a directory").flatten();
    let mut names: Vec<String> = there
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_directory_of_runs_stands_for_those_in_it() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    headwater_format::write_run(&at.join("all/one"), &run()).expect("writes a run");
    std::fs::create_dir(at.join("all/none")).expect("a directory");
    let out = export(at, &["folded", "all", "-o", "-"]);
    assert_eq!(out.status.code(), Some(0), "{}", said(&out));
    headwater_format::write_run(&at.join("all/two"), &run()).expect("writes a run");
    let out = export(at, &["folded", "all", "-o", "-"]);
    assert!(said(&out).contains("one run"), "{}", said(&out));
    let out = export(at, &["folded", "all/none", "-o", "-"]);
    assert!(said(&out).contains("no recorded run"), "{}", said(&out));
}

#[test]
fn a_file_is_there_whole_or_not_at_all() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    headwater_format::write_run(&at.join("run"), &run()).expect("writes a run");
    std::fs::write(at.join("taken"), "mine").expect("writes a file");
    export(at, &["folded", "run", "-o", "-"]);
    let before = names(at);
    let cases: [(&[&str], &[&str]); 8] = [
        (&["folded", "none", "-o", "x"], &["none", "no recorded run"]),
        (
            &["folded", "run", "-o", "taken"],
            &["taken is there already"],
        ),
        (
            &["folded", "run", "-o", "run"],
            &["run is a directory", "run/run.folded"],
        ),
        (
            &["folded", "run", "-o", "no/x"],
            &["no/x", "no directory no"],
        ),
        (
            &["parquet", "run", "-o", "-"],
            &["parquet is no text", "-o"],
        ),
        (
            &["folded", "run", "-o", "x", "--ranks", "3"],
            &["no rank 3"],
        ),
        (
            &["csv", "run", "-o", "x", "--table", "nix"],
            &["no table nix"],
        ),
        (&["folded", "run", "run", "-o", "x"], &["one run"]),
    ];
    for (args, words) in cases {
        let out = export(at, args);
        let text = said(&out);
        assert_eq!(out.status.code(), Some(2), "{args:?}: {text}");
        assert_eq!(text.lines().count(), 1, "{args:?}: {text}");
        for word in words {
            assert!(text.contains(word), "{args:?}: no \"{word}\" in: {text}");
        }
        assert_eq!(names(at), before, "{args:?}");
    }
    assert_eq!(std::fs::read(at.join("taken")).expect("a file"), b"mine");

    let shown = export(at, &["folded", "run", "-o", "-"]);
    assert_eq!(shown.status.code(), Some(0), "{}", said(&shown));
    let done = export(at, &["folded", "run", "-o", "new"]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert!(done.stdout.is_empty() && !shown.stdout.is_empty());
    assert_eq!(std::fs::read(at.join("new")).expect("a file"), shown.stdout);
    let device = export(at, &["folded", "run", "-o", "/dev/null"]);
    assert_eq!(device.status.code(), Some(0), "{}", said(&device));
}
