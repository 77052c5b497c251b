//! Puts the collector before a program: finds its path, sets the environment, and runs the program in our place.

use crate::LaunchError;
use crate::launcher::{find_program, rank};
use crate::link::{goes_without, record_variable};
use crate::sanitizer::address_sanitizer_behind_others;
use crate::without_mpi::{ProgramKind, is_interpreted, kind_of};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const NAME: &str = "libheadwater_collector.so";

/// The collector that `HEADWATER_COLLECTOR` names; `None` if it names none.
///
/// # Errors
/// The file does not exist.
pub fn collector_named() -> Result<Option<PathBuf>, LaunchError> {
    match std::env::var_os("HEADWATER_COLLECTOR").filter(|p| !p.is_empty()) {
        None => Ok(None),
        Some(path) => existing(Path::new(&path)).map(Some),
    }
}

fn existing(path: &Path) -> Result<PathBuf, LaunchError> {
    // Links are not resolved: a user may have made one because the loader cannot read the name behind it.
    match std::path::absolute(path) {
        Ok(whole) if whole.is_file() => Ok(whole),
        _ => Err(LaunchError::CollectorGone(path.to_path_buf())),
    }
}

/// Whether the loader reads a path in `LD_PRELOAD` as one name.
fn is_one_name(path: &Path) -> bool {
    let ends = |b: &u8| b.is_ascii_whitespace() || *b == b':';
    !path.as_os_str().as_encoded_bytes().iter().any(ends)
}

/// Where the collector is: where `HEADWATER_COLLECTOR` says, or beside this program, or in `../lib/headwater` or
/// `../lib`.
///
/// # Errors
/// It is in none of these places, or not where the variable says.
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

/// The collector records the process of this number as a program without MPI.
const WITHOUT_MPI: &str = "HEADWATER_WITHOUT_MPI";

/// The static part of ITT in a program opens the library that this names.
const ITT: &str = "INTEL_LIBITTNOTIFY64";

/// What the collector is asked for.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Samples per second of CPU time, unless it is the usual number.
    pub hz: Option<u32>,
    /// Whether every call of MPI is recorded, as a trace.
    pub trace: bool,
    /// In a trace, call paths that differ in fewer frames are one.
    pub slack: Option<u32>,
    /// In a trace, frames in these ranges of addresses are the same; as the collector reads them.
    pub alike: Option<String>,
    /// In a trace, parameters whose values take more terms are histograms.
    pub lossy: Option<u32>,
    /// What the traces of a process may take, MiB, unless it is as usual.
    pub trace_memory: Option<u32>,
}

impl Asked {
    /// The environment that asks the collector for this.
    fn environment(self) -> impl Iterator<Item = (&'static str, String)> {
        let number = |n: Option<u32>| n.map(|n| n.to_string());
        [
            ("HEADWATER_HZ", number(self.hz)),
            ("HEADWATER_TRACE", self.trace.then(|| "1".to_owned())),
            ("HEADWATER_TRACE_SLACK", number(self.slack)),
            ("HEADWATER_TRACE_ALIKE", self.alike),
            ("HEADWATER_TRACE_LOSSY", number(self.lossy)),
            ("HEADWATER_TRACE_MEMORY", number(self.trace_memory)),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
    }
}

/// The command that runs `program` with the collector loaded; `collector` names another collector. Run it with
/// [`exec`]. A program that was built with ThreadSanitizer runs without the collector; see
/// [`crate::may_be_recorded`].
///
/// # Errors
/// There is no program, or no collector, or the loader cannot load the collector from its path.
pub fn with_collector(
    program: &[String],
    spool: Option<&Path>,
    asked: Asked,
    collector: Option<&Path>,
) -> Result<Command, LaunchError> {
    let (name, arguments) = program.split_first().ok_or(LaunchError::NoProgram)?;
    let mut command = Command::new(name);
    // Also set if a script starts a program that has the collector linked in.
    command.args(arguments).env(record_variable(), "1");
    // A script may start a program that was built with AddressSanitizer.
    let (variable, options) = address_sanitizer_behind_others();
    command.env(variable, options);
    if !find_program(name).is_some_and(|p| goes_without(&p)) {
        let collector = collector.map_or_else(collector_path, existing)?;
        if !is_one_name(&collector) {
            return Err(LaunchError::Unloadable(collector));
        }
        // Tasks of a program that uses Intel's ITT are regions, unless another tool is to have them.
        if std::env::var_os(ITT).is_none() {
            command.env(ITT, &collector);
        }
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
    // This process becomes the program.
    let alone = rank().is_none();
    // Nothing is loaded into a static one, and a shell is not recorded, but each may become another program.
    let is_one = |p: PathBuf| {
        is_interpreted(&p) || matches!(kind_of(&p), ProgramKind::NoMpi | ProgramKind::Static)
    };
    if alone && find_program(name).is_some_and(is_one) {
        command.env(WITHOUT_MPI, std::process::id().to_string());
    } else {
        command.env_remove(WITHOUT_MPI);
    }
    command.envs(asked.environment());
    Ok(command)
}

/// Replaces this process by `command`, so that signals and exit code are the command's own. Returns only if that
/// fails.
pub fn exec(mut command: Command) -> LaunchError {
    let source = command.exec();
    LaunchError::Start {
        program: command.get_program().to_string_lossy().into_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_whose_path_the_loader_cannot_take_is_refused() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let line = ["/bin/true".to_string()];
        for folder in ["a b", "a:b"] {
            let folder = dir.path().join(folder);
            std::fs::create_dir(&folder).expect("a directory");
            let collector = folder.join(NAME);
            std::fs::write(&collector, "").expect("a file");
            let refused = with_collector(&line, None, Asked::default(), Some(&collector));
            assert!(matches!(refused, Err(LaunchError::Unloadable(_))));
        }
        // A link without one helps.
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(dir.path().join("a b"), &link).expect("a link");
        let taken = with_collector(&line, None, Asked::default(), Some(&link.join(NAME)));
        let taken = taken.expect("a command");
        let preload = taken.get_envs().find(|e| e.0 == "LD_PRELOAD");
        let preload = preload.and_then(|e| e.1).expect("a preload");
        assert!(
            preload
                .to_string_lossy()
                .starts_with(&*link.to_string_lossy())
        );
    }
}
