//! Writes answers in sentences, and names places in them.

use headwater_model::diagnosis::{
    Account, Cause, CauseClass, Diagnosis, LossKind, Place, ScaleSummary, Scaling,
};
use headwater_model::psg::VertexKind;
use headwater_model::words::{self, frame, frame_at, location};

/// Accepted mark of the POP project: a run with a lower global (or parallel) efficiency has lost time, whether a cause
/// was found or not.
const ACCEPTED: f64 = 0.8;

/// At most this many characters of a sentence name ranks.
const ROOM: usize = 40;

/// `the loop at`, `the call of MPI_Send at` …
pub fn noun(class: CauseClass, p: &Place) -> String {
    // The program as a whole, its start-up and its end are not places in a file.
    if p.module.is_empty() {
        p.name.clone()
    } else if p.kind.is_loop() {
        frame(p)
    } else if p.kind == VertexKind::MpiCall && class.is_computation() {
        // Only the calls around this computation are known.
        format!("the computation before the {} at {}", p.name, location(p))
    } else if p.kind.is_call() && !(p.kind == VertexKind::Call && p.name == p.function) {
        // A call without a name has that of its function.
        format!("the call of {} at {}", p.name, location(p))
    } else {
        format!("{} at {}", p.name, location(p))
    }
}

/// The answer in a few sentences; `scaling` is `None` if scales cannot be compared. `unnamed` comes first and says why
/// places have no names; `startup` comes last and says what happened before `MPI_Init` returned.
pub fn headline(
    d: &Diagnosis,
    scaling: Option<Scaling>,
    unnamed: Option<String>,
    startup: Option<String>,
) -> Vec<String> {
    let nameless = unnamed.is_some();
    let mut out: Vec<String> = unnamed.into_iter().collect();
    out.extend(opening(&d.scales, scaling));
    out.extend(verdict(d, scaling, nameless));
    out.extend(startup);
    out
}

/// How the program scales.
fn opening(scales: &[ScaleSummary], scaling: Option<Scaling>) -> Option<String> {
    let (first, last) = (scales.first()?, scales.last()?);
    let speed = first.model_seconds / last.model_seconds.max(1e-12);
    let times = f64::from(last.size()) / f64::from(first.size());
    let counted = ScaleSummary::unit(scales);
    let [from, to] = [first, last].map(|s| s.figure(counted));
    let unit = counted.words();
    Some(match scaling {
        Some(Scaling::Strong) => format!(
            "From {from} to {to} {unit} the program becomes {speed:.2} times as fast, of {times:.0} times possible."
        ),
        Some(Scaling::Weak) => format!(
            "From {from} to {to} {unit}, with the problem growing alike, the run takes {:.2} times as long; it should stay the same.",
            1.0 / speed.max(1e-12)
        ),
        _ if scales.len() > 1 => format!(
            "How the program scales cannot be judged, only how even it is with {}: the scales do not show the same part of it.",
            last.words()
        ),
        _ => format!(
            "One scale was given ({}): how the program scales cannot be judged, only how even it is.",
            last.words()
        ),
    })
}

/// The sentences about the causes, or about where the loss goes without one.
pub fn verdict(d: &Diagnosis, scaling: Option<Scaling>, nameless: bool) -> Vec<String> {
    let Some(main) = d.causes.first() else {
        return nothing(d, scaling, nameless);
    };
    let described = |c: &Cause| {
        let caller = c.called_from.as_ref();
        let caller = caller.map_or_else(String::new, |from| format!(", called from {from}"));
        match c.class {
            CauseClass::Startup => noun(c.class, &c.place),
            class => format!("{} in {}{caller}", class.words(), noun(class, &c.place)),
        }
    };
    let who = who(main, d);
    let closed = match main.called_from.is_some() && !who.is_empty() {
        true => ",",
        false => "",
    };
    let doubt = main.repeated.filter(|r| !r.survives());
    let doubt = doubt.map_or_else(String::new, |r| {
        format!(
            " A repetition may not show it: {} of {} diagnoses that each leave out one recording do.",
            r.found, r.of
        )
    });
    let mut out = vec![format!(
        "The main cause is {}{closed}{who}: mending it gains up to {}.{doubt}",
        described(main),
        gain(main)
    )];
    if let [_, second, more @ ..] = &d.causes[..] {
        let next = format!("{} ({})", described(second), gain_inside(second));
        out.push(match more.len() {
            0 => format!("The other cause: {next}."),
            1 => format!("The next: {next}; one more is reported below."),
            n => format!("The next: {next}; {n} more are reported below."),
        });
    }
    let account = &d.account;
    let explained = account.share(LossKind::Causes) + account.share(LossKind::BeforeInit);
    if is_lost(account) && explained < 0.5 * account.loss_share {
        out.push(format!(
            "Of the {} lost at {}, causes explain {}.",
            percent(account.loss_share),
            largest(d),
            percent(explained)
        ));
        out.extend(small(account));
        out.extend(others(account));
    }
    out
}

