//! The ranks' data where they lie, process files and parts of the merged one: found by their headers, then
//! read one table of one rank at a time, so that reading takes no more memory for many ranks than for one.

use super::layout::{
    Desc, FileHeader, Kind, MAGIC, MERGED_MAGIC, MERGED_NAME, PROCESS_ENDING, Row, VERSION,
    read_header, rows, stretch, text,
};
use crate::FormatError;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Where one rank's data lie.
struct Place {
    file: usize,
    at: u64,
    bytes: u64,
    rank: u32,
    /// Ranks of the run, as this one has it.
    size: u32,
    finished: u32,
    pid: u32,
    init_ns: u64,
    uses_mpi: bool,
    is_wrapper: bool,
}

/// How many times more ranks a run may have had than have left data: of a job that was killed, those on other nodes may
/// have theirs there.
const MOST_GONE: u32 = 1024;

/// Ranks up to which a header is believed whatever the others say.
const BELIEVED: u32 = 1 << 16;

/// What is wrong with `size` ranks of which so many left data; `None` where nothing is.
pub(crate) fn doubt(size: u32, known: usize) -> Option<String> {
    let doubtful = size > BELIEVED && (size / MOST_GONE) as usize > known;
    let why = || format!("it says that there were {size} ranks, and only {known} left data");
    doubtful.then(why)
}

/// All ranks of which there are data, in their order.
pub(super) struct Parts {
    files: Vec<PathBuf>,
    places: Vec<Place>,
    /// Whether a merged file was cut short.
    pub cut: bool,
    /// Processes that each were rank 0 of 1. The data of one of them are taken.
    pub alone: usize,
    /// The program of a process that became another one, of which there are no data. Its own data are not taken.
    pub wrapper: Option<String>,
}

/// One rank's data.
pub(super) struct Part<'a> {
    pub header: FileHeader,
    path: &'a Path,
    file: &'a File,
    at: u64,
    bytes: u64,
}

impl Part<'_> {
    /// Numbers of the rank's threads, in their order.
    pub fn threads(&self) -> Vec<u32> {
        let of_threads = |d: &&Desc| d.kind > Kind::Comms as u32;
        let tables = self.header.in_use().filter(of_threads);
        let mut all: Vec<u32> = tables.map(|d| d.thread).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Whether the process used MPI.
    pub fn uses_mpi(&self) -> bool {
        self.header.uses_mpi() || self.header.size > 1
    }

    /// Rows of a table; fewer than its count where the file ends before.
    fn table<R: Row>(&self, desc: &Desc) -> Result<Vec<R>, FormatError> {
        let Some(lies) = stretch::<R>(desc) else {
            return Ok(Vec::new());
        };
        let bytes = lies.bytes.min(self.bytes.saturating_sub(lies.offset));
        let table = read(
            self.file,
            self.path,
            self.at + lies.offset.min(self.bytes),
            bytes,
        )?;
        Ok(rows(&table).collect())
    }

    /// Rows of all tables of a type, of `thread` or of all threads.
    pub fn rows<R: Row>(&self, thread: Option<u32>) -> Result<Vec<R>, FormatError> {
        let mut out = Vec::new();
        for desc in self.header.in_use() {
            if thread.is_none_or(|t| t == desc.thread) {
                out.append(&mut self.table(desc)?);
            }
        }
        Ok(out)
    }
}

/// So many bytes, or as many as there are.
fn read(file: &File, path: &Path, at: u64, bytes: u64) -> Result<Vec<u8>, FormatError> {
    let mut out = vec![0; usize::try_from(bytes).unwrap_or(0)];
    let mut done = 0;
    while let Some(rest) = out.get_mut(done..).filter(|r| !r.is_empty()) {
        match file.read_at(rest, at + done as u64) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(FormatError::io("read", path)(e)),
        }
    }
    out.truncate(done);
    Ok(out)
}

/// The spool files in `dir`, by name; none where it cannot be read.
pub fn spool_files(dir: &Path) -> Vec<PathBuf> {
    let listing = std::fs::read_dir(dir).into_iter().flatten();
    let mut files: Vec<PathBuf> = listing.filter_map(|e| Some(e.ok()?.path())).collect();
    files.retain(|f| f.to_string_lossy().ends_with(PROCESS_ENDING));
    files.sort();
    files
}

pub(super) fn open(path: &Path) -> Result<(File, u64), FormatError> {
    headwater_files::open(path).map_err(FormatError::io("read", path))
}

/// The header at `at`, of which there are so many bytes. A process file that was made but never written
/// to is a process that died at once: none.
pub(super) fn header(
    file: &File,
    path: &Path,
    at: u64,
    bytes: u64,
) -> Result<Option<FileHeader>, FormatError> {
    let begins = read(file, path, at, bytes.min(size_of::<FileHeader>() as u64))?;
    let Some(header) = read_header(&begins) else {
        return Ok(None);
    };
    match header.magic {
        0 => Ok(None),
        // It died before it could say which rank it is.
        MAGIC if header.version == VERSION && header.size == 0 => Ok(None),
        MAGIC if header.version > VERSION => Err(FormatError::Newer {
            path: path.to_path_buf(),
            found: header.version,
            known: VERSION,
        }),
        MAGIC if header.version < VERSION => Err(FormatError::Older(path.to_path_buf())),
        MAGIC => Ok(Some(header)),
        _ => Err(FormatError::damaged(
            path,
            "it does not begin as a spool file does",
        )),
    }
}

