//! Statistics of a score: shares with their intervals, medians with their scatter.

use serde::Serialize;

/// A share of programs with its 95 % interval.
#[derive(Clone, Debug, Serialize)]
pub struct Measure {
    /// What is counted.
    pub name: String,
    /// Hits, and runs that could have been one.
    pub hits: f64,
    /// See `hits`.
    pub runs: usize,
    /// Hits over runs, 0 to 1, and the interval's ends; `None` where there were no runs.
    pub share: Option<f64>,
    /// See `share`.
    pub interval: Option<(f64, f64)>,
}

impl Measure {
    /// Of values from 0 to 1, by run, over `programs` programs. Runs of one program are not
    /// independent, so the interval is that of as many trials as there are programs.
    pub fn new(name: &str, values: &[f64], programs: usize) -> Self {
        let hits = values.iter().fold(0.0, |sum, v| sum + v);
        let share = (!values.is_empty()).then(|| hits / values.len() as f64);
        Self {
            name: name.into(),
            hits,
            runs: values.len(),
            share,
            interval: share.map(|s| wilson(s, programs)),
        }
    }

    /// Prints it on one line.
    pub fn print(&self) {
        let (Some(share), Some((low, high))) = (self.share, self.interval) else {
            return println!("{:<36} no runs", self.name);
        };
        println!(
            "{:<36} {:>6.1} of {:<3} {:>5.1} %  (95 %: {:.0} to {:.0} %)",
            self.name,
            self.hits,
            self.runs,
            100.0 * share,
            low * 100.0,
            high * 100.0
        );
    }
}

/// Wilson's 95 % interval of a share seen in `n` trials.
pub fn wilson(share: f64, n: usize) -> (f64, f64) {
    if n == 0 {
        return (0.0, 1.0);
    }
    let (n, z) = (n as f64, 1.96f64);
    let middle = share + z * z / (2.0 * n);
    let spread = z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + z * z / n;
    (
        ((middle - spread) / scale).max(0.0),
        ((middle + spread) / scale).min(1.0),
    )
}

/// The middle value, 0 for none; of an even number the mean of the middle two.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |i: usize| sorted.get(i).copied().unwrap_or(0.0);
    0.5 * (at(sorted.len().saturating_sub(1) / 2) + at(sorted.len() / 2))
}

/// Standard deviation by the median absolute deviation, so that one disturbed run in a few
/// does not decide.
pub fn scatter(values: &[f64]) -> f64 {
    let middle = median(values);
    let off: Vec<f64> = values.iter().map(|v| (v - middle).abs()).collect();
    1.4826 * median(&off)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wilson_is_that_of_the_books() {
        let (low, high) = wilson(0.9, 10);
        assert!((low - 0.596).abs() < 1e-3 && (high - 0.982).abs() < 1e-3);
        assert_eq!(wilson(0.0, 0), (0.0, 1.0));
    }

    #[test]
    fn one_disturbed_pair_does_not_decide() {
        assert_eq!(median(&[1.0, 2.0, 90.0]), 2.0);
        assert_eq!(median(&[1.0, 2.0, 3.0, 90.0]), 2.5);
        assert!(scatter(&[1.0, 1.1, 0.9, 1.0, 50.0]) < 0.2);
    }
}
