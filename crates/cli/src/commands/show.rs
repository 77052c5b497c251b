//! `show`: a trace as text: its loops, events, ranks, parameters and times.

mod json;
mod names;

use super::Outcome;
use crate::args::ShowArgs;
use crate::exit;
use crate::output::print;
use headwater_format::{TRACE_NAME, is_run, open_run, read_trace};
use headwater_model::printable::printable;
use headwater_trace::text;
use headwater_trace::trace::Trace;
pub use json::Shown;
use names::MpiNames;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;

/// `headwater show`.
pub fn command(args: &ShowArgs) -> Outcome {
    let trace = read(&args.path)?;
    if let Some(rank) = args.rank.filter(|rank| !trace.ranks.contains(*rank)) {
        return Err(format!(
            "{} has no rank {rank}; it has {}",
            args.path.display(),
            match trace.ranks.is_empty() {
                true => "none".to_owned(),
                false => format!("ranks {}", text::ranks(&trace.ranks)),
            }
        )
        .into());
    }
    let names = MpiNames::default();
    match args.rank {
        Some(rank) if args.events => events(&trace, &names, rank),
        rank if args.json.wanted() => {
            let view = text::describe(&trace, &names, rank);
            args.json.give_value(&Shown::from(view))
        }
        rank => print(&text::show(&trace, &names, rank).to_string()),
    }
}

/// The trace in a file, or in the run that is a directory. A run that was recorded behind a launcher is finished first.
pub fn read(path: &Path) -> Result<Trace, String> {
    if path.is_dir() && !path.join(TRACE_NAME).exists() && is_run(path) {
        open_run(path).map_err(|e| e.to_string())?;
    }
    read_trace(path).map_err(|e| e.to_string())
}

/// Writes every event of a rank, as there may be more than memory holds.
fn events(trace: &Trace, names: &MpiNames, rank: u32) -> Outcome {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let written = (|| {
        for thread in trace.streams.keys() {
            if trace.streams.len() > 1 {
                writeln!(out, "thread {thread}")?;
            }
            for line in text::events(trace, names, rank, *thread) {
                writeln!(out, "{}", printable(&line))?;
            }
        }
        out.flush()
    })();
    match written {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(format!("cannot write the result: {e}").into())
        }
        _ => Ok(exit::DONE),
    }
}
