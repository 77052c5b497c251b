//! The sentence about threads whose work is a little uneven: too little for a cause, but enough to cost time.

use crate::measure::scales::Scales;
use crate::measure::stretch::{STANDS_OUT, Stretch};
use crate::measure::teams::Team;
use headwater_dataflow::numbers::stats;
use headwater_model::words;

/// Least share of the run time that slowest threads must cost together to be worth a sentence.
const WORTH: f64 = 0.05;

/// What the slowest threads of a team cost beyond the mean of its threads where none of them is late, seconds of the rank
/// that loses most, and how many times that mean they compute.
fn of_team(team: &Team) -> (f64, f64) {
    let losses = team.losses(Stretch::slight_imbalance);
    let most = stats::max(&losses);
    let rank = losses.iter().position(|l| *l >= most).unwrap_or(0) as u32;
    let own = team.of_rank(rank).iter();
    let (excess, mean) = own.fold((0.0, 0.0), |sum, s| match s.slight_imbalance() {
        excess if excess > 0.0 => (sum.0 + excess, sum.1 + s.mean()),
        _ => sum,
    });
    (most, if mean > 0.0 { 1.0 + excess / mean } else { 1.0 })
}

/// The sentence, if that costs enough at the largest scale.
pub fn sentence(scales: &Scales) -> Option<String> {
    let (last, teams) = scales.last()?;
    let all = teams.whole().map(|team| (team, of_team(team)));
    let more = |a: (_, (f64, f64)), b: (_, (f64, f64))| if b.1.0 > a.1.0 { b } else { a };
    let (team, (cost, times)) = all.reduce(more)?;
    let share = cost / last.model_seconds();
    (share >= WORTH).then(|| {
        format!(
            "With {}, the slowest thread of the team at {} computes {:.2} times as long as the mean of its threads, {} more ({}). Below {STANDS_OUT} times that is no cause: the same work may differ by as much where threads share cores and caches. It is in the load balance.",
            last.words(),
            words::location(&scales.pag().place(team.vertex)),
            times,
            words::seconds(cost),
            words::share(share, None),
        )
    })
}
