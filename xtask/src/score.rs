//! The testbed diagnosed, and the diagnoses compared with what is known.
//!
//! The measures are printed and, on request, written as JSON. Cases whose dose costs too little to be
//! measured are no cases: they are named and left out.

use crate::dose::{self, Price, Sweep};
use crate::figures::{Measure, median};
use crate::judge::{BASELINES, Verdict, by_line, judge};
use crate::mpi::Mpi;
use crate::request::Request;
use crate::setup;
use crate::shell::{Done, output};
use crate::testbed::{Case, build_all};
use headwater_model::diagnosis::Diagnosis;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One diagnosis of one program.
#[derive(Debug, Serialize)]
struct Run {
    case: String,
    control: bool,
    round: u32,
    verdict: Verdict,
}

/// Everything that a score says; `--json` is its serialisation.
#[derive(Debug, Serialize)]
struct Score {
    mpi: &'static str,
    repeat: u32,
    pairs: usize,
    runs: Vec<Run>,
    prices: Vec<Price>,
    sweeps: Vec<Sweep>,
    measures: Vec<Measure>,
    /// Median of |stated gain − ΔT| / ΔT over the cases that state one.
    gain_error: Option<f64>,
}

/// Runs a program at some scales and diagnoses it; no dose leaves it at its own.
pub fn diagnose(
    case: &Case,
    mpi: Mpi,
    scales: &[u32],
    dose: Option<f64>,
    out: &Path,
) -> Result<Diagnosis, String> {
    let _ = std::fs::remove_dir_all(out);
    if let Some(threads) = &case.manifest.threads {
        return diagnose_threads(case, threads, dose, out);
    }
    let mut names: Vec<PathBuf> = Vec::new();
    for &ranks in scales {
        let name = out.join(format!("p{ranks}"));
        let mut command = Command::new(setup::headwater());
        mpi.prepare(&mut command)?;
        case.manifest.prepare(mpi, &mut command);
        command
            .args(["run", "-n", &ranks.to_string(), "--json", "-o"])
            .arg(&name)
            .arg("--");
        let launcher = match case.manifest.is_python() {
            true => mpi.named_launcher()?,
            false => mpi.launcher()?.into_iter().collect(),
        };
        if !launcher.is_empty() {
            command.args(launcher).args(["-n", "{np}"]);
        }
        command
            .arg(&case.program)
            .args(case.manifest.arguments(ranks, dose));
        output(&mut command)?;
        let run = std::fs::read_dir(&name)
            .map_err(|e| e.to_string())?
            .flatten()
            .map(|e| e.path())
            .next();
        names.push(run.ok_or(format!(
            "{}: nothing was recorded on {ranks} ranks",
            case.name
        ))?);
    }
    let mut command = Command::new(setup::headwater());
    command.args(["diagnose", "--json"]).args(&names);
    if case.manifest.scaling.as_deref() == Some("weak") {
        command.args(["--scaling", "weak"]);
    }
    let text = output(&mut command)?;
    serde_json::from_str(&text)
        .map_err(|e| format!("{}: the diagnosis cannot be read: {e}", case.name))
}

/// Runs a program without MPI with several numbers of threads and diagnoses it.
fn diagnose_threads(
    case: &Case,
    threads: &[u32],
    dose: Option<f64>,
    out: &Path,
) -> Result<Diagnosis, String> {
    let scales: Vec<String> = threads.iter().map(u32::to_string).collect();
    let mut command = Command::new(setup::headwater());
    match case.wait_policy {
        Some(policy) => command.env("OMP_WAIT_POLICY", policy),
        None => command.env_remove("OMP_WAIT_POLICY"),
    };
    command
        .args(["run", "-q", "--json", "--threads", &scales.join(","), "-o"])
        .arg(out)
        .arg("--")
        .arg(&case.program)
        .args(case.manifest.arguments(1, dose))
        .arg("{threads}");
    let text = output(&mut command)?;
    // What the program prints comes first, once for each scale.
    let begin = text.find("\n{").map_or(0, |at| at + 1);
    serde_json::from_str(text.get(begin..).unwrap_or(""))
        .map_err(|e| format!("{}: the diagnosis cannot be read: {e}", case.name))
}

