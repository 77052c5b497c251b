//! Extra-P's input: JSON lines, a measurement each, by the number of ranks `p`.
//!
//! Ranks are the repetitions of a measurement. A call path that a run did not reach took no time there, and is
//! measured; without that Extra-P would take a path of one scale for one of all.

use crate::error::ExportError;
use crate::stacks::{Spent, Stacks};
use crate::wanted::Wanted;
use headwater_dataflow::Recorded;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

#[derive(Serialize)]
struct Line<'a> {
    params: Params,
    callpath: &'a str,
    metric: &'static str,
    value: f64,
}

#[derive(Clone, Copy, Serialize)]
struct Params {
    p: u32,
}

/// A metric: its name, its figure, and whether only MPI calls have it.
type Metric = (&'static str, fn(&Spent) -> f64, bool);

const METRICS: [Metric; 4] = [
    ("time", |s| s.time, false),
    ("waiting", |s| s.wait, true),
    ("visits", |s| s.calls, true),
    ("bytes", |s| s.bytes, true),
];

/// What ranks spent by call path.
type Paths = BTreeMap<String, BTreeMap<u32, Spent>>;

pub(crate) fn write(
    runs: &[Recorded],
    wanted: &Wanted,
    out: &mut (dyn Write + Send),
) -> Result<(), ExportError> {
    let mut runs: Vec<&Recorded> = runs.iter().collect();
    runs.sort_by_key(|r| r.run().header.ranks);
    check(&runs)?;
    let all: Vec<Paths> = runs.iter().map(|run| paths(run, wanted)).collect();
    let known: BTreeMap<&str, bool> = {
        let mut known = BTreeMap::new();
        for (path, ranks) in all.iter().flatten() {
            let calls = ranks.values().any(|s| s.calls > 0.0);
            *known.entry(path.as_str()).or_default() |= calls;
        }
        known
    };
    for (callpath, calls) in known {
        for (metric, figure, of_calls) in METRICS {
            if of_calls && !calls {
                continue;
            }
            for (run, paths) in runs.iter().zip(&all) {
                let p = run.run().header.ranks;
                let spent = paths.get(callpath);
                for rank in (0..p).filter(|r| wanted.has_rank(*r)) {
                    let value = spent.and_then(|s| s.get(&rank)).map_or(0.0, figure);
                    let line = Line {
                        params: Params { p },
                        callpath,
                        metric,
                        value,
                    };
                    serde_json::to_writer(&mut *out, &line).map_err(io::Error::from)?;
                    writeln!(out)?;
                }
            }
        }
    }
    Ok(())
}

fn check(runs: &[&Recorded]) -> Result<(), ExportError> {
    let scales: BTreeSet<u32> = runs.iter().map(|r| r.run().header.ranks).collect();
    let program = |r: &Recorded| crate::stacks::program(r);
    match (runs.first(), runs.last()) {
        (Some(first), Some(_)) if scales.len() < 2 => {
            Err(ExportError::OneScale(first.run().header.ranks))
        }
        (Some(first), Some(_)) => match runs.iter().find(|r| program(r) != program(first)) {
            None => Ok(()),
            Some(other) => Err(ExportError::DifferentPrograms(
                first.run().header.name.clone(),
                other.run().header.name.clone(),
            )),
        },
        _ => Err(ExportError::Runs("extra-p", "two runs or more", 0)),
    }
}

fn paths(run: &Recorded, wanted: &Wanted) -> Paths {
    let stacks = Stacks::new(run, wanted);
    let mut paths = Paths::new();
    for track in &stacks.tracks {
        for (frame, spent) in &track.spent {
            let names: Vec<String> = (stacks.path(*frame).into_iter())
                .filter_map(|f| stacks.frames.get(f as usize))
                // An arrow is what joins frames.
                .map(|f| f.name.replace("->", "→"))
                .collect();
            let of_path = paths.entry(names.join("->")).or_default();
            let sum = of_path.entry(track.rank).or_default();
            sum.add(spent);
        }
    }
    paths
}
