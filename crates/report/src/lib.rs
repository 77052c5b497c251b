//! One model of findings, shown in the terminal and as JSON.
//!
//! *Comes in*: a [`Diagnosis`](headwater_model::diagnosis::Diagnosis) and a way to get source lines, or the
//! [`Report`](headwater_model::report::Report) of another analysis; *goes out*: text. This crate opens no file and prints nothing: the caller hands in a
//! [`SourceLines`] and writes what it gets. The same diagnosis results in the same bytes.

mod bars;
mod cause;
mod gcc;
mod loss;
mod sarif;
mod sections;
mod source;
mod style;
mod tables;
mod text;

pub use cause::cause_title;
pub use gcc::gcc;
pub use sarif::sarif;
pub use sections::{ReportOptions, report_text};
pub use text::{SourceLines, TextOptions, text};

pub use headwater_model::excerpt::Excerpt;

use headwater_model::diagnosis::Diagnosis;
use headwater_model::printable::printable;
use headwater_model::report::Report;
use serde::Serialize;

/// The diagnosis as JSON, as its types serialise, with a newline at the end.
pub fn json(diagnosis: &Diagnosis) -> String {
    pretty(diagnosis)
}

/// The report of another analysis as JSON, with a newline at the end.
pub fn report_json(report: &Report) -> String {
    pretty(report)
}

fn pretty(value: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(value)
        .map_or_else(|e| format!("{{\"error\": \"{e}\"}}\n"), |t| t + "\n");
    printable(&text).into_owned()
}
