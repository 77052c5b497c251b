//! How exact simulations and replays are: run times over those of the recorded runs, on 2 ranks.
//!
//! The network is measured once (`calibrate`). Each program is recorded with its trace; the trace is simulated on that
//! network and on the one that is fitted to it, and replayed. Ranks have a core each, so nothing else may run. A program
//! of two threads runs on one rank: a simulation has a core for each thread, so the measured run must have one too.
//!
//! With `--what-if`, answers to what-if questions are compared with the run times of programs without their cause.

mod mended;

use crate::figures::median;
use crate::mpi::Mpi;
use crate::request::Request;
use crate::setup;
use crate::shell::{Done, output, within};
use crate::testbed::{self, Case};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Programs without files. `triangle` has two threads for each rank.
const CASES: [&str; 10] = [
    "zeus",
    "cg_delay",
    "even_cg",
    "even_ring",
    "even_stencil",
    "even_transpose",
    "even_weak",
    "halves",
    "triangle",
    "rows",
];

/// Programs begin no later than that, seconds.
const LONGEST: f64 = 480.0;

/// Seconds for each run.
const EACH: u32 = 60;

/// In the second recording of each program, values that take more terms than that are in histograms: all that differ.
const LOSSY: &str = "0";

/// One line of the table.
struct Row {
    recorded: f64,
    measured: f64,
    fitted: Option<f64>,
    replayed: Option<f64>,
    /// The replay of a lossy trace, seconds, and the run that it was recorded in.
    probable: Option<(f64, f64)>,
}

/// Records, simulates, replays and prints.
pub fn command(arguments: &[String]) -> Done {
    if let Some(("--what-if", rest)) = arguments.split_first().map(|(a, b)| (a.as_str(), b)) {
        return mended::command(rest);
    }
    let mut request = Request::parse(arguments)?;
    if request.cases.is_empty() {
        request.cases = CASES.map(str::to_string).to_vec();
    }
    setup::build_command()?;
    let began = Instant::now();
    let dir = setup::target().join("simulated");
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).map_err(|e| e.to_string())?;
    let network = dir.join("net.json");
    let mut calibrate = Mpi::Open.mpirun(2)?;
    calibrate.arg(setup::headwater()).args(["calibrate", "-o"]);
    print!("{}", output(within(EACH, &calibrate).arg(&network))?);
    println!(
        "run times in seconds of 2 threads, mostly ranks, and over those of the recorded run:"
    );
    println!(
        "program          recorded  simulated   ratio   with fit   ratio   replayed   ratio   of lossy   ratio"
    );
    let mut rows = Vec::new();
    for case in testbed::build_all(&request)? {
        if began.elapsed().as_secs_f64() > LONGEST {
            println!("{:14} and those after it are left out, for time", case.name);
            break;
        }
        match row(&case, &dir, &network) {
            Ok(row) => {
                let cell = |seconds: Option<f64>| match seconds {
                    Some(s) => format!("{s:10.4} {:7.4}", s / row.recorded),
                    None => format!("{:>10} {:>7}", "–", "–"),
                };
                let probable = match row.probable {
                    Some((s, recorded)) => format!("{s:10.4} {:7.4}", s / recorded),
                    None => format!("{:>10} {:>7}", "–", "–"),
                };
                println!(
                    "{:14} {:10.4} {} {} {} {probable}",
                    case.name,
                    row.recorded,
                    cell(Some(row.measured)),
                    cell(row.fitted),
                    cell(row.replayed)
                );
                rows.push(row);
            }
            Err(why) => println!("{:14} {why}", case.name),
        }
    }
    type Compared = fn(&Row) -> Option<(f64, f64)>;
    let compared: [(&str, &str, Compared); 4] = [
        ("simulated, measured network", "3", |r| {
            Some((r.measured, r.recorded))
        }),
        ("simulated, fitted network", "3", |r| {
            Some((r.fitted?, r.recorded))
        }),
        ("replayed", "2", |r| Some((r.replayed?, r.recorded))),
        ("replayed from lossy traces", "5", |r| r.probable),
    ];
    for (name, bar, of) in compared {
        let errors: Vec<f64> = rows
            .iter()
            .filter_map(of)
            .map(|(seconds, recorded)| 100.0 * (seconds / recorded - 1.0).abs())
            .collect();
        if errors.is_empty() {
            println!("{name}: nothing was measured");
            continue;
        }
        let mean = errors.iter().fold(0.0, |a, b| a + b) / errors.len() as f64;
        println!(
            "{name}: mean error {mean:.2} %, median {:.2} %, of {} programs (bar {bar} %)",
            median(&errors),
            errors.len()
        );
    }
    Ok(())
}

