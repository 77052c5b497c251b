//! Folded stacks: a line for each call path, its frames joined by semicolons, and its microseconds.
//!
//! All ranks are summed up. Waiting time in a frame is in a frame of its own inside it, `[waiting]`, so that
//! a flame graph shows it.

use crate::error::ExportError;
use crate::stacks::{FrameIx, Stacks};
use crate::wanted::Wanted;
use headwater_dataflow::Recorded;
use headwater_model::printable::on_one_line;
use std::collections::BTreeMap;
use std::io::Write;

/// The frame of what was waited.
pub(crate) const WAITING: &str = "[waiting]";

pub(crate) fn write(
    runs: &[Recorded],
    wanted: &Wanted,
    out: &mut (dyn Write + Send),
) -> Result<(), ExportError> {
    for run in runs {
        let stacks = Stacks::new(run, wanted);
        let mut sums: BTreeMap<FrameIx, (f64, f64)> = BTreeMap::new();
        for (frame, spent) in stacks.tracks.iter().flat_map(|t| &t.spent) {
            let sum = sums.entry(*frame).or_default();
            sum.0 += spent.time - spent.wait;
            sum.1 += spent.wait;
        }
        // Frames at several lines of a function may have one name; a line represents all of them.
        let mut lines: BTreeMap<String, f64> = BTreeMap::new();
        for (frame, (own, wait)) in sums {
            let path: Vec<String> = (stacks.path(frame).into_iter())
                .filter_map(|f| stacks.frames.get(f as usize))
                .map(|f| folded(&f.name))
                .collect();
            let path = path.join(";");
            *lines.entry(format!("{path};{WAITING}")).or_default() += wait;
            *lines.entry(path).or_default() += own;
        }
        for (path, seconds) in lines {
            let micros = (seconds * 1e6).round() as u64;
            if micros > 0 {
                writeln!(out, "{path} {micros}")?;
            }
        }
    }
    Ok(())
}

/// A name without what has a meaning in the format, or to a terminal.
fn folded(name: &str) -> String {
    on_one_line(&name.replace(';', ":"))
}
