//! Scaling models of places over runs: a log-log line (ScalAna, section IV-A), and with four runs or more the
//! performance model normal form, chosen by cross-validation (Calotoiu et al. 2013); see the module `fit`.

use crate::algorithm::Interrupted;
use crate::flow::{Call, Gives, Kind, Pass, PassError};
use crate::numbers::fit::{Measure, log_log, select};
use crate::numbers::stats::{max, mean};
use crate::pass::differential::same_places;
use crate::set::Set;
use headwater_graph::view::View;
use headwater_model::run::Header;
use rayon::prelude::*;

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    let models = |call: &Call<'_>| -> Result<Vec<_>, PassError> {
        let sets: Result<Vec<&Set>, _> =
            (0..call.inputs().len()).map(|i| call.vertices(i)).collect();
        let over = match call.text("over") {
            "mean" => Over::Mean,
            "slowest" => Over::Slowest,
            "all" => Over::All,
            other => {
                let what = format!("there is no {other}; there are mean, slowest, all");
                return Err(PassError::Argument("over".to_string(), what));
            }
        };
        let at = call.number("at");
        let at = (at > 0.0).then_some(at);
        Ok(vec![
            scaling_models(&sets?, call.text("metric"), over, at, call.interrupted)?.into(),
        ])
    };
    vec![
        Pass::new(
            "scaling-models",
            "How a metric of the same places grows over runs with different numbers of ranks or threads; what grows most comes first.",
            models,
        )
        .takes_some("V1", Kind::TOP_DOWN)
        .takes_some("V2", Kind::TOP_DOWN)
        .and_more()
        .with("metric", "time", "metric that is modelled; time is seconds")
        .with(
            "over",
            "mean",
            "figure of a run: the mean over ranks, that of the slowest rank, or of all ranks together",
        )
        .with("at", 0.0, "number of ranks to extrapolate to; 0 for twice those of the largest run")
        .whole_from(0.0)
        .gives(Gives::AsArgument(0)),
    ]
}

/// Symmetric error above which a model is useless: at 0.5, predictions are on the mean 1.7 times too large or too
/// small.
const WORST: f64 = 0.5;

/// Which of a place's figures over ranks is modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Their mean.
    Mean,
    /// The largest.
    Slowest,
    /// Their sum.
    All,
}

/// By vertex of the view: the figure that is modelled.
fn figures(
    view: &View,
    set: &Set,
    metric: &str,
    over: Over,
) -> Result<Vec<Option<f64>>, PassError> {
    let ranks = view.header.ranks;
    let values = set.numbers(metric)?;
    let rows = view.rows.get(metric);
    if over == Over::Slowest && rows.is_none() {
        let what = format!("{metric} is not known by rank, so that there is no slowest one");
        return Err(PassError::Argument("over".to_string(), what));
    }
    let mut out = vec![None; view.graph.vertices()];
    for (v, value) in set.vertices().iter().zip(values) {
        out[*v as usize] = value.map(|sum| match (over, rows) {
            (Over::Mean, _) => sum / f64::from(ranks.max(1)),
            (Over::Slowest, Some(rows)) => max(&rows.dense(*v, ranks)),
            _ => sum,
        });
    }
    Ok(out)
}

/// Whether figures are modelled over threads: the numbers of ranks are equal, and each run was asked for threads.
fn is_over_threads(headers: &[&Header]) -> bool {
    let ranks = headers.first().map(|h| h.ranks);
    let mut all = headers.iter();
    all.all(|h| Some(h.ranks) == ranks && h.threads_asked.is_some())
}

/// What figures are modelled over: ranks or, `over_threads`, ranks times the threads that each was asked for.
fn size(header: &Header, over_threads: bool) -> u32 {
    let threads = header.threads_asked.filter(|_| over_threads);
    header.ranks.saturating_mul(threads.unwrap_or(1).max(1))
}

