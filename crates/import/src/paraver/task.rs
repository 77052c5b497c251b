//! The events of one task's first thread, moment by moment, to a thread of a rank.

use super::places::{Places, kind};
use super::records::Message;
use crate::calls::{Link, Params, Post};
use crate::comms::Comms;
use crate::ends::{Ends, TracedMessage};
use crate::links::mix2;
use crate::pauses::Why;
use crate::thread::{Shared, Thread};
use crate::volume::{Rule, counted};
use headwater_model::run::{EventKind, peer, tag};
use headwater_mpi_abi::{Class, Mode};
use rustc_hash::FxHashMap;

/// Messages of one task, by number, in the order of the times that matter.
#[derive(Default)]
pub struct Mail {
    /// By when they are sent.
    pub sent: Vec<u32>,
    /// By when they are posted.
    pub posted: Vec<u32>,
    /// By when they are received.
    pub received: Vec<u32>,
}

/// How much of it has been used.
#[derive(Clone, Copy, Default)]
struct Used {
    sent: usize,
    posted: usize,
    received: usize,
}

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

/// One task.
pub struct Task<'a> {
    /// Its first thread.
    pub thread: Thread,
    /// What the rank shares.
    pub shared: Shared<'a>,
    me: u32,
    mail: Mail,
    used: Used,
    /// Where receives were posted that have not come.
    posts: FxHashMap<u32, Post>,
    /// Events of the moment that is not over.
    moment: u64,
    pairs: Vec<(u64, u64)>,
    /// The region of the MPI call that it is in, and the type of its events.
    inside: Option<(u32, u64)>,
    /// Instrumented functions that it is in.
    functions: Vec<u32>,
}

/// Whether an event is that an MPI call begins.
fn is_call((kind, value): &(u64, u64)) -> bool {
    kind::MPI.contains(kind) && *value != 0
}

/// Whether a call that begins at `from` and ends at `to` holds what begins at `at`: what begins as it ends is the next one's.
fn begins_in(at: u64, from: u64, to: u64) -> bool {
    at == from || (from..to).contains(&at)
}

/// Whether it holds what ends at `at`.
fn ends_in(at: u64, from: u64, to: u64) -> bool {
    at == to || (from < at && at < to)
}

impl<'a> Task<'a> {
    /// Task `me`, of which nothing is read.
    pub fn new(me: u32, shared: Shared<'a>, mail: Mail) -> Self {
        Self {
            thread: Thread::new(true),
            shared,
            me,
            mail,
            used: Used::default(),
            posts: FxHashMap::default(),
            moment: 0,
            pairs: Vec::new(),
            inside: None,
            functions: Vec::new(),
        }
    }

    /// Another event of this task, at `time` of the trace.
    pub fn event(
        &mut self,
        known: Known<'_>,
        places: &mut Places<'_>,
        time: u64,
        pair: (u64, u64),
    ) {
        if time != self.moment {
            self.flush(known, places);
            self.moment = time;
        }
        self.pairs.push(pair);
    }

    /// The moment is over. Each call that begins in it takes what was told up to the next one.
    pub fn flush(&mut self, known: Known<'_>, places: &mut Places<'_>) {
        let pairs = std::mem::take(&mut self.pairs);
        let mut rest = pairs.as_slice();
        while !rest.is_empty() {
            let mut begins = (0..rest.len()).filter(|i| rest.get(*i).is_some_and(is_call));
            let end = begins.nth(1).unwrap_or(rest.len());
            let (part, behind) = rest.split_at(end);
            self.take(known, places, part);
            rest = behind;
        }
    }

    /// Takes events of one moment, in which one call begins at the most.
    fn take(&mut self, known: Known<'_>, places: &mut Places<'_>, pairs: &[(u64, u64)]) {
        let (time, ns) = (self.moment, known.ns(self.moment));
        let call = pairs.iter().copied().find(is_call);
        let told = call.map(|_| places.path(&mut self.shared.regions.borrow_mut(), pairs));
        // Between two calls it was in what is around both, as far as anybody can tell.
        if let Some((path, _)) = told.as_ref().filter(|(p, _)| !p.is_empty())
            && self.inside.is_none()
            && self.functions.is_empty()
        {
            self.thread.back_to(path);
        }
        self.thread.advance(&mut self.shared, ns);
        for (kind, value) in pairs {
            if let Some(place) = known.counters.get(kind) {
                self.thread.counter_grew(&mut self.shared, *place, *value);
            }
        }
        // An end that is none of the call before is that of a call which takes no time.
        let mut no_time = false;
        for (kind, value) in pairs {
            match *kind {
                kind::FLUSH => self.recorded(ns, Why::Flush, *value == 0),
                kind::TRACING => self.recorded(ns, Why::Off, *value != 0),
                kind::FUNCTION => self.function(places, ns, pairs, *value),
                k if kind::MPI.contains(&k) && *value == 0 => {
                    let own = call.is_some_and(|(kind, _)| kind == k);
                    match self.inside {
                        Some((_, of)) if of == k || !own => self.call_ends(known, time),
                        _ => no_time |= own,
                    }
                }
                _ => {}
            }
        }
        if let (Some((kind, value)), Some((path, line))) = (call, told) {
            self.call_ends(known, time);
            if !path.is_empty() && self.functions.is_empty() {
                self.thread.go_to(&mut self.shared, ns, &path);
            }
            let region = places.mpi(&mut self.shared.regions.borrow_mut(), kind, value);
            self.thread.enter(&mut self.shared, ns, region, line);
            self.inside = Some((region, kind));
            self.collective(known, pairs);
            if no_time {
                self.call_ends(known, time);
            }
        }
    }

