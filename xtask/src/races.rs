//! Races on the collector's own tables, looked for by ThreadSanitizer while threads call MPI at the same time.
//!
//! The collector and Rust's library are built with the sanitizer's checks, which the stable compiler has
//! and applies if unstable options are requested. Its run time is the C compiler's, loaded behind the
//! collector, whose wrappers of threads and locks it must not overtake. The MPI library is not built
//! that way, so what it does within itself is not looked at; where that shows, a suppression says why.

use crate::mpi::Mpi;
use crate::setup;
use crate::shell::{Done, HANGING, output, root, within};
use headwater_format::spool::read_spool;
use std::path::{Path, PathBuf};
use std::process::Command;

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Functions whose reports are passed over, each with its reason.
const PASSED_OVER: [(&str, &str); 1] = [(
    "headwater_collector7threads5locks8is_plain",
    "reads of a mutex that it is given; one of the MPI library's lies on a stack, and that the \
     library has done with it when the stack is used for something else is not seen",
)];

/// What the sanitizer begins a report with.
const REPORT: &str = "WARNING: ThreadSanitizer";

/// Threads that each rank of the program has at a time.
const THREADS: usize = 5;

/// Builds and runs the check; an error with the first report, if there is one.
pub fn races() -> Done {
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]))?;
    let rustlib = Path::new(sysroot.trim()).join("lib/rustlib");
    if !rustlib.join("src/rust/library/std").is_dir() {
        return Err(
            "the source of Rust's library is missing; type:  rustup component add rust-src".into(),
        );
    }
    let collector = collector()?;
    let place = setup::target().join("races");
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(&place).map_err(|e| e.to_string())?;
    let build = |out: &str, source: &str, flags: &[&str]| {
        let out = place.join(out);
        let source = root().join("testbed/bench").join(source);
        let mut compile = Command::new("mpicc.openmpi");
        compile.args(["-g", "-O1"]).args(flags).arg("-o");
        output(compile.arg(&out).arg(source).arg("-lpthread")).map(|_| out)
    };
    let program = build("races", "races.c", &[])?;
    let shim = build(
        "sanitizer.so",
        "sanitizer.c",
        &["-shared", "-fPIC", "-fno-builtin"],
    )?;
    let named = output(Command::new("cc").arg("-print-file-name=libtsan.so"))?;
    let runtime = std::fs::canonicalize(named.trim()).map_err(|e| {
        format!(
            "the C compiler has no ThreadSanitizer ({}): {e}",
            named.trim()
        )
    })?;
    let passed_over = place.join("passed-over");
    let lines = PASSED_OVER.map(|(function, why)| format!("# {why}\nrace:{function}\n"));
    std::fs::write(&passed_over, lines.concat()).map_err(|e| e.to_string())?;
    let (spool, said) = (place.join("spool"), place.join("said"));
    let options = format!(
        "ignore_noninstrumented_modules=1 report_signal_unsafe=0 history_size=7 exitcode=0 suppressions={} log_path={}",
        passed_over.display(),
        said.display()
    );
    let loaded = [&collector, &shim, &runtime].map(|p| p.display().to_string());
    let mut run = within(HANGING, &Mpi::Open.mpirun(2)?);
    run.args(["--mca", "mpi_yield_when_idle", "1"]);
    for (name, value) in [
        ("LD_PRELOAD", loaded.join(":")),
        ("HEADWATER_SPOOL", spool.display().to_string()),
        ("TSAN_OPTIONS", options),
    ] {
        run.arg("-x").arg(format!("{name}={value}"));
    }
    output(run.arg(&program))?;
    let reports: Vec<String> = std::fs::read_dir(&place)
        .map_err(|e| e.to_string())?
        .flatten()
        .filter(|f| f.file_name().to_string_lossy().starts_with("said."))
        .filter_map(|f| std::fs::read_to_string(f.path()).ok())
        .collect();
    let count: usize = reports.iter().map(|r| r.matches(REPORT).count()).sum();
    let recorded = read_spool(&spool).map_err(|e| e.to_string())?;
    if recorded.threads.len() < 2 * THREADS {
        return Err(format!(
            "only {} threads were recorded",
            recorded.threads.len()
        ));
    }
    println!(
        "races: {count} reports while {} threads of 2 ranks made {} MPI calls",
        recorded.threads.len(),
        recorded.calls.iter().map(|c| c.count).sum::<u64>()
    );
    match reports.iter().find(|r| r.contains(REPORT)) {
        None => Ok(()),
        Some(report) => Err(report.lines().take(60).collect::<Vec<_>>().join("\n")),
    }
}

/// The collector with the sanitizer's checks.
fn collector() -> Result<PathBuf, String> {
    let place = setup::target().join("tsan");
    println!("building the collector and Rust's library with checks for races");
    output(
        Command::new("cargo")
            .args([
                "build",
                "--quiet",
                "-Zbuild-std=std,panic_unwind",
                "--target",
                TARGET,
            ])
            .args(["-p", "headwater-collector"])
            .env("RUSTC_BOOTSTRAP", "1")
            .env("RUSTFLAGS", "-Zsanitizer=thread -Cforce-frame-pointers=yes")
            .env("CARGO_TARGET_DIR", &place)
            .current_dir(root()),
    )?;
    Ok(place.join(TARGET).join("debug/libheadwater_collector.so"))
}
