//! The sentence about threads whose work is a little uneven: too little for a cause, but enough to cost time.

use crate::measure::scales::Scales;
use crate::measure::stretch::{STANDS_OUT, Stretch};
use crate::measure::teams::Team;
use headwater_dataflow::numbers::stats;
use headwater_model::words;

/// Least share of the run time that slowest threads must cost together to be worth a sentence.
const WORTH: f64 = 0.05;

/// Of a team, for the rank that loses most: seconds that the slowest threads compute beyond the mean where none of them is
/// late and the others waited, how many times the mean they compute, and the rank.
fn of_team(team: &Team) -> (f64, f64, u32) {
    let losses = team.losses(Stretch::slight_imbalance);
    let most = stats::max(&losses);
    let rank = losses.iter().position(|l| *l >= most).unwrap_or(0) as u32;
    let slight = team.of_rank(rank).iter();
    let slight = slight.filter(|s| s.slight_imbalance() > 0.0);
    let (slowest, mean) = slight.fold((0.0, 0.0), |sum, s| {
        (sum.0 + s.slowest(|t| t.busy), sum.1 + s.mean())
    });
    (most, if mean > 0.0 { slowest / mean } else { 1.0 }, rank)
}

/// The sentence, if that costs enough at the largest scale, and the efficiencies show it.
pub fn sentence(scales: &Scales) -> Option<String> {
    let (last, teams) = scales.last()?;
    if last.threads_each.is_none() || last.is_crowded() {
        return None;
    }
    let all = teams.whole().map(|team| (team, of_team(team)));
    let all = all.filter(|(_, (_, times, _))| *times < STANDS_OUT);
    let (team, (cost, times, rank)) = all.reduce(|a, b| if b.1.0 > a.1.0 { b } else { a })?;
    let share = cost / last.model_seconds();
    (share >= WORTH).then(|| {
        let slowest = format!("{}the slowest thread", last.subject().on(rank));
        format!(
            "{} of the team at {} computes {times:.2} times as long as the mean of its threads, which costs {} ({}). That is part of the load balance, but too little for a cause: cores differ by as much.",
            words::capitalised(&slowest),
            words::location(&scales.pag().place(team.vertex)),
            words::seconds(cost),
            words::share(share, None),
        )
    })
}
