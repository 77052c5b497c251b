//! The figures that the project is held to, measured here and now. What recording costs has a table of its own (`cost.rs`).
//!
//! Ratios come from interleaved pairs, as the machine's speed drifts; medians are printed.

mod cost;

use crate::figures::median;
use crate::memory;
use crate::mpi::Mpi;
use crate::request::Request;
use crate::setup;
use crate::shell::{Done, output, root};
use crate::testbed::build_all;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Interleaved pairs, unless the user asks for more.
const PAIRS: usize = 11;

/// What the command line asks for.
struct Asked {
    /// Words in the names of rows of the table of what recording costs; everything where empty.
    rows: Vec<String>,
    /// Interleaved pairs of each row.
    pairs: usize,
    /// Whether to write the rows down.
    baseline: bool,
    /// Another collector to compare with.
    against: Option<PathBuf>,
}

impl Asked {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut out = Self {
            rows: Vec::new(),
            pairs: PAIRS,
            baseline: false,
            against: None,
        };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "--baseline" => out.baseline = true,
                "--pairs" => {
                    let number = rest.next().and_then(|n| n.parse().ok());
                    let enough = number.filter(|n| *n >= PAIRS);
                    out.pairs = enough.ok_or(format!("--pairs wants a number from {PAIRS} on"))?;
                }
                "--against" => {
                    let file = rest.next().ok_or(
                        "--against needs another collector: a file libheadwater_collector.so",
                    )?;
                    out.against = Some(file.into());
                }
                row => out.rows.push(row.to_string()),
            }
        }
        if out.baseline && out.against.is_some() {
            return Err("--baseline writes down one collector; --against compares two".into());
        }
        Ok(out)
    }
}

/// Measures rows of the table of what recording costs, or everything: `[--pairs N] [--baseline | --against FILE] [ROW…]`.
pub fn command(arguments: &[String]) -> Done {
    let asked = Asked::parse(arguments)?;
    setup::build()?;
    if let Some(old) = &asked.against {
        return cost::against(asked.pairs, &asked.rows, old);
    }
    let cost = cost::cost(asked.pairs, &asked.rows, asked.baseline);
    if asked.baseline || !asked.rows.is_empty() {
        return cost;
    }
    // What became worse is said at the end, behind everything else.
    figures()?;
    cost
}

/// Measures and prints all other figures.
fn figures() -> Done {
    cost::sizes()?;
    memory::bars()?;
    overhead("locks", &built("locks")?, 1, &["150000"], PAIRS)?;
    hpcc()?;
    size()?;
    structure()?;
    diagnose_time()?;
    let text = output(
        Command::new("cargo")
            .args([
                "run",
                "--release",
                "--quiet",
                "-p",
                "headwater-diagnosis",
                "--example",
                "generated",
            ])
            .current_dir(root()),
    )?;
    print!("graph and detection: {text}");
    Ok(())
}

/// A program of the benchmarks or the testbed, built for Open MPI or, if it is `alone`, without MPI.
pub fn built(name: &str) -> Result<std::path::PathBuf, String> {
    if !["alone", "contexts", "kernels", "locks", "startend"].contains(&name) {
        let request = Request {
            cases: vec![name.into()],
            ..Default::default()
        };
        return build_all(&request)?
            .pop()
            .map(|c| c.program)
            .ok_or(format!("{name} was not built"));
    }
    let out = setup::target().join("testbed").join(name);
    std::fs::create_dir_all(setup::target().join("testbed")).map_err(|e| e.to_string())?;
    let compiler = match name {
        "alone" => "gcc",
        _ => "mpicc.openmpi",
    };
    output(
        Command::new(compiler)
            .args(["-g", "-O2", "-pthread", "-I"])
            .arg(root().join("crates/collector/include"))
            .arg("-o")
            .arg(&out)
            .arg(root().join(format!("testbed/bench/{name}.c"))),
    )?;
    Ok(out)
}

/// Seconds that a program takes, bare and recorded, in a directory of its own.
fn pairs(
    program: &Path,
    ranks: u32,
    arguments: &[&str],
    pairs: usize,
) -> Result<Vec<(f64, f64)>, String> {
    let (spool, scratch) = (
        setup::target().join("bench-spool"),
        setup::target().join("bench-scratch"),
    );
    std::fs::create_dir_all(&scratch).map_err(|e| e.to_string())?;
    let seconds = |command: &mut Command| -> Result<f64, String> {
        let start = Instant::now();
        output(command.current_dir(&scratch))?;
        Ok(start.elapsed().as_secs_f64())
    };
    let pair = |_| {
        // One rank with threads may use all cores.
        let start = || {
            let mut command = Mpi::Open.mpirun(ranks)?;
            if ranks == 1 {
                command.args(["--bind-to", "none"]);
            }
            Ok::<_, String>(command)
        };
        let bare = seconds(start()?.arg(program).args(arguments))?;
        let mut with = start()?;
        setup::recorded(&mut with, &spool);
        Ok((bare, seconds(with.arg(program).args(arguments))?))
    };
    (0..pairs).map(pair).collect()
}

