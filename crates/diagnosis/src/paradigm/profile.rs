//! The profile: where the time of one run goes, flat and as a tree.

use super::{Options, Paradigm, Takes, begin, what_is_missing};
use headwater_dataflow::flow::{Flow, FlowError, Parameters};

pub(super) const PARADIGM: Paradigm = Paradigm {
    name: "profile",
    about: "Where the time goes: by function, and by call path",
    takes: Takes::One,
    settings: &[],
    build,
    notes: what_is_missing,
};

fn build(runs: usize, _: &Options) -> Result<Flow, FlowError> {
    let (mut flow, runs) = begin(PARADIGM.name, runs.min(1));
    let all = flow.pass("vertices", runs, Parameters::none())?;
    for pass in ["flat-profile", "call-tree"] {
        let table = flow.pass(pass, [all], Parameters::none())?;
        flow.output(&pass.replace('-', "_"), table);
    }
    Ok(flow)
}
