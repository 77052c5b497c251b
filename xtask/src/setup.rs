//! Where things are that builds and tests need, made or installed with a word about it.

use crate::needs;
use crate::shell::{Done, output, root, run};
use crate::wheels;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The built command.
pub fn headwater() -> String {
    target().join("release/headwater").display().to_string()
}

/// Has what a command starts next recorded into `spool`, which is made anew.
pub fn recorded(command: &mut Command, spool: &Path) {
    let _ = std::fs::remove_dir_all(spool);
    command.arg(headwater()).args(["exec", "--spool"]);
    command.arg(spool).arg("--");
}

/// The command that records what `launch` starts as the run `out`, as a user would; the program is to be added.
pub fn record(launch: &Command, out: &Path) -> Command {
    let mut record = Command::new(headwater());
    record.args(["record", "--quiet", "-o"]).arg(out).arg("--");
    record.arg(launch.get_program()).args(launch.get_args());
    record.envs(
        launch
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    record
}

/// How cargo builds the command and the collector as users have them (`.cargo/config.toml`).
pub const RELEASE: [&str; 1] = ["toolset"];

/// Where cargo builds.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The text with paths as they are in every checkout: those of this machine say nothing to a reader.
pub fn without_machine_paths(text: &str) -> String {
    text.replace(&format!("{}/", target().display()), "target/")
        .replace(&format!("{}/", root().display()), "")
}

/// Builds the command and the collector.
pub fn build() -> Done {
    println!("building headwater and its collector");
    run("cargo", &RELEASE)
}

/// Builds the command and the collector alone: a first report does not need the module for Python.
pub fn build_command() -> Done {
    println!("building headwater and its collector");
    let packages = ["-p", "headwater", "-p", "headwater-collector"];
    run(
        "cargo",
        &[&["build", "--release", "--quiet"], &packages[..]].concat(),
    )
}

/// Builds the collector; returns its path.
pub fn collector() -> Result<PathBuf, String> {
    run("cargo", &RELEASE)?;
    Ok(target().join("release/libheadwater_collector.so"))
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
    wheels::install()
}
