//! Bytes of a spool file: a header, then tables of rows of fixed size.
//!
//! The collector maps a file of this layout and writes rows in place, so that what was recorded
//! survives whatever ends the process. A finished process writes the same layout again without unused
//! rows and descriptors (a *blob*, see [`pack`]); `merged.spool` is [`MERGED_MAGIC`] and then blobs, each
//! after its length.
//! All integers are those of the machine; a reader on another kind of machine sees a wrong magic.

mod rows;

pub use rows::*;

/// First bytes of a process file or blob.
pub const MAGIC: u64 = u64::from_le_bytes(*b"HWSPOOL\x01");
/// First bytes of a merged file.
pub const MERGED_MAGIC: u64 = u64::from_le_bytes(*b"HWMERGE\x01");
/// Name of the merged file in a spool directory.
pub const MERGED_NAME: &str = "merged.spool";
/// Ending of process files.
pub const PROCESS_ENDING: &str = ".spool";
/// Name of the file in place of a spool where the MPI library is not known: its name, as text.
pub const UNKNOWN_NAME: &str = "unknown-library";
/// Version of rows and header.
pub const VERSION: u32 = 10;
/// Tables that a file can hold: five of each of 400 threads.
pub const MOST_TABLES: usize = 2048;
/// [`FileHeader::finished`] of a process that became another program by `exec`, and recorded itself until then.
pub const BECAME_ANOTHER: u32 = 2;
/// [`FileHeader::stop`]: `headwater stop` has asked the process to end its recording and to go on.
pub const STOP_ASKED: u64 = 1;
/// The process has done so.
pub const STOP_DONE: u64 = 2;
/// A program that used less CPU time than this before it became another one is a wrapper, such as `env` or `taskset`,
/// and nothing worth recording, nanoseconds.
pub const WRAPPER_NS: u64 = 100_000_000;
/// Kind of the event row that begins a stretch in which all events of the windows were recorded, and none elsewhere.
/// Its `enter_ns` is the begin and its `mpi_ns` the length, 0 as long as it goes on; the next stretch begins behind a
/// pause. Its `first` is 1 where the thread called nothing before it. The first of a thread has the thread's
/// [`super::window_slots::Slots`] as its `id`, and as its `bytes` how many rows of a rank a reader is to keep, 0 for
/// [`super::window_slots::room`].
pub const STRETCH: u8 = 32;
/// Cores by which a thread's time is recorded; the last place is that of all others.
pub const MOST_CORES: usize = 16;
/// Counters that a sample can hold.
pub const MOST_COUNTERS: usize = 8;

/// In [`FileHeader::lost`]: the disk was full.
pub const LOST_TO_DISK: u16 = 1;
/// In [`FileHeader::lost`]: some threads are not recorded.
pub const LOST_THREADS: u16 = 2;

/// A row that is plain bytes.
///
/// # Safety
/// The type must be `repr(C)`, without padding that is not a field, and every bit pattern must be a
/// value of it.
#[allow(unsafe_code)]
pub unsafe trait Row: Copy + 'static {
    /// Which table rows of this type are in.
    const KIND: Kind;
}

/// Tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// [`ModuleRow`]
    Modules = 1,
    /// [`CommRow`]
    Comms = 2,
    /// [`ContextRow`]
    Contexts = 3,
    /// [`SegmentRow`]
    Segments = 4,
    /// [`CallRow`]
    Calls = 5,
    /// [`SampleRow`]
    Samples = 6,
    /// [`EventRow`]
    Events = 7,
    /// [`MessageRow`]
    Messages = 8,
    /// [`ThreadRow`]
    Threads = 9,
    /// [`TeamRow`]
    Teams = 10,
    /// [`WaitRow`]
    Waits = 11,
    /// [`RegionRow`]
    Regions = 12,
    /// [`ResourceRow`]
    Resources = 13,
    /// [`PythonRow`]
    Python = 14,
}

/// Where a table is.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Desc {
    /// A [`Kind`].
    pub kind: u32,
    /// Thread that writes it.
    pub thread: u32,
    /// Offset of the first row from the start of the file or blob.
    pub offset: u64,
    /// Bytes of a row.
    pub row_bytes: u32,
    /// Rows that have room.
    pub capacity: u32,
    /// Rows in use.
    pub count: u32,
    /// Rows that had no room.
    pub dropped: u32,
}

/// A comparison of this process's clock with rank 0's, all in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Alignment {
    /// When it was made, on this clock; 0 for never.
    pub at_ns: u64,
    /// What to add to this clock to have rank 0's.
    pub offset_ns: i64,
    /// How far that may be out.
    pub error_ns: u64,
}

/// Time on one core.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct CoreTime {
    /// Its number.
    pub core: u64,
    /// CPU time of computation there; 0 where the place is free.
    pub cpu_ns: u64,
}

