//! What the command's tests share: the command itself, its collector, programs built on the spot.

#![allow(dead_code)] // each test file uses its part

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Fifty steps of computing, sending from rank 0 to 1 and reducing. Its argument is its exit code; with
/// 9, rank 1 aborts in step 30, with 8 it crashes.
pub const PROGRAM: &str = r#"
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int rank, value = 0, end = argc > 1 ? atoi(argv[1]) : 0;
    volatile double x = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int step = 0; step < 50; step++) {
        for (int i = 0; i < 200000; i++)
            x = x + i;
        if (rank == 0) {
            value = step;
            MPI_Send(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
        } else if (rank == 1) {
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        if (end == 9 && step == 30 && rank == 1)
            abort();
        if (end == 8 && step == 30 && rank == 1)
            raise(SIGSEGV);
    }
    if (rank == 0)
        printf("value %d\n", value);
    MPI_Finalize();
    return end;
}
"#;

/// Meets once.
pub const BARRIER: &str = r#"
#include <mpi.h>
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
"#;

/// The collector as this test was built, made on demand.
pub fn collector() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        cargo(&["toolset"]);
        target().join("release/libheadwater_collector.so")
    })
}

/// The same as an archive to link, beside it.
pub fn archive() {
    collector();
    cargo(&[
        "rustc",
        "--quiet",
        "--release",
        "--package=headwater-collector",
        "--features=linked",
        "--crate-type=staticlib",
    ]);
}

fn cargo(arguments: &[&str]) {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let built = Command::new(cargo)
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo starts");
    let said = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "cargo {arguments:?}: {said}");
}

/// Where cargo builds.
pub fn target() -> &'static Path {
    let bin = Path::new(env!("CARGO_BIN_EXE_headwater"));
    bin.parent().and_then(Path::parent).expect("target folder")
}

/// The command, run in `dir` with caches there.
pub fn headwater(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headwater"));
    command
        .current_dir(dir)
        .env("XDG_CACHE_HOME", dir.join("cache"))
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command
}

/// What a command said on standard error.
pub fn said(out: &Output) -> String {
    String::from_utf8_lossy(&out.stderr).into_owned()
}

/// Builds `source` as `dir/name`; `None` where the compiler is not installed.
pub fn built(
    compiler: &str,
    dir: &Path,
    name: &str,
    source: &str,
    more: &[&str],
) -> Option<PathBuf> {
    let file = dir.join(format!("{name}.c"));
    std::fs::write(&file, source).expect("writes a source file");
    let program = dir.join(name);
    let status = Command::new(compiler)
        .args(["-g", "-O1", "-o"])
        .arg(&program)
        .arg(&file)
        .args(more)
        // The wheel's own compilers ask for it.
        .env("I_MPI_ROOT", target().join("impi"))
        .status();
    match status {
        Ok(s) => {
            assert!(s.success(), "{compiler} builds {name}");
            Some(program)
        }
        Err(_) => {
            eprintln!("{compiler} is not installed: not tested");
            None
        }
    }
}
