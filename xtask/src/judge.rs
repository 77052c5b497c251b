//! One diagnosis compared with what is known of its program.
//!
//! Strict top-1: the place named first lies in the known lines (or is the smallest loop around them),
//! its ranks agree with a Jaccard index of at least 0.8, as do its threads where those are known, and its
//! class is equal. A control must have no
//! finding at all. Beside it are three baselines from a profiler: the hottest place, the
//! largest wait, the largest imbalance.

pub use crate::testbed::{Known, Ranks};
use crate::testbed::{Manifest, Trap};
use headwater_model::RankSet;
use headwater_model::diagnosis::{Cause, Diagnosis, Marked, Place};
use serde::{Deserialize, Serialize};

/// Names of the baselines, in the order of [`Verdict::baselines`].
pub const BASELINES: [&str; 3] = ["hottest place", "largest wait", "largest imbalance"];

/// How one diagnosis compares.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Verdict {
    /// First cause right by line, ranks and class; for a control, nothing found.
    pub strict: bool,
    /// First cause right by line.
    pub line: bool,
    /// Place among the causes of the one that is right by line, from 1; 0 for none.
    pub position: usize,
    /// Known causes, and how many of them were found by line and class.
    pub known: usize,
    /// See `known`.
    pub found: usize,
    /// A place where the waits show was named first.
    pub trap: bool,
    /// Findings with no known cause.
    pub false_findings: usize,
    /// Whether each baseline names the known lines.
    pub baselines: [bool; 3],
    /// The first cause in words.
    pub said: String,
}

/// Last part of a file's path.
fn base(file: &Option<String>) -> &str {
    file.as_deref()
        .and_then(|f| f.rsplit('/').next())
        .unwrap_or("")
}

/// Whether a place is in the known lines or is a loop around them that is not much larger.
fn in_lines(place: &Place, file: &str, lines: [u32; 2]) -> bool {
    let [first, last] = lines;
    let within = place.first_line >= first && place.last_line <= last;
    let around = place.kind.is_loop()
        && place.first_line <= first
        && place.last_line >= last
        && place.last_line - place.first_line <= last - first + 4;
    base(&place.file) == file && place.first_line > 0 && (within || around)
}

fn ranks_of(known: &Known, scale: u32) -> RankSet {
    match &known.ranks {
        Ranks::All(_) => RankSet::all(scale),
        Ranks::ByScale(map) => map
            .get(&scale.to_string())
            .and_then(|r| r.parse().ok())
            .unwrap_or_default(),
    }
}

/// Whether a frame of a call path is a loop or call in the known lines; a function that holds them is not.
fn is_call_in(frame: &Place, known: &Known) -> bool {
    in_lines(frame, &known.file, known.lines)
}

/// Jaccard index from which on sets agree.
const ALIKE: f64 = 0.8;

/// Whether the threads of a cause are the known ones.
fn threads(cause: &Cause, known: &str) -> bool {
    let named = cause
        .by_thread
        .as_ref()
        .map(|t| t.concerned.iter().copied());
    let named: Option<RankSet> = named.map(Iterator::collect);
    let known = known.parse::<RankSet>();
    named
        .zip(known.ok())
        .is_some_and(|(n, k)| n.jaccard(&k) >= ALIKE)
}

/// What of a cause agrees with what is known.
#[derive(Clone, Copy, Debug, Default)]
struct Agreement {
    line: bool,
    class: bool,
    ranks: bool,
}

fn agreement(cause: &Cause, known: &Known) -> Agreement {
    let class = serde_json::to_value(cause.class).ok();
    let below = || {
        let mut path = cause.call_path.iter();
        known.through_call_path && path.any(|p| is_call_in(p, known))
    };
    Agreement {
        line: in_lines(&cause.place, &known.file, known.lines) || below(),
        class: class.as_ref().and_then(|v| v.as_str()) == Some(&known.class),
        ranks: cause.ranks.jaccard(&ranks_of(known, cause.scale)) >= ALIKE
            && known.threads.as_ref().is_none_or(|t| threads(cause, t)),
    }
}

