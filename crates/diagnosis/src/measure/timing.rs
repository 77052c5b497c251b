//! How far the times of ranks that do equal work differ: the noise against which a late rank is tested.
//!
//! The noise is estimated from the data. Time between two MPI calls is exact, so its scatter over ranks shows the
//! machine's noise wherever most ranks do the same. The scatter is measured by the median of absolute deviations, which
//! does not change even if up to half of the ranks do other work.

use crate::measure::scale::Scale;
use headwater_dataflow::numbers::stats::{self, scatter};
use headwater_model::run::CtxId;

/// Least scatter of a machine, as a share of the time: caches, interrupts and the reading of the clock cause that much.
const LEAST: f64 = 0.005;

/// Greatest scatter of a machine: ranks with a core each that do equal work need the same CPU time within a few per
/// cent, so larger scatter is uneven work, which must not hide itself.
const MOST: f64 = 0.05;

/// Scatter that is assumed where nothing measures it: a usual value for equal work on machines that others use too.
const USUAL: f64 = 0.02;

/// The same for fewer ranks than can show a scatter: one may run on a hardware thread whose core another program uses,
/// which takes a third of its speed or more, and nothing distinguishes that from work.
const UNSEEN: f64 = 0.15;

/// Scatter of sleep, as a share of it: its least value, because timers and devices are not more exact; and the value
/// for too few ranks to show it.
const LEAST_OF_SLEEP: f64 = 0.02;
const UNSEEN_SLEEP: f64 = 0.1;

/// Least number of ranks that show a scatter.
const ENOUGH: usize = 4;

/// With fewer ranks than this, the scatter counts as at least the usual one.
pub const FEW: usize = 8;

/// Number of ranks at which the scatter at a place is known well enough without that of other places, and the least
/// share of all ranks that they must be: if ranks are cut in two halves by chance, each half scatters little.
const MANY: (usize, f64) = (8, 0.75);

/// Other places must have this share of the run's computation for their scatter to count.
const OTHERS: f64 = 0.1;

/// The scatter of ranks after each MPI call.
pub struct Timing {
    /// The call, seconds of the median rank, and the scatter as a share of that.
    after: Vec<(CtxId, f64, f64)>,
    /// Seconds that a sample represents in the profile of another tool, in which time is a number of samples; otherwise
    /// 0, because time between calls is exact.
    per_sample: f64,
}

impl Timing {
    /// The scatter of a run.
    pub fn new(scale: &Scale) -> Self {
        let data = &scale.view().computation;
        let mut after = Vec::new();
        let mut row = vec![0.0; scale.p as usize];
        let mut key = 0u32;
        // Keys of one call are neighbours.
        for of_call in data.keys.chunk_by(|a, b| a.after == b.after) {
            row.fill(0.0);
            for _ in of_call {
                if let Some(own) = data.busy.row(key) {
                    own.add_to(&mut row);
                }
                key += 1;
            }
            let median = stats::median(&row);
            if let (Some(first), true) = (of_call.first(), median > 0.0) {
                after.push((first.after, median, scatter(&row) / median));
            }
        }
        let is_profile = scale.run().is_imported();
        let per_sample = match is_profile {
            true => scale.view().sampled_every,
            false => 0.0,
        };
        Self { after, per_sample }
    }

    /// The scatter in most of the computation, without that after the calls `here`, as a share of its time; `None` if
    /// there is too little other computation.
    fn elsewhere(&self, here: &[CtxId]) -> Option<f64> {
        let all: f64 = self.after.iter().map(|a| a.1).sum();
        let others = self.after.iter().filter(|a| !here.contains(&a.0));
        let mut others: Vec<(f64, f64)> = others.map(|a| (a.2, a.1)).collect();
        let weight: f64 = others.iter().map(|o| o.1).sum();
        if weight < OTHERS * all {
            return None;
        }
        stats::weighted_median(&mut others)
    }

