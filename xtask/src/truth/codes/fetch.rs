//! Fetches the sources of real codes through the ordinary clients of the registries.
//!
//! Debian's source packages need `deb-src` lines. We read the system's own list of repositories, write a copy with
//! `deb-src` in place of `deb` beside the trees, and give it to apt together with directories of ours: nothing of
//! the system changes, and no rights are needed.

use super::recipe::Source;
use crate::setup;
use crate::shell::output;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Fetches a source and unpacks it as `tree`, which must not exist. Archives are downloaded once into `archives`.
///
/// # Errors
/// One line that says what could not be fetched and why.
pub(super) fn unpack(source: &Source, archives: &Path, tree: &Path) -> Result<(), String> {
    std::fs::create_dir_all(archives).map_err(|e| format!("{}: {e}", archives.display()))?;
    let work = tree.with_extension("unpacking");
    let _ = std::fs::remove_dir_all(&work);
    std::fs::create_dir_all(&work).map_err(|e| format!("{}: {e}", work.display()))?;
    match source {
        Source::Apt(package) => {
            let dsc = |d: &Path| ending(d, &[".dsc"]);
            if dsc(archives).is_none() || !archives.join("complete").exists() {
                apt_source(package, &[], archives)?;
            }
            let dsc = dsc(archives).ok_or(format!("apt-get source {package} returned no .dsc"))?;
            let mut unpack = Command::new("dpkg-source");
            unpack
                .args(["--no-check", "-x"])
                .arg(dsc)
                .arg(work.join("tree"));
            output(&mut unpack)?;
        }
        Source::AptOriginal(package) => {
            let archive = |d: &Path| ending(d, &[".orig.tar.gz", ".orig.tar.xz", ".orig.tar.bz2"]);
            if archive(archives).is_none() || !archives.join("complete").exists() {
                apt_source(package, &["--tar-only"], archives)?;
            }
            let archive =
                archive(archives).ok_or(format!("apt-get source {package} returned no archive"))?;
            untar(&archive, &work)?;
        }
        Source::Pypi(wanted) => {
            let archive = |d: &Path| ending(d, &[".tar.gz", ".zip"]);
            if archive(archives).is_none() {
                let mut pip = Command::new("python3");
                pip.args(["-m", "pip", "-q", "download", "--no-deps"])
                    .args(["--no-binary", ":all:", "-d"])
                    .arg(archives)
                    .arg(wanted);
                output(&mut pip)?;
            }
            let archive =
                archive(archives).ok_or(format!("pip returned no archive of {wanted}"))?;
            untar(&archive, &work)?;
        }
    }
    let top = only_directory(&work)?;
    std::fs::rename(&top, tree).map_err(|e| format!("{}: {e}", tree.display()))?;
    let _ = std::fs::remove_dir_all(&work);
    Ok(())
}

fn untar(archive: &Path, work: &Path) -> Result<(), String> {
    let mut tar = Command::new("tar");
    output(tar.arg("xf").arg(archive).arg("-C").arg(work)).map(|_| ())
}

/// The first file of a directory with one of these endings.
fn ending(directory: &Path, endings: &[&str]) -> Option<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory)
        .ok()?
        .filter_map(|e| Some(e.ok()?.path()))
        .filter(|p| {
            let name = p.file_name().unwrap_or_default().to_string_lossy();
            endings.iter().any(|e| name.ends_with(e))
        })
        .collect();
    files.sort();
    files.into_iter().next()
}

/// The directory that an archive unpacked to.
fn only_directory(work: &Path) -> Result<PathBuf, String> {
    let entries = std::fs::read_dir(work).map_err(|e| format!("{}: {e}", work.display()))?;
    let mut all: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    // dpkg-source also puts the archive here.
    all.retain(|p| p.is_dir() && !p.is_symlink());
    match (all.pop(), all.is_empty()) {
        (Some(one), true) => Ok(one),
        _ => Ok(work.to_path_buf()),
    }
}

/// Downloads a source package of Debian into `archives`.
fn apt_source(package: &str, more: &[&str], archives: &Path) -> Result<(), String> {
    let apt = Apt::with_sources()?;
    let mut command = apt.command();
    command
        .args(["source", "-qq", "--only-source", "--download-only"])
        .args(more)
        .arg(package)
        .current_dir(archives);
    output(&mut command)?;
    std::fs::write(archives.join("complete"), "").map_err(|e| e.to_string())
}

/// apt with a list of source repositories of our own.
struct Apt {
    place: PathBuf,
}

impl Apt {
    /// Makes the list where it is not there, and reads the repositories' indexes.
    fn with_sources() -> Result<Self, String> {
        let place = setup::target().join("truth/apt");
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
pub(super) fn sources_only(text: &str, stanzas: bool) -> String {
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
