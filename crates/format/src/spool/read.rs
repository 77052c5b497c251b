//! From the spool of all ranks to one run: modules and contexts united, rows renumbered. One rank after
//! another is read and freed again: besides the run, only messages and events are in memory, as many
//! as a run needs.

use super::heading::{Heading, MOST_RANKS};
use super::join::{self, Messages};
use super::layout::{
    CallRow, CommRow, ContextRow, EventRow, Kind, MERGED_NAME, MessageRow, ModuleRow, PythonRow,
    REGION_BIT, RegionRow, SampleRow, SegmentRow, TeamRow, ThreadRow, UNKNOWN_NAME, WaitRow, text,
};
use super::parts::{Part, Parts};
use super::python;
use super::regions;
use super::renumber::Renumber;
use super::resources;
use super::windows::Windows;
use crate::FormatError;
use headwater_model::RankSet;
use headwater_model::run::*;
use headwater_mpi_abi as abi;
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::Path;

/// Bytes of the name of an MPI library at the most.
const LONGEST_NAME: u64 = 1 << 16;

/// Reads the spool in `dir`.
///
/// # Errors
/// A directory without spool files, or files of another version or kind. A process file that is cut
/// short results in the rows that are there, a merged file in the ranks that are whole; the header says which
/// ranks are missing.
pub fn read_spool(dir: &Path) -> Result<Run, FormatError> {
    let parts = Parts::find(dir)?;
    if parts.len() == 0 {
        if let Ok(name) = headwater_files::read(&dir.join(UNKNOWN_NAME), LONGEST_NAME) {
            return Err(FormatError::UnknownLibrary(
                String::from_utf8_lossy(&name).into_owned(),
            ));
        }
        if let Some(wrapper) = parts.wrapper {
            return Err(FormatError::OnlyWrapper(wrapper));
        }
        return Err(FormatError::NothingRecorded(dir.to_path_buf()));
    }
    let mut run = unite(&parts)?;
    if parts.cut {
        let there: RankSet = parts.ranks().collect();
        let gone: RankSet = (0..run.header.ranks.min(MOST_RANKS))
            .filter(|r| !there.contains(*r))
            .collect();
        run.header.missing.push(format!(
            "{MERGED_NAME} was cut short: nothing is left of rank{} {gone}.",
            if gone.len() == 1 { "" } else { "s" }
        ));
    }
    if parts.alone > 1 {
        run.header.missing.push(format!(
            "{} processes each ran as rank 0 of 1, and this run has the data of one of them: start the program with the launcher of its own MPI library, and give each launch a directory of its own.",
            parts.alone
        ));
    }
    Ok(run)
}

fn unite(parts: &Parts) -> Result<Run, FormatError> {
    let windows = Windows::choose(parts)?;
    let mut united = United::default();
    let mut heading = Heading::default();
    let mut messages = Messages::new(windows.exact);
    let mut events = Vec::new();
    parts.each(|part| {
        let rank = heading.take(part)?;
        resources::take(part, &rank, &mut united.nodes, &mut united.run)?;
        united.run.ranks.push(rank);
        united.take(
            part,
            heading.counters(),
            &windows,
            &mut messages,
            &mut events,
        )
    })?;
    let mut run = std::mem::take(&mut united.run);
    let (header, clocks) = heading.end();
    run.header = header;
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
    united
        .regions
        .sort_by_key(|(r, _)| (r.rank, r.thread, r.ctx));
    regions::put(united.regions, &mut run);
    run.energy
        .sort_by(|a, b| (a.node, &a.zone).cmp(&(b.node, &b.zone)));
    united.python.put(&mut run);
    let sentences = regions::sentences(&run, united.dropped_regions);
    run.header.missing.extend(sentences);
    let own = run.modules.iter().find(|m| m.path == run.header.program);
    run.header.build_id = own.map_or_else(String::new, |m| m.build_id.clone());
    join::messages(&mut run, messages, &clocks);
    run.header.windows = windows.spans();
    join::events(&mut run, events, &clocks, &windows);
    Ok(run)
}

