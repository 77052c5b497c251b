//! The critical path: the places that the run time consists of, and how much the run could gain if their work were even
//! (Böhme et al. 2012; Schmitt et al. 2017).

use super::{Options, Paradigm, Takes, begin_computing, table, what_is_missing};
use headwater_dataflow::flow::{Flow, FlowError, Parameters};

pub(super) const PARADIGM: Paradigm = Paradigm {
    name: "critical-path",
    about: "Places that the run time is made of, and what evening their work out could gain",
    takes: Takes::One,
    settings: &[],
    build,
    notes: what_is_missing,
};

fn build(runs: usize, _: &Options) -> Result<Flow, FlowError> {
    let (mut flow, runs) = begin_computing(PARADIGM.name, runs.min(1))?;
    let path = flow.pass("critical-path", runs, Parameters::none())?;
    let shown = flow.pass(
        "table",
        [path],
        table(
            "critical_path",
            "Computation on the critical path",
            "Imbalance is what a place has on the path beyond what ranks, or the threads of a team, compute there on the mean: the run could be so much shorter. Where threads wait for a lock, the path is where others hold it.",
            &[
                "name", "type", "debug-info", "called-from", "on_path", "path_share", "imbalance", "path_ranks", "path_threads",
            ],
        ),
    )?;
    flow.output("critical_path", shown);
    Ok(flow)
}
