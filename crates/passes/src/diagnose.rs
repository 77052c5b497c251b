//! The scalability analysis: runs in, diagnosis out (ScalAna, section IV; DESIGN "detection").

use crate::cause::Candidate;
use crate::charge::{self, Proposal};
use crate::marks;
use crate::recorded::{self, RunError};
use crate::scale::{self, Scale};
use crate::scaling::scaling_of;
use crate::teams::Teams;
use crate::teller::Teller;
use crate::times::Times;
use crate::{
    allocator, chain, communication, counted, efficiency, imbalance, lock_contention, moving,
    outside, placement, preempt, segments, serial, thread_imbalance, threads, unnamed, words, work,
    workers,
};
use headwater_graph::{Pag, Structures, VertexIx};
use headwater_model::diagnosis::{CauseClass, Diagnosis, SCHEMA, Scaling};
use headwater_model::run::Run;

/// Share of what a place costs by not shrinking that causes between threads must explain to be told instead.
const EXPLAINED: f64 = 0.5;

/// What the user may set.
#[derive(Clone, Debug)]
pub struct Options {
    /// Strong or weak scaling, if the user says; otherwise guessed.
    pub scaling: Option<Scaling>,
    /// How much longer than the others a rank must take (ScalAna's `AbnormThd`).
    pub abnorm_threshold: f64,
    /// Smallest share of the run time that a cause must cost to be told.
    pub least_share: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            scaling: None,
            abnorm_threshold: 1.3,
            least_share: 0.03,
        }
    }
}

/// Runs that cannot be analysed together.
#[derive(Debug, thiserror::Error)]
pub enum DiagnoseError {
    /// Nothing given.
    #[error("no run was given; name at least one recorded run")]
    NoRuns,
    /// A run that cannot be analysed by itself.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Two runs with the same number of ranks.
    #[error("runs {0} and {1} both have {2} ranks; give one run for each scale")]
    SameScale(String, String, u32),
    /// Two builds.
    #[error("runs {0} and {1} are of different builds of {2}; record all scales with one build")]
    DifferentBuilds(String, String, String),
    /// Two programs.
    #[error("runs {0} and {1} are of different programs ({2} and {3}); give runs of one program")]
    DifferentPrograms(String, String, String, String),
}

/// Checks that the runs belong together.
fn check(runs: &[Run]) -> Result<(), DiagnoseError> {
    let Some(first) = runs.first() else {
        return Err(DiagnoseError::NoRuns);
    };
    let base = |r: &Run| {
        r.header
            .program
            .rsplit('/')
            .next()
            .unwrap_or("")
            .to_string()
    };
    let main_build = |r: &Run| {
        let name = base(r);
        r.modules
            .iter()
            .find(|m| m.path.rsplit('/').next() == Some(&name))
            .map(|m| m.build_id.clone())
    };
    for run in runs {
        let name = |r: &Run| r.header.name.clone();
        recorded::check(run)?;
        if base(run) != base(first) {
            return Err(DiagnoseError::DifferentPrograms(
                name(first),
                name(run),
                base(first),
                base(run),
            ));
        }
        if let (Some(a), Some(b)) = (main_build(first), main_build(run))
            && a != b
        {
            return Err(DiagnoseError::DifferentBuilds(
                name(first),
                name(run),
                base(run),
            ));
        }
    }
    for pair in runs.windows(2) {
        if pair[0].header.ranks == pair[1].header.ranks {
            let n = |r: &Run| r.header.name.clone();
            return Err(DiagnoseError::SameScale(
                n(&pair[0]),
                n(&pair[1]),
                pair[0].header.ranks,
            ));
        }
    }
    Ok(())
}

