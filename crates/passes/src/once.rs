//! Whether ranks are late by one single repetition of what they do again and again.

use crate::scale::Scale;
use crate::stats;
use headwater_model::run::{CtxId, Segment};
use rustc_hash::FxHashMap;

/// A pause counts as happening once if a single repetition holds this share of the excess.
const ONCE: f64 = 0.6;

/// Nanoseconds by which the longest repetition of a segment is longer than the others are on the mean.
pub fn longer_once(s: &Segment) -> u64 {
    let usual = s.busy_ns().saturating_sub(s.max_busy_ns) / s.count.saturating_sub(1).max(1);
    s.max_busy_ns.saturating_sub(usual)
}

/// Whether most of the excess of the late ranks is one single repetition of something that repeats.
/// Segments that leave the same call are repetitions of one, wherever they lead: what is done only
/// once often has a way of its own.
pub fn happened_once(scale: &Scale, ranks: &[u32], after: &[CtxId], excess: f64) -> bool {
    // Repetitions, time of all of them and of the longest, by call that was left and rank.
    let mut totals: FxHashMap<CtxId, Vec<(u64, u64, u64)>> = FxHashMap::default();
    for from in after {
        totals.insert(*from, vec![(0, 0, 0); scale.p as usize]);
    }
    for s in &scale.run().segments {
        let row = totals.get_mut(&s.from);
        if let Some(sum) = row.and_then(|row| row.get_mut(s.rank as usize)) {
            sum.0 += s.count;
            sum.1 += s.busy_ns();
            sum.2 = sum.2.max(s.max_busy_ns);
        }
    }
    let mut is_late = vec![false; scale.p as usize];
    for rank in ranks {
        if let Some(slot) = is_late.get_mut(*rank as usize) {
            *slot = true;
        }
    }
    let mut worst = vec![0.0f64; ranks.len()];
    for row in totals.values() {
        let others = row.iter().zip(&is_late).filter(|(_, late)| !**late);
        let others: Vec<f64> = others.map(|(sum, _)| sum.1 as f64).collect();
        let others = stats::median(&others);
        for (worst, rank) in worst.iter_mut().zip(ranks) {
            let Some(&(count, busy, longest)) = row.get(*rank as usize).filter(|s| s.0 >= 5) else {
                continue;
            };
            let usual = busy.saturating_sub(longest) as f64 / (count - 1) as f64;
            let once = (longest as f64 - usual) * 1e-9;
            // A rank that is late without its longest repetition too is so every time.
            if once >= ONCE * (busy as f64 - others) * 1e-9 {
                *worst = worst.max(once);
            }
        }
    }
    stats::mean(&worst) >= ONCE * excess
}
