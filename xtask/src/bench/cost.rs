//! What recording costs the program: a row for each kind of program, held against what it was before.
//!
//! Each figure comes from pairs of runs, one bare and one recorded, in turn, as the machine's speed drifts. What programs
//! print is the time of their loop, so starting and ending, which has rows of its own, does not decide.

use super::{built, bytes_of};
use crate::figures::{median, scatter};
use crate::mpi::Mpi;
use crate::setup;
use crate::shell::{Done, HANGING, output, root, within};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// How a pair becomes a figure.
#[derive(Clone, Copy, PartialEq)]
enum Unit {
    /// What the recorded run prints over what the bare one does.
    Ratio,
    /// What it prints more, in nanoseconds a call.
    Nanoseconds,
    /// What it prints more, in milliseconds.
    Milliseconds,
    /// How much longer the launcher runs, in milliseconds.
    Whole,
}

impl Unit {
    /// Noise beyond which a figure would let later ones become worse unnoticed.
    const fn most_noise(self) -> f64 {
        match self {
            Self::Ratio => 0.02,
            Self::Nanoseconds => 10.0,
            Self::Milliseconds | Self::Whole => 5.0,
        }
    }
}

/// A row of the table.
struct Row {
    name: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
    /// Ranks; 0 of a program without MPI, which no launcher starts.
    ranks: u32,
    unit: Unit,
    /// Whether it is recorded by `headwater record`; else by `headwater exec` behind the launcher, with nothing around
    /// it.
    by_record: bool,
    /// Whether every call is traced as well.
    traced: bool,
    /// What it is to be at most.
    bar: f64,
    /// A difference below this is none, whatever the noise says.
    least: f64,
}

const fn row(
    name: &'static str,
    ranks: u32,
    unit: Unit,
    bar: f64,
    arguments: &'static [&'static str],
) -> Row {
    Row {
        name,
        program: "kernels",
        arguments,
        ranks,
        unit,
        by_record: false,
        traced: false,
        bar,
        least: match unit {
            Unit::Ratio => 0.003,
            Unit::Nanoseconds => 4.0,
            Unit::Milliseconds | Unit::Whole => 1.0,
        },
    }
}

/// Runs scripts in Python and prints the time of them.
const TIMED: &str = "timed.py";

const START: Row = Row {
    program: "startend",
    ..row("MPI_Init", 2, Unit::Milliseconds, 5.0, &[])
};

/// A row of a program without MPI: each of these has the time of a computation, of threads or of regions.
const fn alone(
    name: &'static str,
    unit: Unit,
    bar: f64,
    arguments: &'static [&'static str],
) -> Row {
    Row {
        program: "alone",
        ..row(name, 0, unit, bar, arguments)
    }
}

