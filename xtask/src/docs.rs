//! Text that a command puts into the documentation.

use crate::shell::{Done, root};

/// Replaces what is between two marks of a file of the project.
///
/// # Errors
/// The file cannot be read or written, or has lost the marks.
pub fn put(file: &str, (begin, end): (&str, &str), text: &str) -> Done {
    let path = root().join(file);
    let fails = |e: std::io::Error| format!("{}: {e}", path.display());
    let old = std::fs::read_to_string(&path).map_err(fails)?;
    let parts = old.split_once(begin);
    let parts = parts.and_then(|(head, rest)| Some((head, rest.split_once(end)?.1)));
    let (head, tail) = parts.ok_or(format!("{file} has lost the marks {begin} and {end}"))?;
    std::fs::write(&path, format!("{head}{begin}\n{text}{end}{tail}")).map_err(fails)
}
