//! A program compiled with `headwater cc`, recorded and diagnosed: causes say what their work depends on, the JSON has the
//! chain of lines, and of equal causes the one that depends on the rank comes first.

mod support;

use serde_json::Value;
use std::path::Path;
use std::process::Command;
use support::{collector, headwater, said, target};

/// Twice the work on rank 1: once because the environment says so, once because of the rank; and work that all ranks do.
const PROGRAM: &str = r#"
#include <mpi.h>
#include <stdlib.h>
static volatile double x;
__attribute__((noinline)) static void by_environment(long n) {
    for (long i = 0; i < n; i++) /* environment */
        x = x * 0.999 + 1;
}
__attribute__((noinline)) static void by_rank(long n) {
    for (long i = 0; i < n; i++) /* rank */
        x = x * 0.999 + 1;
}
__attribute__((noinline)) static void by_argument(long n) {
    for (long i = 0; i < n; i++) /* argument */
        x = x * 0.999 + 1;
}
int main(int argc, char **argv) {
    int rank;
    long many = atol(argv[1]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank); /* call */
    long more = many * (1 + atol(getenv("OMPI_COMM_WORLD_RANK")));
    long most = many * (1 + rank);
    for (int step = 0; step < 100; step++) {
        by_environment(more);
        MPI_Barrier(MPI_COMM_WORLD);
        by_rank(most);
        MPI_Barrier(MPI_COMM_WORLD);
        by_argument(many);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return MPI_Finalize();
}
"#;

/// The line of the program with a comment.
fn line(comment: &str) -> u64 {
    let comment = format!("/* {comment} */");
    let at = PROGRAM.lines().position(|l| l.contains(&comment));
    at.expect("the comment") as u64 + 1
}

/// Compiles the program; `None` where there is no clang with LLVM's headers, or no MPI library.
fn compiled(dir: &Path) -> Option<()> {
    let there = |program: &str| Command::new(program).arg("--version").output().is_ok();
    let versions = [22, 19].into_iter();
    let mut versions = versions.filter(|v| {
        let config = format!("/usr/lib/llvm-{v}/bin/llvm-config");
        there(&format!("clang-{v}")) && Path::new(&config).exists()
    });
    let version = versions.next().filter(|_| there("mpicc"));
    let Some(version) = version else {
        eprintln!("clang with LLVM's headers, or mpicc, is not installed: not tested");
        return None;
    };
    std::fs::write(dir.join("app.c"), PROGRAM).expect("writes");
    let mut command = headwater(dir);
    // The plugin is built once for all runs of this test.
    command.env("XDG_CACHE_HOME", target().join("tmp/plugins"));
    command.env("HEADWATER_LLVM", version.to_string());
    let out = command
        .args(["cc", "-g", "-O2", "app.c", "-o", "app"])
        .output();
    let out = out.expect("runs");
    assert!(out.status.success(), "{}", said(&out));
    Some(())
}

fn diagnosis(dir: &Path) -> Value {
    let headwater = |words: &[&str]| {
        let mut command = headwater(dir);
        let out = command
            .env("HEADWATER_COLLECTOR", collector())
            .args(words)
            .output();
        let out = out.expect("runs");
        assert!(out.status.success(), "{words:?}: {}", said(&out));
        out.stdout
    };
    headwater(&["run", "-n", "1,2", "--quiet", "--", "./app", "2000000"]);
    let json = headwater(&[
        "diagnose",
        "--scaling",
        "strong",
        "--json",
        "app.1",
        "app.2",
    ]);
    serde_json::from_slice(&json).expect("JSON")
}

/// The cause whose place is the loop of a comment: its number, and what the compiler says, with the names and lines of the
/// chain.
fn cause(diagnosis: &Value, class: &str, comment: &str) -> (usize, String, Vec<(String, u64)>) {
    let causes = diagnosis["causes"].as_array().expect("causes");
    let found = causes
        .iter()
        .position(|c| c["class"] == class && c["place"]["first_line"] == line(comment));
    let places = || {
        causes
            .iter()
            .map(|c| format!("{} {}", c["class"], c["place"]["first_line"]))
    };
    let number = found.unwrap_or_else(|| panic!("{comment}: {:?}", places().collect::<Vec<_>>()));
    let all = causes[number]["evidence"].as_array().expect("evidence");
    let text = |e: &Value| e["text"].as_str().unwrap_or("").to_string();
    let told = all.iter().find(|e| text(e).starts_with("by the compiler"));
    let told = told.unwrap_or_else(|| panic!("{comment}: {all:?}"));
    let link = |l: &Value| {
        let name = l["name"].as_str().expect("a name").to_string();
        (name, l["line"].as_u64().expect("a line"))
    };
    let chain = told["chain"].as_array().expect("a chain");
    (number, text(told), chain.iter().map(link).collect())
}

/// The line of the program's structure about the loop of a comment, of this function alone.
fn of_structure(dir: &Path, function: &str, comment: &str) -> String {
    let words = ["structure", "--function", function, "app"];
    let out = headwater(dir).args(words).output().expect("runs");
    assert!(out.status.success(), "{}", said(&out));
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let of_loop = format!("loop  app.c:{}", line(comment));
    let found = text.lines().find(|l| l.contains(&of_loop));
    found.unwrap_or_else(|| panic!("{of_loop}: {text}")).into()
}

#[test]
fn causes_say_what_their_work_depends_on() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    if compiled(dir.path()).is_none() {
        return;
    }
    let told = of_structure(dir.path(), "by_rank", "rank");
    assert!(told.contains("[compiler: n from MPI_Comm_rank"), "{told}");
    let told = of_structure(dir.path(), "by_argument", "argument");
    assert!(told.contains("n from the program's input]"), "{told}");
    let diagnosis = diagnosis(dir.path());
    let (first, text, chain) = cause(&diagnosis, "uneven-work", "rank");
    let call = line("call");
    let sentence =
        format!("by the compiler, its bound `n` comes from MPI_Comm_rank at app.c:{call}");
    assert_eq!(text, sentence);
    assert_eq!(chain.last(), Some(&("MPI_Comm_rank".to_string(), call)));
    assert!(
        chain.len() > 2 && chain.iter().all(|l| l.1 > 0),
        "{chain:?}"
    );

    let causes = diagnosis["causes"].as_array().expect("causes");
    let of_environment =
        |c: &Value| c["class"] == "uneven-work" && c["place"]["first_line"] == line("environment");
    let second = causes.iter().position(of_environment).expect("a cause");
    let figures = |n: usize| {
        let (gain, range) = (&causes[n]["gain_seconds"], &causes[n]["gain_range_seconds"]);
        let gain = gain.as_f64().expect("a gain");
        (gain, gain - range[0].as_f64().expect("a range"))
    };
    let (by_rank, other) = (figures(first), figures(second));
    // They do the same work. Where the machine was so busy that their gains differ by more than their errors, the larger
    // one is right to come first.
    let equal = (by_rank.0 - other.0).abs() <= 0.5 * by_rank.1.max(other.1);
    assert!(!equal || first < second, "{by_rank:?} {other:?}");

    let (_, text, chain) = cause(&diagnosis, "non-shrinking-work", "argument");
    assert!(text.starts_with("by the compiler, how often it runs does not depend on the number of ranks: all do the same"), "{text}");
    assert_eq!(
        chain.last().map(|l| l.0.as_str()),
        Some("main"),
        "{chain:?}"
    );
}
