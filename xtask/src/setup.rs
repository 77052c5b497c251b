//! Where things are that builds and tests need, made or installed with a word about it.

use crate::needs;
use crate::shell::{Done, output, root, run};
use std::path::PathBuf;
use std::process::Command;

/// The built command.
pub fn headwater() -> String {
    target().join("release/headwater").display().to_string()
}

/// How cargo builds the command and the collector as users have them.
pub const RELEASE: [&str; 7] = [
    "build",
    "--release",
    "--quiet",
    "-p",
    "headwater",
    "-p",
    "headwater-collector",
];

/// Where cargo builds.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Builds the command and the collector.
pub fn build() -> Done {
    println!("building headwater and its collector");
    run("cargo", &RELEASE)
}

/// Installs what is missing; `all` for tests, otherwise what the demonstration needs.
pub fn setup(all: bool) -> Done {
    needs::install(all)?;
    if !all {
        return Ok(());
    }
    for (tool, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        output(Command::new("cargo").args([tool, "--version"])).map_err(|_| {
            format!("cargo {tool} is missing; type:  rustup component add {component}")
        })?;
    }
    intel().map(|_| ())
}

/// Where Intel MPI is; installs its wheel if it is nowhere.
pub fn intel() -> Result<PathBuf, String> {
    if let Some(given) = std::env::var_os("HEADWATER_IMPI")
        .map(PathBuf::from)
        .filter(|p| p.join("bin/mpiexec.hydra").exists())
    {
        return Ok(given);
    }
    let place = target().join("impi");
    if !place.join("bin/mpiexec.hydra").exists() {
        println!(
            "installing Intel MPI (the package impi-rt) into {}",
            place.display()
        );
        let dir = place.display().to_string();
        output(Command::new("python3").args(["-m", "venv", &dir]))
            .and_then(|_| {
                let pip = place.join("bin/pip");
                output(Command::new(pip).args(["-q", "install", "impi-rt==2021.*"]))
            })
            .map_err(|e| {
                format!("{e}; install Intel MPI by hand and set HEADWATER_IMPI to the directory that has bin/mpiexec.hydra")
            })?;
    }
    Ok(place)
}
