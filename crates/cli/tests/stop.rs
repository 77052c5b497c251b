//! `stop`, and a diagnosis of a run that still goes on.

mod support;

use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;
use support::{built, collector, headwater, said};

/// Computes until a file is there. With MPI, its ranks agree on that in each step, and then pause and resume recording. The
/// first rank alone ends with 7: a launcher ends all others at once when one does so, and this one has something to say.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <unistd.h>
#ifdef MPI
#include <mpi.h>
#endif
static volatile double x = 1;
int main(int argc, char **argv) {
    int end = 0, first = 1;
#ifdef MPI
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    first = rank == 0;
#endif
    for (int step = 0; step < 100000 && !end; step++) {
        for (int i = 0; i < 1000000; i++)
            x = x + 1.0 / (i + x);
        end = access(argv[1], F_OK) == 0;
#ifdef MPI
        MPI_Allreduce(MPI_IN_PLACE, &end, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
#endif
    }
#ifdef MPI
    MPI_Pcontrol(0);
    MPI_Pcontrol(1);
    for (int step = 0; step < 100; step++)
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
#endif
    if (first)
        puts("done");
    return first ? 7 : 0;
}
"#;

fn run(dir: &Path, args: &[&str]) -> Output {
    headwater(dir).args(args).output().expect("runs")
}

/// What `args` print as JSON as soon as they can.
fn when_it_can(dir: &Path, args: &[&str]) -> serde_json::Value {
    let mut last = String::new();
    for _ in 0..100 {
        let out = run(dir, args);
        if out.status.success() {
            return serde_json::from_slice(&out.stdout).expect("JSON");
        }
        last = said(&out);
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("{args:?}: {last}");
}

fn recording_is_ended_while_the_program_goes_on(at: &Path, launcher: &[&str]) {
    let end = at.join("end");
    let _ = std::fs::remove_file(&end);
    let recorder = headwater(at)
        .env("HEADWATER_COLLECTOR", collector())
        .args(["record", "-q", "-o", "run", "--"])
        .args(launcher)
        .args(["./app", "end"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let diagnose = ["diagnose", "-q", "run", "--json"];
    let text = when_it_can(at, &diagnose).to_string();
    assert!(text.contains("run still runs: the figures are"), "{text}");

    let out = run(at, &["stop", "run"]);
    assert!(out.status.success(), "{}", said(&out));
    let processes = if launcher.is_empty() {
        "1 process"
    } else {
        "2 processes"
    };
    let words = format!("recording has ended ({processes}), and the program goes on");
    assert!(said(&out).contains(&words), "{}", said(&out));
    let so_far = || {
        let mut d = when_it_can(at, &diagnose);
        let text = d.to_string();
        assert!(
            text.contains("`headwater stop` ended the recording"),
            "{text}"
        );
        assert!(!text.contains("still runs"), "{text}");
        assert!(!text.contains("MPI_Pcontrol"), "{text}");
        d["scales"][0]["wall_seconds"].take()
    };
    let wall = so_far();
    assert!(wall.as_f64().is_some_and(|s| s > 0.0), "{wall}");
    std::thread::sleep(Duration::from_millis(300));
    // A second request changes nothing.
    let out = run(at, &["stop", "-q", "run"]);
    assert!(
        out.status.success() && out.stderr.is_empty(),
        "{}",
        said(&out)
    );

    std::fs::write(&end, "").expect("a file");
    let out = recorder.wait_with_output().expect("ends");
    assert_eq!(out.status.code(), Some(7));
    assert_eq!(String::from_utf8_lossy(&out.stdout), "done\n");
    assert_eq!(so_far(), wall, "nothing was added");
    let out = run(at, &["stop", "run"]);
    assert_eq!(out.status.code(), Some(2), "{}", said(&out));
    assert!(
        said(&out).contains("nothing is being recorded in run"),
        "{}",
        said(&out)
    );
}

#[test]
fn the_recording_of_a_program_without_mpi_is_ended() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let built = built("cc", dir.path(), "app", PROGRAM, &[]);
    assert!(built.is_some());
    recording_is_ended_while_the_program_goes_on(dir.path(), &[]);
}

#[test]
fn the_recording_of_ranks_is_ended_and_their_data_are_merged() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    if built("mpicc.openmpi", dir.path(), "app", PROGRAM, &["-DMPI"]).is_none() {
        return;
    }
    let launcher = ["mpirun.openmpi", "--oversubscribe", "-n", "2"];
    recording_is_ended_while_the_program_goes_on(dir.path(), &launcher);
    let left = std::fs::read_dir(dir.path().join("run")).expect("a run");
    let mut names = left.filter_map(|e| e.ok()?.file_name().into_string().ok());
    assert!(names.all(|n| n != "spool" && n != "recording"));
}
