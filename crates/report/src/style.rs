//! Colour, wrapping and figures.
//!
//! A figure that is not known is written as a dash, never as zero.

use anstyle::{AnsiColor, Style};
use headwater_model::printable::{printable, printable_beside};

/// What a piece of text is.
#[derive(Clone, Copy)]
pub enum Tone {
    /// A heading.
    Head,
    /// The thing to look at.
    Strong,
    /// Something bad.
    Bad,
    /// Less important.
    Dim,
    /// As it is.
    Plain,
}

impl Tone {
    /// All that is coloured.
    const COLOURED: [Self; 4] = [Self::Head, Self::Strong, Self::Bad, Self::Dim];

    fn style(self) -> Style {
        match self {
            Self::Head => Style::new().bold().underline(),
            Self::Strong => Style::new().bold(),
            Self::Bad => Style::new().fg_color(Some(AnsiColor::Red.into())).bold(),
            Self::Dim => Style::new().dimmed(),
            Self::Plain => Style::new(),
        }
    }
}

/// Colours a text, or not.
pub fn paint(text: &str, tone: Tone, colour: bool) -> String {
    if !colour || matches!(tone, Tone::Plain) {
        return text.to_string();
    }
    let style = tone.style();
    format!("{style}{text}{style:#}")
}

/// A whole report as a terminal may get it, with the colours of [`paint`] and nothing else that drives one.
pub fn screened(report: &str, colour: bool) -> String {
    let own = |tone: &Tone| {
        let style = tone.style();
        [format!("{style}"), format!("{style:#}")]
    };
    let marks: Vec<String> = match colour {
        true => Tone::COLOURED.iter().flat_map(own).collect(),
        false => Vec::new(),
    };
    printable_beside(report, &marks).into_owned()
}

/// Breaks a sentence into lines of `width` characters, each after `indent`.
pub fn wrap(sentence: &str, width: usize, indent: &str) -> String {
    hang(sentence, width, indent, indent)
}

/// Breaks a sentence into lines of `width` characters, the first after `first`, the others after
/// `rest`. A word longer than a line is left whole: a path that is cut cannot be copied.
pub fn hang(sentence: &str, width: usize, first: &str, rest: &str) -> String {
    let mut out = String::new();
    let mut line = first.to_string();
    let mut used = first.chars().count();
    let mut empty = true;
    for word in sentence.split_whitespace() {
        let length = word.chars().count();
        if !empty && used + 1 + length > width {
            out.push_str(line.trim_end());
            out.push('\n');
            line = rest.to_string();
            used = rest.chars().count();
            empty = true;
        }
        if !empty {
            line.push(' ');
            used += 1;
        }
        line.push_str(word);
        used += length;
        empty = false;
    }
    out.push_str(line.trim_end());
    out.push('\n');
    out
}

pub use headwater_model::words::{UNKNOWN, seconds};

/// A share as per cent.
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    if !value.is_finite() {
        UNKNOWN.to_string()
    } else if value < 10.0 {
        format!("{value:.1} %")
    } else {
        format!("{value:.0} %")
    }
}

/// A line of a file as a terminal may get it: tabs widened, control characters by their numbers, at most `width`
/// characters.
pub fn harmless(line: &str, width: usize) -> String {
    let line = line.replace('\t', "    ").replace('\n', " ");
    printable(&line).chars().take(width).collect()
}

/// A path cut from the left to `width` characters.
pub fn shorten(text: &str, width: usize) -> String {
    let n = text.chars().count();
    if n <= width {
        return text.to_string();
    }
    let kept: String = text.chars().skip(n - width.saturating_sub(1)).collect();
    // From a folder's beginning, if that does not cost most of what is left.
    let whole = kept
        .find('/')
        .and_then(|at| kept.get(at..))
        .filter(|t| t.chars().count() * 2 > width);
    format!("…{}", whole.unwrap_or(&kept))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lose_their_beginning() {
        let path = "/home/someone/code/solver/src/field.h";
        assert_eq!(shorten(path, 60), path);
        assert_eq!(shorten(path, 24), "…/solver/src/field.h");
        assert_eq!(shorten("a_name_without_folders.c", 10), "…folders.c");
    }

    #[test]
    fn lines_hang_under_their_first() {
        assert_eq!(hang("aa bb cc", 6, "┌ ", "│ "), "┌ aa\n│ bb\n│ cc\n");
        assert_eq!(wrap("longer_than_it", 4, " "), " longer_than_it\n");
        assert_eq!(wrap("", 4, " "), "\n");
    }

    #[test]
    fn unknown_figures_are_not_zero() {
        assert_eq!(seconds(f64::NAN), "–");
        assert_eq!(percent(f64::INFINITY), "–");
        assert_eq!(seconds(0.0), "0 s");
        assert_eq!(seconds(0.0123), "12.3 ms");
    }

    #[test]
    fn source_cannot_drive_the_terminal() {
        assert_eq!(harmless("\tx\u{1b}[2J", 80), "    x\\u001b[2J");
        assert_eq!(harmless("abcdef", 3), "abc");
    }

    #[test]
    fn a_report_keeps_its_own_colours_alone() {
        for tone in Tone::COLOURED {
            let painted = paint("x", tone, true);
            assert_eq!(screened(&painted, true), painted);
            assert!(!screened(&painted, false).contains('\u{1b}'));
        }
        let named = paint("a\u{1b}]0;title\u{7}", Tone::Bad, true);
        assert!(screened(&named, true).contains("a\\u001b]0;title\\u0007"));
    }
}