/// Records a program once; returns the hottest line, as `solver.py:42`.
fn hottest(case: &Case, out: &Path) -> Result<String, String> {
    let _ = std::fs::remove_dir_all(out);
    let mut record = Command::new(setup::headwater());
    record.args(["record", "-q", "-o"]).arg(out).arg("--");
    output(
        record
            .arg(&case.program)
            .args(case.manifest.arguments(1, None)),
    )?;
    let mut profile = Command::new(setup::headwater());
    let text = output(profile.args(["analyse", "profile", "--json"]).arg(out))?;
    let profile: serde_json::Value =
        serde_json::from_str(&text).map_err(|e| format!("{}: {e}", case.name))?;
    let line = profile.pointer("/sections/0/rows/0/location");
    let line = line.and_then(|l| l.as_str());
    Ok(line.unwrap_or("nothing").to_string())
}

/// The cases of a request that run on its library; the others are named.
fn cases(request: &Request) -> Result<Vec<Case>, String> {
    let mut built = build_all(request)?;
    built.retain(|case| match case.manifest.unfit(request.mpi) {
        Some(why) => {
            println!("skip {:<16} {why}", case.name);
            false
        }
        None => true,
    });
    Ok(built)
}

/// Where the runs of a case are kept.
fn place(request: &Request, case: &Case, what: &str) -> PathBuf {
    setup::target()
        .join("score")
        .join(request.mpi.name())
        .join(format!("{}-{what}", case.name))
}

fn runs(request: &Request, cases: &[Case]) -> Result<Vec<Run>, String> {
    let mut out = Vec::new();
    for case in cases {
        let rounds = (0..request.repeat.max(1)).flat_map(|_| case.policies());
        for (round, case) in (0u32..).zip(rounds) {
            let dir = place(request, &case, &round.to_string());
            let scales = case.manifest.scales(request.mpi);
            let verdict = match case.manifest.is_profiled() {
                true => by_line(&case.manifest, &hottest(&case, &dir)?),
                false => {
                    let diagnosis = diagnose(&case, request.mpi, &scales, None, &dir)?;
                    judge(&case.manifest, &diagnosis)
                }
            };
            let policy = case
                .wait_policy
                .map_or(String::new(), |p| format!(" ({p})"));
            println!(
                "{} {:<26} {}",
                if verdict.strict { "ok  " } else { "MISS" },
                case.name.clone() + &policy,
                verdict.said
            );
            out.push(Run {
                case: case.name.clone(),
                control: case.manifest.cause.is_empty(),
                round,
                verdict,
            });
        }
    }
    Ok(out)
}

/// The measures over all runs but those of programs that are no cases.
fn measures(runs: &[Run], no_case: &[String]) -> Vec<Measure> {
    let share = |name: &str, controls: bool, value: &dyn Fn(&Verdict) -> f64| {
        let of: Vec<&Run> = runs
            .iter()
            .filter(|r| r.control == controls && !no_case.contains(&r.case))
            .collect();
        let programs = of.iter().filter(|r| r.round == 0).count();
        let values: Vec<f64> = of.iter().map(|r| value(&r.verdict)).collect();
        Measure::new(name, &values, programs)
    };
    let yes = |hit: bool| f64::from(u8::from(hit));
    let mut out = vec![
        share("strict top-1 (line, ranks, class)", false, &|v| {
            yes(v.strict)
        }),
        share("line only", false, &|v| yes(v.line)),
        share("top-3 by line", false, &|v| {
            yes((1..=3).contains(&v.position))
        }),
        share("mean reciprocal rank by line", false, &|v| {
            if v.position > 0 {
                1.0 / v.position as f64
            } else {
                0.0
            }
        }),
        share("known causes found, line and class", false, &|v| {
            v.found as f64 / v.known.max(1) as f64
        }),
        share("symptom named as cause", false, &|v| yes(v.trap)),
        share("controls with a false finding", true, &|v| {
            yes(v.false_findings > 0)
        }),
    ];
    out.extend(BASELINES.iter().enumerate().map(|(i, name)| {
        share(&format!("baseline by line: {name}"), false, &|v| {
            yes(v.baselines[i])
        })
    }));
    out
}

