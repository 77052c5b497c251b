//! Traces of other tools, from the command on: what was recorded elsewhere is diagnosed and analysed here.

mod support;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::{headwater, said, target};

/// Writes an archive, of `ranks` ranks where that is not fixed, by the OTF2 library, which `cargo xtask setup` installs.
fn archive(dir: &Path, name: &str, ranks: &str) -> PathBuf {
    let given = std::env::var_os("HEADWATER_OTF2").map(PathBuf::from);
    let places = given.into_iter().chain([target().join("otf2")]);
    let mut pythons = places.map(|p| p.join("bin/python"));
    let python = pythons.find(|p| p.exists());
    let python = python.expect("the OTF2 library is missing here; type: cargo xtask setup");
    let path = dir.join(format!("trace{ranks}"));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/archives.py");
    let mut write = Command::new(python);
    write.arg(script).arg(name).arg(&path);
    let out = write.args(Some(ranks).filter(|r| !r.is_empty())).output();
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
        "profile",
        "wait-states",
        "mpi-profile",
        "critical-path",
        "communication",
    ] {
        json(at, &["analyse", paradigm, "app.4", "--json"]);
    }
}

/// What `late` of `archives.py` is, in Paraver's format: times are nanoseconds.
const LATE: &str = "#Paraver (21/11/2026 at 10:00):4501000000_ns:1(2):1:2(1:1,1:1),1
c:1:1:2:1:2
2:1:1:1:1:100:50000003:31
2:2:1:2:1:100:50000003:31
2:1:1:1:1:1000000:50000003:0:60000019:1:60000119:1
2:2:1:2:1:1000000:50000003:0:60000019:2:60000119:1
2:2:1:2:1:1001000000:60000019:0:50000001:2
3:1:1:1:1:3001000000:3001000000:2:1:2:1:1001000000:3001000000:100:5
2:1:1:1:1:3001000000:60000019:0:50000001:1
2:1:1:1:1:3001000000:50000001:0:60000019:3
2:2:1:2:1:3001000000:50000001:0:60000019:4
2:1:1:1:1:3501000000:60000019:0:50000002:8
2:2:1:2:1:4501000000:60000019:0:50000002:8
2:2:1:2:1:4501000000:50000002:0:50000003:32
2:1:1:1:1:4501000000:50000002:0:50000003:32
2:1:1:1:1:4501000000:50000003:0
2:2:1:2:1:4501000000:50000003:0
";
const LABELS: &str = "EVENT_TYPE
9 50000001 MPI Point-to-point
VALUES
1 MPI_Send
2 MPI_Recv

EVENT_TYPE
9 50000002 MPI Collective Comm
VALUES
8 MPI_Barrier

EVENT_TYPE
9 50000003 MPI Other
VALUES
31 MPI_Init
32 MPI_Finalize

EVENT_TYPE
0 60000019 User function
VALUES
1 slow
2 quick
3 brief
4 long

EVENT_TYPE
0 60000119 User function line
VALUES
1 20 (app.c, app)
";

#[test]
fn efficiencies_wait_states_and_delay_cost_are_those_of_the_trace() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    archive(at, "late", "");
    std::fs::write(at.join("late.prv"), LATE).expect("writes");
    std::fs::write(at.join("late.pcf"), LABELS).expect("writes");
    for (trace, run) in [("trace", "of-otf2"), ("late.prv", "of-paraver")] {
        command(at, &["import", trace, "-o", run]);
        let near = |value: &Value, wanted: f64| {
            let got = value.as_f64().expect("a figure");
            assert!((got - wanted).abs() < 1e-6, "{run}: {got} for {wanted}");
        };
        // 4.5 s, in which rank 0 computes for 3.5 and rank 1 for 2.5.
        let found = json(at, &["analyse", "efficiencies", run, "--json"]);
        let row = &found["sections"][0]["rows"][0];
        near(&row["wall_seconds"], 4.5);
        near(&row["parallel"], 3.0 / 4.5);
        near(&row["load_balance"], 3.0 / 3.5);
        near(&row["communication"], 3.5 / 4.5);
        near(&row["transfer"], 1.0);
        let found = json(at, &["analyse", "wait-states", run, "--json"]);
        let rows = found["sections"][0]["rows"].as_array().expect("rows");
        let states: Vec<&str> = rows.iter().filter_map(|r| r["state"].as_str()).collect();
        assert_eq!(states, ["late sender", "wait at barrier"], "{run}");
        near(&rows[0]["wait_seconds"], 2.0);
        near(&rows[1]["wait_seconds"], 1.0);
        // The 2 s in which the receiver waits are those that the sender computes longer.
        let found = json(at, &["diagnose", run, "--json"]);
        let causes = found["causes"].as_array().expect("causes");
        let slow = causes.iter().find(|c| c["place"]["function"] == "slow");
        let slow = slow.expect("what makes the sender late");
        assert_eq!(
            (&slow["class"], &slow["ranks"]),
            (&"uneven-work".into(), &"0".into())
        );
        near(&slow["waiting_seconds"], 2.0);
    }
}

#[test]
fn equal_work_that_runs_slower_is_told_by_a_traces_counters() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    for ranks in ["2", "4"] {
        archive(at, "slower", ranks);
        let name = format!("app.{ranks}");
        command(at, &["import", &format!("trace{ranks}"), "-o", &name]);
    }
    let found = json(at, &["diagnose", "app.2", "app.4", "--json"]);
    let cause = &found["causes"][0];
    assert_eq!(cause["class"], "slower-work", "{found}");
    assert_eq!(cause["place"]["file"], "slow.c");
    assert!(
        cause["evidence"].to_string().contains("cache misses"),
        "{cause}"
    );
}

#[test]
fn threads_of_a_trace_that_wait_for_one_another_are_a_cause() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    archive(at, "teams", "2");
    command(at, &["import", "trace2", "-o", "app.2"]);
    let found = json(at, &["diagnose", "app.2", "--json"]);
    let cause = &found["causes"][0];
    assert_eq!(cause["class"], "thread-imbalance", "{found}");
    assert_eq!(cause["place"]["function"], "loop");
    // Of 30 times 1 and 3 ms, each rank could save 1 ms every time.
    let cost = cause["cost_seconds"].as_f64().expect("a cost");
    assert!((cost - 0.030).abs() < 1e-4, "{cost}");
    // And where both want one critical section, that is what they wait for.
    std::fs::remove_dir_all(at.join("trace2")).expect("removes");
    archive(at, "locks", "2");
    command(at, &["import", "trace2", "-o", "locks.2"]);
    let found = json(at, &["diagnose", "locks.2", "--json"]);
    assert_eq!(found["causes"][0]["class"], "lock-contention", "{found}");
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

#[test]
fn what_somebody_has_there_is_not_mixed_with_a_run() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    archive(at, "uneven", "2");
    std::fs::create_dir(at.join("mine")).expect("a directory");
    std::fs::write(at.join("mine/calls.parquet"), "mine").expect("a file");
    for out in ["mine", ".", ".."] {
        let refused = headwater(at).args(["import", "trace2", "-o", out]).output();
        let refused = refused.expect("runs");
        assert_eq!(refused.status.code(), Some(2), "{out}");
        assert!(said(&refused).contains("is not overwritten"), "{out}");
    }
    let kept = std::fs::read_dir(at).expect("a directory").count();
    assert_eq!(kept, 2, "the trace and the directory");
    std::fs::create_dir(at.join("empty")).expect("a directory");
    command(at, &["import", "trace2", "-o", "empty"]);
}
