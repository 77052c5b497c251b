//! How much ranks are late differs from one repetition to the next: what that leaves open of their lateness in all.
//!
//! Of a segment its total is recorded, not its scatter; the iterations in the windows show that.

use crate::holder::excess;
use crate::moving::by_phase;
use crate::scale::Scale;
use crate::stats;
use headwater_model::run::CtxId;
use rustc_hash::FxHashSet;

/// Iterations that must have been seen for their scatter to be known.
const LEAST_SEEN: usize = 4;

/// Standard error of the seconds by which `late` ranks are late after the calls `after`, as a share of these seconds;
/// `None` where too few repetitions were seen.
pub fn error(scale: &Scale, after: &[CtxId], late: &[bool]) -> Option<f64> {
    let phases: FxHashSet<u32> = after.iter().map(|a| scale.phases.after(*a)).collect();
    let mut each: Vec<f64> = Vec::new();
    for epoch in scale.replay.epochs.iter().filter(|e| e.closed) {
        let rows = by_phase(&scale.replay, epoch, &scale.phases, late.len());
        let here: Vec<f64> = rows
            .iter()
            .filter(|(phase, _)| phases.contains(phase))
            .map(|(_, row)| excess(row, late))
            .collect();
        if !here.is_empty() {
            each.push(here.iter().sum());
        }
    }
    let from: FxHashSet<CtxId> = after.iter().copied().collect();
    let segments = scale.run().segments.iter();
    let counts = segments.filter(|s| from.contains(&s.from)).map(|s| s.count);
    relative(&each, counts.max().unwrap_or(1) as f64)
}

/// The same of excesses that were seen in some of `count` repetitions.
fn relative(seen: &[f64], count: f64) -> Option<f64> {
    let mean = stats::mean(seen);
    if seen.len() < LEAST_SEEN || mean <= 0.0 {
        return None;
    }
    let n = seen.len() as f64;
    let deviation = (stats::variance(seen) * n / (n - 1.0)).sqrt();
    Some(deviation / (mean * count.max(n).sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_as_late_every_time_is_certain() {
        assert_eq!(relative(&[1.0; 8], 100.0), Some(0.0));
        assert_eq!(relative(&[1.0; 3], 100.0), None);
        assert_eq!(relative(&[-1.0; 8], 100.0), None);
        let scattered = relative(&[0.5, 1.5, 0.5, 1.5, 0.5, 1.5], 100.0);
        assert!(scattered.is_some_and(|e| (0.05..0.06).contains(&e)));
        // More repetitions than were counted were not.
        let few = relative(&[0.5, 1.5, 0.5, 1.5, 0.5, 1.5], 1.0);
        assert!(few.is_some_and(|e| e < 0.25));
    }
}
