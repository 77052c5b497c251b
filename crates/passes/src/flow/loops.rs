//! A flow repeated until what it gives no longer changes (PerFlow, Figure 11).

use super::{Event, Flow, FlowError, Inputs, Runner, State, Value};

/// Runs `body` on `inputs`, then on what it gave in the place of the first ones, and so on: until it gives what
/// it was given, metrics included, or `most` times. Where it went in a circle of several sets it ends with the last one.
/// That it still changed in the end is told as [`State::Unsettled`].
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
