//! Programs in Python (`testbed/python`): causes are lines of it, in pure code, at calls of an extension, below MPI, and
//! between threads. What is known of a program is in its `expected.toml`.

mod support;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::{collector, headwater, said};

/// Debian's Python, for which it has mpi4py and numpy.
const PYTHON: &str = "/usr/bin/python3";

fn run(dir: &Path, args: &[&str]) -> Output {
    headwater(dir)
        .env("HEADWATER_COLLECTOR", collector())
        .args(args)
        .output()
        .expect("runs")
}

/// What the command prints.
fn text(dir: &Path, args: &[&str]) -> String {
    let out = run(dir, args);
    assert!(out.status.success(), "{args:?}: {}", said(&out));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

fn has(module: &str) -> bool {
    let asked = Command::new(PYTHON)
        .args(["-c", &format!("import {module}")])
        .output();
    asked.is_ok_and(|out| out.status.success())
}

/// A program of the testbed.
struct Program {
    script: PathBuf,
    /// File, first and last line of its cause.
    cause: Option<(String, u64, u64)>,
}

impl Program {
    fn of(case: &str) -> Self {
        let testbed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbed/python");
        let dir = testbed.join(case).canonicalize().expect("a program");
        let known = std::fs::read_to_string(dir.join("expected.toml")).expect("what is known");
        let known: toml::Table = known.parse().expect("TOML");
        let source = known["sources"][0].as_str().expect("a source");
        let cause = known.get("cause").map(|causes| {
            let cause = &causes[0];
            let line = |at: usize| cause["lines"][at].as_integer().expect("a line") as u64;
            let file = cause["file"].as_str().expect("a file");
            (file.to_string(), line(0), line(1))
        });
        Self {
            script: dir.join(source),
            cause,
        }
    }

    /// Its command line.
    fn script(&self) -> &str {
        self.script.to_str().expect("a name in UTF-8")
    }

    /// Whether a place is in the lines of its cause.
    fn is_cause(&self, place: &Value) -> bool {
        let Some((file, first, last)) = &self.cause else {
            return false;
        };
        let line = |name: &str| place[name].as_u64().unwrap_or(0);
        let of_file = place["file"].as_str().and_then(|f| f.rsplit('/').next());
        of_file == Some(file) && line("first_line") >= *first && line("last_line") <= *last
    }

    /// Records it on 1 and 2 ranks, the second run with a trace.
    fn record_ranks(&self, dir: &Path) {
        for (ranks, out, trace) in [("1", "n1", &[][..]), ("2", "n2", &["--trace"])] {
            let launcher = ["mpirun.openmpi", "--oversubscribe", "-n", ranks];
            let options = [&["record", "-q", "-o", out][..], trace].concat();
            text(
                dir,
                &[&options[..], &["--"], &launcher, &[PYTHON, self.script()]].concat(),
            );
        }
    }
}

#[test]
fn the_line_of_an_uneven_loop_is_named() {
    if !has("mpi4py") {
        return;
    }
    let (dir, program) = (
        tempfile::tempdir().expect("a directory"),
        Program::of("mpi"),
    );
    let at = dir.path();
    program.record_ranks(at);
    let json = text(at, &["diagnose", "n1", "n2", "--json"]);
    let d: Value = serde_json::from_str(&json).expect("JSON");
    // What is a cause depends on the machine's load; what is uneven between the ranks does not.
    let mut uneven = d["abnormal"].as_array().expect("a list").iter();
    let is_it = |place: &Value| {
        place["function"] == "Solver.step" && place["kind"] == "loop" && program.is_cause(place)
    };
    assert!(uneven.any(|v| is_it(&v["place"])), "{json}");
    text(at, &["export", "folded", "n2", "-o", "n2.folded"]);
    let stacks = std::fs::read_to_string(at.join("n2.folded")).expect("stacks");
    assert!(
        stacks.contains("Solver.step;loop solver.py:21-22"),
        "{stacks}"
    );
    assert!(!stacks.contains("_PyEval"), "{stacks}");
    // A line may call more than one function of MPI, and mpi4py does.
    for call in ["MPI_Bcast", "MPI_Send"] {
        let call = format!("self.comm.allreduce;{call} ");
        assert!(stacks.contains(&call), "no {call} in {stacks}");
    }
    let shown = text(at, &["show", "n2"]);
    assert!(shown.contains("solver.py:32 in Solver.run"), "{shown}");
    assert!(!shown.contains("?+0x"), "{shown}");
    let simulated = text(
        at,
        &["simulate", "n2", "--what-if", "solver.py:21-22 balanced"],
    );
    // What the machine does meanwhile may be on the path, too: of the script's own computation, this loop is first.
    let path = simulated.split("critical path\n").nth(1).unwrap_or("");
    let mut section = path.lines().take_while(|line| !line.is_empty());
    let is_computation = |line: &&str| line.contains("solver.py:") && !line.contains("MPI_");
    let first = section.find(is_computation).unwrap_or("");
    assert!(
        first.contains("solver.py:21-22 (Solver.step)"),
        "{simulated}"
    );
    assert!(
        simulated.contains("MPI_Bcast at solver.py:32"),
        "{simulated}"
    );
}

#[test]
fn an_even_program_has_no_uneven_work() {
    if !has("mpi4py") {
        return;
    }
    let (dir, program) = (
        tempfile::tempdir().expect("a directory"),
        Program::of("even"),
    );
    let at = dir.path();
    program.record_ranks(at);
    let json = text(at, &["diagnose", "n1", "n2", "--json"]);
    let d: Value = serde_json::from_str(&json).expect("JSON");
    // Work is CPU time, which other programs on the machine do not change; waits they do.
    let mut causes = d["causes"].as_array().expect("a list").iter();
    // Line 4 imports mpi4py, which is not divided.
    let is_work = |c: &&Value| {
        let class = c["class"].as_str().unwrap_or("");
        class.contains("work")
            && c["place"]["first_line"] != 4
            && c["place"]["file"]
                .as_str()
                .is_some_and(|f| f.ends_with("/even.py"))
    };
    assert_eq!(causes.find(is_work), None, "{json}");
}

#[test]
fn the_hottest_line_is_one_of_python_in_pure_code_and_at_calls_of_an_extension() {
    for (case, needs) in [("pure", "sys"), ("numpy", "numpy")] {
        if !has(needs) {
            continue;
        }
        let (dir, program) = (tempfile::tempdir().expect("a directory"), Program::of(case));
        let at = dir.path();
        text(
            at,
            &["record", "-q", "-o", "r", "--", PYTHON, program.script()],
        );
        let json = text(at, &["analyse", "profile", "r", "--json"]);
        let profile: Value = serde_json::from_str(&json).expect("JSON");
        let hottest = profile["sections"][0]["rows"][0]["location"].as_str();
        let (file, line) = hottest.and_then(|l| l.rsplit_once(':')).expect("a line");
        let (of, first, last) = program.cause.as_ref().expect("a cause");
        let line: u64 = line.parse().expect("a number");
        assert!(file == of && (*first..=*last).contains(&line), "{json}");
    }
}

#[test]
fn threads_of_a_script_wait_for_the_global_lock() {
    let (dir, program) = (
        tempfile::tempdir().expect("a directory"),
        Program::of("threads"),
    );
    let at = dir.path();
    let line = ["record", "-q", "-o", "t", "--", PYTHON, program.script()];
    text(at, &line);
    let text = text(at, &["analyse", "contention", "t"]);
    assert!(text.contains("turn") && text.contains("gil"), "{text}");
}

#[test]
fn the_structure_of_a_script_is_its_functions_and_loops() {
    let (dir, program) = (
        tempfile::tempdir().expect("a directory"),
        Program::of("mpi"),
    );
    let text = text(dir.path(), &["structure", program.script()]);
    assert!(text.contains("loop  solver.py:21-22"), "{text}");
    assert!(text.contains("Solver.step  solver.py:19-23"), "{text}");
}
