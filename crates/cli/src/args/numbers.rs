//! Numbers of the command line, each with what is said of a wrong one.

use std::ops::RangeInclusive;

/// A ratio that says something: at least 1.
pub(super) fn ratio(word: &str) -> Result<f64, String> {
    number(word, 1.0..=f64::MAX, "give a number from 1 on, as 1.3")
}

/// A share, 0 to 1.
pub(super) fn share(word: &str) -> Result<f64, String> {
    number(word, 0.0..=1.0, "give a share from 0 to 1, as 0.05")
}

fn number(word: &str, within: RangeInclusive<f64>, advice: &str) -> Result<f64, String> {
    let number = word.parse().ok().filter(|n| within.contains(n));
    number.ok_or_else(|| advice.to_string())
}

/// A number of ranks: at least one.
pub(super) fn ranks(word: &str) -> Result<u32, String> {
    let number = word.parse().ok().filter(|n| *n > 0);
    number.ok_or_else(|| match word {
        "p" => "write -n, not -np".to_string(),
        _ => "give each number of ranks, from 1 on, as 2,4,8".to_string(),
    })
}

/// A number of threads: at least one, and no more than any process has.
pub(super) fn threads(word: &str) -> Result<u32, String> {
    let number = word.parse().ok().filter(|n| (1..=65_536).contains(n));
    number.ok_or_else(|| "give each number of threads, from 1 on, as 1,2,4".to_string())
}

/// How many: at least one.
pub(super) fn count(word: &str) -> Result<usize, String> {
    let number = word.parse().ok().filter(|n| *n > 0);
    number.ok_or_else(|| "give a whole number from 1 on".to_string())
}

/// Samples per second of a profile of others.
pub(super) fn sampling_hz(word: &str) -> Result<u32, String> {
    let rates = headwater_import::SAMPLING_RATES;
    let number = word.parse().ok().filter(|n| rates.contains(n));
    let (least, most) = (rates.start(), rates.end());
    number.ok_or_else(|| format!("give a whole number from {least} to {most}"))
}