/// The state after the ranks read so far.
#[derive(Default)]
struct United {
    run: Run,
    modules: FxHashMap<Module, u32>,
    contexts: FxHashMap<Context, CtxId>,
    functions: FxHashMap<u16, u16>,
    comms: FxHashMap<u64, u16>,
    regions: Vec<regions::Named>,
    /// Nodes whose energy is known.
    nodes: FxHashSet<u32>,
    /// Begins and ends of regions that had no room.
    dropped_regions: u64,
    python: python::Names,
}

impl United {
    fn take(
        &mut self,
        part: &Part,
        counters: usize,
        windows: &Windows,
        messages: &mut Messages,
        events: &mut Vec<join::Seen>,
    ) -> Result<(), FormatError> {
        let ranges = self.modules(part)?;
        let comms = self.comms(part)?;
        let names = self.regions(part)?;
        let functions = self.python(part)?;
        let uses_mpi = part.uses_mpi();
        for thread in part.threads() {
            let of = Some(thread);
            let mut number = Renumber {
                rank: part.header.rank,
                thread: thread as u16,
                contexts: Vec::new(),
                comms: comms.clone(),
            };
            for row in part.rows::<ContextRow>(of)? {
                let context = python::context(&row, &number, &functions)
                    .unwrap_or_else(|| context(&row, &number, &ranges, &names));
                let next = CtxId(self.run.contexts.len() as u32);
                let id = *self.contexts.entry(context).or_insert(next);
                if id == next {
                    self.run.contexts.push(context);
                }
                number.contexts.push(id);
            }
            let run = &mut self.run;
            let mut func = |id: u16| {
                *self.functions.entry(id).or_insert_with(|| {
                    let name = abi::FUNCTIONS
                        .get(id as usize)
                        .map_or("MPI_unknown", |f| f.name);
                    run.functions.push(name.to_string());
                    (run.functions.len() - 1) as u16
                })
            };
            let rows = part.rows::<SegmentRow>(of)?;
            // A trace of another tool may have them without MPI.
            let has_segments = !rows.is_empty();
            run.segments
                .extend(rows.iter().map(|r| segment(r, &number)));
            for r in part.rows::<CallRow>(of)? {
                run.calls.push(call(&r, &number, func(r.func)));
            }
            for r in part.rows::<MessageRow>(of)? {
                messages.take(join::End::new(&r, &number, func(r.func)));
            }
            for r in part.rows::<EventRow>(of)? {
                if let Some(window) = windows.of(part, &r) {
                    events.push(join::Seen::new(window, &r, &number, func(r.func)));
                }
            }
            let rows = part.rows::<SampleRow>(of)?;
            run.samples
                .extend(rows.iter().map(|r| sample(r, &number, counters)));
            let rows = part.rows::<ThreadRow>(of)?;
            if thread == 0 && !uses_mpi && !has_segments {
                run.segments.extend(rows.iter().map(|r| whole(r, &number)));
            }
            let init_ns = part.header.init_ns;
            run.threads
                .extend(rows.iter().map(|r| thread_info(r, &number, init_ns)));
            let rows = part.rows::<TeamRow>(of)?;
            run.teams.extend(rows.iter().map(|r| team_work(r, &number)));
            let rows = part.rows::<RegionRow>(of)?;
            self.regions
                .extend(rows.iter().map(|r| regions::named(r, &number)));
            let rows = part.rows::<WaitRow>(of)?;
            run.waits
                .extend(rows.iter().filter_map(|r| thread_wait(r, &number)));
        }
        Ok(())
    }

    /// Modules of one process: (start, end, base, index in the run), sorted.
    fn modules(&mut self, part: &Part) -> Result<Vec<(u64, u64, u64, u32)>, FormatError> {
        let mut out = Vec::new();
        for row in part.rows::<ModuleRow>(None)? {
            let id = row.id.get(..row.id_bytes.min(32) as usize).unwrap_or(&[]);
            let module = Module {
                path: text(&row.path),
                build_id: id.iter().map(|b| format!("{b:02x}")).collect(),
            };
            out.push((row.start, row.end, row.base, self.module(module)));
        }
        out.sort_unstable();
        Ok(out)
    }

