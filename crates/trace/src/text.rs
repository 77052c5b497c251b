//! A trace as text for people, and the tree that the text is made of.
//!
//! *Goes out*: [`show`], the whole trace or one rank's part of it; [`describe()`], the same as a tree, for JSON; and
//! [`events`], every event of one rank in order, a line each. The text is stable: scripts may compare it. This crate
//! knows no MPI and no debug information, so names come from [`Names`].

mod describe;
mod histograms;
mod notation;

use crate::expand::Events;
use crate::trace::{Frame, Trace};
use std::fmt;

pub use describe::{
    Described, Duration, Field, Group, Members, Open, Stream, View, What, describe,
};
pub use histograms::LossyEvent;
pub use notation::{duration, ranks};

/// What numbers are called.
pub trait Names {
    /// The name of a function's value, by its position.
    fn field(&self, function: &str, position: usize) -> Option<String> {
        let _ = (function, position);
        None
    }

    /// A value by its name, such as that of a datatype. An empty name means that there is nothing to show.
    fn value(&self, function: &str, position: usize, value: i64) -> Option<String> {
        let _ = (function, position, value);
        None
    }

    /// The name of a communicator that every program has.
    fn communicator(&self, number: i64) -> Option<String> {
        let _ = number;
        None
    }

    /// Whether code of a module belongs to the place that called it, as that of a runtime library does.
    fn belongs_to_caller(&self, module: &str) -> bool {
        let _ = module;
        false
    }

    /// The place in the source of a frame.
    fn place(&self, module: &str, frame: Frame) -> Option<String> {
        let _ = (module, frame);
        None
    }
}

/// Names that are known without further knowledge: numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numbers;

impl Names for Numbers {}

/// The text of a trace, or of what one rank did.
pub fn show(trace: &Trace, names: &dyn Names, rank: Option<u32>) -> impl fmt::Display {
    describe(trace, names, rank)
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rank {
            Some(rank) => writeln!(f, "rank {rank} of {}; times are of all ranks", self.size)?,
            None if self.missing.is_empty() => writeln!(f, "{} ranks", self.size)?,
            None => writeln!(f, "{} ranks; not in the trace: {}", self.size, self.missing)?,
        }
        for loss in &self.losses {
            let own = |open: &&Open| (open.rank, open.thread) == (loss.rank, loss.thread);
            let open = self.open.iter().find(own);
            // A rank that was killed cannot count what it did not record, if it was in no call.
            let lost = match loss.lost {
                0 => open.and_then(|open| open.missing).map(u64::from),
                lost => Some(lost),
            };
            let lost = match lost {
                None => "an unknown number of later events is missing".to_owned(),
                Some(0) => "no later event is missing".to_owned(),
                Some(1) => "1 later event is missing".to_owned(),
                Some(lost) => format!("{lost} later events are missing"),
            };
            writeln!(
                f,
                "rank {} thread {}: the trace ends after {} events; {lost}",
                loss.rank, loss.thread, loss.kept
            )?;
        }
        write_communicators(f, &self.communicators)?;
        for open in &self.open {
            write!(f, "rank {}", open.rank)?;
            if open.thread > 0 {
                write!(f, " thread {}", open.thread)?;
            }
            write!(f, " was in {} when the recording ended:", open.function)?;
            for (name, value) in &open.fields {
                write!(f, " {name}={value}")?;
            }
            if let Some(place) = open.path.last() {
                write!(f, "  at {place}")?;
            }
            writeln!(f)?;
        }
        histograms::write_lossy(f, self)?;
        for stream in &self.streams {
            writeln!(f, "\nthread {}: {} events", stream.thread, stream.events)?;
            write_row(f, &stream.row, 1)?;
        }
        Ok(())
    }
}

