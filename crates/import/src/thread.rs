//! One thread of a trace: its events, in the order of time, to the rows that the collector would have written.
//!
//! What it computes between two MPI calls is known exactly, and so is where: each region's own time takes the place of
//! samples. MPI calls carry links to the other ends of their messages, as in the collector (`collector/src/threads/thread.rs`).

mod counted;
pub mod lock;
mod paused;
mod place;
pub mod team;
#[cfg(test)]
mod tests;

use crate::calls::{Call, Link, NONE, Params, Request};
use crate::links::{LinkIx, Links, MANY_LINKS, Sampling};
use crate::pauses::Pauses;
use crate::regions::{Kind, PROGRAM, RegionIx, Regions};
use crate::windows::{Room, Windows};
use counted::Counters;
use headwater_format::spool::layout::{
    CallRow, ContextRow, EventRow, MessageRow, SampleRow, SegmentRow, TeamRow, ThreadRow, WaitRow,
};
use headwater_model::run::{EventKind, tag};
use headwater_mpi_abi::Class;
use lock::Locks;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use team::{Arrival, Teams};

/// Time that one sample represents: exact time is divided into small pieces, nanoseconds.
const PIECE_NS: u64 = 1000;
/// Rows of calls from which on new tags are counted together.
const MANY_CALLS: usize = 24 << 10;
/// Time that no run takes, nanoseconds: a hundred days.
const LONGEST_NS: u64 = 100 * 86_400 * 1_000_000_000;

/// A region that the thread is in.
struct Frame {
    region: RegionIx,
    /// The call that led here.
    ctx: u32,
    /// This region's own code.
    here: Option<u32>,
    line: u32,
    /// When it was entered.
    entered: u64,
    /// Of a task: the regions around it in which the thread would sleep.
    asleep: usize,
}

/// Computation since the last MPI call.
#[derive(Clone, Copy, Default)]
pub struct Stretch {
    /// Wall time.
    pub wall: u64,
    /// Part of it asleep or waiting for other threads.
    pub blocked: u64,
}

/// What the threads of a rank share.
pub struct Shared<'a> {
    /// Regions.
    pub regions: &'a RefCell<Regions>,
    /// Which messages are kept.
    pub sampling: &'a RefCell<Sampling>,
    /// Links of the rank.
    pub links: Links,
    /// Room for the rows of windows.
    pub room: Room,
    /// Whether the rank has other threads, which may take part in its messages.
    pub threaded: bool,
    /// When `MPI_Init` was left, 0 as long as it was not.
    pub init_ns: u64,
    /// When `MPI_Finalize` was entered.
    pub finalize_ns: Option<u64>,
    /// When the first thread was not recorded.
    pub pauses: Pauses,
    /// Whether the program uses no MPI, so that no call begins and ends what it computes.
    pub alone: bool,
}

/// The recording of one thread.
#[derive(Default)]
pub struct Thread {
    contexts: Vec<ContextRow>,
    known: FxHashMap<(u32, u64, bool), u32>,
    stack: Vec<Frame>,
    /// Regions of the stack in which it sleeps.
    asleep: usize,
    /// The region of another thread, and the call that led to it, that its outermost region is below.
    base: Option<(RegionIx, u32)>,
    first_ns: Option<u64>,
    now: u64,
    /// The time of the event read last.
    last_event_ns: u64,
    /// Whether its clock went on for longer than any run takes, which is a damaged trace.
    jumps: bool,
    /// Times of events one after another, and how many of them are before the last one. A few events come late; where
    /// most do, the trace is not in the order of time.
    moments: (u64, u64),
    over: bool,
    /// Whether it is the one that called `MPI_Init`.
    first: bool,
    pub(crate) pauses: Pauses,
    /// The MPI call that it is in, and how many regions there are around it.
    call: Option<(Call, usize)>,
    last_ctx: Option<u32>,
    stretch: Stretch,
    segments: FxHashMap<(u32, u32), SegmentRow>,
    calls: FxHashMap<(u32, u16, Params), CallRow>,
    samples: FxHashMap<(u32, u32), SampleRow>,
    counters: Counters,
    /// Ends that have their numbers and are kept, and those that wait for them.
    messages: Vec<MessageRow>,
    unnumbered: Vec<(MessageRow, LinkIx)>,
    windows: Windows,
    teams: Teams,
    locks: Locks,
    pub(crate) requests: FxHashMap<u64, Request>,
    totals: ThreadRow,
}

