//! Repeats a flow until its results no longer change (PerFlow, Figure 11).

use super::{Event, Flow, FlowError, Inputs, Runner, State, Value};

/// Runs `body` on the values `given`, then on its results in place of the first inputs, and so on, until it returns
/// what it got, metrics included, or `most` times. If the results repeat in a cycle, it ends with the last one. If they
/// still changed at the end, it reports [`State::Unsettled`].
pub(super) fn run(
    body: &Flow,
    most: usize,
    mut given: Vec<Value>,
    runner: &Runner<'_>,
) -> Result<Vec<Value>, FlowError> {
    let names: Vec<String> = body.inputs().map(|(name, _)| name.to_string()).collect();
    let mut settled = false;
    for _ in 0..most {
        let inputs: Inputs = names.iter().cloned().zip(given.iter().cloned()).collect();
        let made = body.run(&inputs, runner)?.0;
        settled = made.iter().zip(&given).all(|(m, g)| m.1.same(g));
        for (slot, (_, value)) in given.iter_mut().zip(made) {
            *slot = value;
        }
        if settled {
            break;
        }
    }
    if !settled {
        (runner.progress)(&Event {
            pass: body.name(),
            state: State::Unsettled,
            done: 0,
            of: 0,
        });
    }
    given.truncate(body.outputs.len());
    Ok(given)
}
