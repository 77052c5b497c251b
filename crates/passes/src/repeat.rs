//! Several recordings of the same scales: all of them are diagnosed as one, and again without each of them in turn.
//!
//! Of each scale the recording with the median run time comes first (of two the shorter one, of equal ones the first by name):
//! what cannot be pooled ([`crate::pool`]) is taken from it. What is found whichever recording is left out survives a
//! repetition, and the gains without each give the scatter of the gain (the jackknife of Quenouille 1956 and Tukey 1958). A
//! cause is the same in two diagnoses if its class is the same, its ranks mostly are, and its places overlap.

use crate::cause::CONFIDENCE;
use crate::pool::pool;
use headwater_model::diagnosis::{Cause, Diagnosis, Evidence, Place, Repeated};
use headwater_model::run::Run;
use headwater_model::words::{self, location};

/// Part of the ranks of two causes that both have.
const MOSTLY: f64 = 0.5;

/// Wall time of the slowest rank, ns.
fn wall(run: &Run) -> u64 {
    run.ranks.iter().map(|r| r.wall_ns).max().unwrap_or(0)
}

/// Recordings by scale.
pub struct Recordings(Vec<Vec<Run>>);

impl Recordings {
    /// Sorts recordings by scale.
    pub fn new(mut runs: Vec<Run>) -> Self {
        runs.sort_by_cached_key(|r| (r.header.ranks, wall(r), r.header.name.clone()));
        let mut scales: Vec<Vec<Run>> = Vec::new();
        for run in runs {
            match scales.last_mut() {
                Some(scale) if scale.iter().all(|r| r.header.ranks == run.header.ranks) => {
                    scale.push(run);
                }
                _ => scales.push(vec![run]),
            }
        }
        for scale in &mut scales {
            let median = scale.remove((scale.len() - 1) / 2);
            scale.sort_by(|a, b| a.header.name.cmp(&b.header.name));
            scale.insert(0, median);
        }
        Self(scales)
    }

    /// The most recordings of a scale.
    pub fn most(&self) -> usize {
        self.0.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// A run for each scale, of all its recordings.
    pub fn all(&self) -> Vec<Run> {
        self.pooled(usize::MAX)
    }

    /// A run for each scale, of all its recordings but one; the only one of a scale is in each.
    pub fn without(&self, one: usize) -> Vec<Run> {
        self.pooled(one)
    }

    fn pooled(&self, left_out: usize) -> Vec<Run> {
        let of_scale = |scale: &Vec<Run>| {
            let used = scale.iter().enumerate();
            let used = used.filter(|(i, _)| *i != left_out || scale.len() == 1);
            pool(&used.map(|(_, run)| run).collect::<Vec<_>>())
        };
        self.0.iter().filter_map(of_scale).collect()
    }
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

/// Judges the causes of `d` by the diagnoses without one recording each; `recorded` is how often scales were recorded.
pub fn judge(d: &mut Diagnosis, without: &[Diagnosis], recorded: usize) {
    let of = without.len() as u32;
    let losses = without.iter().chain([&*d]).map(|d| d.account.loss_seconds);
    let loss = losses.fold(0.0, f64::max);
    for cause in &mut d.causes {
        let same = |other: &Diagnosis| {
            let same = other.causes.iter().find(|c| is_same(cause, c));
            same.map(|c| c.gain_seconds)
        };
        let gains: Vec<f64> = without.iter().filter_map(same).collect();
        let found = gains.len() as u32;
        let reach = CONFIDENCE * jackknife(&gains);
        let gain = cause.gain_seconds;
        let (least, most) = &mut cause.gain_range_seconds;
        *least = least.min(gain - reach).max(0.0);
        *most = most.max((gain + reach).min(loss.max(gain)));
        let repeated = Repeated { found, of };
        let text = if found == of {
            format!("found whichever of the {of} recordings is left out")
        } else {
            let doubt = if repeated.survives() {
                ""
            } else {
                "would not survive a repetition: "
            };
            format!(
                "{doubt}found in {found} of {of} cases if one of the {of} recordings is left out"
            )
        };
        cause.evidence.push(Evidence { text });
        cause.repeated = Some(repeated);
    }
    // Stable: each group keeps its order.
    d.causes
        .sort_by_key(|c| c.repeated.is_some_and(|r| !r.survives()));
    let names: Vec<&str> = d.scales.iter().map(|s| s.run.as_str()).collect();
    d.notes.push(format!(
        "Scales were recorded up to {recorded} times. Computation is the median over the recordings of a scale, with the samples of all; waits, messages and windows of events are those of the recording with the median run time ({}). Ranges of gains contain the scatter of the recordings.",
        names.join(", ")
    ));
    d.notes.extend(absent(d, without, of));
}

/// A run that takes less long, seconds, has few samples and scatters by as much as small causes cost.
const SHORT: f64 = 1.0;

/// What to say of a short run that was recorded once.
pub fn advice(d: &Diagnosis) -> Option<String> {
    let last = d.scales.last()?;
    let seconds = last.model_seconds;
    (seconds > 0.0 && seconds < SHORT).then(|| {
        format!(
            "The run on {} takes only {}, in which causes that cost a few per cent may not show. `headwater run --repeat 3` records each scale three times and shows smaller ones.",
            words::count(last.ranks as usize),
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
                "In {found} of {of} cases there is {} at {} on {} if one of the {of} recordings is left out, but not with all of them.",
                cause.class.words(),
                location(&cause.place),
                words::ranks(&cause.ranks, cause.scale, 40)
            ));
        }
    }
    out
}