/// Kernels with their steps and points: seconds of the loop as in what is said beside them, on a machine of 2020.
const ROWS: [Row; 27] = [
    // 5 s, 2,500 calls a second and rank.
    row(
        "stencil",
        2,
        Unit::Ratio,
        1.005,
        &["stencil", "6000", "1200000"],
    ),
    // 1.6 s, 0.6 s and 0.3 s.
    row(
        "wavefront",
        2,
        Unit::Ratio,
        1.01,
        &["wavefront", "300", "50000"],
    ),
    row(
        "multigrid",
        2,
        Unit::Ratio,
        1.01,
        &["multigrid", "4000", "65536"],
    ),
    row(
        "conjugate gradient",
        2,
        Unit::Ratio,
        1.03,
        &["cg", "16000", "20000"],
    ),
    // About 150,000, 450,000 and 11 million calls a second and rank.
    row(
        "halo, larger",
        2,
        Unit::Ratio,
        1.005,
        &["halo", "100000", "24000"],
    ),
    row(
        "halo, small",
        2,
        Unit::Ratio,
        1.02,
        &["halo", "300000", "6000"],
    ),
    Row {
        traced: true,
        ..row(
            "halo, larger, traced",
            2,
            Unit::Ratio,
            1.05,
            &["halo", "100000", "24000"],
        )
    },
    Row {
        traced: true,
        ..row(
            "call, traced",
            1,
            Unit::Nanoseconds,
            200.0,
            &["known", "3000000"],
        )
    },
    row(
        "messages to itself",
        2,
        Unit::Ratio,
        1.7,
        &["itself", "3000000"],
    ),
    row(
        "call, path known",
        1,
        Unit::Nanoseconds,
        60.0,
        &["known", "3000000"],
    ),
    row(
        "call, two paths at a depth",
        1,
        Unit::Nanoseconds,
        70.0,
        &["two-paths", "3000000"],
    ),
    row(
        "call, 48 frames deep",
        1,
        Unit::Nanoseconds,
        90.0,
        &["deep", "3000000"],
    ),
    row(
        "local call",
        1,
        Unit::Nanoseconds,
        10.0,
        &["local", "10000000"],
    ),
    row("poll", 1, Unit::Nanoseconds, 60.0, &["poll", "3000000"]),
    Row {
        program: "locks",
        ..row(
            "locks",
            1,
            Unit::Nanoseconds,
            60.0,
            &["10000000", "uncontended"],
        )
    },
    // Without MPI: how often, and points that are computed each time. 3 s; a lock each 3 microseconds of a thread; threads
    // of 150 microseconds, and empty ones.
    alone(
        "computation without MPI",
        Unit::Ratio,
        1.005,
        &["compute", "10000", "80000"],
    ),
    alone(
        "8 threads that lock",
        Unit::Ratio,
        1.03,
        &["locks", "100000", "2000"],
    ),
    alone(
        "10,000 threads in turn",
        Unit::Ratio,
        1.05,
        &["threads", "10000", "40000"],
    ),
    alone(
        "thread that does nothing",
        Unit::Nanoseconds,
        7500.0,
        &["threads", "10000", "0"],
    ),
    alone(
        "region",
        Unit::Nanoseconds,
        25.0,
        &["regions", "10000000", "0"],
    ),
    // The testbed's programs in Python; 2 to 3 s each.
    Row {
        program: TIMED,
        ..row(
            "Python with mpi4py",
            2,
            Unit::Ratio,
            1.02,
            &["mpi4py.MPI", "8", "python/mpi/solver.py"],
        )
    },
    Row {
        program: TIMED,
        ..row(
            "Python with numpy",
            0,
            Unit::Ratio,
            1.02,
            &["numpy", "2", "python/numpy/median.py"],
        )
    },
    Row {
        program: TIMED,
        ..row(
            "Python with threads",
            0,
            Unit::Ratio,
            1.02,
            &["threading", "12", "python/threads/turns.py"],
        )
    },
    Row {
        program: TIMED,
        ..row(
            "Python alone",
            0,
            Unit::Ratio,
            1.02,
            &["sys", "5", "python/pure/keys.py"],
        )
    },
    Row {
        by_record: true,
        ..START
    },
    Row {
        name: "MPI_Init under exec",
        ..START
    },
    Row {
        name: "empty program",
        unit: Unit::Whole,
        bar: 10.0,
        ..START
    },
];

/// A figure with its noise.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
struct Figure {
    median: f64,
    /// Standard error of the median.
    noise: f64,
}

impl Figure {
    fn of(values: &[f64]) -> Self {
        // Of normal values, the median's error is by so much larger than the mean's.
        let wider = (std::f64::consts::PI / 2.0).sqrt();
        Self {
            median: median(values),
            noise: wider * scatter(values) / (values.len().max(1) as f64).sqrt(),
        }
    }

    /// Whether this is worse than `before` by more than the noise of both.
    fn is_worse(self, before: Self, least: f64) -> bool {
        self.median - before.median > (3.0 * self.noise.hypot(before.noise)).max(least)
    }
}

/// What the figures were when they were last written down, by row.
fn baseline() -> PathBuf {
    root().join("testbed/bench/baseline.json")
}

