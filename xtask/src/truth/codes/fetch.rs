//! Fetches the sources of real codes through the ordinary clients of the registries.

use super::recipe::Source;
use crate::apt::source_package;
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
                source_package(package, &[], archives)?;
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
                source_package(package, &["--tar-only"], archives)?;
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
