//! Accounts for the loss of the largest scale: each second is in one part, and the parts sum to the loss.
//!
//! The run time that shares refer to divides exactly into: computation of the mean rank, what the slowest rank of each
//! phase computes beyond it (uneven work), waits in turn, moving data, and the rest. What the mean rank computes beyond
//! the ideal that the smallest scale sets is growth. The gains of causes are taken out of these parts, the largest gain
//! first. What remains is small losses, or unknown.

use crate::find::candidate::Candidate;
use crate::find::class::{self, Part};
use crate::measure::scale::Scale;
use crate::measure::scales::Scales;
use crate::measure::scaling;
use crate::price::small::{self, Contributions};
use crate::price::startup;
use headwater_dataflow::numbers::stats;
use headwater_model::diagnosis::{
    Account, Against, Cause, CauseClass, LossKind, LossPart, Scaling,
};
use headwater_model::words::seconds as time;

/// Seconds that are only rounding.
const ROUNDING: f64 = 1e-9;

/// The loss by what is known about it without causes. The sum of the first five parts is the loss.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Pools {
    growth: f64,
    uneven: f64,
    serial: f64,
    transfer: f64,
    unknown: f64,
    /// Growth that is attributed to a slower machine, which no place explains. It is a part of `unknown`.
    pace: f64,
    /// Computation that is not a loss by the efficiencies: work that some ranks do beyond the others, growth that is
    /// hidden because other places shrank more, and losses between threads. It counts as a loss where a cause shows it.
    within: f64,
    /// Mean excess of the late ranks of the causes so far, as far as no gain was taken from it. Late ranks that do no
    /// more than the others save this time too; evening their work out would not.
    excess: f64,
}

/// The order of the other pools that a gain is taken from, if its own pool does not have enough.
const OTHERS: [Part; 5] = [
    Part::Serial,
    Part::Unknown,
    Part::Uneven,
    Part::Transfer,
    Part::Growth,
];

impl Pools {
    fn new(scales: &Scales, last: &Scale) -> Self {
        let model = last.model_seconds();
        let mean = stats::mean(&last.busy()).min(model);
        let critical = last.busy_critical().clamp(mean, model);
        let replayed = last.ideal_seconds().clamp(critical, model);
        let rest = model - replayed;
        let transfer = last.transfer_seconds().min(rest);
        let ideal = ideal(scales, last);
        let grown = ideal.map_or(0.0, |ideal| (mean - ideal).max(0.0));
        let at_pace = ideal.map_or(0.0, |ideal| (scales.pace.factor - 1.0) * ideal);
        let at_pace = at_pace.min(grown);
        let growth = grown - at_pace;
        Self {
            growth,
            uneven: critical - mean,
            serial: replayed - critical,
            transfer,
            unknown: rest - transfer + at_pace,
            pace: at_pace,
            within: mean - grown,
            excess: 0.0,
        }
    }

    fn loss(&self) -> f64 {
        self.growth + self.uneven + self.serial + self.transfer + self.unknown
    }

    fn pool(&mut self, pool: Part) -> &mut f64 {
        match pool {
            Part::Growth => &mut self.growth,
            Part::Uneven => &mut self.uneven,
            Part::Serial => &mut self.serial,
            Part::Transfer => &mut self.transfer,
            Part::Unknown => &mut self.unknown,
        }
    }

    fn take(&mut self, pool: Part, most: f64) -> f64 {
        let from = self.pool(pool);
        let taken = most.min(*from).max(0.0);
        *from -= taken;
        taken
    }

    /// Takes up to `gain` for a cause. Returns what the pools of the loss had, and second what computation had that did
    /// not count as a loss before.
    fn take_for(&mut self, c: &Candidate, gain: f64, parts: &Contributions) -> (f64, f64) {
        let all = c.ranks.len() as u32 >= parts.ranks;
        if c.class.is_of_threads() {
            // Causes between threads explain growth and unevenness of their own place, not of others.
            let (growth, uneven) = parts.inside(c);
            let of_growth = self.take(Part::Growth, growth.min(gain));
            let of_uneven = self.take(Part::Uneven, uneven.min(gain - of_growth));
            let within = (gain - of_growth - of_uneven).min(self.within).max(0.0);
            self.within -= within;
            return (of_growth + of_uneven, within);
        }
        let class = class::of(c.class);
        let own = match all {
            _ if c.in_turn => Part::Serial,
            true => class.part_of_all,
            false => class.part,
        };
        let mut taken = self.take(own, gain);
        // Growth is hidden in the sum where other places became faster than the ideal.
        let hidden = match own {
            Part::Growth => gain,
            Part::Uneven => {
                self.excess += c.cost * c.ranks.len() as f64 / f64::from(parts.ranks.max(1));
                let of_growth = self.take(Part::Growth, (gain - taken).min(self.excess));
                taken += of_growth;
                self.excess -= of_growth;
                self.excess
            }
            Part::Serial | Part::Transfer | Part::Unknown => 0.0,
        };
        let within = (gain - taken).min(hidden).min(self.within).max(0.0);
        self.within -= within;
        if own == Part::Uneven {
            self.excess -= within;
        }
        for other in OTHERS {
            taken += self.take(other, gain - taken - within);
        }
        (taken, within)
    }
}