/// Measures the rows whose names have one of these words in them, or all, from so many pairs each. With `keep`, writes the
/// figures down for later runs, but for those that are too noisy.
///
/// # Errors
/// A row has become worse than it was by more than its noise.
pub fn cost(pairs: usize, wanted: &[String], keep: bool) -> Done {
    let file = baseline();
    let text = std::fs::read_to_string(&file).unwrap_or_else(|_| "{}".into());
    let mut before: BTreeMap<String, Figure> =
        serde_json::from_str(&text).map_err(|e| format!("{}: {e}", file.display()))?;
    let rows = rows(wanted)?;
    println!("what recording costs (median of {pairs} interleaved pairs, and its standard error):");
    let mut worse = Vec::new();
    for row in rows {
        let figure = Figure::of(&costs(row, pairs)?);
        let then = before.get(row.name).copied();
        println!("  {}", line(row, figure, then));
        if then.is_some_and(|then| figure.is_worse(then, row.least)) {
            worse.push(row.name);
        }
        if keep && figure.noise > row.unit.most_noise() {
            println!("       too noisy to be written down: what it was stays");
        } else if keep {
            before.insert(row.name.to_string(), figure);
        }
    }
    if keep {
        let text = serde_json::to_string_pretty(&before).map_err(|e| e.to_string())?;
        std::fs::write(&file, text + "\n").map_err(|e| format!("{}: {e}", file.display()))?;
        return Ok(());
    }
    match worse.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "became worse than {}: {}",
            file.display(),
            worse.join(", ")
        )),
    }
}

/// The rows whose names have one of these words in them, or all.
fn rows(wanted: &[String]) -> Result<Vec<&'static Row>, String> {
    let has = |r: &Row, word: &String| r.name.contains(word.as_str());
    if let Some(unknown) = (wanted.iter()).find(|w| !ROWS.iter().any(|r| has(r, w))) {
        let names: Vec<&str> = ROWS.iter().map(|r| r.name).collect();
        return Err(format!(
            "there is no row {unknown}; there are {}",
            names.join(", ")
        ));
    }
    let is_wanted = |r: &&Row| wanted.is_empty() || wanted.iter().any(|w| has(r, w));
    Ok(ROWS.iter().filter(is_wanted).collect())
}

/// Compares the collector with an `old` one: for each row what is printed, the one over the other.
///
/// # Errors
/// The old one is not there.
pub fn against(pairs: usize, wanted: &[String], old: &Path) -> Done {
    let old = old
        .canonicalize()
        .map_err(|e| format!("{}: {e}", old.display()))?;
    let new = setup::target().join("release/libheadwater_collector.so");
    let rows = rows(wanted)?;
    println!(
        "this collector over {} (median of {pairs} interleaved pairs, and its standard error):",
        old.display()
    );
    for row in rows {
        let both = measure(row, pairs, Some(&old), Some(&new))?;
        let ratios: Vec<f64> = both.iter().map(|(old, new)| new / old).collect();
        let Figure { median, noise } = Figure::of(&ratios);
        println!("  {:<28} {median:>9.4} ± {noise:.4}", row.name);
    }
    Ok(())
}

fn line(row: &Row, figure: Figure, then: Option<Figure>) -> String {
    let shown = |v: f64| match row.unit {
        Unit::Ratio => format!("{v:.4}"),
        Unit::Nanoseconds => format!("{v:.0} ns"),
        Unit::Milliseconds | Unit::Whole => format!("{v:.1} ms"),
    };
    let then = then.map_or("-".into(), |t| shown(t.median));
    let mark = if figure.median <= row.bar {
        "ok  "
    } else {
        "over"
    };
    format!(
        "{mark} {:<28} {:>9} ± {:<8} bar {:>9}, before {then}",
        row.name,
        shown(figure.median),
        shown(figure.noise),
        shown(row.bar)
    )
}

/// What recording costs in each pair of runs.
fn costs(row: &Row, pairs: usize) -> Result<Vec<f64>, String> {
    let collector = setup::target().join("release/libheadwater_collector.so");
    let both = measure(row, pairs, None, Some(&collector))?;
    let cost = |(bare, recorded): (f64, f64)| match row.unit {
        Unit::Ratio => recorded / bare,
        _ => recorded - bare,
    };
    Ok(both.into_iter().map(cost).collect())
}

