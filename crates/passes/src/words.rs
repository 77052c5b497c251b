//! Causes and answers in sentences.

use headwater_model::diagnosis::{Cause, CauseClass, Place, ScaleSummary, Scaling};
use headwater_model::rank::RankSet;

/// A place as short as it can be said: `file.c:12-20` or `function`.
pub fn place(place: &Place) -> String {
    let base = |f: &String| f.rsplit('/').next().unwrap_or(f).to_string();
    match (&place.file, place.first_line) {
        (Some(file), first) if first > 0 && place.last_line > first => {
            format!("{}:{first}-{}", base(file), place.last_line)
        }
        (Some(file), first) if first > 0 => format!("{}:{first}", base(file)),
        _ => place.function.clone(),
    }
}

/// Seconds with three figures and a unit that fits.
pub fn time(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s if s >= 1e-6 => (s * 1e6, "µs"),
        _ => return "no time".to_string(),
    };
    match value {
        v if v >= 100.0 => format!("{v:.0} {unit}"),
        v if v >= 10.0 => format!("{v:.1} {unit}"),
        v => format!("{v:.2} {unit}"),
    }
}

/// `the loop at`, `the call of MPI_Send at` …
fn noun(p: &Place) -> String {
    // The program as a whole, its start-up and its end are no place in a file.
    if p.module.is_empty() {
        p.name.clone()
    } else if p.kind.is_loop() {
        format!("the loop in {} at {}", p.function, place(p))
    } else if p.kind.is_call() {
        format!("the call of {} at {}", p.name, place(p))
    } else {
        format!("{} at {}", p.name, place(p))
    }
}

/// `rank 3`, `ranks 0,4,8`, `all 16 ranks`.
pub fn ranks(set: &RankSet, of: u32) -> String {
    match set.len() as u32 {
        1 => format!("rank {set}"),
        2 if of == 2 => "both ranks".to_string(),
        n if n == of => format!("all {of} ranks"),
        // A long list tells less than its size and how it begins.
        n if set.to_string().len() > 40 => {
            let first: Vec<String> = set.as_slice().iter().take(4).map(u32::to_string).collect();
            format!("{n} of {of} ranks ({} …)", first.join(", "))
        }
        _ => format!("ranks {set}"),
    }
}

/// What is wrong and what to try.
pub fn explanation(class: CauseClass, place: &Place, set: &RankSet, of: u32) -> String {
    let (who, what) = (ranks(set, of), noun(place));
    let mut text = match class {
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
            "Nobody is late for {what}, and yet it takes longer with more ranks. Reduce its data or how often it is called, overlap it, or try another algorithm of the MPI library."
        ),
        CauseClass::ThreadImbalance => format!("Threads of {who} have uneven work in {what}."),
        CauseClass::LockContention => format!("{who} wait for a lock in {what}."),
        CauseClass::SystemCallOrIo => format!(
            "{who} are asleep in {what}, waiting for a file, a device or a timer, and the others wait for them. Let fewer or more ranks do it, do it less often, or beside the computation."
        ),
        CauseClass::Preempted => format!(
            "{who} are ready to compute in {what} but have to share their core. Look at the binding of ranks to cores, and at what else runs there."
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

/// The answer in two or three sentences.
pub fn headline(scales: &[ScaleSummary], scaling: Scaling, causes: &[Cause]) -> Vec<String> {
    let mut out = Vec::new();
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
                "One scale was given ({} ranks): how the program scales cannot be judged, only how even it is.",
                last.ranks
            )),
        }
    }
    let Some(main) = causes.first() else {
        out.push(match scaling {
            Scaling::Single => "No cause of waiting found.".to_string(),
            _ => "No scaling loss found.".to_string(),
        });
        return out;
    };
    out.push(format!(
        "The main cause is {} in {} on {}: mending it gains up to {:.0} %.",
        main.class.words(),
        noun(&main.place),
        ranks(&main.ranks, main.scale),
        main.gain_share * 100.0
    ));
    if let [_, second, ..] = causes {
        out.push(format!(
            "{} further: {} in {} ({:.0} %){}",
            if causes.len() == 2 { "One" } else { "Some" },
            second.class.words(),
            noun(&second.place),
            second.gain_share * 100.0,
            if causes.len() > 2 {
                ", and others below."
            } else {
                "."
            }
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_model::psg::VertexKind;

    #[test]
    fn what_is_in_no_file_is_told_by_its_name() {
        let start = Place {
            kind: VertexKind::Function,
            name: "the start-up before the first MPI call".into(),
            function: String::new(),
            file: None,
            first_line: 0,
            last_line: 0,
            hot_line: 0,
            module: String::new(),
            address: 0,
        };
        let text = explanation(CauseClass::NonShrinkingWork, &start, &RankSet::all(4), 4);
        let begin = "All 4 ranks do in the start-up before the first MPI call what";
        assert!(text.starts_with(begin), "{text}");
    }

    #[test]
    fn times_have_a_unit_that_fits() {
        let said = [2.3456, 0.1702, 33.8e-6, 1e-9, 0.0].map(time);
        assert_eq!(said, ["2.35 s", "170 ms", "33.8 µs", "no time", "no time"]);
    }
}
