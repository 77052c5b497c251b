//! Simulations: networks that are measured, fitted and refused, and what a simulation shows.

mod support;

use std::path::Path;
use std::process::{Command, Output};
use support::{PROGRAM, built, collector, headwater, said};

const NETWORK: &str = r#"{"headwater_network":1,"latency_s":2e-6,"overhead_s":5e-7,"gap_s":5e-7,"per_byte_s":1e-10,"rendezvous_above_bytes":null}"#;

fn text(out: &Output) -> String {
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// `headwater calibrate` on so many ranks.
fn calibrate(dir: &Path, ranks: &str, options: &[&str]) -> Output {
    calibrate_in(&[dir], ranks, options)
}

/// The same with so many ranks in each of some directories.
fn calibrate_in(dirs: &[&Path], ranks: &str, options: &[&str]) -> Output {
    let mut command = Command::new("mpirun.openmpi");
    command
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .args(["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]);
    for (i, dir) in dirs.iter().enumerate() {
        command
            .args(if i == 0 { None } else { Some(":") })
            .args(["-n", ranks, "-wdir"])
            .arg(dir)
            .args([env!("CARGO_BIN_EXE_headwater"), "calibrate"])
            .args(options);
    }
    command.output().expect("mpirun starts")
}

fn refused(out: &Output, why: &str) {
    assert_eq!(out.status.code(), Some(2), "{}", said(out));
    let said = said(out);
    let own: Vec<&str> = said.lines().filter(|l| l.contains("headwater:")).collect();
    assert!(own.len() == 1 && own[0].contains(why), "{said}");
}

/// Each rank waits for the others once; then rank 0 alone computes for 0.3 s of CPU time.
const TAIL: &str = r#"
#include <mpi.h>
#include <time.h>
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    clock_t end = clock() + 3 * CLOCKS_PER_SEC / 10;
    while (rank == 0 && clock() < end) {}
    MPI_Finalize();
}
"#;

/// In each iteration, another one of two ranks computes for 20 ms of CPU time, and the other one for 10 ms: too long for
/// a computation that is recorded as one of many equal ones, and too short for one that is recorded by itself.
const ROTATING: &str = r#"
#include <mpi.h>
#include <time.h>
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 20; i++) {
        clock_t end = clock() + CLOCKS_PER_SEC / (i % 2 == rank ? 50 : 100);
        while (clock() < end) {}
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
}
"#;

#[test]
fn what_a_simulation_by_means_cannot_show_is_said() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let Some(program) = built("mpicc.openmpi", dir.path(), "rotating", ROTATING, &[]) else {
        return;
    };
    let run = |words: &[&str]| done(dir.path(), words);
    trace_as_t2(dir.path(), &program);
    let shown = run(&["simulate", "t2"]);
    assert!(
        shown.contains("waits for the longer ones are missing"),
        "{shown}"
    );
}

/// Records the trace `t2` of a program on two ranks.
fn trace_as_t2(dir: &Path, program: &Path) {
    let launch = ["mpirun.openmpi", "--oversubscribe", "-n", "2"];
    let program = program.display().to_string();
    let words = [&["trace", "-o", "t2", "--"][..], &launch, &[&program]].concat();
    done(dir, &words);
}

/// What a command prints that succeeds.
fn done(dir: &Path, words: &[&str]) -> String {
    let mut command = headwater(dir);
    command.env("HEADWATER_COLLECTOR", collector());
    let out = command.arg("--quiet").args(words).output().expect("runs");
    assert!(out.status.success(), "{}", said(&out));
    text(&out)
}

#[test]
fn computation_after_the_last_message_is_in_the_trace() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let Some(program) = built("mpicc.openmpi", dir.path(), "tail", TAIL, &[]) else {
        return;
    };
    let run = |words: &[&str]| done(dir.path(), words);
    trace_as_t2(dir.path(), &program);
    let json: serde_json::Value =
        serde_json::from_str(&run(&["simulate", "t2", "--json"])).expect("JSON");
    let seconds = json["seconds"].as_f64().expect("a run time");
    assert!((0.28..0.5).contains(&seconds), "{json:#}");
    let shown = run(&["show", "t2"]);
    assert!(shown.contains("MPI_Finalize"), "{shown}");
    let simulated = run(&["simulate", "t2"]);
    assert!(
        !simulated.contains("longer ones are missing"),
        "{simulated}"
    );
    the_page_shows_the_whole_run(dir.path(), &json);
}

