//! The events of one thread of a task, moment by moment, to a thread of a rank.

use super::mail::{Mail, Used};
use super::openmp::{Fork, Open};
use super::places::{Places, kind};
use super::records::Message;
use crate::calls::Post;
use crate::comms::Comms;
use crate::ends::{Ends, TracedMessage};
use crate::pauses::Why;
use crate::regions::RegionIx;
use crate::thread::{Shared, Thread};
use crate::volume::{Rule, counted};
use headwater_mpi_abi::{Class, Mode};
use rustc_hash::FxHashMap;

/// What all tasks know.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// Messages by number.
    pub messages: &'a [Message],
    /// Communicators.
    pub comms: &'a Comms,
    /// Numbers of the trace's communicators.
    pub comm_numbers: &'a FxHashMap<u64, u16>,
    /// Places of counters by their type.
    pub counters: &'a FxHashMap<u64, usize>,
    /// Nanoseconds in a unit of time.
    pub unit_ns: u64,
}

impl Known<'_> {
    /// A moment of the trace in nanoseconds, from 1 on.
    pub fn ns(&self, time: u64) -> u64 {
        time.saturating_mul(self.unit_ns).saturating_add(1)
    }
}

/// What a thread reads its events with.
pub struct Around<'s, 'a, 'l> {
    /// What all tasks know.
    pub known: Known<'s>,
    /// Functions and calls.
    pub places: &'s mut Places<'l>,
    /// What the threads of the task share.
    pub shared: &'s mut Shared<'a>,
    /// The last time that the task's first thread made a team, and how often it has.
    pub fork: &'s mut (Option<Fork>, usize),
}

impl Around<'_, '_, '_> {
    /// A function that the value of a type represents.
    fn function(&mut self, value: (u64, u64), pairs: &[(u64, u64)]) -> Option<RegionIx> {
        let of = value.0 + kind::TO_FUNCTION_LINE;
        let line = pairs.iter().copied().find(|p| p.0 == of);
        let mut regions = self.shared.regions.borrow_mut();
        Some(self.places.function(&mut regions, value, line)?.0)
    }
}

/// What one thread says that concerns all of its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// Recording is switched on or off.
    Recording(bool),
    /// `MPI_Init` is left.
    Begins,
    /// The team of a parallel region is done.
    Joined,
}

/// One thread of a task.
pub struct TaskThread {
    /// The thread.
    pub thread: Thread,
    /// Events of the moment that is not over.
    pub pairs: Vec<(u64, u64)>,
    /// What its task has to know.
    pub news: Vec<(u64, News)>,
    pub(super) first: bool,
    pub(super) me: u32,
    pub(super) mail: Mail,
    pub(super) used: Used,
    /// Where receives were posted that have not come.
    pub(super) posts: FxHashMap<u32, Post>,
    /// The region of the MPI call that it is in, and the type of its events.
    inside: Option<(u32, u64)>,
    /// Functions that it is in, by the type of their events; one that has no name has no region.
    functions: Vec<(u64, Option<RegionIx>)>,
    /// What it is in of OpenMP.
    pub(super) open: Open,
}

/// Whether an event is that an MPI call begins.
fn is_call((kind, value): &(u64, u64)) -> bool {
    kind::MPI.contains(kind) && *value != 0
}

impl TaskThread {
    /// A thread of task `me`, of which nothing is read.
    pub fn new(me: u32, first: bool, mail: Mail) -> Self {
        Self {
            thread: Thread::new(first),
            pairs: Vec::new(),
            news: Vec::new(),
            first,
            me,
            mail,
            used: Used::default(),
            posts: FxHashMap::default(),
            inside: None,
            functions: Vec::new(),
            open: Open::default(),
        }
    }

    /// Whether it is in an MPI call.
    pub fn in_call(&self) -> bool {
        self.inside.is_some()
    }

    /// Whether nothing but MPI calls tells where it is.
    fn only_calls_tell(&self) -> bool {
        self.functions.is_empty() && self.open.is_empty()
    }

    /// It is in no function any more.
    pub(super) fn out(&mut self, shared: &mut Shared<'_>, ns: u64) {
        self.functions.clear();
        self.open = Open::default();
        self.thread.out(shared, ns);
    }

    /// The moment `time` is over. Each call that begins in it takes what came up to the next one.
    pub fn flush(&mut self, around: &mut Around<'_, '_, '_>, time: u64) {
        let pairs = std::mem::take(&mut self.pairs);
        let mut rest = pairs.as_slice();
        while !rest.is_empty() {
            let mut begins = (0..rest.len()).filter(|i| rest.get(*i).is_some_and(is_call));
            let end = begins.nth(1).unwrap_or(rest.len());
            let (part, behind) = rest.split_at(end);
            self.take(around, time, part);
            rest = behind;
        }
    }

