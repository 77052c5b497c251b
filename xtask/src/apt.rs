//! Debian's source packages, fetched by the ordinary client.
//!
//! They need `deb-src` lines. We read the system's own list of repositories, write a copy with `deb-src` in place of `deb`
//! into the target directory, and give it to apt together with directories of ours: nothing of the system changes, and no
//! rights are needed.

use crate::setup;
use crate::shell::output;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Downloads the source package `name` into `directory`; `more` are options of `apt-get source`.
///
/// # Errors
/// One line that says what could not be fetched and why.
pub fn source_package(name: &str, more: &[&str], directory: &Path) -> Result<(), String> {
    let apt = Apt::with_sources()?;
    let mut command = apt.command();
    command
        .args(["source", "-qq", "--only-source", "--download-only"])
        .args(more)
        .arg(name)
        .current_dir(directory);
    output(&mut command)?;
    std::fs::write(directory.join("complete"), "").map_err(|e| e.to_string())
}

/// apt with a list of source repositories of our own.
struct Apt {
    place: PathBuf,
}

impl Apt {
    /// Makes the list where it is not there, and reads the repositories' indexes.
    fn with_sources() -> Result<Self, String> {
        let place = setup::target().join("apt");
        let apt = Self { place };
        let done = apt.place.join("updated");
        if !done.exists() {
            for part in ["lists/partial", "sources", "cache/archives/partial"] {
                let directory = apt.place.join(part);
                std::fs::create_dir_all(&directory).map_err(|e| e.to_string())?;
            }
            let mut repositories = 0;
            for file in system_lists() {
                let Ok(text) = std::fs::read_to_string(&file) else {
                    continue;
                };
                let stanzas = file.extension().is_some_and(|e| e == "sources");
                let text = sources_only(&text, stanzas);
                let name = file.file_name().unwrap_or_default();
                repositories += usize::from(!text.is_empty());
                let copy = apt.place.join("sources").join(name);
                std::fs::write(copy, text).map_err(|e| e.to_string())?;
            }
            if repositories == 0 {
                return Err("apt has no list of repositories, so no sources can be fetched".into());
            }
            // A repository without sources makes this fail; another may still have the package.
            if let Err(e) = output(apt.command().args(["update", "-qq"])) {
                println!("note: {e}");
            }
            std::fs::write(done, "").map_err(|e| e.to_string())?;
        }
        Ok(apt)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("apt-get");
        let mut option = |name: &str, value: &str| {
            command.arg("-o").arg(format!("{name}={value}"));
        };
        let place = |part: &str| self.place.join(part).display().to_string();
        option("Dir::Etc::sourcelist", "/dev/null");
        option("Dir::Etc::sourceparts", &place("sources"));
        option("Dir::State::lists", &place("lists"));
        option("Dir::Cache", &place("cache"));
        // Its own user may not write here.
        option("APT::Sandbox::User", "root");
        command
    }
}

/// The system's lists of repositories.
fn system_lists() -> Vec<PathBuf> {
    let mut all = vec![PathBuf::from("/etc/apt/sources.list")];
    if let Ok(entries) = std::fs::read_dir("/etc/apt/sources.list.d") {
        let listed = |p: &PathBuf| p.extension().is_some_and(|e| e == "list" || e == "sources");
        all.extend(entries.filter_map(|e| Some(e.ok()?.path())).filter(listed));
    }
    all.sort();
    all
}

/// A list of repositories with sources in place of packages; `stanzas` is the newer of the two formats.
fn sources_only(text: &str, stanzas: bool) -> String {
    let mut out = String::new();
    for line in text.lines() {
        if stanzas && line.to_lowercase().starts_with("types:") {
            out += "Types: deb-src\n";
        } else if stanzas {
            out += line;
            out.push('\n');
        } else if let Some(rest) = line.trim_start().strip_prefix("deb ") {
            out += &format!("deb-src {rest}\n");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_repositories_are_turned_to_sources() {
        let stanza = "Types: deb\nURIs: http://here/debian\nSuites: stable\n";
        let turned = "Types: deb-src\nURIs: http://here/debian\nSuites: stable\n";
        assert_eq!(sources_only(stanza, true), turned);
        let lines = "# a comment\ndeb http://here/debian stable main\ndeb-src http://here/debian stable main\n";
        assert_eq!(
            sources_only(lines, false),
            "deb-src http://here/debian stable main\n"
        );
    }
}
