//! Where results go: standard output, or a file that the user named.

use crate::args::{Color, Json};
use crate::exit;
use crate::outcome::{Failure, Outcome};
use headwater_model::printable::{on_one_line, printable};
use serde::Serialize;
use std::fs::File;
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

/// Prints one line on standard error.
pub fn eprint_line(line: &str) {
    // Where standard error is closed, nobody can read it.
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

/// What the user named for a result: no existing file is ever changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// There is no file yet.
    New,
    /// A device or pipe, which takes bytes as they come.
    Stream,
}

/// Where a file goes that the user named with `option`. Commands ask before they begin anything long.
///
/// # Errors
/// It exists, it is a directory, or its directory does not exist: the whole line.
pub fn place(path: &Path, option: &str) -> Result<Place, String> {
    let shown = path.display();
    match path.metadata() {
        Ok(there) if there.is_dir() => {
            Err(format!("{shown} is a directory; give a file to {option}"))
        }
        Ok(there) if there.is_file() => Err(taken(path, option)),
        Ok(_) => Ok(Place::Stream),
        Err(e) if e.kind() == ErrorKind::NotFound => {
            // A link to nothing is a name that is used.
            if path.symlink_metadata().is_ok() {
                return Err(taken(path, option));
            }
            match folder(path) {
                dir if dir.is_dir() => Ok(Place::New),
                dir => Err(format!(
                    "cannot write {shown}: there is no directory {}",
                    dir.display()
                )),
            }
        }
        Err(e) => Err(format!("cannot write {shown}: {e}")),
    }
}

/// The line that refuses an existing file.
pub fn taken(path: &Path, option: &str) -> String {
    let shown = path.display();
    format!("{shown} is there already; remove it, or give another file to {option}")
}

/// The directory of a file.
pub fn folder(path: &Path) -> &Path {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// Writes a file that the user named with `option`. An existing file is refused, also one that came into being since the
/// command began.
pub fn write(path: &Path, text: &str, option: &str) -> Outcome {
    let mut options = File::options();
    options.write(true);
    if place(path, option)? == Place::New {
        options.create_new(true);
    }
    let failed = |e: std::io::Error| match e.kind() {
        ErrorKind::AlreadyExists => Failure::from(taken(path, option)),
        _ => Failure::from(format!("cannot write {}: {e}", path.display())),
    };
    let mut file = options.open(path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
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

    /// The file that it is written to.
    fn file(&self) -> Option<&Path> {
        self.json.as_deref().filter(|path| path.as_os_str() != "-")
    }

    /// Refuses a file that cannot be written, before the command does anything.
    ///
    /// # Errors
    /// The whole line, as of [`place`].
    pub fn check(&self) -> Result<(), String> {
        self.file()
            .map_or(Ok(()), |path| place(path, "--json").map(|_| ()))
    }

    /// Gives `text`, which is JSON, to where it is wanted.
    pub fn give(&self, text: &str) -> Outcome {
        match self.file() {
            Some(path) => write(path, text, "--json"),
            None => print(text),
        }
    }

    /// Gives `value` as one line.
    pub fn give_value(&self, value: &impl Serialize) -> Outcome {
        let text = serde_json::to_string(value);
        let text = text.map_err(|e| format!("cannot make JSON of the result: {e}"))?;
        self.give(&(text + "\n"))
    }
}
