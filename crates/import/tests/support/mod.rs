//! Archives for tests, written by the real OTF2 library.

#![allow(dead_code)] // each test file uses its part

use std::path::{Path, PathBuf};
use std::process::Command;

/// The Python that has the OTF2 library, which `cargo xtask setup` installs.
fn python() -> PathBuf {
    let given = std::env::var_os("HEADWATER_OTF2").map(PathBuf::from);
    let test = std::env::current_exe().expect("this program has a path");
    // Tests are in target/PROFILE/deps.
    let own = test.ancestors().nth(3).map(|target| target.join("otf2"));
    let python = |dir: PathBuf| dir.join("bin/python");
    let found = given
        .into_iter()
        .chain(own)
        .map(python)
        .find(|p| p.exists());
    found.expect("the OTF2 library is missing here; type: cargo xtask setup")
}

/// Writes the archive `name` of `archives.py` into `dir`, with its numbers; returns its path.
pub fn archive(dir: &Path, name: &str, numbers: &[u32]) -> PathBuf {
    let path = dir.join(format!("{name}-archive"));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/archives.py");
    let out = Command::new(python())
        .arg(script)
        .arg(name)
        .arg(&path)
        .args(numbers.iter().map(u32::to_string))
        .output()
        .expect("Python starts");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{name}: {said}");
    path
}