/// The rows of a thread, in the order of their keys.
pub struct Rows {
    /// Call paths.
    pub contexts: Vec<ContextRow>,
    /// Computation between calls.
    pub segments: Vec<SegmentRow>,
    /// Calls.
    pub calls: Vec<CallRow>,
    /// Where computation was.
    pub samples: Vec<SampleRow>,
    /// Ends of messages.
    pub messages: Vec<MessageRow>,
    /// Events in windows.
    pub events: Vec<EventRow>,
    /// Work of teams; how long the thread waited is known when all threads are.
    pub teams: Vec<TeamRow>,
    /// Its arrivals.
    pub arrivals: Vec<Arrival>,
    /// Waits for locks.
    pub waits: Vec<WaitRow>,
    /// Totals.
    pub totals: ThreadRow,
    /// When it was first seen.
    pub first_ns: u64,
    /// Whether it was.
    pub seen: bool,
    /// How often recording was off.
    pub times_off: u64,
    /// How long its tracer wrote buffers.
    pub flushed_ns: u64,
}

impl Thread {
    /// A thread that has not begun; `first` is the one that calls `MPI_Init`.
    pub fn new(first: bool) -> Self {
        Self {
            first,
            ..Default::default()
        }
    }

    fn last_ctx(&self) -> u32 {
        self.last_ctx.unwrap_or(NONE)
    }

    /// The region that it is in, and the call that led there.
    fn around(&self) -> Option<(RegionIx, u32)> {
        let top = self.stack.last().map(|f| (f.region, f.ctx));
        top.or(self.base)
    }

    fn context(&mut self, parent: u32, address: u64, exact: bool) -> u32 {
        let next = self.contexts.len() as u32;
        let id = *self.known.entry((parent, address, exact)).or_insert(next);
        if id == next {
            self.contexts.push(ContextRow {
                address,
                parent,
                exact: u32::from(exact),
            });
        }
        id
    }

    /// The context of the code that it is in.
    fn here(&mut self, regions: &RefCell<Regions>) -> u32 {
        if let Some(here) = self.stack.last().and_then(|f| f.here) {
            return here;
        }
        let (region, ctx) = self.around().unwrap_or((PROGRAM, NONE));
        let address = regions.borrow_mut().function(region);
        let here = self.context(ctx, address, true);
        if let Some(frame) = self.stack.last_mut() {
            frame.here = Some(here);
        }
        here
    }

    /// Time goes on; returns the time reached. An event that comes late happens then: a tracer may write its buffers
    /// before the event that made it do so.
    pub fn advance(&mut self, shared: &mut Shared<'_>, ns: u64) -> u64 {
        let begins = self.first_ns.is_none();
        let last = self.first_ns.get_or_insert(ns).saturating_add(LONGEST_NS);
        self.jumps |= ns > last;
        let ns = ns.min(last);
        self.moments.0 += u64::from(ns != self.last_event_ns);
        self.moments.1 += u64::from(ns < self.last_event_ns);
        self.last_event_ns = ns;
        let from = self.now.max(shared.init_ns);
        self.now = self.now.max(ns);
        // A thread between two parallel regions has nothing to do.
        let idle = self.call.is_some() || self.over || self.pauses.now();
        let idle = idle || !self.first && self.stack.is_empty();
        if begins && self.first && shared.alone {
            self.last_ctx = Some(self.switch(shared, true));
        }
        if idle || begins {
            return self.now;
        }
        let passed = ns.saturating_sub(from);
        let passed = passed.saturating_sub(self.pauses.between(from, ns));
        if passed == 0 {
            return self.now;
        }
        self.stretch.wall += passed;
        let asleep = self.asleep > 0;
        if asleep {
            self.stretch.blocked += passed;
            self.teams.slept += passed;
        }
        let row = self.sample(shared);
        if asleep {
            row.blocked_ns += passed;
        } else {
            row.cpu_ns += passed;
        }
        self.now
    }