/// A line for each row of communicators that have the same members.
fn write_communicators(f: &mut fmt::Formatter<'_>, all: &[Members]) -> fmt::Result {
    let alike = |a: &Members, b: &Members| a.sizes == b.sizes && a.own == b.own;
    for row in all.chunk_by(alike) {
        let [first, ..] = row else { continue };
        match row {
            [.., last] if row.len() > 1 => {
                write!(f, "communicators {}-{}: ", first.number, last.number)?
            }
            _ => write!(f, "communicator {}: ", first.number)?,
        }
        match first.is_all {
            true => writeln!(f, "all ranks, in their order")?,
            false => writeln!(
                f,
                "members={} rank={}",
                Groups(&first.sizes),
                Groups(&first.own)
            )?,
        }
    }
    Ok(())
}

fn write_row(f: &mut fmt::Formatter<'_>, row: &[Described], depth: usize) -> fmt::Result {
    for node in row {
        write!(f, "{:1$}", "", 2 * depth)?;
        match &node.what {
            What::Loop { row } => {
                f.write_str("loop")?;
                write_trips(f, node)?;
                writeln!(f)?;
                write_row(f, row, depth + 1)?;
            }
            What::Event {
                function,
                fields,
                path,
                computation,
                call,
                ..
            } => {
                f.write_str(function)?;
                for field in fields {
                    write!(f, " {}={}", field.name, Groups(&field.values))?;
                }
                write_trips(f, node)?;
                if let Some(place) = path.last() {
                    write!(f, "  at {place}")?;
                }
                if computation.count > 0 || call.count > 0 {
                    write!(f, "  computation {computation}, call {call}")?;
                }
                writeln!(f)?;
            }
        }
    }
    Ok(())
}

/// How often a node runs, and on which ranks, where that is not once on all of those around it.
fn write_trips(f: &mut fmt::Formatter<'_>, node: &Described) -> fmt::Result {
    match &*node.trips {
        [Group { values, .. }] if values == "1" && matches!(node.what, What::Event { .. }) => {}
        [Group { values, .. }] => write!(f, " ×{}", in_brackets(values))?,
        groups => {
            for (i, group) in groups.iter().enumerate() {
                let comma = if i == 0 { "" } else { "," };
                let values = in_brackets(&group.values);
                write!(f, "{comma} ×{values} [{}]", group.ranks)?;
            }
            return Ok(());
        }
    }
    match &node.ranks {
        Some(ranks) => write!(f, "  [ranks {ranks}]"),
        None => Ok(()),
    }
}

fn in_brackets(values: &str) -> String {
    let is_one = !values.contains(' ') || values.starts_with(['(', '"', '~']);
    match is_one {
        true => values.to_owned(),
        false => format!("({values})"),
    }
}

struct Groups<'a>(&'a [Group]);

impl fmt::Display for Groups<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [one] => f.write_str(&in_brackets(&one.values)),
            groups => {
                f.write_str("{")?;
                for (i, group) in groups.iter().enumerate() {
                    let comma = if i == 0 { "" } else { ", " };
                    write!(f, "{comma}{} [{}]", group.values, group.ranks)?;
                }
                f.write_str("}")
            }
        }
    }
}

/// The events of a thread of a rank, a line each, from number 0 on.
pub fn events<'a>(
    trace: &'a Trace,
    names: &'a dyn Names,
    rank: u32,
    thread: u32,
) -> impl Iterator<Item = String> + 'a {
    Lines {
        trace,
        names,
        events: trace.events(rank, thread),
        number: 0,
    }
}

struct Lines<'a> {
    trace: &'a Trace,
    names: &'a dyn Names,
    events: Events<'a>,
    number: u64,
}

impl Iterator for Lines<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let happened = self.events.next()?;
        let signature = happened.signature;
        let mut line = format!("{} {}", self.number, signature.function);
        let fields = describe::fields_of(self.trace, self.names, signature, happened.values);
        for (name, value) in fields {
            line += &format!(" {name}={value}");
        }
        if let Some(place) = describe::path(self.trace, self.names, signature).pop() {
            line += &format!("  at {place}");
        }
        self.number += 1;
        Some(line)
    }
}
