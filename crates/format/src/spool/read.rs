//! From the spool of all ranks to one run: modules and contexts united, rows renumbered.

use super::layout::{
    CallRow, CommRow, ContextRow, EventRow, FileHeader, Kind, MAGIC, MERGED_MAGIC, MERGED_NAME,
    MessageRow, ModuleRow, PROCESS_ENDING, SampleRow, SegmentRow, TeamRow, ThreadRow, UNKNOWN_NAME,
    VERSION, WaitRow, read_header, read_rows, text,
};
use super::{clock, join, layout};
use crate::FormatError;
use headwater_model::RankSet;
use headwater_model::run::*;
use headwater_mpi_abi as abi;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Ranks that are looked for at the most, whatever a damaged header says.
const MOST_RANKS: u32 = 1 << 24;

/// One process's data.
struct Part {
    header: FileHeader,
    bytes: Vec<u8>,
}

impl Part {
    fn threads(&self) -> Vec<ThreadRow> {
        layout::threads(&self.header, &self.bytes)
    }

    /// Nanoseconds from `MPI_Init` to the end, without pauses, and those of the pauses.
    fn wall_ns(&self) -> (u64, u64) {
        let h = &self.header;
        let end = layout::last_sign(h, &self.threads());
        let last = match h.paused_since_ns {
            0 => 0,
            since => end.saturating_sub(since),
        };
        let wall = end.saturating_sub(h.init_ns);
        let paused = h.paused_ns.saturating_add(last).min(wall);
        (wall - paused, paused)
    }
}

/// What rows of one rank and thread are renumbered by.
pub(super) struct Renumber {
    pub rank: u32,
    pub thread: u16,
    contexts: Vec<CtxId>,
    comms: Vec<u16>,
}

impl Renumber {
    pub(super) fn ctx(&self, row: u32) -> CtxId {
        self.contexts
            .get(row as usize)
            .copied()
            .unwrap_or(CtxId::NONE)
    }

    pub(super) fn comm(&self, row: u16) -> u16 {
        self.comms.get(row as usize).copied().unwrap_or(u16::MAX)
    }
}

/// Reads the spool in `dir`.
///
/// # Errors
/// A directory without spool files, or files of another version or kind. A process file that is cut
/// short gives the rows that are there, a merged file the ranks that are whole; the header says which
/// ranks are missing.
pub fn read_spool(dir: &Path) -> Result<Run, FormatError> {
    let (mut parts, cut) = parts(dir)?;
    parts.sort_by_key(|p| {
        (
            p.header.rank,
            std::cmp::Reverse(p.header.finished),
            p.header.pid,
        )
    });
    parts.dedup_by_key(|p| p.header.rank);
    if parts.is_empty() {
        if let Ok(name) = std::fs::read(dir.join(UNKNOWN_NAME)) {
            return Err(FormatError::UnknownLibrary(
                String::from_utf8_lossy(&name).into_owned(),
            ));
        }
        return Err(FormatError::NothingRecorded(dir.to_path_buf()));
    }
    let mut run = unite(&parts);
    if cut {
        let gone = gone(&parts, run.header.ranks);
        run.header.missing.push(format!(
            "{MERGED_NAME} was cut short: nothing is left of rank{} {gone}.",
            if gone.len() == 1 { "" } else { "s" }
        ));
    }
    Ok(run)
}

/// Ranks of which there are no data.
fn gone(parts: &[Part], ranks: u32) -> RankSet {
    let there: RankSet = parts.iter().map(|p| p.header.rank).collect();
    (0..ranks.min(MOST_RANKS))
        .filter(|r| !there.contains(*r))
        .collect()
}

/// The spool files in `dir`, by name; none where it cannot be read.
pub fn spool_files(dir: &Path) -> Vec<PathBuf> {
    let listing = std::fs::read_dir(dir).into_iter().flatten();
    let mut files: Vec<PathBuf> = listing.filter_map(|e| Some(e.ok()?.path())).collect();
    files.retain(|f| f.to_string_lossy().ends_with(PROCESS_ENDING));
    files.sort();
    files
}

