//! The main job: runs in, diagnosis out (ScalAna, section IV; DESIGN "detection"). It is one of the things that the
//! paradigm of scalability analysis returns.

use crate::explain::{reading, regions, repeat, words};
use crate::measure::recordings::Recordings;
use crate::measure::{absent, unnamed};
use crate::paradigm::{Options, scalability};
use crate::pass::Answer;
use headwater_dataflow::flow::{Cache, Flow, FlowError, Inputs, Runner, Value};
use headwater_dataflow::run::together::{self, RunError};
use headwater_dataflow::run::{Recorded, copy, threads};
use headwater_graph::Structures;
use headwater_model::diagnosis::{Diagnosis, Scaling};
use headwater_model::run::Run;

/// Why there is no diagnosis.
#[derive(Debug, thiserror::Error)]
pub enum DiagnoseError {
    /// Nothing given.
    #[error("no run was given; name at least one recorded run")]
    NoRuns,
    /// Runs that cannot be analysed, or not together.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The dataflow failed.
    #[error(transparent)]
    Flow(#[from] FlowError),
}

/// A diagnosis, and what it was made of.
#[derive(Clone, Debug)]
pub struct Diagnosed {
    /// The answer.
    pub diagnosis: Diagnosis,
    /// The runs on their graph, one for each scale.
    pub runs: Vec<Recorded>,
    /// The dataflow that made the answer.
    pub flow: Flow,
    /// What each node of the flow returned, in words; `None` for a node that was not needed.
    pub returned: Vec<Option<String>>,
}

/// What a flow returned.
struct Answered {
    diagnosis: Diagnosis,
    flow: Flow,
    returned: Vec<Option<String>>,
}

/// Finds the root causes as [`diagnose_runs`] does, and returns the answer alone.
///
/// # Errors
/// As [`diagnose_runs`].
pub fn diagnose(
    runs: Vec<Run>,
    structures: Structures,
    options: &Options,
) -> Result<Diagnosis, DiagnoseError> {
    Ok(diagnose_runs(runs, structures, options)?.diagnosis)
}

/// Finds the root causes of scaling loss in runs of one program at different scales. A scale may be recorded several
/// times: then all its recordings are diagnosed as one. Further diagnoses each leave out one recording of each scale,
/// which says how much to rely on the first one.
///
/// # Errors
/// Runs that do not belong together; see [`RunError`]. Problems *in* a run are reported in the diagnosis instead.
pub fn diagnose_runs(
    mut runs: Vec<Run>,
    structures: Structures,
    options: &Options,
) -> Result<Diagnosed, DiagnoseError> {
    if runs.is_empty() {
        return Err(DiagnoseError::NoRuns);
    }
    runs.iter().try_for_each(together::whole)?;
    together::recordings(&runs.iter().collect::<Vec<_>>())?;
    runs.iter_mut().for_each(absent::stand_in);
    let largest = runs.iter().max_by_key(|run| threads::scale(run));
    let iterations = largest.map(regions::sentences).unwrap_or_default();
    let recordings = Recordings::new(runs);
    let (first, notes, recordings) = if recordings.most() > 1 {
        (recordings.all(), Vec::new(), Some(recordings))
    } else {
        let (runs, notes) = recordings.into_runs();
        (runs, notes, None)
    };
    // Traces of other tools have symbols of their own.
    let is_ours = first.iter().all(|run| !run.is_imported());
    // Structures are large: they are copied only for further diagnoses.
    let kept = recordings.map(|all| (all, copy(&structures)));
    let recorded = Recorded::join_computing(first, structures)?;
    let joined: Vec<&Run> = recorded.iter().map(Recorded::run).collect();
    let graph = recorded.first().map(|r| &r.pag().structures);
    let unnamed = graph.and_then(|structures| unnamed::main(&joined, structures));
    let compared = joined.len() > 1 && same_pauses(&joined);
    let Answered {
        diagnosis: mut d,
        flow,
        returned,
    } = by_flow(&recorded, options)?;
    d.notes.extend(notes);
    d.notes.extend(iterations);
    if kept.is_none() && is_ours {
        d.notes.extend(repeat::advice(&d));
    }
    if let Some((recordings, structures)) = kept {
        let scaling = compared.then_some(d.scaling);
        let before = words::verdict(&d, scaling, unnamed.is_some());
        let same = Options {
            scaling: Some(d.scaling).filter(|s| *s != Scaling::Single),
            ..options.clone()
        };
        let mut without = Vec::new();
        for one in 0..recordings.most() {
            let runs = recordings.without(one);
            let recorded = Recorded::join_computing(runs, copy(&structures))?;
            without.push(by_flow(&recorded, &same)?.diagnosis);
        }
        repeat::judge(&mut d, &without, &recordings);
        let now = words::verdict(&d, scaling, unnamed.is_some());
        words::replace(&mut d.headline, &before, now);
    }
    let limit = |d: &mut Diagnosis| {
        if let Some(region) = &options.region {
            let scaling = compared.then_some(d.scaling);
            regions::limit(d, region, scaling, unnamed.is_some());
        }
    };
    limit(&mut d);
    if let Some(other) = reading::other(d.scaling).filter(|_| !d.scaling_certain) {
        let reversed = Options {
            scaling: Some(other),
            ..options.clone()
        };
        let mut other = by_flow(&recorded, &reversed)?.diagnosis;
        limit(&mut other);
        reading::join(&mut d, other, unnamed.as_ref());
    }
    Ok(Diagnosed {
        diagnosis: d,
        runs: recorded,
        flow,
        returned,
    })
}

/// Whether recording was paused as often at all scales.
fn same_pauses(runs: &[&Run]) -> bool {
    let mut times = runs.iter().map(|r| r.header.pauses());
    let first = times.next().flatten();
    first.is_some() && times.all(|t| t == first)
}

/// The diagnosis of one run for each scale.
fn by_flow(recorded: &[Recorded], options: &Options) -> Result<Answered, DiagnoseError> {
    let flow = scalability::flow(recorded.len(), options)?;
    let inputs: Inputs = (1..)
        .zip(recorded)
        .map(|(i, run)| (format!("run{i}"), Value::Run(run.clone())))
        .collect();
    let cache = Cache::default();
    let link = flow.output_link(scalability::DIAGNOSIS);
    let link = link.ok_or(DiagnoseError::NoRuns)?;
    let (given, steps) = flow.values_and_steps(&[link], &inputs, &Runner::quiet(&cache))?;
    let diagnosis = given.first().and_then(Value::found);
    let diagnosis = diagnosis.map(|Answer(d)| d.clone());
    let words = |values: &Vec<Value>| values.first().map(Value::words);
    Ok(Answered {
        diagnosis: diagnosis.ok_or(DiagnoseError::NoRuns)?,
        returned: steps.iter().map(words).collect(),
        flow,
    })
}
