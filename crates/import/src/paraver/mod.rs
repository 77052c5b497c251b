//! Paraver traces, as Extrae and others write them: text that mixes all tasks (`.prv`), with the names of its numbers
//! (`.pcf`) and of the nodes (`.row`) in files beside it. Each file may be compressed by gzip.
//!
//! The file is read twice, and unpacked twice if it is compressed: messages first, because a trace tells each where it is
//! sent, which may be long after its receive was posted; then the events. All ranks are held at once; what is held of each
//! are its messages, sums, and event windows.

pub mod file;
mod header;
mod labels;
mod mail;
mod openmp;
mod places;
mod records;
mod task;
mod thread;

use crate::comms::{Comms, Members};
use crate::counters;
use crate::notes::Notes;
use crate::rank::{self, About};
use crate::regions::Regions;
use crate::thread::Rows;
use crate::windows;
use crate::{ImportError, Program, TraceMetadata};
use headwater_format::spool::SpoolWriter;
use headwater_model::run::EventKind;
use labels::{Labels, counter_of};
use mail::Mail;
use places::{Places, kind};
use records::{Message, Record, Records};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use task::Task;
use thread::Known;

/// Threads that a trace may have, those of all tasks together.
const MOST_THREADS: usize = 1 << 18;
/// What the first reading of a trace sees of a task.
#[derive(Default)]
struct TaskSurvey {
    /// Its messages, by the threads that send and receive them.
    mail: FxHashMap<u32, Mail>,
    /// Lines of events.
    lines: u64,
}

/// Messages that a trace may have; each takes about 70 bytes of memory.
const MOST_MESSAGES: usize = 1 << 26;

/// A trace whose header and labels are read.
pub struct Trace {
    path: PathBuf,
    header: header::Header,
    communicators: Vec<(u64, Vec<u32>)>,
    labels: Labels,
    nodes: Vec<String>,
}

impl Trace {
    /// Opens the trace at `path`.
    ///
    /// # Errors
    /// Files that are missing, damaged, or of a kind that is not read.
    pub fn open(path: &Path) -> Result<Self, ImportError> {
        let stem = file::stem(path).unwrap_or_else(|| path.to_path_buf());
        let (mut records, header) = Records::open(path)?;
        if header.applications != 1 {
            let what = format!(
                "it holds {} applications; cut the one that is meant out of it",
                header.applications
            );
            return Err(ImportError::unsupported(path, what));
        }
        let communicators = records.communicators()?;
        let labels = file::beside(&stem, "pcf").map_err(|(path, e)| match e.kind() {
            ErrorKind::NotFound => ImportError::Missing {
                what: "what the trace's numbers are called".to_string(),
                path,
            },
            _ if file::is_damage(&e) => {
                ImportError::damaged(&path, "its compressed data are damaged or end too early")
            }
            _ => ImportError::io(&path)(e),
        })?;
        let labels = Labels::parse(&labels);
        // Nodes may go without names.
        let nodes = labels::nodes(&file::beside(&stem, "row").unwrap_or_default());
        Ok(Self {
            path: path.to_path_buf(),
            header,
            communicators,
            labels,
            nodes,
        })
    }

    fn ranks(&self) -> u32 {
        self.header.tasks.len() as u32
    }

    /// Reads the trace for the first time: all messages, and what there is of each task.
    fn messages(&self) -> Result<(Vec<Message>, Vec<TaskSurvey>), ImportError> {
        let ranks = self.ranks();
        let (mut messages, mut too_many) = (Vec::<Message>::new(), false);
        let (mut records, _) = Records::open(&self.path)?;
        let mut tasks: Vec<TaskSurvey> = (0..ranks).map(|_| TaskSurvey::default()).collect();
        records.each(|record| {
            match record {
                Record::Message(m) => {
                    (m.source < ranks && m.dest < ranks).then_some(())?;
                    if messages.len() < MOST_MESSAGES {
                        messages.push(m);
                    } else {
                        too_many = true;
                    }
                }
                Record::Events { task, .. } => tasks.get_mut(task as usize)?.lines += 1,
                Record::Other => {}
            }
            Some(())
        })?;
        if too_many {
            let what = format!(
                "it has more than {MOST_MESSAGES} messages; cut a part of the run out of it"
            );
            return Err(ImportError::unsupported(&self.path, what));
        }
        for (n, m) in (0_u32..).zip(&messages) {
            let (sender, receiver) = m.threads;
            if let Some(of) = tasks.get_mut(m.source as usize) {
                of.mail.entry(sender).or_default().sent.push(n);
            }
            if let Some(of) = tasks.get_mut(m.dest as usize) {
                let of = of.mail.entry(receiver).or_default();
                of.posted.push(n);
                of.received.push(n);
            }
        }
        let of = |n: &u32| messages.get(*n as usize).copied().unwrap_or_default();
        for own in tasks.iter_mut().flat_map(|t| t.mail.values_mut()) {
            own.sent.sort_by_key(|n| (of(n).sent, *n));
            own.posted.sort_by_key(|n| (of(n).posted, *n));
            own.received.sort_by_key(|n| (of(n).received, *n));
        }
        Ok((messages, tasks))
    }

    /// Communicators, and which the trace calls how. The first one of all tasks in their order is the world.
    fn comms(&self) -> (Comms, FxHashMap<u64, u16>) {
        let mut comms = Comms::new(self.ranks());
        let all: Vec<u32> = (0..self.ranks()).collect();
        let (mut numbers, mut world) = (FxHashMap::default(), None);
        for (id, tasks) in &self.communicators {
            let number = match *tasks == all && *world.get_or_insert(*id) == *id {
                true => 0,
                false => comms.add(*id, Members::Ranks(tasks.clone())),
            };
            numbers.insert(*id, number);
        }
        (comms, numbers)
    }

