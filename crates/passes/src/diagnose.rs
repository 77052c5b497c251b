//! The main job: runs in, diagnosis out (ScalAna, section IV; DESIGN "detection"). It is one of the things that the
//! paradigm of scalability analysis gives.

use crate::flow::{Cache, FlowError, Inputs, Runner, Value};
use crate::paradigm::scalability;
use crate::recorded::Recorded;
use crate::together::{self, RunError};
use headwater_graph::Structures;
use headwater_model::diagnosis::{Diagnosis, Scaling};
use headwater_model::run::Run;

/// What the user may set.
#[derive(Clone, Debug)]
pub struct Options {
    /// Strong or weak scaling, if the user says; otherwise guessed.
    pub scaling: Option<Scaling>,
    /// How many times longer late ranks must take for a place to be listed as abnormal (ScalAna's `AbnormThd`); causes do
    /// not depend on it.
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

/// Finds the root causes of scaling loss in runs of one program at different scales.
///
/// # Errors
/// Runs that do not belong together; see [`RunError`]. What is odd *in* a run is told in the diagnosis instead.
pub fn diagnose(
    mut runs: Vec<Run>,
    structures: Structures,
    options: &Options,
) -> Result<Diagnosis, DiagnoseError> {
    if runs.is_empty() {
        return Err(DiagnoseError::NoRuns);
    }
    runs.sort_by_key(|r| r.header.ranks);
    runs.iter().try_for_each(together::whole)?;
    together::scales(&runs.iter().collect::<Vec<_>>())?;
    let recorded = Recorded::join_computing(runs, structures)?;
    let flow = scalability::flow(recorded.len(), options)?;
    let inputs: Inputs = (1..)
        .zip(recorded)
        .map(|(i, run)| (format!("run{i}"), Value::Run(run)))
        .collect();
    let cache = Cache::default();
    let given = flow.run_only(&[scalability::DIAGNOSIS], &inputs, &Runner::quiet(&cache))?;
    let diagnosis = given.get(scalability::DIAGNOSIS).and_then(Value::diagnosis);
    diagnosis.cloned().ok_or(DiagnoseError::NoRuns)
}