/// All parts in `dir`, and whether a merged file was cut short.
fn parts(dir: &Path) -> Result<(Vec<Part>, bool), FormatError> {
    std::fs::read_dir(dir).map_err(FormatError::io("read", dir))?;
    let (mut out, mut cut) = (Vec::new(), false);
    for file in spool_files(dir) {
        let bytes = std::fs::read(&file).map_err(FormatError::io("read", &file))?;
        if file.file_name().is_some_and(|n| n == MERGED_NAME) {
            cut |= merged(&file, &bytes, &mut out)?;
        } else if let Some(part) = part(&file, bytes)? {
            out.push(part);
        }
    }
    Ok((out, cut))
}

/// A process file that was made but never written to is a process that died at once: no part.
fn part(file: &Path, bytes: Vec<u8>) -> Result<Option<Part>, FormatError> {
    let Some(header) = read_header(&bytes) else {
        return Ok(None);
    };
    match header.magic {
        0 => Ok(None),
        MAGIC if header.version > VERSION => Err(FormatError::Newer {
            path: file.to_path_buf(),
            found: header.version,
            known: VERSION,
        }),
        MAGIC if header.version < VERSION => Err(FormatError::Older(file.to_path_buf())),
        MAGIC => Ok(Some(Part { header, bytes })),
        _ => Err(FormatError::damaged(
            file,
            "it does not begin as a spool file does",
        )),
    }
}

/// Takes the ranks of a merged file that are whole; gives whether it was cut short behind them.
fn merged(file: &Path, bytes: &[u8], out: &mut Vec<Part>) -> Result<bool, FormatError> {
    let word = |at: usize| {
        bytes
            .get(at..at + 8)
            .and_then(|b| b.try_into().ok())
            .map(u64::from_le_bytes)
    };
    if word(0) != Some(MERGED_MAGIC) {
        return Err(FormatError::damaged(
            file,
            "it does not begin as a merged spool does",
        ));
    }
    let mut at = 8usize;
    while at < bytes.len() {
        let blob = word(at).and_then(|len| {
            let start = at + 8;
            bytes.get(start..start.checked_add(usize::try_from(len).ok()?)?)
        });
        let Some(blob) = blob else {
            if out.is_empty() {
                return Err(FormatError::damaged(
                    file,
                    "it ends in the middle of its first rank's data",
                ));
            }
            return Ok(true);
        };
        at += 8 + blob.len();
        out.extend(part(file, blob.to_vec())?);
    }
    Ok(false)
}

