//! Colour, wrapping and figures.
//!
//! A figure that is not known is written as a dash, never as zero.

use anstyle::{AnsiColor, Style};

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

/// Colours a text, or not.
pub fn paint(text: &str, tone: Tone, colour: bool) -> String {
    if !colour {
        return text.to_string();
    }
    let style = match tone {
        Tone::Head => Style::new().bold().underline(),
        Tone::Strong => Style::new().bold(),
        Tone::Bad => Style::new().fg_color(Some(AnsiColor::Red.into())).bold(),
        Tone::Dim => Style::new().dimmed(),
        Tone::Plain => return text.to_string(),
    };
    format!("{style}{text}{style:#}")
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

/// Text from a file as a terminal may get it: tabs widened, control characters left out (a source
/// line must not be able to send escape sequences), at most `width` characters.
pub fn harmless(line: &str, width: usize) -> String {
    line.replace('\t', "    ")
        .chars()
        .filter(|c| !c.is_control())
        .take(width)
        .collect()
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
        assert_eq!(harmless("\tx\u{1b}[2J", 80), "    x[2J");
        assert_eq!(harmless("abcdef", 3), "abc");
    }
}
