//! What a planted cause truly costs, measured without Headwater.
//!
//! Where ranks share cores, pairs of whole runs are too noisy. So the bench's own layer measures the planted code
//! itself on each rank, and ΔT is what these seconds add to the figure of the run without them: the time of the
//! slowest rank, or what evening the ranks out would gain. Of what ranks do one after the other (turns, chains) it is
//! the sum over ranks. The noise is a jackknife over the runs.
//!
//! Of what does not shrink as it should, the part is taken off that it would have if it did.
//!
//! Messages that grow, and causes between threads, cost more than the planted code itself takes. For these ΔT comes
//! from interleaved pairs of runs with the dose and without: wall time on as many ranks as fit the cores.

use super::codes::{Code, Tree};
use super::plan::{What, Who, Wish};
use super::run::{Dose, Measured, Runner, cores};
use crate::figures::{median, scatter};
use serde::{Deserialize, Serialize};

/// A cost below so many times its noise is no case.
pub const NOISES: f64 = 3.0;

/// Interleaved pairs.
pub const PAIRS: usize = 5;

/// Runs with the dose whose planted code is measured.
pub const RUNS: usize = 3;

/// A rank that has more time to spare than this many times the wanted cost is no place for a cause.
pub const MOST_TO_SPARE: f64 = 5.0;

/// What ΔT is of.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Wall time of the run.
    Wall,
    /// CPU time and sleep outside MPI, of the slowest rank.
    Slowest,
    /// The same, less the mean over ranks: what evening the ranks out would gain.
    Evened,
    /// The same of all ranks together.
    Sum,
}

/// How a case is measured.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Yardstick {
    /// What of.
    pub measure: Measure,
    /// On so many ranks.
    pub ranks: u32,
    /// With the dose of so many ranks.
    pub as_of: u32,
    /// Whether it is the true gain, or only shows that the cause is there (the sum over ranks bounds what a chain
    /// or turns cost, as others may compute at the same time).
    pub exact: bool,
}

impl Yardstick {
    /// That of a wish for a code.
    pub fn of(wish: &Wish, code: &Code) -> Self {
        let largest = code.scales.last().copied().unwrap_or(2);
        let threads = if code.mpi { code.threads.max(1) } else { 1 };
        let fits = (cores() / threads).max(1).min(largest);
        let at_largest = |measure, exact| Self {
            measure,
            ranks: largest,
            as_of: largest,
            exact,
        };
        match wish.what {
            What::Message => Self {
                measure: Measure::Wall,
                ranks: fits.max(2).min(largest),
                as_of: largest,
                exact: true,
            },
            // Of one process, the others wait for what is planted; how long the late thread waited for others before is
            // not known.
            What::Thread | What::Serial if !code.mpi => {
                at_largest(Measure::Slowest, wish.what == What::Serial)
            }
            what if what.is_of_threads() => Self {
                measure: Measure::Wall,
                ranks: fits,
                as_of: largest,
                exact: true,
            },
            // No rank is without it, so mending it means to even it out.
            _ if wish.who == Who::Gradient => at_largest(Measure::Evened, true),
            What::Chain => at_largest(Measure::Sum, false),
            _ if wish.who == Who::Turns => at_largest(Measure::Sum, false),
            _ => at_largest(Measure::Slowest, true),
        }
    }

    /// The figure of ranks that are busy by themselves for so many seconds.
    fn of_ranks(&self, own: &[f64]) -> f64 {
        let most = own.iter().copied().fold(0.0, f64::max);
        let sum: f64 = own.iter().sum();
        match self.measure {
            Measure::Wall | Measure::Slowest => most,
            Measure::Evened => most - sum / own.len().max(1) as f64,
            Measure::Sum => sum,
        }
    }

    /// What planted seconds add to the figure, with ranks that take `own` seconds without them.
    pub fn added_to(&self, own: &[f64], planted: &[f64]) -> f64 {
        let with: Vec<f64> = own.iter().zip(planted).map(|(o, p)| o + p).collect();
        self.of_ranks(&with) - self.of_ranks(own)
    }