/// Computation of the mean rank at the largest scale if it scaled ideally; `None` where scales are not compared.
fn ideal(scales: &Scales, last: &Scale) -> Option<f64> {
    let [first, _, ..] = scales.compared() else {
        return None;
    };
    let mean = stats::mean(&first.busy());
    Some(scaling::ideal(scales.scaling, mean, first.size, last.size))
}

/// Seconds of a cause that are not part of the run with a core for each rank.
pub fn on_top(last: &Scale, c: &Candidate) -> f64 {
    if c.class == CauseClass::Preempted && last.is_crowded() {
        c.cost
    } else {
        c.team.as_ref().map_or(0.0, |t| t.on_top)
    }
}

/// Bounds gains by the loss: each second of it is gained once, by the first cause that explains it. `causes` are those
/// of `found`, in the same order. If less is left for a cause than it would gain alone, its evidence says so.
pub fn bound(scales: &Scales, found: &[Candidate], causes: &mut [Cause]) {
    let Some((last, _)) = scales.last().filter(|_| scales.ranks_alike()) else {
        return;
    };
    let parts = Contributions::new(scales, last);
    let mut pools = Pools::new(scales, last);
    let most = pools.loss() + pools.within;
    for (c, cause) in found.iter().zip(causes) {
        let above = on_top(last, c).min(cause.gain_seconds);
        let (taken, within) = pools.take_for(c, cause.gain_seconds - above, &parts);
        let (alone, left) = (cause.gain_seconds, above + taken + within);
        let limit = most + above;
        let most = &mut cause.gain_range_seconds.1;
        *most = most.min(limit.max(alone));
        if left + ROUNDING.max(1e-6 * alone) >= alone {
            continue;
        }
        cause.gain_share *= left / alone;
        cause.gain_seconds = left;
        let (least, most) = &mut cause.gain_range_seconds;
        (*least, *most) = (least.min(left), most.max(left));
        let text = format!(
            "alone it would gain {}; the rest of that is counted with the causes before it, or is no part of the loss",
            time(alone)
        );
        cause.evidence.push(text.into());
    }
}

/// The account of the loss at the largest scale; `causes` are those of `found`, in the same order, and the start-up.
pub fn account(scales: &Scales, found: &[Candidate], causes: &[Cause]) -> Account {
    let Some((last, _)) = scales.last() else {
        return Account::default();
    };
    let model = last.model_seconds();
    let ideal = ideal(scales, last);
    let against = ideal.map_or(Against::Even, |_| Against::Ideal);
    let mut account = Account {
        ranks: last.p,
        against,
        of_seconds: model,
        ..Account::default()
    };
    if !scales.ranks_alike() {
        return account;
    }
    let parts = Contributions::new(scales, last);
    let mut pools = Pools::new(scales, last);
    let mut by_causes = 0.0;
    let of_found = causes.iter().filter(|c| c.class != CauseClass::Startup);
    for (c, cause) in found.iter().zip(of_found) {
        let above = on_top(last, c).min(cause.gain_seconds);
        account.of_seconds += on_top(last, c);
        let (taken, within) = pools.take_for(c, cause.gain_seconds - above, &parts);
        by_causes += above + taken + within;
    }
    let startup = causes.iter().find(|c| c.class == CauseClass::Startup);
    let before = startup.map_or(0.0, |c| c.gain_seconds);
    if startup.is_some() {
        account.of_seconds += startup::mean_seconds(last);
    }
    let floor = small::PLACE * model;
    let (small, uneven, growth) = parts.small(scales, last, found, floor);
    let (uneven, growth) = (uneven.min(pools.uneven), growth.min(pools.growth));
    let pace = pools.pace.min(pools.unknown);
    let rest = pools.uneven - uneven + pools.growth - growth;
    let seconds = [
        (LossKind::Causes, by_causes),
        (LossKind::SmallUneven, uneven),
        (LossKind::SmallGrowth, growth),
        (LossKind::Serialisation, pools.serial),
        (LossKind::Transfer, pools.transfer),
        (LossKind::BeforeInit, before),
        (LossKind::Pace, pace),
        (LossKind::Unknown, pools.unknown - pace + rest),
    ];
    account.loss_seconds = seconds.iter().map(|s| s.1).sum();
    let of = account.of_seconds;
    let share = |seconds: f64| if of > 0.0 { seconds / of } else { 0.0 };
    account.loss_share = share(account.loss_seconds).clamp(0.0, 1.0);
    account.parts = seconds
        .into_iter()
        .filter(|s| s.1 > ROUNDING)
        .map(|(kind, seconds)| LossPart {
            kind,
            seconds,
            share: share(seconds).clamp(0.0, 1.0),
        })
        .collect();
    account.small = small;
    account
}

/// How growth is described under a kind of scaling, where `added` is what is added.
pub fn grows(scaling: Scaling, added: &str) -> String {
    match scaling {
        Scaling::Weak => format!("they take longer as {added} are added"),
        Scaling::Strong | Scaling::Single => format!("they do not shrink as {added} are added"),
    }
}
