//! What a cause must cost to be reported: a share of the run, and in a short run more than the machine's noise.

use crate::diagnose::LEAST_SHARE;
use crate::scale::Scale;
use crate::stats;
use headwater_model::words::{self, seconds as time};

/// Computation of the slowest rank below which a run is short, seconds.
const SHORT: f64 = 0.2;

/// What start-up of the first iterations, interrupts and page faults take of a short run in one recording and not in the
/// next, seconds.
const NOISE: f64 = 3e-3;

/// Whether a run is too short for gains of a few milliseconds.
fn is_short(last: &Scale) -> bool {
    stats::max(&last.busy()) < SHORT
}

/// Seconds that a cause must cost, of which `share` is the part of the run time that the user asked for.
pub fn seconds(last: &Scale, share: f64) -> f64 {
    let asked = share * last.model_seconds();
    if is_short(last) {
        asked.max(NOISE)
    } else {
        asked
    }
}

/// What to say of a run that is too short, if less than the noise would be reported of it otherwise.
pub fn sentence(last: &Scale) -> Option<String> {
    let asked = LEAST_SHARE * last.model_seconds();
    (is_short(last) && asked < NOISE).then(|| {
        format!(
            "On {} the slowest one computes for only {}. In so short a run, less than {} may be noise of the machine, and no cause is reported that gains less. Record a longer run.",
            words::count(last.p as usize),
            time(stats::max(&last.busy())),
            time(NOISE)
        )
    })
}
