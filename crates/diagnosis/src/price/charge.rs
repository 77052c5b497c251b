//! Prices causes between threads: what they cost the run, and which part of the ranks' computation they explain.
//!
//! A rank whose threads lose time is late for the other ranks. To price the loss, each rank's computation is reduced by
//! its own loss; the price is by how much the slowest rank of each phase becomes faster. So the waiting of other ranks
//! is in the price, and a rank that nobody waits for costs nothing. Charged seconds are taken out of the computation in
//! which ranks are compared, so that the same lateness is not reported again as uneven work between ranks.

use crate::find::candidate::Candidate;
use crate::find::proposal::{Charged, Loss, Proposal};
use crate::measure::scale::Scale;
use headwater_dataflow::numbers::stats;
use headwater_graph::RankRows;
use rustc_hash::FxHashMap;

/// Prices proposals, the largest first, and returns those that gain at least `least` seconds, with what they explain.
pub fn price(scale: &Scale, mut proposals: Vec<Proposal>, least: f64) -> (Vec<Candidate>, Charged) {
    proposals.sort_by(|a, b| {
        let place = |p: &Proposal| (p.candidate.class, p.candidate.vertex);
        b.seconds()
            .total_cmp(&a.seconds())
            .then(place(a).cmp(&place(b)))
    });
    let mut left: FxHashMap<u32, Vec<f64>> = scale.phase_busy.clone();
    let mut charged = Charged::default();
    let mut out = Vec::new();
    for Proposal { candidate, losses } in proposals {
        let (on_top, within): (Vec<Loss>, Vec<Loss>) = losses.into_iter().partition(|l| l.on_top);
        let around = within.iter().chain(&on_top).map(|l| l.around).next();
        let top = by_phase(scale, &taken(scale, &on_top));
        let taken = taken(scale, &within);
        let by_phase = by_phase(scale, &taken);
        let mut gain = 0.0;
        for (phase, row) in &top {
            if let Some(left) = left.get(phase) {
                let longer: Vec<f64> = left.iter().zip(row).map(|(l, r)| l + r).collect();
                gain += stats::max(&longer) - stats::max(left);
            }
        }
        let on_top = gain;
        let mut phases: Vec<u32> = by_phase.keys().copied().collect();
        phases.sort_unstable();
        let less = |phase: &u32, row: &[f64]| -> Vec<f64> {
            let take = by_phase.get(phase).map_or(&[][..], |t| t);
            let take = take.iter().chain(std::iter::repeat(&0.0));
            row.iter()
                .zip(take)
                .map(|(all, t)| (all - t).max(0.0))
                .collect()
        };
        for phase in &phases {
            if let Some(row) = left.get(phase) {
                gain += stats::max(row) - stats::max(&less(phase, row));
            }
        }
        if gain < least {
            continue;
        }
        for phase in &phases {
            if let Some(row) = left.get_mut(phase) {
                *row = less(phase, row);
            }
        }
        let mut keys: Vec<u32> = taken.keys().copied().collect();
        keys.sort_unstable();
        for (key, row) in taken {
            let sum = charged.by_key.entry(key);
            let sum = sum.or_insert_with(|| vec![0.0; scale.p as usize]);
            sum.iter_mut().zip(row).for_each(|(s, r)| *s += r);
        }
        let mut candidate = Candidate {
            cost: gain,
            gain,
            after: scale.afters(&keys),
            ..candidate
        };
        if let (Some(team), Some(around)) = (&mut candidate.team, around) {
            (team.around, team.on_top) = (around, on_top);
        }
        out.push(candidate);
    }
    (out, charged)
}

/// Sums seconds by key up to seconds by phase.
fn by_phase(scale: &Scale, taken: &FxHashMap<u32, Vec<f64>>) -> FxHashMap<u32, Vec<f64>> {
    let mut out: FxHashMap<u32, Vec<f64>> = FxHashMap::default();
    let mut keys: Vec<u32> = taken.keys().copied().collect();
    keys.sort_unstable();
    for key in keys {
        let of = scale.view().computation.keys.get(key as usize);
        let (Some(of), Some(row)) = (of, taken.get(&key)) else {
            continue;
        };
        let sum = out.entry(scale.phases.after(of.after));
        let sum = sum.or_insert_with(|| vec![0.0; scale.p as usize]);
        sum.iter_mut().zip(row).for_each(|(s, r)| *s += r);
    }
    out
}

/// What losses take from each key, in proportion to what ranks spent there.
fn taken(scale: &Scale, losses: &[Loss]) -> FxHashMap<u32, Vec<f64>> {
    let data = &scale.view().computation;
    let mut out: FxHashMap<u32, Vec<f64>> = FxHashMap::default();
    for loss in losses {
        let on_top = loss.on_top;
        let column: &RankRows = if loss.asleep {
            &data.blocked
        } else {
            &data.busy
        };
        let all = headwater_graph::sum_rows(column, &loss.keys, scale.p);
        for key in &loss.keys {
            let Some(row) = column.row(*key) else {
                continue;
            };
            let sum = out
                .entry(*key)
                .or_insert_with(|| vec![0.0; scale.p as usize]);
            for (rank, own) in row.iter() {
                let at = rank as usize;
                let (Some(slot), Some(all), Some(loss)) =
                    (sum.get_mut(at), all.get(at), loss.by_rank.get(at))
                else {
                    continue;
                };
                if *all > 0.0 {
                    *slot += own / all * if on_top { *loss } else { loss.min(*all) };
                }
            }
        }
    }
    out.retain(|_, row| row.iter().any(|s| *s > 0.0));
    out
}
