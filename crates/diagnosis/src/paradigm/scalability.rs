//! Scalability analysis, the main job (PerFlow, Listing 7 and Figure 8): which places scale badly, in which places
//! ranks differ, what causes that, and the backtracking paths from where the time shows to where it is lost.
//!
//! The runs are prepared together, and places are marked. Finders propose causes, those between threads first, because
//! ranks are then compared by what these do not explain. Causes are moved to where the user can change something, put
//! in the order of their gain, and reported with their paths. The diagnosis is one of the outputs.

use super::{Options, Paradigm, Setting, Takes, begin_computing, scaling};
use crate::find::finder::Does;
use crate::find::{FINDERS, segments};
use headwater_dataflow::flow::{Flow, FlowError, Parameters, with};

pub(super) const PARADIGM: Paradigm = Paradigm {
    name: "scalability",
    about: "What slows the program down as ranks are added, where, and how it makes ranks wait: the diagnosis as tables",
    takes: Takes::Several,
    settings: &[Setting::Scaling, Setting::AbnormThreshold],
    build: flow,
    // The answer contains the notes.
    notes: |_| Vec::new(),
};

/// Name of the flow's output that is the diagnosis.
pub(crate) const DIAGNOSIS: &str = "diagnosis";

/// The dataflow for a number of runs.
pub(crate) fn flow(runs: usize, options: &Options) -> Result<Flow, FlowError> {
    let (mut flow, runs) = begin_computing("scalability", runs.max(1))?;
    let scales = flow.pass("scales", runs.clone(), scaling(options))?;
    let non_scalable = flow.pass("non-scalable", [scales], Parameters::none())?;
    let abnormal = flow.pass("abnormal", [scales], threshold(options))?;

    let (mut proposals, mut between_ranks) = (vec![scales], vec![scales]);
    for finder in &FINDERS {
        if let Does::Proposes(_) = finder.does {
            proposals.push(flow.pass(finder.name, [scales], least(options))?);
        }
    }
    let charge = flow.pass("charge", proposals, least(options))?;
    let charged = charge.output(1);
    for finder in &FINDERS {
        if let Does::Finds(_) = finder.does {
            let charged = finder.needs_charged.then_some(charged);
            let of = std::iter::once(scales.into()).chain(charged);
            let mut found = flow.pass(finder.name, of, least(options))?;
            if finder.name == segments::OF {
                found = flow.pass("uneven-segments", [scales, found], least(options))?;
            }
            between_ranks.push(found);
        }
    }

    let found = flow.pass("to-workers", between_ranks, Parameters::none())?;
    let found = flow.pass("to-program", [scales, found, charge], Parameters::none())?;
    let found = flow.pass("placement", [scales, found], Parameters::none())?;
    let found = flow.pass("ranked", [scales, found], Parameters::none())?;

    let marks = [scales, non_scalable, abnormal];
    let ways = flow.pass("ways-back", marks, Parameters::none())?;
    let delays = flow.pass("delays", [scales], Parameters::none())?;
    let inputs = [scales, found, ways, delays];
    let causes = flow.pass("causes", inputs, Parameters::none())?;
    let all = [scales, found, causes, non_scalable, abnormal];
    let diagnosis = flow.pass("diagnosis", all, Parameters::none())?;
    flow.output(DIAGNOSIS, diagnosis);

    for (name, pass, of) in [
        ("answer", "answer-table", diagnosis),
        ("causes", "cause-table", causes),
        ("paths", "cause-paths", causes),
    ] {
        let table = flow.pass(pass, [of], Parameters::none())?;
        flow.output(name, table);
    }
    let largest = flow.pass("largest", runs, Parameters::none())?;
    let delays = flow.pass("delay-cost", [largest], Parameters::none())?;
    let table = flow.pass("delay-costs", [delays], Parameters::none())?;
    flow.output("delay_cost", table);
    for (name, of, title, note) in [
        (
            "non_scalable",
            non_scalable,
            "Places that scale badly",
            "Time is the mean over ranks at the largest scale; slope and model are of the way to sum up in which most is lost.",
        ),
        (
            "abnormal",
            abnormal,
            "Places in which ranks differ",
            "Time is how much longer these ranks take than the others, at the largest scale.",
        ),
    ] {
        let words = with("name", name).with("title", title).with("note", note);
        let table = flow.pass("mark-table", [of], words)?;
        flow.output(name, table);
    }
    Ok(flow)
}

/// A parameter, if the user set another value than the default.
fn set(name: &str, value: f64, default: f64) -> Parameters {
    if value == default {
        Parameters::none()
    } else {
        with(name, value)
    }
}

fn threshold(options: &Options) -> Parameters {
    set(
        "threshold",
        options.abnorm_threshold,
        Options::default().abnorm_threshold,
    )
}

fn least(options: &Options) -> Parameters {
    set("least", options.least_share, Options::default().least_share)
}
