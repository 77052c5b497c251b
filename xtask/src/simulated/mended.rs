//! What-if questions against programs that were mended: a program of the testbed is recorded with its cause, and the
//! simulation is asked for the run time with the cause's place changed as the mended program changes it. The program with
//! dose 0 is recorded as well: its run time is the truth.
//!
//! Both run times are of recorded runs, from `MPI_Init` to `MPI_Finalize`. Runs alternate, and the median counts.

use super::EACH;
use crate::figures::median;
use crate::mpi::Mpi;
use crate::request::Request;
use crate::setup;
use crate::shell::{Done, output, within};
use crate::testbed::{self, Case};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Programs with one thread for each rank and one cause, and what to ask for. With dose 0, the loop is gone, or the rank
/// that decides the run time runs it so many times less often.
const CASES: [(&str, &str); 6] = [
    ("zeus", "gone"),
    ("cg_delay", "gone"),
    ("inlined", "gone"),
    ("halves", "faster 2"),
    ("rows", "faster 11"),
    ("sharedlib", "faster 4"),
];

/// Recordings of each.
const TIMES: usize = 3;

/// Asks, and prints a table.
pub fn command(arguments: &[String]) -> Done {
    let mut request = Request::parse(arguments)?;
    if request.cases.is_empty() {
        request.cases = CASES.map(|(name, _)| name.to_string()).to_vec();
    }
    setup::build_command()?;
    let dir = setup::target().join("mended");
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).map_err(|e| e.to_string())?;
    println!("run times in seconds of 2 ranks; off by what share of the mended run's:");
    println!("program          with cause  mended  simulated    off       what if");
    let mut errors = Vec::new();
    for case in testbed::build_all(&request)? {
        let row = match row(&case, &dir) {
            Ok(row) => row,
            Err(why) => {
                println!("{:16} {why}", case.name);
                continue;
            }
        };
        let off = |seconds: f64| 100.0 * (seconds / row.mended - 1.0);
        println!(
            "{:16} {:10.4} {:8.4} {:9.4} {:+7.2} %    {}",
            case.name,
            row.with_cause,
            row.mended,
            row.answer,
            off(row.answer),
            row.question
        );
        errors.push(off(row.answer).abs());
    }
    if !errors.is_empty() {
        let most = errors.iter().copied().fold(0.0, f64::max);
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        println!(
            "what-if against mended programs: mean error {mean:.2} %, largest {most:.2} % (bar 5 %)"
        );
    }
    Ok(())
}

/// One line of the table: medians.
struct Row {
    with_cause: f64,
    mended: f64,
    answer: f64,
    question: String,
}

fn row(case: &Case, dir: &Path) -> Result<Row, String> {
    let cause = case.manifest.cause.first().ok_or("it has no cause")?;
    case.manifest.dose.ok_or("it has no dose")?;
    let [first, last] = cause.lines;
    let place = format!("{}:{first}-{last}", cause.file);
    let how = CASES.iter().find(|(name, _)| *name == case.name);
    let (_, how) = how.ok_or("nobody has said what its mended program changes")?;
    let question = format!("{place} {how}");
    let (mut with, mut mended, mut all) = (Vec::new(), Vec::new(), Vec::new());
    for nth in 0..TIMES {
        let run = |dose: Option<f64>, name: &str| {
            let trace = dir.join(format!("{}-{name}-{nth}", case.name));
            let mut launch = Mpi::Open.mpirun(2)?;
            case.manifest.prepare(Mpi::Open, &mut launch);
            let mut record = setup::record(&launch, &trace);
            record.env("HEADWATER_TRACE", "1").arg(&case.program);
            record.args(case.manifest.arguments(2, dose));
            output(&mut within(EACH, &record))?;
            Ok::<_, String>(trace)
        };
        let (recorded, answer) = simulate(&run(None, "cause")?, Some(&question))?;
        with.push(recorded);
        all.push(answer.ok_or("no answer")?);
        mended.push(simulate(&run(Some(0.0), "mended")?, None)?.0);
    }
    Ok(Row {
        with_cause: median(&with),
        mended: median(&mended),
        answer: median(&all),
        question,
    })
}

/// The recorded run time and the answer to a question, seconds.
fn simulate(trace: &Path, question: Option<&str>) -> Result<(f64, Option<f64>), String> {
    let mut command = Command::new(setup::headwater());
    command.args(["simulate", "--quiet", "--json"]);
    if let Some(question) = question {
        command.args(["--what-if", question]);
    }
    let text = output(within(EACH, &command).arg(trace))?;
    let json: Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    let recorded = json["recorded_seconds"].as_f64();
    let answer = json["what_if"][0]["seconds"].as_f64();
    Ok((recorded.ok_or("no recorded_seconds")?, answer))
}
