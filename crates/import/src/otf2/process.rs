//! The locations of one process, event by event, to threads of a rank.

use super::definitions::Clock;
use super::events::{Collective, Event, Message, Reader};
use super::local::{Local, Mapped};
use super::{Archive, Location, Numbers};
use crate::ImportError;
use crate::comms::Comms;
use crate::ends::{Ends, TracedMessage};
use crate::otf2::chunks::Chunks;
use crate::pauses::Why;
use crate::regions::{PROGRAM, RegionIx};
use crate::thread::{Shared, Thread};
use crate::volume::Rule;
use headwater_format::spool::layout::ContextRow;
use rustc_hash::FxHashMap;

/// A fork of the process's first thread: when, in which region, and the calls that led there.
struct Fork {
    ns: u64,
    region: RegionIx,
    path: Vec<ContextRow>,
}

/// One process.
pub struct Process<'a> {
    archive: &'a Archive,
    numbers: &'a Numbers,
    ends: Ends<'a>,
    forks: Vec<Fork>,
    /// Messages that were found and not received, by their number, and those of them that requests are for.
    probed: FxHashMap<u64, TracedMessage>,
    matched: FxHashMap<u64, TracedMessage>,
    /// Moves of data by one side alone.
    pub one_sided: u64,
    /// How far its clock may be out, nanoseconds.
    pub clock_error_ns: u64,
}

/// Ticks as nanoseconds since the trace began, from 1 on.
fn nanoseconds(clock: &Clock, ticks: u64) -> u64 {
    let since = u128::from(ticks.saturating_sub(clock.offset));
    let ns = since * 1_000_000_000 / u128::from(clock.resolution.max(1));
    u64::try_from(ns).unwrap_or(u64::MAX / 2).saturating_add(1)
}

fn what(location: &Location) -> String {
    format!("what location {} ({}) recorded", location.id, location.name)
}

/// The name of the program, if the location begins by telling it.
pub fn program(archive: &Archive, location: &Location) -> Result<Option<String>, ImportError> {
    let file = archive.file(location, "evt");
    let mut chunks = Chunks::open(&file, archive.anchor.event_chunk, &what(location))?;
    let local = Local::read(
        &archive.file(location, "def"),
        archive.anchor.definition_chunk,
    )?;
    let mut reader = Reader::default();
    let mut found = None;
    chunks.first(|kind, bytes| {
        reader.record(kind, bytes, |_, event| {
            if let Event::Program { name } = event {
                found.get_or_insert(local.global(Mapped::Text, name));
            }
        })
    })?;
    let name = found.map(|id| archive.definitions.text(id).to_string());
    Ok(name.filter(|n| !n.is_empty()))
}

impl<'a> Process<'a> {
    /// Rank `me`, of which nothing is read yet.
    pub fn new(archive: &'a Archive, comms: &'a Comms, numbers: &'a Numbers, me: u32) -> Self {
        Self {
            archive,
            numbers,
            ends: Ends {
                comms,
                me,
                rule: Rule::of(&archive.anchor.creator),
            },
            forks: Vec::new(),
            probed: FxHashMap::default(),
            matched: FxHashMap::default(),
            one_sided: 0,
            clock_error_ns: 0,
        }
    }

    /// Reads a location; the first one of a process comes first.
    ///
    /// # Errors
    /// Files that are missing or damaged.
    pub fn thread(
        &mut self,
        location: &Location,
        shared: &mut Shared<'_>,
    ) -> Result<Thread, ImportError> {
        let archive = self.archive;
        let local = Local::read(
            &archive.file(location, "def"),
            archive.anchor.definition_chunk,
        )?;
        let clock = archive.definitions.clock;
        let error = local.uncertain() * 1e9 / clock.resolution as f64;
        self.clock_error_ns = self.clock_error_ns.max(error as u64);
        let file = archive.file(location, "evt");
        let mut chunks = Chunks::open(&file, archive.anchor.event_chunk, &what(location))?;
        let first = location.id == self.first_location();
        let mut thread = Thread::new(first);
        thread.pauses.off_with(&shared.pauses);
        let mut reader = Reader::default();
        chunks.each(|kind, bytes| {
            reader.record(kind, bytes, |ticks, event| {
                let ns = nanoseconds(&clock, local.corrected(ticks));
                if let Event::Flushed { until } = event {
                    let until = nanoseconds(&clock, local.corrected(until));
                    thread.pause(shared, ns, Why::Flush);
                    thread.go_on(shared, until, Why::Flush);
                    return;
                }
                self.event(&mut thread, shared, &local, (ns, first), event);
            })
        })?;
        if let Some(why) = thread.damage() {
            return Err(ImportError::damaged(&file, why));
        }
        if first {
            shared.pauses = thread.pauses.clone();
        }
        Ok(thread)
    }

    fn first_location(&self) -> u64 {
        let own = self.archive.ranks.get(self.ends.me as usize);
        own.and_then(|l| l.first()).map_or(u64::MAX, |l| l.id)
    }

    fn region(&self, local: &Local, id: u32) -> RegionIx {
        let id = local.global(Mapped::Region, id);
        self.numbers.regions.get(&id).copied().unwrap_or(PROGRAM)
    }