    /// The row of time in the code that it is in.
    fn sample(&mut self, shared: &mut Shared<'_>) -> &mut SampleRow {
        let (after, ctx) = (self.last_ctx(), self.here(shared.regions));
        self.samples.entry((after, ctx)).or_insert(SampleRow {
            after,
            ctx,
            ..Default::default()
        })
    }

    /// A region is entered; `line` is that of the call, 0 where unknown.
    pub fn enter(&mut self, shared: &mut Shared<'_>, ns: u64, region: RegionIx, line: u32) {
        let ns = self.advance(shared, ns);
        let kind = shared.regions.borrow().kind(region);
        if let Some((call, _)) = &self.call {
            let ctx = call.ctx;
            self.push(region, ctx, line, kind);
            return;
        }
        let ctx = match (self.around(), kind) {
            // Nobody called the outermost function.
            (None, Kind::Code) => NONE,
            (around, _) => {
                let (caller, parent) = around.unwrap_or((PROGRAM, NONE));
                let site = shared.regions.borrow_mut().site(caller, region, line);
                self.context(parent, site + 1, false)
            }
        };
        match kind {
            Kind::Mpi(func) if !self.over => self.call_begins(shared, ns, ctx, func),
            Kind::Parallel if ns >= shared.init_ns => self.enter_team(ctx),
            Kind::Barrier => self.arrive(ctx),
            _ => {}
        }
        self.push(region, ctx, line, kind);
    }

    fn push(&mut self, region: RegionIx, ctx: u32, line: u32, kind: Kind) {
        let asleep = match kind {
            Kind::Task => std::mem::take(&mut self.asleep),
            _ => 0,
        };
        self.asleep += usize::from(matches!(kind, Kind::Barrier | Kind::Asleep));
        self.stack.push(Frame {
            region,
            ctx,
            here: None,
            line,
            entered: self.now,
            asleep,
        });
    }

    /// A region is left, and those in it that nobody left; one that it is not in is nothing.
    pub fn leave(&mut self, shared: &mut Shared<'_>, ns: u64, region: RegionIx) {
        let ns = self.advance(shared, ns);
        let Some(at) = self.stack.iter().rposition(|f| f.region == region) else {
            return;
        };
        while self.stack.len() > at {
            self.pop(shared, ns);
        }
    }

    fn pop(&mut self, shared: &mut Shared<'_>, ns: u64) {
        let Some(frame) = self.stack.pop() else {
            return;
        };
        let kind = shared.regions.borrow().kind(frame.region);
        let slept = usize::from(matches!(kind, Kind::Barrier | Kind::Asleep));
        self.asleep = self.asleep.saturating_sub(slept) + frame.asleep;
        let depth = self.stack.len();
        match kind {
            Kind::Parallel => self.leave_team(depth),
            Kind::Barrier => self.leave_barrier(frame.ctx),
            _ => {}
        }
        if let Some((call, _)) = self.call.take_if(|(_, around)| *around == depth) {
            self.call_ends(shared, ns, call);
        }
    }

    /// The call that it is in.
    pub(crate) fn call(&mut self) -> Option<&mut Call> {
        self.call.as_mut().map(|(call, _)| call)
    }

