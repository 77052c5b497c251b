//! A replay in which work is even: the time that it takes beyond the computation of the slowest rank is due to the
//! program's order.
//!
//! Each stretch of computation between the same two calls takes the mean of all ranks and repetitions. So neither
//! scatter nor uneven work makes a rank wait. The remaining waits belong to ranks that can only compute in turn.

use crate::measure::replay::{Replay, play_from};
use headwater_dataflow::algorithm::NEVER;
use headwater_dataflow::numbers::stats::{self, scatter};
use headwater_model::run::{CtxId, Event, Run};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Two consecutive calls of one thread.
pub type Between = (CtxId, CtxId);

/// Seconds of each repetition, by rank.
type OfRanks = BTreeMap<u32, Vec<f64>>;

/// Computation between two calls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mean {
    /// Seconds, mean of all ranks and repetitions.
    pub seconds: f64,
    /// Variance of this mean, seconds squared.
    pub variance: f64,
    /// Whether all repetitions of a rank take about as long as each other. Only then can the mean be used for each of
    /// them.
    pub is_regular: bool,
}

/// If the repetitions of a rank scatter by this share of the usual one, the mean cannot be used for each of them. The
/// rank may, for instance, do another number of steps each time.
const IRREGULAR: f64 = 0.6;

/// Least number of repetitions of a rank that show their scatter.
const SEVERAL: usize = 4;

/// Whether the repetitions of most ranks take about as long as each other, given each rank's.
fn is_regular(of_ranks: &OfRanks) -> bool {
    let many = of_ranks.values().filter(|own| own.len() >= SEVERAL);
    let share = |own: &Vec<f64>| scatter(own) / stats::median(own).max(f64::MIN_POSITIVE);
    let shares: Vec<f64> = many.map(share).collect();
    stats::median(&shares) < IRREGULAR
}

/// The windows, replayed with even work.
pub struct EvenReplay {
    /// The replay.
    pub replay: Replay,
    means: FxHashMap<Between, Mean>,
}

impl EvenReplay {
    /// Replays the windows of `run`.
    pub fn new(run: &Run) -> Self {
        let mut events: Vec<Event> = run
            .events
            .iter()
            .filter(|e| e.thread == 0)
            .cloned()
            .collect();
        let between = between(&events);
        let mut all: FxHashMap<Between, OfRanks> = FxHashMap::default();
        for (event, pair) in events.iter().zip(&between) {
            if let Some(pair) = pair {
                let of_rank = all.entry(*pair).or_default().entry(event.rank);
                of_rank.or_default().push(event.busy_ns as f64 * 1e-9);
            }
        }
        let mean = |(pair, of_ranks): (Between, OfRanks)| {
            let seconds: Vec<f64> = of_ranks.values().flatten().copied().collect();
            let mean = Mean {
                seconds: stats::mean(&seconds),
                variance: stats::variance(&seconds) / (seconds.len() as f64 - 1.0).max(1.0),
                is_regular: is_regular(&of_ranks),
            };
            (pair, mean)
        };
        let means: FxHashMap<Between, Mean> = all.into_iter().map(mean).collect();
        for (event, pair) in events.iter_mut().zip(&between) {
            let mean = pair.and_then(|pair| means.get(&pair));
            event.busy_ns = mean.map_or(0, |m| (m.seconds * 1e9).round() as u64);
        }
        let even = Run {
            header: run.header.clone(),
            functions: run.functions.clone(),
            events,
            ..Run::default()
        };
        Self {
            replay: play_from(&even, false, NEVER),
            means,
        }
    }

    /// The mean computation between two calls.
    pub fn mean(&self, between: Between) -> Mean {
        self.means.get(&between).copied().unwrap_or_default()
    }
}

/// The two calls around the computation before each event; `None` for events that do not begin a call.
fn between(events: &[Event]) -> Vec<Option<Between>> {
    let mut out = Vec::with_capacity(events.len());
    for rank in events.chunk_by(|a, b| (a.window, a.rank) == (b.window, b.rank)) {
        // The call before a window is not known: first calls are compared with first calls.
        let mut last = CtxId::NONE;
        for (index, event) in rank.iter().enumerate() {
            let begins = event.first_of_call || index == 0;
            out.push(begins.then_some((last, event.ctx)));
            last = event.ctx;
        }
    }
    out
}
