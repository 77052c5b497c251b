//! Programs that MPI is a part of: linked with what `headwater link-flags` prints, they are recorded as others are.

mod support;

use headwater_format::read_run;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{archive, collector, headwater, said};

/// Messages, reductions, computation and a sleep, which is a call of the libc.
const PROGRAM: &str = r#"
#include <mpi.h>
#include <stdio.h>
#include <time.h>
int main(int argc, char **argv) {
    int rank, value = 0;
    volatile double x = 0;
    struct timespec wait = {0, 60000000};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Pcontrol(1);
    for (int step = 0; step < 40; step++) {
        for (int i = 0; i < 2000000; i++)
            x = x + i;
        if (rank == 0)
            MPI_Send(&step, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
        else
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    }
    int whole = nanosleep(&wait, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("value %d, slept %d\n", value, whole);
    MPI_Finalize();
    return 3;
}

/* Debian has no static libudev, which MPICH's hwloc asks for network cards. */
#ifdef STATIC
void *udev_new(void) { return 0; }
void *udev_unref(void *p) { return 0; }
void *udev_device_new_from_subsystem_sysname(void *a, const char *b, const char *c) { return 0; }
const char *udev_device_get_property_value(void *a, const char *b) { return 0; }
void *udev_device_unref(void *p) { return 0; }
#endif
"#;

/// What is linked behind the program: MPICH's archive in a program that loads the libc, and all of it static.
const WAYS: [(&str, &str, &str); 2] = [
    (
        "part",
        "",
        "-Wl,-Bstatic -lmpich -Wl,-Bdynamic -lhwloc -lucp -lucs -lm",
    ),
    (
        "whole",
        "-static -DSTATIC",
        "-lmpich -lhwloc -Wl,--whole-archive -lucp -luct -lucs -lucm -Wl,--no-whole-archive -lnuma -lm",
    ),
];

/// Links the program; `None` where Debian's MPICH or its archives are not here.
fn linked(dir: &Path, way: (&str, &str, &str), flags: &str) -> Option<PathBuf> {
    let (name, before, behind) = way;
    let source = dir.join("app.c");
    std::fs::write(&source, PROGRAM).expect("writes a source file");
    let program = dir.join(name);
    let words = |line: &str| {
        line.split_whitespace()
            .map(str::to_string)
            .collect::<Vec<_>>()
    };
    let out = Command::new("gcc")
        .args(["-g", "-O1", "-I/usr/include/x86_64-linux-gnu/mpich", "-o"])
        .arg(&program)
        .args(words(before))
        .arg(&source)
        .args(words(flags))
        .args(words(behind))
        .output();
    let out = out.expect("the compiler runs");
    let lacks = said(&out).contains("cannot find -l") || said(&out).contains("mpi.h: No such");
    if lacks {
        eprintln!("not tested, as libraries are missing here: {}", said(&out));
        return None;
    }
    assert!(out.status.success(), "{name}: {}", said(&out));
    Some(program)
}

#[test]
fn programs_that_mpi_is_linked_into_are_recorded() {
    archive();
    let dir = tempfile::tempdir().expect("a temporary directory");
    let with_collector = || {
        let mut command = headwater(dir.path());
        command.env("HEADWATER_COLLECTOR", collector());
        command
    };
    let flags = with_collector().arg("link-flags").output().expect("runs");
    assert!(flags.status.success(), "{}", said(&flags));
    let flags = String::from_utf8_lossy(&flags.stdout).into_owned();
    for way in WAYS {
        let name = way.0;
        let Some(program) = linked(dir.path(), way, &flags) else {
            continue;
        };
        let launch = ["mpirun.mpich", "-n", "2"];
        let bare = Command::new(launch[0])
            .args(&launch[1..])
            .arg(&program)
            .current_dir(dir.path())
            .output()
            .expect("runs");
        let left = std::fs::read_dir(dir.path()).expect("a directory");
        let left = left.flatten().filter(|e| e.path().is_dir());
        let left: Vec<_> = left
            .map(|e| e.file_name())
            .filter(|n| n != "cache")
            .collect();
        assert!(
            !left.contains(&"headwater-part".into()),
            "{left:?}: nobody asked for it"
        );
        let out = with_collector()
            .args(["record", "-o", &format!("run-{name}"), "--"])
            .args(launch)
            .arg(&program)
            .output()
            .expect("runs");
        assert_eq!(
            (out.status.code(), &out.stdout),
            (bare.status.code(), &bare.stdout),
            "{}",
            said(&out)
        );
        assert_eq!(
            String::from_utf8_lossy(&out.stdout),
            "value 39, slept 0\n",
            "{name}"
        );
        let run = read_run(&dir.path().join(format!("run-{name}"))).expect("a run");
        let calls = |function: &str| -> u64 {
            let all = run.calls.iter();
            all.filter(|c| run.function(c.func) == function)
                .map(|c| c.count)
                .sum()
        };
        assert_eq!(
            ["MPI_Send", "MPI_Recv", "MPI_Allreduce", "MPI_Barrier"].map(calls),
            [40, 40, 80, 2],
            "{name}"
        );
        assert!(run.header.incomplete.is_empty());
        assert!(run.header.mpi_library.contains("MPICH"), "{:?}", run.header);
        let joined: u64 = run.messages.iter().map(|m| m.sampled).sum();
        assert_eq!(joined, 40, "{name}");
        let slept: u64 = run.samples.iter().map(|s| s.blocked_ns).sum();
        assert!(slept > 100_000_000, "{name}: {slept}");
        let own = run
            .modules
            .iter()
            .position(|m| m.path == program.display().to_string());
        let own = own.expect("the program is a module") as u32;
        let inner = run.samples.iter().filter(|s| {
            let at = s.ctx.index().and_then(|c| run.contexts.get(c));
            at.is_some_and(|c| c.module == own && c.parent.index().is_some())
        });
        let cpu: u64 = inner.map(|s| s.cpu_ns).sum();
        assert!(cpu > 50_000_000, "{name}: samples have call paths: {cpu}");
    }
}
