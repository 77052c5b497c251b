//! Diagnoses of cases compared with their manifests, and what the bench's own layer says of findings on clean runs.
//!
//! The judge of the testbed decides line, class and ranks. Beside it here: the gain against ΔT, symptoms, the
//! baseline by delay cost, and whether a finding on a control is false.

use super::cost::Truth;
use super::manifest::Manifest;
use crate::judge::{Verdict, compare, is_strict};
use headwater_model::diagnosis::{Cause, CauseClass, Diagnosis};
use headwater_model::psg::VertexKind;
use serde::{Deserialize, Serialize};

/// A finding on a control is false where the bench's own figures allow less than this part of its stated gain.
pub const SUPPORTED: f64 = 0.5;

/// Figures of a diagnosis that cannot be: more waiting or gain than there is run.
const SLACK: f64 = 1.001;

/// How one diagnosis of a case compares.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Scored {
    /// Line, ranks, class, baselines.
    pub verdict: Verdict,
    /// Planted computation, and the first cause is a call of MPI.
    pub symptom: bool,
    /// Nothing was found.
    pub none: bool,
    /// Gain of the cause at the planted line, seconds.
    pub stated: Option<f64>,
    /// Whether ΔT is in its range, as far as the noise of ΔT lets one say.
    pub in_range: Option<bool>,
    /// Whether the baseline by delay cost names the planted lines.
    pub delay_cost: bool,
    /// Findings on a control that its figures do not support, in words.
    pub unsupported: Vec<String>,
    /// Figures that cannot be, in words.
    pub impossible: Vec<String>,
    /// First causes in words.
    pub said: Vec<String>,
    /// Class and function of every cause, by which those that a clean program has too are known again.
    pub keys: Vec<String>,
    /// Which of the causes is strictly right, from 1; 0 for none.
    pub strict_at: usize,
    /// Class and place of the first cause, by which two recordings are compared.
    pub first: String,
    /// Part of the largest run's time in which every event was recorded, as the diagnosis states it.
    #[serde(default)]
    pub window_share: Option<f64>,
    /// Events in these windows, mean over ranks.
    #[serde(default)]
    pub window_events: Option<f64>,
}

fn base(file: &Option<String>) -> &str {
    let name = file.as_deref().and_then(|f| f.rsplit('/').next());
    name.unwrap_or("?")
}

fn in_words(c: &Cause) -> String {
    let (low, high) = c.gain_range_seconds;
    format!(
        "{} at {}:{}-{} on ranks {}, gain {:.3} s ({low:.3} to {high:.3})",
        c.class.words(),
        base(&c.place.file),
        c.place.first_line,
        c.place.last_line,
        c.ranks,
        c.gain_seconds
    )
}

/// Class, file and function: lines move where something is planted above them.
fn key(c: &Cause) -> String {
    format!(
        "{} in {} of {}",
        c.class.words(),
        c.place.function,
        base(&c.place.file)
    )
}

/// Scores one diagnosis.
pub fn score(manifest: &Manifest, d: &Diagnosis) -> Scored {
    let known = manifest.known();
    let mut out = Scored {
        verdict: compare(&known, &[], d),
        none: d.causes.is_empty(),
        said: d.causes.iter().take(5).map(in_words).collect(),
        impossible: impossible(d),
        keys: d.causes.iter().map(key).collect(),
        strict_at: known.first().map_or(0, |k| {
            let at = d.causes.iter().position(|c| is_strict(c, k));
            at.map_or(0, |i| i + 1)
        }),
        window_share: d.scales.last().and_then(|s| s.window_share),
        window_events: d.scales.last().and_then(|s| s.window_events),
        ..Default::default()
    };
    if let Some(first) = d.causes.first() {
        out.first = format!(
            "{} {}:{}",
            first.class.words(),
            base(&first.place.file),
            first.place.first_line
        );
        out.symptom =
            first.place.kind == VertexKind::MpiCall && !manifest.wish.what.is_communication();
    }
    match &manifest.planted {
        None => {
            let supported = |c: &&Cause| is_supported(manifest, c);
            let unsupported = d.causes.iter().filter(|c| !supported(c));
            out.unsupported = unsupported.map(in_words).collect();
        }
        Some(planted) => {
            let at = out.verdict.position.checked_sub(1);
            let cause = at.and_then(|i| d.causes.get(i));
            out.stated = cause.map(|c| c.gain_seconds);
            if planted.truth.yardstick.exact {
                out.in_range = cause.map(|c| in_range(&planted.truth, c.gain_range_seconds));
            }
            out.delay_cost = by_delay_cost(d).is_some_and(|i| i + 1 == out.verdict.position);
        }
    }
    out
}

/// Truth is not exact either: the stated range is widened by so many of its noises.
const TRUTH_NOISES: f64 = 2.0;

fn in_range(truth: &Truth, (low, high): (f64, f64)) -> bool {
    let slack = TRUTH_NOISES * truth.noise;
    (low - slack..=high + slack).contains(&truth.seconds)
}

/// The cause that most waiting is due to.
fn by_delay_cost(d: &Diagnosis) -> Option<usize> {
    let waited = |c: &Cause| c.waiting_seconds.unwrap_or(0.0);
    let all = d.causes.iter().enumerate();
    let most = all.reduce(|a, b| if waited(b.1) > waited(a.1) { b } else { a })?;
    (waited(most.1) > 0.0).then_some(most.0)
}

