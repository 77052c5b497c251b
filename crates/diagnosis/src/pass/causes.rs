//! The passes from candidates for causes to a diagnosis: they move causes to places that the user can change, set aside
//! those that are chance, merge those that are one, price them, and find the paths to them.

use crate::explain::cause_maker::{BacktrackingPaths, CauseMaker};
use crate::explain::{notes, words};
use crate::find::candidate::Candidates;
use crate::find::{placement, workers};
use crate::measure::floor::LEAST_SHARE;
use crate::measure::marks::Marks;
use crate::measure::scale::Scale;
use crate::measure::scales::Scales;
use crate::measure::{floor, pace, slight, unnamed};
use crate::pass::answer::Answer;
use crate::pass::found;
use crate::price::{account, delay, outside, ranked, stall, startup};
use headwater_dataflow::flow::{
    Call, Gives, Kind, Pass, PassError, Stage, StageResult, Value, counted,
};
use headwater_dataflow::run::threads;
use headwater_graph::VertexIx;
use headwater_model::diagnosis::{Cause, Diagnosis, SCHEMA};

/// Causes, the one with the largest gain first.
pub(super) struct Causes(pub(super) Vec<Cause>);

impl StageResult for Causes {
    const STAGE: Stage = Stage::new(&["causes", "causes"]);

    fn words(&self) -> String {
        counted(self.0.len(), "cause", "causes")
    }
}

type Does = fn(&Call<'_>) -> Result<Vec<Value>, PassError>;

/// A pass on stages of a diagnosis; with `more`, the last argument may occur several times.
struct Row {
    name: &'static str,
    about: &'static str,
    takes: &'static [(&'static str, Stage)],
    more: bool,
    gives: Stage,
    does: Does,
}

const ROWS: [Row; 8] = [
    Row {
        name: "to-workers",
        about: "Brings causes in which ranks wait for their own threads to where these compute.",
        takes: &[("scales", Scales::STAGE), ("candidates", Candidates::STAGE)],
        more: true,
        gives: Candidates::STAGE,
        does: to_workers,
    },
    Row {
        name: "to-program",
        about: "Brings causes in code that the user cannot mend to the loop or function around it.",
        takes: &[("scales", Scales::STAGE), ("candidates", Candidates::STAGE)],
        more: true,
        gives: Candidates::STAGE,
        does: to_program,
    },
    Row {
        name: "placement",
        about: "Sets causes aside that may be the machine: slow cores, and one stall at the largest scale alone.",
        takes: &[("scales", Scales::STAGE), ("candidates", Candidates::STAGE)],
        more: false,
        gives: Candidates::STAGE,
        does: placement,
    },
    Row {
        name: "ranked",
        about: "Causes in the order of what mending them would gain, each reported once; notes about what is too uncertain for a cause.",
        takes: &[("scales", Scales::STAGE), ("candidates", Candidates::STAGE)],
        more: false,
        gives: Candidates::STAGE,
        does: ranked,
    },
    Row {
        name: "ways-back",
        about: "Backtracking from the marked MPI calls, each on the rank that is longest in it.",
        takes: &[("scales", Scales::STAGE), ("marks", Marks::STAGE)],
        more: true,
        gives: BacktrackingPaths::STAGE,
        does: ways_back,
    },
    Row {
        name: "delays",
        about: "What the replayed waits are due to, by late rank and the call after which it was late.",
        takes: &[("scales", Scales::STAGE)],
        more: false,
        gives: delay::Costs::STAGE,
        does: delays,
    },
    Row {
        name: "causes",
        about: "Causes in words and figures, with the ways that lead to them.",
        takes: &[
            ("scales", Scales::STAGE),
            ("candidates", Candidates::STAGE),
            ("ways", BacktrackingPaths::STAGE),
            ("delays", delay::Costs::STAGE),
        ],
        more: false,
        gives: Causes::STAGE,
        does: causes,
    },
    Row {
        name: "diagnosis",
        about: "The whole answer.",
        takes: &[
            ("scales", Scales::STAGE),
            ("candidates", Candidates::STAGE),
            ("causes", Causes::STAGE),
            ("non-scalable", Marks::STAGE),
            ("abnormal", Marks::STAGE),
        ],
        more: false,
        gives: Answer::STAGE,
        does: diagnosis,
    },
];

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    ROWS.into_iter()
        .map(|row| {
            let mut pass = Pass::new(row.name, row.about, row.does);
            for (name, stage) in row.takes {
                pass = pass.takes(*name, Kind::Finding(*stage));
            }
            pass.more = row.more;
            pass.gives(Gives::Kind(Kind::Finding(row.gives)))
        })
        .collect()
}

/// The candidates of all arguments from the second on.
fn together(call: &Call<'_>) -> Result<Candidates, PassError> {
    let mut all = Candidates::default();
    for i in 1..call.inputs().len() {
        let more = call.found::<Candidates>(i)?.clone();
        all.found.extend(more.found);
        all.set_aside.extend(more.set_aside);
    }
    Ok(all)
}

fn to_workers(call: &Call<'_>) -> Result<Vec<Value>, PassError> {
    let (scales, mut all) = (call.found::<Scales>(0)?, together(call)?);
    if let Some((last, _)) = scales.last() {
        let contended = scales.teams.last().into_iter().flat_map(|t| &t.contended);
        let locks = contended.filter(|c| !c.allocator).map(|c| c.place);
        let locks: Vec<VertexIx> = locks.collect();
        all.found = workers::bring_there(scales.pag(), last, &locks, all.found);
    }
    found(all)
}

