//! The files of a Paraver trace: plain, or compressed by gzip, as most people share them.
//!
//! A compressed file is unpacked while it is read, piece by piece, so that one that unpacks to far more than its length
//! needs no more memory than another.

use flate2::bufread::MultiGzDecoder;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result};
use std::path::{Path, PathBuf};

/// How the name of a trace ends.
const ENDING: &str = "prv";
/// How the name of a compressed file ends.
const PACKED: &str = "gz";
/// The first bytes of a compressed file.
const MAGIC: [u8; 2] = [0x1f, 0x8b];
/// Bytes that are read at once.
const PIECE: usize = 1 << 20;
/// Bytes of the names of a trace at the most.
const LONGEST_NAMES: u64 = 1 << 28;

/// The path of a trace without `.prv` or `.prv.gz`; `None` where it has no such end.
pub fn stem(path: &Path) -> Option<PathBuf> {
    let ends = |path: &Path, ending: &str| path.extension().is_some_and(|e| e == ending);
    let plain = match ends(path, PACKED) {
        true => path.with_extension(""),
        false => path.to_path_buf(),
    };
    ends(&plain, ENDING).then(|| plain.with_extension(""))
}

/// Opens a file. Whether it is compressed is known from its first bytes, whatever its name is.
///
/// # Errors
/// As those of `headwater_files::open`.
pub fn open(path: &Path) -> Result<Box<dyn BufRead>> {
    let (file, _) = headwater_files::open(path)?;
    let mut file = BufReader::with_capacity(PIECE, file);
    if !file.fill_buf()?.starts_with(&MAGIC) {
        return Ok(Box::new(file));
    }
    let plain = MultiGzDecoder::new(file);
    Ok(Box::new(BufReader::with_capacity(PIECE, plain)))
}

/// Whether an error is that compressed data are damaged or end too early.
pub fn is_damage(e: &Error) -> bool {
    use ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    let broken = matches!(e.kind(), InvalidData | InvalidInput | UnexpectedEof);
    broken && e.raw_os_error().is_none()
}

/// The path of a file beside the trace with this stem, and its text: `NAME.ENDING`, or else `NAME.ENDING.gz`.
///
/// # Errors
/// The path, with what the system says; a file that is too long or damaged.
pub fn beside(stem: &Path, ending: &str) -> std::result::Result<String, (PathBuf, Error)> {
    let with = |ending: &str| {
        let mut name = stem.as_os_str().to_os_string();
        name.push(format!(".{ending}"));
        PathBuf::from(name)
    };
    let (plain, packed) = (with(ending), with(&format!("{ending}.{PACKED}")));
    let (path, file) = match open(&plain) {
        Err(e) if e.kind() == ErrorKind::NotFound && packed.exists() => {
            let file = open(&packed);
            (packed, file)
        }
        other => (plain, other),
    };
    let mut bytes = Vec::new();
    let read = file.and_then(|f| f.take(LONGEST_NAMES + 1).read_to_end(&mut bytes));
    match read {
        Err(e) => Err((path, e)),
        Ok(_) if bytes.len() as u64 > LONGEST_NAMES => {
            let why =
                format!("it is longer than the {LONGEST_NAMES} bytes that are read of such a file");
            Err((path, Error::new(ErrorKind::FileTooLarge, why)))
        }
        Ok(_) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_has_one_stem_compressed_or_not() {
        let of = |path: &str| stem(Path::new(path)).map(|s| s.display().to_string());
        assert_eq!(of("a/app.prv").as_deref(), Some("a/app"));
        assert_eq!(of("a/app.1.prv.gz").as_deref(), Some("a/app.1"));
        for other in ["a/app.gz", "app.prv.zip", "app", "prv", "prv.gz"] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
