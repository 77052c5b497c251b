//! Processes that still write their spool files: which there are, and the request to end their recording.

use super::layout::{MERGED_NAME, STOP_ASKED, stop_at, text};
use super::parts::{header, open, spool_files};
use crate::FormatError;
use headwater_model::Rank;
use headwater_model::words::Subject;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Bytes of the list of a process's mappings that are read at the most.
const LONGEST_LIST: u64 = 1 << 26;

/// A process that records, as far as this machine can see.
#[derive(Debug)]
pub struct Recorder {
    file: PathBuf,
    /// Its rank.
    pub rank: Rank,
    /// How many ranks there are.
    pub size: u32,
    /// Whether these are ranks of an MPI program.
    pub subject: Subject,
    /// The node that it runs on.
    pub host: String,
    /// Whether it has ended its recording because it was asked to.
    pub has_stopped: bool,
    /// Whether that node is this one. Of others it is not known whether the process still runs.
    pub is_here: bool,
}

/// Processes that have not ended their recording by themselves: those on this node that run, and all on other nodes. In the
/// order of their ranks.
pub fn recorders(spool: &Path) -> Result<Vec<Recorder>, FormatError> {
    let here = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let mut out = Vec::new();
    for path in spool_files(spool) {
        if path.file_name().is_some_and(|name| name == MERGED_NAME) {
            continue;
        }
        // Ranks that merge their data remove their files.
        let Ok((file, bytes)) = open(&path) else {
            continue;
        };
        let Some(header) = header(&file, &path, 0, bytes)? else {
            continue;
        };
        let host = text(&header.host);
        let is_here = host == here.trim_end();
        if header.finished == 0 && (!is_here || runs(header.pid, &path)) {
            out.push(Recorder {
                rank: header.rank,
                size: header.size,
                subject: Subject::new(header.size, Some(1), header.uses_mpi()),
                has_stopped: header.has_stopped(),
                host,
                is_here,
                file: path,
            });
        }
    }
    out.sort_by_key(|r| r.rank);
    Ok(out)
}

/// Whether the process with this number has mapped the file. The number may be another process's by now.
fn runs(pid: u32, file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default();
    maps(pid, |mapped| mapped == name.as_bytes())
}

/// Whether a process has mapped a file with a name for which `is` holds. Of another user's process it is not known.
fn maps(pid: u32, is: impl Fn(&[u8]) -> bool) -> bool {
    let Ok(list) = File::open(format!("/proc/{pid}/maps")) else {
        return false;
    };
    let lines = BufReader::new(list.take(LONGEST_LIST)).split(b'\n');
    lines
        .map_while(Result::ok)
        .any(|line| line.rsplit(|b| *b == b'/').next().is_some_and(&is))
}

/// A process that a program without MPI had started by `fork`, and that goes on although all processes that recorded into
/// `spool` have ended. It has their files mapped.
pub fn went_on(spool: &Path) -> Option<u32> {
    let names: Vec<OsString> = spool_files(spool)
        .iter()
        .filter_map(|f| Some(f.file_name()?.to_owned()))
        .collect();
    let listing = std::fs::read_dir("/proc").into_iter().flatten();
    let numbers = listing.filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok());
    let mut numbers: Vec<u32> = numbers.collect();
    numbers.sort_unstable();
    numbers
        .into_iter()
        .find(|pid| maps(*pid, |name| names.iter().any(|n| n.as_bytes() == name)))
}

impl Recorder {
    /// Asks the process to end its recording, and to go on. It does so when it computes.
    ///
    /// # Errors
    /// Its file cannot be written.
    pub fn ask_to_stop(&self) -> Result<(), FormatError> {
        if self.has_stopped {
            return Ok(());
        }
        // Without DSYNC, a client of NFS may write back all of the page, with what it had read of the rest before.
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::DSYNC;
        let opened = File::options()
            .write(true)
            .custom_flags(flags.bits().cast_signed())
            .open(&self.file);
        match opened.and_then(|file| file.write_all_at(&STOP_ASKED.to_ne_bytes(), stop_at())) {
            // The rank has merged its data and removed its file.
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
            done => done.map_err(FormatError::io("write", &self.file)),
        }
    }
}
