//! What comes from outside: names that would drive a terminal, files that are none.

mod support;

use std::path::Path;
use std::process::Output;
use support::{headwater, said};

/// Clears the screen, rings, sets the title by a one-byte introducer, turns the direction of writing around.
const EVIL: &str = "evil\u{1b}[2J\u{7}\u{9b}31m\u{202e}name";

/// A rank that is late, in Paraver's format, and its names.
fn lay(dir: &Path) {
    let trace = "#Paraver (21/11/2026 at 10:00):4501000000_ns:1(2):1:2(1:1,1:1),1
c:1:1:2:1:2
2:1:1:1:1:100:50000003:31
2:2:1:2:1:100:50000003:31
2:1:1:1:1:1000000:50000003:0:60000019:1:60000119:1
2:2:1:2:1:1000000:50000003:0:60000019:1:60000119:1
2:2:1:2:1:2001000000:60000019:0:50000002:8
2:1:1:1:1:3501000000:60000019:0:50000002:8
2:1:1:1:1:3601000000:50000002:0:50000003:32
2:2:1:2:1:3601000000:50000002:0:50000003:32
2:1:1:1:1:4501000000:50000003:0
2:2:1:2:1:4501000000:50000003:0
";
    let names = format!(
        "EVENT_TYPE\n9 50000002 MPI Collective Comm\nVALUES\n8 MPI_Barrier\n\n\
         EVENT_TYPE\n9 50000003 MPI Other\nVALUES\n31 MPI_Init\n32 MPI_Finalize\n\n\
         EVENT_TYPE\n0 60000019 User function\nVALUES\n1 {EVIL}\n\n\
         EVENT_TYPE\n0 60000119 User function line\nVALUES\n1 20 ({EVIL}.c, app)\n"
    );
    std::fs::write(dir.join("app.prv"), trace).expect("writes");
    std::fs::write(dir.join("app.pcf"), names).expect("writes");
}

/// What would drive a terminal in all that a command says.
fn drives(out: &Output) -> Vec<char> {
    let all = [out.stdout.as_slice(), &out.stderr].concat();
    let text = String::from_utf8_lossy(&all).into_owned();
    let harmless = |c: char| matches!(c, '\n' | '\t') || !c.is_control() && c != '\u{202e}';
    text.chars().filter(|c| !harmless(*c)).collect()
}

#[test]
fn names_from_outside_cannot_drive_a_terminal() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    lay(at);
    let run = |line: &str| {
        let out = headwater(at).args(line.split(' ')).output().expect("runs");
        assert_eq!(out.status.code(), Some(0), "{line}: {}", said(&out));
        assert_eq!(drives(&out), vec![], "{line}");
        String::from_utf8_lossy(&out.stdout).into_owned()
    };
    run("import app.prv -o run");
    let mut tables = 0;
    for paradigm in [
        "profile",
        "scalability",
        "mpi-profile",
        "communication",
        "critical-path",
        "contention",
        "causal",
        "wait-states",
        "efficiencies",
        "resources",
    ] {
        for form in ["--color=never", "--json"] {
            let text = run(&format!("analyse {paradigm} run {form}"));
            tables += usize::from(text.contains("evil\\u001b[2J\\u0007"));
        }
    }
    assert!(tables > 2, "only {tables} of the tables name the function");
    for line in ["diagnose run --color=never", "diagnose run --json"] {
        assert!(run(line).contains("evil\\u001b[2J\\u0007"), "{line}");
    }
    for format in ["dot", "csv", "folded", "graphml"] {
        let text = run(&format!("export {format} run -o -"));
        assert!(text.contains("u001b[2J"), "{format}");
    }
    for format in ["speedscope", "firefox", "hatchet", "perfetto"] {
        run(&format!("export {format} run -o -"));
    }
    run("export scalana run -o files");
    let (mut scales, mut named) = (0, 0);
    for scale in std::fs::read_dir(at.join("files"))
        .expect("a directory")
        .flatten()
    {
        scales += 1;
        for name in ["headwater.txt", "out.txt", "in.txt", "stat0.txt"] {
            let text = std::fs::read_to_string(scale.path().join(name)).expect("a file");
            let bad = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
            assert!(!text.contains(bad), "{name}");
            named += usize::from(text.contains("u001b[2J"));
        }
    }
    assert!(scales == 1 && named > 0);
    // With colour there are our own sequences, and no other one.
    let mut coloured = headwater(at);
    let out = coloured
        .args(["diagnose", "run", "--color=always"])
        .output();
    let text = String::from_utf8_lossy(&out.expect("runs").stdout).into_owned();
    assert!(text.contains("\u{1b}[1m") && !text.contains("\u{1b}[2J"));
}

#[test]
fn errors_about_a_name_do_not_drive_a_terminal() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for args in [
        &["diagnose", EVIL][..],
        &["structure", EVIL],
        &["import", EVIL],
        &["record", EVIL],
        &["run", "-n", "2", "--", EVIL],
        &["analyse", EVIL, "run"],
        &["export", EVIL, "run", "-o", "x"],
    ] {
        let out = headwater(dir.path()).args(args).output().expect("runs");
        assert_eq!(out.status.code(), Some(2), "{args:?}: {}", said(&out));
        assert_eq!(drives(&out), vec![], "{args:?}");
    }
    // What a machine lacks is another exit code.
    let out = headwater(dir.path()).args(["doctor", EVIL]).output();
    assert_eq!(drives(&out.expect("runs")), vec![]);
}