/// The timeline of a page ends with the whole run, as it was simulated, at the places of the program.
fn the_page_shows_the_whole_run(dir: &Path, simulated: &serde_json::Value) {
    done(dir, &["diagnose", "t2", "--html", "page.html"]);
    let html = std::fs::read_to_string(dir.join("page.html")).expect("a page");
    let begin = r#"<script type="application/json" id="headwater-data">"#;
    let data = html
        .split_once(begin)
        .and_then(|d| d.1.split_once("</script>"));
    let page: serde_json::Value = serde_json::from_str(data.expect("data").0).expect("JSON");
    let windows = page["timeline"][0]["windows"].as_array().expect("windows");
    let whole = windows.last().expect("a window");
    assert_eq!(whole["whole"], true);
    assert!(whole["wall"].is_null());
    assert_eq!(whole["calls"], simulated["calls"]);
    let length = whole["virtual_length_ns"].as_f64().expect("a length") * 1e-9;
    let seconds = simulated["seconds"].as_f64().expect("seconds");
    assert!((length - seconds).abs() < 1e-6, "{length} {seconds}");
    let slices = &whole["virtual"]["slices"];
    let (kinds, frames) = (&slices["kind"], &slices["frame"]);
    let both = kinds
        .as_array()
        .into_iter()
        .flatten()
        .zip(frames.as_array().into_iter().flatten());
    let mut calls = both.filter(|(kind, _)| **kind == 1);
    assert!(
        calls.all(|(_, frame)| frame.as_i64() > Some(0)),
        "{slices:#}"
    );
}

#[test]
fn a_network_is_measured_and_simulated() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let Some(program) = built("mpicc.openmpi", dir.path(), "app", PROGRAM, &[]) else {
        return;
    };
    refused(
        &headwater(dir.path())
            .arg("calibrate")
            .output()
            .expect("runs"),
        "mpirun -n 2 headwater calibrate",
    );
    refused(&calibrate(dir.path(), "1", &[]), "the MPI library sees 1");
    let out = calibrate(dir.path(), "2", &["-o", "net.json"]);
    assert!(out.status.success(), "{}", said(&out));
    assert!(text(&out).contains("written to net.json"), "{}", text(&out));
    refused(
        &calibrate(dir.path(), "2", &["-o", "net.json"]),
        "net.json is there already",
    );
    // What another node has by that name is nobody's business, and no rank waits for one that has given up.
    for (here, there, code) in [("free", "taken", 0), ("taken", "free", 2)] {
        let at = |name: &str| {
            let at = dir.path().join(format!("{here}-{there}-{name}"));
            std::fs::create_dir(&at).expect("a directory");
            if name == "taken" {
                std::fs::write(at.join("net.json"), "as it was").expect("writes");
            }
            at
        };
        let (here, there) = (at(here), at(there));
        let out = calibrate_in(&[&here, &there], "1", &["-o", "net.json"]);
        assert_eq!(out.status.code(), Some(code), "{}", said(&out));
        let files = |at: &Path| -> Vec<String> {
            let all = std::fs::read_dir(at).expect("a directory").flatten();
            all.map(|e| e.file_name().to_string_lossy().into_owned())
                .collect()
        };
        assert_eq!(files(&here), ["net.json"]);
        let taken = if code == 0 { there } else { here };
        assert_eq!(
            std::fs::read_to_string(taken.join("net.json")).expect("reads"),
            "as it was"
        );
    }
    let file = |name| std::fs::write(dir.path().join(name), NETWORK.replace("2e-6", "-2e-6"));
    file("wrong.json").expect("writes");
    std::fs::write(dir.path().join("known.json"), NETWORK).expect("writes");

    let run = |words: &[&str]| {
        let mut command = headwater(dir.path());
        command.env("HEADWATER_COLLECTOR", collector());
        command.arg("--quiet").args(words).output().expect("runs")
    };
    let done = |words: &[&str]| {
        let out = run(words);
        assert!(out.status.success(), "{}", said(&out));
        text(&out)
    };
    let program = program.display().to_string();
    let launch = ["mpirun.openmpi", "--oversubscribe", "-n", "2", &program];
    done(&[&["trace", "-o", "t2", "--"][..], &launch].concat());
    let known = done(&["simulate", "t2", "--network", "known.json"]);
    assert!(
        known.contains("latency 2.000 µs, overhead 500.000 ns")
            && known.contains("from known.json"),
        "{known}"
    );
    done(&["simulate", "t2", "--network", "net.json"]);
    let ideal = done(&["simulate", "t2"]);
    assert!(ideal.contains("Longest waits of all ranks"), "{ideal}");
    assert!(
        ["wait at n-to-n", "late sender"]
            .iter()
            .any(|s| ideal.contains(s)),
        "{ideal}"
    );
    done(&["simulate", "t2", "--timeline", "t.json"]);
    let timeline = std::fs::read(dir.path().join("t.json")).expect("a timeline");
    let timeline: serde_json::Value = serde_json::from_slice(&timeline).expect("JSON");
    let events = timeline["traceEvents"].as_array().expect("events");
    let of = |cat: &str| events.iter().filter(|e| e["cat"] == cat).count();
    assert!(of("mpi") >= 200 && of("computation") >= 100 && of("waiting") >= 25);
    refused(
        &run(&["simulate", "t2", "--timeline", "t.json"]),
        "t.json is there already",
    );
    refused(
        &run(&["simulate", "t2", "--what-if", "MPI_Recv no-wait"]),
        "there is no collective at this place",
    );
    let fitted = done(&["simulate", "t2", "--network", "fit"]);
    assert!(fitted.contains("fitted to the shortest calls"), "{fitted}");
    for (network, why) in [
        ("wrong.json", "latency_s is -0.000002"),
        ("missing.json", "missing.json: "),
        ("t2.json/", "give ideal, fit"),
    ] {
        refused(&run(&["simulate", "t2", "--network", network]), why);
    }
}