/// Wall time recorded over bare.
fn overhead(name: &str, program: &Path, ranks: u32, arguments: &[&str], count: usize) -> Done {
    let pairs = pairs(program, ranks, arguments, count)?;
    let bare: Vec<f64> = pairs.iter().map(|p| p.0).collect();
    let ratios: Vec<f64> = pairs.iter().map(|(bare, with)| with / bare).collect();
    println!(
        "{name}: wall time recorded over bare {:.4} (median of {count} pairs, {ranks} rank{}, {:.1} s bare)",
        median(&ratios),
        if ranks == 1 { "" } else { "s" },
        median(&bare)
    );
    Ok(())
}

/// The same of HPC Challenge, where it is named or installed. With an `hpccinf.txt` beside the program
/// it does what that says.
fn hpcc() -> Done {
    let named = std::env::var_os("HPCC").map(PathBuf::from);
    let program = named.unwrap_or_else(|| PathBuf::from("/usr/bin/hpcc"));
    if !program.is_file() {
        println!(
            "hpcc: left out, {} is not there (HPCC=/path/to/hpcc names one)",
            program.display()
        );
        return Ok(());
    }
    let program = program.canonicalize().map_err(|e| e.to_string())?;
    let scratch = setup::target().join("bench-scratch");
    std::fs::create_dir_all(&scratch).map_err(|e| e.to_string())?;
    let input = "hpccinf.txt";
    let _ = std::fs::remove_file(scratch.join(input));
    let given = program.with_file_name(input);
    if given.is_file() {
        std::fs::copy(given, scratch.join(input)).map_err(|e| e.to_string())?;
    }
    overhead("hpcc", &program, 2, &[], 5)
}

/// Bytes of a 16-rank run of the conjugate gradient program.
fn size() -> Done {
    let program = built("cg_delay")?;
    let out = setup::target().join("bench-run");
    let _ = std::fs::remove_dir_all(&out);
    output(
        Command::new(setup::headwater())
            .args(["run", "-n", "2,4,8,16", "-o"])
            .arg(&out)
            .arg("--")
            .arg(&program),
    )?;
    let run = out.join("cg_delay.16");
    let bytes = bytes_of(&run);
    println!("16-rank conjugate gradient run: {bytes} bytes on disk");
    Ok(())
}

/// Bytes of the files of a run.
fn bytes_of(run: &Path) -> u64 {
    let files = std::fs::read_dir(run).into_iter().flatten().flatten();
    files
        .filter_map(|f| f.metadata().ok())
        .map(|m| m.len())
        .sum()
}

/// Time and memory of the analysis of the largest ELF file of the distribution's lammps.
fn structure() -> Done {
    let file = "/usr/lib/x86_64-linux-gnu/liblammps.so.0";
    if !Path::new(file).exists() {
        println!("structure of liblammps: not measured, the package lammps is not installed");
        return Ok(());
    }
    let start = Instant::now();
    let mut child = Command::new(setup::headwater())
        .args(["structure", file, "--function", "lammps_open"])
        .stdout(Stdio::null())
        .spawn()
        .map_err(|e| format!("cannot start headwater: {e}"))?;
    // The kernel keeps the highest mark, so what is read last before the end is nearly the whole.
    let status = Path::new("/proc")
        .join(child.id().to_string())
        .join("status");
    let mut most = 0;
    let ended = loop {
        most = most.max(in_status(
            &std::fs::read_to_string(&status).unwrap_or_default(),
            "VmHWM:",
        ));
        if let Some(ended) = child.try_wait().map_err(|e| e.to_string())? {
            break ended;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    println!(
        "structure of liblammps: {:.2} s, at most {} MB of memory ({})",
        start.elapsed().as_secs_f64(),
        most * 1024 / 1_000_000,
        if ended.success() { "done" } else { "failed" }
    );
    Ok(())
}

/// A figure of the memory that a process has, in KiB, from its status; 0 where it is not there.
pub fn in_status(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|l| l.strip_prefix(name));
    let number = line.and_then(|l| l.trim().strip_suffix(" kB")?.parse().ok());
    number.unwrap_or(0)
}

/// Diagnosis of four runs up to 16 ranks.
fn diagnose_time() -> Done {
    let out = setup::target().join("bench-run");
    let runs: Vec<_> = [2, 4, 8, 16]
        .iter()
        .map(|n| out.join(format!("cg_delay.{n}")))
        .collect();
    let mut seconds = Vec::new();
    for _ in 0..PAIRS {
        let start = Instant::now();
        output(Command::new(setup::headwater()).arg("diagnose").args(&runs))?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    println!(
        "diagnose of 4 runs up to 16 ranks: {:.3} s (median of {PAIRS})",
        median(&seconds)
    );
    Ok(())
}
