//! The rows of a spool's tables.

use super::{CoreTime, Kind, MOST_CORES, MOST_COUNTERS, Row};

/// What a thread did in all. Only it writes here.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct ThreadRow {
    /// Clock at its first sight.
    pub begin_ns: u64,
    /// CPU time since, without pauses.
    pub cpu_ns: u64,
    /// Context of the call that made it, of its own contexts, plus 1; 0 for none.
    pub made_by: u64,
    /// Clock at its last sign of life.
    pub end_ns: u64,
    /// For how long recording had been paused at its first sight.
    pub paused_before_ns: u64,
    /// The same at its last sign of life.
    pub paused_ns: u64,
    /// Wall time inside MPI.
    pub mpi_ns: u64,
    /// Run-queue delay, without pauses.
    pub runq_ns: u64,
    /// Core changes that samples found.
    pub migrations: u64,
    /// Cores that it was seen on, in the order of first sight.
    pub on_cores: [CoreTime; MOST_CORES],
}

/// What a thread did of a team's work between two points where the team comes together.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct TeamRow {
    /// Context of the call that began the team.
    pub team: u32,
    /// Context of the barrier left, or `team`.
    pub from: u32,
    /// Context of the barrier entered, or `team`.
    pub to: u32,
    /// Unused, zero.
    pub zero: u32,
    /// Repetitions.
    pub count: u64,
    /// Wall time.
    pub wall_ns: u64,
    /// CPU time.
    pub cpu_ns: u64,
    /// Run queue.
    pub runq_ns: u64,
    /// Asleep.
    pub blocked_ns: u64,
    /// Waiting for other threads, and in MPI.
    pub locked_ns: u64,
    /// Waiting at `to`.
    pub wait_ns: u64,
}

/// Waits of a thread for another one.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct WaitRow {
    /// Context of the call that waited.
    pub ctx: u32,
    /// [`headwater_model::run::WaitKind`]
    pub kind: u32,
    /// Thread waited for, `u32::MAX` for unknown.
    pub holder: u32,
    /// Its context, of this thread's contexts; `u32::MAX` for unknown.
    pub holder_ctx: u32,
    /// Waits.
    pub count: u64,
    /// Wall time.
    pub wait_ns: u64,
    /// At most 1 ms of each.
    pub brief_ns: u64,
    /// Longest.
    pub max_ns: u64,
    /// Locks, a bit for each by a hash of its address.
    pub locks: u64,
}

/// What a [`ResourceRow`] has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Resource {
    /// Most resident memory at once, bytes. Its begin is 0.
    PeakMemory = 1,
    /// Bytes that calls read.
    ReadBytes = 2,
    /// Calls that read.
    Reads = 3,
    /// Bytes that calls wrote.
    WrittenBytes = 4,
    /// Calls that write.
    Writes = 5,
    /// Bytes from storage devices.
    StorageRead = 6,
    /// Bytes for storage devices.
    StorageWritten = 7,
    /// Energy of the zone `name` of the node, microjoules.
    Energy = 8,
    /// Calls of `MPI_File_open` for files on a file system whose kind is `which`, as `statfs` says it; 0 for unknown.
    MpiFiles = 9,
    /// Regular files on such a file system that are open at the end.
    OpenFiles = 10,
    /// Calls of the C library that concern files on such a file system and took long; `which` is 0 where there is none.
    LongCalls = 11,
    /// How long these took, nanoseconds.
    LongCallTime = 12,
}

/// Bytes of the name of an energy zone with the NUL behind it.
pub const ZONE_NAME: usize = 64;

/// A counter of the system at both ends of the recording. Only the process's begin and end write here, and calls that
/// concern files.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ResourceRow {
    /// A [`Resource`].
    pub what: u32,
    /// 1 where `end` is known.
    pub ended: u32,
    /// Which one of several.
    pub which: u64,
    /// At the begin.
    pub begin: u64,
    /// At the end.
    pub end: u64,
    /// Behind this value, the counter begins again at 0; 0 for a counter that does not.
    pub range: u64,
    /// Clock at the begin and at the end.
    pub at_ns: [u64; 2],
    /// Name of an energy zone.
    pub name: [u8; ZONE_NAME],
}

impl ResourceRow {
    /// A row of something that is 0 at the begin.
    pub fn new(what: Resource, which: u64) -> Self {
        Self {
            what: what as u32,
            ended: 0,
            which,
            begin: 0,
            end: 0,
            range: 0,
            at_ns: [0; 2],
            name: [0; ZONE_NAME],
        }
    }
}