    /// Standard deviation of the time of one rank at a place, as a share of that time. It comes from the scatter of
    /// `others`, those of the `ranks` that do equal work there, and from the computation that does not follow the calls
    /// `here`.
    pub fn noise(&self, others: &[f64], ranks: usize, here: &[CtxId]) -> f64 {
        let middle = stats::median(others);
        let own = (others.len() >= ENOUGH && middle > 0.0).then(|| scatter(others) / middle);
        let many = others.len() >= MANY.0 && others.len() as f64 >= MANY.1 * ranks as f64;
        // The scatter of few ranks may be too small by chance.
        let seen = if many { others.len() } else { ranks };
        let by_chance = 1.0 + 4.0 / seen.max(1) as f64;
        let noise = match (own, self.elsewhere(here)) {
            (Some(own), _) if many => own,
            (Some(own), Some(elsewhere)) => own.max(elsewhere),
            (Some(own), None) => own,
            (None, Some(elsewhere)) => elsewhere,
            (None, None) if ranks < ENOUGH => return self.counted(UNSEEN, middle),
            (None, None) => return self.counted(USUAL, middle),
        };
        // Few ranks show little about each other.
        let least = if ranks < FEW { USUAL } else { 0.0 };
        self.counted(bounded((by_chance * noise).max(least)), middle)
    }

    /// At least the standard deviation of the number of samples in so many seconds, as a share of it.
    fn counted(&self, noise: f64, seconds: f64) -> f64 {
        let counting = match seconds > 0.0 {
            true => (self.per_sample / seconds).sqrt(),
            false => 0.0,
        };
        noise.max(counting)
    }
}

/// Standard deviation of the sleep of one rank at a place, seconds: from the scatter of `others`, which sleep equally
/// long there. Only what a rank waits for makes its sleep longer. So if too few others show the scatter, it is a fixed
/// part of the longest sleep, `high` seconds.
pub fn of_sleep(others: &[f64], high: f64) -> f64 {
    let least = LEAST_OF_SLEEP * high;
    if others.len() < ENOUGH {
        return UNSEEN_SLEEP * high;
    }
    let by_chance = 1.0 + 4.0 / others.len() as f64;
    (by_chance * scatter(others)).max(least)
}

/// A scatter, as a share of the time, limited to what is possible on a machine that runs equal work.
pub fn bounded(share: f64) -> f64 {
    share.clamp(LEAST, MOST)
}

/// How many standard errors above zero a difference must be that is the largest of `family` differences: the largest of
/// n values of a normal distribution is seldom more than one standard error above √(2 ln n). Half of one more is added,
/// because the scatter of machines has more outliers than a normal distribution.
pub fn above_chance(family: f64) -> f64 {
    1.5 + (2.0 * family.max(1.0).ln()).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_measured_is_assumed() {
        let timing = Timing {
            after: Vec::new(),
            per_sample: 0.0,
        };
        assert_eq!(timing.noise(&[1.0], 2, &[]), UNSEEN);
        assert_eq!(timing.noise(&[1.0], 4, &[]), USUAL);
        assert_eq!(timing.noise(&[1.0; 8], 9, &[]), LEAST);
        let spread: Vec<f64> = (1..9).map(f64::from).collect();
        assert_eq!(timing.noise(&spread, 9, &[]), MOST);
        let timing = Timing {
            after: vec![(CtxId(1), 1.0, 0.03), (CtxId(2), 4.0, 0.01)],
            per_sample: 0.0,
        };
        assert_eq!(timing.noise(&[], 4, &[]), USUAL);
        assert_eq!(timing.noise(&[], 16, &[]), 0.0125);
        assert_eq!(timing.noise(&[], 16, &[CtxId(2)]), 0.0375);
        // Half of the ranks may scatter little by chance.
        assert_eq!(timing.noise(&[1.0; 8], 9, &[]), LEAST);
        assert_eq!(timing.noise(&[1.0; 8], 16, &[]), 0.0125);
    }

    #[test]
    fn few_samples_of_a_profile_scatter() {
        let timing = Timing {
            after: Vec::new(),
            per_sample: 0.01,
        };
        assert_eq!(timing.noise(&[1.0; 8], 8, &[]), 0.1);
        assert_eq!(timing.noise(&[1e4; 8], 8, &[]), LEAST);
    }

    #[test]
    fn sleep_is_known_better_than_work() {
        assert_eq!(of_sleep(&[0.0; 7], 1.0), LEAST_OF_SLEEP);
        assert_eq!(of_sleep(&[0.0; 2], 1.0), UNSEEN_SLEEP);
        let spread: Vec<f64> = (0..8).map(f64::from).collect();
        assert!(of_sleep(&spread, 1.0) > 1.0);
    }

    #[test]
    fn more_differences_to_choose_from_need_more() {
        assert!(above_chance(1.0) < above_chance(16.0));
        assert!((3.8..3.9).contains(&above_chance(16.0)));
    }
}