fn unite(parts: &[Part]) -> Run {
    let mut run = Run {
        header: header(parts),
        ..Default::default()
    };
    let mut modules: FxHashMap<Module, u32> = FxHashMap::default();
    let mut contexts: FxHashMap<Context, CtxId> = FxHashMap::default();
    let mut functions: FxHashMap<u16, u16> = FxHashMap::default();
    let mut messages = Vec::new();
    let mut events = Vec::new();
    for part in parts {
        let ranges = part_modules(part, &mut run, &mut modules);
        let comms = part_comms(part, &mut run);
        run.ranks.push(rank_info(part, &run.header));
        for thread in threads(part) {
            let of = |kind: Kind| {
                part.header
                    .in_use()
                    .filter(move |d| d.thread == thread && d.kind == kind as u32)
                    .copied()
                    .collect::<Vec<_>>()
            };
            let mut number = Renumber {
                rank: part.header.rank,
                thread: thread as u16,
                contexts: Vec::new(),
                comms: comms.clone(),
            };
            for desc in of(Kind::Contexts) {
                for row in read_rows::<ContextRow>(&part.bytes, &desc) {
                    let context = context(&row, &number, &ranges);
                    let next = CtxId(run.contexts.len() as u32);
                    let id = *contexts.entry(context).or_insert(next);
                    if id == next {
                        run.contexts.push(context);
                    }
                    number.contexts.push(id);
                }
            }
            let mut func = |id: u16| {
                *functions.entry(id).or_insert_with(|| {
                    let name = abi::FUNCTIONS
                        .get(id as usize)
                        .map_or("MPI_unknown", |f| f.name);
                    run.functions.push(name.to_string());
                    (run.functions.len() - 1) as u16
                })
            };
            for desc in of(Kind::Segments) {
                run.segments.extend(
                    read_rows::<SegmentRow>(&part.bytes, &desc)
                        .into_iter()
                        .map(|r| segment(&r, &number)),
                );
            }
            for desc in of(Kind::Calls) {
                run.calls.extend(
                    read_rows::<CallRow>(&part.bytes, &desc)
                        .into_iter()
                        .map(|r| call(&r, &number, func(r.func))),
                );
            }
            for desc in of(Kind::Samples) {
                let counters = run.header.counters.len();
                run.samples.extend(
                    read_rows::<SampleRow>(&part.bytes, &desc)
                        .into_iter()
                        .map(|r| sample(&r, &number, counters)),
                );
            }
            for desc in of(Kind::Threads) {
                run.threads.extend(
                    read_rows::<ThreadRow>(&part.bytes, &desc)
                        .into_iter()
                        .map(|r| thread_info(&r, &number, part.header.init_ns)),
                );
            }
            for desc in of(Kind::Teams) {
                run.teams.extend(
                    read_rows::<TeamRow>(&part.bytes, &desc)
                        .into_iter()
                        .map(|r| team_work(&r, &number)),
                );
            }
            for desc in of(Kind::Waits) {
                run.waits.extend(
                    read_rows::<WaitRow>(&part.bytes, &desc)
                        .into_iter()
                        .filter_map(|r| thread_wait(&r, &number)),
                );
            }
            for desc in of(Kind::Messages) {
                messages.extend(
                    read_rows::<MessageRow>(&part.bytes, &desc)
                        .into_iter()
                        .map(|r| join::End::new(&r, &number, func(r.func))),
                );
            }
            for desc in of(Kind::Events) {
                events.extend(
                    read_rows::<EventRow>(&part.bytes, &desc)
                        .into_iter()
                        .map(|r| join::Seen::new(&r, &number, func(r.func))),
                );
            }
        }
    }
    run.segments
        .sort_by_key(|s| (s.rank, s.thread, s.from, s.to));
    run.samples
        .sort_by_key(|s| (s.rank, s.thread, s.after, s.ctx));
    run.threads.sort_by_key(|t| (t.rank, t.thread));
    run.teams
        .sort_by_key(|t| (t.rank, t.thread, t.team, t.from, t.to));
    run.waits
        .sort_by_key(|w| (w.rank, w.thread, w.ctx, w.kind, w.holder, w.holder_ctx));
    run.calls.sort_by_key(|c| {
        (
            c.rank,
            c.thread,
            c.ctx,
            c.func,
            c.comm,
            c.peer,
            c.tag,
            c.size_class,
        )
    });
    let own = run.modules.iter().find(|m| m.path == run.header.program);
    run.header.build_id = own.map_or_else(String::new, |m| m.build_id.clone());
    let clocks = clock::common(&mut run.header, parts.iter().map(|p| &p.header));
    join::messages(&mut run, messages, &clocks);
    join::windows(&mut run, events, &clocks);
    run
}