    fn traced(&self, local: &Local, m: &Message) -> TracedMessage {
        let comm = local.global(Mapped::Comm, m.comm);
        TracedMessage {
            comm: self.numbers.comms.get(&comm).copied().unwrap_or(u16::MAX),
            partner: m.partner,
            tag: m.tag,
            bytes: m.bytes,
            request: m.request,
            ..Default::default()
        }
    }

    fn collective(&self, comm: Option<u16>, c: &Collective) -> TracedMessage {
        TracedMessage {
            comm: comm.unwrap_or(u16::MAX),
            partner: c.root,
            volume: (c.sent, c.received),
            request: c.request,
            ..Default::default()
        }
    }

    fn event(
        &mut self,
        thread: &mut Thread,
        shared: &mut Shared<'_>,
        local: &Local,
        (ns, first): (u64, bool),
        event: Event,
    ) {
        let (ends, numbers) = (self.ends, self.numbers);
        match event {
            Event::Enter { region } => thread.enter(shared, ns, self.region(local, region), 0),
            Event::Leave { region } => thread.leave(shared, ns, self.region(local, region)),
            Event::Send(m) => ends.send(thread, shared, self.traced(local, &m)),
            Event::Receive(m) => ends.receive(thread, shared, self.traced(local, &m)),
            Event::SendDone { request } => ends.send_done(thread, request),
            Event::Post { request } => ends.post(thread, shared, request, true),
            Event::PostCollective { request } => ends.post(thread, shared, request, false),
            Event::Probed { message, of } => {
                // It is this rank's from now on, in the order of what it finds.
                let traced = TracedMessage {
                    taken_ns: thread.call().map(|c| c.enter_ns),
                    ..self.traced(local, &of)
                };
                self.probed.insert(message, traced);
            }
            Event::PostMatched { message, request } => {
                if let Some(traced) = self.probed.remove(&message) {
                    self.matched.insert(request, traced);
                }
            }
            Event::Matched {
                number,
                bytes,
                requested,
            } => {
                let open = match requested {
                    true => &mut self.matched,
                    false => &mut self.probed,
                };
                if let Some(traced) = open.remove(&number) {
                    ends.receive(thread, shared, TracedMessage { bytes, ..traced });
                }
            }
            Event::Cancelled { request } => ends.cancelled(thread, request),
            Event::Collective(c) => {
                let comm = local.global(Mapped::Comm, c.comm);
                let comm = numbers.comms.get(&comm).copied();
                ends.collective(thread, shared, self.collective(comm, &c));
            }
            Event::WindowCollective(c) => {
                let window = local.global(Mapped::Window, c.comm);
                let comm = numbers.windows.get(&window).copied();
                ends.collective(thread, shared, self.collective(comm, &c));
            }
            Event::OneSided { bytes } => {
                self.one_sided += 1;
                if let Some(call) = thread.call() {
                    call.params.bytes = bytes;
                }
            }
            Event::Fork if first => {
                let (region, path) = thread.place();
                thread.forked(self.forks.len());
                self.forks.push(Fork { ns, region, path });
            }
            Event::TeamBegin if !first => {
                let after = self.forks.partition_point(|f| f.ns <= ns);
                let number = after.checked_sub(1);
                if let Some((number, fork)) = number.and_then(|i| Some((i, self.forks.get(i)?))) {
                    thread.advance(shared, ns);
                    thread.hang_under(fork.region, &fork.path);
                    thread.forked(number);
                }
            }
            Event::Recording { on: true } => thread.go_on(shared, ns, Why::Off),
            Event::Recording { on: false } => thread.pause(shared, ns, Why::Off),
            Event::Lock { lock, taken: true } => thread.takes(shared, ns, lock),
            Event::Lock { lock, taken: false } => thread.gives(shared, ns, lock),
            Event::Metric { class, values } => {
                thread.advance(shared, ns);
                let class = local.global(Mapped::Metric, class);
                let places = numbers.counters.get(&class);
                let places = places.into_iter().flatten();
                for (place, (_, value)) in places.zip(values) {
                    if let Some(place) = place {
                        thread.counter(shared, *place, value);
                    }
                }
            }
            Event::ContextEnter { context } => {
                let path = self.path(local.global(Mapped::Context, context));
                thread.go_to(shared, ns, &path);
            }
            Event::ContextLeave { context } => {
                let mut path = self.path(local.global(Mapped::Context, context));
                path.pop();
                thread.go_to(shared, ns, &path);
            }
            Event::Fork
            | Event::Join
            | Event::TeamBegin
            | Event::TeamEnd
            | Event::Flushed { .. }
            | Event::Program { .. } => {}
        }
    }

    /// Regions of a call path with the line of the call that led to each, outermost first.
    fn path(&self, context: u32) -> Vec<(RegionIx, u32)> {
        let all = &self.archive.definitions.contexts;
        let mut path = Vec::new();
        let mut at = all.get(&context);
        // A circle of calls is no path.
        while let Some(here) = at.filter(|_| path.len() <= all.len()) {
            let parent = all.get(&here.parent);
            let region = self.numbers.regions.get(&here.region).copied();
            path.push((region.unwrap_or(PROGRAM), parent.map_or(0, |p| p.line)));
            at = parent;
        }
        path.reverse();
        path
    }
}