    /// Takes events of one moment, in which one call begins at the most.
    fn take(&mut self, around: &mut Around<'_, '_, '_>, time: u64, pairs: &[(u64, u64)]) {
        let known = around.known;
        let ns = known.ns(time);
        let call = pairs.iter().copied().find(is_call);
        let regions = around.shared.regions;
        let traced = call.map(|_| around.places.path(&mut regions.borrow_mut(), pairs));
        // Between two calls it was in what is around both, as far as anybody can tell.
        if self.inside.is_none() && self.only_calls_tell() {
            let path = traced.as_ref().map(|(path, _)| path.as_slice());
            match path.filter(|p| !p.is_empty()) {
                Some(path) => self.thread.back_to(path),
                None if pairs.iter().any(|p| kind::tells_place(p.0)) => self.thread.back_out(),
                None => {}
            }
        }
        self.thread.advance(around.shared, ns);
        for (kind, value) in pairs {
            if let Some(place) = known.counters.get(kind) {
                self.thread.counter_grew(around.shared, *place, *value);
            }
        }
        // An end that is none of the call before is that of a call which takes no time.
        let mut no_time = false;
        for (kind, value) in pairs {
            match *kind {
                kind::FLUSH => self.recorded(around.shared, ns, Why::Flush, *value == 0),
                kind::TRACING => {
                    self.recorded(around.shared, ns, Why::Off, *value != 0);
                    // Another thread may not be recorded for itself, as where it ends.
                    if self.first {
                        self.news.push((ns, News::Recording(*value != 0)));
                    }
                }
                k if kind::FUNCTIONS.contains(&k) => self.function(around, ns, pairs, (k, *value)),
                k if kind::MPI.contains(&k) && *value == 0 => {
                    let own = call.is_some_and(|(kind, _)| kind == k);
                    match self.inside {
                        Some((_, of)) if of == k || !own => self.call_ends(around, time),
                        _ => no_time |= own,
                    }
                }
                k => self.openmp(around, ns, pairs, (k, *value)),
            }
        }
        if let (Some((kind, value)), Some((path, line))) = (call, traced) {
            self.call_ends(around, time);
            if !path.is_empty() && self.only_calls_tell() {
                self.thread.go_to(around.shared, ns, &path);
            }
            let region = around.places.mpi(&mut regions.borrow_mut(), kind, value);
            self.thread.enter(around.shared, ns, region, line);
            self.inside = Some((region, kind));
            self.collective(known, around.shared, pairs);
            if no_time {
                self.call_ends(around, time);
            }
        }
    }

    /// Recording goes on, or does not.
    pub fn recorded(&mut self, shared: &mut Shared<'_>, ns: u64, why: Why, on: bool) {
        match on {
            true => self.thread.go_on(shared, ns, why),
            false => self.thread.pause(shared, ns, why),
        }
    }

    /// A function begins, or ends with those in it.
    fn function(
        &mut self,
        around: &mut Around<'_, '_, '_>,
        ns: u64,
        pairs: &[(u64, u64)],
        (kind, value): (u64, u64),
    ) {
        if value != 0 {
            if kind == kind::OUTLINED {
                self.team_begins(around, ns);
            }
            let plain = around.function((kind, value), pairs);
            let region = plain.map(|region| match kind {
                kind::TASK => around
                    .places
                    .task(&mut around.shared.regions.borrow_mut(), region),
                _ => region,
            });
            if let Some(region) = region {
                self.thread.enter(around.shared, ns, region, 0);
            }
            self.functions.push((kind, region));
            return;
        }
        let Some(at) = self.functions.iter().rposition(|f| f.0 == kind) else {
            return;
        };
        let regions: Vec<Option<RegionIx>> = self.functions.drain(at..).map(|f| f.1).collect();
        for region in regions.into_iter().rev().flatten() {
            self.thread.leave(around.shared, ns, region);
        }
        if kind == kind::OUTLINED {
            self.team_work_ends(around, ns);
        }
    }

    /// What the call that begins says of a collective.
    fn collective(&mut self, known: Known<'_>, shared: &mut Shared<'_>, pairs: &[(u64, u64)]) {
        let function = self.thread.call().and_then(|c| c.function());
        let Some(function) = function.filter(|f| f.is_collective()) else {
            return;
        };
        let value = |kind: u64| pairs.iter().find(|p| p.0 == kind).map(|p| p.1);
        let comm = match value(kind::COMM) {
            Some(id) => known.comm_numbers.get(&id).copied(),
            None => Some(0),
        };
        let Some(comm) = comm else { return };
        let volume = (
            value(kind::SENT).unwrap_or(0),
            value(kind::RECEIVED).unwrap_or(0),
        );
        // Who completes one that does not block, and when, the trace does not tell.
        if function.mode != Mode::Blocking {
            let of = known.comms.get(comm);
            let bytes = of.map_or(0, |c| counted(Rule::Extrae, function, (c, self.me), volume));
            if let Some(call) = self.thread.call() {
                (call.params.comm, call.params.bytes) = (comm, bytes);
            }
            return;
        }
        let is_root = value(kind::ROOT) == Some(1);
        let own = || known.comms.get(comm)?.rank(self.me);
        let root = if is_root { own() } else { None };
        let traced = TracedMessage {
            comm,
            partner: root.unwrap_or(u32::MAX),
            volume,
            ..Default::default()
        };
        let ends = Ends {
            comms: known.comms,
            me: self.me,
            rule: Rule::Extrae,
        };
        ends.collective(&mut self.thread, shared, traced);
    }

    /// The call that it is in ends: what was sent, posted and received in it is known by its times.
    fn call_ends(&mut self, around: &mut Around<'_, '_, '_>, time: u64) {
        let Some((region, _)) = self.inside.take() else {
            return;
        };
        let (known, shared) = (around.known, &mut *around.shared);
        let class = self.thread.call().and_then(|c| c.class());
        if let Some(call) = self.thread.call() {
            let from = call.enter_ns.saturating_sub(1) / known.unit_ns.max(1);
            self.messages(known, shared, class, (from, time));
        }
        self.thread.leave(shared, known.ns(time), region);
        if class == Some(Class::Init) {
            self.news.push((known.ns(time), News::Begins));
        }
    }
}
