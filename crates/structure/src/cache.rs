//! Structures of modules seen before, by build id.

use crate::{Options, StructureError, analyse};
use headwater_model::psg::ModuleStructure;
use std::path::{Path, PathBuf};

/// Changes whenever the analysis gives other results for the same file.
const VERSION: u32 = 8;

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

    /// The structure of the module at `path`, whose build id is known from a run.
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
        if let Some(structure) = kept.and_then(|bytes| postcard::from_bytes(&bytes).ok()) {
            return Ok(structure);
        }
        let structure = analyse(path, options)?;
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
