//! Notes for the reader of a diagnosis: what to know before reading the figures, and what could not be measured.

use crate::find::candidate::Candidate;
use crate::measure::counted;
use crate::measure::scale::{self, Scale};
use headwater_graph::Structures;
use headwater_model::diagnosis::CauseClass;
use headwater_model::run::Run;
use headwater_model::words::Subject;

/// What the reader must know before the figures.
pub fn notes(scales: &[Scale]) -> Vec<String> {
    let mut out = Vec::new();
    let crowded = scales.iter().filter(|s| s.is_crowded() && s.outnumbers());
    let crowded: Vec<&Scale> = crowded.collect();
    if let Some(last) = crowded.last() {
        let at: Vec<String> = crowded.iter().map(|s| s.figure()).collect();
        let [one, what] = if last.threads > last.p {
            ["thread", "threads"]
        } else {
            ["rank", "ranks"]
        };
        out.push(format!(
            "With {} {} there were more {what} than cores ({}). Computation is therefore compared in CPU time, run times are those of the same run with a core for each {one}, and {:.0} % of the {one} time at {}, spent waiting for a core, is set aside.",
            at.join(", "),
            unit(&crowded),
            last.cores,
            last.runq_share() * 100.0,
            last.words()
        ));
    }
    let busy = || scales.iter().filter(|s| s.is_crowded() && !s.outnumbers());
    if busy().next().is_some() {
        let at: Vec<String> = busy().map(Scale::figure).collect();
        let ranks = busy().find(|s| !s.subject().is_process());
        let one = ranks.map_or(Subject::Process, Scale::subject).one();
        let shares: Vec<String> = busy()
            .map(|s| format!("{:.0} %", s.runq_share() * 100.0))
            .collect();
        out.push(format!(
            "With {} {}, though there were cores enough, {one}s ready to run were without one for {} of their time: other work ran there, or they share cores. That time is set aside; computation is compared in CPU time, and run times are those of the same run with a core for each {one}.",
            at.join(", "),
            unit(&busy().collect::<Vec<_>>()),
            shares.join(", "),
        ));
    }
    let uneven = scales.iter().filter(|s| !s.run().header.paused_alike());
    let uneven: Vec<String> = uneven.map(|s| s.p.to_string()).collect();
    if !uneven.is_empty() {
        out.push(format!(
            "With {} ranks some paused recording more often than others, so that more of the program is missing of them: these ranks' work is not compared with one another's.",
            uneven.join(", ")
        ));
    }
    if uneven.is_empty() && !scale::paused_alike(scales) {
        let times = scales.iter().map(|s| {
            let times = s.run().header.pauses().unwrap_or(0);
            format!("{times} with {}", s.words())
        });
        out.push(format!(
            "Recording was not paused as often at all scales ({}), so that it is not the same part of the program that they show: they are not compared.",
            times.collect::<Vec<_>>().join(", ")
        ));
    }
    let so_far = |s: &&Scale| s.run().header.so_far();
    out.extend(scales.iter().filter_map(|s| so_far(&s)));
    let incomplete: Vec<String> = scales
        .iter()
        .filter(|s| !s.run().header.incomplete.is_empty() && so_far(s).is_none())
        .map(|s| {
            let ranks: headwater_model::RankSet =
                s.run().header.incomplete.iter().copied().collect();
            format!(
                "{} ({})",
                s.run().header.name,
                headwater_model::words::ranks(&ranks, s.p, 40)
            )
        })
        .collect();
    let uses_mpi = scales.iter().any(|s| !s.run().is_without_mpi());
    if !incomplete.is_empty() && !uses_mpi {
        out.push(format!(
            "The program did not end by itself; its data stop early: {}.",
            incomplete.join(", ")
        ));
    } else if !incomplete.is_empty() {
        out.push(format!(
            "Some ranks did not reach MPI_Finalize; their data stop early: {}.",
            incomplete.join(", ")
        ));
    }
    out
}

/// What the figures of some scales count.
fn unit(scales: &[&Scale]) -> &'static str {
    let unit = scales.last().map_or("ranks", |s| s.unit());
    match unit {
        "ranks" if scales.iter().all(|s| s.p == 1) => "rank",
        "threads" if scales.iter().all(|s| s.size == 1) => "thread",
        unit => unit,
    }
}

/// A sentence that more work cannot be distinguished from slower work, if that matters and no other sentence says it.
pub fn uncounted_instructions(
    last: &Scale,
    found: &[Candidate],
    missing: &[String],
) -> Option<String> {
    let matters = |c: &Candidate| {
        matches!(
            c.class,
            CauseClass::UnevenWork | CauseClass::NonShrinkingWork
        )
    };
    let said = missing.iter().any(|m| m.contains("instructions"));
    (found.iter().any(matters) && !said && !counted::counts_instructions(last)).then(|| {
        "Instructions were not counted: equal work that runs slower cannot be distinguished from more work."
            .to_string()
    })
}

/// What could not be measured, each sentence once; what is not said of all runs names those of which it is.
pub fn missing(runs: &[&Run], structures: &Structures) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let problems = structures.iter().flat_map(|(m, s)| {
        let own = !headwater_graph::is_runtime_library(&m.path);
        s.problems
            .iter()
            .filter(move |_| own)
            .map(move |p| format!("{}: {p}", m.path))
    });
    let of_runs = runs.iter().flat_map(|r| &r.header.missing).map(|sentence| {
        let says = |r: &&&Run| r.header.missing.contains(sentence);
        let which: Vec<&str> = (runs.iter().filter(says))
            .map(|r| r.header.name.as_str())
            .collect();
        match which.len() == runs.len() {
            true => sentence.clone(),
            false => format!("{}: {sentence}", which.join(", ")),
        }
    });
    for sentence in of_runs.chain(problems) {
        if !out.contains(&sentence) {
            out.push(sentence);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_in_some_runs_names_them() {
        let run = |name: &str, said: &[&str]| {
            let mut run = Run::default();
            run.header.name = name.into();
            run.header.missing = said.iter().map(|s| s.to_string()).collect();
            run
        };
        let runs = [
            run("a.1", &["X."]),
            run("a.2", &["X.", "Y."]),
            run("a.4", &["X.", "Y."]),
        ];
        let runs: Vec<&Run> = runs.iter().collect();
        let said = missing(&runs, &Structures::default());
        assert_eq!(said, ["X.", "a.2, a.4: Y."]);
        assert_eq!(missing(&runs[1..], &Structures::default()), ["X.", "Y."]);
    }
}
