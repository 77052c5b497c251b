//! Communication analysis (PerFlow, Listing 1 and Figure 2): the calls that take longest, those of them in which
//! ranks differ, and why.

use super::{Options, Paradigm, Takes, begin, table, what_is_missing};
use headwater_dataflow::flow::{Flow, FlowError, Parameters, with};

pub(super) const PARADIGM: Paradigm = Paradigm {
    name: "communication",
    about: "Communication calls that take longest, in which of them ranks differ, and why",
    takes: Takes::One,
    settings: &[],
    build,
    notes: what_is_missing,
};

fn build(runs: usize, _: &Options) -> Result<Flow, FlowError> {
    let (mut flow, runs) = begin(PARADIGM.name, runs.min(1));
    let all = flow.pass("vertices", runs.clone(), Parameters::none())?;
    let named = flow.pass("filter", [all], with("name", "MPI_*"))?;
    let calls = flow.pass("filter", [named], with("where", "class != 'start-or-end'"))?;
    let hot = flow.pass("hotspot", [calls], Parameters::none())?;
    let uneven = flow.pass("imbalance", [hot], Parameters::none())?;
    let why = flow.pass("breakdown", [uneven], Parameters::none())?;
    let all_why = flow.pass("breakdown", [hot], Parameters::none())?;
    let hot = flow.pass(
        "table",
        [all_why],
        table(
            "hotspots",
            "Communication calls that take longest",
            "Seconds, calls and bytes of all ranks together. The reason is the largest part of what late ranks take longer, or of the mean time where ranks are alike.",
            &["name", "debug-info", "called-from", "time", "comm-info", "reason"],
        ),
    )?;
    let uneven = flow.pass(
        "table",
        [why],
        table(
            "imbalanced",
            "Calls in which ranks differ, and why",
            "Of a late rank, on the mean: how much longer it is in the call than the others, and how that divides.",
            &[
                "name",
                "debug-info",
                "called-from",
                "late_ranks",
                "excess",
                "load_before",
                "waiting",
                "calls",
                "message_size",
                "transfer",
                "reason",
            ],
        ),
    )?;
    flow.output("hotspots", hot);
    flow.output("imbalanced", uneven);
    let matrix = flow.pass("communication-matrix", runs, Parameters::none())?;
    let matrix = flow.pass(
        "table",
        [matrix],
        table(
            "matrix",
            "Who sends to whom, and waits for whom",
            "Messages and bytes that the first rank sends to the second. Of waiting, late sender and collectives are the second's for the first, and late receiver the first's for the second.",
            &[
                "from",
                "to",
                "messages",
                "bytes",
                "late_sender",
                "late_receiver",
                "collective_wait",
            ],
        ),
    )?;
    flow.output("matrix", matrix);
    Ok(flow)
}