/// Scores a request and prints the measures.
pub fn score(request: &Request) -> Done {
    let cases = cases(request)?;
    let runs = runs(request, &cases)?;
    let count = cases.len();
    let (mut prices, mut sweeps) = (Vec::new(), Vec::new());
    // Of one recording there is no loss to price.
    let mut cases = cases;
    cases.retain(|case| !case.manifest.is_profiled());
    if request.pairs > 0 {
        println!("\ntrue cost, {} interleaved pairs", request.pairs);
        for case in &cases {
            let dir = place(request, case, "price");
            let price = dose::price(case, request.mpi, request.pairs, &dir)?;
            price.iter().for_each(Price::print);
            prices.extend(price);
        }
    }
    if request.sweep {
        println!("\nsmallest dose still found, halving");
        for case in &cases {
            let sweep = dose::sweep(case, request.mpi, &place(request, case, "sweep"))?;
            sweep.iter().for_each(Sweep::print);
            sweeps.extend(sweep);
        }
    }
    let no_case: Vec<String> = prices
        .iter()
        .filter(|p| !p.is_case)
        .map(|p| p.case.clone())
        .collect();
    let errors: Vec<f64> = prices.iter().filter_map(|p| p.error).collect();
    let score = Score {
        mpi: request.mpi.name(),
        repeat: request.repeat.max(1),
        pairs: request.pairs,
        measures: measures(&runs, &no_case),
        gain_error: (!errors.is_empty()).then(|| median(&errors)),
        runs,
        prices,
        sweeps,
    };
    println!(
        "\n{count} programs on {}, {} run(s) each; intervals count programs",
        score.mpi, score.repeat
    );
    if !no_case.is_empty() {
        println!("no case, as ΔT drowns in noise: {}", no_case.join(", "));
    }
    score.measures.iter().for_each(Measure::print);
    if let Some(error) = score.gain_error {
        println!(
            "{:<36} {:.1} % (median of {})",
            "|stated gain − ΔT| / ΔT",
            100.0 * error,
            errors.len()
        );
    }
    if let Some(file) = &request.json {
        let text = serde_json::to_string_pretty(&score).map_err(|e| e.to_string())?;
        std::fs::write(file, text + "\n").map_err(|e| format!("{}: {e}", file.display()))?;
    }
    Ok(())
}

/// The part of the testbed that every test run diagnoses: each library, each language, a control; and the same for threads
/// without MPI, where the library does not matter.
const PART: [(Mpi, bool, &[&str]); 4] = [
    (
        Mpi::Open,
        false,
        &[
            "zeus",
            "wavefront",
            "linsearch",
            "two_causes",
            "even_stencil",
        ],
    ),
    (Mpi::Intel, false, &["cg_delay", "noshrink"]),
    (Mpi::Mpich, false, &["even_pi"]),
    (
        Mpi::Open,
        true,
        &["led", "meets", "pieces", "rust_queue", "even_pool"],
    ),
];

/// Diagnoses a part of the testbed. A busy machine can spoil a run, so a miss is tried once more.
pub fn check_part() -> Done {
    let (mut passed, mut failed) = (0, 0);
    for (mpi, threads, names) in PART {
        for name in names {
            let request = Request {
                cases: vec![name.to_string()],
                mpi,
                threads,
                ..Default::default()
            };
            let built = cases(&request)?;
            let good = |v: Vec<Run>| v.iter().all(|r| r.verdict.strict);
            let right = good(runs(&request, &built)?) || good(runs(&request, &built)?);
            if right { passed += 1 } else { failed += 1 }
        }
    }
    println!("{passed} passed, {failed} failed");
    if failed == 0 {
        Ok(())
    } else {
        Err(format!(
            "{failed} testbed programs were not diagnosed as known"
        ))
    }
}
