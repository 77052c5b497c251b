//! The testbed diagnosed, and the diagnoses compared with what is known.
//!
//! Strict top-1: the place named first lies in the known lines (or is the smallest loop around them),
//! its ranks agree with a Jaccard index of at least 0.8, and its class is equal. A control must have no
//! finding at all. Beside it stand three baselines that a profiler gives: the hottest place, the
//! largest wait, the largest imbalance.

use crate::mpi::Mpi;
use crate::setup;
use crate::shell::{Done, output};
use crate::testbed::{Case, Known, Ranks, build_all};
use headwater_model::RankSet;
use headwater_model::diagnosis::{Cause, Diagnosis, Marked, Place};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What to score.
#[derive(Debug, Default)]
pub struct Request {
    /// Programs; all where empty.
    pub cases: Vec<String>,
    /// MPI library.
    pub mpi: Mpi,
    /// Runs of each.
    pub runs: u32,
}

impl Request {
    /// From the command line.
    pub fn parse(args: &[String]) -> Result<Self, String> {
        let mut out = Self {
            runs: 1,
            ..Default::default()
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("{arg} wants a value"));
            match arg.as_str() {
                "--mpi" => out.mpi = Mpi::by_name(value()?)?,
                "--runs" => out.runs = value()?.parse().map_err(|_| "--runs wants a number")?,
                "--case" => out.cases.push(value()?.clone()),
                other if other.starts_with('-') => return Err(format!("{other} is not known")),
                other => out.cases.push(other.to_string()),
            }
        }
        Ok(out)
    }
}

/// How one diagnosis compares.
#[derive(Debug, Default)]
struct Verdict {
    strict: bool,
    line: bool,
    /// Place among the causes of the one that is right by line, from 1; 0 for none.
    position: usize,
    trap: bool,
    false_findings: usize,
    baselines: [bool; 3],
    said: String,
}