/// The ranks of a cause, unless the program is one process without MPI.
fn who(cause: &Cause, d: &Diagnosis) -> String {
    if d.subject().is_process() {
        return String::new();
    }
    format!(" on {}", words::ranks(&cause.ranks, cause.scale, ROOM))
}

/// The sentence if it is not certain how the problem grows.
pub fn doubt(d: &Diagnosis) -> Option<String> {
    (!d.scaling_certain).then(|| {
        format!(
            "How the problem grows is not certain ({}): say it with --scaling strong or --scaling weak.",
            d.scaling_reason
        )
    })
}

/// The largest scale in words.
fn largest(d: &Diagnosis) -> String {
    d.scales.last().map_or_else(
        || words::count(d.account.ranks as usize),
        ScaleSummary::words,
    )
}

/// Replaces the consecutive sentences `old` by `new`.
pub fn replace(headline: &mut Vec<String>, old: &[String], new: Vec<String>) {
    let is_old = |at: &usize| headline.get(*at..at + old.len()) == Some(old);
    if let Some(at) = (0..headline.len()).find(is_old) {
        headline.splice(at..at + old.len(), new);
    }
}

/// `36 % (31–40 %)`.
fn gain(c: &Cause) -> String {
    words::share(c.gain_share, c.gain_range_share())
}

/// The same within brackets: `36 %, 31–40 %`.
fn gain_inside(c: &Cause) -> String {
    gain(c).replace(" (", ", ").replace(')', "")
}

fn percent(share: f64) -> String {
    words::share(share, None)
}

/// Whether so much is lost that every answer must mention it: the accepted mark of the POP project, by the digits
/// shown.
fn is_lost(account: &Account) -> bool {
    ((1.0 - account.loss_share) * 100.0).round() < ACCEPTED * 100.0
}

/// The sentences if no cause was found: a loss that the efficiencies show is not denied, and if places have no names,
/// "no cause" proves nothing.
fn nothing(d: &Diagnosis, scaling: Option<Scaling>, nameless: bool) -> Vec<String> {
    let account = &d.account;
    if is_lost(account) {
        let mut out = vec![format!(
            "At {} {} is lost, and no single place explains it.",
            largest(d),
            percent(account.loss_share)
        )];
        out.extend(small(account));
        out.extend(others(account));
        return out;
    }
    let sentence = if nameless {
        "No cause was found among the MPI calls alone."
    } else if scaling.is_none() {
        "No cause of waiting found."
    } else {
        "No scaling loss found."
    };
    vec![sentence.to_string()]
}

/// A place that may lose this share of the run time is not called small.
const MATTERS: f64 = 0.05;