fn row(case: &Case, dir: &Path, network: &Path) -> Result<Row, String> {
    let trace = dir.join(&case.name);
    record(case, &trace, None)?;
    let (measured, recorded) = simulate(&trace, &network.display().to_string())?;
    let lossy = dir.join(format!("{}.lossy", case.name));
    let probable = record(case, &lossy, Some(LOSSY)).and_then(|()| {
        // A lossy trace cannot be simulated. One in which no value differs can: it is lossless.
        if simulate(&lossy, "ideal").is_ok() {
            return Err("no value is in a histogram".to_string());
        }
        let said = replay(case, &lossy)?;
        said_times(&said).ok_or_else(|| format!("not understood: {said}"))
    });
    if let Err(why) = &probable {
        println!("{:14} lossy: {why}", case.name);
    }
    Ok(Row {
        recorded,
        measured,
        fitted: simulate(&trace, "fit").ok().map(|(seconds, _)| seconds),
        // The replay compares with the slowest rank's recorded time.
        replayed: replay(case, &trace)
            .ok()
            .and_then(|said| said_times(&said))
            .map(|(replayed, of)| recorded * replayed / of),
        probable: probable.ok(),
    })
}

/// MPI processes of a program: with threads one, so that each thread has a core.
fn ranks(case: &Case) -> u32 {
    if case.manifest.has_threads() { 1 } else { 2 }
}

/// Records the program with its trace.
fn record(case: &Case, trace: &Path, lossy: Option<&str>) -> Result<(), String> {
    let mut launch = Mpi::Open.mpirun(ranks(case))?;
    case.manifest.prepare(Mpi::Open, &mut launch);
    let mut record = setup::record(&launch, trace);
    record.env("HEADWATER_TRACE", "1");
    if let Some(terms) = lossy {
        record.env("HEADWATER_TRACE_LOSSY", terms);
    }
    record.arg(&case.program);
    record.args(case.manifest.arguments(ranks(case), None));
    output(&mut within(EACH, &record)).map(|_| ())
}

/// Seconds in virtual time on that network, and of the recorded run.
fn simulate(trace: &Path, network: &str) -> Result<(f64, f64), String> {
    let mut command = Command::new(setup::headwater());
    command.args(["simulate", "--quiet", "--json", "--network", network]);
    let text = output(within(EACH, &command).arg(trace))?;
    let json: Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    let of = |name: &str| json[name].as_f64().ok_or(format!("no {name}"));
    Ok((of("seconds")?, of("recorded_seconds")?))
}

/// What a replay says.
fn replay(case: &Case, trace: &Path) -> Result<String, String> {
    let mut replay = Mpi::Open.mpirun(ranks(case))?;
    replay.arg(setup::headwater()).arg("replay").arg(trace);
    output(&mut within(EACH, &replay))
}

/// Seconds that a replay took, and those of the recorded run.
fn said_times(said: &str) -> Option<(f64, f64)> {
    let (_, times) = said.split_once("run time ")?;
    let (replayed, rest) = times.split_once(" s, recorded ")?;
    let (recorded, _) = rest.split_once(" s")?;
    Some((replayed.parse().ok()?, recorded.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_a_replay_are_read() {
        let said = "replayed 3 calls\nrun time 1.0 s, recorded 2.0 s (0.500 times as long)\n";
        assert_eq!(said_times(said), Some((1.0, 2.0)));
        assert_eq!(said_times("run time 1.0 s"), None);
    }
}
