//! Where a module's debug information is: in itself, or in a file split off it.

use crate::Options;
use crate::elf::{Image, map};
use object::Object;
use std::path::{Path, PathBuf};

/// Split debug files, mapped.
pub struct Split {
    /// The file with the module's own debug information; `None` if it has it itself.
    pub own: Option<memmap2::Mmap>,
    /// The file that several modules share (`dwz`).
    pub shared: Option<memmap2::Mmap>,
}

/// Finds debug information that is not in the module: by build id, then by `.gnu_debuglink`; and the
/// shared part that `.gnu_debugaltlink` names.
pub fn find(path: &Path, image: &Image<'_>, options: &Options) -> Option<Split> {
    let dir = path.parent().unwrap_or(Path::new("/"));
    let mut own = None;
    if !has_debug(&image.file) {
        own = candidates(dir, image, options)
            .into_iter()
            .find_map(|p| map(&p).ok());
    }
    let shared = match &own {
        Some(bytes) => object::File::parse(&bytes[..])
            .ok()
            .and_then(|f| alternative(&f, dir, options)),
        None => alternative(&image.file, dir, options),
    };
    (own.is_some() || shared.is_some()).then_some(Split { own, shared })
}

/// Whether a file has debug information itself.
pub fn has_debug<'a>(file: &impl Object<'a>) -> bool {
    use object::ObjectSection;
    file.section_by_name(".debug_info")
        .is_some_and(|s| s.size() > 0)
}

fn by_build_id(id: &str, options: &Options) -> Vec<PathBuf> {
    if id.len() < 4 || !id.is_ascii() {
        return Vec::new();
    }
    let name = format!(".build-id/{}/{}.debug", &id[..2], &id[2..]);
    options.debug_roots.iter().map(|r| r.join(&name)).collect()
}

fn candidates(dir: &Path, image: &Image<'_>, options: &Options) -> Vec<PathBuf> {
    let mut out = by_build_id(&image.build_id, options);
    if let Ok(Some((name, _))) = image.file.gnu_debuglink() {
        let name = String::from_utf8_lossy(name).into_owned();
        out.extend([dir.join(&name), dir.join(".debug").join(&name)]);
        let below = dir.strip_prefix("/").unwrap_or(dir);
        out.extend(
            options
                .debug_roots
                .iter()
                .map(|r| r.join(below).join(&name)),
        );
    }
    out
}

fn alternative<'a>(file: &impl Object<'a>, dir: &Path, options: &Options) -> Option<memmap2::Mmap> {
    let (name, id) = file.gnu_debugaltlink().ok()??;
    let name = PathBuf::from(String::from_utf8_lossy(name).into_owned());
    let id: String = id.iter().map(|b| format!("{b:02x}")).collect();
    let mut places = vec![dir.join(&name)];
    places.extend(by_build_id(&id, options));
    places.into_iter().find_map(|p| map(&p).ok())
}