/// What so many pairs of runs print, each with the collector `first` and with `second`; none is a bare run.
fn measure(
    row: &Row,
    pairs: usize,
    first: Option<&Path>,
    second: Option<&Path>,
) -> Result<Vec<(f64, f64)>, String> {
    let program = match row.program {
        TIMED => root().join("testbed/bench").join(TIMED),
        name => built(name)?,
    };
    let spool = setup::target().join("bench-spool");
    let run = |collector: Option<&Path>| -> Result<f64, String> {
        let mut command = match row.ranks {
            // It starts a program, and is nothing else.
            0 => Command::new("env"),
            ranks => Mpi::Open.mpirun(ranks)?,
        };
        if let Some(collector) = collector {
            if row.by_record {
                let _ = std::fs::remove_dir_all(&spool);
                command = setup::record(&command, &spool);
            } else {
                setup::recorded(&mut command, &spool);
            }
            command.env("HEADWATER_COLLECTOR", collector);
            if row.traced {
                command.env("HEADWATER_TRACE", "1");
            }
        }
        // Python's tables have another order, and another speed, with each seed.
        command.env("PYTHONHASHSEED", "0");
        command.arg(&program).args(row.arguments);
        let start = Instant::now();
        let said = output(&mut within(HANGING, &command))?;
        let whole = start.elapsed().as_secs_f64() * 1e3;
        // A collector that records nothing costs nothing.
        if collector.is_some() && bytes_of(&spool) == 0 {
            return Err(format!("nothing of {} was recorded", row.name));
        }
        match row.unit {
            Unit::Whole => Ok(whole),
            _ => said
                .trim()
                .parse()
                .map_err(|_| format!("{} printed no figure: {said}", row.name)),
        }
    };
    let pair = |i: usize| {
        // Which of the two goes first changes, so that drift falls on both.
        Ok(match i % 2 {
            0 => (run(first)?, run(second)?),
            _ => {
                let second = run(second)?;
                (run(first)?, second)
            }
        })
    };
    (0..pairs).map(pair).collect()
}

/// Kernels whose runs are looked at on the disk, with their steps, and the most bytes that they may take at 16 ranks.
const ON_DISK: [(&str, &str, u64); 3] = [
    ("cg", "1000", 30_000),
    ("wavefront", "30", 30_000),
    ("multigrid", "100", 50_000),
];

/// Bytes on disk of runs on 16 ranks, and of one on 128.
pub fn sizes() -> Done {
    let program = built("kernels")?;
    let bytes = |kernel: &str, steps: &str, ranks: u32| -> Result<u64, String> {
        let out = setup::target().join("bench-run");
        let _ = std::fs::remove_dir_all(&out);
        let mut command = setup::record(&Mpi::Open.mpirun(ranks)?, &out);
        command.arg(&program).args([kernel, steps, "2000"]);
        output(&mut within(HANGING, &command))?;
        Ok(bytes_of(&out))
    };
    for (kernel, steps, bar) in ON_DISK {
        let found = bytes(kernel, steps, 16)?;
        println!("on disk, 16 ranks, {kernel}: {found} bytes (bar {bar})");
    }
    println!(
        "on disk, 128 ranks, cg: {} bytes (bar 64000)",
        bytes("cg", "20", 128)?
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_chosen_by_a_part_of_their_names() {
        let names = |wanted: &[&str]| {
            let wanted: Vec<String> = wanted.iter().map(|w| (*w).to_string()).collect();
            rows(&wanted).map(|rows| rows.iter().map(|r| r.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&["poll", "locks"]), Ok(vec!["poll", "locks"]));
        assert_eq!(names(&[]).map(|all| all.len()), Ok(ROWS.len()));
        assert!(names(&["poll", "gone"]).is_err_and(|e| e.contains("no row gone")));
    }

    #[test]
    fn a_row_is_worse_only_beyond_its_noise() {
        let figure = |median, noise| Figure { median, noise };
        assert!(!figure(1.02, 0.01).is_worse(figure(1.01, 0.001), 0.003));
        assert!(figure(1.05, 0.01).is_worse(figure(1.01, 0.001), 0.003));
        assert!(!figure(1.012, 0.0).is_worse(figure(1.01, 0.0), 0.003));
        let steady = Figure::of(&[1.0, 1.1, 0.9, 1.0, 50.0]);
        assert!(steady.median == 1.0 && steady.noise < 0.1);
    }
}