/// Bytes of a region's name with the NUL behind it.
pub const REGION_NAME: usize = 64;
/// Classes of a region's iterations by their length: class `n` has those of `n` bits in nanoseconds, the last one also
/// longer ones.
pub const REGION_CLASSES: usize = 40;
/// Regions of a thread that have room, each below each of its callers.
pub const REGIONS_OF_THREAD: u32 = 1 << 10;
/// How many regions inside each other are recorded.
pub const DEEPEST_REGION: usize = 64;
/// How many of a region's slowest iterations are recorded.
pub const REGION_SLOWEST: usize = 4;
/// Stretches into which a region's iterations are divided.
pub const REGION_STRETCHES: usize = 32;
/// In the address of a context that is a region: no code of a program has such an address.
pub const REGION_BIT: u64 = 1 << 63;

/// An iteration of a region.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Iteration {
    /// How long it took; 0 where the place is free.
    pub ns: u64,
    /// Its number.
    pub index: u64,
}

/// A region that the program has named, below one caller.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct RegionRow {
    /// Its context.
    pub ctx: u32,
    /// The context that it began below; `u32::MAX` for none.
    pub below: u32,
    /// What its context has as address: [`REGION_BIT`] and a hash of the name.
    pub address: u64,
    /// A stretch has two to this power of iterations.
    pub shift: u64,
    /// How often it began.
    pub begun: u64,
    /// How often it ended.
    pub ended: u64,
    /// How often it did not nest: an end without a begin, or another region ended it.
    pub unnested: u64,
    /// How often a region inside it began too deep to be recorded.
    pub too_deep: u64,
    /// Iterations: the program marked them, or each begin and end is one.
    pub count: u64,
    /// Wall time of all.
    pub sum_ns: u64,
    /// Wall time of the shortest.
    pub min_ns: u64,
    /// Wall time of the longest.
    pub max_ns: u64,
    /// Iterations by length.
    pub classes: [u64; REGION_CLASSES],
    /// The slowest ones, the slowest first.
    pub slowest: [Iteration; REGION_SLOWEST],
    /// Wall time of each stretch of iterations, in their order.
    pub stretches: [u64; REGION_STRETCHES],
    /// Its name.
    pub name: [u8; REGION_NAME],
}

impl RegionRow {
    /// A region that has not begun yet.
    pub fn new(ctx: u32, below: u32, address: u64, name: [u8; REGION_NAME]) -> Self {
        Self {
            ctx,
            below,
            address,
            shift: 0,
            begun: 0,
            ended: 0,
            unnested: 0,
            too_deep: 0,
            count: 0,
            sum_ns: 0,
            min_ns: 0,
            max_ns: 0,
            classes: [0; REGION_CLASSES],
            slowest: [Iteration::default(); REGION_SLOWEST],
            stretches: [0; REGION_STRETCHES],
            name,
        }
    }
}

/// The highest two bits of the address of a context that is a frame of Python, behind its function and its line: no code
/// of a program and no region has such an address.
pub const PYTHON_BITS: u64 = 1 << 62;
/// Bits of the line in such an address, counted from the first line of the function.
pub const PYTHON_LINE_BITS: u32 = 24;

/// Whether the address of a context is a frame of Python.
#[inline]
pub fn is_python(address: u64) -> bool {
    address >> 62 == PYTHON_BITS >> 62
}

/// A function of Python.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct PythonRow {
    /// The address of its first line: [`PYTHON_BITS`], and a hash of what follows. A line has as many more as it is behind
    /// the first one.
    pub address: u64,
    /// Its first line.
    pub first_line: u32,
    /// Unused, zero.
    pub zero: u32,
    /// Its file, as the interpreter names it.
    pub file: [u8; 448],
    /// Its name with those around it.
    pub name: [u8; 112],
}

/// A loaded module.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ModuleRow {
    /// What is added to addresses of the file.
    pub base: u64,
    /// First mapped address.
    pub start: u64,
    /// First address behind it.
    pub end: u64,
    /// Bytes of the build id.
    pub id_bytes: u64,
    /// Build id.
    pub id: [u8; 32],
    /// Path.
    pub path: [u8; 448],
}

