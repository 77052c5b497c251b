//! A rank: joins its threads to what the collector's process file would hold.

use crate::comms::Comms;
use crate::links::{Links, Sampling};
use crate::pauses::Pauses;
use crate::program::file;
use crate::regions::Regions;
use crate::thread::{Rows, Shared, Thread, lock, team};
use crate::windows::Room;
use headwater_format::spool::RankRows;
use headwater_format::spool::layout::{FileHeader, ModuleRow};
use headwater_model::run::EventKind;
use headwater_mpi_abi::{self as abi, Class, Mode};
use std::cell::RefCell;

/// Offsets are below this.
const END: u64 = 1 << 62;

/// What is known of all ranks alike.
pub struct About {
    /// Path or name of the program.
    pub program: String,
    /// Names of counters.
    pub counters: Vec<String>,
    /// Nanoseconds since 1970 at moment 0 of the trace; 0 where unknown.
    pub unix_ns: u64,
    /// How far clocks of ranks may be out, nanoseconds.
    pub clock_error_ns: u64,
    /// Whether regions of the trace begin and end MPI, so that a rank without the end was cut off.
    pub has_end: bool,
    /// Communicators.
    pub comms: Comms,
    /// Number of ranks.
    pub ranks: u32,
}

/// What became of a rank.
pub struct Ended {
    /// Its rows.
    pub rows: RankRows,
    /// Threads for which there was no room.
    pub left_out: usize,
    /// Whether it called MPI.
    pub called: bool,
    /// Whether it was in any region.
    pub worked: bool,
    /// Calls that send or receive, and ends of messages that are known.
    pub talks: u64,
    pub ends: u64,
    /// How often recording was off.
    pub times_off: u64,
    /// How long its tracer wrote buffers.
    pub flushed_ns: u64,
}

/// Calls of a thread that send or receive.
fn talks(rows: &Rows) -> u64 {
    let talks = |func: u16| {
        let function = abi::FUNCTIONS.get(usize::from(func));
        let of = |f: &abi::Function| {
            let class = matches!(f.class, Class::Send | Class::Recv | Class::SendRecv);
            class && f.mode != Mode::Persistent || f.class == Class::Start
        };
        function.is_some_and(of)
    };
    let calls = rows.calls.iter().filter(|c| talks(c.func));
    calls.fold(0, |sum, c| c.count.saturating_add(sum))
}

/// Ends of messages of a thread.
fn ends(rows: &Rows) -> u64 {
    let is_end = |kind: u32| {
        [EventKind::Send, EventKind::Recv]
            .iter()
            .any(|k| *k as u32 == kind)
    };
    rows.messages.iter().filter(|m| is_end(m.kind)).count() as u64
}

/// Copies text to where there is room for it.
fn put_text(room: &mut [u8], text: &str) {
    let most = room.len().saturating_sub(1);
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    for (to, from) in room.iter_mut().zip(text.as_bytes().iter().take(end)) {
        *to = *from;
    }
}

/// What threads of a rank share while they are read. The rank has room for so many rows of windows.
pub fn shared<'a>(
    regions: &'a RefCell<Regions>,
    sampling: &'a RefCell<Sampling>,
    threaded: bool,
    most: usize,
) -> Shared<'a> {
    Shared {
        regions,
        sampling,
        links: Links::default(),
        room: Room { most, held: 0 },
        threaded,
        init_ns: 0,
        finalize_ns: None,
        pauses: Pauses::default(),
        alone: false,
    }
}

/// The rows of a rank's threads, all links of which have numbers now.
pub fn rows(mut threads: Vec<Thread>, shared: &mut Shared<'_>) -> Vec<Rows> {
    if let Some(first) = threads.first_mut().filter(|_| shared.alone) {
        first.ends_alone(shared);
    }
    lock::waits(&mut threads);
    let ids = shared.links.settle();
    let end = |mut thread: Thread| {
        thread.settle(&ids, &mut shared.sampling.borrow_mut());
        thread.end(shared.init_ns)
    };
    let mut rows: Vec<Rows> = threads.into_iter().map(end).collect();
    team::waits(&mut rows);
    rows
}

/// Ends a rank: the rows of its threads, the first of which called `MPI_Init`, to those of its process.
pub fn end(about: &About, rank: u32, host: &str, threads: &[Rows], shared: &Shared<'_>) -> Ended {
    let init_ns = shared.init_ns;
    let mut out = RankRows::new(rank, about.ranks);
    let seen = threads.iter().filter(|t| t.seen);
    let first = seen.map(|t| t.first_ns).min().unwrap_or(0);
    let last = threads.iter().map(|t| t.totals.end_ns).max().unwrap_or(0);
    let began = if init_ns > 0 { init_ns } else { first };
    let h: &mut FileHeader = &mut out.header;
    h.finished = u32::from(!about.has_end || shared.finalize_ns.is_some());
    h.hz = 1_000_000;
    h.unix_ns = about.unix_ns;
    h.init_ns = began;
    h.end_ns = shared.finalize_ns.unwrap_or(last);
    let main = threads.first();
    if let Some(main) = main {
        (h.pauses, h.paused_ns) = (main.times_off, main.totals.paused_ns);
    }
    h.before_init_wall_ns = began - first.min(began);
    for alignment in &mut h.alignments {
        // The trace has one clock already.
        (alignment.at_ns, alignment.error_ns) = (1, about.clock_error_ns);
    }
    h.counters = about.counters.len() as u16;
    put_text(&mut h.counter_names, &about.counters.join(" "));
    put_text(&mut h.host, host);
    put_text(&mut h.program, &about.program);
    put_text(&mut h.command, &about.program);
    let mut module = ModuleRow {
        base: 0,
        start: 0,
        end: END,
        id_bytes: 0,
        id: [0; 32],
        path: [0; 448],
    };
    put_text(&mut module.path, file(&about.program));
    out.put(0, &[module]);
    out.put(0, &about.comms.rows());
    let mut left_out = 0;
    let called = !shared.alone && threads.iter().any(|t| !t.calls.is_empty());
    let seen = |(number, rows): &(u32, &Rows)| *number == 0 || rows.seen;
    for (number, rows) in (0..).zip(threads).filter(seen) {
        let fits = out.put(number, &[rows.totals])
            && out.put(number, &rows.contexts)
            && out.put(number, &rows.segments)
            && out.put(number, &rows.calls)
            && out.put(number, &rows.samples)
            && out.put(number, &rows.messages)
            && out.put(number, &rows.events)
            && out.put(number, &rows.teams)
            && out.put(number, &rows.waits);
        left_out += usize::from(!fits);
    }
    Ended {
        rows: out,
        left_out,
        called,
        talks: threads
            .iter()
            .fold(0, |sum, t| talks(t).saturating_add(sum)),
        ends: threads.iter().map(ends).sum(),
        worked: threads.iter().any(|t| !t.samples.is_empty()),
        times_off: main.map_or(0, |t| t.times_off),
        flushed_ns: (threads.iter()).fold(0, |sum, t| t.flushed_ns.saturating_add(sum)),
    }
}
