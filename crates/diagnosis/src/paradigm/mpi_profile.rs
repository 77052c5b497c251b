//! The MPI profile: the sections that a user of mpiP expects (Vetter and Chambreau 2005).

use super::{Options, Paradigm, Takes, begin, what_is_missing};
use headwater_dataflow::flow::{Flow, FlowError, Parameters, with};

pub(super) const PARADIGM: Paradigm = Paradigm {
    name: "mpi-profile",
    about: "Time and bytes of MPI by task, call site and message size, as mpiP reports them",
    takes: Takes::One,
    settings: &[],
    build,
    notes: what_is_missing,
};

/// MPI calls, except those that start and end MPI: they are not part of the run time.
const CALLS: &str = "type == 'mpi-call' and class != 'start-or-end'";

fn build(runs: usize, _: &Options) -> Result<Flow, FlowError> {
    let (mut flow, runs) = begin(PARADIGM.name, runs.min(1));
    let all = flow.pass("vertices", runs.clone(), Parameters::none())?;
    let calls = flow.pass("filter", [all], with("where", CALLS))?;
    let tasks = flow.pass("time-by-task", runs, Parameters::none())?;
    flow.output("time_by_task", tasks);
    for pass in [
        "call-sites",
        "time-by-site",
        "sent-by-site",
        "time-by-site-and-rank",
        "sent-by-site-and-rank",
        "message-sizes",
    ] {
        let table = flow.pass(pass, [calls], Parameters::none())?;
        flow.output(&pass.replace('-', "_"), table);
    }
    Ok(flow)
}
