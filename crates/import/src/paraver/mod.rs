//! Paraver traces, as Extrae and others write them: text that mixes all tasks (`.prv`), with the names of its numbers
//! (`.pcf`) and of the nodes (`.row`) in files beside it.
//!
//! The file is read twice: messages first, as each is told where it is sent, then the events. All ranks are held at once;
//! what is held of each are sums, the messages that are kept, and event windows.

mod header;
mod labels;
mod places;
mod records;
mod task;

use crate::comms::{Comms, Members};
use crate::counters;
use crate::notes::Notes;
use crate::rank::{self, About};
use crate::regions::Regions;
use crate::thread::Rows;
use crate::{ImportError, Program, TracedMessage};
use headwater_format::spool::SpoolWriter;
use headwater_model::run::EventKind;
use labels::{Labels, counter_of};
use places::{Places, kind};
use records::{Message, Record, Records};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use task::{Known, Mail, Task};

/// How the name of a trace ends.
pub const ENDING: &str = "prv";

/// A trace whose header and labels are read.
pub struct Trace {
    path: PathBuf,
    header: header::Header,
    communicators: Vec<(u64, Vec<u32>)>,
    labels: Labels,
    nodes: Vec<String>,
}

/// Bytes of the names of a trace at the most.
const LONGEST_LABELS: u64 = 1 << 30;

/// The text of a file beside a trace.
fn beside(path: &Path, ending: &str) -> std::io::Result<String> {
    let bytes = headwater_files::read(&path.with_extension(ending), LONGEST_LABELS)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

impl Trace {
    /// Opens the trace at `path`.
    ///
    /// # Errors
    /// Files that are missing, damaged, or of a kind that is not read.
    pub fn open(path: &Path) -> Result<Self, ImportError> {
        let (mut records, header) = Records::open(path)?;
        if header.applications != 1 {
            let what = format!(
                "it holds {} applications; cut the one that is meant out of it",
                header.applications
            );
            return Err(ImportError::unsupported(path, what));
        }
        let communicators = records.communicators()?;
        let labels = beside(path, "pcf").map_err(|e| match e.kind() {
            ErrorKind::NotFound => ImportError::Missing {
                what: "what the trace's numbers are called".to_string(),
                path: path.with_extension("pcf"),
            },
            _ => ImportError::io(&path.with_extension("pcf"))(e),
        })?;
        let labels = Labels::parse(&labels);
        if !labels.kinds().iter().any(|k| kind::MPI.contains(k)) {
            return Err(ImportError::NoMpi(path.to_path_buf()));
        }
        // Nodes may go without names.
        let nodes = labels::nodes(&beside(path, "row").unwrap_or_default());
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

    /// All messages, and which are whose.
    fn messages(&self) -> Result<(Vec<Message>, Vec<Mail>), ImportError> {
        let ranks = self.ranks();
        let mut messages: Vec<Message> = Vec::new();
        let (mut records, _) = Records::open(&self.path)?;
        records.each(|record| {
            if let Record::Message(m) = record {
                (m.source < ranks && m.dest < ranks).then_some(())?;
                messages.push(m);
            }
            Some(())
        })?;
        let mut mail: Vec<Mail> = (0..ranks).map(|_| Mail::default()).collect();
        for (n, m) in (0_u32..).zip(&messages) {
            if let Some(of) = mail.get_mut(m.source as usize) {
                of.sent.push(n);
            }
            if let Some(of) = mail.get_mut(m.dest as usize) {
                of.posted.push(n);
                of.received.push(n);
            }
        }
        let of = |n: &u32| messages.get(*n as usize).copied().unwrap_or_default();
        for own in &mut mail {
            own.sent.sort_by_key(|n| (of(n).sent, *n));
            own.posted.sort_by_key(|n| (of(n).posted, *n));
            own.received.sort_by_key(|n| (of(n).received, *n));
        }
        Ok((messages, mail))
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
    /// A damaged trace, a spool that cannot be written, no MPI call at all.
    pub fn spool(
        &self,
        spool: &mut SpoolWriter,
        program: Option<&str>,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<TracedMessage, ImportError> {
        let ranks = self.ranks();
        progress(0, ranks as usize);
        let (messages, mail) = self.messages()?;
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
        let begin = |(me, mail): (u32, Mail)| {
            let mut shared = rank::shared(&regions, &sampling, false);
            shared.room /= (ranks as usize).max(1);
            Task::new(me, shared, mail)
        };
        let mut tasks: Vec<Task<'_>> = (0..).zip(mail).map(begin).collect();
        let mut others = false;
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
            if thread != 0 {
                others = true;
                return Some(());
            }
            pairs.each(|kind, value| task.event(known, &mut places, time, (kind, value)))
        })?;
        let mut all = Vec::new();
        for task in &mut tasks {
            task.flush(known, &mut places);
        }
        for task in tasks {
            if let Some(why) = task.thread.damage() {
                return Err(ImportError::damaged(&self.path, why));
            }
            let mut shared = task.shared;
            let rows = rank::rows(vec![task.thread], &mut shared);
            all.push((rows, shared));
        }
        tell_roots(&mut all);
        let ends = all.iter().any(|(_, shared)| shared.finalize_ns.is_some());
        let about = About {
            program: program.path.clone(),
            counters: chosen.names,
            unix_ns: 0,
            clock_error_ns: 0,
            tells_end: ends,
            comms: comms.clone(),
            ranks,
        };
        let mut notes = Notes::default();
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
        if !notes.called {
            return Err(ImportError::NoMpi(self.path.clone()));
        }
        let mut missing = vec![
            "A Paraver trace has no call that completes a send or a nonblocking collective, and no communicator of a message.".to_string(),
        ];
        if others {
            missing.push(
                "Threads besides the first one of each rank are not read from a Paraver trace."
                    .to_string(),
            );
        }
        missing.extend(program.note());
        missing.extend(chosen.notes);
        missing.extend(notes.sentences());
        Ok(TracedMessage {
            symbols: regions.into_inner().into_symbols(),
            library: "unknown; Paraver trace".to_string(),
            missing,
        })
    }
}

/// The root alone says that it is one: all others are told who it is.
fn tell_roots(all: &mut [(Vec<Rows>, crate::thread::Shared<'_>)]) {
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