    fn recorded(&mut self, ns: u64, why: Why, on: bool) {
        match on {
            true => self.thread.go_on(&mut self.shared, ns, why),
            false => self.thread.pause(&mut self.shared, ns, why),
        }
    }

    fn function(&mut self, places: &mut Places<'_>, ns: u64, pairs: &[(u64, u64)], value: u64) {
        if value == 0 {
            if let Some(region) = self.functions.pop() {
                self.thread.leave(&mut self.shared, ns, region);
            }
            return;
        }
        let of = kind::FUNCTION + kind::TO_FUNCTION_LINE;
        let line = pairs.iter().copied().find(|p| p.0 == of);
        let mut regions = self.shared.regions.borrow_mut();
        let found = places.function(&mut regions, (kind::FUNCTION, value), line);
        drop(regions);
        if let Some((region, _)) = found {
            self.thread.enter(&mut self.shared, ns, region, 0);
            self.functions.push(region);
        }
    }

    /// What the call that begins says of a collective.
    fn collective(&mut self, known: Known<'_>, pairs: &[(u64, u64)]) {
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
        let told = TracedMessage {
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
        ends.collective(&mut self.thread, &mut self.shared, told);
    }

    /// The call that it is in ends: what was sent, posted and received in it is known by its times.
    fn call_ends(&mut self, known: Known<'_>, time: u64) {
        let Some((region, _)) = self.inside.take() else {
            return;
        };
        if let Some(call) = self.thread.call() {
            let from = call.enter_ns.saturating_sub(1) / known.unit_ns.max(1);
            let class = call.class();
            self.messages(known, class, from, time);
        }
        self.thread.leave(&mut self.shared, known.ns(time), region);
    }

    fn messages(&mut self, known: Known<'_>, class: Option<Class>, from: u64, to: u64) {
        let sends = matches!(class, Some(Class::Send | Class::SendRecv | Class::Start));
        let posts = matches!(class, Some(Class::Recv | Class::SendRecv | Class::Start));
        let receives = posts || matches!(class, Some(Class::Wait | Class::Test | Class::Probe));
        let message = |n: &u32| known.messages.get(*n as usize).copied();
        while let Some(n) = self.mail.sent.get(self.used.sent).copied() {
            let Some(m) = message(&n).filter(|m| m.sent < to || m.sent == from) else {
                break;
            };
            self.used.sent += 1;
            if sends && begins_in(m.sent, from, to) {
                self.link(EventKind::Send, n, m.dest, &m, None);
            }
        }
        while let Some(n) = self.mail.posted.get(self.used.posted).copied() {
            let Some(m) = message(&n).filter(|m| m.posted < to || m.posted == from) else {
                break;
            };
            self.used.posted += 1;
            let here = ends_in(m.received, from, to) && receives;
            if posts && begins_in(m.posted, from, to) && !here {
                self.link(EventKind::RecvPost, n, m.source, &m, None);
                if let Some(call) = self.thread.call() {
                    self.posts.insert(n, call.post());
                }
            }
        }
        while let Some(n) = self.mail.received.get(self.used.received).copied() {
            let Some(m) = message(&n).filter(|m| m.received <= to) else {
                break;
            };
            self.used.received += 1;
            let post = self.posts.remove(&n);
            if receives && ends_in(m.received, from, to) {
                self.link(EventKind::Recv, n, m.source, &m, post);
            }
        }
    }

    fn link(&mut self, kind: EventKind, n: u32, partner: u32, m: &Message, post: Option<Post>) {
        let ix = self
            .shared
            .links
            .known(mix2(0x7061_7261_7665_7200, u64::from(n)));
        let me = self.me;
        let Some(call) = self.thread.call() else {
            return;
        };
        let completes = kind == EventKind::Recv && post.is_some();
        if !completes && call.params == Params::default() {
            let offset = i32::try_from(i64::from(partner) - i64::from(me));
            // A call that sends and receives names whom it sends to, which here is nobody.
            let sends_to_nobody = call.class() == Some(Class::SendRecv) && kind != EventKind::Send;
            call.params = Params {
                peer: if sends_to_nobody {
                    peer::PROC_NULL
                } else {
                    offset.unwrap_or(peer::UNKNOWN)
                },
                tag: i32::try_from(m.tag).unwrap_or(tag::NONE),
                bytes: m.bytes,
                ..Params::default()
            };
        }
        call.links.push(Link {
            kind,
            ix,
            peer: partner,
            bytes: m.bytes,
            post,
            comm: u16::MAX,
        });
    }
}
