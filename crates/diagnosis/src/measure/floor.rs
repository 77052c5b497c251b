//! The least cost of a cause that is reported: a share of the run, and in a short run at least the machine's noise.

use crate::measure::scale::Scale;
use headwater_dataflow::numbers::stats;
use headwater_model::words::seconds as time;

/// A cause is reported if it costs at least this share of the run time, unless the user gives another share. It is only
/// about what is worth reading: whether a cause is more than noise is decided for each cause by itself.
pub const LEAST_SHARE: f64 = 0.015;

/// Computation of the slowest rank below which a run is short, seconds.
const SHORT: f64 = 0.2;

/// Seconds that start-up of the first iterations, interrupts and page faults may take in one recording of a short run
/// and not in the next.
const NOISE: f64 = 3e-3;

/// Whether a run is too short for gains of a few milliseconds.
fn is_short(last: &Scale) -> bool {
    stats::max(&last.busy()) < SHORT
}

/// The least seconds that a cause must cost; `share` is the part of the run time that the user asked for.
pub fn seconds(last: &Scale, share: f64) -> f64 {
    let asked = share * last.model_seconds();
    if is_short(last) {
        asked.max(NOISE)
    } else {
        asked
    }
}

/// The sentence about a run that is too short, if otherwise gains below the noise would be reported.
pub fn sentence(last: &Scale) -> Option<String> {
    let asked = LEAST_SHARE * last.model_seconds();
    (is_short(last) && asked < NOISE).then(|| {
        format!(
            "On {} {} only {}. In so short a run, less than {} may be noise of the machine, and no cause is reported that gains less. Record a longer run.",
            last.words(),
            if last.subject().is_process() {
                "the program computes for"
            } else {
                "the slowest rank computes for"
            },
            time(stats::max(&last.busy())),
            time(NOISE)
        )
    })
}