    fn call_begins(&mut self, shared: &mut Shared<'_>, ns: u64, ctx: u32, func: u16) {
        let busy = std::mem::take(&mut self.stretch);
        let (from, to) = (self.last_ctx(), ctx);
        let row = self.segments.entry((from, to)).or_insert(SegmentRow {
            from,
            to,
            ..Default::default()
        });
        if busy.wall > row.max_busy_ns {
            (row.max_busy_ns, row.max_at) = (busy.wall, row.count);
        }
        row.count += 1;
        row.wall_ns += busy.wall;
        row.cpu_ns += busy.wall - busy.blocked;
        row.blocked_ns += busy.blocked;
        let mut call = Call::new(ctx, func, ns, busy.wall);
        call.unseen = self.pauses.is_off();
        if call.class() == Some(Class::Finalize) {
            shared.finalize_ns.get_or_insert(ns);
            call.finalizes(&mut shared.links);
        }
        self.call = Some((call, self.stack.len()));
    }

    fn call_ends(&mut self, shared: &mut Shared<'_>, ns: u64, mut call: Call) {
        let paused = self.pauses.between(call.enter_ns, ns);
        let wall = ns.saturating_sub(call.enter_ns).saturating_sub(paused);
        match call.class() {
            Some(Class::Init) => return self.begin_anew(shared, ns),
            Some(Class::Finalize) => self.over = true,
            _ => {}
        }
        call.waited_for_receives_alone();
        if call.unseen {
            // Its messages have their numbers, and that is all.
            (self.last_ctx, self.stretch) = (Some(call.ctx), Stretch::default());
            return;
        }
        match call.posts_alone {
            // Who it is from is known when it is received.
            Some(request) if self.requests.contains_key(&request) => {
                if let Some(r) = self.requests.get_mut(&request) {
                    r.uncounted_ns = Some(wall);
                }
            }
            _ => self.count(call.ctx, call.func, call.params, wall),
        }
        for link in &call.links {
            if !link.kind.is_posting() {
                let row = link.row(&call, ns);
                self.unnumbered.push((row, link.ix));
            }
        }
        let event = EventRow {
            ctx: call.ctx,
            func: call.func,
            busy_ns: call.busy_ns,
            enter_ns: call.enter_ns,
            mpi_ns: wall,
            ..Default::default()
        };
        let links = call.links.iter().filter(|l| l.kind != EventKind::SendDone);
        let links: Vec<(EventRow, LinkIx)> = links.map(|l| (l.event(), l.ix)).collect();
        let polls = matches!(call.class(), Some(Class::Test | Class::Probe));
        self.windows.record(event, &links, polls, &mut shared.room);
        (self.last_ctx, self.stretch) = (Some(call.ctx), Stretch::default());
        if shared.links.len() >= MANY_LINKS && !shared.threaded && self.requests.is_empty() {
            let ids = shared.links.settle();
            self.settle(&ids, &mut shared.sampling.borrow_mut());
        }
    }

    /// `MPI_Init` is left: what came before is no part of the run.
    fn begin_anew(&mut self, shared: &mut Shared<'_>, ns: u64) {
        shared.init_ns = ns;
        self.forget();
    }

    /// Nothing that came before counts.
    pub fn forget(&mut self) {
        (self.last_ctx, self.stretch) = (None, Stretch::default());
        self.segments.clear();
        self.calls.clear();
        self.samples.clear();
        self.messages.clear();
        self.unnumbered.clear();
        self.windows.begin();
        (self.totals, self.teams) = (ThreadRow::default(), Teams::default());
        self.locks = Locks::default();
    }

    /// Counts a call.
    pub(crate) fn count(&mut self, ctx: u32, func: u16, mut params: Params, wall: u64) {
        let size_class = params.size_class();
        let bytes = params.bytes;
        // Calls of one size class share a row.
        params.bytes = u64::from(size_class);
        if self.calls.len() >= MANY_CALLS && params.tag != tag::NONE {
            params.tag = match self.calls.contains_key(&(ctx, func, params)) {
                true => params.tag,
                false => tag::MANY,
            };
        }
        let row = self.calls.entry((ctx, func, params)).or_insert(CallRow {
            ctx,
            func,
            comm: params.comm,
            peer: params.peer,
            tag: params.tag,
            size_class,
            ..Default::default()
        });
        row.count += 1;
        // What a damaged trace says may be any number.
        row.bytes = row.bytes.saturating_add(bytes);
        row.wall_ns = row.wall_ns.saturating_add(wall);
        row.cpu_ns = row.wall_ns;
        row.max_wall_ns = row.max_wall_ns.max(wall);
        self.totals.mpi_ns = self.totals.mpi_ns.saturating_add(wall);
    }