/// Head of a process file or blob.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct FileHeader {
    /// [`MAGIC`]
    pub magic: u64,
    /// [`VERSION`]
    pub version: u32,
    /// Rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Size of it.
    pub size: u32,
    /// Process id.
    pub pid: u32,
    /// 1 once `MPI_Finalize` was reached, or the end of a program without MPI; [`BECAME_ANOTHER`].
    pub finished: u32,
    /// Descriptors in use.
    pub tables: u32,
    /// Processor cores of the node.
    pub cores: u32,
    /// Cores that the process may use.
    pub cpus_allowed: u32,
    /// Samples per second of CPU time.
    pub hz: u32,
    /// Counters in a sample.
    pub counters: u16,
    /// What was lost: [`LOST_TO_DISK`] if the file once could not grow because the disk was full, written when the
    /// process ends its recording; [`LOST_THREADS`] if there were more threads than are recorded.
    pub lost: u16,
    /// [`STOP_ASKED`], [`STOP_DONE`], otherwise 0. The only field that another process writes.
    pub stop: u64,
    /// Clock 0 in nanoseconds since 1970.
    pub unix_ns: u64,
    /// Process start to leaving `MPI_Init`.
    pub before_init_wall_ns: u64,
    /// CPU time of the same.
    pub before_init_cpu_ns: u64,
    /// Clock when `MPI_Init` was left.
    pub init_ns: u64,
    /// Clock when `MPI_Finalize` was entered; threads have their last signs of life.
    pub end_ns: u64,
    /// CPU time of the process between the two, pauses left out; 0 until it has finished.
    pub cpu_ns: u64,
    /// Clock since when the program has recording paused; 0 while it goes on.
    pub paused_since_ns: u64,
    /// Pauses that ended, in all.
    pub paused_ns: u64,
    /// How often it was paused.
    pub pauses: u64,
    /// Page faults without and with disk, switches with and without consent, between the two; 0 until it
    /// has finished.
    pub usage: [u64; 4],
    /// The same when `MPI_Init` was left, from which `usage` is counted.
    pub usage_before: [u64; 4],
    /// How this clock compares with rank 0's, at the start and at the end.
    pub alignments: [Alignment; 2],
    /// Host name.
    pub host: [u8; 64],
    /// What the MPI library calls itself, first line.
    pub library: [u8; 256],
    /// Program path.
    pub program: [u8; 512],
    /// Command line, arguments separated by NUL.
    pub command: [u8; 1024],
    /// Cores allowed, as `0-3`.
    pub cpus: [u8; 256],
    /// Names of counters, separated by spaces.
    pub counter_names: [u8; 256],
    /// What could not be measured, sentences separated by newlines.
    pub notes: [u8; 1024],
    /// Tables.
    pub descs: [Desc; MOST_TABLES],
}

/// The bytes of a row.
#[allow(unsafe_code)]
pub fn bytes_of<R: Row>(row: &R) -> &[u8] {
    // SAFETY: `Row` promises plain bytes without padding.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(row).cast(), size_of::<R>()) }
}

/// The bytes of a header.
#[allow(unsafe_code)]
pub fn header_bytes(header: &FileHeader) -> &[u8] {
    // SAFETY: `repr(C)` of integers and byte arrays, ordered so that there is no padding.
    unsafe {
        std::slice::from_raw_parts(std::ptr::from_ref(header).cast(), size_of::<FileHeader>())
    }
}

/// Whether a process with this [`ending`] only started another program in its place.
pub fn is_wrapper((finished, cpu_ns): (u32, u64)) -> bool {
    finished == BECAME_ANOTHER && cpu_ns <= WRAPPER_NS
}

/// The bytes of a descriptor.
#[allow(unsafe_code)]
fn desc_bytes(desc: &Desc) -> &[u8] {
    // SAFETY: `repr(C)` of integers, ordered so that there is no padding.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(desc).cast(), size_of::<Desc>()) }
}

/// Reads a row or header out of bytes that may be anything.
#[allow(unsafe_code)]
fn from_bytes<T: Copy>(bytes: &[u8]) -> Option<T> {
    let bytes = bytes.get(..size_of::<T>())?;
    // SAFETY: the length was checked, the read need not be aligned, and callers below only use types
    // for which every bit pattern is a value.
    Some(unsafe { std::ptr::read_unaligned(bytes.as_ptr().cast()) })
}

/// Bytes of a header before its descriptors.
const FIXED: usize = std::mem::offset_of!(FileHeader, descs);

/// Bytes of a file's head that are used when it has so many tables.
pub fn head_bytes(tables: usize) -> u64 {
    (FIXED + tables.min(MOST_TABLES) * size_of::<Desc>()) as u64
}

/// The header at the start of `bytes`, if there is one; descriptors that are not in use need not be there.
pub fn read_header(bytes: &[u8]) -> Option<FileHeader> {
    let mut whole = [0u8; size_of::<FileHeader>()];
    whole.get_mut(..FIXED)?.copy_from_slice(bytes.get(..FIXED)?);
    let tables = from_bytes::<FileHeader>(&whole)?.tables as usize;
    let end = FIXED + tables.min(MOST_TABLES) * size_of::<Desc>();
    whole
        .get_mut(FIXED..end)?
        .copy_from_slice(bytes.get(FIXED..end)?);
    from_bytes(&whole)
}

