//! What the tests ask of a run that was read back.

use headwater_model::run::{MpiCalls, Run};

/// The rows of the calls of one function.
pub fn calls<'r>(run: &'r Run, name: &'r str) -> impl Iterator<Item = &'r MpiCalls> {
    let all = run.calls.iter();
    all.filter(move |c| run.function(c.func) == name)
}

/// How often a function was called.
pub fn calls_of(run: &Run, name: &str) -> u64 {
    calls(run, name).map(|c| c.count).sum()
}

/// Messages both of whose ends were found.
pub fn joined(run: &Run) -> u64 {
    run.messages.iter().map(|m| m.sampled).sum()
}

/// Samples that were taken.
pub fn samples(run: &Run) -> u32 {
    run.samples.iter().map(|s| s.count).sum()
}

/// How many of the run's sentences about missing data have these words.
pub fn said(run: &Run, words: &str) -> usize {
    let missing = run.header.missing.iter();
    missing.filter(|m| m.contains(words)).count()
}
