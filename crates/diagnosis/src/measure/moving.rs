//! Uneven work that moves: in each iteration other ranks are late, so that all have the same in the end.
//!
//! Totals of a phase cannot show it: over the run they are even. Each iteration in the windows can:
//! the slowest rank of each, added up, is the time that the phase needs with a core for each rank
//! (delay cost of Böhme et al. 2010 by iteration). Scatter between iterations makes some rank the
//! slowest too; here ranks must be late by more than the others scatter, and in most iterations.

use crate::measure::late::{Late, Shape};
use crate::measure::once::longer_once;
use crate::measure::phases::Phases;
use crate::measure::replay::{Epoch, Replay};
use crate::measure::timing;
use headwater_dataflow::numbers::stats::{self, CONFIDENCE, scatter};
use headwater_model::run::Run;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Iterations that must have been seen: fewer say nothing of how the lateness moves.
const LEAST_SEEN: usize = 4;

/// Share of the time in iterations where ranks must be late. On a machine that other work uses, some rank is
/// interrupted in half of the iterations.
const MOST: f64 = 0.75;

/// Ranks that show by how much they scatter in one iteration.
const ENOUGH: usize = 4;

/// Scatter of equal work in one iteration, as a share of its time: at the least, and where fewer ranks show it.
const SCATTER: [f64; 2] = [0.01, 0.1];

/// Seconds by which late ranks must at least be late: computation below 0.1 ms is recorded as wall time,
/// so that an interruption of that length is in it.
const RESOLUTION: f64 = 1e-4;

/// Moving unevenness of one phase.
#[derive(Clone, Debug, PartialEq)]
pub struct Moving {
    /// The phase.
    pub phase: u32,
    /// Seconds of the whole run that the ranks wait for it, beyond what their totals explain.
    pub seconds: f64,
    /// Standard error of `seconds`, from how far the slowest rank of each iteration is beyond the mean one.
    pub error: f64,
    /// Seconds of the mean rank in what only late ranks have.
    pub excess: f64,
    /// Seconds of a late rank beyond the others in one iteration, mean.
    pub beyond: f64,
    /// Ranks that were late at some time.
    pub ranks: Vec<u32>,
    /// Iterations seen, and those of them in which ranks stood out.
    pub seen: (usize, usize),
}

/// Computation of each rank in one epoch, by phase.
pub fn by_phase(
    replay: &Replay,
    epoch: &Epoch,
    phases: &Phases,
    p: usize,
) -> BTreeMap<u32, Vec<f64>> {
    let mut out: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    let window = replay.windows.get(epoch.window);
    for (rank, &(begin, end)) in epoch.calls.iter().enumerate() {
        let calls = window.and_then(|w| w.get(rank));
        let calls = calls.and_then(|c| c.get(begin as usize..end as usize));
        for call in calls.unwrap_or(&[]) {
            let row = out.entry(phases.after(call.after));
            let row = row.or_insert_with(|| vec![0.0; p]);
            if let Some(slot) = row.get_mut(rank) {
                *slot += call.busy;
            }
        }
    }
    out
}

/// Looks for phases whose unevenness moves; `busy` are the totals of each phase over ranks.
pub fn of_run(
    run: &Run,
    replay: &Replay,
    phases: &Phases,
    busy: &FxHashMap<u32, Vec<f64>>,
) -> Vec<Moving> {
    let ranks = run.header.ranks;
    let mut pieces: BTreeMap<u32, Vec<Vec<f64>>> = BTreeMap::new();
    for epoch in replay.epochs.iter().filter(|e| e.whole && e.closed) {
        for (phase, row) in by_phase(replay, epoch, phases, ranks as usize) {
            pieces.entry(phase).or_default().push(row);
        }
    }
    let one = |(phase, rows): (u32, Vec<Vec<f64>>)| {
        let mut found = moving(phase, &rows, busy.get(&phase)?)?;
        add_once_late(run, phases, &mut found);
        Some(found)
    };
    pieces.into_iter().filter_map(one).collect()
}

/// Windows show some iterations only; the longest time between two calls was recorded of all of them.
fn add_once_late(run: &Run, phases: &Phases, found: &mut Moving) {
    for s in run.segments.iter().filter(|s| s.count > 1) {
        let beyond = longer_once(s) as f64 * 1e-9;
        let here = s.rank < run.header.ranks && phases.after(s.from) == found.phase;
        if here && beyond >= 0.5 * found.beyond {
            found.ranks.push(s.rank);
        }
    }
    found.ranks.sort_unstable();
    found.ranks.dedup();
}

