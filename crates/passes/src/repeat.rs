//! Several recordings of the same scales: one of each scale is diagnosed, the others say how much to rely on it.
//!
//! The recording with the median run time of its scale is diagnosed (of two the shorter one, of equal ones the first
//! by name). The others make further series, in the order of their names; where a scale has fewer, its median
//! recording is used again. A cause is the same in two series if its class is the same, its ranks mostly are, and
//! its places overlap.

use crate::cause::CONFIDENCE;
use headwater_model::diagnosis::{Cause, Diagnosis, Evidence, Place, Repeated};
use headwater_model::run::Run;
use headwater_model::words::{self, location};

/// Part of the ranks of two causes that both have.
const MOSTLY: f64 = 0.5;

/// Wall time of the slowest rank, ns.
fn wall(run: &Run) -> u64 {
    run.ranks.iter().map(|r| r.wall_ns).max().unwrap_or(0)
}

/// Series of one run for each scale: the one to diagnose, then the others.
pub fn series(mut runs: Vec<Run>) -> Vec<Vec<Run>> {
    let key = |r: &Run| (r.header.ranks, wall(r), r.header.name.clone());
    runs.sort_by_cached_key(key);
    let mut scales: Vec<Vec<Run>> = Vec::new();
    for run in runs {
        match scales.last_mut() {
            Some(scale) if scale.iter().all(|r| r.header.ranks == run.header.ranks) => {
                scale.push(run);
            }
            _ => scales.push(vec![run]),
        }
    }
    let most = scales.iter().map(Vec::len).max().unwrap_or(0);
    let mut out: Vec<Vec<Run>> = (0..most).map(|_| Vec::new()).collect();
    for mut scale in scales {
        let median = scale.remove((scale.len() - 1) / 2);
        scale.sort_by(|a, b| a.header.name.cmp(&b.header.name));
        let others = scale.into_iter().map(Some).chain(std::iter::repeat(None));
        let (first, rest) = match out.split_first_mut() {
            Some(split) => split,
            None => continue,
        };
        for (series, other) in rest.iter_mut().zip(others) {
            series.push(other.unwrap_or_else(|| median.clone()));
        }
        first.push(median);
    }
    out
}

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

/// Judges the causes of `d` by diagnoses of other recordings of the same scales.
pub fn judge(d: &mut Diagnosis, others: &[Diagnosis]) {
    let of = others.len() as u32 + 1;
    let losses = others.iter().chain([&*d]).map(|d| d.account.loss_seconds);
    let loss = losses.fold(0.0, f64::max);
    for cause in &mut d.causes {
        let same = |other: &Diagnosis| {
            let same = other.causes.iter().find(|c| is_same(cause, c));
            same.map(|c| c.gain_seconds)
        };
        let gains: Vec<f64> = others.iter().filter_map(same).collect();
        let found = gains.len() as u32 + 1;
        let all: Vec<f64> = gains.into_iter().chain([cause.gain_seconds]).collect();
        let mean = all.iter().sum::<f64>() / f64::from(found);
        let squares: f64 = all.iter().map(|g| (g - mean).powi(2)).sum();
        let reach = CONFIDENCE * (squares / f64::from(found.max(2) - 1)).sqrt();
        let gain = cause.gain_seconds;
        let (least, most) = &mut cause.gain_range_seconds;
        *least = least.min(gain - reach).max(0.0);
        *most = most.max((gain + reach).min(loss.max(gain)));
        let repeated = Repeated { found, of };
        let text = if repeated.survives() {
            format!("found in {found} of {of} recordings")
        } else {
            format!("would not survive a repetition: found in {found} of {of} recordings")
        };
        cause.evidence.push(Evidence { text });
        cause.repeated = Some(repeated);
    }
    // Stable: each group keeps its order.
    d.causes
        .sort_by_key(|c| c.repeated.is_some_and(|r| !r.survives()));
    let names: Vec<&str> = d.scales.iter().map(|s| s.run.as_str()).collect();
    d.notes.push(format!(
        "Scales were recorded up to {of} times. Figures are of the recording with the median run time of each scale ({}); ranges of gains contain the scatter of the others.",
        names.join(", ")
    ));
    d.notes.extend(absent(d, others, of));
}

/// Causes that most recordings show and the diagnosed ones do not.
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
                "{found} of {of} recordings show {} at {} on {}, which the one with the median run time does not.",
                cause.class.words(),
                location(&cause.place),
                words::ranks(&cause.ranks, cause.scale, 40)
            ));
        }
    }
    out
}