    /// Writes all ranks to the spool.
    ///
    /// # Errors
    /// A damaged trace, a spool that cannot be written, nothing in the trace.
    pub fn spool(
        &self,
        spool: &mut SpoolWriter,
        program: Option<&str>,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<TraceMetadata, ImportError> {
        let ranks = self.ranks();
        progress(0, ranks as usize);
        let (messages, found) = self.messages()?;
        let (comms, comm_numbers) = self.comms();
        let mut counter_kinds = self.labels.kinds();
        counter_kinds.retain(|k| kind::COUNTERS.contains(k));
        let label = |k: &u64| match counter_of(self.labels.kind(*k).unwrap_or("")) {
            none if none.is_empty() => counters::of_extrae(*k).unwrap_or("").to_string(),
            name => name,
        };
        let names: Vec<String> = counter_kinds.iter().map(label).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let chosen = counters::choose(&names);
        let places = counter_kinds.iter().copied().zip(&chosen.places);
        let counters = places.filter_map(|(k, p)| Some((k, (*p)?))).collect();
        let known = Known {
            messages: &messages,
            comms: &comms,
            comm_numbers: &comm_numbers,
            counters: &counters,
            unit_ns: self.header.unit_ns,
        };
        let program = Program::of(program, self.labels.program());
        let regions = RefCell::new(Regions::new(program.file()));
        let sampling = RefCell::default();
        let mut places = Places::new(&self.labels);
        let lines: u64 = found.iter().map(|f| f.lines).sum();
        let begin = |(me, found): (u32, TaskSurvey)| {
            // The links of several threads get their numbers together.
            let mut shared =
                rank::shared(&regions, &sampling, true, windows::room(found.lines, lines));
            shared.alone = !self.labels.kinds().iter().any(|k| kind::MPI.contains(k));
            Task::new(me, shared, found.mail)
        };
        let mut tasks: Vec<Task<'_>> = (0..).zip(found).map(begin).collect();
        let mut count = tasks.len();
        let (mut records, _) = Records::open(&self.path)?;
        records.each(|record| {
            let Record::Events {
                task,
                thread,
                time,
                pairs,
            } = record
            else {
                return Some(());
            };
            let task = tasks.get_mut(task as usize)?;
            let before = task.threads();
            let own = task.events(known, &mut places, (thread, time));
            pairs.each(|kind, value| own.push((kind, value)))?;
            count += task.threads() - before;
            (count <= MOST_THREADS).then_some(())
        })?;
        let mut notes = Notes::default();
        let mut all = Vec::new();
        for mut task in tasks {
            task.flush(known, &mut places);
            notes.threads |= task.threads() > 1;
            all.push(task.end(&self.path)?);
        }
        set_roots(&mut all);
        let ends = all.iter().any(|(_, shared)| shared.finalize_ns.is_some());
        let about = About {
            program: program.path.clone(),
            counters: chosen.names,
            unix_ns: 0,
            clock_error_ns: 0,
            has_end: ends,
            comms: comms.clone(),
            ranks,
        };
        for ((me, (rows, shared)), (_, node)) in (0..).zip(all).zip(&self.header.tasks) {
            let named = usize::try_from(*node)
                .ok()
                .and_then(|n| self.nodes.get(n.checked_sub(1)?));
            let host = named.cloned().unwrap_or_else(|| format!("node {node}"));
            let ended = rank::end(&about, me, &host, &rows, &shared);
            notes.rank(&ended);
            spool.add(&ended.rows)?;
            progress(me as usize + 1, ranks as usize);
        }
        if !notes.called && places.unnamed_calls() {
            let what =
                "its .pcf does not name the MPI calls in it; copy the one that belongs to it";
            return Err(ImportError::unsupported(&self.path, what));
        }
        if !notes.does_anything() {
            return Err(ImportError::Empty(self.path.clone()));
        }
        let mut missing = Vec::new();
        if notes.called {
            missing.push("A Paraver trace has no call that completes a send or a nonblocking collective, and no communicator of a message.".to_string());
        }
        missing.extend(program.note());
        missing.extend(chosen.notes);
        missing.extend(notes.sentences());
        Ok(TraceMetadata {
            symbols: regions.into_inner().into_symbols(),
            library: "unknown; Paraver trace".to_string(),
            missing,
        })
    }
}

/// Only the root's own record names the root; this adds it to the records of all others.
fn set_roots(all: &mut [(Vec<Rows>, crate::thread::Shared<'_>)]) {
    let mut roots: FxHashMap<u64, u32> = FxHashMap::default();
    for row in all
        .iter()
        .flat_map(|(rows, _)| rows)
        .flat_map(|r| &r.messages)
    {
        if row.kind == EventKind::Collective as u32 && row.peer != u32::MAX {
            roots.insert(row.id, row.peer);
        }
    }
    for rows in all.iter_mut().flat_map(|(rows, _)| rows) {
        let collective = EventKind::Collective as u8;
        for row in &mut rows.messages {
            if row.kind == u32::from(collective) && row.peer == u32::MAX {
                row.peer = roots.get(&row.id).copied().unwrap_or(u32::MAX);
            }
        }
        for row in &mut rows.events {
            if row.kind == collective && row.peer == u32::MAX {
                row.peer = roots.get(&row.id).copied().unwrap_or(u32::MAX);
            }
        }
    }
}
