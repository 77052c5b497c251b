//! Colour, wrapping and figures.

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
    };
    format!("{style}{text}{style:#}")
}

/// Breaks a sentence into lines of `width`, the first after `indent`, the others too.
pub fn wrap(sentence: &str, width: usize, indent: &str) -> String {
    let mut out = String::new();
    let mut line = indent.to_string();
    for word in sentence.split_whitespace() {
        let used = line.chars().count();
        if used > indent.len() && used + 1 + word.chars().count() > width {
            out.push_str(line.trim_end());
            out.push('\n');
            line = indent.to_string();
        }
        if line.len() > indent.len() {
            line.push(' ');
        }
        line.push_str(word);
    }
    out.push_str(line.trim_end());
    out.push('\n');
    out
}

/// Seconds with three significant figures.
pub fn seconds(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0} s"),
        v if v >= 10.0 => format!("{v:.1} s"),
        v if v >= 1.0 => format!("{v:.2} s"),
        v if v >= 0.001 => format!("{:.1} ms", v * 1e3),
        v if v > 0.0 => format!("{:.1} µs", v * 1e6),
        _ => "0 s".to_string(),
    }
}

/// A share as per cent.
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    if value < 10.0 {
        format!("{value:.1} %")
    } else {
        format!("{value:.0} %")
    }
}

/// A path cut from the left to `width` characters.
pub fn shorten(text: &str, width: usize) -> String {
    let n = text.chars().count();
    if n <= width {
        return text.to_string();
    }
    let kept: String = text.chars().skip(n - width.saturating_sub(1)).collect();
    format!("…{kept}")
}
