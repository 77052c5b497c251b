//! Answers in sentences, and how places are named in them.

use headwater_model::diagnosis::{Cause, CauseClass, Place, ScaleSummary, Scaling};
use headwater_model::psg::VertexKind;
use headwater_model::words::{self, location};

/// Below this global (or parallel) efficiency a run has lost time, whether a cause was found or not:
/// the accepted mark of the POP project.
const ACCEPTED: f64 = 0.8;

/// Characters that the ranks of a sentence may take.
const ROOM: usize = 40;

/// `the loop at`, `the call of MPI_Send at` …
pub fn noun(class: CauseClass, p: &Place) -> String {
    // The program as a whole, its start-up and its end are no place in a file.
    if p.module.is_empty() {
        p.name.clone()
    } else if p.kind.is_loop() {
        frame(p)
    } else if p.kind == VertexKind::MpiCall && class.is_computation() {
        // Nothing but the calls around it is known of this computation.
        format!("the computation before the {} at {}", p.name, location(p))
    } else if p.kind.is_call() {
        format!("the call of {} at {}", p.name, location(p))
    } else {
        format!("{} at {}", p.name, location(p))
    }
}

/// A frame of a call path.
pub fn frame(p: &Place) -> String {
    if p.kind.is_loop() {
        format!("the loop in {} at {}", p.function, location(p))
    } else {
        p.name.clone()
    }
}

/// The answer in a few sentences; `scaling` is `None` where scales cannot be compared, and `unnamed` tells first why
/// places have no names.
pub fn headline(
    scales: &[ScaleSummary],
    scaling: Option<Scaling>,
    causes: &[Cause],
    unnamed: Option<String>,
) -> Vec<String> {
    let nameless = unnamed.is_some();
    let mut out: Vec<String> = unnamed.into_iter().collect();
    if let (Some(first), Some(last)) = (scales.first(), scales.last()) {
        let speed = first.model_seconds / last.model_seconds.max(1e-12);
        let times = f64::from(last.ranks) / f64::from(first.ranks);
        match scaling {
            Some(Scaling::Strong) => out.push(format!(
                "From {} to {} ranks the program becomes {speed:.2} times as fast, of {times:.0} times possible.",
                first.ranks, last.ranks
            )),
            Some(Scaling::Weak) => out.push(format!(
                "From {} to {} ranks, with the problem growing alike, the run takes {:.2} times as long; it should stay the same.",
                first.ranks, last.ranks, 1.0 / speed.max(1e-12)
            )),
            _ if scales.len() > 1 => out.push(format!(
                "How the program scales cannot be judged, only how even it is with {}: the scales do not show the same part of it.",
                words::count(last.ranks as usize)
            )),
            _ => out.push(format!(
                "One scale was given ({}): how the program scales cannot be judged, only how even it is.",
                words::count(last.ranks as usize)
            )),
        }
    }
    let Some(main) = causes.first() else {
        out.push(nothing(scales, scaling, nameless));
        return out;
    };
    let told = |c: &Cause| {
        let caller = c.called_from.as_ref();
        let caller = caller.map_or_else(String::new, |from| format!(", called from {from}"));
        format!("{} in {}{caller}", c.class.words(), noun(c.class, &c.place))
    };
    let closed = if main.called_from.is_some() { "," } else { "" };
    out.push(format!(
        "The main cause is {}{closed} on {}: mending it gains up to {:.0} %.",
        told(main),
        words::ranks(&main.ranks, main.scale, ROOM),
        main.gain_share * 100.0
    ));
    if let [_, second, more @ ..] = causes {
        let next = format!("{} ({:.0} %)", told(second), second.gain_share * 100.0);
        out.push(match more.len() {
            0 => format!("The other cause: {next}."),
            1 => format!("The next: {next}; one more is told below."),
            n => format!("The next: {next}; {n} more are told below."),
        });
    }
    out
}

/// What is said where no cause was found: a loss that the efficiencies show is not denied, and where
/// places have no names nothing is cleared.
fn nothing(scales: &[ScaleSummary], scaling: Option<Scaling>, nameless: bool) -> String {
    let efficiency = scales.last().and_then(|s| {
        let e = s.efficiencies.global.or(s.efficiencies.parallel)?;
        Some((s.ranks, e))
    });
    match efficiency {
        Some((ranks, e)) if (e * 100.0).round() < ACCEPTED * 100.0 => format!(
            "At {} {:.0} % is lost, and no cause was found.",
            words::count(ranks as usize),
            (1.0 - e) * 100.0
        ),
        _ if nameless => "No cause was found among the MPI calls alone.".to_string(),
        _ if scaling.is_none() => "No cause of waiting found.".to_string(),
        _ => "No scaling loss found.".to_string(),
    }
}