fn threads(part: &Part) -> Vec<u32> {
    let mut all: Vec<u32> = (part.header.in_use())
        .filter(|d| d.kind > Kind::Comms as u32)
        .map(|d| d.thread)
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Modules of one process: (start, end, base, index in the run), sorted.
fn part_modules(
    part: &Part,
    run: &mut Run,
    known: &mut FxHashMap<Module, u32>,
) -> Vec<(u64, u64, u64, u32)> {
    let mut out = Vec::new();
    for desc in part.header.in_use() {
        for row in read_rows::<ModuleRow>(&part.bytes, desc) {
            let id = row.id.get(..row.id_bytes.min(32) as usize).unwrap_or(&[]);
            let module = Module {
                path: text(&row.path),
                build_id: id.iter().map(|b| format!("{b:02x}")).collect(),
            };
            let next = run.modules.len() as u32;
            let index = *known.entry(module.clone()).or_insert(next);
            if index == next {
                run.modules.push(module);
            }
            out.push((row.start, row.end, row.base, index));
        }
    }
    out.sort_unstable();
    out
}

fn part_comms(part: &Part, run: &mut Run) -> Vec<u16> {
    let mut out = Vec::new();
    for desc in part.header.in_use() {
        for row in read_rows::<CommRow>(&part.bytes, desc) {
            let at = run
                .comms
                .iter()
                .position(|c| c.hash == row.hash)
                .unwrap_or_else(|| {
                    run.comms.push(Comm {
                        hash: row.hash,
                        size: row.size as u32,
                    });
                    run.comms.len() - 1
                });
            out.push(u16::try_from(at).unwrap_or(u16::MAX));
        }
    }
    out
}

fn context(row: &ContextRow, number: &Renumber, modules: &[(u64, u64, u64, u32)]) -> Context {
    let after = modules.partition_point(|m| m.0 <= row.address);
    let module = after
        .checked_sub(1)
        .and_then(|i| modules.get(i))
        .filter(|m| row.address <= m.1);
    let (module, offset) = module.map_or((u32::MAX, row.address), |m| {
        (m.3, row.address.wrapping_sub(m.2))
    });
    Context {
        parent: number.ctx(row.parent),
        module,
        offset,
        exact: row.exact != 0,
    }
}

fn segment(r: &SegmentRow, n: &Renumber) -> Segment {
    Segment {
        rank: n.rank,
        thread: n.thread,
        from: n.ctx(r.from),
        to: n.ctx(r.to),
        count: r.count,
        wall_ns: r.wall_ns,
        cpu_ns: r.cpu_ns,
        runq_ns: r.runq_ns,
        blocked_ns: r.blocked_ns,
        max_busy_ns: r.max_busy_ns,
        max_at: r.max_at,
    }
}

fn call(r: &CallRow, n: &Renumber, func: u16) -> MpiCalls {
    MpiCalls {
        rank: n.rank,
        thread: n.thread,
        ctx: n.ctx(r.ctx),
        func,
        comm: n.comm(r.comm),
        peer: r.peer,
        tag: r.tag,
        size_class: r.size_class as u8,
        count: r.count,
        bytes: r.bytes,
        wall_ns: r.wall_ns,
        cpu_ns: r.cpu_ns,
        runq_ns: r.runq_ns,
        max_wall_ns: r.max_wall_ns,
    }
}

fn sample(r: &SampleRow, n: &Renumber, counters: usize) -> Sample {
    Sample {
        rank: n.rank,
        thread: n.thread,
        after: n.ctx(r.after),
        ctx: n.ctx(r.ctx),
        count: u32::try_from(r.count).unwrap_or(u32::MAX),
        cpu_ns: r.cpu_ns,
        blocked_ns: r.blocked_ns,
        counters: r.counters.iter().take(counters).copied().collect(),
    }
}

fn thread_info(r: &ThreadRow, n: &Renumber, init_ns: u64) -> ThreadInfo {
    let made_by = u32::try_from(r.made_by).ok().and_then(|c| c.checked_sub(1));
    ThreadInfo {
        rank: n.rank,
        thread: n.thread,
        made_by: made_by.map_or(CtxId::NONE, |c| n.ctx(c)),
        begin_ns: r.begin_ns.saturating_sub(init_ns),
        wall_ns: r.end_ns.saturating_sub(r.begin_ns),
        cpu_ns: r.cpu_ns,
        runq_ns: r.runq_ns,
        mpi_wall_ns: r.mpi_ns,
    }
}

fn team_work(r: &TeamRow, n: &Renumber) -> TeamWork {
    TeamWork {
        rank: n.rank,
        thread: n.thread,
        team: n.ctx(r.team),
        from: n.ctx(r.from),
        to: n.ctx(r.to),
        count: r.count,
        wall_ns: r.wall_ns,
        cpu_ns: r.cpu_ns,
        runq_ns: r.runq_ns,
        blocked_ns: r.blocked_ns,
        locked_ns: r.locked_ns,
        wait_ns: r.wait_ns,
    }
}

/// `None` where nobody knows what was waited for.
fn thread_wait(r: &WaitRow, n: &Renumber) -> Option<ThreadWait> {
    let kind = u8::try_from(r.kind).ok().and_then(WaitKind::from_code)?;
    Some(ThreadWait {
        rank: n.rank,
        thread: n.thread,
        ctx: n.ctx(r.ctx),
        kind,
        holder: u16::try_from(r.holder).unwrap_or(u16::MAX),
        holder_ctx: n.ctx(r.holder_ctx),
        count: r.count,
        wait_ns: r.wait_ns,
        brief_ns: r.brief_ns,
        max_ns: r.max_ns,
    })
}

fn rank_info(part: &Part, header: &Header) -> RankInfo {
    let h = &part.header;
    let (host, threads) = (text(&h.host), part.threads());
    let sum = |of: fn(&ThreadRow) -> u64| threads.iter().map(of).sum::<u64>();
    let at_end = |value: u64| (h.finished == 1).then_some(value);
    RankInfo {
        rank: h.rank,
        node: header.nodes.iter().position(|n| *n == host).unwrap_or(0) as u32,
        cpus_allowed: h.cpus_allowed,
        cpus: text(&h.cpus),
        complete: h.finished == 1,
        before_init_wall_ns: h.before_init_wall_ns,
        before_init_cpu_ns: h.before_init_cpu_ns,
        wall_ns: part.wall_ns().0,
        cpu_ns: at_end(h.cpu_ns),
        mpi_wall_ns: sum(|t| t.mpi_ns),
        runq_ns: sum(|t| t.runq_ns),
        minor_faults: at_end(h.usage[0]),
        major_faults: at_end(h.usage[1]),
        voluntary_switches: at_end(h.usage[2]),
        involuntary_switches: at_end(h.usage[3]),
        migrations: sum(|t| t.migrations),
        core: main_core(&threads),
    }
}

/// Tells of pauses.
fn pauses(parts: &[Part], out: &mut Header) {
    let mut by_times: BTreeMap<u64, Vec<(u32, f64)>> = BTreeMap::new();
    for part in parts.iter().filter(|p| p.header.pauses > 0) {
        let seconds = part.wall_ns().1 as f64 * 1e-9;
        let ranks = by_times.entry(part.header.pauses).or_default();
        ranks.push((part.header.rank, seconds));
    }
    for (times, ranks) in by_times {
        let each = || ranks.iter().map(|r| r.1);
        let paused = Paused {
            ranks: ranks.iter().map(|r| r.0).collect(),
            times,
            shortest_seconds: each().fold(f64::INFINITY, f64::min),
            longest_seconds: each().fold(0.0, f64::max),
        };
        let (least, most) = (
            format!("{:.2}", paused.shortest_seconds),
            format!("{:.2}", paused.longest_seconds),
        );
        let range = if least == most {
            most
        } else {
            format!("{least} to {most}")
        };
        out.missing.push(format!(
            "The program paused recording (MPI_Pcontrol) on rank{} {} for {range} s: what happened meanwhile is in no figure, nor in the run time.",
            if paused.ranks.len() == 1 { "" } else { "s" },
            paused.ranks,
        ));
        out.paused.push(paused);
    }
}

/// The core of two thirds of the time of all threads or more.
fn main_core(threads: &[ThreadRow]) -> Option<u64> {
    let mut all = 0;
    let mut by_core: FxHashMap<u64, u64> = FxHashMap::default();
    for thread in threads {
        all += thread.on_cores.iter().map(|c| c.cpu_ns).sum::<u64>();
        let (_, told_apart) = thread.on_cores.split_last()?;
        for on in told_apart {
            *by_core.entry(on.core).or_default() += on.cpu_ns;
        }
    }
    let main = by_core.into_iter().find(|(_, ns)| 3 * ns >= 2 * all);
    main.filter(|_| all > 0).map(|(core, _)| core)
}

fn header(parts: &[Part]) -> Header {
    let mut out = Header::default();
    let Some(first) = parts.first().map(|p| &p.header) else {
        return out;
    };
    out.ranks = parts.iter().map(|p| p.header.size).max().unwrap_or(0);
    out.program = text(&first.program);
    let command = first
        .command
        .split(|b| *b == 0)
        .take_while(|a| !a.is_empty());
    out.command = command
        .map(|a| String::from_utf8_lossy(a).into_owned())
        .collect();
    out.mpi_library = text(&first.library);
    out.sampling_hz = f64::from(first.hz);
    out.counters = text(&first.counter_names)
        .split_whitespace()
        .map(str::to_string)
        .collect();
    out.started_unix = (first.unix_ns as f64 + first.init_ns as f64) * 1e-9;
    for part in parts {
        let h = &part.header;
        let host = text(&h.host);
        if !out.nodes.contains(&host) {
            out.nodes.push(host);
            out.cores.push(h.cores);
        }
        out.wall_seconds = out.wall_seconds.max(part.wall_ns().0 as f64 * 1e-9);
        for note in text(&h.notes).lines() {
            if !out.missing.iter().any(|m| m == note) {
                out.missing.push(note.to_string());
            }
        }
    }
    pauses(parts, &mut out);
    let finished: RankSet = parts
        .iter()
        .filter(|p| p.header.finished == 1)
        .map(|p| p.header.rank)
        .collect();
    out.incomplete = (0..out.ranks.min(MOST_RANKS))
        .filter(|r| !finished.contains(*r))
        .collect();
    let cut_off: RankSet = parts
        .iter()
        .filter(|p| p.header.finished != 1)
        .map(|p| p.header.rank)
        .collect();
    if !cut_off.is_empty() {
        out.missing.push(format!(
            "CPU time, page faults and context switches of rank{} {cut_off} as a whole: known only where MPI_Finalize is reached.",
            if cut_off.len() == 1 { "" } else { "s" }
        ));
    }
    let lost: u64 = parts
        .iter()
        .flat_map(|p| p.header.in_use())
        .filter(|d| d.kind != Kind::Messages as u32)
        .map(|d| u64::from(d.dropped))
        .sum();
    if lost > 0 {
        out.missing.push(format!(
            "{lost} records found their table full and were lost."
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::layout::{CoreTime, MOST_CORES};
    use super::*;

    #[test]
    fn a_main_core_is_one_of_two_thirds_of_the_time() {
        let thread = |times: [u64; 3], others| {
            let mut row = ThreadRow::default();
            for (place, (cpu_ns, core)) in row
                .on_cores
                .iter_mut()
                .zip(times.into_iter().zip([5, 0, 9]))
            {
                *place = CoreTime { core, cpu_ns };
            }
            row.on_cores[MOST_CORES - 1] = CoreTime {
                core: 7,
                cpu_ns: others,
            };
            row
        };
        let on = |times, others| main_core(&[thread(times, others)]);
        assert_eq!(on([1, 8, 1], 2), Some(0));
        assert_eq!(on([5, 7, 0], 0), None);
        assert_eq!(on([3, 0, 0], 9), None, "the last place is that of several");
        assert_eq!(on([0, 0, 0], 0), None);
        let two = [thread([1, 8, 0], 0), thread([9, 0, 0], 0)];
        assert_eq!(main_core(&two), None, "each thread has one of its own");
    }
}
