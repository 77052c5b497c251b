//! Waits of a simulated run: in which state, where, which ranks, and for whom.

use super::seconds;
use headwater_model::RankSet;
use headwater_simulate::{Done, WaitState};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Waiting at a place.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Wait {
    /// The wait state, by Scalasca's name.
    state: &'static str,
    /// Where it is waited.
    place: String,
    /// Of all ranks together, seconds.
    seconds: f64,
    /// Calls that waited.
    count: u64,
    /// Ranks that waited.
    ranks: RankSet,
    /// The place of the ranks that were waited for longest.
    waited_for_at: String,
    /// Ranks that were waited for.
    waited_for: RankSet,
}

/// Sums at a place.
#[derive(Debug, Default)]
struct Sum {
    seconds: f64,
    count: u64,
    ranks: BTreeSet<u32>,
    waited_for: BTreeSet<u32>,
    /// By place.
    at: BTreeMap<u32, f64>,
}

impl Sum {
    fn merge(&mut self, other: &Self) {
        self.seconds += other.seconds;
        self.count += other.count;
        self.ranks.extend(&other.ranks);
        self.waited_for.extend(&other.waited_for);
        for (place, seconds) in &other.at {
            *self.at.entry(*place).or_default() += seconds;
        }
    }
}

/// Waits by place and state. A call that waits for several counts for the last of them.
#[derive(Debug, Default)]
pub struct Waits(BTreeMap<(u32, WaitState), Sum>);

impl Waits {
    /// A call that has ended.
    pub fn add(&mut self, done: &Done) {
        let Some(cause) = done.waited_for.filter(|_| done.wait > 0.0) else {
            return;
        };
        let sum = self.0.entry((done.place, cause.state)).or_default();
        sum.seconds += done.wait;
        sum.count += 1;
        sum.ranks.insert(done.rank);
        sum.waited_for.insert(cause.rank);
        *sum.at.entry(cause.place).or_default() += done.wait;
    }

    /// All together, seconds.
    pub fn seconds(&self) -> f64 {
        // A sum of no floating point numbers is minus zero.
        self.0.values().fold(0.0, |sum, s| sum + s.seconds)
    }

    /// The longest, at most so many.
    pub fn longest(&self, rows: usize, name: impl Fn(u32) -> String) -> Vec<Wait> {
        // Places on several call paths can have one name.
        let mut named: BTreeMap<(WaitState, String), Sum> = BTreeMap::new();
        for ((place, state), sum) in &self.0 {
            named.entry((*state, name(*place))).or_default().merge(sum);
        }
        let mut all: Vec<_> = named.into_iter().collect();
        all.sort_by(|a, b| b.1.seconds.total_cmp(&a.1.seconds).then(a.0.cmp(&b.0)));
        let row = |((state, place), sum): ((WaitState, String), Sum)| {
            let mut at: Vec<_> = sum.at.iter().collect();
            at.sort_by(|a, b| b.1.total_cmp(a.1).then(a.0.cmp(b.0)));
            Wait {
                state: state.name(),
                place,
                seconds: sum.seconds,
                count: sum.count,
                ranks: sum.ranks.iter().copied().collect(),
                waited_for_at: at.first().map_or_else(String::new, |(p, _)| name(**p)),
                waited_for: sum.waited_for.iter().copied().collect(),
            }
        };
        all.into_iter().take(rows).map(row).collect()
    }
}

/// Lines of the text; `whole` is the time of all ranks.
pub fn text(waits: &[Wait], whole: f64) -> String {
    if waits.is_empty() {
        return String::new();
    }
    let mut out = "\nLongest waits of all ranks\n".to_string();
    for w in waits {
        let share = 100.0 * w.seconds / whole.max(f64::MIN_POSITIVE);
        out += &format!(
            "  {share:5.1} %  {:>10}  {} in {}: ranks {} for ranks {} in {}\n",
            seconds(w.seconds),
            w.state,
            w.place,
            w.ranks,
            w.waited_for,
            w.waited_for_at
        );
    }
    out
}
