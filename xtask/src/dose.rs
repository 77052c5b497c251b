//! What a planted cause truly costs, and how small it may be and still be found.
//!
//! The true cost ΔT = T(with) − T(without) comes from interleaved pairs of bare runs, one with the
//! program's dose and one with none, as the machine's speed drifts. It is taken on as many ranks as
//! there are cores, as beyond that wall time shows the scheduler, and compared with the gain that a
//! diagnosis of that scale states.

use crate::figures::{median, scatter};
use crate::judge::matching;
use crate::mpi::Mpi;
use crate::score::diagnose;
use crate::shell::output;
use crate::testbed::Case;
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

/// A cost must be this many times the noise of its pairs; less is no case.
const NOISES: f64 = 3.0;

/// A sweep ends at this part of the dose.
const LEAST_PART: f64 = 1.0 / 64.0;

/// The true price of a case beside the stated one.
#[derive(Debug, Serialize)]
pub struct Price {
    /// Program.
    pub case: String,
    /// Ranks that it was taken on.
    pub ranks: u32,
    /// Seconds with the dose and without, medians.
    pub with_seconds: f64,
    /// See `with_seconds`.
    pub without_seconds: f64,
    /// ΔT: median difference within pairs, seconds.
    pub delta_seconds: f64,
    /// Scatter of those differences, seconds.
    pub noise_seconds: f64,
    /// Whether ΔT is above the noise.
    pub is_case: bool,
    /// Gain that the diagnosis states for the known causes together, seconds.
    pub stated_seconds: Option<f64>,
    /// |stated − ΔT| / ΔT.
    pub error: Option<f64>,
}

/// Ranks that need not share cores.
fn cores() -> u32 {
    std::thread::available_parallelism().map_or(2, |n| u32::try_from(n.get()).unwrap_or(2))
}

fn seconds(case: &Case, mpi: Mpi, ranks: u32, dose: f64) -> Result<f64, String> {
    let mut command = mpi.mpirun(ranks)?;
    case.manifest.prepare(mpi, &mut command);
    command
        .arg(&case.program)
        .args(case.manifest.arguments(ranks, Some(dose)));
    let start = Instant::now();
    output(&mut command)?;
    Ok(start.elapsed().as_secs_f64())
}

/// Prices a case; `None` for one without a dose.
pub fn price(case: &Case, mpi: Mpi, pairs: usize, out: &Path) -> Result<Option<Price>, String> {
    let Some(dose) = case.manifest.dose else {
        return Ok(None);
    };
    let scales = case.manifest.scales(mpi);
    let fits = scales.iter().copied().filter(|&n| n <= cores()).max();
    let ranks = case.manifest.price_ranks.or(fits).unwrap_or(1);
    let (mut with, mut without, mut differences) = (Vec::new(), Vec::new(), Vec::new());
    for pair in 0..pairs {
        // Which of the two goes first changes from pair to pair, so that drift falls on both.
        let mut doses = [dose, 0.0];
        if pair % 2 == 1 {
            doses.reverse();
        }
        let first = seconds(case, mpi, ranks, doses[0])?;
        let second = seconds(case, mpi, ranks, doses[1])?;
        let (a, b) = if pair % 2 == 0 {
            (first, second)
        } else {
            (second, first)
        };
        with.push(a);
        without.push(b);
        differences.push(a - b);
    }
    let (delta, noise) = (median(&differences), scatter(&differences));
    let is_case = delta >= NOISES * noise && delta > 0.0;
    // Half the ranks too, so that classes that compare scales can be seen at this one too.
    let below = if ranks > 1 {
        vec![ranks / 2, ranks]
    } else {
        vec![1]
    };
    let diagnosis = diagnose(case, mpi, &below, Some(dose), out)?;
    let known = case.manifest.cause.iter();
    let stated: Vec<f64> = known
        .filter_map(|k| matching(&diagnosis, k))
        .map(|c| c.gain_seconds)
        .collect();
    let stated = (!stated.is_empty()).then(|| stated.iter().sum::<f64>());
    Ok(Some(Price {
        case: case.name.clone(),
        ranks,
        with_seconds: median(&with),
        without_seconds: median(&without),
        delta_seconds: delta,
        noise_seconds: noise,
        is_case,
        stated_seconds: stated,
        error: stated
            .filter(|_| is_case)
            .map(|s| (s - delta).abs() / delta),
    }))
}

impl Price {
    /// Prints it on one line.
    pub fn print(&self) {
        let figure = |v: Option<f64>, unit: &str, by: f64| {
            v.map_or("–".into(), |v| format!("{:.2}{unit}", v * by))
        };
        println!(
            "{:<16} {} ranks: {:.2} s with, {:.2} s without; ΔT {:.3} ± {:.3} s{}; stated {}, off by {}",
            self.case,
            self.ranks,
            self.with_seconds,
            self.without_seconds,
            self.delta_seconds,
            self.noise_seconds,
            if self.is_case { "" } else { ": no case" },
            figure(self.stated_seconds, " s", 1.0),
            figure(self.error, " %", 100.0),
        );
    }
}

/// How far the dose of a case can be halved.
#[derive(Debug, Serialize)]
pub struct Sweep {
    /// Program.
    pub case: String,
    /// Doses tried, and whether the known place and class were among the causes.
    pub tried: Vec<(f64, bool)>,
    /// Smallest dose still found; `None` if not even the whole one was.
    pub smallest: Option<f64>,
    /// Share of the run time that it was said to gain.
    pub gain_share: Option<f64>,
}

/// Halves the dose until the main cause is no longer found; `None` for a case without a dose.
pub fn sweep(case: &Case, mpi: Mpi, out: &Path) -> Result<Option<Sweep>, String> {
    let (Some(whole), Some(main)) = (case.manifest.dose, case.manifest.cause.first()) else {
        return Ok(None);
    };
    let mut result = Sweep {
        case: case.name.clone(),
        tried: Vec::new(),
        smallest: None,
        gain_share: None,
    };
    let mut dose = whole;
    while dose >= whole * LEAST_PART {
        let diagnosis = diagnose(case, mpi, &case.manifest.scales(mpi), Some(dose), out)?;
        let cause = matching(&diagnosis, main);
        result.tried.push((dose, cause.is_some()));
        let Some(cause) = cause else { break };
        result.smallest = Some(dose);
        result.gain_share = Some(cause.gain_share);
        dose /= 2.0;
    }
    Ok(Some(result))
}

impl Sweep {
    /// Prints it on one line.
    pub fn print(&self) {
        let least = match (self.smallest, self.gain_share) {
            (Some(dose), Some(gain)) => {
                format!(
                    "found down to dose {dose:.4}, {:.1} % to gain",
                    gain * 100.0
                )
            }
            _ => "not found at its own dose".into(),
        };
        println!("{:<16} {least}", self.case);
    }
}