/// Finds the root causes of scaling loss in runs of one program at different scales.
///
/// # Errors
/// Runs that do not belong together; see [`DiagnoseError`]. What is odd *in* a run is told in the
/// diagnosis instead.
pub fn diagnose(
    mut runs: Vec<Run>,
    structures: Structures,
    options: &Options,
) -> Result<Diagnosis, DiagnoseError> {
    runs.sort_by_key(|r| r.header.ranks);
    check(&runs)?;
    let (scaling, scaling_reason) = scaling_of(&runs, options.scaling);
    let mut missing = missing(&runs, &structures);
    missing.extend(runs.last().and_then(threads::unseen));
    let unnamed = unnamed::main(&runs, &structures);
    let recorded = threads::recorded(&runs);
    for run in &mut runs {
        recorded::prepare(run, &structures);
    }
    let pag = Pag::build(&mut runs, structures);
    let scales: Vec<Scale<'_>> = runs
        .iter()
        .zip(&pag.runs)
        .map(|(run, view)| Scale::new(&pag, run, view))
        .collect();
    let Some(last) = scales.last() else {
        return Err(DiagnoseError::NoRuns);
    };

    let times = Times::new(&pag, &scales);
    let time = last.model_seconds();
    let least = options.least_share * time;
    let teams: Vec<Teams> = scales.iter().map(|s| Teams::new(&pag, s)).collect();
    let of_threads = teams
        .last()
        .map_or_else(Vec::new, |t| proposals(&pag, last, t, least));
    let (of_threads, charged) = charge::price(last, of_threads, least);
    // Where a part of the program is missing of some ranks only, the others seem to do more.
    let alike = last.run.header.paused_alike();
    let compared = if scale::paused_alike(&scales) {
        &scales[..]
    } else {
        std::slice::from_ref(last)
    };
    let mut found = Vec::new();
    if alike {
        found = imbalance::find(&pag, last, &charged, options.abnorm_threshold, least);
    }
    if alike && unnamed.is_some() {
        // Single addresses hold a part of what the calls around them show whole.
        let whole = segments::find(&pag, last, options.abnorm_threshold, least);
        let covered = |c: &Candidate| {
            let told = |w: &Candidate| w.after.iter().any(|a| c.after.contains(a));
            c.class == CauseClass::UnevenWork && whole.iter().any(told)
        };
        found.retain(|c| !covered(c));
        found.extend(whole);
    }
    if alike {
        found.extend(moving::find(&pag, last, least));
    }
    // What causes between threads explain is told with them.
    let rest = |mut c: Candidate| {
        let explained = charged.inside(&pag, last, c.vertex, &c.ranks);
        (c.cost, c.gain) = (c.cost - explained, (c.gain - explained).max(0.0));
        let rest = explained <= EXPLAINED * (c.cost + explained) && c.cost >= least;
        rest.then_some(c)
    };
    let staying = work::find(&pag, compared, &times, scaling, least);
    found.extend(staying.into_iter().filter_map(rest));
    found.extend(communication::find(&pag, compared, scaling, least));
    if alike {
        found.extend(chain::find(last, time, least));
        found.extend(preempt::find(&pag, last, least));
    }
    let mut found = workers::bring_there(&pag, last, found);
    found.extend(of_threads);
    let mut found = outside::bring_home(&pag, found);
    let mut set_aside = Vec::new();
    found.retain(|c| {
        let why = placement::chance(&pag, last, c);
        set_aside.extend(why.clone());
        why.is_none()
    });
    // The dearest first; equal prices in the order of the graph.
    found.sort_by(|a, b| b.gain.total_cmp(&a.gain).then(a.vertex.cmp(&b.vertex)));
    let found = imbalance::remainders(&pag, told_once(&pag, found));

    let non_scalable = marks::non_scalable(&pag, compared, &times, scaling);
    let abnormal = if alike {
        marks::abnormal(&pag, &scales, &times, options.abnorm_threshold)
    } else {
        Vec::new()
    };
    if let Some(sentence) = untold(last, &found, &missing) {
        missing.push(sentence);
    }
    let teller = Teller::new(&pag, &scales, last, &times, &teams);
    let symptoms: Vec<VertexIx> = non_scalable.iter().chain(&abnormal).map(|m| m.0).collect();
    let causes = teller.causes(&found, symptoms);
    let summaries = efficiency::summaries(&scales, scaling);
    let scaling_told = (compared.len() > 1).then_some(scaling);
    Ok(Diagnosis {
        schema: SCHEMA,
        program: last.run.header.program.clone(),
        mpi_library: last.run.header.mpi_library.clone(),
        scaling,
        scaling_reason,
        headline: words::headline(&summaries, scaling_told, &causes, unnamed),
        notes: [notes(&scales), recorded.into_iter().collect(), set_aside].concat(),
        scales: summaries,
        causes,
        non_scalable: non_scalable.into_iter().map(|m| m.1).collect(),
        abnormal: abnormal.into_iter().map(|m| m.1).collect(),
        missing,
    })
}