    /// The modules of a process's regions, by the addresses of their contexts.
    fn regions(&mut self, part: &Part) -> Result<FxHashMap<u64, u32>, FormatError> {
        let mut out = FxHashMap::default();
        let of_regions = (part.header.in_use()).filter(|d| d.kind == Kind::Regions as u32);
        let dropped = of_regions.map(|d| u64::from(d.dropped)).sum();
        self.dropped_regions = self.dropped_regions.saturating_add(dropped);
        let rows = part.rows::<RegionRow>(None)?;
        // A damaged row must not make a region of code.
        for row in rows.iter().filter(|row| row.address & REGION_BIT != 0) {
            let index = self.module(Module::of_region(&text(&row.name)));
            out.insert(row.address, index);
        }
        Ok(out)
    }

    /// The functions of Python of a process, by the addresses of their contexts.
    fn python(&mut self, part: &Part) -> Result<python::Functions, FormatError> {
        let rows = part.rows::<PythonRow>(None)?;
        let mut names = std::mem::take(&mut self.python);
        let functions = names.take(&rows, |module| self.module(module));
        self.python = names;
        Ok(functions)
    }

    /// The number of a module in the run.
    fn module(&mut self, module: Module) -> u32 {
        let next = self.run.modules.len() as u32;
        let index = *self.modules.entry(module.clone()).or_insert(next);
        if index == next {
            self.run.modules.push(module);
        }
        index
    }

    fn comms(&mut self, part: &Part) -> Result<Vec<u16>, FormatError> {
        let rows = part.rows::<CommRow>(None)?;
        let number = |row: CommRow| {
            let next = u16::try_from(self.run.comms.len()).unwrap_or(u16::MAX);
            *self.comms.entry(row.hash).or_insert_with(|| {
                self.run.comms.push(Comm {
                    hash: row.hash,
                    size: row.size as u32,
                });
                next
            })
        };
        Ok(rows.into_iter().map(number).collect())
    }
}

fn context(
    row: &ContextRow,
    number: &Renumber,
    modules: &[(u64, u64, u64, u32)],
    regions: &FxHashMap<u64, u32>,
) -> Context {
    if let Some(module) = regions.get(&row.address) {
        return Context {
            parent: number.ctx(row.parent),
            module: *module,
            offset: regions::OFFSET,
            exact: false,
        };
    }
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

/// All that the first thread of a program without MPI did, as one stretch of computation. The time off the core that it
/// did not wait for a core was sleep.
fn whole(r: &ThreadRow, n: &Renumber) -> Segment {
    let paused = r.paused_ns.saturating_sub(r.paused_before_ns);
    let wall_ns = unpaused(r.begin_ns, r.end_ns, paused);
    let cpu_ns = r.cpu_ns.min(wall_ns);
    let runq_ns = r.runq_ns.min(wall_ns - cpu_ns);
    let blocked_ns = wall_ns - cpu_ns - runq_ns;
    Segment {
        rank: n.rank,
        thread: n.thread,
        from: CtxId::NONE,
        to: CtxId::NONE,
        count: 1,
        wall_ns,
        cpu_ns,
        runq_ns,
        blocked_ns,
        max_busy_ns: cpu_ns + blocked_ns,
        max_at: 0,
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

/// From one clock to another, without so long a pause.
fn unpaused(from: u64, to: u64, paused: u64) -> u64 {
    to.saturating_sub(from).saturating_sub(paused)
}

fn thread_info(r: &ThreadRow, n: &Renumber, init_ns: u64) -> ThreadInfo {
    let made_by = u32::try_from(r.made_by).ok().and_then(|c| c.checked_sub(1));
    ThreadInfo {
        rank: n.rank,
        thread: n.thread,
        made_by: made_by.map_or(CtxId::NONE, |c| n.ctx(c)),
        begin_ns: unpaused(init_ns, r.begin_ns, r.paused_before_ns),
        wall_ns: unpaused(
            r.begin_ns,
            r.end_ns,
            r.paused_ns.saturating_sub(r.paused_before_ns),
        ),
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
        locks: r.locks,
    })
}
