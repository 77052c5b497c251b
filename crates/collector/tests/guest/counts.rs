//! What the tests ask of a run that was read back.

use headwater_model::run::{MpiCalls, Run};

/// The rows of the calls of one function.
pub fn calls<'r>(run: &'r Run, name: &'r str) -> impl Iterator<Item = &'r MpiCalls> {
    run.calls.iter().filter(move |c| is(run, c.func, name))
}

/// How often a function was called.
pub fn calls_of(run: &Run, name: &str) -> u64 {
    calls(run, name).map(|c| c.count).sum()
}

/// Whether a function's number is that of the name.
pub fn is(run: &Run, func: u16, name: &str) -> bool {
    run.functions.get(func as usize).is_some_and(|f| f == name)
}

/// Messages both of whose ends were found.
pub fn joined(run: &Run) -> u64 {
    run.messages.iter().map(|m| m.sampled).sum()
}

/// Samples that were taken.
pub fn samples(run: &Run) -> u32 {
    run.samples.iter().map(|s| s.count).sum()
}

/// How many of the things that the run says are missing are told with these words.
pub fn said(run: &Run, words: &str) -> usize {
    let missing = run.header.missing.iter();
    missing.filter(|m| m.contains(words)).count()
}
