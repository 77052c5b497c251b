//! Programs in Python: causes are lines of it, as pure code and below MPI, and with threads.

mod support;

use std::path::Path;
use std::process::{Command, Output};
use support::{collector, headwater, said};

/// Debian's Python, for which it has mpi4py.
const PYTHON: &str = "/usr/bin/python3";

/// Rank 0 computes more in `Solver.step` than the others.
const SOLVER: &str = r#"from mpi4py import MPI


class Solver:
    def __init__(self, comm):
        self.comm = comm

    def share(self):
        first = self.comm.Get_rank() == 0
        return 60000 if first else 15000

    def step(self, n):
        total = 0.0
        for i in range(n):
            total += i * 0.5
        return total

    def even(self):
        return sum(i for i in range(15000))

    def run(self, steps):
        for k in range(steps):
            self.even()
            self.step(self.share())
            self.comm.allreduce(k)


Solver(MPI.COMM_WORLD).run(100)
"#;

/// Threads that want Python's lock.
const THREADS: &str = r#"import threading


def turn(n):
    total = 0
    for i in range(n):
        total += i
    return total


def main():
    made = [threading.Thread(target=turn, args=(3000000,)) for _ in range(2)]
    for thread in made:
        thread.start()
    for thread in made:
        thread.join()


main()
"#;

fn run(dir: &Path, args: &[&str]) -> Output {
    headwater(dir)
        .env("HEADWATER_COLLECTOR", collector())
        .args(args)
        .output()
        .expect("runs")
}

fn has(module: &str) -> bool {
    let asked = Command::new(PYTHON)
        .args(["-c", &format!("import {module}")])
        .output();
    asked.is_ok_and(|out| out.status.success())
}

#[test]
fn the_line_of_an_uneven_loop_is_named() {
    if !has("mpi4py") {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    std::fs::write(at.join("solver.py"), SOLVER).expect("a script");
    for ranks in ["1", "2"] {
        let name = format!("n{ranks}");
        let launcher = ["--", "mpirun.openmpi", "--oversubscribe", "-n", ranks];
        let line = [
            &["record", "-q", "-o", &name][..],
            &launcher,
            &[PYTHON, "solver.py"],
        ]
        .concat();
        let out = run(at, &line);
        assert!(out.status.success(), "{}", said(&out));
    }
    let out = run(at, &["diagnose", "n1", "n2", "--json"]);
    let text = String::from_utf8_lossy(&out.stdout);
    let d: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    // What is a cause depends on the machine's load; what is uneven between the ranks does not.
    let uneven = d["abnormal"].as_array().expect("a list");
    let is_it = |place: &serde_json::Value| {
        place["function"] == "Solver.step"
            && place["kind"] == "loop"
            && place["first_line"] == 14
            && place["file"]
                .as_str()
                .is_some_and(|f| f.ends_with("/solver.py"))
    };
    assert!(uneven.iter().any(|v| is_it(&v["place"])), "{text}");
    let out = run(at, &["export", "folded", "n2", "-o", "n2.folded"]);
    assert!(out.status.success(), "{}", said(&out));
    let text = std::fs::read_to_string(at.join("n2.folded")).expect("stacks");
    assert!(text.contains("Solver.step;loop solver.py:14-15"), "{text}");
    assert!(!text.contains("_PyEval"), "{text}");
}

#[test]
fn threads_of_a_script_wait_for_the_global_lock() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    std::fs::write(at.join("threads.py"), THREADS).expect("a script");
    let line = ["record", "-q", "-o", "t", "--", PYTHON, "threads.py"];
    let out = run(at, &line);
    assert!(out.status.success(), "{}", said(&out));
    let out = run(at, &["analyse", "contention", "t"]);
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(text.contains("turn") && text.contains("gil"), "{text}");
}

#[test]
fn the_structure_of_a_script_is_its_functions_and_loops() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(dir.path().join("solver.py"), SOLVER).expect("a script");
    let out = run(dir.path(), &["structure", "solver.py"]);
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(text.contains("loop  solver.py:14-15"), "{text}");
    assert!(text.contains("Solver.step  solver.py:12-16"), "{text}");
}
