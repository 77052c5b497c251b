//! Makes text from outside safe for a terminal.
//!
//! Names of symbols, files and regions are whatever somebody wrote into a binary, a trace or a file system. A control
//! character in them could move the cursor, recolour or rename the window. A character that reverses the direction of
//! writing could make the name look like another one. All such characters are shown by their numbers, as JSON writes
//! them, so the same function serves text and JSON.

use std::borrow::Cow;
use std::fmt::Write;

/// Characters that reverse the direction of writing, or are invisible: first and last of each range.
const UNSEEN: [(char, char); 6] = [
    ('\u{61c}', '\u{61c}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{2064}'),
    ('\u{2066}', '\u{206f}'),
    ('\u{feff}', '\u{feff}'),
];

fn is_harmless(c: char) -> bool {
    let unseen = || {
        UNSEEN
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&c))
    };
    matches!(c, '\n' | '\t') || !c.is_control() && !unseen()
}

/// `text` with every control character, except ends of lines and tabs, and every invisible one as its number: `\u001b`.
pub fn printable(text: &str) -> Cow<'_, str> {
    printable_beside(text, &[])
}

/// The same for a text with markup: the sequences `marks`, which are the caller's own, do not change.
pub fn printable_beside<'t>(text: &'t str, marks: &[String]) -> Cow<'t, str> {
    if text.chars().all(is_harmless) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let begins = marks
            .iter()
            .filter(|m| !m.is_empty() && rest.starts_with(m.as_str()));
        // One mark may be the beginning of another one.
        let mark = begins.max_by_key(|m| m.len());
        let length = mark.map_or(c.len_utf8(), String::len);
        let (own, behind) = rest.split_at(length);
        if mark.is_some() || is_harmless(c) {
            out.push_str(own);
        } else {
            // Writing into a string cannot fail.
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        }
        rest = behind;
    }
    Cow::Owned(out)
}

/// `name` on one line: ends of lines and tabs are blanks.
pub fn on_one_line(name: &str) -> String {
    printable(name).replace(['\n', '\t'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_drives_a_terminal_is_shown_by_its_number() {
        for (text, shown) in [
            ("plain ünïcode\n\tstays", "plain ünïcode\n\tstays"),
            ("\u{1b}[2J\u{7}", "\\u001b[2J\\u0007"),
            ("a\rb\u{7f}\u{9b}31m", "a\\u000db\\u007f\\u009b31m"),
            ("turned \u{202e}dne", "turned \\u202edne"),
        ] {
            assert_eq!(printable(text), shown);
        }
        assert!(matches!(printable("plain"), Cow::Borrowed(_)));
        assert_eq!(on_one_line("a\nb\tc\u{1b}"), "a b c\\u001b");
    }

    #[test]
    fn marks_of_the_caller_stay_and_others_do_not() {
        let marks = ["\u{1b}[1m".to_string(), "\u{1b}[0m".to_string()];
        let shown = printable_beside("\u{1b}[1mhead\u{1b}[0m \u{1b}[8mhidden", &marks);
        assert_eq!(shown, "\u{1b}[1mhead\u{1b}[0m \\u001b[8mhidden");
    }

    #[test]
    fn json_stays_json() {
        let text = serde_json::to_string("\u{9b}31m\u{202e}\u{1b}").expect("a string");
        let back: String = serde_json::from_str(&printable(&text)).expect("a string");
        assert_eq!(back, "\u{9b}31m\u{202e}\u{1b}");
    }
}
