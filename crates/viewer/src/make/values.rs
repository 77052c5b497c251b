//! A value for each rank, and clusters of ranks with like values.

use super::short;
use crate::model::causes::{RankValues, ValueGroup, ValueUnit};
use headwater_dataflow::numbers::stats::{mean, median, two_groups};
use headwater_model::diagnosis::{Cause, CauseClass, Clock};
use headwater_model::{RankSet, words};

/// Ranks that are listed one by one.
const LISTED: usize = 4_096;

/// What the seconds of a cause are of.
fn of(c: &Cause) -> &'static str {
    match (c.class, c.clock) {
        (CauseClass::Preempted, _) => "time ready to run, but without a core",
        (CauseClass::LockContention | CauseClass::AllocatorContention, _) => {
            "waits of all threads of a rank, as recorded"
        }
        (class, _) if class.is_of_threads() => "time of all threads of a rank together",
        (_, Clock::Cpu) => "CPU time plus time asleep",
        (_, Clock::Wall) => "wall time",
        (_, Clock::Virtual) => "waiting with a core for each rank",
    }
}

/// The values of a cause.
pub fn values(c: &Cause) -> RankValues {
    let all: Vec<f64> = c.by_rank.clone();
    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
    RankValues {
        unit: ValueUnit::Seconds,
        of: of(c).to_string(),
        ranks: c.scale,
        concerned: c.ranks.clone(),
        groups: groups(c, &all),
        least: if least.is_finite() { least } else { 0.0 },
        median: median(&all),
        most: all.iter().copied().fold(0.0, f64::max),
        values: Some(all).filter(|all| all.len() <= LISTED),
    }
}

/// The ranks of the cause and the others; without a difference, two natural groups or all.
fn groups(c: &Cause, all: &[f64]) -> Vec<ValueGroup> {
    let ranks = || (0..).zip(all).map(|(rank, v)| (rank, *v));
    let concerned = c.ranks.len();
    let split: Vec<bool> = if concerned > 0 && concerned < all.len() {
        ranks().map(|(rank, _)| c.ranks.contains(rank)).collect()
    } else {
        match two_groups(all) {
            Some(groups) => ranks()
                .map(|(rank, _)| groups.upper.contains(&rank))
                .collect(),
            None => vec![false; all.len()],
        }
    };
    let of = |wanted: bool| -> Vec<(u32, f64)> {
        let both = ranks().zip(&split);
        both.filter(|(_, is)| **is == wanted)
            .map(|(r, _)| r)
            .collect()
    };
    let name = |own: &[(u32, f64)], concerned: bool, alone: bool| match (alone, concerned) {
        (true, _) => words::count(own.len()),
        (_, true) => match own {
            [_] => "the rank of the cause".to_string(),
            _ => format!("the {} of the cause", words::count(own.len())),
        },
        (_, false) => match own {
            [_] => "the other rank".to_string(),
            _ => format!("the other {}", words::count(own.len())),
        },
    };
    let (others, slow) = (of(false), of(true));
    let alone = others.is_empty() || slow.is_empty();
    let mut out: Vec<ValueGroup> = [(others, false), (slow, true)]
        .into_iter()
        .filter(|(own, _)| !own.is_empty())
        .map(|(own, concerned)| {
            let values: Vec<f64> = own.iter().map(|o| o.1).collect();
            ValueGroup {
                name: name(&own, concerned, alone),
                ranks: own.iter().map(|o| o.0).collect::<RankSet>(),
                size: own.len() as u32,
                least_seconds: values.iter().copied().fold(f64::INFINITY, f64::min),
                mean_seconds: short(mean(&values)),
                most_seconds: values.iter().copied().fold(0.0, f64::max),
            }
        })
        .collect();
    out.sort_by(|a, b| a.mean_seconds.total_cmp(&b.mean_seconds));
    out
}
