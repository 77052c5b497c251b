//! The recorded events of a run's windows, as calls on tracks: when, how long, waiting for whom.
//!
//! Times within a window are those of the run's common clock. When a window began is not recorded: windows are placed
//! one behind the other with a tenth of a window between them. Waits are those of Scalasca's definitions that a window
//! can tell: a receiver until its message is sent, members of a collective until the last of those whom they need has
//! come (its root, where data come from there), or has posted it where it is not blocking.

mod instance;

use crate::error::ExportError;
use crate::wanted::Wanted;
use headwater_dataflow::Recorded;
use headwater_diagnosis::{comes_to_collective, wait_state};
use headwater_graph::view::EdgeKind;
use headwater_model::Rank;
use headwater_model::run::{CtxId, Event, EventKind, Run};
use headwater_mpi_abi::{self as abi, Needs};
use instance::Instance;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::ops::Range;

/// An MPI call of a window; times in nanoseconds from the first window's beginning.
#[derive(Clone, Debug)]
pub struct Call {
    /// Rank.
    pub rank: Rank,
    /// Thread within the rank.
    pub thread: u16,
    /// Call site.
    pub ctx: CtxId,
    /// The call that this thread left before, in the same window.
    pub after: Option<CtxId>,
    /// Index into the run's functions.
    pub func: u16,
    /// Enter and leave.
    pub time: Range<u64>,
    /// Computing since the call before, or the beginning of the window; nothing where the call follows at once.
    pub computing: Range<u64>,
    /// CPU time and time asleep of that.
    pub busy: u64,
    /// End of waiting, which begins with the call, and the rank it waits for.
    pub wait: Option<(u64, Rank)>,
    /// Scalasca's name of that wait.
    pub state: Option<&'static str>,
    /// The other rank, or the root.
    pub peer: Option<Rank>,
    /// Bytes of all messages.
    pub bytes: u64,
}

impl Call {
    /// Where all that others send has been sent, as far as its window shows: the end of waiting, or else its beginning.
    pub fn supplied(&self) -> u64 {
        self.wait.map_or(self.time.start, |(end, _)| end)
    }
}

/// A message: indices of the sending call, and of the one that completed the receive.
pub type Message = (usize, usize);

/// All windows.
#[derive(Debug, Default)]
pub struct Timeline {
    /// By window, rank and time.
    pub calls: Vec<Call>,
    /// Both ends are in the window.
    pub messages: Vec<Message>,
    /// Each window's number and time.
    pub windows: Vec<(u32, Range<u64>)>,
}

/// Calls of a window while it is put together.
struct Window<'a> {
    run: &'a Run,
    /// What the run's functions are, by index.
    functions: Vec<Option<&'static abi::Function>>,
    calls: Vec<(Call, &'a [Event])>,
    /// By message: the call that sends it.
    sends: FxHashMap<u32, usize>,
    /// By instance of a collective.
    instances: FxHashMap<u32, Instance>,
}

impl Timeline {
    /// The windows of a run.
    ///
    /// # Errors
    /// If it recorded none.
    pub fn new(run: &Recorded, wanted: &Wanted) -> Result<Self, ExportError> {
        let run = run.run();
        let mut this = Self::default();
        let mut begin = 0;
        for events in run.events.chunk_by(|a, b| a.window == b.window) {
            let window = Window::new(run, events);
            let length = window.length();
            this.add(window, begin, wanted);
            let number = events.first().map_or(0, |e| e.window);
            this.windows.push((number, begin..begin + length));
            begin += length + length / 10 + 1;
        }
        if this.calls.is_empty() {
            return Err(ExportError::NoWindows(run.header.name.clone()));
        }
        Ok(this)
    }

    fn add(&mut self, window: Window<'_>, begin: u64, wanted: &Wanted) {
        // By index in the window: index here, where the rank is wanted.
        let mut index: Vec<Option<usize>> = Vec::with_capacity(window.calls.len());
        for at in 0..window.calls.len() {
            let Some(mut call) = window.call(at) else {
                continue;
            };
            if !wanted.has_rank(call.rank) {
                index.push(None);
                continue;
            }
            let shift = |t: Range<u64>| t.start + begin..t.end + begin;
            (call.time, call.computing) = (shift(call.time), shift(call.computing));
            call.wait = call.wait.map(|(end, rank)| (end + begin, rank));
            index.push(Some(self.calls.len()));
            self.calls.push(call);
        }
        let here = |at: usize| index.get(at).copied().flatten();
        for (at, (_, rows)) in window.calls.iter().enumerate() {
            let received = rows.iter().filter(|e| e.kind == EventKind::Recv);
            let sends = received.filter_map(|e| window.sends.get(&e.link));
            let both = sends.filter_map(|send| Some((here(*send)?, here(at)?)));
            self.messages.extend(both);
        }
    }
}

