//! The file of a trace: one versioned, checksummed row of bytes (docs/TRACE.md).
//!
//! *Gives*: [`Trace::to_bytes`] and [`Trace::from_bytes`], which returns a trace equal to the one that was written, or
//! says why not. Two forms have the same content: the plain one is quick to write and is what ranks send to each other,
//! the packed one ([`Trace::to_packed_bytes`], [`pack`]) is a fraction of it and is what stays. Reading panics on no
//! input, what it allocates is bounded by the length of the file, and what was read can be expanded ([`check`]).

mod body;
mod candidates;
mod check;
mod codec;
mod columns;
mod costs;
mod durations;
mod histograms;
mod lists;
mod mixing;
mod names;
mod order;
mod outliers;
mod packed;
mod partners;
mod runs;
mod signatures;
mod tables;
mod work;

use crate::trace::Trace;
use body::{Body, Parts};
use codec::{PlainReader, PlainWriter, read_leb, write_leb};
use packed::{PackedReader, PackedWriter};

/// The first bytes of a trace.
pub const MAGIC: [u8; 4] = *b"HWTR";

/// What the names of traces in the directory of a spool begin with.
pub const SPOOLED_NAME: &str = "whole.trace";

/// The number of a job that all its ranks have. Several jobs may use one directory, and ranks of one must not be taken for
/// those of another.
pub fn shared_job(number: u64) -> u64 {
    number.max(2) & !1
}

/// The number of a process that does not know which job it belongs to.
pub fn unknown_job(number: u64) -> u64 {
    number | 1
}

/// Whether the number is that of a process that does not know which job it belongs to.
pub fn is_unknown_job(number: u64) -> bool {
    number & 1 == 1
}

/// Whose trace is in a file of a spool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whose {
    /// All ranks' of a job.
    All,
    /// A rank's, of all its threads or of the first one.
    Rank(u32),
    /// Another thread's of a rank.
    Thread(u32, u32),
}

impl Whose {
    /// The rank, if it is one rank's.
    pub fn rank(self) -> Option<u32> {
        match self {
            Self::All => None,
            Self::Rank(rank) | Self::Thread(rank, _) => Some(rank),
        }
    }
}

/// The name of a trace in the directory of a spool. Several jobs may use one directory, so it has the number of the job;
/// behind that it has the numbers of the rank and of the thread whose it is.
pub fn spooled_name(job: u64, whose: Whose) -> String {
    let whose = match whose {
        Whose::All => String::new(),
        Whose::Rank(rank) => format!(".{rank}"),
        Whose::Thread(rank, thread) => format!(".{rank}.{thread}"),
    };
    format!("{SPOOLED_NAME}.{job:016x}{whose}")
}

/// The job in a name that [`spooled_name`] has made, and whose trace it is.
pub fn job_and_whose(name: &str) -> Option<(u64, Whose)> {
    let numbers = name.strip_prefix(SPOOLED_NAME)?.strip_prefix('.')?;
    let numbers: Vec<&str> = numbers.split('.').collect();
    let (job, whose) = match *numbers {
        [job] => (job, Whose::All),
        [job, rank] => (job, Whose::Rank(rank.parse().ok()?)),
        [job, rank, thread] => {
            let whose = Whose::Thread(rank.parse().ok()?, thread.parse().ok()?);
            (job, whose)
        }
        _ => return None,
    };
    let job = u64::from_str_radix(job, 16).ok()?;
    (spooled_name(job, whose) == name).then_some((job, whose))
}

/// The version of the layout.
pub const VERSION: u8 = 4;

/// Bytes of the magic, the version, the form and the checksum.
const FIXED: usize = MAGIC.len() + 1 + 1 + 4;

const PLAIN: u8 = 0;
const PACKED: u8 = 1;
/// Added to a form: parameter histograms follow.
const LOSSY: u8 = 2;
/// Added to a form: calls that did not end follow.
const OPEN: u8 = 4;
/// Added to a form: executions that took much longer than others follow.
const OUTLIERS: u8 = 8;
const PARTS: u8 = LOSSY | OPEN | OUTLIERS;

/// Why bytes are not read as a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It begins with other bytes.
    #[error("this is not a trace")]
    NotATrace,
    /// It was written by another Headwater.
    #[error(
        "the trace has format {0}, this Headwater reads format {VERSION}; use the one that wrote it"
    )]
    Version(u8),
    /// The end is missing.
    #[error("the trace is cut short: {has} of {needs} bytes; copy the file again")]
    Short {
        /// Bytes that are there.
        has: u64,
        /// Bytes that it says it has.
        needs: u64,
    },
    /// The checksum is another one.
    #[error("the trace is damaged: its checksum does not agree; copy the file again")]
    Damaged,
    /// The checksum agrees, but this is not what a writer writes.
    #[error("the trace is malformed: its content contradicts itself; record it again")]
    Malformed,
}

