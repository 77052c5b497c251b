//! Traces of other tools, from the command on: what was recorded elsewhere is diagnosed and analysed here.

mod support;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::{headwater, said, target};

/// Writes an archive by the OTF2 library, which `cargo xtask setup` installs.
fn archive(dir: &Path, name: &str, ranks: &str) -> PathBuf {
    let given = std::env::var_os("HEADWATER_OTF2").map(PathBuf::from);
    let places = given.into_iter().chain([target().join("otf2")]);
    let mut pythons = places.map(|p| p.join("bin/python"));
    let python = pythons.find(|p| p.exists());
    let python = python.expect("the OTF2 library is missing here; type: cargo xtask setup");
    let path = dir.join(format!("trace{ranks}"));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/archives.py");
    let mut write = Command::new(python);
    let out = write.arg(script).arg(name).arg(&path).arg(ranks).output();
    let out = out.expect("Python starts");
    assert!(out.status.success(), "{}", said(&out));
    path
}

fn command(dir: &Path, args: &[&str]) -> Output {
    let out = headwater(dir).args(args).output().expect("runs");
    assert!(out.status.success(), "{args:?}: {}", said(&out));
    out
}

fn json(dir: &Path, args: &[&str]) -> Value {
    let out = command(dir, args);
    serde_json::from_slice(&out.stdout).expect("JSON")
}

#[test]
fn a_trace_is_imported_diagnosed_and_analysed() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    for ranks in ["2", "4"] {
        archive(at, "uneven", ranks);
        let name = format!("app.{ranks}");
        let out = command(at, &["import", &format!("trace{ranks}"), "-o", &name]);
        let line = format!("imported {name}: {ranks} ranks");
        assert!(said(&out).contains(&line), "{}", said(&out));
        assert!(
            !at.join(format!("{name}/spool")).exists(),
            "the run alone is left"
        );
    }
    let found = json(at, &["diagnose", "app.2", "app.4", "--json"]);
    let cause = &found["causes"][0];
    assert_eq!(cause["class"], "uneven-work", "{found}");
    assert_eq!(cause["ranks"], "2-3");
    let place = &cause["place"];
    assert_eq!(
        (&place["file"], &place["first_line"]),
        (&"slow.c".into(), &5.into())
    );
    // Both scales have one graph: half of the work of twice as many ranks.
    let scales = found["scales"].as_array().expect("scales");
    assert_eq!(scales.len(), 2);
    let efficiencies = json(at, &["analyse", "efficiencies", "app.2", "app.4", "--json"]);
    let rows = &efficiencies["sections"][0]["rows"];
    assert_eq!(rows.as_array().map(Vec::len), Some(2), "{efficiencies}");
    for paradigm in [
        "wait-states",
        "mpi-profile",
        "critical-path",
        "communication",
    ] {
        json(at, &["analyse", paradigm, "app.4", "--json"]);
    }
}

#[test]
fn traces_that_cannot_be_imported_get_one_line_and_leave_nothing() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    std::fs::write(at.join("text.otf2"), "no archive").expect("writes");
    std::fs::create_dir(at.join("two")).expect("makes a directory");
    for name in ["two/a.otf2", "two/b.otf2", "plain"] {
        std::fs::write(at.join(name), "").expect("writes");
    }
    for (trace, words) in [
        ("none", &["none", "No such file"][..]),
        ("plain", &["plain is no trace that headwater knows", "OTF2"]),
        (".", &["text.otf2 is damaged"]),
        ("two", &["two holds several traces", "a.otf2, b.otf2"]),
        ("text.otf2", &["text.otf2 is damaged", "anchor file"]),
    ] {
        let mut import = headwater(at);
        let out = import.args(["import", trace, "-o", "run"]).output();
        let out = out.expect("runs");
        let text = said(&out);
        assert_eq!(out.status.code(), Some(2), "{trace}: {text}");
        assert_eq!(text.lines().count(), 1, "{trace}: {text}");
        assert!(words.iter().all(|w| text.contains(w)), "{trace}: {text}");
        let left = std::fs::read_dir(at).expect("a directory").count();
        assert_eq!(left, 3, "{trace}");
    }
}
