//! Bare runs of a code under the bench's own layer.

use super::codes::{LONGEST_RUN, Tree};
use super::interposer::{self, RankFigures};
use crate::shell::output;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Environment of the planted code.
pub type Dose = Vec<(String, String)>;

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Measured {
    /// By rank.
    pub ranks: Vec<RankFigures>,
    /// What the program printed.
    pub output: String,
    /// Wall seconds from the launcher's start to its end.
    pub elapsed: f64,
}

impl Measured {
    /// Seconds that the busiest rank was busy by itself.
    pub fn slowest(&self) -> f64 {
        self.ranks
            .iter()
            .map(RankFigures::own_seconds)
            .fold(0.0, f64::max)
    }

    /// Seconds that each rank was busy by itself.
    pub fn own(&self) -> Vec<f64> {
        self.ranks.iter().map(RankFigures::own_seconds).collect()
    }

    /// Seconds of the planted code on each rank.
    pub fn planted(&self) -> Vec<f64> {
        self.ranks
            .iter()
            .map(RankFigures::planted_seconds)
            .collect()
    }

    /// The same of the rank that is longest in it.
    pub fn most_planted(&self) -> f64 {
        self.planted().into_iter().fold(0.0, f64::max)
    }

    /// Executions of the planted code on each rank.
    pub fn entries(&self) -> Vec<u64> {
        self.ranks.iter().map(|r| r.planted_entries).collect()
    }

    /// Wall seconds of the slowest rank.
    pub fn wall(&self) -> f64 {
        self.ranks.iter().map(|r| r.wall).fold(0.0, f64::max)
    }

    /// MPI calls of each rank, polls left out.
    pub fn calls(&self) -> Vec<u64> {
        self.ranks.iter().map(|r| r.calls).collect()
    }

    /// Seconds that the run would take with a core for each rank: wall time, less the part that ranks or threads
    /// beyond the cores add.
    pub fn model(&self, threads: u32) -> f64 {
        let busy = self.ranks.len() as f64 * f64::from(threads);
        let share = (f64::from(cores()) / busy).min(1.0);
        (self.wall() * share).max(self.slowest() / f64::from(threads))
    }
}

/// Cores of this machine.
pub fn cores() -> u32 {
    std::thread::available_parallelism().map_or(2, |n| u32::try_from(n.get()).unwrap_or(2))
}

/// Runs code under the layer in a directory for its figures.
#[derive(Clone, Debug)]
pub struct Runner {
    layer: PathBuf,
    figures: PathBuf,
    /// Seconds that a run may take.
    longest: u32,
}

/// How many times as long as usual a run may take, and seconds on top: planted code may make a program endless.
const PATIENCE: (f64, f64) = (8.0, 10.0);

impl Runner {
    /// Builds the layer; `place` is made anew for each run.
    pub fn new(place: &Path) -> Result<Self, String> {
        Ok(Self {
            layer: interposer::build()?,
            figures: place.join("figures"),
            longest: LONGEST_RUN,
        })
    }

    /// A clean run at each scale, by the longest of which others are limited.
    pub fn usual(
        &mut self,
        tree: &Tree,
        scales: &[u32],
    ) -> Result<BTreeMap<u32, Measured>, String> {
        let one = |&ranks: &u32| Ok((ranks, self.run(tree, ranks, &Dose::new())?));
        let runs: BTreeMap<u32, Measured> =
            scales.iter().map(one).collect::<Result<_, String>>()?;
        let elapsed = runs.values().map(|r| r.elapsed).fold(0.0, f64::max);
        let longest = PATIENCE.0 * elapsed + PATIENCE.1;
        self.longest = LONGEST_RUN.min(longest.ceil() as u32);
        Ok(runs)
    }

    /// One run.
    pub fn run(&self, tree: &Tree, ranks: u32, dose: &Dose) -> Result<Measured, String> {
        let _ = std::fs::remove_dir_all(&self.figures);
        std::fs::create_dir_all(&self.figures).map_err(|e| e.to_string())?;
        let text = |p: &Path| p.display().to_string();
        let mut environment = dose.clone();
        environment.push(("HW_BENCH_OUT".into(), text(&self.figures)));
        environment.push(("HW_DIR".into(), text(&self.figures)));
        if !tree.code().mpi {
            environment.push(("HW_BENCH_ALONE".into(), "1".into()));
        }
        // The launcher itself must not load the layer.
        let each = [
            "env".into(),
            format!("LD_PRELOAD={}", text(&self.layer)).into(),
        ];
        let start = Instant::now();
        let said = output(&mut tree.command_within(self.longest, ranks, &environment, &each)?)?;
        Ok(Measured {
            ranks: interposer::read(&self.figures, tree.code().processes(ranks))?,
            output: said,
            elapsed: start.elapsed().as_secs_f64(),
        })
    }
}

/// Whether two outputs are those of the same computation: as many lines, and the numbers that are alike in all but
/// a few, as times differ from run to run.
pub fn comparable(a: &str, b: &str) -> bool {
    let bad = |t: &str| {
        t.to_lowercase()
            .split(|c: char| !c.is_alphanumeric())
            .any(|w| w == "nan")
    };
    let (x, y): (Vec<&str>, Vec<&str>) = (
        a.split_whitespace().collect(),
        b.split_whitespace().collect(),
    );
    if bad(b) && !bad(a) {
        return false;
    }
    if x.len() != y.len() {
        // Lines that come only where time is left are few.
        let (short, long) = (x.len().min(y.len()), x.len().max(y.len()));
        return long - short <= 2 + long / 50;
    }
    let differ = x.iter().zip(&y).filter(|(p, q)| !alike(p, q)).count();
    differ <= 4 + x.len() / 4
}

fn alike(a: &str, b: &str) -> bool {
    if a == b {
        return true;
    }
    let number = |t: &str| {
        t.trim_matches(|c: char| !c.is_ascii_digit() && c != '-')
            .parse::<f64>()
    };
    match (number(a), number(b)) {
        (Ok(a), Ok(b)) => (a - b).abs() <= 1e-6 * a.abs().max(b.abs()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_may_differ_and_results_may_not() {
        let run = |time: &str, residual: &str| {
            let rows: Vec<String> = (0..9)
                .map(|i| format!("step {i} residual {residual}{i}"))
                .collect();
            format!("{}\ntime {time} s\n", rows.join("\n"))
        };
        assert!(comparable(&run("1.2", "1e-0"), &run("1.3", "1e-0")));
        let longer = format!("{}{}", run("1.2", "1e-0"), "more words here ".repeat(9));
        assert!(!comparable(&run("1.2", "1e-0"), &longer));
        assert!(!comparable("residual 1e-3", "residual nan"));
    }
}