/// Causes between threads at one scale, without a price; those that take less than `least` of all ranks together
/// may be missing.
fn proposals(pag: &Pag, scale: &Scale<'_>, teams: &Teams, least: f64) -> Vec<Proposal> {
    if teams.teams.is_empty() && teams.contended.is_empty() {
        return Vec::new();
    }
    let finders = [
        thread_imbalance::propose,
        lock_contention::propose,
        allocator::propose,
        serial::propose,
    ];
    finders
        .iter()
        .flat_map(|find| find(pag, scale, teams, least))
        .collect()
}

/// Computation that is done by one thread of each rank may be work that does not shrink as well: of two
/// causes at one place the dearer one is told, with what the other one says.
fn told_once(pag: &Pag, found: Vec<Candidate>) -> Vec<Candidate> {
    let mut out: Vec<Candidate> = Vec::new();
    for next in found {
        // What other classes lose at the same place is lost besides.
        let stays = |c: &Candidate| {
            use CauseClass::{NonShrinkingWork, SlowerWork};
            matches!(c.class, NonShrinkingWork | SlowerWork)
        };
        let serial = |c: &Candidate| c.class == CauseClass::SerialRegion;
        let same = |kept: &&mut Candidate| {
            (serial(kept) && stays(&next) || stays(kept) && serial(&next))
                && (pag.top.contains(kept.vertex, next.vertex)
                    || pag.top.contains(next.vertex, kept.vertex))
                && next.ranks.iter().all(|r| kept.ranks.contains(r))
        };
        match out.iter_mut().find(same) {
            Some(kept) => kept.evidence.push(match next.class {
                CauseClass::SerialRegion => format!(
                    "one thread of each rank does it while the others idle: sharing it among them would gain {}",
                    headwater_model::words::seconds(next.gain)
                ),
                class => format!(
                    "it is {} too, which costs {}",
                    class.words(),
                    headwater_model::words::seconds(next.gain)
                ),
            }),
            None => out.push(next),
        }
    }
    out
}

