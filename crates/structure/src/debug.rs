//! Where a module's debug information is: in itself, or in a file split off it.

use crate::Options;
use crate::elf::{Image, map};
use object::Object;
use std::path::{Path, PathBuf};

/// Split debug files, mapped.
#[derive(Default)]
pub struct Split {
    /// The file with the module's own debug information; `None` if it has it itself.
    pub own: Option<memmap2::Mmap>,
    /// The file that several modules share (`dwz`).
    pub shared: Option<memmap2::Mmap>,
    /// What was found but does not fit, a sentence each.
    pub problems: Vec<String>,
}

/// Finds debug information that is not in the module: by build id, then by `.gnu_debuglink`; and the
/// shared part that `.gnu_debugaltlink` names.
pub fn find(path: &Path, image: &Image<'_>, options: &Options) -> Split {
    let dir = path.parent().unwrap_or(Path::new("/"));
    let mut found = Split::default();
    if !has_debug(&image.file) {
        for candidate in candidates(dir, image, options) {
            let Ok(bytes) = map(&candidate) else { continue };
            if belongs(&bytes, image) {
                found.own = Some(bytes);
                break;
            }
            found.problems.push(format!(
                "{} is left out: it is of another build",
                candidate.display()
            ));
        }
    }
    found.shared = match &found.own {
        Some(bytes) => object::File::parse(&bytes[..])
            .ok()
            .and_then(|f| alternative(&f, dir, options)),
        None => alternative(&image.file, dir, options),
    };
    found
}

/// Whether a debug file is of the same build: by build id, or else by the sum in the link to it.
fn belongs(bytes: &[u8], image: &Image<'_>) -> bool {
    let file = object::File::parse(bytes);
    let Some(id) = file.as_ref().ok().map(id_of) else {
        return false;
    };
    if !image.build_id.is_empty() {
        return id == image.build_id;
    }
    let link = image.file.gnu_debuglink().ok().flatten();
    link.is_none_or(|(_, sum)| sum == crc32(bytes))
}

fn id_of<'a>(file: &impl Object<'a>) -> String {
    hex(file.build_id().ok().flatten().unwrap_or(&[]))
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// The sum that `.gnu_debuglink` holds (CRC-32 of IEEE 802.3, reflected).
fn crc32(bytes: &[u8]) -> u32 {
    let step = |value: u32, _| (value >> 1) ^ ((value & 1) * 0xedb8_8320);
    let mut table = [0u32; 256];
    for (i, entry) in (0u32..).zip(&mut table) {
        *entry = (0..8).fold(i, step);
    }
    let next = |sum: u32, byte: &u8| table[usize::from(sum as u8 ^ byte)] ^ (sum >> 8);
    !bytes.iter().fold(!0, next)
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
    let id = hex(id);
    let mut places = vec![dir.join(&name)];
    places.extend(by_build_id(&id, options));
    places
        .into_iter()
        .filter_map(|p| map(&p).ok())
        .find(|bytes| {
            let file = object::File::parse(&bytes[..]);
            file.is_ok_and(|f| id_of(&f) == id)
        })
}