impl<'a> Window<'a> {
    fn new(run: &'a Run, events: &'a [Event]) -> Self {
        let mut this = Self {
            run,
            functions: run.functions.iter().map(|f| abi::by_name(f)).collect(),
            calls: Vec::new(),
            sends: FxHashMap::default(),
            instances: FxHashMap::default(),
        };
        // By rank and thread: the end of the call before, and its context.
        let mut last: BTreeMap<(Rank, u16), (u64, CtxId)> = BTreeMap::new();
        let mut rest = events;
        while let Some(first) = rest.first() {
            let same = |e: &&Event| !e.first_of_call && e.rank == first.rank;
            let len = 1 + rest.iter().skip(1).take_while(same).count();
            let (rows, behind) = rest.split_at(len.min(rest.len()));
            rest = behind;
            if first.rank >= run.header.ranks {
                continue;
            }
            let enter = first.enter_ns;
            let time = enter..enter.saturating_add(first.mpi_ns);
            let before = last.get(&(first.rank, first.thread)).copied();
            // What the first call of a window follows is not in it: there is what it computed, as far as it goes back.
            let from = before.map_or(enter.saturating_sub(first.busy_ns), |b| b.0);
            last.insert((first.rank, first.thread), (time.end, first.ctx));
            let at = this.calls.len();
            for e in rows.iter().filter(|e| e.link != 0) {
                if e.kind == EventKind::Send {
                    this.sends.insert(e.link, at);
                } else {
                    this.comes(e, enter);
                }
            }
            let call = Call {
                rank: first.rank,
                thread: first.thread,
                ctx: first.ctx,
                after: before.map(|b| b.1),
                func: first.func,
                computing: from.min(enter)..enter,
                busy: first.busy_ns,
                time,
                wait: None,
                state: None,
                peer: (first.peer < run.header.ranks).then_some(first.peer),
                bytes: rows.iter().map(|e| e.bytes).sum(),
            };
            this.calls.push((call, rows));
        }
        this.instances.values_mut().for_each(Instance::close);
        this
    }

    fn length(&self) -> u64 {
        let ends = self.calls.iter().map(|(call, _)| call.time.end);
        ends.max().unwrap_or(0)
    }

    /// A call with its waiting: for what came last of all that it needs. Of two that came at once it is the larger rank.
    fn call(&self, at: usize) -> Option<Call> {
        let (call, rows) = self.calls.get(at)?;
        let needed = rows
            .iter()
            .filter(|e| e.link != 0)
            .filter_map(|e| match e.kind {
                EventKind::Recv => {
                    let send = &self.calls.get(*self.sends.get(&e.link)?)?.0;
                    Some((send.time.start, send.rank, false))
                }
                EventKind::Collective => self.last_needed(e).map(|(when, rank)| (when, rank, true)),
                _ => None,
            });
        let last = needed.filter(|n| n.1 != call.rank).max();
        let wait = last
            .map(|(when, rank, _)| (when.min(call.time.end), rank))
            .filter(|(end, _)| *end > call.time.start);
        let kind = last.filter(|_| wait.is_some()).map(|l| match l.2 {
            true => EdgeKind::Collective,
            false => EdgeKind::PointToPoint,
        });
        // Another call may complete a collective, which has a name of its own.
        let own = || self.run.function(call.func);
        let function = match kind {
            Some(EdgeKind::Collective) => self.collective(rows).unwrap_or_else(own),
            _ => own(),
        };
        Some(Call {
            wait,
            state: kind.and_then(|kind| wait_state(kind, function)),
            ..call.clone()
        })
    }

    /// A rank has reached a collective, if the row says so.
    fn comes(&mut self, e: &Event, enter: u64) {
        let function = self.functions.get(e.func as usize).copied().flatten();
        if !comes_to_collective(e, function) {
            return;
        }
        let instance = self.instances.entry(e.link).or_default();
        instance.class = instance.class.or(function.map(|f| f.class));
        instance.func = instance.func.or(Some(e.func));
        instance.members.push((enter, e.rank));
    }

    /// The function by which the first collective of a call was entered.
    fn collective(&self, rows: &[Event]) -> Option<&str> {
        let mut all = rows.iter().filter(|e| e.kind == EventKind::Collective);
        let instance = all.find_map(|e| self.instances.get(&e.link))?;
        Some(self.run.function(instance.func?))
    }

    /// When the last came of those whom a member of a collective needs.
    fn last_needed(&self, e: &Event) -> Option<(u64, Rank)> {
        let instance = self.instances.get(&e.link)?;
        let class = instance.class;
        match class.map_or(Needs::All, |c| c.needs(e.rank == e.peer)) {
            Needs::Nobody => None,
            Needs::Root => instance.of_rank(e.peer),
            Needs::Lower => instance.last_of(instance.below(e.rank)),
            Needs::All => instance.last_of(instance.members.len()),
        }
    }
}
