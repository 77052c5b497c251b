//! The schema of all tables, each column with its meaning and how a row holds it.

use headwater_model::run::*;

/// Reads a value out of a row.
pub(super) type Get<R, T> = Box<dyn Fn(&R) -> Option<T>>;
/// Puts a value into a row.
pub(super) type Set<R, T> = Box<dyn Fn(&mut R, Option<T>)>;

/// How a column's values are held by a row; absent values are nulls.
pub(super) enum Values<R> {
    /// Unsigned integers.
    Unsigned(Get<R, u64>, Set<R, u64>),
    /// Signed integers.
    Signed(Get<R, i64>, Set<R, i64>),
    /// Text.
    Text(fn(&R) -> &str, fn(&mut R, &str)),
}

/// A column.
pub(super) struct Column<R> {
    pub name: String,
    pub meaning: &'static str,
    pub values: Values<R>,
}

/// A row type with its table's name and columns.
pub(super) trait Table: Default + Clone + 'static {
    const NAME: &'static str;
    fn columns() -> Vec<Column<Self>>;
}

macro_rules! column {
    ($row:ty, $field:ident u $ty:ty, $meaning:expr) => {
        Column {
            name: stringify!($field).to_string(),
            meaning: $meaning,
            values: Values::Unsigned(
                Box::new(|r: &$row| Some(u64::from(r.$field))),
                Box::new(|r: &mut $row, v| r.$field = v.unwrap_or(0) as $ty),
            ),
        }
    };
    ($row:ty, $field:ident none $ty:ty, $meaning:expr) => {
        Column {
            name: stringify!($field).to_string(),
            meaning: $meaning,
            values: Values::Unsigned(
                Box::new(|r: &$row| (r.$field != <$ty>::MAX).then_some(u64::from(r.$field))),
                Box::new(|r: &mut $row, v| r.$field = v.map_or(<$ty>::MAX, |v| v as $ty)),
            ),
        }
    };
    ($row:ty, $field:ident maybe, $meaning:expr) => {
        Column {
            name: stringify!($field).to_string(),
            meaning: $meaning,
            values: Values::Unsigned(
                Box::new(|r: &$row| r.$field),
                Box::new(|r: &mut $row, v| r.$field = v),
            ),
        }
    };
    ($row:ty, $field:ident flag, $meaning:expr) => {
        Column {
            name: stringify!($field).to_string(),
            meaning: $meaning,
            values: Values::Unsigned(
                Box::new(|r: &$row| Some(u64::from(r.$field))),
                Box::new(|r: &mut $row, v| r.$field = v == Some(1)),
            ),
        }
    };
    ($row:ty, $field:ident ctx, $meaning:expr) => {
        Column {
            name: stringify!($field).to_string(),
            meaning: $meaning,
            values: Values::Unsigned(
                Box::new(|r: &$row| r.$field.index().map(|i| i as u64)),
                Box::new(|r: &mut $row, v| r.$field = v.map_or(CtxId::NONE, |v| CtxId(v as u32))),
            ),
        }
    };
    ($row:ty, $field:ident code $ty:ty, $meaning:expr) => {
        Column {
            name: stringify!($field).to_string(),
            meaning: $meaning,
            values: Values::Unsigned(
                Box::new(|r: &$row| Some(r.$field as u64)),
                Box::new(|r: &mut $row, v| {
                    let code = v.and_then(|v| u8::try_from(v).ok());
                    r.$field = code.and_then(<$ty>::from_code).unwrap_or_default();
                }),
            ),
        }
    };
    ($row:ty, $field:ident i, $meaning:expr) => {
        Column {
            name: stringify!($field).to_string(),
            meaning: $meaning,
            values: Values::Signed(
                Box::new(|r: &$row| Some(i64::from(r.$field))),
                Box::new(|r: &mut $row, v| r.$field = v.unwrap_or(0) as i32),
            ),
        }
    };
    ($row:ty, $field:ident step, $meaning:expr) => {
        Column {
            name: stringify!($field).to_string(),
            meaning: $meaning,
            values: Values::Signed(
                Box::new(|r: &$row| r.$field),
                Box::new(|r: &mut $row, v| r.$field = v),
            ),
        }
    };
    ($row:ty, $field:ident text, $meaning:expr) => {
        Column {
            name: stringify!($field).to_string(),
            meaning: $meaning,
            values: Values::Text(
                |r: &$row| &r.$field,
                |r: &mut $row, v| r.$field = v.to_string(),
            ),
        }
    };
}

