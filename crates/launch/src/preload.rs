//! The collector put before a program: its path, the environment, and the program in our place.

use crate::LaunchError;
use crate::launcher::find_program;
use crate::link::{ASKED, is_linked};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const NAME: &str = "libheadwater_collector.so";

/// The collector that `HEADWATER_COLLECTOR` names; `None` where it names none.
///
/// # Errors
/// It is not there.
pub fn collector_named() -> Result<Option<PathBuf>, LaunchError> {
    match std::env::var_os("HEADWATER_COLLECTOR").filter(|p| !p.is_empty()) {
        None => Ok(None),
        Some(path) => existing(Path::new(&path)).map(Some),
    }
}

fn existing(path: &Path) -> Result<PathBuf, LaunchError> {
    match path.canonicalize() {
        Ok(real) if real.is_file() => Ok(real),
        _ => Err(LaunchError::CollectorGone(path.to_path_buf())),
    }
}

/// Where the collector is: said by `HEADWATER_COLLECTOR`, beside this program, or in `../lib`.
///
/// # Errors
/// It is in none of these places, or not where it is said to be.
pub fn collector_path() -> Result<PathBuf, LaunchError> {
    if let Some(named) = collector_named()? {
        return Ok(named);
    }
    let own = std::env::current_exe()
        .and_then(|p| p.canonicalize())
        .unwrap_or_default();
    let dir = own.parent().unwrap_or(Path::new("."));
    let places = [
        dir.join(NAME),
        dir.join("../lib/headwater").join(NAME),
        dir.join("../lib").join(NAME),
    ];
    let found = places.into_iter().find(|p| p.is_file());
    found
        .and_then(|p| p.canonicalize().ok())
        .ok_or(LaunchError::NoCollector(own))
}

/// The command that is `program` with the collector loaded, `collector` if that is given: for [`exec`].
///
/// # Errors
/// No program; no collector.
pub fn with_collector(
    program: &[String],
    spool: Option<&Path>,
    hz: Option<u32>,
    collector: Option<&Path>,
) -> Result<Command, LaunchError> {
    let (name, arguments) = program.split_first().ok_or(LaunchError::NoProgram)?;
    let mut command = Command::new(name);
    // Also where a script starts such a program.
    command.args(arguments).env(ASKED, "1");
    if !find_program(name).is_some_and(|p| is_linked(&p)) {
        let collector = collector.map_or_else(collector_path, existing)?;
        let mut preload = collector.into_os_string();
        if let Some(before) = std::env::var_os("LD_PRELOAD").filter(|v| !v.is_empty()) {
            preload.push(":");
            preload.push(before);
        }
        command.env("LD_PRELOAD", preload);
    }
    if let Some(spool) = spool {
        command.env("HEADWATER_SPOOL", spool);
    }
    if let Some(hz) = hz {
        command.env("HEADWATER_HZ", hz.to_string());
    }
    Ok(command)
}

/// Becomes `command`: same process, so signals and exit code are its own. Returns only if that fails.
pub fn exec(mut command: Command) -> LaunchError {
    let source = command.exec();
    LaunchError::Start {
        program: command.get_program().to_string_lossy().into_owned(),
        source,
    }
}