/// The sentence about the many losses that are too small or too uncertain for a cause: how many places, how much each, how much
/// together, and what they share. `None` if together they are less than one per cent.
fn small(account: &Account) -> Option<String> {
    let together = account.share(LossKind::SmallUneven) + account.share(LossKind::SmallGrowth);
    let small = account.small.as_ref().filter(|_| together >= 0.01)?;
    let most = small.largest.first().map_or(0.0, |l| l.seconds);
    let most_share = most / account.of_seconds.max(1e-12);
    let most = words::share(most_share, None);
    let steps = match words::steps(&small.steps) {
        said if said.is_empty() => said,
        said => format!(" {said}"),
    };
    if let Some(largest) = small.largest.first().filter(|_| most_share >= MATTERS) {
        let rest = match small.places {
            1 => String::new(),
            n => {
                let others = match n - 1 {
                    1 => "One other place".to_string(),
                    n => format!("{n} other places"),
                };
                // Elsewhere the same ranks may take less, so one place may lose more than all together.
                let all = match together > most_share {
                    true => format!("; all together lose {}", percent(together)),
                    false => String::new(),
                };
                format!(" {others} may lose less{all}.")
            }
        };
        return Some(format!(
            "Not certain enough for a cause: {} may lose {most}.{rest}{steps} Recordings at more scales, or several of \
             each (--repeat 3), make this more certain.",
            frame_at(&largest.place),
        ));
    }
    let places = match small.places {
        1 => "one place loses it".to_string(),
        n => format!("{n} loops and functions lose up to {most} each"),
    };
    let shared = if small.shared.is_empty() {
        String::new()
    } else {
        format!(" What they share: {}.", small.shared.join("; "))
    };
    let largest = small.largest.first().filter(|_| small.places > 1);
    let largest = largest.map_or_else(String::new, |l| {
        format!(" The largest is {}.", frame_at(&l.place))
    });
    Some(format!(
        "Too small to report one by one: {places}, together {}.{shared}{largest}{steps}",
        percent(together)
    ))
}

/// The other parts of the loss, from one per cent on.
fn others(account: &Account) -> Option<String> {
    let kinds = [
        (
            LossKind::Serialisation,
            "ranks that wait in turn for one another",
        ),
        (LossKind::Transfer, "moving data in MPI calls"),
        (
            LossKind::BeforeInit,
            "growth of the start-up before MPI_Init returned",
        ),
        (LossKind::Pace, "attributed to a slower machine"),
        (LossKind::Unknown, "unknown"),
    ];
    let parts: Vec<String> = kinds
        .into_iter()
        .map(|(kind, what)| (account.share(kind), what))
        .filter(|(share, _)| *share >= 0.01)
        .map(|(share, what)| format!("{} is {what}", percent(share)))
        .collect();
    let (last, before) = parts.split_last()?;
    Some(match before {
        [] => format!("{last}."),
        before => format!("{} and {last}.", before.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_model::diagnosis::{LossPart, SmallLoss, SmallLosses, SmallStep};

    /// What is said of places that lose these shares of the run time.
    fn said(shares: &[f64]) -> String {
        let place = Place {
            name: "work".into(),
            ..Place::unknown(VertexKind::Function)
        };
        let all = shares.iter().sum();
        let account = Account {
            of_seconds: 1.0,
            parts: vec![LossPart {
                kind: LossKind::SmallGrowth,
                seconds: all,
                share: all,
            }],
            small: Some(SmallLosses {
                steps: vec![SmallStep {
                    place: place.clone(),
                    share: 0.3,
                    without: Vec::new(),
                }],
                places: shares.len() as u32,
                largest: shares
                    .iter()
                    .map(|share| SmallLoss {
                        place: place.clone(),
                        seconds: *share,
                    })
                    .collect(),
                ..SmallLosses::default()
            }),
            ..Account::default()
        };
        small(&account).unwrap_or_default()
    }

    #[test]
    fn a_large_loss_that_is_not_certain_is_not_called_small() {
        let (large, small) = (said(&[0.4, 0.01]), said(&[0.02, 0.01]));
        assert!(
            large.starts_with("Not certain enough for a cause: work"),
            "{large}"
        );
        assert!(
            large.contains("may lose 40 %. One other place may lose less; all together lose 41 %."),
            "{large}"
        );
        assert!(
            small.starts_with("Too small to report one by one: 2"),
            "{small}"
        );
        for said in [large, small] {
            let words = "Of these small losses together, 30 % are in work and its callees.";
            assert!(said.contains(words), "{said}");
        }
    }
}