macro_rules! tables {
    ($($name:literal $row:ty { $($field:ident $kind:ident $($ty:ty)?: $meaning:literal,)* })*) => {$(
        impl Table for $row {
            const NAME: &'static str = $name;
            fn columns() -> Vec<Column<Self>> {
                vec![$(column!($row, $field $kind $($ty)?, $meaning)),*]
            }
        }
    )*};
}

/// A name in a list of names.
#[derive(Clone, Debug, Default)]
pub(super) struct Name {
    pub name: String,
}

tables! {
    "modules" Module {
        path text: "path of the executable or library",
        build_id text: "GNU build id, hexadecimal; empty where there is none",
    }
    "symbols" Symbol {
        module u u32: "row in modules",
        offset u u64: "first offset of its own; it reaches to the next one",
        function flag: "1 for a function, 0 for a part of the function before it",
        part code Part: "of a part: 0 call, 1 loop, 2 branch, 3 call through a pointer, 4 recursive call, 5 computation; 0 for all in older runs",
        around u u64: "offset of the part that it is in; 0 where it is in none but the function, and in older runs",
        name text: "name of the function, or of the one that is called",
        file text: "source file; empty where unknown",
        first_line u u32: "first source line, 0 where unknown",
        last_line u u32: "last source line, 0 where unknown",
    }
    "contexts" Context {
        parent ctx: "row of the caller's context; null for an outermost frame",
        module none u32: "row in modules; null where the address is in none",
        offset u u64: "address within the module; behind the call instruction for a caller",
        exact flag: "1 for a sampled instruction, 0 for a return address",
    }
    "functions" Name {
        name text: "MPI function that func columns point to",
    }
    "comms" Comm {
        hash u u64: "same for one communicator on all ranks; 1 is the world",
        size u u32: "ranks in it",
    }
    "ranks" RankInfo {
        rank u u32: "rank in MPI_COMM_WORLD",
        node u u32: "index of its node in run.json",
        cpus_allowed u u32: "cores that the rank may use",
        cpus text: "those cores",
        complete flag: "1 if MPI_Finalize was reached",
        before_init_wall_ns u u64: "process start to the end of MPI_Init, ns",
        before_init_cpu_ns u u64: "CPU time of the same, ns",
        wall_ns u u64: "end of MPI_Init to MPI_Finalize, pauses of recording left out, ns",
        cpu_ns maybe: "CPU time of the same, all threads, ns; null where the rank did not finish",
        mpi_wall_ns u u64: "time in MPI calls, ns",
        runq_ns u u64: "time ready to run without a core, ns",
        minor_faults maybe: "page faults without disk; null where the rank did not finish",
        major_faults maybe: "page faults with disk; the same",
        voluntary_switches maybe: "context switches by waiting; the same",
        involuntary_switches maybe: "context switches by the scheduler; the same",
        migrations u u64: "samples that found the thread on another core",
        core maybe: "core of two thirds of its computation or more; null where there is none",
    }
    "threads" ThreadInfo {
        rank u u32: "rank",
        thread u u16: "thread of the rank; 0 called MPI_Init",
        made_by ctx: "context of the call that made it; null for the first thread, and where nobody saw it",
        begin_ns u u64: "end of MPI_Init to its birth or first sight, without pauses of recording as in the next columns, ns",
        wall_ns u u64: "first to last sign of life, ns",
        cpu_ns u u64: "CPU time of the same, ns",
        runq_ns u u64: "ready without a core, ns",
        mpi_wall_ns u u64: "time in MPI calls, ns",
    }
    "teams" TeamWork {
        rank u u32: "rank",
        thread u u16: "thread of the rank",
        team ctx: "context of the call that began the team: a parallel region, or pthread_create; a thread that made the others is in it if it meets them at a barrier",
        from ctx: "context of the barrier left; that of the team at its start",
        to ctx: "context of the barrier entered next; that of the team at its end",
        count u u64: "repetitions",
        wall_ns u u64: "from the start to the arrival, ns",
        cpu_ns u u64: "CPU time, ns",
        runq_ns u u64: "ready without a core, ns",
        blocked_ns u u64: "asleep, waiting for locks included, ns",
        locked_ns u u64: "waiting for other threads on the way, and in MPI calls, ns",
        wait_ns u u64: "from the arrival to the last arrival of the team, ns",
    }
    "waits" ThreadWait {
        rank u u32: "rank",
        thread u u16: "thread that waited",
        ctx ctx: "context of the call that waited",
        kind code WaitKind: "1 mutex, 2 lock to read, 3 lock to write, 4 spin lock, 5 OpenMP lock or critical section, 6 condition, 7 semaphore, 8 a thread's end, 9 tasks, 10 turn in an ordered loop, 11 futex, 12 Python's global lock",
        holder none u16: "thread waited for; null where that is not known",
        holder_ctx ctx: "where that thread took the lock, or let this one go on; callers may be missing; null where it is not known",
        count u u64: "waits",
        wait_ns u u64: "wall time, ns",
        brief_ns u u64: "the same with at most 1 ms of each wait, ns",
        max_ns u u64: "longest wait, ns",
        locks u u64: "which locks: a bit for each, by a hash of its address; 0 where that is not known",
    }
    "regions" Region {
        rank u u32: "rank",
        thread u u16: "thread of the rank",
        ctx ctx: "context of the region, whose module is region: and its name",
        begun u u64: "how often it began",
        ended u u64: "how often it ended",
        unnested u u64: "how often it did not nest: it ended without a begin, or a region around it ended first",
        too_deep u u64: "how often a region inside it began too deep to be recorded",
        count u u64: "iterations: the program marked them, or each begin and end is one",
        wall_ns u u64: "wall time of all iterations, ns",
        min_ns u u64: "wall time of the shortest, ns",
        max_ns u u64: "wall time of the longest, ns",
    }
    "region_times" RegionTime {
        region u u32: "row in regions",
        part code RegionPart: "0 iterations whose time in ns has index bits, or more in the last class; 1 one of the slowest iterations; 2 a stretch of iterations that follow one another",
        index u u64: "class, or number of the first iteration",
        count u u64: "iterations",
        wall_ns u u64: "their wall time, ns; 0 for a class",
    }
    "segments" Segment {
        rank u u32: "rank",
        thread u u16: "thread of the rank",
        from ctx: "context of the MPI call left; null before the first",
        to ctx: "context of the MPI call entered next",
        count u u64: "repetitions",
        wall_ns u u64: "wall time, ns",
        cpu_ns u u64: "CPU time, ns",
        runq_ns u u64: "ready without a core, ns",
        blocked_ns u u64: "asleep, ns",
        max_busy_ns u u64: "longest repetition, CPU time and asleep, ns",
        max_at u u64: "number of that repetition",
    }
    "calls" MpiCalls {
        rank u u32: "rank",
        thread u u16: "thread of the rank",
        ctx ctx: "context of the call",
        func u u16: "row in functions",
        comm none u16: "row in comms; null where the call has none",
        peer i: "partner's world rank minus own; special values near the smallest 32-bit integer: +0 none, +1 MPI_PROC_NULL, +2 any, +3 unknown",
        tag i: "tag; special values from the smallest 32-bit integer on: +0 none, +1 several, where there were too many",
        size_class u u8: "bits of the number of bytes of one call",
        count u u64: "calls",
        bytes u u64: "bytes of all calls",
        wall_ns u u64: "wall time inside, ns",
        cpu_ns u u64: "CPU time inside, ns",
        runq_ns u u64: "ready without a core inside, ns",
        max_wall_ns u u64: "longest call, ns",
    }
    "messages" MessageEdge {
        src u u32: "sending rank",
        dst u u32: "receiving rank",
        send_ctx ctx: "context of the send",
        done_ctx ctx: "context that completed the send; null for a blocking send, where nobody saw it, and in older runs",
        post_ctx ctx: "context that posted the receive; null for a blocking receive",
        recv_ctx ctx: "context that completed the receive",
        sampled u u64: "messages sampled at both ends",
        bytes u u64: "their bytes",
        late_sender_ns u u64: "time the receiver waited for the send to start, ns; a call that completes several messages and collectives waits once, for the last of them",
        late_senders u u64: "messages with such a wait",
        late_receiver_ns u u64: "time the sender waited for the receive to be posted, ns; none in a call that waited for a sender or a collective, or that sends and receives",
    }
    "collectives" CollectiveWait {
        rank u u32: "rank",
        ctx ctx: "context of the call",
        func u u16: "row in functions; the one that posted, where another call completes it",
        comm none u16: "row in comms",
        sampled u u64: "instances sampled on all ranks",
        wait_ns u u64: "time waited for whom it needs: from own arrival, or from the call that completes a nonblocking one, ns",
        first_ns maybe: "of a root that needs all others' data the part until the first of them came, ns; null for others, and in older runs",
        last u u64: "instances in which this rank came, or posted, last",
        after_last_ns u u64: "last arrival to own leave, within the call that completes it, ns",
    }
    "events" StoredEvent {
        window u u32: "number of the window",
        rank u u32: "rank",
        thread u u16: "thread of the rank",
        ctx ctx: "context of the call",
        func u u16: "row in functions",
        kind u u8: "0 no partner, 1 send, 2 receive completed, 3 collective or its completion, 5 receive posted, 6 nonblocking collective posted",
        first_of_call flag: "1 for the first row of a call",
        link_step step: "message or collective within the window: its number, less that of the row before with the same window, rank, thread, kind, context and peer, or less 0 for the first one; null for none",
        peer none u32: "partner or root; null for none",
        bytes u u64: "bytes",
        busy_ns u u64: "CPU time and time asleep since the previous call, ns",
        idle_ns step: "how much later the row starts than expected, ns. The first row of a window, rank and thread is expected at the window's begin; a further row of the same call at the start of the row before; any other at start + mpi_ns of the call before (of its first row) + busy_ns. A row never starts before the row before it",
        mpi_ns u u64: "duration, ns",
    }
    "usage" Usage {
        rank u u32: "rank",
        peak_memory_bytes maybe: "most resident memory at once since the process started, Headwater's included, bytes; null where the system did not say it, or the process did not end by itself, as in the next columns",
        read_bytes maybe: "read by calls from files, pipes and sockets, bytes",
        reads maybe: "calls that read",
        written_bytes maybe: "written by calls, bytes",
        writes maybe: "calls that write",
        storage_read_bytes maybe: "read from storage devices, bytes",
        storage_written_bytes maybe: "given to storage devices, pages of mapped files and Headwater's included, bytes",
    }
    "file_systems" FileSystem {
        rank u u32: "rank",
        name text: "kind of the file system, such as lustre; a hexadecimal number for one without a name here, unknown if the system did not say it",
        mpi_opened u u64: "calls of MPI_File_open that opened a file there",
        open_at_end u u64: "regular files there that were open at the end",
        long_calls u u64: "calls of read, write, pread, pwrite, fsync and fdatasync for regular files there that took over 50 µs, MPI's own included",
        long_ns u u64: "how long these took, ns",
    }
    "energy" Energy {
        rank u u32: "rank that read the counter",
        node u u32: "index of its node in run.json",
        zone text: "part of the node, such as package-0",
        microjoules maybe: "energy between both readings, of all that ran there, microjoules; null where the counter may have begun again more than once",
        wall_ns u u64: "between both readings, pauses of recording included, ns",
    }
}

