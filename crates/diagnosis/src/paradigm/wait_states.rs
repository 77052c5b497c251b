//! The wait-state profile by Scalasca's names (Geimer et al. 2010).

use super::{Options, Paradigm, Takes, begin, what_is_missing};
use headwater_dataflow::flow::{Flow, FlowError, Parameters};

pub(super) const PARADIGM: Paradigm = Paradigm {
    name: "wait-states",
    about: "Waiting of ranks and threads by Scalasca's wait states, and for which calls",
    takes: Takes::One,
    settings: &[],
    build,
    notes: what_is_missing,
};

fn build(runs: usize, _: &Options) -> Result<Flow, FlowError> {
    let (mut flow, runs) = begin(PARADIGM.name, runs.min(1));
    let edges = flow.pass("edges", runs.clone(), Parameters::none())?;
    // If the rank or thread that was waited for is unknown, there is only the waiting vertex.
    let vertices = flow.pass("parallel", runs, Parameters::none())?;
    let edges = flow.pass("union", [edges, vertices], Parameters::none())?;
    for pass in ["wait-states", "wait-states-by-call"] {
        let table = flow.pass(pass, [edges], Parameters::none())?;
        flow.output(&pass.replace('-', "_"), table);
    }
    Ok(flow)
}
