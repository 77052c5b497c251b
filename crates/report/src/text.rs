//! The terminal report: the answer first, then efficiencies, causes, and what could not be seen.

use crate::cause::cause;
use crate::style::{Tone, paint, wrap};
use crate::tables;
use headwater_model::diagnosis::{Diagnosis, Scaling};

/// Lines of a source file.
#[derive(Clone, Debug, PartialEq)]
pub enum Excerpt {
    /// The file is not there.
    Gone,
    /// The lines asked for, as far as there are any.
    Lines {
        /// Without line ends.
        lines: Vec<String>,
        /// Whether the file was changed after the program was built.
        newer: bool,
    },
}

/// Gives source lines; the caller decides where from.
pub trait SourceLines {
    /// Lines `first..=last` of `file`.
    fn lines(&self, file: &str, first: u32, last: u32) -> Excerpt;
}

/// How to write.
pub struct TextOptions<'a> {
    /// Whether to colour.
    pub color: bool,
    /// Characters in a line.
    pub width: usize,
    /// Causes told in full.
    pub top: usize,
    /// Source.
    pub source: &'a dyn SourceLines,
}

/// The report as text.
pub fn text(d: &Diagnosis, options: &TextOptions<'_>) -> String {
    let colour = options.color;
    let head = |title: &str| format!("\n{}\n", paint(title, Tone::Head, colour));
    let mut out = wrap(&d.headline.join(" "), options.width, "");
    for note in &d.notes {
        out += &wrap(note, options.width, "  ");
    }
    out += &head("Efficiencies");
    out += &tables::efficiencies(&d.scales);
    out += &paint(
        " 0.8 is the accepted mark; below it: !   not known: –\n",
        Tone::Dim,
        colour,
    );
    if !d.causes.is_empty() {
        out += &head("Causes");
        out += &tables::causes(&d.causes);
        for (i, c) in d.causes.iter().take(options.top).enumerate() {
            out.push('\n');
            out += &cause(c, i + 1, options);
        }
        if d.causes.len() > options.top {
            out += &format!(
                "\n{} more causes; --top shows them, --json has all.\n",
                d.causes.len() - options.top
            );
        }
    } else if d.scaling != Scaling::Single {
        out += &wrap(
            "Nothing was found that takes more than its share as ranks are added, and no rank keeps the others waiting.",
            options.width,
            "",
        );
    }
    out += &head("What this rests on");
    out += &wrap(
        &format!(
            "{}, {}; {} scaling ({}).",
            d.program,
            d.mpi_library,
            scaling_word(d.scaling),
            d.scaling_reason
        ),
        options.width,
        "  ",
    );
    for sentence in &d.missing {
        out += &wrap(&format!("· {sentence}"), options.width, "  ");
    }
    out
}

fn scaling_word(scaling: Scaling) -> &'static str {
    match scaling {
        Scaling::Strong => "strong",
        Scaling::Weak => "weak",
        Scaling::Single => "no",
    }
}