/// Whether a cause agrees with a known one by line, class and ranks.
pub fn is_strict(cause: &Cause, known: &Known) -> bool {
    let a = agreement(cause, known);
    a.line && a.class && a.ranks
}

/// The cause that agrees with a known one by line and class.
pub fn matching<'a>(d: &'a Diagnosis, known: &Known) -> Option<&'a Cause> {
    d.causes.iter().find(|c| {
        let a = agreement(c, known);
        a.line && a.class
    })
}

/// Places that a profiler would name: by time, by waiting, by spread.
fn baselines(d: &Diagnosis, known: &Known) -> [bool; 3] {
    let all = || d.non_scalable.iter().chain(&d.abnormal);
    let is_mpi = |m: &&Marked| m.place.kind.is_call();
    let most = |m: Option<&Marked>| m.is_some_and(|m| in_lines(&m.place, &known.file, known.lines));
    let by = |f: fn(&Marked) -> f64, mpi: Option<bool>| {
        all()
            .filter(|m| mpi.is_none_or(|want| is_mpi(m) == want))
            .reduce(|a, b| if f(b) > f(a) { b } else { a })
    };
    [
        most(by(|m| m.seconds, None)),
        most(by(|m| m.seconds, Some(true))),
        most(by(|m| m.ratio, None)),
    ]
}

fn in_words(c: &Cause) -> String {
    format!(
        "{} {}:{}-{} [{}] {:.0} %",
        c.class.words(),
        base(&c.place.file),
        c.place.first_line,
        c.place.last_line,
        c.ranks,
        c.gain_share * 100.0
    )
}

/// Compares a diagnosis with a manifest.
pub fn judge(manifest: &Manifest, d: &Diagnosis) -> Verdict {
    compare(&manifest.cause, &manifest.trap, d)
}

/// Compares the hottest line of a profile, as `solver.py:42`, with a manifest.
pub fn by_line(manifest: &Manifest, hottest: &str) -> Verdict {
    let place = hottest.rsplit_once(':');
    let place = place.and_then(|(file, line)| Some((file, line.parse::<u32>().ok()?)));
    let is_right = place
        .zip(manifest.cause.first())
        .is_some_and(|((file, line), known)| {
            file == known.file && (known.lines[0]..=known.lines[1]).contains(&line)
        });
    Verdict {
        strict: is_right,
        line: is_right,
        position: usize::from(is_right),
        known: manifest.cause.len(),
        found: usize::from(is_right),
        said: format!("hottest line {hottest}"),
        ..Default::default()
    }
}

/// Compares a diagnosis with known causes, the main one first, and the places where their waits show.
pub fn compare(causes: &[Known], traps: &[Trap], d: &Diagnosis) -> Verdict {
    let said = d.causes.first().map_or("nothing".into(), in_words);
    let Some(main) = causes.first() else {
        return Verdict {
            strict: d.causes.is_empty(),
            line: d.causes.is_empty(),
            false_findings: d.causes.len(),
            said,
            ..Default::default()
        };
    };
    let of_main: Vec<Agreement> = d.causes.iter().map(|c| agreement(c, main)).collect();
    let first = of_main.first().copied().unwrap_or_default();
    let by_line = of_main.iter().position(|a| a.line);
    let is_known = |c: &&Cause| causes.iter().any(|k| agreement(c, k).line);
    let trap = |c: &Cause| {
        let mut traps = traps.iter();
        traps.any(|t| in_lines(&c.place, &t.file, t.lines))
    };
    Verdict {
        strict: first.line && first.class && first.ranks,
        line: first.line,
        position: by_line.map_or(0, |i| i + 1),
        known: causes.len(),
        found: causes.iter().filter(|k| matching(d, k).is_some()).count(),
        trap: d.causes.first().is_some_and(trap),
        false_findings: d.causes.iter().filter(|c| !is_known(c)).count(),
        baselines: baselines(d, main),
        said,
    }
}
