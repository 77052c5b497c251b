//! The standard error of ranks' total lateness, from its differences between repetitions.
//!
//! For a segment, only its total is recorded, not its scatter; the iterations in the windows show the scatter.

use crate::measure::holder::excess;
use crate::measure::moving::by_phase;
use crate::measure::scale::Scale;
use headwater_dataflow::numbers::stats;
use headwater_model::run::CtxId;
use rustc_hash::FxHashSet;

/// Least number of iterations that show their scatter.
const LEAST_SEEN: usize = 4;

/// Standard error of the `seconds` by which `late` ranks are late after the calls `after` in the whole run. It is a
/// share of these seconds, or of the sum that the observed repetitions imply if that is more; `None` if too few
/// repetitions were observed.
pub fn error(scale: &Scale, after: &[CtxId], late: &[bool], seconds: f64) -> Option<f64> {
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
    relative(&each, counts.max().unwrap_or(1) as f64, seconds)
}

/// The same from excesses that were observed in some of `count` repetitions. The observed ones may be less late than
/// others, but the total lateness is measured.
fn relative(seen: &[f64], count: f64, seconds: f64) -> Option<f64> {
    let n = seen.len() as f64;
    let count = count.max(n);
    let sum = seconds.max(stats::mean(seen) * count);
    if seen.len() < LEAST_SEEN || sum <= 0.0 {
        return None;
    }
    let deviation = (stats::variance(seen) * n / (n - 1.0)).sqrt();
    Some(deviation * count.sqrt() / sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_as_late_every_time_is_certain() {
        assert_eq!(relative(&[1.0; 8], 100.0, 100.0), Some(0.0));
        assert_eq!(relative(&[1.0; 3], 100.0, 100.0), None);
        let seen = [0.5, 1.5, 0.5, 1.5, 0.5, 1.5];
        let scattered = relative(&seen, 100.0, 100.0);
        assert!(scattered.is_some_and(|e| (0.05..0.06).contains(&e)));
        // The count is raised to the number of observed repetitions.
        let few = relative(&seen, 1.0, 6.0);
        assert!(few.is_some_and(|e| e < 0.25));
        // In the observed repetitions, ranks were hardly late, or later than usual.
        let rarely = relative(&seen.map(|s| s - 0.99), 100.0, 100.0);
        let mostly = relative(&seen, 100.0, 10.0);
        for other in [rarely, mostly] {
            assert!((other.unwrap_or(0.0) - scattered.unwrap_or(1.0)).abs() < 1e-9);
        }
    }
}
