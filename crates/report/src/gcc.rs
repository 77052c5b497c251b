//! Causes as compilers print warnings, a line each: `file:line: warning: message`.
//!
//! Editors and systems of continuous integration find such lines in any output. A cause without a line in a source file has
//! its module in place of the file.

use crate::cause::cause_title;
use headwater_model::diagnosis::{Cause, Diagnosis, Place};
use headwater_model::printable::on_one_line;
use headwater_model::words::{self, Subject};

/// The line of a place that an editor should open: the hottest inside it, or the first.
pub fn line(place: &Place) -> Option<u32> {
    let inside = place.first_line..=place.last_line.max(place.first_line);
    let hot = inside.contains(&place.hot_line);
    let line = if hot {
        place.hot_line
    } else {
        place.first_line
    };
    Some(line).filter(|line| *line > 0)
}

/// What a cause costs, and what to do.
pub fn message(c: &Cause, subject: Subject) -> String {
    let gain = words::share(c.gain_share, c.gain_range_share());
    let title = cause_title(c);
    let ranks = match subject {
        Subject::Process => String::new(),
        Subject::Ranks => format!(
            "; {} of {}",
            words::ranks(&c.ranks, c.scale, 40),
            words::count(c.scale as usize)
        ),
    };
    format!(
        "{title}{ranks}: without it the run would be {gain} shorter. {}",
        c.explanation
    )
}

/// All causes, a line each, the dearest first.
pub fn gcc(d: &Diagnosis) -> String {
    let one = |c: &Cause| {
        let place = &c.place;
        let at = match (&place.file, line(place)) {
            (Some(file), Some(line)) => format!("{file}:{line}"),
            _ if place.module.is_empty() => d.program.clone(),
            _ => place.module.clone(),
        };
        let text = format!(
            "{at}: warning: {} [-Wheadwater-{}]",
            message(c, d.subject()),
            word(c)
        );
        on_one_line(&text) + "\n"
    };
    d.causes.iter().map(one).collect()
}

/// The class as one word, as JSON has it.
pub fn word(c: &Cause) -> String {
    let word = serde_json::to_value(c.class).ok();
    let word = word.as_ref().and_then(|w| w.as_str());
    word.unwrap_or_default().to_string()
}
