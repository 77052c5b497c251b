//! Structures of modules seen before, by build id.
//!
//! An entry holds what its name says: a file that was built anew since a run recorded it is not kept
//! under the recorded build id. One without a build id is kept by path, size and time of change.

use crate::{Options, StructureError, analyse};
use headwater_model::psg::ModuleStructure;
use std::path::{Path, PathBuf};

/// Changes whenever the analysis has other results for the same file.
const VERSION: u32 = 13;

/// A directory of analysed modules. What cannot be read there is analysed anew; what cannot be
/// written is not kept.
#[derive(Debug)]
pub struct Cache {
    dir: Option<PathBuf>,
}

impl Cache {
    /// A cache in `dir`; none where it is `None`.
    pub fn new(dir: Option<PathBuf>) -> Self {
        Self { dir }
    }

    fn entry(&self, path: &Path, build_id: &str, options: &Options) -> Option<PathBuf> {
        let identity = if build_id.is_empty() {
            let meta = std::fs::metadata(path).ok()?;
            let modified = meta
                .modified()
                .ok()?
                .duration_since(std::time::UNIX_EPOCH)
                .ok()?;
            let name = path.to_string_lossy().replace('/', "%");
            format!("{name}-{}-{}", meta.len(), modified.as_nanos())
        } else {
            build_id.to_string()
        };
        Some(
            self.dir
                .as_ref()?
                .join(format!("{identity}-{}-{VERSION}", options.max_loop_depth)),
        )
    }

    /// The structure of the module at `path`, whose build id is known from a run. Where the file has
    /// another one by now, the structure is the file's, and so is its build id.
    ///
    /// # Errors
    /// As [`analyse`], where it is not in the cache.
    pub fn load_or_analyse(
        &self,
        path: &Path,
        build_id: &str,
        options: &Options,
    ) -> Result<ModuleStructure, StructureError> {
        let entry = self.entry(path, build_id, options);
        let kept = entry.as_ref().and_then(|e| std::fs::read(e).ok());
        let kept = kept.and_then(|bytes| postcard::from_bytes::<ModuleStructure>(&bytes).ok());
        if let Some(structure) = kept.filter(|s| s.build_id == build_id) {
            return Ok(structure);
        }
        let structure = analyse(path, options)?;
        if structure.build_id != build_id {
            return Ok(structure);
        }
        if let (Some(entry), Ok(bytes)) = (entry, postcard::to_stdvec(&structure)) {
            let part = entry.with_extension(format!("part{}", std::process::id()));
            let dir = entry.parent().map(std::fs::create_dir_all);
            if dir.is_some_and(|d| d.is_ok()) && std::fs::write(&part, bytes).is_ok() {
                let _ = std::fs::rename(&part, &entry);
            }
        }
        Ok(structure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two files that differ, taken for two builds of one program.
    const BUILDS: [&str; 2] = ["/bin/true", "/bin/cat"];

    #[test]
    fn a_program_built_anew_leaves_the_recorded_one_as_it_was() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let (cache, options) = (Cache::new(Some(dir.path().join("c"))), Options::default());
        let [old, new] = BUILDS.map(|b| analyse(Path::new(b), &options).expect("a program"));
        assert_ne!(old.build_id, new.build_id);
        let path = dir.path().join("app");
        let asked = |file: &str, id: &str| {
            std::fs::copy(file, &path).expect("copies");
            cache.load_or_analyse(&path, id, &options).expect("is read")
        };
        for id in [old.build_id.as_str(), ""] {
            let met = asked(BUILDS[1], id);
            assert_eq!(
                met.build_id, new.build_id,
                "what is there, under its own id"
            );
            assert!(
                !dir.path().join("c").exists(),
                "and nothing is kept for {id:?}"
            );
        }
        assert_eq!(asked(BUILDS[0], &old.build_id).functions, old.functions);
        let kept = asked(BUILDS[1], &old.build_id);
        assert_eq!(
            kept.functions, old.functions,
            "kept for when it is asked for again"
        );
    }
}