/// Vertices of the run with the most ranks, with models of a metric over all runs: `slope` and `r_squared` of the
/// log-log line, and with four runs or more `model`, its formula, and `model_error`, the mean symmetric error, 0 to 2,
/// when each run is predicted from the others. If even the best model has an error above 0.5, `model` and `predicted`
/// are missing, and the place comes after those that have them. `predicted` is the figure at `at` ranks, by the model
/// or, with fewer runs, by the line. `growth` is how much more that is than in the run with the most ranks; the most
/// growth comes first. `at_N` is the figure of the run with N ranks; the mean of runs with equal numbers of ranks
/// counts as one. If only threads differ, ranks times threads take the place of ranks.
///
/// # Errors
/// If the sets are of different programs, all runs have the same number of ranks and threads, vertices have no such
/// metric, or it is interrupted.
pub fn scaling_models(
    sets: &[&Set],
    metric: &str,
    over: Over,
    at: Option<f64>,
    interrupted: Interrupted<'_>,
) -> Result<Set, PassError> {
    if let Some((first, others)) = sets.split_first() {
        for other in others {
            super::of_one_program(&first.view().header, &other.view().header, "V2")?;
        }
    }
    let mut sets: Vec<&Set> = sets.to_vec();
    let headers: Vec<&Header> = sets.iter().map(|s| &*s.view().header).collect();
    let over_threads = is_over_threads(&headers);
    sets.sort_by_key(|s| size(&s.view().header, over_threads));
    let sizes = sets.iter().map(|s| size(&s.view().header, over_threads));
    let ranks: Vec<u32> = sizes.collect();
    let (Some(last), Some(most)) = (sets.last(), ranks.last()) else {
        return Err(PassError::Argument(
            "V1".to_string(),
            "no run is given".to_string(),
        ));
    };
    if ranks.first() == Some(most) {
        let unit = if over_threads {
            "ranks times threads"
        } else {
            "ranks"
        };
        let what = format!("all runs have {most} {unit}; models need runs with different numbers");
        return Err(PassError::Argument("V2".to_string(), what));
    }
    let at = at.unwrap_or(2.0 * f64::from(*most));
    // By run, and by vertex of the last run.
    let mut known: Vec<Vec<Option<f64>>> = Vec::new();
    for set in &sets {
        let own = figures(set.view(), set, metric, over)?;
        let same = same_places(set.view(), last.view());
        let there = |v: &Option<u32>| own.get((*v)? as usize).copied().flatten();
        known.push(same.iter().map(there).collect());
    }
    let mut scales = ranks.clone();
    scales.dedup();
    // The figure of a run with `p` ranks at a vertex.
    let of_scale = |p: u32, v: u32| {
        let of_runs = ranks.iter().zip(&known).filter(|(r, _)| **r == p);
        let values: Vec<f64> = of_runs.filter_map(|(_, k)| *k.get(v as usize)?).collect();
        (!values.is_empty()).then(|| mean(&values))
    };
    type Row = (Vec<Option<f64>>, [Option<f64>; 5], Option<String>);
    let row = |v: &u32| -> Result<Row, PassError> {
        if interrupted() {
            return Err(PassError::Interrupted);
        }
        let all: Vec<Option<f64>> = scales.iter().map(|p| of_scale(*p, *v)).collect();
        let some = scales.iter().zip(&all);
        let points: Vec<(f64, f64)> = some
            .filter_map(|(p, x)| Some((f64::from(*p), (*x)?)))
            .collect();
        let (line, best) = (log_log(&points), select(&points, Measure::Symmetric));
        let model = best.filter(|m| m.cross_error <= WORST);
        let predicted = match (best, model, line) {
            (_, Some(model), _) => Some(model.at(at)),
            // Too few runs to test the line.
            (None, _, Some(line)) => Some(line.factor * at.powf(line.slope)),
            _ => None,
        };
        let now = all.last().copied().flatten();
        let growth = predicted.zip(now).map(|(then, now)| then - now);
        let figures = [
            line.map(|l| l.slope),
            line.map(|l| l.r_squared),
            best.map(|m| m.cross_error),
            predicted,
            growth,
        ];
        Ok((all, figures, model.map(|m| m.words())))
    };
    let made: Result<Vec<Row>, PassError> = last.vertices().par_iter().map(row).collect();
    let made = made?;
    let mut out = Set::of(last.view(), last.vertices().to_vec(), Vec::new());
    for (i, p) in scales.iter().enumerate() {
        let column: Vec<Option<f64>> = made.iter().map(|m| m.0[i]).collect();
        out = out.with_metric_like(&format!("at_{p}"), metric, &column)?;
    }
    let names = ["slope", "r_squared", "model_error", "predicted", "growth"];
    for (i, name) in names.into_iter().enumerate() {
        let column: Vec<Option<f64>> = made.iter().map(|m| m.1[i]).collect();
        out = match name {
            "predicted" | "growth" => out.with_metric_like(name, metric, &column)?,
            _ => out.with_metric(name, &column)?,
        };
    }
    let words: Vec<Option<String>> = made.into_iter().map(|m| m.2).collect();
    Ok(out.with_words("model", &words)?.sort_by("growth")?)
}
