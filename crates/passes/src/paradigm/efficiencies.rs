//! The POP project's efficiencies, of one run or over scales.

use super::{Paradigm, Takes, begin_computing, what_is_missing};
use crate::flow::{Flow, FlowError, Parameters};

pub(super) const PARADIGM: Paradigm = Paradigm {
    name: "efficiencies",
    about: "POP's efficiencies of each run; with several scales those of scaling too",
    takes: Takes::Several,
    build,
    notes: what_is_missing,
};

fn build(runs: usize) -> Result<Flow, FlowError> {
    let (mut flow, runs) = begin_computing(PARADIGM.name, runs.max(1))?;
    let told = flow.pass("efficiencies", runs, Parameters::none())?;
    flow.output("efficiencies", told);
    Ok(flow)
}
