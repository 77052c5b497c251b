//! Ratios of counters, such as those that place a loop under a roofline (Williams et al. 2009): how much it computes in
//! each cycle and for each byte from memory.
//!
//! A miss of the last cache counts as one line of 64 bytes. The counters do not include the traffic of prefetchers and
//! writes, so the traffic is a lower bound.

use crate::flow::{Gives, Kind, Pass, PassError};
use crate::set::Set;
use headwater_graph::view::View;

/// Bytes of a cache line on the known machines.
const LINE: f64 = 64.0;

/// A ratio: name, dividend, divisor, factor, and meaning.
pub(super) type Ratio = (&'static str, &'static str, &'static str, f64, &'static str);

pub(super) const RATIOS: [Ratio; 7] = [
    (
        "ipc",
        "instructions",
        "cycles",
        1.0,
        "instructions per cycle",
    ),
    ("clock", "cycles", "busy", 1e-9, "GHz while computing"),
    (
        "speed",
        "instructions",
        "busy",
        1e-9,
        "10⁹ instructions per second of computation",
    ),
    (
        "mpki",
        "cache_misses",
        "instructions",
        1000.0,
        "misses per 1000 instructions",
    ),
    (
        "miss_ratio",
        "cache_misses",
        "cache_references",
        1.0,
        "part of the references that missed",
    ),
    (
        "bytes_per_instruction",
        "cache_misses",
        "instructions",
        LINE,
        "bytes from memory for an instruction",
    ),
    (
        "bandwidth",
        "cache_misses",
        "busy",
        LINE * 1e-9,
        "GB from memory per second of a thread's computation, at the least",
    ),
];

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    vec![
        Pass::new(
            "counter-ratios",
            "Vertices with ratios of counters: ipc, clock, speed, mpki, miss_ratio, bytes_per_instruction, bandwidth.",
            |call| Ok(vec![counter_ratios(call.vertices(0)?, call.list("ratios"))?.into()]),
        )
        .takes("V", Kind::SET)
        .with(
            "ratios",
            crate::flow::Parameter::List(Vec::new()),
            "which of them; if none is named, all whose counters were recorded",
        )
        .gives(Gives::AsArgument(0)),
    ]
}

/// Counters that a view has.
fn recorded(view: &View) -> String {
    let counters = view.header.counters.iter();
    let there: Vec<&str> = counters
        .map(String::as_str)
        .filter(|c| view.vertices.get(c).is_some())
        .collect();
    if there.is_empty() {
        "no counters were".to_string()
    } else {
        format!("recorded are {}", there.join(", "))
    }
}

/// Vertices with ratios of counters as metrics; a ratio is missing where its divisor is zero or missing. Either all
/// named ratios are added, or none.
///
/// # Errors
/// If a ratio does not exist, or its counters were not recorded; without names, if no ratio can be computed.
pub fn counter_ratios(set: &Set, names: &[String]) -> Result<Set, PassError> {
    let view = set.view();
    let wrong = |what: String| PassError::Argument("ratios".to_string(), what);
    let missing = |r: &Ratio| {
        [r.1, r.2]
            .into_iter()
            .find(|c| view.vertices.get(c).is_none())
    };
    let mut wanted: Vec<&Ratio> = Vec::new();
    for name in names {
        let Some(ratio) = RATIOS.iter().find(|r| r.0 == name) else {
            let known = RATIOS.map(|r| r.0).join(", ");
            return Err(wrong(format!("there is no {name}; there are {known}")));
        };
        if let Some(counter) = missing(ratio) {
            let there = recorded(view);
            return Err(wrong(format!(
                "{name} ({}) needs {counter}, which was not recorded; {there}",
                ratio.4
            )));
        }
        wanted.push(ratio);
    }
    if names.is_empty() {
        wanted = RATIOS.iter().filter(|r| missing(r).is_none()).collect();
        if wanted.is_empty() {
            let there = recorded(view);
            return Err(wrong(format!(
                "ratios need instructions, cycles or cache_misses, which were not recorded; {there}"
            )));
        }
    }
    let mut out = set.clone();
    for (name, above, below, by, _) in wanted {
        let (above, mut below_all) = (set.numbers(above)?, set.numbers(below)?);
        if *below == "busy" && view.vertices.get("blocked").is_some() {
            // Counters do not advance during sleep.
            let asleep = set.numbers("blocked")?;
            let awake =
                |(b, a): (&mut Option<f64>, Option<f64>)| *b = b.map(|b| b - a.unwrap_or(0.0));
            below_all.iter_mut().zip(asleep).for_each(awake);
        }
        let both = above.into_iter().zip(below_all);
        let ratio = |(a, b): (Option<f64>, Option<f64>)| Some(by * a? / b.filter(|b| *b > 0.0)?);
        let values: Vec<Option<f64>> = both.map(ratio).collect();
        out = out.with_metric(name, &values)?;
    }
    Ok(out)
}