    /// Numbers the links; ends that are not kept go.
    pub fn settle(&mut self, ids: &[u64], sampling: &mut Sampling) {
        for (row, link) in self.unnumbered.drain(..) {
            let id = ids.get(link as usize).copied().unwrap_or(0);
            if sampling.keeps(id) {
                self.messages.push(MessageRow { id, ..row });
            }
        }
        self.windows.settle(ids);
    }

    /// The program ends, which uses no MPI: what it computed until then is one segment.
    pub fn ends_alone(&mut self, shared: &mut Shared<'_>) {
        if self.first_ns.is_none() {
            return;
        }
        let ns = self.now;
        self.out(shared, ns);
        let ctx = self.switch(shared, false);
        self.call_begins(shared, ns, ctx, paused::switch_function());
        if let Some((call, _)) = self.call.take() {
            self.call_ends(shared, ns, call);
        }
    }

    /// All that it did; all links have numbers.
    pub fn end(mut self, init_ns: u64) -> Rows {
        for request in std::mem::take(&mut self.requests).into_values() {
            if let Some(wall) = request.uncounted_ns {
                self.count(request.post.ctx, request.post.func, Params::default(), wall);
            }
        }
        let mut samples: Vec<SampleRow> = self.samples.into_values().collect();
        samples.sort_unstable_by_key(|s| (s.after, s.ctx));
        let mut cpu = 0;
        for row in &mut samples {
            cpu = row.cpu_ns.saturating_add(cpu);
            row.count = row.cpu_ns.div_ceil(PIECE_NS);
        }
        let mut segments: Vec<SegmentRow> = self.segments.into_values().collect();
        segments.sort_unstable_by_key(|s| (s.from, s.to));
        let mut calls: Vec<CallRow> = self.calls.into_values().collect();
        calls.sort_unstable_by_key(|c| (c.ctx, c.func, c.comm, c.peer, c.tag, c.size_class));
        let (teams, arrivals) = self.teams.end();
        let first_ns = self.first_ns.unwrap_or(init_ns);
        let mut totals = self.totals;
        totals.begin_ns = first_ns.max(init_ns);
        totals.end_ns = self.now.max(totals.begin_ns);
        totals.paused_before_ns = self.pauses.between(init_ns, totals.begin_ns);
        totals.paused_ns = self.pauses.between(init_ns, totals.end_ns);
        totals.cpu_ns = totals.mpi_ns.saturating_add(cpu);
        Rows {
            contexts: self.contexts,
            segments,
            calls,
            samples,
            messages: self.messages,
            events: self.windows.rows(),
            teams,
            arrivals,
            waits: self.locks.end(),
            totals,
            first_ns,
            seen: self.first_ns.is_some(),
            times_off: self.pauses.times_off(init_ns, totals.end_ns),
            flushed_ns: self.pauses.flushed(init_ns, totals.end_ns),
        }
    }

    /// What cannot be in any trace, if it was there.
    pub fn damage(&self) -> Option<&'static str> {
        let (events, back) = self.moments;
        let backward = back > events / 2;
        let clock = "its clock goes on for more than a hundred days";
        let order = "its times go backward: the trace is not in the order of time";
        let said = [(self.jumps, clock), (backward, order)];
        said.into_iter().find(|s| s.0).map(|s| s.1)
    }

    /// Adds a link to the call that it is in; one outside all calls is nobody's.
    pub(crate) fn link(&mut self, link: Link) {
        if let Some(call) = self.call() {
            call.links.push(link);
        }
    }
}
