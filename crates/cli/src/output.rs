//! Where results go: standard output, or a file that the user named.

use crate::args::{Color, Json};
use crate::exit;
use crate::outcome::{Failure, Outcome};
use headwater_model::printable::{on_one_line, printable};
use serde::Serialize;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;
use std::process::Command;

/// Version of the JSON of `record`, `structure`, `doctor` and `link-flags`; that of a diagnosis is its own.
pub const SCHEMA: u32 = 1;

/// Writes to standard output what holds no words from outside, or has been made harmless; a reader that has closed its
/// end is content.
pub fn print_screened(text: &str) -> Outcome {
    let mut out = std::io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(format!("cannot write the result: {e}").into())
        }
        _ => Ok(exit::DONE),
    }
}

/// The same of text, or JSON, that holds words from outside.
pub fn print(text: &str) -> Outcome {
    print_screened(&printable(text))
}

/// Tells one line on standard error.
pub fn tell(line: &str) {
    // Where standard error is closed, there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "headwater: {}", on_one_line(line));
}

/// Columns that text may fill: what `COLUMNS` says, those of the terminal, or what pages have. Longer lines are hard to read,
/// and shorter ones hold no table.
pub fn width() -> usize {
    const PAGE: usize = 96;
    const WIDEST: usize = 100;
    const NARROWEST: usize = 60;
    let said = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    let terminal = || {
        let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
        Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
    };
    let columns = said.or_else(terminal).unwrap_or(PAGE);
    columns.clamp(NARROWEST, WIDEST)
}

/// The line that a shell takes for `command`: what it sets in the environment, the program, its arguments.
pub fn shell_line(command: &Command) -> String {
    let set = command.get_envs().filter_map(|(name, value)| {
        let value = quoted(&value?.to_string_lossy());
        Some(format!("{}={value}", name.to_string_lossy()))
    });
    let words = [command.get_program()]
        .into_iter()
        .chain(command.get_args());
    let words = words.map(|w| quoted(&w.to_string_lossy()));
    set.chain(words).collect::<Vec<_>>().join(" ") + "\n"
}

/// `word` as a shell reads it whole.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%^".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Writes a file that the user named.
pub fn write(path: &Path, text: &str) -> Outcome {
    let failed = |e| Failure::from(format!("cannot write {}: {e}", path.display()));
    std::fs::write(path, text).map_err(failed)?;
    Ok(exit::DONE)
}

impl Color {
    /// Whether what goes to standard output is coloured.
    pub fn wanted(self) -> bool {
        let allowed = || std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => std::io::stdout().is_terminal() && allowed(),
        }
    }
}

impl Json {
    /// Whether JSON is wanted.
    pub fn wanted(&self) -> bool {
        self.json.is_some()
    }

    /// Gives `text`, which is JSON, to where it is wanted.
    pub fn give(&self, text: &str) -> Outcome {
        match &self.json {
            Some(path) if path.as_os_str() != "-" => write(path, text),
            _ => print(text),
        }
    }

    /// Gives `value` as one line.
    pub fn give_value(&self, value: &impl Serialize) -> Outcome {
        let text = serde_json::to_string(value);
        let text = text.map_err(|e| format!("cannot make JSON of the result: {e}"))?;
        self.give(&(text + "\n"))
    }
}
