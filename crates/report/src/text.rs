//! The terminal report: the answer first, then efficiencies, causes, and what could not be seen.
//!
//! Lines keep to the width asked for, from 60 characters on, but for single words that are longer.

use crate::cause::cause;
use crate::loss::loss;
use crate::style::{Tone, hang, paint, screened, wrap};
use crate::tables;
use headwater_model::diagnosis::{Cause, Diagnosis, Scaling};
use headwater_model::excerpt::Excerpt;

/// Gives source lines; the caller decides where from.
pub trait SourceLines {
    /// Lines `first..=last` of `file`, from which `module` (an executable or library) was built.
    fn lines(&self, module: &str, file: &str, first: u32, last: u32) -> Excerpt;
}

/// How to write.
pub struct TextOptions<'a> {
    /// Whether to colour.
    pub color: bool,
    /// Characters in a line.
    pub width: usize,
    /// Causes that are described in full.
    pub top: usize,
    /// Source.
    pub source: &'a dyn SourceLines,
}

/// The report as text.
pub fn text(d: &Diagnosis, options: &TextOptions<'_>) -> String {
    let colour = options.color;
    let head = |title: &str| format!("\n{}\n", paint(title, Tone::Head, colour));
    let answer = wrap(&d.headline.join(" "), options.width, "");
    let mut out = paint(answer.trim_end(), Tone::Strong, colour) + "\n";
    for note in &d.notes {
        out += &wrap(note, options.width, "  ");
    }
    out += &head("Efficiencies");
    out += &tables::efficiencies(d, options.width);
    out += &paint(
        " 0.8 is the accepted mark; below it: !   not known: –\n",
        Tone::Dim,
        colour,
    );
    if d.causes.is_empty() {
        out.push('\n');
        for sentence in nothing_found(d) {
            out += &wrap(&sentence, options.width, "");
        }
    } else {
        out += &head("Causes");
        out += &tables::causes(&d.causes, d.subject(), options.width, colour);
        for (i, c) in d.causes.iter().take(options.top).enumerate() {
            out.push('\n');
            out += &cause(c, i + 1, d, options);
        }
        let more = d.causes.len().saturating_sub(options.top);
        if more > 0 {
            let plural = if more == 1 { "" } else { "s" };
            out += &wrap(
                &format!(
                    "{more} more cause{plural} in the table above: --top shows more in full, --json has all."
                ),
                options.width,
                "",
            );
        }
    }
    if let Some(other) = &d.other_reading
        && !other.causes.is_empty()
    {
        out += &head(&match other.scaling {
            Scaling::Weak => format!("Causes if the problem grows with the {}", d.added()),
            Scaling::Strong | Scaling::Single => {
                "Causes if the problem is the same at every scale".to_string()
            }
        });
        out += &tables::causes(&other.causes, d.subject(), options.width, colour);
    }
    let lost = loss(&d.account, d.subject(), d.scales.last(), options.width);
    if !lost.is_empty() {
        out += &head("Where the loss goes");
        out += &lost;
    }
    if let Some(sentence) = unexplained(d) {
        if !d.causes.is_empty() || !lost.is_empty() {
            out.push('\n');
        }
        out += &wrap(&sentence, options.width, "");
    }
    out += &head("What this rests on");
    let library = match d.mpi_library.as_str() {
        "" if d.subject().is_process() => "without MPI",
        "" => "an unknown MPI library",
        library => library,
    };
    out += &wrap(
        &format!("{}, {library}; {}.", d.program, scaling_words(d)),
        options.width,
        "  ",
    );
    for sentence in &d.missing {
        out += &hang(sentence, options.width, "  · ", "    ");
    }
    screened(&out, colour)
}

fn scaling_words(d: &Diagnosis) -> String {
    let doubt = if d.scaling_certain {
        ""
    } else {
        ", which is not certain"
    };
    match d.scaling {
        Scaling::Strong => format!("strong scaling{doubt} ({})", d.scaling_reason),
        Scaling::Weak => format!("weak scaling{doubt} ({})", d.scaling_reason),
        Scaling::Single => d.scaling_reason.clone(),
    }
}

/// What "no cause" means here, without claiming more than was seen.
fn nothing_found(d: &Diagnosis) -> Vec<String> {
    let mut out = Vec::new();
    let (grow, differ) = (d.non_scalable.len(), d.abnormal.len());
    let process = d.subject().is_process();
    out.push(match (d.scaling, grow + differ) {
        (Scaling::Single, 0) if process => "No place of this recording makes threads wait clearly.".to_string(),
        (_, 0) if process => "No place of this recording takes clearly more than its share as threads are added, and none makes threads wait clearly.".to_string(),
        _ if process => format!(
            "Places that by their figures alone do not scale: {grow} (--json lists them). No cause behind them costs enough to be worth mending."
        ),
        (Scaling::Single, 0) => "In no place of this recording does a rank take clearly longer than the others.".to_string(),
        (_, 0) => format!("No place of this recording takes clearly more than its share as {} are added, and in none does a rank take clearly longer than the others.", d.added()),
        _ => format!(
            "Places that by their figures alone do not scale: {grow}; differing between ranks: {differ} (--json lists them). No cause behind them costs enough to be worth mending."
        ),
    });
    out
}

/// The loss that the efficiencies show and the causes do not explain by half.
fn unexplained(d: &Diagnosis) -> Option<String> {
    let last = d.scales.last()?;
    let (name, left) = match last.efficiencies.global {
        Some(global) => ("global", global),
        None => ("parallel", last.efficiencies.parallel?),
    };
    let gain = |c: &Cause| Some(c.gain_share).filter(|s| s.is_finite());
    let explained: f64 = d.causes.iter().filter_map(gain).sum();
    if !tables::below(left) || explained >= 0.5 * (1.0 - left) {
        return None;
    }
    let why = if d.causes.is_empty() {
        "that loss has no single place that this recording shows"
    } else {
        "the causes above explain less than half of that loss"
    };
    Some(format!(
        "Yet the {name} efficiency at {} is {left:.2}: {why}.",
        last.words()
    ))
}
