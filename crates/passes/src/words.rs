//! Causes and answers in sentences.

use headwater_model::diagnosis::{Cause, CauseClass, Place, ScaleSummary, Scaling};
use headwater_model::psg::VertexKind;
use headwater_model::rank::RankSet;
use headwater_model::words::{self, location};

/// Below this global (or parallel) efficiency a run has lost time, whether a cause was found or not:
/// the accepted mark of the POP project.
const ACCEPTED: f64 = 0.8;

/// Characters that the ranks of a sentence may take.
const ROOM: usize = 40;

/// `the loop at`, `the call of MPI_Send at` …
fn noun(class: CauseClass, p: &Place) -> String {
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

/// What is wrong and what to try; `bound` where the ranks may use only some of their node's cores,
/// `in_turn` where they are late one after another.
pub fn explanation(
    class: CauseClass,
    place: &Place,
    set: &RankSet,
    of: u32,
    bound: bool,
    in_turn: bool,
) -> String {
    let (who, what) = (words::ranks(set, of, ROOM), noun(class, place));
    let mut text = match class {
        CauseClass::UnevenWork if in_turn => format!(
            "In turn, a few of {who} spend more time in {what} than the others, who wait for them every time; in the end all have done about the same. Divide this work anew while the program runs, or so that all ranks have a part of it at any time."
        ),
        CauseClass::UnevenWork => format!(
            "{who} spend more time in {what} than the others, who wait for them. Divide this work more evenly, or let the waiting ranks help."
        ),
        CauseClass::SlowerWork if set.len() as u32 == of => format!(
            "The work in {what} is divided as it should be, but it runs slower the more ranks there are. They share memory, caches or power: look at the bandwidth that it needs, and spread the ranks over more nodes."
        ),
        CauseClass::SlowerWork => format!(
            "{who} need longer for the same work in {what}. Look at page faults and memory placement, frequency and binding of these ranks."
        ),
        CauseClass::NonShrinkingWork => format!(
            "{who} do in {what} what does not become less when ranks are added. Divide this work over the ranks, or do it once and share the result."
        ),
        CauseClass::GrowingCommunication => format!(
            "{who} move data in {what} whose amount grows with the number of ranks. Send less, to fewer partners, or in larger parts while computing."
        ),
        CauseClass::LateSenderChain => format!(
            "{who} wait in turn in {what}: each can start only when the one before has finished. Cut the work between the messages into smaller blocks, so that ranks overlap."
        ),
        CauseClass::CollectiveAlgorithm => format!(
            "Nobody is late for {what}, and yet it takes more and more of the time with more ranks. Reduce its data or how often it is called, overlap it, or try another algorithm of the MPI library."
        ),
        CauseClass::ThreadImbalance => format!(
            "On {who}, some threads compute longer in {what} than the others of their team, who wait for them. Divide this work more evenly over threads: in smaller pieces, or by a dynamic or guided schedule."
        ),
        CauseClass::LockContention => format!(
            "On {who}, threads wait for one another at {what}, as one at a time can hold the lock. Hold it for less, take it less often (add up in each thread first), or divide what it guards over several locks."
        ),
        CauseClass::SerialRegion => format!(
            "On {who}, one thread computes in {what} while the team that it has elsewhere idles. Divide this work over the threads too."
        ),
        CauseClass::AllocatorContention => format!(
            "On {who}, threads wait for one another in the memory allocator, which {what} calls. Allocate once and use it again, reserve what will be needed, or take an allocator with memory of its own for each thread."
        ),
        CauseClass::SystemCallOrIo => format!(
            "{who} are asleep in {what}, waiting for a file, a device or a timer, and the others wait for them. Let fewer or more ranks do it, do it less often, or beside the computation."
        ),
        CauseClass::Preempted if bound => format!(
            "{who} are ready to compute in {what} but have to share the few cores that they are bound to. Look at the binding of ranks to cores."
        ),
        CauseClass::Preempted => format!(
            "{who} are ready to compute in {what} but have to wait for a core, though they are bound to none: other programs ran here. Look at what else runs on these nodes."
        ),
        CauseClass::OneOff => format!(
            "{who} once take very long in {what}; every other time they do not. Look at what is done there only then."
        ),
    };
    if set.len() == 1 {
        for (many, one) in [
            (" spend ", " spends "),
            (" need ", " needs "),
            (" are asleep", " is asleep"),
            (" are ready", " is ready"),
            (" have to", " has to"),
            (" they are bound", " it is bound"),
            (" once take ", " once takes "),
            (" they do not", " it does not"),
            (" wait for them", " wait for it"),
            (" these ranks", " this rank"),
            (" do in ", " does in "),
        ] {
            text = text.replacen(many, one, 1);
        }
    }
    let mut letters = text.chars();
    letters
        .next()
        .map_or_else(String::new, |c| c.to_uppercase().chain(letters).collect())
}

/// The answer in a few sentences; `unnamed` tells first why places have no names.
pub fn headline(
    scales: &[ScaleSummary],
    scaling: Scaling,
    causes: &[Cause],
    unnamed: Option<String>,
) -> Vec<String> {
    let nameless = unnamed.is_some();
    let mut out: Vec<String> = unnamed.into_iter().collect();
    if let (Some(first), Some(last)) = (scales.first(), scales.last()) {
        let speed = first.model_seconds / last.model_seconds.max(1e-12);
        let times = f64::from(last.ranks) / f64::from(first.ranks);
        match scaling {
            Scaling::Strong => out.push(format!(
                "From {} to {} ranks the program becomes {speed:.2} times as fast, of {times:.0} times possible.",
                first.ranks, last.ranks
            )),
            Scaling::Weak => out.push(format!(
                "From {} to {} ranks, with the problem growing alike, the run takes {:.2} times as long; it should stay the same.",
                first.ranks, last.ranks, 1.0 / speed.max(1e-12)
            )),
            Scaling::Single => out.push(format!(
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
fn nothing(scales: &[ScaleSummary], scaling: Scaling, nameless: bool) -> String {
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
        _ if scaling == Scaling::Single => "No cause of waiting found.".to_string(),
        _ => "No scaling loss found.".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_no_file_is_told_by_its_name() {
        let start = Place {
            name: "the start-up before the first MPI call".into(),
            ..Place::unknown(VertexKind::Function)
        };
        let text = explanation(
            CauseClass::NonShrinkingWork,
            &start,
            &RankSet::all(4),
            4,
            false,
            false,
        );
        let begin = "All 4 ranks do in the start-up before the first MPI call what";
        assert!(text.starts_with(begin), "{text}");
    }

    #[test]
    fn cores_are_shared_only_by_those_bound_to_them() {
        let place = Place {
            function: "f".into(),
            file: Some("a.c".into()),
            first_line: 3,
            last_line: 4,
            module: "app".into(),
            ..Place::unknown(VertexKind::Loop)
        };
        let told = |bound| {
            explanation(
                CauseClass::Preempted,
                &place,
                &RankSet::all(2),
                4,
                bound,
                false,
            )
        };
        assert!(told(true).contains("binding of ranks"), "{}", told(true));
        assert!(
            told(false).contains("other programs ran here"),
            "{}",
            told(false)
        );
        assert!(!told(false).contains("binding"), "{}", told(false));
    }
}
