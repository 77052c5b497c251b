//! Contention diagnosis (PerFlow, Figure 14): hot vertices, those that grow from the first run to the last, what is
//! behind them, and patterns of waiting for one resource around them.

use super::{Paradigm, Takes, begin, table, what_is_missing};
use crate::diagnose::Options;
use crate::flow::{Flow, FlowError, Parameters, with};

pub(super) const PARADIGM: Paradigm = Paradigm {
    name: "contention",
    about: "Where threads and ranks wait for one resource; with two runs, what of it grows",
    takes: Takes::Several,
    settings: &[],
    build,
    notes: what_is_missing,
};

/// Vertices that are looked at.
const MOST: f64 = 30.0;

fn build(runs: usize, _: &Options) -> Result<Flow, FlowError> {
    let (mut flow, runs) = begin(PARADIGM.name, runs.max(1));
    let none = Parameters::none;
    let Some((last, earlier)) = runs.split_last() else {
        return Ok(flow);
    };
    let all = flow.pass("vertices", [*last], none())?;
    let mut looked = flow.pass("hotspot", [all], with("n", MOST))?;
    if let Some(first) = earlier.first() {
        let before = flow.pass("vertices", [*first], none())?;
        let grown = flow.pass("differential", [before, all], none())?;
        let grown = flow.pass("hotspot", [grown], with("n", MOST))?;
        let told = flow.pass(
            "table",
            [grown],
            table(
                "grown",
                "Places that take longer in the last run than in the first",
                "Seconds of all ranks and threads together.",
                &[
                    "name",
                    "type",
                    "debug-info",
                    "time",
                    "before_time",
                    "after_time",
                ],
            ),
        )?;
        flow.output("grown", told);
        looked = flow.pass("union", [grown, looked], none())?;
    }
    let spread = flow.pass("on-ranks", [looked, *last], none())?;
    let parallel = flow.pass("parallel", [*last], none())?;
    let waiting = flow.pass("filter", [parallel], with("where", "wait > 0"))?;
    let around = flow.pass("union", [spread, waiting], none())?;
    let behind = flow.pass("causal", [around], none())?;
    let found = flow.pass("contention", [around], none())?;
    let edges = flow.pass("contended", [found], none())?;
    let unheld = flow.pass("unheld", [parallel], none())?;
    let causes = flow.pass("over-ranks", [behind, *last], none())?;
    let causes = flow.pass("hotspot", [causes], with("n", MOST))?;
    let told = flow.pass(
        "table",
        [causes],
        table(
            "behind",
            "Places that are behind others, or that nothing is behind",
            "",
            &["name", "type", "debug-info", "time", "wait"],
        ),
    )?;
    flow.output("contention", edges);
    flow.output("unheld", unheld);
    flow.output("behind", told);
    Ok(flow)
}
