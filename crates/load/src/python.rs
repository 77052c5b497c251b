//! Structures of Python's files: their loops, if the source is still the one that ran.

use headwater_model::psg::ModuleStructure;
use headwater_model::run::{Module, Run};
use headwater_structure::{PythonSource, is_python};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// When the first of these runs began that touched a module.
fn began(runs: &[Run], module: &Module) -> Option<SystemTime> {
    let touched = runs.iter().filter(|run| run.modules.contains(module));
    let began = touched
        .map(|run| run.header.started_unix)
        .reduce(f64::min)?;
    let since = Duration::try_from_secs_f64(began).ok()?;
    UNIX_EPOCH.checked_add(since)
}

/// The structure of a module of these runs, by its source if that is there and has not been changed since; else as the
/// runs have it.
pub(crate) fn structure(
    runs: &[Run],
    module: &Module,
    recorded: ModuleStructure,
) -> ModuleStructure {
    let path = Path::new(&module.path);
    if !module.is_python() || !is_python(path) || !path.is_absolute() {
        return recorded;
    }
    let changed = std::fs::metadata(path).and_then(|m| m.modified());
    let unchanged = (changed.ok().zip(began(runs, module))).is_some_and(|(c, began)| c <= began);
    let source = unchanged.then(|| PythonSource::read(path).ok()).flatten();
    source
        .and_then(|source| source.structure_of(&recorded))
        .unwrap_or(recorded)
}
