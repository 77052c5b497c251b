//! What the runs took of the machine, on one page.

use super::{Options, Paradigm, Takes, begin, what_is_missing};
use headwater_dataflow::flow::{Flow, FlowError, Parameters};

pub(super) const PARADIGM: Paradigm = Paradigm {
    name: "resources",
    about: "What runs took of the machine: memory, page faults, files, messages, energy, vector instructions",
    takes: Takes::Several,
    settings: &[],
    build,
    notes: what_is_missing,
};

/// The tables in their order, each with the pass that makes it.
const TABLES: [(&str, &str); 10] = [
    ("memory", "used-memory"),
    ("events", "used-events"),
    ("input_output", "used-files"),
    ("file_time", "used-file-time"),
    ("partners", "used-partners"),
    ("counters", "used-counters"),
    ("energy", "used-energy"),
    ("vectors", "used-vectors"),
    ("by_rank", "used-by-rank"),
    ("not_recorded", "not-recorded"),
];

fn build(runs: usize, _: &Options) -> Result<Flow, FlowError> {
    let (mut flow, runs) = begin(PARADIGM.name, runs.max(1));
    for (name, pass) in TABLES {
        let table = flow.pass(pass, runs.iter().copied(), Parameters::none())?;
        flow.output(name, table);
    }
    Ok(flow)
}
