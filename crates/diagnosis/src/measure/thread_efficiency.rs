//! What the threads of ranks lose, in the words of POP's hybrid metrics (as TALP of the DLB library computes them).
//!
//! Of all threads together, the time in which their rank does not wait for other ranks is divided into useful time U,
//! waiting for the last thread of the team I, idling while one thread computes alone S, and the rest R:
//! load balance = (U + S) / (U + S + I), serialisation = U / (U + S), scheduling = (U + S + I) / (U + S + I + R).

use crate::measure::scale::Scale;
use crate::measure::teams::Teams;
use crate::measure::useful;
use headwater_model::diagnosis::ThreadEfficiencies;

/// Seconds of all threads of all ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Parts {
    useful: f64,
    waiting: f64,
    alone: f64,
    /// All time.
    all: f64,
}

/// The efficiencies of the threads of a run; `None` where threads are no part of its scale. `unmet` is what ranks would
/// wait for locks beyond what was recorded, with a core for each thread.
pub fn of_scale(scale: &Scale, teams: &Teams, unmet: &[f64]) -> Option<ThreadEfficiencies> {
    let threads = f64::from(scale.threads_each?);
    let mut parts = Parts::default();
    let ranks = scale.busy().into_iter().zip(useful::of_ranks(scale));
    for ((rank, (busy, useful)), unmet) in (0u32..).zip(ranks).zip(unmet) {
        let (together, waiting) = in_teams(teams, rank);
        let all = (busy + unmet) * threads;
        let useful = useful.min(all);
        let waiting = waiting.min(all - useful);
        let alone = (threads - 1.0) * (busy - together).max(0.0);
        parts.all += all;
        parts.useful += useful;
        parts.waiting += waiting;
        parts.alone += alone.min(all - useful - waiting);
    }
    parts.efficiencies()
}

impl Parts {
    fn efficiencies(self) -> Option<ThreadEfficiencies> {
        let Self {
            useful,
            waiting,
            alone,
            all,
        } = self;
        (useful > 0.0 && all > 0.0).then(|| ThreadEfficiencies {
            parallel: useful / all,
            load_balance: (useful + alone) / (useful + alone + waiting),
            serialisation: useful / (useful + alone),
            scheduling: ((useful + alone + waiting) / all).min(1.0),
        })
    }
}

/// Seconds in which the teams of a rank work, and those in which their threads wait for the last one.
fn in_teams(teams: &Teams, rank: u32) -> (f64, f64) {
    let (mut together, mut waiting) = (0.0, 0.0);
    for stretch in teams.whole().flat_map(|team| team.of_rank(rank)) {
        let most = stretch.slowest(|t| t.busy);
        together += most;
        waiting += stretch.shares.iter().map(|t| most - t.busy).sum::<f64>();
    }
    (together, waiting)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factors_multiply_to_the_whole() {
        let parts = Parts {
            useful: 4.0,
            waiting: 1.0,
            alone: 2.0,
            all: 8.0,
        };
        let e = parts.efficiencies().expect("useful time");
        assert_eq!(e.parallel, 0.5);
        let product = e.load_balance * e.serialisation * e.scheduling;
        assert!((product - e.parallel).abs() < 1e-12, "{e:?}");
        assert_eq!(Parts::default().efficiencies(), None);
    }
}