/// What the bench's own layer allows a finding on a clean program to gain at most, seconds; `None` where its figures
/// say nothing about such a finding: they are of ranks, not of threads.
pub fn allowed(manifest: &Manifest, class: CauseClass) -> Option<f64> {
    if manifest.of_threads {
        return None;
    }
    let (&largest, last) = manifest.clean.iter().next_back()?;
    let (&smallest, first) = manifest.clean.iter().next()?;
    let own = |ranks: &[super::interposer::RankFigures]| -> (f64, f64) {
        let all = ranks.iter().map(|r| r.own_seconds());
        let mean = all.clone().sum::<f64>() / ranks.len().max(1) as f64;
        (mean, all.fold(0.0, f64::max))
    };
    let inside = |ranks: &[super::interposer::RankFigures]| -> f64 {
        ranks.iter().map(|r| r.wall_inside).sum::<f64>() / ranks.len().max(1) as f64
    };
    let ((mean, most), (mean_first, _)) = (own(last), own(first));
    let ideal = if manifest.scaling == "weak" {
        mean_first
    } else {
        mean_first * f64::from(smallest) / f64::from(largest)
    };
    use CauseClass as C;
    Some(match class {
        // Ranks that differ: what evening them out would gain.
        C::UnevenWork | C::SlowerWork | C::OneOff => most - mean,
        // Work that grows against its ideal.
        C::NonShrinkingWork => mean - ideal,
        // Nobody sleeps without giving the core up.
        C::SystemCallOrIo => {
            let off = |r: &super::interposer::RankFigures| {
                let outside = r.wall - r.wall_inside - r.cpu_outside;
                if r.switches > 0 { outside } else { 0.0 }
            };
            last.iter().map(off).fold(0.0, f64::max)
        }
        // All that is in MPI: waiting for a core is in it too, so this bounds it from above.
        C::GrowingCommunication | C::CollectiveAlgorithm | C::LateSenderChain => inside(last),
        C::ThreadImbalance
        | C::LockContention
        | C::SerialRegion
        | C::SmallRegions
        | C::AllocatorContention => {
            return None;
        }
        // How busy the machine was in that run, and what came before MPI_Init, is not known here.
        C::Preempted | C::Startup => return None,
    })
}

fn is_supported(manifest: &Manifest, cause: &Cause) -> bool {
    allowed(manifest, cause.class).is_none_or(|most| most >= SUPPORTED * cause.gain_seconds)
}

/// Figures that no run can have.
fn impossible(d: &Diagnosis) -> Vec<String> {
    let mut out = Vec::new();
    let Some(last) = d.scales.last() else {
        return vec!["no scale".into()];
    };
    let run = last.wall_seconds.max(last.model_seconds) * SLACK;
    for c in &d.causes {
        let (low, high) = c.gain_range_seconds;
        if c.gain_seconds > run || c.gain_share > SLACK || c.gain_seconds < 0.0 {
            out.push(format!(
                "gain of {:.3} s in a run of {run:.3} s",
                c.gain_seconds
            ));
        }
        if !(low <= c.gain_seconds * SLACK && c.gain_seconds <= high * SLACK) {
            out.push(format!(
                "gain of {:.3} s outside its range {low:.3} to {high:.3}",
                c.gain_seconds
            ));
        }
        let waits = c.waiting_seconds.unwrap_or(0.0);
        if waits > run * f64::from(c.scale) {
            out.push(format!(
                "waiting of {waits:.3} s on {} ranks of {run:.3} s",
                c.scale
            ));
        }
        for step in &c.path {
            if step.seconds > run {
                out.push(format!(
                    "{} for {:.3} s in a run of {run:.3} s",
                    step.what, step.seconds
                ));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::interposer::RankFigures;
    use super::super::plan::{What, Where, Who, Wish};
    use super::*;
    use std::collections::BTreeMap;

    fn control(own: &[f64]) -> Manifest {
        let figures = |seconds: &[f64]| -> Vec<RankFigures> {
            let one = |s: &f64| RankFigures {
                cpu_outside: *s,
                wall: 3.0,
                wall_inside: 1.0,
                ..Default::default()
            };
            seconds.iter().map(one).collect()
        };
        Manifest {
            seed: 1,
            wish: Wish {
                number: 0,
                code: "a".into(),
                what: What::Control,
                who: Who::All,
                place: Where::Hot,
                dose: 0.1,
                own_work: true,
                scaling_given: false,
                stream: 1,
            },
            scales: vec![2, 4],
            of_threads: false,
            scaling: "strong".into(),
            planted: None,
            clean: BTreeMap::from([(2, figures(&[2.0, 2.0])), (4, figures(own))]),
        }
    }

    #[test]
    fn what_a_clean_run_allows_is_what_its_own_figures_show() {
        let even = control(&[1.0, 1.0, 1.0, 1.0]);
        let near = |a: Option<f64>, b: f64| a.is_some_and(|a| (a - b).abs() < 1e-9);
        assert!(near(allowed(&even, CauseClass::UnevenWork), 0.0));
        assert!(near(allowed(&even, CauseClass::NonShrinkingWork), 0.0));
        let uneven = control(&[2.0, 1.0, 1.0, 1.0]);
        assert!(near(allowed(&uneven, CauseClass::UnevenWork), 0.75));
        assert!(near(allowed(&uneven, CauseClass::NonShrinkingWork), 0.25));
        assert!(near(
            allowed(&uneven, CauseClass::GrowingCommunication),
            1.0
        ));
        assert_eq!(allowed(&uneven, CauseClass::LockContention), None);
        // Time without a core is no sleep where the core was never given up.
        assert!(near(allowed(&even, CauseClass::SystemCallOrIo), 0.0));
    }
}
