//! Short notations: sets of ranks, rows of values, durations.

use super::Names;
use crate::elastic::Form;
use crate::ranks::{Block, Ranks};
use crate::trace::{Kind, Trace};
use crate::vector::{Term, Vector};
use std::fmt::Write;

/// So many terms of a row are shown, and so many blocks of a set of ranks.
const MOST_SHOWN: usize = 24;

/// Loops in rows are shown so deep.
const DEEPEST_SHOWN: usize = 8;

/// A set of ranks: `0-15`, `0-60:4` for every fourth, `0-3(+16×4)` for four such blocks 16 ranks apart.
pub fn ranks(ranks: &Ranks) -> String {
    let blocks = ranks.blocks();
    let mut text: Vec<String> = blocks.iter().take(MOST_SHOWN).map(block).collect();
    if blocks.len() > MOST_SHOWN {
        text.push(format!("… ({} ranks)", ranks.len()));
    }
    text.join(",")
}

fn block(block: &Block) -> String {
    let mut text = block.start.to_string();
    for (i, (iters, stride)) in block.dims.iter().enumerate() {
        let last = u64::from(block.start) + u64::from(iters.saturating_sub(1)) * u64::from(*stride);
        let _ = match (i, stride) {
            (0, _) if *iters == 2 && *stride > 1 => write!(text, ",{last}"),
            (0, 1) => write!(text, "-{last}"),
            (0, stride) => write!(text, "-{last}:{stride}"),
            _ => write!(text, "(+{stride}×{iters})"),
        };
    }
    text
}

/// A duration with three digits: `800 ns`, `1.25 µs`.
pub fn duration(nanoseconds: f64) -> String {
    let (value, unit) = match nanoseconds {
        n if n < 999.5 => return format!("{n:.0} ns"),
        n if n < 999.5e3 => (n / 1e3, "µs"),
        n if n < 999.5e6 => (n / 1e6, "ms"),
        n => (n / 1e9, "s"),
    };
    let decimals = match value {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    let text = format!("{value:.decimals$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    format!("{text} {unit}")
}

/// How the values of one column are written.
pub(super) struct Values<'a> {
    pub trace: &'a Trace,
    pub names: &'a dyn Names,
    pub function: &'a str,
    pub position: usize,
    pub kind: Kind,
    pub form: Form,
    /// Members of the communicator, if they are known: ranks a little below the own one are shown so.
    pub members: Option<i64>,
}

impl Values<'_> {
    /// One value.
    pub(super) fn value(&self, value: i64) -> String {
        if value == crate::lossy::LOST {
            return "~".to_owned();
        }
        if let Some(name) = self.names.value(self.function, self.position, value)
            && (self.form == Form::Absolute || value < 0)
        {
            return name;
        }
        match self.kind {
            Kind::Peer => self.peer(value),
            Kind::List => match self.trace.lists.get(&value) {
                Some(list) => format!("({})", plain(list)),
                None => value.to_string(),
            },
            Kind::Text => match self.trace.texts.get(&value) {
                Some(text) => format!("{:?}", String::from_utf8_lossy(text)),
                None => value.to_string(),
            },
            Kind::Plain | Kind::Comm => value.to_string(),
        }
    }

    fn peer(&self, value: i64) -> String {
        peer(value, self.form, self.members)
    }

    /// All values of a row; one alone if they are equal.
    pub(super) fn row(&self, values: &Vector) -> String {
        match values.terms() {
            [
                Term::Run {
                    first, stride: 0, ..
                },
            ] => self.value(*first),
            terms => rows(terms, &|value| self.value(value), 0),
        }
    }
}

/// A rank, as it is written: `3`, `+1`, `-1`, `^4`, `any` or `none`.
pub(super) fn peer(value: i64, form: Form, members: Option<i64>) -> String {
    match (form, members) {
        // As traces have `MPI_PROC_NULL` and `MPI_ANY_SOURCE`.
        (_, _) if value == -3 => "none".to_owned(),
        (_, _) if value == -4 => "any".to_owned(),
        (Form::Absolute, _) => value.to_string(),
        (_, _) if value < 0 => value.to_string(),
        (Form::Relative, Some(members)) if value < members && value > members / 2 => {
            format!("-{}", members - value)
        }
        (Form::Relative, _) => format!("+{value}"),
        (Form::Butterfly, _) => format!("^{value}"),
    }
}

/// A row of numbers; one alone if they are equal.
pub(super) fn numbers(values: &Vector) -> String {
    match values.terms() {
        [
            Term::Run {
                first, stride: 0, ..
            },
        ] => first.to_string(),
        _ => plain(values),
    }
}

fn plain(values: &Vector) -> String {
    rows(values.terms(), &|value| value.to_string(), 0)
}

fn rows(terms: &[Term], value: &dyn Fn(i64) -> String, depth: usize) -> String {
    if depth > DEEPEST_SHOWN {
        return "…".to_owned();
    }
    let one = |term: &Term| match term {
        Term::Run {
            first, count: 1, ..
        } => value(*first),
        Term::Run {
            first,
            stride: 0,
            count,
        } => format!("{}×{count}", value(*first)),
        Term::Run {
            first,
            stride,
            count: 2,
        } => format!("{} {}", value(*first), value(first.wrapping_add(*stride))),
        Term::Run {
            first,
            stride,
            count,
        } => {
            let last = first.wrapping_add(stride.wrapping_mul(*count as i64 - 1));
            match stride {
                1 => format!("{}..{}", value(*first), value(last)),
                _ => format!("{}..{}:{stride}", value(*first), value(last)),
            }
        }
        Term::Loop { body, times } => format!("[{}]×{times}", rows(body, value, depth + 1)),
    };
    let mut text: Vec<String> = terms.iter().take(MOST_SHOWN).map(one).collect();
    if let Some(more) = terms.len().checked_sub(MOST_SHOWN).filter(|n| *n > 0) {
        text.push(format!("… ({more} more)"));
    }
    text.join(" ")
}
