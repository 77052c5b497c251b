//! Checks whether runs can be analysed, and whether they can be analysed together.

use crate::run::threads;
use headwater_model::run::{Header, Run};
use headwater_model::words;

/// Runs that cannot be analysed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// Nothing recorded.
    #[error(
        "run {0} has no activity in it; record it again and check that the program reaches its end"
    )]
    Empty(String),
    /// An impossible number of ranks.
    #[error(
        "run {0} says that it had {1} ranks, which no run has; its header is damaged, so record it again"
    )]
    Ranks(String, u32),
    /// Two runs with the same numbers of ranks and threads.
    #[error("runs {0} and {1} both have {2}; give one run for each scale")]
    SameScale(String, String, String),
    /// One recording, given twice.
    #[error("runs {0} and {1} are one recording; give each recording once")]
    Twice(String, String),
    /// Two builds.
    #[error("runs {0} and {1} are of different builds of {2}; record all scales with one build")]
    DifferentBuilds(String, String, String),
    /// A run whose number of threads is not known.
    #[error(
        "run {0} had more threads than are recorded, so it cannot be compared by its number of threads; record it with fewer threads in each process"
    )]
    ThreadsLost(String),
    /// Two programs.
    #[error("runs {0} and {1} are of different programs ({2} and {3}); give runs of one program")]
    DifferentPrograms(String, String, String, String),
}

/// More ranks than any machine runs; a larger number is a damaged file, not something to allocate.
const MOST_RANKS: u32 = 1 << 24;

/// Checks that a run can be put on a graph.
pub fn whole(run: &Run) -> Result<(), RunError> {
    let name = || run.header.name.clone();
    if run.ranks.is_empty() || run.segments.is_empty() && run.calls.is_empty() {
        return Err(RunError::Empty(name()));
    }
    if !(1..=MOST_RANKS).contains(&run.header.ranks) {
        return Err(RunError::Ranks(name(), run.header.ranks));
    }
    Ok(())
}

/// The file name of a run's program.
fn program(header: &Header) -> &str {
    header.program.rsplit('/').next().unwrap_or("")
}

/// The build id of a run's program, if it is known: as it was found when the run was recorded, or that of the module
/// with the program's name.
pub fn build(run: &Run) -> Option<&str> {
    let mut modules = run.modules.iter();
    let own = modules.find(|m| m.path.rsplit('/').next() == Some(program(&run.header)));
    let known = [Some(&run.header.build_id), own.map(|m| &m.build_id)];
    let known = known.into_iter().flatten().find(|id| !id.is_empty());
    known.map(String::as_str)
}

/// Checks that all runs are of the first one's program.
pub fn one_program(runs: &[&Run]) -> Result<(), RunError> {
    let Some((first, others)) = runs.split_first() else {
        return Ok(());
    };
    let mut others = others.iter();
    others.try_for_each(|other| same_program(&first.header, &other.header))
}

/// Checks that two runs are of one program.
pub fn same_program(a: &Header, b: &Header) -> Result<(), RunError> {
    if program(a) == program(b) {
        return Ok(());
    }
    let names = [&a.name, &b.name, program(a), program(b)].map(str::to_string);
    let [a, b, of_a, of_b] = names;
    Err(RunError::DifferentPrograms(a, b, of_a, of_b))
}

/// Checks that runs are one program and build at different scales; they ascend by scale.
pub fn scales(runs: &[&Run]) -> Result<(), RunError> {
    one_build(runs)?;
    let name = |run: &Run| run.header.name.clone();
    let lost =
        |run: &&&Run| !run.header.threads_lost.is_empty() && threads::of_scale(run).is_some();
    if let Some(run) = runs.iter().find(lost)
        && runs.len() > 1
    {
        return Err(RunError::ThreadsLost(name(run)));
    }
    for pair in runs.windows(2) {
        if let [a, b] = pair
            && threads::scale(a) == threads::scale(b)
        {
            let (_, ranks, threads) = threads::scale(a);
            let both = words::scale(ranks, threads);
            return Err(RunError::SameScale(name(a), name(b), both));
        }
    }
    Ok(())
}

/// Checks that recordings are of one program and build, and that none of them occurs twice.
pub fn recordings(runs: &[&Run]) -> Result<(), RunError> {
    one_build(runs)?;
    for (i, a) in runs.iter().enumerate() {
        let is_same = |b: &&&Run| a.header.ranks == b.header.ranks && a.segments == b.segments;
        let same = runs.iter().skip(i + 1).find(is_same);
        if let Some(b) = same.filter(|b| a.calls == b.calls) {
            let names = [a, *b].map(|r| r.header.name.clone());
            let [a, b] = names;
            return Err(RunError::Twice(a, b));
        }
    }
    Ok(())
}

/// Checks that runs are of one program and build.
fn one_build(runs: &[&Run]) -> Result<(), RunError> {
    one_program(runs)?;
    let mut known = runs.iter().filter_map(|run| Some((run, build(run)?)));
    if let Some((first, id)) = known.next()
        && let Some((other, _)) = known.find(|other| other.1 != id)
    {
        let program = program(&other.header).to_string();
        let [a, b] = [first, other].map(|run| run.header.name.clone());
        return Err(RunError::DifferentBuilds(a, b, program));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_model::run::Module;

    #[test]
    fn the_build_of_a_run_is_that_of_its_program() {
        let run = |header: &str, modules: &[(&str, &str)]| {
            let mut run = Run::default();
            run.header.program = "/home/u/app".into();
            run.header.build_id = header.into();
            let module = |(path, id): &(&str, &str)| Module {
                path: (*path).into(),
                build_id: (*id).into(),
            };
            run.modules = modules.iter().map(module).collect();
            run
        };
        for (header, modules, known) in [
            ("ab", &[("/home/u/app", "cd")][..], Some("ab")),
            (
                "",
                &[("/lib/libc.so.6", "ef"), ("/scratch/app", "cd")],
                Some("cd"),
            ),
            ("", &[("/home/u/app", "")], None),
            ("", &[], None),
        ] {
            assert_eq!(build(&run(header, modules)), known, "{header} {modules:?}");
        }
    }
}