    /// By what the planted seconds must be multiplied to add `wanted` seconds to the figure; `None` where the ranks
    /// have too much time to spare.
    pub fn factor(&self, own: &[f64], planted: &[f64], wanted: f64) -> Option<f64> {
        let most = planted.iter().copied().fold(0.0, f64::max);
        if most <= 0.0 {
            return None;
        }
        let added = |factor: f64| {
            let scaled: Vec<f64> = planted.iter().map(|p| p * factor).collect();
            self.added_to(own, &scaled)
        };
        // What is added grows with the factor, or stays 0 at first.
        let (mut low, mut high) = (0.0, MOST_TO_SPARE * wanted / most);
        if added(high) < wanted {
            return None;
        }
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if added(middle) < wanted {
                low = middle;
            } else {
                high = middle;
            }
        }
        Some(high)
    }

    /// The environment for these ranks.
    pub fn environment(&self, dose: &Dose) -> Dose {
        let mut out = dose.clone();
        if self.ranks != self.as_of {
            out.push(("HW_SIZE".into(), self.as_of.to_string()));
        }
        out
    }
}

/// The measured cost.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Truth {
    /// How it was measured.
    pub yardstick: Yardstick,
    /// ΔT, seconds.
    pub seconds: f64,
    /// Standard error of ΔT, seconds; of pairs their scatter.
    pub noise: f64,
    /// ΔT over the run time that it is in, as with a core for each rank.
    pub share: f64,
    /// ΔT of each run or pair, seconds.
    pub each: Vec<f64>,
    /// Seconds of the planted code on each rank, mean over the runs; empty for pairs.
    pub planted: Vec<f64>,
    /// Executions of the planted code on each rank in the first run; empty for pairs.
    pub entries: Vec<u64>,
}

impl Truth {
    /// Makes all seconds so many times as long, in a run of `model` seconds.
    pub fn scale(&mut self, factor: f64, model: f64) {
        self.seconds *= factor;
        self.noise *= factor;
        self.share = self.seconds / model.max(1e-9);
        self.each.iter_mut().for_each(|e| *e *= factor);
    }

    /// Takes seconds off that mending the cause would not gain.
    pub fn lessen(&mut self, seconds: f64) {
        let left = (self.seconds - seconds).max(0.0);
        // They are one more measurement, as exact as this one.
        let part = seconds / self.seconds.max(f64::MIN_POSITIVE);
        self.noise = self.noise.hypot(self.noise * part);
        self.share *= left / self.seconds.max(f64::MIN_POSITIVE);
        self.each.iter_mut().for_each(|e| *e -= seconds);
        self.seconds = left;
    }

    /// Whether it is out of the noise.
    pub fn is_case(&self) -> bool {
        self.seconds > 0.0 && self.seconds >= NOISES * self.noise
    }
}

/// Measures the cost of a dose; `base` is a run without it on the yardstick's ranks.
pub fn measure(
    runner: &Runner,
    tree: &Tree,
    dose: &Dose,
    yardstick: Yardstick,
    base: &Measured,
) -> Result<Truth, String> {
    if yardstick.measure == Measure::Wall {
        return pairs(runner, tree, dose, yardstick);
    }
    let with = yardstick.environment(dose);
    let one = |_| runner.run(tree, yardstick.ranks, &with);
    let runs: Vec<Measured> = (0..RUNS).map(one).collect::<Result<_, _>>()?;
    Ok(of_runs(yardstick, base, &runs, tree.code().threads))
}

/// The cost by runs with the dose and one without.
fn of_runs(yardstick: Yardstick, base: &Measured, runs: &[Measured], threads: u32) -> Truth {
    let all: Vec<&Measured> = std::iter::once(base).chain(runs).collect();
    let cost = |of: &[&Measured]| {
        let (own, planted) = by_rank(of);
        yardstick.added_to(&own, &planted)
    };
    let without = |i: usize| {
        let others = all.iter().enumerate().filter(|(j, _)| *j != i);
        cost(&others.map(|(_, m)| *m).collect::<Vec<_>>())
    };
    let seconds = cost(&all);
    let parts: Vec<f64> = (0..all.len()).map(without).collect();
    let models: Vec<f64> = runs.iter().map(|m| m.model(threads)).collect();
    Truth {
        yardstick,
        seconds,
        noise: jackknife(&parts),
        share: seconds / median(&models).max(1e-9),
        each: runs.iter().map(|m| cost(&[base, m])).collect(),
        planted: by_rank(&all).1,
        entries: runs.first().map(Measured::entries).unwrap_or_default(),
    }
}

/// By rank: seconds of its own without the planted code, mean over all runs, and of the planted code, mean over those in
/// which it ran.
fn by_rank(runs: &[&Measured]) -> (Vec<f64>, Vec<f64>) {
    let ranks = runs.iter().map(|m| m.ranks.len()).min().unwrap_or(0);
    let mut sums = vec![(0.0, 0.0); ranks];
    for run in runs {
        for ((own, planted), r) in sums.iter_mut().zip(&run.ranks) {
            *own += r.own_seconds() - r.planted_seconds();
            *planted += r.planted_seconds();
        }
    }
    let dosed = |m: &&&Measured| m.entries().iter().any(|n| *n > 0);
    let (all, with) = (
        runs.len().max(1) as f64,
        runs.iter().filter(dosed).count().max(1) as f64,
    );
    sums.iter().map(|(o, p)| (o / all, p / with)).unzip()
}