/// A few ranks that are late in one iteration by more than the others scatter. Most ranks late are a few that have
/// less, and nobody waits for those.
fn late(row: &[f64]) -> Option<Late> {
    let half = 0.5 * (stats::mean(row) + stats::max(row));
    let first: Vec<bool> = row.iter().map(|value| *value >= half).collect();
    let late = Late::new(row, &first).filter(|l| l.shape == Shape::Few)?;
    let others = late.alike(row);
    let noise = if others.len() < ENOUGH {
        SCATTER[1] * late.high
    } else {
        scatter(&others).max(SCATTER[0] * late.high)
    };
    let least = timing::above_chance(late.choices(row.len())) * noise;
    (late.excess > least && late.high - late.low > RESOLUTION).then_some(late)
}

fn moving(phase: u32, rows: &[Vec<f64>], totals: &[f64]) -> Option<Moving> {
    if rows.len() < LEAST_SEEN {
        return None;
    }
    let mut sums = vec![0.0; totals.len()];
    for row in rows {
        sums.iter_mut().zip(row).for_each(|(sum, r)| *sum += r);
    }
    let usual: Vec<f64> = sums.iter().map(|sum| sum / rows.len() as f64).collect();
    let level = stats::mean(&usual);
    // A rank that is as late as always is not late by turns.
    let beside_usual = |row: &[f64]| -> Vec<f64> {
        let each = row.iter().zip(&usual);
        each.map(|(r, usual)| (r - usual + level).max(0.0))
            .collect()
    };
    let (mut slowest, mut mean, mut uneven, mut excess) = (0.0, 0.0, 0.0, 0.0);
    let (mut ranks, mut times, mut beyond) = (Vec::new(), 0u32, 0.0);
    let late_by: Vec<f64> = (rows.iter())
        .map(|row| stats::max(row) - stats::mean(row))
        .collect();
    for row in rows {
        slowest += stats::max(row);
        mean += stats::mean(row);
        if let Some(late) = late(&beside_usual(row)) {
            let share = late.ranks.len() as f64 / row.len() as f64;
            uneven += stats::max(row);
            beyond += late.high - late.low;
            excess += (late.high - late.low) * share;
            ranks.extend(&late.ranks);
            times += 1;
        }
    }
    if mean <= 0.0 || uneven < MOST * slowest {
        return None;
    }
    // What the totals of these very iterations show is not moving: a few of them are not the whole run.
    let per_mean = stats::mean(totals) / mean;
    let seconds = (slowest - stats::max(&sums)) * per_mean;
    let error = (stats::variance(&late_by) * rows.len() as f64).sqrt() * per_mean;
    if seconds <= CONFIDENCE * error {
        return None;
    }
    Some(Moving {
        phase,
        seconds,
        error,
        excess: excess * per_mean,
        beyond: beyond / f64::from(times),
        ranks,
        seen: (rows.len(), times as usize),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twelve iterations of eight ranks.
    fn found(seconds: impl Fn(usize, usize) -> f64) -> Option<Moving> {
        let row = |i: usize| (0..8).map(|r| seconds(i, r)).collect::<Vec<f64>>();
        let rows: Vec<Vec<f64>> = (0..12).map(row).collect();
        let total = |r: usize| rows.iter().map(|row| row[r]).sum();
        let totals: Vec<f64> = (0..8).map(total).collect();
        moving(0, &rows, &totals)
    }

    /// From -1 to 1.
    fn noise(i: usize, r: usize) -> f64 {
        ((i * 31 + r * 17) * 7 % 23) as f64 / 11.0 - 1.0
    }

    #[test]
    fn a_fifth_more_by_turns_is_found() {
        let even = |i, r| 1.0 + 0.01 * noise(i, r);
        let found = found(|i, r| if i % 8 == r { 1.2 } else { even(i, r) });
        let found = found.expect("a rank is late in each iteration");
        assert!((found.seconds - 2.0).abs() < 0.5, "{found:?}");
        assert_eq!((found.seen, found.ranks.len()), ((12, 12), 12));
    }

    #[test]
    fn scatter_of_iterations_does_not_move() {
        assert_eq!(found(|i, r| 1.0 + 0.08 * noise(i, r)), None);
    }
}
