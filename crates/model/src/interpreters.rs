//! Programs that run the programs of others: what they record without MPI would be of the interpreter.

use std::path::Path;

/// The beginnings of their names.
const NAMES: [&str; 22] = [
    "python", "pypy", "julia", "perl", "ruby", "R", "Rscript", "node", "octave", "matlab", "java",
    "lua", "tclsh", "php", "sh", "bash", "dash", "zsh", "ksh", "fish", "csh", "tcsh",
];

/// Whether a file is called like an interpreter: with its name, and perhaps a version.
pub fn is_one(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    NAMES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreters_are_known_by_their_names() {
        for (name, is) in [
            ("/usr/bin/python3.11", true),
            ("/opt/julia-1.10", true),
            ("/bin/bash", true),
            ("/opt/bash-5.2", true),
            ("/bin/shuffle", false),
            ("./app", false),
            ("/usr/bin/true", false),
        ] {
            assert_eq!(is_one(Path::new(name)), is, "{name}");
        }
    }
}
