//! What a planted cause truly costs, measured without Headwater.
//!
//! ΔT comes from interleaved pairs of runs of one binary, with the dose and without. Where all ranks of the largest
//! scale fit the cores, it is wall time; else CPU time (and sleep) outside MPI of the slowest rank. Of what ranks do
//! one after the other (turns, chains) it is the sum over ranks; of a gradient over ranks, what evening it out gains; of messages, and between threads, it is wall time
//! on as many ranks as fit, with the dose of the largest scale.

use super::codes::Tree;
use super::plan::{What, Who, Wish};
use super::run::{Dose, Measured, Runner, cores};
use crate::figures::{median, scatter};
use serde::{Deserialize, Serialize};

/// A cost below so many times the noise of its pairs is no case.
pub const NOISES: f64 = 3.0;

/// Interleaved pairs.
pub const PAIRS: usize = 5;

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
    /// That of a wish.
    pub fn of(wish: &Wish, largest: u32, threads: u32) -> Self {
        let fits = (cores() / threads.max(1)).max(1).min(largest);
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
            what if what.is_of_threads() => Self {
                measure: Measure::Wall,
                ranks: fits,
                as_of: largest,
                exact: true,
            },
            // No rank is without it, so mending it means to even it out.
            _ if wish.who == Who::Gradient => at_largest(Measure::Evened, true),
            _ if largest * threads <= cores() => at_largest(Measure::Wall, true),
            What::Chain => at_largest(Measure::Sum, false),
            _ if wish.who == Who::Turns => at_largest(Measure::Sum, false),
            _ => at_largest(Measure::Slowest, true),
        }
    }

    /// The figure of a run.
    pub fn figure(&self, run: &Measured) -> f64 {
        match self.measure {
            Measure::Wall => run.wall(),
            Measure::Slowest => run.slowest(),
            Measure::Evened => run.slowest() - run.mean(),
            Measure::Sum => run.sum(),
        }
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
    /// ΔT: median of the differences, seconds.
    pub seconds: f64,
    /// Scatter of the differences, seconds.
    pub noise: f64,
    /// ΔT over the run time that it is in, as with a core for each rank.
    pub share: f64,
    /// Differences, pair by pair, seconds.
    pub differences: Vec<f64>,
}

impl Truth {
    /// Whether it is out of the noise.
    pub fn is_case(&self) -> bool {
        self.seconds > 0.0 && self.seconds >= NOISES * self.noise
    }
}

/// Measures pairs; which of the two goes first changes, so that drift falls on both.
pub fn pairs(
    runner: &Runner,
    tree: &Tree,
    dose: &Dose,
    yardstick: Yardstick,
) -> Result<Truth, String> {
    let with = yardstick.environment(dose);
    let (mut differences, mut models) = (Vec::new(), Vec::new());
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
        differences.push(yardstick.figure(&a) - yardstick.figure(&b));
        models.push(a.model(tree.code().threads));
    }
    let seconds = median(&differences);
    Ok(Truth {
        yardstick,
        seconds,
        noise: scatter(&differences),
        share: seconds / median(&models).max(1e-9),
        differences,
    })
}
