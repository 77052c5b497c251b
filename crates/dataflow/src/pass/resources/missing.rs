//! What was not recorded of the machine's resources, and why, a clause each.

use super::counted::has_counts;
use super::{counters, vectors};
use crate::run::Recorded;
use headwater_model::report::{Section, Unit};
use headwater_model::run::{Run, Usage};
use headwater_model::words;

/// Why a figure that the system counts for each process is not there; `None` if some rank has it.
fn of_process(run: &Run, figure: fn(&Usage) -> Option<u64>) -> Option<String> {
    if run.usage.iter().any(|u| figure(u).is_some()) {
        return None;
    }
    Some(match (run.usage.is_empty(), has_counts(run)) {
        (true, false) => "the imported trace has none".into(),
        (true, true) => "recorded by an older Headwater".into(),
        _ if run.ranks.iter().all(|r| !r.complete) => "no rank ended by itself".into(),
        _ => "the system did not say it".into(),
    })
}

/// Ranks that did not say a figure that others did.
fn some_ranks(run: &Run) -> Option<String> {
    let silent: headwater_model::RankSet = (run.usage.iter())
        .filter(|u| u.peak_memory_bytes.is_none())
        .map(|u| u.rank)
        .collect();
    let all = silent.len() == run.usage.len();
    let who = words::ranks(&silent, run.header.ranks, 40);
    (!silent.is_empty() && !all)
        .then(|| format!("{who} ended otherwise than by the end of the program"))
}

/// What is missing of one run.
fn of_run(recorded: &Recorded) -> Vec<(&'static str, String)> {
    let run = recorded.run();
    let mut out: Vec<(&str, String)> = Vec::new();
    let mut add = |what, why: Option<String>| out.extend(why.map(|why| (what, why)));
    add("memory", of_process(run, |u| u.peak_memory_bytes));
    add("memory, input and output", some_ranks(run));
    add("input and output", of_process(run, |u| u.read_bytes));
    let imported = !has_counts(run);
    add(
        "page faults, switches, migrations",
        imported.then(|| "the imported trace has none".into()),
    );
    let energy = match (run.energy.is_empty(), run.usage.is_empty()) {
        (false, _) => {
            let unsure = run.energy.iter().any(|e| e.microjoules.is_none());
            unsure.then(|| "some counters may have begun again more than once".into())
        }
        (true, true) => of_process(run, |_| None),
        _ if run.ranks.iter().all(|r| !r.complete) => Some("no rank ended by itself".into()),
        (true, false) => Some("no counter that this user may read".into()),
    };
    add("energy", energy);
    let counters = counters::of_processor(recorded).next().is_none();
    let why = match imported {
        true => "the imported trace has none",
        false => "they could not be opened when it was recorded (see headwater doctor there)",
    };
    add("counters and bandwidth", counters.then(|| why.into()));
    let why = match vectors::is_known(recorded) {
        true => "no hot loop has such arithmetic",
        false => "no binary with such arithmetic was found",
    };
    let vectors = vectors::vectors(&[recorded]).rows.is_empty();
    add("vector instructions", vectors.then(|| why.into()));
    add(
        "bytes on the network",
        Some("devices count other jobs, too".into()),
    );
    if !imported {
        add(
            "time in files by file system",
            Some("calls are not recorded by file".into()),
        );
    }
    out
}

/// What is missing, with the runs of which it is.
pub fn missing(runs: &[&Recorded]) -> Section {
    let columns = [
        ("what", "what", Unit::None),
        ("why", "why", Unit::None),
        ("runs", "runs", Unit::None),
    ];
    let mut section = Section::new("not_recorded", "Not recorded", &columns);
    let mut found: Vec<(&str, String, Vec<&str>)> = Vec::new();
    for recorded in runs {
        let name = recorded.run().header.name.as_str();
        for (what, why) in of_run(recorded) {
            match found.iter_mut().find(|f| f.0 == what && f.1 == why) {
                Some(known) => known.2.push(name),
                None => found.push((what, why, vec![name])),
            }
        }
    }
    for (what, why, names) in found {
        let names = match names.len() == runs.len() {
            true => "all".to_string(),
            false => names.join(", "),
        };
        section
            .rows
            .push(vec![what.into(), why.into(), names.into()]);
    }
    section
}
