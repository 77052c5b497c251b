//! Contention diagnosis (PerFlow, Figure 14): hot vertices, vertices that grow from the first run to the last, patterns
//! of waiting for one resource around them, and which places with such a problem are behind the others.

use super::{Options, Paradigm, Takes, begin, table, what_is_missing};
use headwater_dataflow::flow::{Flow, FlowError, NodeId, Parameters, with};

pub(super) const PARADIGM: Paradigm = Paradigm {
    name: "contention",
    about: "Where threads and ranks wait for one resource; with several runs, what of it grows",
    takes: Takes::Several,
    settings: &[],
    build,
    notes: what_is_missing,
};

/// Number of vertices that are examined.
const MOST: f64 = 30.0;

/// Late ranks must be longer at a place than the others by this share of the run time.
const LATE: f64 = 0.005;

/// Calls that start and end MPI are not part of the run time.
const OURS: &str = "not (class == 'start-or-end')";

/// Places of which more than a tenth of the time is new in the last run.
const GROWN: &str = "time > 0.1 * after_time";

fn build(runs: usize, _: &Options) -> Result<Flow, FlowError> {
    let (mut flow, runs) = begin(PARADIGM.name, runs.max(1));
    let none = Parameters::none;
    let Some((last, earlier)) = runs.split_last() else {
        return Ok(flow);
    };
    let all = flow.pass("vertices", [*last], none())?;
    let hot = flow.pass("hotspot", [all], with("n", MOST))?;
    let mut of_runs = Vec::new();
    for run in earlier {
        of_runs.push(flow.pass("vertices", [*run], none())?);
    }
    of_runs.push(all);
    let mut grew = Vec::new();
    if let [first, .., last] = of_runs[..] {
        let title = "Places that take longer in the last run than in the first";
        grew.push(grown(&mut flow, (first, last), "grown", title)?);
    }
    // What grows from each run to the next.
    for (i, pair) in (1..).zip(of_runs.windows(2)).filter(|_| of_runs.len() > 2) {
        let name = format!("grown_{i}_{}", i + 1);
        let title = format!("Places that take longer in run {} than in run {i}", i + 1);
        let grown = grown(&mut flow, (pair[0], pair[1]), &name, &title)?;
        if pair[1] == all {
            grew.push(grown);
        }
    }
    let looked = match grew[..] {
        [] => hot,
        _ => flow.pass("union", [&grew[..], &[hot]].concat(), none())?,
    };
    let spread = flow.pass("on-ranks", [looked, *last], none())?;
    let parallel = flow.pass("parallel", [*last], none())?;
    let waiting = flow.pass("filter", [parallel], with("where", "wait > 0"))?;
    let around = flow.pass("union", [spread, waiting], none())?;
    let found = flow.pass("contention", [around], none())?;
    let edges = flow.pass("contended", [found], none())?;
    let unheld = flow.pass("unheld", [parallel], none())?;
    flow.output("contention", edges);
    flow.output("unheld", unheld);
    if grew.is_empty() {
        return Ok(flow);
    }
    // Only places with a problem are tested for being behind others; to be hot is not a problem.
    let mut problems = vec![found];
    for grown in grew {
        let much = flow.pass("filter", [grown], with("where", GROWN))?;
        problems.push(flow.pass("on-ranks", [much, *last], none())?);
    }
    problems.push(flow.pass("imbalance", [parallel], with("least", LATE))?);
    let problems = flow.pass("union", problems, none())?;
    let problems = flow.pass("filter", [problems], with("where", OURS))?;
    let behind = flow.pass("causal", [problems], none())?;
    let causes = flow.pass("over-ranks", [behind, *last], none())?;
    let causes = flow.pass("hotspot", [causes], with("n", MOST))?;
    let shown = flow.pass(
        "table",
        [causes],
        table(
            "behind",
            "Places with a problem that are behind others, or that nothing is behind",
            "Of the places that grew, that differ over ranks or that are contended for.",
            &["name", "type", "debug-info", "called-from", "time", "wait"],
        ),
    )?;
    flow.output("behind", shown);
    Ok(flow)
}

/// The places that take longer in the second of two runs, as a table.
fn grown(
    flow: &mut Flow,
    (before, after): (NodeId, NodeId),
    name: &str,
    title: &str,
) -> Result<NodeId, FlowError> {
    let change = flow.pass("differential", [before, after], Parameters::none())?;
    let grown = flow.pass("hotspot", [change], with("n", MOST))?;
    let attributes = [
        "name",
        "type",
        "debug-info",
        "called-from",
        "time",
        "before_time",
        "after_time",
    ];
    let note = "Seconds of all ranks and threads together.";
    let shown = flow.pass("table", [grown], table(name, title, note, &attributes))?;
    flow.output(name, shown);
    Ok(grown)
}
