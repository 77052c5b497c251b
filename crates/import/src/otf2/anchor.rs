//! The file that an archive begins with: which version wrote it, and how its other files are made.

use super::bytes::Bytes;
use crate::ImportError;
use std::path::Path;

/// The format of anchor files that is known; newer ones add to the end.
const FORMAT: u8 = 3;
const END_OF_FILE: u8 = 2;
/// A file for each location, and no compression: the first of the library's kinds.
const POSIX: u8 = 1;
const UNCOMPRESSED: u8 = 1;
/// Chunks that a writer may ask for (OTF2's own limits), bytes.
const CHUNKS: std::ops::RangeInclusive<u64> = 1 << 8..=1 << 28;

/// What the anchor file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// Bytes of a chunk of events.
    pub event_chunk: usize,
    /// Bytes of a chunk of definitions.
    pub definition_chunk: usize,
    /// Who wrote it.
    pub creator: String,
    /// The machine that it was written on.
    pub machine: String,
    /// Version of the library that wrote it.
    pub version: [u8; 3],
}

/// Reads the anchor file's bytes.
pub fn read(path: &Path, bytes: &[u8]) -> Result<Anchor, ImportError> {
    let damaged = || ImportError::damaged(path, "it is not the anchor file of an OTF2 archive");
    let mut bytes = Bytes::of_chunk(bytes).ok_or_else(damaged)?;
    if bytes.text().as_deref() != Some("OTF2") {
        return Err(damaged());
    }
    let ends = || ImportError::damaged(path, "it ends too early");
    parse(path, bytes).ok_or_else(ends)?
}

fn parse(path: &Path, mut bytes: Bytes<'_>) -> Option<Result<Anchor, ImportError>> {
    let format = bytes.u8()?;
    let _trace_format = bytes.u8()?;
    let version = [bytes.u8()?, bytes.u8()?, bytes.u8()?];
    let chunks = [bytes.whole_u64()?, bytes.whole_u64()?];
    let (substrate, compression) = (bytes.u8()?, bytes.u8()?);
    let _locations = bytes.whole_u64()?;
    let _definitions = bytes.whole_u64()?;
    let (machine, creator, _description) = (bytes.text()?, bytes.text()?, bytes.text()?);
    if format > 1 {
        for _ in 0..bytes.whole_u32()? {
            let _property = (bytes.text()?, bytes.text()?);
        }
        let _trace = bytes.whole_u64()?;
    }
    if format > 2 {
        let (_snapshots, _thumbnails) = (bytes.whole_u32()?, bytes.whole_u32()?);
    }
    // Newer formats may have more.
    if format <= FORMAT && bytes.u8()? != END_OF_FILE {
        return None;
    }
    if version[0] < 1 {
        let what = format!(
            "it was written by OTF2 {}.{}.{}, which is older than its first release",
            version[0], version[1], version[2]
        );
        return Some(Err(ImportError::unsupported(path, what)));
    }
    if substrate != POSIX {
        let what = "its locations share files (SIONlib); have it written with a file for each, as Score-P does with SCOREP_TRACING_USE_SION=false";
        return Some(Err(ImportError::unsupported(path, what)));
    }
    if compression != UNCOMPRESSED {
        let what = "it is compressed by zlib; write it without compression";
        return Some(Err(ImportError::unsupported(path, what)));
    }
    if chunks.iter().any(|c| !CHUNKS.contains(c)) {
        let why = "its chunks have a size that OTF2 does not allow";
        return Some(Err(ImportError::damaged(path, why)));
    }
    Some(Ok(Anchor {
        event_chunk: chunks[0] as usize,
        definition_chunk: chunks[1] as usize,
        creator,
        machine,
        version,
    }))
}