/// Two threads on one core: thread 1 has 150 ms until a barrier and thread 0 has 50 ms; behind it, thread 0 has 100 ms.
const TEAMS: &str = r#"#define _GNU_SOURCE
#include <mpi.h>
#include <omp.h>
#include <sched.h>
#include <time.h>

/* Computes for so much CPU time. */
static void work(double seconds)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    double from = t.tv_sec + 1e-9 * t.tv_nsec, now;
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        now = t.tv_sec + 1e-9 * t.tv_nsec;
    } while (now - from < seconds);
}

int main(int argc, char **argv)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
#pragma omp parallel num_threads(2)
    {
        work(omp_get_thread_num() ? 0.150 : 0.050);
#pragma omp barrier
        work(omp_get_thread_num() ? 0.010 : 0.100);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
"#;

#[test]
fn a_team_takes_as_long_as_its_longest_thread() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let Some(program) = built("mpicc.openmpi", dir.path(), "teams", TEAMS, &["-fopenmp"]) else {
        return;
    };
    let run = |words: &[&str]| {
        let mut command = headwater(dir.path());
        command.env("HEADWATER_COLLECTOR", collector());
        let out = command.arg("--quiet").args(words).output().expect("runs");
        assert!(out.status.success(), "{}", said(&out));
        text(&out)
    };
    let program = program.display().to_string();
    run(&["trace", "-o", "t1", "--", &program]);
    let json = run(&["simulate", "t1", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let seconds = |name: &str| json[name].as_f64().expect("a time");
    // All of the threads' work, one after the other.
    assert!(seconds("recorded_seconds") > 0.305, "{json}");
    // On cores of their own: thread 1, then thread 0.
    let simulated = seconds("seconds");
    assert!((0.245..0.280).contains(&simulated), "{json}");
    // A function counts with all that it calls.
    let json = run(&["simulate", "t1", "--what-if", "main gone", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let left = json["what_if"][0]["seconds"].as_f64().expect("a time");
    assert!(left < 0.1 * simulated, "{json}");
}