/// How many processes each were rank 0 of 1. One may have left its data twice, merged and in its own file.
fn alone(places: &[Place]) -> usize {
    let lone = places.iter().filter(|p| (p.rank, p.size) == (0, 1));
    let mut processes: Vec<(u32, u64)> = lone.map(|p| (p.pid, p.init_ns)).collect();
    processes.sort_unstable();
    processes.dedup();
    processes.len()
}

impl Parts {
    /// Looks for all data in `dir`. Of a rank with several files, what reached the end counts.
    pub fn find(dir: &Path) -> Result<Self, FormatError> {
        std::fs::read_dir(dir).map_err(FormatError::io("read", dir))?;
        let mut this = Self {
            files: spool_files(dir),
            places: Vec::new(),
            cut: false,
            alone: 0,
            wrapper: None,
        };
        for (number, path) in std::mem::take(&mut this.files).into_iter().enumerate() {
            let (file, bytes) = open(&path)?;
            if path.file_name().is_some_and(|n| n == MERGED_NAME) {
                this.merged(number, &file, &path, bytes)?;
            } else {
                this.add(number, &file, &path, (0, bytes))?;
            }
            this.files.push(path);
        }
        this.places.retain(|p| !p.is_wrapper);
        // What started them, as `timeout` and `make`: the processes that used MPI are the run.
        if this.places.iter().any(|p| p.uses_mpi) {
            this.places.retain(|p| p.uses_mpi);
        }
        this.alone = alone(&this.places);
        this.places
            .sort_by_key(|p| (p.rank, std::cmp::Reverse(p.finished), p.pid));
        this.places.dedup_by_key(|p| p.rank);
        this.agree()?;
        Ok(this)
    }

    /// Sees that all data are of one run, so that no number in a damaged header is taken for its ranks.
    fn agree(&self) -> Result<(), FormatError> {
        let Some(size) = self.places.first().map(|p| p.size) else {
            return Ok(());
        };
        for place in &self.places {
            let path = self.files.get(place.file).map_or(Path::new(""), |p| p);
            let (own, rank) = (place.size, place.rank);
            if own != size {
                return Err(FormatError::Mixed {
                    path: path.to_path_buf(),
                    own,
                    others: size,
                });
            }
            let why = match rank >= size {
                true => Some(format!("it holds rank {rank} of {size} ranks")),
                false => doubt(size, self.places.len()),
            };
            if let Some(why) = why {
                return Err(FormatError::damaged(path, why));
            }
        }
        Ok(())
    }

    fn add(
        &mut self,
        number: usize,
        file: &File,
        path: &Path,
        (at, bytes): (u64, u64),
    ) -> Result<(), FormatError> {
        if let Some(header) = header(file, path, at, bytes)? {
            if header.is_wrapper() {
                self.wrapper = Some(text(&header.program));
            }
            self.places.push(Place {
                file: number,
                at,
                bytes,
                rank: header.rank,
                size: header.size,
                finished: header.finished,
                pid: header.pid,
                init_ns: header.init_ns,
                uses_mpi: header.uses_mpi(),
                is_wrapper: header.is_wrapper(),
            });
        }
        Ok(())
    }

    /// Takes the ranks of a merged file that are whole.
    fn merged(
        &mut self,
        number: usize,
        file: &File,
        path: &Path,
        bytes: u64,
    ) -> Result<(), FormatError> {
        let word = |at: u64| -> Result<Option<u64>, FormatError> {
            let read = read(file, path, at, 8)?;
            Ok(read.try_into().ok().map(u64::from_le_bytes))
        };
        if word(0)? != Some(MERGED_MAGIC) {
            return Err(FormatError::damaged(
                path,
                "it does not begin as a merged spool does",
            ));
        }
        let mut at = 8;
        while at < bytes {
            let length = word(at)?;
            let end = length.and_then(|l| l.checked_add(at + 8));
            let Some(end) = end.filter(|e| *e <= bytes) else {
                if self.places.is_empty() {
                    return Err(FormatError::damaged(
                        path,
                        "it ends in the middle of its first rank's data",
                    ));
                }
                self.cut = true;
                return Ok(());
            };
            self.add(number, file, path, (at + 8, end - at - 8))?;
            at = end;
        }
        Ok(())
    }

    /// The ranks.
    pub fn ranks(&self) -> impl Iterator<Item = u32> + '_ {
        self.places.iter().map(|p| p.rank)
    }

    /// How many ranks there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Goes through all ranks.
    pub fn each(
        &self,
        mut f: impl FnMut(&Part) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        let mut last: Option<(usize, File)> = None;
        for place in &self.places {
            let Some(path) = self.files.get(place.file) else {
                continue;
            };
            if last.as_ref().is_none_or(|l| l.0 != place.file) {
                last = Some((place.file, open(path)?.0));
            }
            let Some((_, file)) = &last else { continue };
            if let Some(header) = header(file, path, place.at, place.bytes)? {
                f(&Part {
                    header,
                    path,
                    file,
                    at: place.at,
                    bytes: place.bytes,
                })?;
            }
        }
        Ok(())
    }
}
