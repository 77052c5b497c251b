//! Several recordings of the same scales: all of them are diagnosed as one, and again without each of them in turn.
//!
//! What cannot be pooled ([`crate::measure::pool`]) is taken from one recording: of all recordings of a scale, from the
//! one with the median run time (of two the shorter one, of equal ones the first by name); without a recording, from
//! the next one in this order, so that each of them is used once. A cause that these diagnoses find, too, survives a
//! repetition. The scatter of their gains is a standard error (the jackknife of Quenouille 1956 and Tukey 1958; a
//! diagnosis without the cause counts as a gain of 0). Of medians it is exact for up to three recordings. Two diagnoses
//! have the same cause if its class is the same, its ranks mostly are, and its places overlap.

use crate::measure::recordings::Recordings;
use headwater_dataflow::numbers::stats::CONFIDENCE;
use headwater_model::diagnosis::{Cause, Diagnosis, Place, Repeated};
use headwater_model::words::{self, location};

/// Part of the ranks of two causes that both have.
const MOSTLY: f64 = 0.5;

/// A run that takes less long, seconds, has few samples and scatters by as much as small causes cost.
const SHORT: f64 = 1.0;

/// Whether two causes, of two diagnoses of one program, are the same.
pub fn is_same(a: &Cause, b: &Cause) -> bool {
    let (mine, other) = (a.ranks.as_slice(), &b.ranks);
    let both = mine.iter().filter(|r| other.contains(**r)).count();
    let either = mine.len() + other.len() - both;
    a.class == b.class && is_same_place(&a.place, &b.place) && {
        either == 0 || both as f64 >= MOSTLY * either as f64
    }
}

fn is_same_place(a: &Place, b: &Place) -> bool {
    if (&a.module, &a.function, &a.file) != (&b.module, &b.function, &b.file) {
        return false;
    }
    if a.file.is_none() || a.first_line == 0 || b.first_line == 0 {
        return a.name == b.name && a.address == b.address;
    }
    let end = |p: &Place| p.last_line.max(p.first_line);
    a.first_line <= end(b) && b.first_line <= end(a)
}

/// Judges the causes of `d` by the diagnoses without one recording of each scale.
pub fn judge(d: &mut Diagnosis, without: &[Diagnosis], recordings: &Recordings) {
    let of = without.len() as u32;
    let losses = without.iter().chain([&*d]).map(|d| d.account.loss_seconds);
    let loss = losses.fold(0.0, f64::max);
    for cause in &mut d.causes {
        let same = |other: &Diagnosis| {
            let same = other.causes.iter().find(|c| is_same(cause, c));
            same.map_or(0.0, |c| c.gain_seconds)
        };
        let gains: Vec<f64> = without.iter().map(same).collect();
        let found = gains.iter().filter(|g| **g > 0.0).count() as u32;
        let reach = CONFIDENCE * jackknife(&gains);
        let gain = cause.gain_seconds;
        let (least, most) = &mut cause.gain_range_seconds;
        *least = least.min(gain - reach).max(0.0);
        *most = most.max((gain + reach).min(loss.max(gain)));
        let repeated = Repeated { found, of };
        let doubt = if repeated.survives() {
            ""
        } else {
            "would not survive a repetition: "
        };
        let text = format!(
            "{doubt}found in {found} of {of} diagnoses that each leave out one recording of each scale"
        );
        cause.evidence.push(text.into());
        cause.repeated = Some(repeated);
    }
    // Stable: each group keeps its order.
    d.causes
        .sort_by_key(|c| c.repeated.is_some_and(|r| !r.survives()));
    let names: Vec<&str> = d.scales.iter().map(|s| s.run.as_str()).collect();
    let [what, rest] = if d.subject().is_process() {
        ["the first thread", "Waits and threads"]
    } else {
        ["ranks", "Waits, messages, windows of events and threads"]
    };
    d.notes.push(format!(
        "Scales were recorded up to {} times. The computation of {} is the median over the recordings of a scale, with the samples of all. {} are those of the recording with the median run time ({}). Ranges of gains contain the scatter of the recordings.",
        recordings.most(),
        what,
        rest,
        names.join(", ")
    ));
    d.notes.extend(recordings.notes().iter().cloned());
    d.notes.extend(absent(d, without, of));
}

/// What to say of a short run that was recorded once.
pub fn advice(d: &Diagnosis) -> Option<String> {
    let last = d.scales.last()?;
    let seconds = last.model_seconds;
    (seconds > 0.0 && seconds < SHORT).then(|| {
        let [run, takes] = match last.is_crowded() {
            true => [&format!("With a core for each {}, the run", d.subject().one()), "would take"],
            false => ["The run", "takes"],
        };
        format!(
            "{run} on {} {takes} only {}. In so short a run, causes of a few per cent may not show. `headwater run --repeat 3` records each scale three times and shows smaller causes.",
            last.words(),
            words::seconds(seconds)
        )
    })
}

/// Standard error of a figure by its values without one recording each.
fn jackknife(without: &[f64]) -> f64 {
    let n = without.len() as f64;
    let mean = without.iter().sum::<f64>() / n.max(1.0);
    let squares: f64 = without.iter().map(|g| (g - mean).powi(2)).sum();
    ((n - 1.0).max(0.0) / n.max(1.0) * squares).sqrt()
}

/// Causes that are found without most of the recordings and not with all.
fn absent(d: &Diagnosis, others: &[Diagnosis], of: u32) -> Vec<String> {
    let mut seen: Vec<&Cause> = d.causes.iter().collect();
    let mut out = Vec::new();
    for cause in others.iter().flat_map(|o| &o.causes) {
        if seen.iter().any(|s| is_same(s, cause)) {
            continue;
        }
        seen.push(cause);
        let has = |o: &&Diagnosis| o.causes.iter().any(|c| is_same(c, cause));
        let found = others.iter().filter(has).count() as u32;
        if (Repeated { found, of }).survives() {
            out.push(format!(
                "{found} of {of} diagnoses that each leave out one recording of each scale show {} at {} on {}; the diagnosis of all recordings does not.",
                cause.class.words(),
                location(&cause.place),
                words::ranks(&cause.ranks, cause.scale, 40)
            ));
        }
    }
    out
}