/// Runs a program at its scales and diagnoses it.
fn diagnose(case: &Case, mpi: Mpi, out: &Path) -> Result<Diagnosis, String> {
    let _ = std::fs::remove_dir_all(out);
    let mut names: Vec<PathBuf> = Vec::new();
    for ranks in case.manifest.scales(mpi) {
        let name = out.join(format!("p{ranks}"));
        let mut program = vec![case.program.display().to_string()];
        program.extend(
            case.manifest
                .cells_per_rank
                .map(|c| (c * ranks).to_string()),
        );
        let mut command = Command::new(setup::headwater());
        mpi.prepare(&mut command)?;
        command
            .args(["run", "-n", &ranks.to_string(), "--json", "-o"])
            .arg(&name)
            .arg("--");
        if let Some(launcher) = mpi.launcher()? {
            command.arg(launcher).args(["-n", "{np}"]);
        }
        output(command.args(&program))?;
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

fn base(file: &Option<String>) -> &str {
    file.as_deref()
        .and_then(|f| f.rsplit('/').next())
        .unwrap_or("")
}

/// Whether a place is in the known lines or is a loop around them that is not much larger.
fn in_lines(place: &Place, file: &str, lines: [u32; 2]) -> bool {
    let [first, last] = lines;
    let within = place.first_line >= first && place.last_line <= last;
    let around = place.kind.is_loop()
        && place.first_line <= first
        && place.last_line >= last
        && place.last_line - place.first_line <= last - first + 4;
    base(&place.file) == file && place.first_line > 0 && (within || around)
}

fn ranks_of(known: &Known, scale: u32) -> RankSet {
    match &known.ranks {
        Ranks::All(_) => RankSet::all(scale),
        Ranks::ByScale(map) => map
            .get(&scale.to_string())
            .and_then(|r| r.parse().ok())
            .unwrap_or_default(),
    }
}

fn matches(cause: &Cause, known: &Known) -> (bool, bool) {
    let line = in_lines(&cause.place, &known.file, known.lines);
    let class = serde_json::to_value(cause.class)
        .ok()
        .and_then(|v| v.as_str().map(str::to_string));
    let strict = line
        && class.as_deref() == Some(&known.class)
        && cause.ranks.jaccard(&ranks_of(known, cause.scale)) >= 0.8;
    (strict, line)
}

/// Places that a profiler would name: by time, by waiting, by spread.
fn baselines(d: &Diagnosis, known: &Known) -> [bool; 3] {
    let all = || d.non_scalable.iter().chain(&d.abnormal);
    let is_mpi = |m: &&Marked| m.place.kind.is_call();
    let most = |m: Option<&Marked>| m.is_some_and(|m| in_lines(&m.place, &known.file, known.lines));
    let by = |f: fn(&Marked) -> f64, mpi: Option<bool>| {
        all()
            .filter(|m| mpi.is_none_or(|want| is_mpi(m) == want))
            .reduce(|a, b| if f(b) > f(a) { b } else { a })
    };
    [
        most(by(|m| m.seconds, None)),
        most(by(|m| m.seconds, Some(true))),
        most(by(|m| m.ratio, None)),
    ]
}

fn judge(case: &Case, d: &Diagnosis) -> Verdict {
    let short = |c: &Cause| {
        format!(
            "{} {}:{}-{} [{}] {:.0} %",
            c.class.words(),
            base(&c.place.file),
            c.place.first_line,
            c.place.last_line,
            c.ranks,
            c.gain_share * 100.0
        )
    };
    let said = d
        .causes
        .first()
        .map_or_else(|| "nothing".to_string(), short);
    let Some(main) = case.manifest.cause.first() else {
        return Verdict {
            strict: d.causes.is_empty(),
            line: d.causes.is_empty(),
            false_findings: d.causes.len(),
            said,
            ..Default::default()
        };
    };
    let first = d.causes.first();
    let (strict, line) = first.map_or((false, false), |c| matches(c, main));
    let position = d
        .causes
        .iter()
        .position(|c| matches(c, main).1)
        .map_or(0, |i| i + 1);
    let trap = first.is_some_and(|c| {
        case.manifest
            .trap
            .iter()
            .any(|t| in_lines(&c.place, &t.file, t.lines))
    });
    let known = |c: &&Cause| case.manifest.cause.iter().any(|k| matches(c, k).1);
    let false_findings = d.causes.iter().filter(|c| !known(c)).count();
    Verdict {
        strict,
        line,
        position,
        trap,
        false_findings,
        baselines: baselines(d, main),
        said,
    }
}

/// Wilson's interval for `hits` of `n`, 95 %.
fn wilson(hits: usize, n: usize) -> (f64, f64) {
    if n == 0 {
        return (0.0, 1.0);
    }
    let (p, n, z) = (hits as f64 / n as f64, n as f64, 1.96f64);
    let middle = p + z * z / (2.0 * n);
    let spread = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + z * z / n;
    (
        ((middle - spread) / scale).max(0.0),
        ((middle + spread) / scale).min(1.0),
    )
}

/// Scores a request and prints the measures.
pub fn score(request: &Request) -> Done {
    let verdicts = verdicts(request)?;
    let n = verdicts.len();
    let share = |name: &str, hits: usize, of: usize| {
        let (low, high) = wilson(hits, of);
        println!(
            "{name:<34} {hits:>3} of {of:<3} {:>5.1} %  (95 %: {:.0} to {:.0} %)",
            100.0 * hits as f64 / of.max(1) as f64,
            low * 100.0,
            high * 100.0
        );
    };
    let count = |f: fn(&Verdict) -> bool| verdicts.iter().filter(|(_, v)| f(v)).count();
    let cases: Vec<&Verdict> = verdicts
        .iter()
        .filter(|(control, _)| !control)
        .map(|(_, v)| v)
        .collect();
    println!("\n{} on {}", n, request.mpi.name());
    share(
        "strict top-1 (line, ranks, class)",
        verdicts.iter().filter(|(_, v)| v.strict).count(),
        n,
    );
    share(
        "line only",
        cases.iter().filter(|v| v.line).count(),
        cases.len(),
    );
    share(
        "top-3 by line",
        cases
            .iter()
            .filter(|v| (1..=3).contains(&v.position))
            .count(),
        cases.len(),
    );
    let reciprocal: f64 = cases
        .iter()
        .filter(|v| v.position > 0)
        .map(|v| 1.0 / v.position as f64)
        .sum();
    println!(
        "{:<34} {:.3}",
        "mean reciprocal rank",
        reciprocal / cases.len().max(1) as f64
    );
    share(
        "symptom named as cause",
        cases.iter().filter(|v| v.trap).count(),
        cases.len(),
    );
    let controls = verdicts.iter().filter(|(control, _)| *control).count();
    share(
        "controls with a false finding",
        verdicts
            .iter()
            .filter(|(c, v)| *c && v.false_findings > 0)
            .count(),
        controls,
    );
    println!(
        "{:<34} {}",
        "other findings beside the known",
        cases.iter().map(|v| v.false_findings).sum::<usize>()
    );
    for (i, name) in ["hottest place", "largest wait", "largest imbalance"]
        .into_iter()
        .enumerate()
    {
        share(
            &format!("baseline by line: {name}"),
            cases.iter().filter(|v| v.baselines[i]).count(),
            cases.len(),
        );
    }
    let _ = count;
    Ok(())
}

fn verdicts(request: &Request) -> Result<Vec<(bool, Verdict)>, String> {
    let mut out = Vec::new();
    for case in build_all(request)? {
        if let Some(why) = case.manifest.unfit(request.mpi) {
            println!("skip {:<14} {why}", case.name);
            continue;
        }
        for round in 0..request.runs.max(1) {
            let dir = setup::target()
                .join("score")
                .join(request.mpi.name())
                .join(format!("{}-{round}", case.name));
            let diagnosis = diagnose(&case, request.mpi, &dir)?;
            let verdict = judge(&case, &diagnosis);
            println!(
                "{} {:<14} {}",
                if verdict.strict { "ok  " } else { "MISS" },
                case.name,
                verdict.said
            );
            out.push((case.manifest.cause.is_empty(), verdict));
        }
    }
    Ok(out)
}

/// The part of the testbed that every test run diagnoses: each library, each language, a control.
const PART: [(Mpi, &[&str]); 3] = [
    (
        Mpi::Open,
        &[
            "zeus",
            "wavefront",
            "linsearch",
            "two_causes",
            "even_stencil",
        ],
    ),
    (Mpi::Intel, &["cg_delay", "noshrink"]),
    (Mpi::Mpich, &["even_pi"]),
];

/// Diagnoses a part of the testbed. A busy machine can spoil a run, so a miss is tried once more.
pub fn check_part() -> Done {
    let (mut passed, mut failed) = (0, 0);
    for (mpi, names) in PART {
        for name in names {
            let request = Request {
                cases: vec![name.to_string()],
                mpi,
                runs: 1,
            };
            let good = |v: &[(bool, Verdict)]| v.iter().all(|(_, v)| v.strict);
            let right = good(&verdicts(&request)?) || good(&verdicts(&request)?);
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