/// What the reader must know before the figures.
fn notes(scales: &[Scale<'_>]) -> Vec<String> {
    let mut out = Vec::new();
    let crowded: Vec<&Scale<'_>> = scales.iter().filter(|s| s.outnumbers()).collect();
    if let Some(last) = crowded.last() {
        let at: Vec<String> = crowded.iter().map(|s| s.p.to_string()).collect();
        let [one, what] = if last.threads > last.p {
            ["thread", "threads"]
        } else {
            ["rank", "ranks"]
        };
        out.push(format!(
            "With {} rank{} there were more {what} than cores ({}). Computation is therefore compared in CPU time, run times are those of the same run with a core for each {one}, and {:.0} % of the {one} time at {} ranks, spent waiting for a core, is set aside.",
            at.join(", "),
            if crowded.iter().all(|s| s.p == 1) { "" } else { "s" },
            last.cores,
            last.runq_share() * 100.0,
            last.p
        ));
    }
    let busy = || scales.iter().filter(|s| s.is_crowded() && !s.outnumbers());
    if busy().next().is_some() {
        let at: Vec<String> = busy().map(|s| s.p.to_string()).collect();
        let shares: Vec<String> = busy()
            .map(|s| format!("{:.0} %", s.runq_share() * 100.0))
            .collect();
        out.push(format!(
            "With {} rank{}, though there were cores enough, ranks ready to run were without one for {} of their time: other work ran there, or they share cores. That time is set aside; computation is compared in CPU time, and run times are those of the same run with a core for each rank.",
            at.join(", "),
            if busy().all(|s| s.p == 1) { "" } else { "s" },
            shares.join(", "),
        ));
    }
    let uneven = scales.iter().filter(|s| !s.run.header.paused_alike());
    let uneven: Vec<String> = uneven.map(|s| s.p.to_string()).collect();
    if !uneven.is_empty() {
        out.push(format!(
            "With {} ranks some paused recording more often than others (MPI_Pcontrol), so that more of the program is missing of them: these ranks' work is not compared with one another's.",
            uneven.join(", ")
        ));
    }
    if uneven.is_empty() && !scale::paused_alike(scales) {
        let times = scales.iter().map(|s| {
            let times = s.run.header.pauses().unwrap_or(0);
            format!(
                "{times} with {}",
                headwater_model::words::count(s.p as usize)
            )
        });
        out.push(format!(
            "Recording was not paused as often at all scales (MPI_Pcontrol: {}), so that it is not the same part of the program that they show: they are not compared.",
            times.collect::<Vec<_>>().join(", ")
        ));
    }
    let incomplete: Vec<String> = scales
        .iter()
        .filter(|s| !s.run.header.incomplete.is_empty())
        .map(|s| {
            let ranks: headwater_model::RankSet = s.run.header.incomplete.iter().copied().collect();
            format!(
                "{} ({})",
                s.run.header.name,
                headwater_model::words::ranks(&ranks, s.p, 40)
            )
        })
        .collect();
    if !incomplete.is_empty() {
        out.push(format!(
            "Some ranks did not reach MPI_Finalize; their data stop early: {}.",
            incomplete.join(", ")
        ));
    }
    out
}

/// Says once that more work cannot be told from slower work, where that matters and nobody said so.
fn untold(last: &Scale<'_>, found: &[Candidate], missing: &[String]) -> Option<String> {
    let matters = |c: &Candidate| {
        matches!(
            c.class,
            CauseClass::UnevenWork | CauseClass::NonShrinkingWork
        )
    };
    let said = missing.iter().any(|m| m.contains("instructions"));
    (found.iter().any(matters) && !said && !counted::counts_instructions(last)).then(|| {
        "Instructions were not counted: equal work that runs slower cannot be told from more work."
            .to_string()
    })
}

/// What could not be measured, said once.
fn missing(runs: &[Run], structures: &Structures) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let problems = structures.iter().flat_map(|(m, s)| {
        let own = !headwater_graph::is_runtime_library(&m.path);
        s.problems
            .iter()
            .filter(move |_| own)
            .map(move |p| format!("{}: {p}", m.path))
    });
    for sentence in runs
        .iter()
        .flat_map(|r| r.header.missing.iter().cloned())
        .chain(problems)
    {
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
    fn a_serial_region_takes_up_only_what_is_lost_by_the_same_work() {
        let pag = Pag::build(&mut [], Structures::default());
        let cause = |class, gain| Candidate {
            class,
            vertex: headwater_graph::TopDown::ROOT,
            ranks: vec![0, 1],
            cost: gain,
            gain,
            after: Vec::new(),
            evidence: Vec::new(),
            twins: Vec::new(),
            in_turn: false,
            team: None,
        };
        let told = |class| {
            let found = vec![cause(CauseClass::SerialRegion, 2.0), cause(class, 1.0)];
            told_once(&pag, found).len()
        };
        assert_eq!(told(CauseClass::NonShrinkingWork), 1);
        for other in [CauseClass::ThreadImbalance, CauseClass::UnevenWork] {
            assert_eq!(told(other), 2, "{other:?}");
        }
    }
}