/// A communicator.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct CommRow {
    /// Same on all members.
    pub hash: u64,
    /// Members.
    pub size: u64,
}

/// A calling context.
#[derive(Clone, Copy, Default, PartialEq)]
#[repr(C)]
pub struct ContextRow {
    /// Return address or sampled address, absolute.
    pub address: u64,
    /// Row of the caller, `u32::MAX` for none.
    pub parent: u32,
    /// 1 for a sampled address.
    pub exact: u32,
}

/// Computation between two MPI calls.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct SegmentRow {
    /// Context left.
    pub from: u32,
    /// Context entered.
    pub to: u32,
    /// Repetitions.
    pub count: u64,
    /// Wall time.
    pub wall_ns: u64,
    /// CPU time.
    pub cpu_ns: u64,
    /// Run queue.
    pub runq_ns: u64,
    /// Asleep.
    pub blocked_ns: u64,
    /// Longest repetition.
    pub max_busy_ns: u64,
    /// Its number.
    pub max_at: u64,
}

/// MPI calls with equal parameters.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct CallRow {
    /// Context.
    pub ctx: u32,
    /// Function of the table of MPI functions.
    pub func: u16,
    /// Communicator.
    pub comm: u16,
    /// Partner offset.
    pub peer: i32,
    /// Tag.
    pub tag: i32,
    /// Size class.
    pub size_class: u32,
    /// Unused, zero.
    pub zero: u32,
    /// Calls.
    pub count: u64,
    /// Bytes.
    pub bytes: u64,
    /// Wall time.
    pub wall_ns: u64,
    /// CPU time.
    pub cpu_ns: u64,
    /// Run queue.
    pub runq_ns: u64,
    /// Longest call.
    pub max_wall_ns: u64,
}

/// Samples at one place.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct SampleRow {
    /// Context of the MPI call before.
    pub after: u32,
    /// Context of the sample.
    pub ctx: u32,
    /// Samples.
    pub count: u64,
    /// CPU time.
    pub cpu_ns: u64,
    /// Time asleep in system calls made here.
    pub blocked_ns: u64,
    /// Growth of counters.
    pub counters: [u64; MOST_COUNTERS],
}

/// An MPI event in a window.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct EventRow {
    /// Unused, zero: which window a row is in follows from its time.
    pub window: u32,
    /// Context.
    pub ctx: u32,
    /// Function.
    pub func: u16,
    /// [`headwater_model::run::EventKind`], one of [`headwater_model::run::access`], or [`super::STRETCH`].
    pub kind: u8,
    /// 1 for the first row of its call.
    pub first: u8,
    /// Partner or root, world rank.
    pub peer: u32,
    /// Message or collective instance.
    pub id: u64,
    /// Bytes.
    pub bytes: u64,
    /// Computation before.
    pub busy_ns: u64,
    /// Clock at the start.
    pub enter_ns: u64,
    /// Duration.
    pub mpi_ns: u64,
}

/// One end of a sampled message, or one rank's part in a sampled collective.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct MessageRow {
    /// Same at both ends.
    pub id: u64,
    /// Context.
    pub ctx: u32,
    /// Context of the posting call; `u32::MAX` for none.
    pub post_ctx: u32,
    /// Partner or root, world rank.
    pub peer: u32,
    /// Function.
    pub func: u16,
    /// Communicator.
    pub comm: u16,
    /// [`headwater_model::run::EventKind`]
    pub kind: u32,
    /// Unused, zero.
    pub zero: u32,
    /// Clock at the start of the call.
    pub enter_ns: u64,
    /// Clock at its end.
    pub leave_ns: u64,
    /// Clock at the start of the posting call.
    pub post_ns: u64,
    /// Bytes.
    pub bytes: u64,
}

macro_rules! rows {
    ($($row:ty => $kind:ident),*) => {$(
        // SAFETY: `repr(C)`, integers and byte arrays only, laid out without padding.
        #[allow(unsafe_code)]
        unsafe impl Row for $row {
            const KIND: Kind = Kind::$kind;
        }
    )*};
}

rows! {
    ModuleRow => Modules, CommRow => Comms, ContextRow => Contexts, SegmentRow => Segments,
    CallRow => Calls, SampleRow => Samples, EventRow => Events, MessageRow => Messages,
    ThreadRow => Threads, TeamRow => Teams, WaitRow => Waits, RegionRow => Regions,
    ResourceRow => Resources, PythonRow => Python
}
