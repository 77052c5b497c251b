//! From directories on disk to what every analysis begins with: the runs, and the structures of the modules that
//! they touched.
//!
//! *Comes in*: directories of recorded runs, or of several. *Goes out*: [`Run`]s in the order given (all of them by their
//! ranks, if a directory of several is among them), and [`Structures`], kept
//! between two analyses in the user's cache. All front doors begin here, so that they answer alike. A module that
//! cannot be taken apart is no error: its structure says why, and the report shows it.

mod python;
mod source;

pub use source::Sources;

use headwater_format::{FormatError, is_run, open_run, read_trace};
use headwater_graph::{Structures, brought, is_runtime_library};
use headwater_model::psg::ModuleStructure;
use headwater_model::run::{Module, Run};
use headwater_structure::{Cache, Options};
use headwater_trace::trace::Trace;
use rayon::prelude::*;
use std::path::{Path, PathBuf};

/// Loops below this depth are not distinguished, if nothing else is said.
pub const MAX_LOOP_DEPTH: usize = 10;

/// Told whenever one run, or one module, is done.
pub type Step<'a> = &'a (dyn Fn() + Sync);

/// The runs in the directories that a user names.
pub struct Meant {
    dirs: Vec<PathBuf>,
    /// Whether one of them means the runs in it.
    found: bool,
}

/// Runs that were read, and their directories.
#[derive(Debug)]
pub struct Opened {
    /// Where each is.
    pub dirs: Vec<PathBuf>,
    /// What was recorded.
    pub runs: Vec<Run>,
}

impl Meant {
    /// A directory that is no run means the runs in it.
    pub fn by(dirs: &[PathBuf]) -> Self {
        let inside = |dir: &PathBuf| -> Vec<PathBuf> {
            let entries = match is_run(dir) {
                true => None,
                false => std::fs::read_dir(dir).ok(),
            };
            let entries = entries.into_iter().flatten();
            let mut runs: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
            // Hidden ones are still being recorded.
            let hidden = |path: &PathBuf| {
                let name = path.file_name().unwrap_or_default();
                name.as_encoded_bytes().starts_with(b".")
            };
            runs.retain(|path| !hidden(path) && is_run(path));
            runs.sort();
            match runs.is_empty() {
                true => vec![dir.clone()],
                false => runs,
            }
        };
        let meant: Vec<PathBuf> = dirs.iter().flat_map(inside).collect();
        Self {
            found: meant != dirs,
            dirs: meant,
        }
    }

    /// How many runs.
    pub fn count(&self) -> usize {
        self.dirs.len()
    }

    /// Reads the runs in the order given. If a directory was named for all runs in it, the order is that of their ranks.
    ///
    /// # Errors
    /// A directory that holds no run, or one that cannot be read.
    pub fn open(self, step: Step<'_>) -> Result<Opened, FormatError> {
        let all: Vec<Result<Run, FormatError>> = self
            .dirs
            .par_iter()
            .map(|dir| {
                let run = open_run(dir);
                step();
                run
            })
            .collect();
        // Of several that cannot be read, the first one is reported.
        let runs: Result<Vec<Run>, FormatError> = all.into_iter().collect();
        let mut both: Vec<(PathBuf, Run)> = self.dirs.into_iter().zip(runs?).collect();
        if self.found {
            both.sort_by_key(|(_, run)| (run.header.ranks, run.header.threads_asked));
        }
        let (dirs, runs) = both.into_iter().unzip();
        Ok(Opened { dirs, runs })
    }
}

/// The whole-run traces of the runs that directories mean, as far as they have one, and a sentence for each that cannot be
/// read.
pub fn traces(dirs: &[PathBuf]) -> (Vec<Trace>, Vec<String>) {
    let (mut all, mut unread) = (Vec::new(), Vec::new());
    for dir in Meant::by(dirs).dirs {
        match read_trace(&dir) {
            Ok(trace) => all.push(trace),
            Err(FormatError::NoTrace(_)) => {}
            Err(e) => unread.push(e.to_string()),
        }
    }
    (all, unread)
}

/// Where analysed modules are cached.
pub fn cache_dir() -> Option<PathBuf> {
    let base = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|p| p.is_absolute());
    let base =
        base.or_else(|| std::env::var_os("HOME").map(|h| PathBuf::from(h).join(".cache")))?;
    Some(base.join("headwater"))
}

/// The modules that the runs touched and did not bring with them, without those of language runtimes. Code that is in no
/// file has a module without a path.
pub fn touched(runs: &[Run]) -> Vec<Module> {
    let mut touched: Vec<Module> = Vec::new();
    for run in runs {
        let mut seen = vec![false; run.modules.len()];
        for context in &run.contexts {
            if let Some(slot) = seen.get_mut(context.module as usize) {
                *slot = true;
            }
        }
        let own = run
            .modules
            .iter()
            .zip(seen)
            .filter(|(m, seen)| *seen && !m.path.is_empty() && !is_runtime_library(&m.path));
        touched.extend(own.map(|(m, _)| m.clone()));
    }
    touched.sort_by(|a, b| (&a.path, &a.build_id).cmp(&(&b.path, &b.build_id)));
    touched.dedup();
    let brought = brought(runs);
    touched.retain(|module| brought.iter().all(|(own, _)| own != module));
    touched
}

/// Structures of `modules`, with loops down to `max_loop_depth`, and those that the runs contain.
pub fn structures(
    runs: &[Run],
    modules: Vec<Module>,
    max_loop_depth: usize,
    step: Step<'_>,
) -> Structures {
    let cache = Cache::new(cache_dir());
    let options = Options {
        max_loop_depth,
        ..Default::default()
    };
    let analysed: Vec<(Module, ModuleStructure)> = modules
        .into_par_iter()
        .map(|module| {
            let structure =
                cache.load_or_analyse(Path::new(&module.path), &module.build_id, &options);
            let structure = match structure {
                Ok(s) if s.build_id == module.build_id => s,
                Ok(_) => problem(
                    &module,
                    "it was built anew since the run was recorded, so its places cannot be named",
                ),
                Err(e) => problem(&module, &e.to_string()),
            };
            step();
            (module, structure)
        })
        .collect();
    let own = brought(runs).into_iter().map(|(module, structure)| {
        let structure = python::structure(runs, &module, structure);
        (module, structure)
    });
    Structures::new(own.chain(analysed))
}

fn problem(module: &Module, what: &str) -> ModuleStructure {
    ModuleStructure {
        path: module.path.clone(),
        problems: vec![what.to_string()],
        ..Default::default()
    }
}