/// An event whose start and link are stored as what does not follow from the rows before: mostly the same few numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct StoredEvent {
    pub window: u32,
    pub rank: u32,
    pub thread: u16,
    pub ctx: CtxId,
    pub func: u16,
    pub kind: u8,
    pub first_of_call: bool,
    pub link_step: Option<i64>,
    pub peer: u32,
    pub bytes: u64,
    pub busy_ns: u64,
    pub idle_ns: Option<i64>,
    pub mpi_ns: u64,
}

/// Columns of samples: the fixed ones, and one for each counter, which is growth while the samples
/// were taken.
pub(super) fn sample_columns(counters: &[String]) -> Vec<Column<Sample>> {
    let mut all = vec![
        column!(Sample, rank u u32, "rank"),
        column!(Sample, thread u u16, "thread of the rank"),
        column!(Sample, after ctx, "context of the MPI call left last; null before the first"),
        column!(Sample, ctx ctx, "context of the sample"),
        column!(Sample, count u u32, "samples"),
        column!(Sample, cpu_ns u u64, "CPU time that they represent, ns"),
        column!(Sample, blocked_ns u u64, "time asleep in system calls made here, ns"),
    ];
    all.extend(counters.iter().enumerate().map(|(i, name)| Column {
        name: name.clone(),
        meaning: "growth of this counter",
        values: Values::Unsigned(
            Box::new(move |r: &Sample| r.counters.get(i).copied()),
            Box::new(move |r: &mut Sample, v| {
                r.counters.resize(r.counters.len().max(i + 1), 0);
                if let Some(place) = r.counters.get_mut(i) {
                    *place = v.unwrap_or(0);
                }
            }),
        ),
    }));
    all
}