/// Standard error of an estimate by the estimates that each leave one sample out (Quenouille 1956, Tukey 1958).
fn jackknife(parts: &[f64]) -> f64 {
    let n = parts.len().max(1) as f64;
    let mean = parts.iter().sum::<f64>() / n;
    let squares: f64 = parts.iter().map(|p| (p - mean).powi(2)).sum();
    ((n - 1.0) / n * squares).sqrt()
}

/// Measures pairs; which of the two goes first changes, so that drift falls on both.
fn pairs(runner: &Runner, tree: &Tree, dose: &Dose, yardstick: Yardstick) -> Result<Truth, String> {
    let with = yardstick.environment(dose);
    let (mut each, mut models) = (Vec::new(), Vec::new());
    for pair in 0..PAIRS {
        let mut doses = [with.clone(), Dose::new()];
        if pair % 2 == 1 {
            doses.reverse();
        }
        let first = runner.run(tree, yardstick.ranks, &doses[0])?;
        let second = runner.run(tree, yardstick.ranks, &doses[1])?;
        let (a, b) = if pair % 2 == 0 {
            (first, second)
        } else {
            (second, first)
        };
        each.push(a.wall() - b.wall());
        models.push(a.model(tree.code().threads));
    }
    let seconds = median(&each);
    Ok(Truth {
        yardstick,
        seconds,
        noise: scatter(&each),
        share: seconds / median(&models).max(1e-9),
        each,
        planted: Vec::new(),
        entries: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::interposer::RankFigures;
    use super::*;

    fn yardstick(measure: Measure) -> Yardstick {
        Yardstick {
            measure,
            ranks: 3,
            as_of: 3,
            exact: true,
        }
    }

    fn run(own: &[f64], planted: &[f64]) -> Measured {
        let one = |(own, planted): (&f64, &f64)| RankFigures {
            cpu_outside: own + planted,
            planted_cpu: *planted,
            planted_entries: u64::from(*planted > 0.0) * 7,
            wall: 3.0,
            ..Default::default()
        };
        Measured {
            ranks: own.iter().zip(planted).map(one).collect(),
            output: String::new(),
            elapsed: 3.0,
        }
    }

    #[test]
    fn a_cost_is_what_the_slowest_rank_takes_more() {
        let slowest = yardstick(Measure::Slowest);
        let (own, planted) = ([1.0, 2.0, 1.5], [0.0, 0.0, 0.75]);
        assert_eq!(slowest.added_to(&own, &planted), 0.25);
        assert_eq!(yardstick(Measure::Evened).added_to(&own, &planted), 0.0);
        assert_eq!(yardstick(Measure::Sum).added_to(&own, &planted), 0.75);
        // 0.7 s of the rank's own are needed to cost 0.2 s.
        let factor = slowest.factor(&own, &planted, 0.2).expect("a factor");
        assert!((factor * 0.75 - 0.7).abs() < 1e-6);
        assert_eq!(slowest.factor(&own, &planted, 0.1), None);
    }

    #[test]
    fn the_noise_of_a_cost_is_that_of_the_planted_code_and_of_the_ranks() {
        let slowest = yardstick(Measure::Slowest);
        let base = run(&[1.0, 1.0], &[0.0, 0.0]);
        let steady = [0.3; 3].map(|p| run(&[1.0, 1.0], &[0.0, p]));
        let truth = of_runs(slowest, &base, &steady, 1);
        assert!((truth.seconds - 0.3).abs() < 1e-9 && truth.noise < 1e-9);
        assert!(truth.is_case() && truth.entries == [0, 7]);
        let varied = [0.29, 0.30, 0.31].map(|p| run(&[1.0, 1.0], &[0.0, p]));
        let truth = of_runs(slowest, &base, &varied, 1);
        assert!((truth.seconds - 0.3).abs() < 1e-9);
        // Standard error of the mean of these three, about.
        assert!((0.005..0.007).contains(&truth.noise), "{}", truth.noise);
        // A run without the dose that was slower on another rank is noise too.
        let disturbed = run(&[1.4, 1.0], &[0.0, 0.0]);
        let truth = of_runs(slowest, &disturbed, &steady, 1);
        assert!(truth.noise > 0.05 && truth.seconds < 0.3);
    }
}
