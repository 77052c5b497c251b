//! Parameter histograms as text: `~{120 values, 1..4096, mean 700: 64..127×30 …}`.

use super::describe::{field_name, path};
use super::{Names, View};
use crate::histogram::ParameterHistogram;
use crate::lossy::LOST;
use crate::trace::{Kind, Signature, Trace};
use crate::vector::{Term, Vector};
use std::collections::BTreeMap;
use std::fmt;

/// An event with parameters that are histograms.
#[derive(Clone, Debug, PartialEq)]
pub struct LossyEvent {
    /// The function.
    pub function: String,
    /// The call path, outermost first.
    pub path: Vec<String>,
    /// Names of the parameters.
    pub parameters: Vec<String>,
}

/// So many events are listed in the text.
const MOST_LISTED: usize = 16;

/// Events with histograms, in the order of their signatures' names and paths.
pub(super) fn lossy(trace: &Trace, names: &dyn Names) -> Vec<LossyEvent> {
    let mut events: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for place in trace.histograms.keys() {
        let Some(signature) = trace.signatures.get(&place.signature) else {
            continue;
        };
        let at = place.column as usize;
        let kind = signature.kinds.get(at).copied().unwrap_or(Kind::Plain);
        let name = field_name(names, &signature.function, at, kind);
        let of = events.entry(place.signature).or_default();
        if !of.contains(&name) {
            of.push(name);
        }
    }
    let event = |(identity, parameters): (u64, Vec<String>)| {
        let signature = trace.signatures.get(&identity)?;
        Some(LossyEvent {
            function: signature.function.clone(),
            path: path(trace, names, signature),
            parameters,
        })
    };
    let mut all: Vec<LossyEvent> = events.into_iter().filter_map(event).collect();
    all.sort_by(|a, b| (&a.function, &a.path).cmp(&(&b.function, &b.path)));
    all
}

/// The lines about them.
pub(super) fn write_lossy(f: &mut fmt::Formatter<'_>, view: &View) -> fmt::Result {
    if view.lossy.is_empty() {
        return Ok(());
    }
    writeln!(
        f,
        "the trace is lossy: these parameters are histograms, without the order of their values"
    )?;
    let line = |event: &LossyEvent| {
        let place = event
            .path
            .last()
            .map_or(String::new(), |p| format!("  at {p}"));
        format!(
            "  {} of {}{place}",
            event.parameters.join(", "),
            event.function
        )
    };
    let mut lines: Vec<String> = view.lossy.iter().map(line).collect();
    lines.dedup();
    for line in lines.iter().take(MOST_LISTED) {
        writeln!(f, "{line}")?;
    }
    match lines.len().checked_sub(MOST_LISTED).filter(|n| *n > 0) {
        Some(more) => writeln!(f, "  … ({more} more)"),
        None => Ok(()),
    }
}

/// Whether all values of a row are in a histogram.
pub(super) fn is_lost(values: &Vector) -> bool {
    matches!(
        values.terms(),
        [Term::Run {
            first: LOST,
            stride: 0,
            ..
        }]
    )
}

/// The histograms of a value.
pub(super) fn drawn(trace: &Trace, identity: u64, signature: &Signature, at: usize) -> String {
    let is_peer = signature.kinds.get(at) == Some(&Kind::Peer);
    let [relative, absolute] = trace.histograms_of(identity, at as u32);
    let plain = |value: i64| match value {
        -3 if is_peer => "none".to_owned(),
        -4 if is_peer => "any".to_owned(),
        value => value.to_string(),
    };
    let all: Vec<String> = [
        relative.map(|h| {
            one(h, &|value| match value {
                0.. => format!("+{value}"),
                _ => plain(value),
            })
        }),
        absolute.map(|h| one(h, &plain)),
    ]
    .into_iter()
    .flatten()
    .collect();
    match all.is_empty() {
        true => "~{}".to_owned(),
        false => all.join(" "),
    }
}

fn one(histogram: &ParameterHistogram, value: &dyn Fn(i64) -> String) -> String {
    let buckets = histogram.buckets().iter().map(|(first, bucket)| {
        let (low, high) = histogram.bounds(*first);
        match low == high {
            true => format!("{}×{}", value(low), bucket.count),
            false => format!("{}..{}×{}", value(low), value(high), bucket.count),
        }
    });
    let buckets: Vec<String> = buckets.collect();
    let (count, mean) = (histogram.count, histogram.mean());
    let ends = match histogram.min == histogram.max {
        true => value(histogram.min),
        false => format!("{}..{}", value(histogram.min), value(histogram.max)),
    };
    let mean = match mean.fract() == 0.0 {
        true => format!("{mean:.0}"),
        false => format!("{mean:.1}"),
    };
    format!(
        "~{{{count} values, {ends}, mean {mean}: {}}}",
        buckets.join(" ")
    )
}