impl Trace {
    /// The plain form: nothing but what has to be there is computed or allocated.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = PlainWriter::default();
        // A writer reads nothing, so nothing is malformed.
        let written = Body::new(&mut writer).trace(Some(self), self.parts());
        debug_assert!(written.is_ok(), "{written:?}");
        framed(PLAIN | self.form_of_parts(), &writer.bytes)
    }

    /// The shorter form: packed, or plain if the trace is too large for that.
    pub fn to_packed_bytes(&self) -> Vec<u8> {
        // Nobody knows which is shorter before both are there.
        let (round, other) = std::thread::scope(|scope| {
            let other = || self.packed_body(true, false);
            let thread = std::thread::Builder::new().spawn_scoped(scope, other);
            let round = self.packed_body(true, true);
            match thread.map(|thread| thread.join()) {
                Ok(Ok(other)) => (round, other),
                Ok(Err(panic)) => std::panic::resume_unwind(panic),
                // The system has no thread left.
                Err(_) => (round, other()),
            }
        });
        // A reader takes a limited number of numbers for each byte, and tables have many.
        let bodies = [round, other].into_iter().flatten();
        let body = bodies.min_by_key(Vec::len);
        let body = body.or_else(|| self.packed_body(false, false));
        let form = PACKED | self.form_of_parts();
        body.map_or_else(|| self.to_bytes(), |body| framed(form, &body))
    }

    fn packed_body(&self, has_tables: bool, has_round_times: bool) -> Option<Vec<u8>> {
        let mut writer = PackedWriter::new();
        let mut body = Body::new(&mut writer);
        body.has_tables = has_tables;
        body.has_round_times = has_round_times;
        body.trace(Some(self), self.parts()).ok()?;
        writer.finish()
    }

    /// Bits of the packed form, by part of the body and by field.
    #[doc(hidden)]
    pub fn packed_costs(&self) -> Vec<(&'static str, String, f64)> {
        let mut counter = costs::Counter::new();
        let written = Body::new(&mut counter).trace(Some(self), self.parts());
        debug_assert!(written.is_ok(), "{written:?}");
        let costs = counter.bits.into_iter();
        costs
            .map(|((part, field), bits)| (part, field, bits))
            .collect()
    }

    fn parts(&self) -> Parts {
        Parts {
            histograms: self.is_lossy(),
            open: !self.open.is_empty(),
            outliers: !self.outliers.is_empty(),
        }
    }

    fn form_of_parts(&self) -> u8 {
        let parts = self.parts();
        u8::from(parts.histograms) * LOSSY
            + u8::from(parts.open) * OPEN
            + u8::from(parts.outliers) * OUTLIERS
    }

    /// Reads either form.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let (form, body) = opened(bytes)?;
        let parts = Parts {
            histograms: form & LOSSY != 0,
            open: form & OPEN != 0,
            outliers: form & OUTLIERS != 0,
        };
        match form & !PARTS {
            PLAIN => {
                let mut reader = PlainReader::new(body);
                let trace = Body::new(&mut reader).trace(None, parts)?;
                reader
                    .bytes
                    .is_empty()
                    .then_some(trace)
                    .ok_or(Error::Malformed)
            }
            PACKED => {
                let mut reader = PackedReader::new(body);
                let trace = Body::new(&mut reader).trace(None, parts)?;
                (reader.left() == 0)
                    .then_some(trace)
                    .ok_or(Error::Malformed)
            }
            _ => Err(Error::Malformed),
        }
    }
}

/// The packed form of either form.
pub fn pack(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    match opened(bytes)? {
        (form, _) if form & !PARTS == PACKED => Ok(bytes.to_vec()),
        _ => Ok(Trace::from_bytes(bytes)?.to_packed_bytes()),
    }
}

/// A body with a head that fits it: what a test of the reader changes is not caught by the checksum then.
#[doc(hidden)]
pub fn framed(form: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(body.len() + FIXED + 10);
    bytes.extend(MAGIC);
    bytes.push(VERSION);
    bytes.push(form);
    write_leb(&mut bytes, body.len() as u64);
    let sum = checksum(&[&bytes, body]);
    bytes.extend(sum.to_le_bytes());
    bytes.extend(body);
    bytes
}

/// The form and the body behind a head that is in order.
fn opened(bytes: &[u8]) -> Result<(u8, &[u8]), Error> {
    let has = bytes.len() as u64;
    let short = |needs: u64| Error::Short { has, needs };
    let Some(rest) = bytes.strip_prefix(&MAGIC) else {
        let is_begin = !bytes.is_empty() && MAGIC.starts_with(bytes);
        return Err(if is_begin {
            short(FIXED as u64 + 1)
        } else {
            Error::NotATrace
        });
    };
    match rest.first() {
        Some(&VERSION) => {}
        Some(version) => return Err(Error::Version(*version)),
        None => return Err(short(FIXED as u64 + 1)),
    }
    let form = *rest.get(1).ok_or(short(FIXED as u64 + 1))?;
    let mut rest = rest.get(2..).unwrap_or(&[]);
    let length = match read_leb(&mut rest) {
        Some(length) => length,
        None if rest.is_empty() => return Err(short(FIXED as u64 + 1)),
        None => return Err(Error::Damaged),
    };
    let head = bytes.len() - rest.len();
    let needs = (head as u64 + 4).saturating_add(length);
    if has < needs {
        return Err(short(needs));
    }
    if has > needs {
        return Err(Error::Damaged);
    }
    let (head, rest) = bytes.split_at(head);
    let (sum, body) = rest.split_first_chunk::<4>().ok_or(short(needs))?;
    if checksum(&[head, body]) != u32::from_le_bytes(*sum) {
        return Err(Error::Damaged);
    }
    Ok((form, body))
}

/// CRC-32 (IEEE 802.3) of several pieces.
fn checksum(pieces: &[&[u8]]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut i = 0;
        while i < 256 {
            let mut value = i as u32;
            let mut bit = 0;
            while bit < 8 {
                value = value >> 1 ^ if value & 1 == 1 { 0xedb8_8320 } else { 0 };
                bit += 1;
            }
            table[i] = value;
            i += 1;
        }
        table
    };
    let bytes = pieces.iter().flat_map(|piece| piece.iter());
    !bytes.fold(!0_u32, |sum, byte| {
        let at = (sum ^ u32::from(*byte)) & 0xff;
        sum >> 8 ^ TABLE.get(at as usize).copied().unwrap_or(0)
    })
}