fn to_program(call: &Call<'_>) -> Result<Vec<Value>, PassError> {
    let (scales, mut all) = (call.found::<Scales>(0)?, together(call)?);
    if let Some((last, _)) = scales.last() {
        all.found = outside::bring_home(scales.pag(), last, all.found);
    }
    found(all)
}

fn placement(call: &Call<'_>) -> Result<Vec<Value>, PassError> {
    let (scales, mut all) = (call.found::<Scales>(0)?, together(call)?);
    if let Some((last, _)) = scales.last() {
        let set_aside = &mut all.set_aside;
        all.found.retain(|c| {
            let why = placement::chance(scales.pag(), last, c).or_else(|| stall::chance(scales, c));
            set_aside.extend(why.clone());
            why.is_none()
        });
    }
    found(all)
}

fn ranked(call: &Call<'_>) -> Result<Vec<Value>, PassError> {
    let (scales, mut all) = (call.found::<Scales>(0)?, together(call)?);
    let last = scales.last().map(|(last, _)| last);
    let least = last.map_or(0.0, |last| LEAST_SHARE * last.model_seconds());
    let found_all = ranked::without_sleep(scales.pag(), all.found, least);
    let ranks = last.map_or(0, |last| last.p);
    let (causes, notes) = ranked::divide(scales.pag(), found_all, ranks);
    all.found = ranked::ranked(scales.pag(), causes);
    all.set_aside.extend(notes);
    found(all)
}

fn ways_back(call: &Call<'_>) -> Result<Vec<Value>, PassError> {
    let scales = call.found::<Scales>(0)?;
    let mut marked = Vec::new();
    for i in 1..call.inputs().len() {
        marked.extend(call.found::<Marks>(i)?.0.iter().map(|m| m.0));
    }
    let (last, _) = scales.last().ok_or_else(nothing)?;
    found(BacktrackingPaths::new(scales, last, marked))
}

fn delays(call: &Call<'_>) -> Result<Vec<Value>, PassError> {
    let scales = call.found::<Scales>(0)?;
    let (last, _) = scales.last().ok_or_else(nothing)?;
    let costs = delay::in_windows(&last.replay, call.interrupted());
    call.go_on()?;
    found(costs)
}

fn causes(call: &Call<'_>) -> Result<Vec<Value>, PassError> {
    let scales = call.found::<Scales>(0)?;
    let (last, _) = scales.last().ok_or_else(nothing)?;
    let maker = CauseMaker {
        pag: scales.pag(),
        scales,
        last,
        ways: call.found(2)?,
        delays: call.found(3)?,
    };
    let mut causes = maker.causes(&call.found::<Candidates>(1)?.found);
    startup::put_among(&mut causes, startup::cause(scales));
    found(Causes(causes))
}

fn diagnosis(call: &Call<'_>) -> Result<Vec<Value>, PassError> {
    let scales = call.found::<Scales>(0)?;
    let (last, _) = scales.last().ok_or_else(nothing)?;
    let candidates = call.found::<Candidates>(1)?;
    let causes = call.found::<Causes>(2)?.0.clone();
    let marks = |i| -> Result<Vec<_>, PassError> {
        let marks = call.found::<Marks>(i)?;
        Ok(marks.0.iter().map(|m| m.1.clone()).collect())
    };
    let (runs, structures) = (scales.runs(), &scales.pag().structures);
    let mut missing = notes::missing(&runs, structures);
    missing.extend(last.unseen().cloned());
    if let Some(sentence) = notes::uncounted_instructions(last, &candidates.found, &missing) {
        missing.push(sentence);
    }
    let unnamed = unnamed::main(&runs, structures);
    let summaries = scales.summaries();
    let recorded = threads::recorded(&runs).into_iter().collect();
    let header = &last.run().header;
    let mut diagnosis = Diagnosis {
        schema: SCHEMA,
        program: header.program.clone(),
        mpi_library: header.mpi_library.clone(),
        scaling: scales.scaling,
        scaling_reason: scales.scaling_reason.clone(),
        scaling_certain: scales.scaling_certain,
        headline: Vec::new(),
        notes: [
            notes::notes(&scales.all),
            recorded,
            floor::sentence(last).into_iter().collect(),
            pace::sentence(scales).into_iter().collect(),
            slight::sentence(scales).into_iter().collect(),
            scales
                .all
                .iter()
                .filter_map(Scale::stopped)
                .cloned()
                .collect(),
            candidates.set_aside.clone(),
        ]
        .concat(),
        scales: summaries,
        account: account::account(scales, &candidates.found, &causes),
        causes,
        other_reading: None,
        non_scalable: marks(3)?,
        abnormal: marks(4)?,
        missing,
    };
    diagnosis.notes.extend(words::doubt(&diagnosis));
    let scaling = scales.comparable_scaling();
    diagnosis.headline = words::headline(&diagnosis, scaling, unnamed, startup::sentence(scales));
    found(Answer(diagnosis))
}

fn nothing() -> PassError {
    PassError::Argument("scales".to_string(), "there is no run in them".to_string())
}
