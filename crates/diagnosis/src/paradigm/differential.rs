//! The differential of two runs or two builds (PerFlow, section 4.3.2 B): what takes longer, and what takes less long.

use super::{Options, Paradigm, Takes, begin, table, what_is_missing};
use headwater_dataflow::flow::{Flow, FlowError, Parameters, with};

pub(super) const PARADIGM: Paradigm = Paradigm {
    name: "differential",
    about: "What takes longer, and what less long, in the second of two runs or builds than in the first",
    takes: Takes::Two,
    settings: &[],
    build,
    notes: what_is_missing,
};

fn build(_: usize, _: &Options) -> Result<Flow, FlowError> {
    let (mut flow, runs) = begin(PARADIGM.name, 2);
    let sets: Result<Vec<_>, _> = runs
        .iter()
        .map(|run| flow.pass("vertices", [*run], Parameters::none()))
        .collect();
    let change = flow.pass("differential", sets?, Parameters::none())?;
    let changed = [
        ("grown", "longer", "time > 0", false),
        ("shrunk", "less long", "time < 0", true),
    ];
    for (name, how, which, ascending) in changed {
        let some = flow.pass("filter", [change], with("where", which))?;
        let order = with("by", "time").with("ascending", ascending);
        let sorted = flow.pass("sort", [some], order)?;
        let shown = flow.pass(
            "table",
            [sorted],
            table(
                name,
                &format!("Places that take {how} in the second run"),
                "Own seconds of all ranks and threads together: the change, and what it was in the first and is in the second.",
                &[
                    "name", "type", "debug-info", "called-from", "time", "before_time", "after_time", "wait", "count",
                ],
            ),
        )?;
        flow.output(name, shown);
    }
    Ok(flow)
}