/// Where [`FileHeader::stop`] is in a process file.
pub fn stop_at() -> u64 {
    std::mem::offset_of!(FileHeader, stop) as u64
}

/// How a process ended, if `bytes` begin with a header: [`FileHeader::finished`] and its CPU time, nanoseconds.
pub fn ending(bytes: &[u8]) -> Option<(u32, u64)> {
    let from = |at: usize| bytes.get(..FIXED)?.get(at..);
    let finished = from(std::mem::offset_of!(FileHeader, finished))?;
    let cpu_ns = from(std::mem::offset_of!(FileHeader, cpu_ns))?;
    Some((from_bytes(finished)?, from_bytes(cpu_ns)?))
}

/// A part of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// Where it begins.
    pub offset: u64,
    /// How long it is.
    pub bytes: u64,
}

/// What a blob of a process file is made of: the bytes that it begins with, and the parts of the file that
/// follow. `None` where there is no memory.
pub fn pack(header: &FileHeader) -> Option<(Vec<u8>, Vec<Stretch>)> {
    let in_file = |d: &&Desc| d.count > 0 || d.dropped > 0;
    let tables = header.in_use().filter(in_file).count();
    let head = FIXED + tables * size_of::<Desc>();
    // A copy of the whole header may be more than the stack of the thread that calls this has room for.
    let mut begins = Vec::new();
    begins.try_reserve_exact(head).ok()?;
    begins.extend_from_slice(header_bytes(header).get(..FIXED)?);
    let count_at = std::mem::offset_of!(FileHeader, tables);
    begins
        .get_mut(count_at..count_at + 4)?
        .copy_from_slice(&(tables as u32).to_ne_bytes());
    let mut rows = Vec::new();
    rows.try_reserve_exact(tables).ok()?;
    let mut offset = head as u64;
    for old in header.in_use().filter(in_file) {
        let count = old.count.min(old.capacity);
        let bytes = u64::from(count) * u64::from(old.row_bytes);
        let new = Desc {
            offset,
            count,
            capacity: count,
            ..*old
        };
        begins.extend_from_slice(desc_bytes(&new));
        rows.push(Stretch {
            offset: old.offset,
            bytes,
        });
        offset += bytes;
    }
    Some((begins, rows))
}

impl FileHeader {
    /// Whether the process used MPI.
    pub fn uses_mpi(&self) -> bool {
        self.library[0] != 0
    }

    /// Whether the process has ended its recording, or its totals are known for another reason.
    pub fn is_complete(&self) -> bool {
        [1, BECAME_ANOTHER].contains(&self.finished) || self.has_stopped()
    }

    /// Whether the process ended its recording because `headwater stop` asked it.
    pub fn has_stopped(&self) -> bool {
        self.stop == STOP_DONE
    }

    /// Whether this is of a program that only started another one in its place.
    pub fn is_wrapper(&self) -> bool {
        is_wrapper((self.finished, self.cpu_ns))
    }

    /// Descriptors in use.
    pub fn in_use(&self) -> impl Iterator<Item = &Desc> {
        self.descs.iter().take(self.tables as usize)
    }
}

/// What the threads of a process did in all, of the file or blob that `bytes` are.
pub fn threads(header: &FileHeader, bytes: &[u8]) -> Vec<ThreadRow> {
    header.in_use().flat_map(|d| read_rows(bytes, d)).collect()
}

/// Clock when the process was last seen, nanoseconds.
pub fn last_sign(header: &FileHeader, threads: &[ThreadRow]) -> u64 {
    let last = threads.iter().map(|t| t.end_ns).max().unwrap_or(0);
    last.max(header.end_ns)
}

/// Where the rows of a table are, if they are of this type.
pub fn stretch<R: Row>(desc: &Desc) -> Option<Stretch> {
    let fits = desc.kind == R::KIND as u32 && desc.row_bytes as usize == size_of::<R>();
    fits.then(|| Stretch {
        offset: desc.offset,
        bytes: u64::from(desc.count.min(desc.capacity)) * size_of::<R>() as u64,
    })
}

/// The rows that the bytes of a table are.
pub fn rows<R: Row>(table: &[u8]) -> impl Iterator<Item = R> {
    table.chunks_exact(size_of::<R>()).filter_map(from_bytes)
}

/// All rows of one table; fewer than its count where the bytes end before.
pub fn read_rows<R: Row>(bytes: &[u8], desc: &Desc) -> Vec<R> {
    let all = || {
        let Stretch { offset, bytes: len } = stretch::<R>(desc)?;
        let rest = bytes.get(usize::try_from(offset).ok()?..)?;
        Some(rest.get(..usize::try_from(len).ok()?).unwrap_or(rest))
    };
    rows(all().unwrap_or(&[])).collect()
}

/// Copies text into a fixed field. The text is truncated to fit, and always ends with NUL.
pub fn put_text(field: &mut [u8], text: &[u8]) {
    let len = text.len().min(field.len().saturating_sub(1));
    field
        .iter_mut()
        .zip(text.iter().take(len))
        .for_each(|(a, b)| *a = *b);
}

/// The text up to the first NUL.
pub fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
