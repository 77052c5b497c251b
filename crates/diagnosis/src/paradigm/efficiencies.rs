//! The POP project's efficiencies, of one run or over scales.

use super::{Options, Paradigm, Setting, Takes, begin_computing, scaling, what_is_missing};
use headwater_dataflow::flow::{Flow, FlowError};

pub(super) const PARADIGM: Paradigm = Paradigm {
    name: "efficiencies",
    about: "POP's efficiencies of each run; with several scales those of scaling too",
    takes: Takes::Several,
    settings: &[Setting::Scaling],
    build,
    notes: what_is_missing,
};

fn build(runs: usize, options: &Options) -> Result<Flow, FlowError> {
    let (mut flow, runs) = begin_computing(PARADIGM.name, runs.max(1))?;
    let table = flow.pass("efficiencies", runs, scaling(options))?;
    flow.output("efficiencies", table);
    Ok(flow)
}
