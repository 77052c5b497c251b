//! Iterative causal analysis (PerFlow, Figure 11): finds places in which ranks differ, and then repeatedly those of
//! them that are behind others, until the set no longer changes.

use super::{Options, Paradigm, Takes, begin_computing, table, what_is_missing};
use crate::pass::catalogue;
use headwater_dataflow::flow::{Flow, FlowError, Kind, Parameters, with};

pub(super) const PARADIGM: Paradigm = Paradigm {
    name: "causal",
    about: "Places in which ranks differ, and which of them are behind the others",
    takes: Takes::One,
    settings: &[],
    build,
    notes: what_is_missing,
};

/// Least waiting along which a delay can pass, and least lateness that counts: shares of the run time.
const LEAST: f64 = 0.005;

/// The causal analysis is repeated at most this many times.
const MOST: usize = 200;

fn build(runs: usize, _: &Options) -> Result<Flow, FlowError> {
    let (mut flow, runs) = begin_computing(PARADIGM.name, runs.min(1))?;
    let all = flow.pass("parallel", runs, Parameters::none())?;
    // Calls that start and end MPI are not part of the run time.
    let ours = "not (class == 'start-or-end')";
    let own = flow.pass("filter", [all], with("where", ours))?;
    let uneven = flow.pass("imbalance", [own], with("least", LEAST))?;
    let mut body = Flow::new("causal analysis", catalogue());
    let set = body.input("V", Kind::PARALLEL);
    let behind = body.pass("causal", [set], with("least", LEAST))?;
    body.output("V", behind);
    let causes = flow.repeat(body, [uneven], MOST);
    let columns = [
        "name",
        "type",
        "debug-info",
        "called-from",
        "rank",
        "thread",
        "time",
        "wait",
        "excess",
    ];
    let shown = flow.pass(
        "table",
        [causes],
        table(
            "causes",
            "Late places that nothing late is behind",
            "Excess is how much longer the late ranks are there than the others, on the mean.",
            &columns,
        ),
    )?;
    let all = flow.pass(
        "table",
        [uneven],
        table(
            "imbalanced",
            "All places in which ranks differ",
            "",
            &columns,
        ),
    )?;
    flow.output("causes", shown);
    flow.output("imbalanced", all);
    Ok(flow)
}
