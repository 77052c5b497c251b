//! Joins both ends of messages, and all ranks of collectives.
//!
//! Wait states by the formulas that Scalasca documents: a late sender's wait is
//! `min(E_send, X_recv) − E_recv` with the enter of the *completing* call; waits are never negative. A late receiver's
//! wait is that of the blocking send, or of the call that completes a nonblocking one, until the receive is
//! posted; a call that sends and receives, as `MPI_Sendrecv`, has none, as nobody knows when its send was done.
//! Every call waits once, whatever it completes (`once.rs`). A nonblocking collective arrives where it is posted and waits where it is completed. A root that needs
//! all others' data waits for the last of them, and Scalasca's early reduce, until the first came, is kept beside
//! it. In a scan ranks wait for lower ones, taken in the order of the world's ranks.

use super::access::{self, Access};
use super::clock::Clocks;
use super::layout::{EventRow, MessageRow};
use super::renumber::Renumber;
use super::windows::Windows;
use headwater_model::hash::mix;
use headwater_model::run::*;
use headwater_mpi_abi::{self as abi, Class, Needs};
use once::{Call, For, SiteKey, Waits};
use rounding::{Times, Track};
use rustc_hash::FxHashMap;

mod once;
mod rounding;

/// Ends of messages that are looked at together, at the most: of a program that was recorded, and of a trace, which has
/// all of them.
const MOST_ENDS: usize = 1 << 20;
const MOST_ENDS_OF_TRACE: usize = 1 << 23;

/// Sending rank, receiving rank, and the contexts that send, complete the send, post, and complete the receive.
type EdgeKey = (u32, u32, CtxId, CtxId, CtxId, CtxId);

/// One end of a message, or one rank's part in a collective.
pub(super) struct End {
    row: MessageRow,
    rank: u32,
    thread: u16,
    ctx: CtxId,
    post: CtxId,
    comm: u16,
    func: u16,
}

impl End {
    pub(super) fn new(row: &MessageRow, number: &Renumber, func: u16) -> Self {
        Self {
            row: *row,
            rank: number.rank,
            thread: number.thread,
            ctx: number.ctx(row.ctx),
            post: number.ctx(row.post_ctx),
            comm: number.comm(row.comm),
            func,
        }
    }

    /// Clock when it was posted; that of the call itself where it posts.
    fn posted_ns(&self) -> u64 {
        match self.row.post_ns {
            0 => self.row.enter_ns,
            posted => posted,
        }
    }

    /// The call that it is in.
    fn call(&self) -> Call {
        (self.rank, self.thread, self.row.enter_ns)
    }

    fn kind(&self) -> Option<EventKind> {
        u8::try_from(self.row.kind)
            .ok()
            .and_then(EventKind::from_code)
    }
}

/// A row of an event window.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    window: u32,
    row: EventRow,
    rank: u32,
    thread: u16,
    ctx: CtxId,
    func: u16,
}

impl Seen {
    pub(super) fn new(window: u32, row: &EventRow, number: &Renumber, func: u16) -> Self {
        Self {
            window,
            row: *row,
            rank: number.rank,
            thread: number.thread,
            ctx: number.ctx(row.ctx),
            func,
        }
    }
}

/// The ends of messages that are kept. As in the collector, this depends on the number of a message, which is
/// the same at all of its ends, so what stays can be joined.
pub(super) struct Messages {
    ends: Vec<End>,
    most: usize,
    limit: u64,
}

impl Messages {
    /// None so far; `exact` says that they are a trace's.
    pub(super) fn new(exact: bool) -> Self {
        Self {
            ends: Vec::new(),
            most: if exact { MOST_ENDS_OF_TRACE } else { MOST_ENDS },
            limit: u64::MAX,
        }
    }

    /// Takes an end, or not.
    pub(super) fn take(&mut self, end: End) {
        if mix(end.row.id) > self.limit {
            return;
        }
        self.ends.push(end);
        while self.ends.len() > self.most && self.limit > 1 {
            self.limit /= 2;
            self.ends.retain(|e| mix(e.row.id) <= self.limit);
        }
    }
}

/// Joins sampled messages to edges and sampled collectives to waits.
pub(super) fn messages(run: &mut Run, Messages { ends, .. }: Messages, clocks: &Clocks) {
    let mut sends: FxHashMap<u64, &End> = FxHashMap::default();
    let mut done: FxHashMap<u64, &End> = FxHashMap::default();
    let mut collectives: FxHashMap<u64, Vec<&End>> = FxHashMap::default();
    for end in &ends {
        match end.kind() {
            Some(EventKind::Send) => {
                sends.insert(end.row.id, end);
            }
            Some(EventKind::SendDone) => {
                done.insert(end.row.id, end);
            }
            Some(EventKind::Collective) => collectives.entry(end.row.id).or_default().push(end),
            _ => {}
        }
    }
    let at = |e: &End, ns: u64| clocks.common(e.rank, ns);
    let mut edges: FxHashMap<EdgeKey, MessageEdge> = FxHashMap::default();
    let mut waits = Waits::default();
    let class = |e: &End| abi::by_name(run.function(e.func)).map(|f| f.class);
    for recv in ends.iter().filter(|e| e.kind() == Some(EventKind::Recv)) {
        let Some(send) = sends.get(&recv.row.id) else {
            continue;
        };
        let completed = done.get(&send.row.id);
        let done_ctx = completed.map_or(CtxId::NONE, |d| d.ctx);
        let key = (
            send.rank, recv.rank, send.ctx, done_ctx, recv.post, recv.ctx,
        );
        let edge = edges.entry(key).or_insert_with(|| MessageEdge {
            src: send.rank,
            dst: recv.rank,
            send_ctx: send.ctx,
            done_ctx,
            post_ctx: recv.post,
            recv_ctx: recv.ctx,
            ..Default::default()
        });
        edge.sampled += 1;
        edge.bytes = edge.bytes.saturating_add(send.row.bytes);
        let (enter, leave) = (at(recv, recv.row.enter_ns), at(recv, recv.row.leave_ns));
        let wait = at(send, send.row.enter_ns).min(leave).saturating_sub(enter);
        if wait > 0 {
            edge.late_senders += 1;
            waits.take(recv.call(), wait, For::Sender(key));
        } else if class(send) != Some(Class::SendRecv) {
            let posted = at(recv, recv.posted_ns());
            // Where the sender waits: in the send itself or where that is completed.
            let send = completed.unwrap_or(send);
            if at(send, send.row.leave_ns) > posted {
                let wait = posted.saturating_sub(at(send, send.row.enter_ns));
                waits.take(send.call(), wait, For::Receiver(key));
            }
        }
    }
    let mut sites = collective_waits(run, collectives, at, &mut waits);
    for (wait, of) in waits.all() {
        match of {
            For::Sender(key) => {
                if let Some(edge) = edges.get_mut(&key) {
                    edge.late_sender_ns = edge.late_sender_ns.saturating_add(wait);
                }
            }
            For::Receiver(key) => {
                if let Some(edge) = edges.get_mut(&key) {
                    edge.late_receiver_ns = edge.late_receiver_ns.saturating_add(wait);
                }
            }
            For::Collective(key, until_first) => {
                if let Some(site) = sites.get_mut(&key) {
                    site.wait_ns = site.wait_ns.saturating_add(wait);
                    site.first_ns = site.first_ns.map(|ns| ns.saturating_add(until_first));
                }
            }
        }
    }
    run.messages = edges.into_values().collect();
    sort(&mut run.messages);
    run.collectives = sites.into_values().collect();
    (run.collectives).sort_by_key(|w| (w.rank, w.ctx, w.func, w.comm));
}

fn sort(all: &mut [MessageEdge]) {
    all.sort_by_key(|e| (e.dst, e.src, e.send_ctx, e.done_ctx, e.post_ctx, e.recv_ctx));
}

/// Collectives by rank and call, without what is waited in them: that goes to `waits`.
fn collective_waits(
    run: &Run,
    collectives: FxHashMap<u64, Vec<&End>>,
    at: impl Fn(&End, u64) -> u64,
    waits: &mut Waits,
) -> FxHashMap<SiteKey, CollectiveWait> {
    let mut sites: FxHashMap<SiteKey, CollectiveWait> = FxHashMap::default();
    for mut parts in collectives.into_values() {
        let Some(first) = parts.first() else { continue };
        let comm = run.comms.get(first.comm as usize);
        let size = comm.map_or(2, |c| c.size as usize);
        let class = abi::by_name(run.function(first.func)).map(|f| f.class);
        let needs = |is_root| class.map_or(Needs::All, |c| c.needs(is_root));
        // A rank that is alone in its communicator waits for nobody. Ranks that are each alone in one, as in
        // `MPI_COMM_SELF`, may all know theirs by the same number.
        if size < 2 || parts.len() < size {
            continue;
        }
        let enter = |e: &End| at(e, e.row.enter_ns);
        let arrival = |e: &End| at(e, e.posted_ns());
        let latest = parts.iter().map(|e| arrival(e)).max().unwrap_or(0);
        let root = parts
            .iter()
            .find(|e| e.rank == e.row.peer)
            .map(|e| arrival(e));
        let others = parts.iter().filter(|e| e.rank != e.row.peer);
        let first_other = others.map(|e| arrival(e)).min();
        parts.sort_by_key(|e| e.rank);
        // The latest arrival of lower ranks.
        let mut lower = 0;
        for e in &parts {
            let leave = at(e, e.row.leave_ns);
            let of_lower = lower;
            lower = lower.max(arrival(e));
            let until = match (needs(e.rank == e.row.peer), root) {
                (Needs::Lower, _) => of_lower,
                (Needs::Root, Some(root)) => root,
                (Needs::Nobody, Some(_)) => enter(e),
                // Libraries may let ranks read and write each for itself: who leaves first did not wait.
                (Needs::All, _) if class == Some(Class::FileAll) && leave < latest => enter(e),
                _ => latest,
            };
            let key = (e.rank, e.ctx, e.func, e.comm);
            let row = sites.entry(key).or_insert_with(|| CollectiveWait {
                rank: e.rank,
                ctx: e.ctx,
                func: e.func,
                comm: e.comm,
                ..Default::default()
            });
            row.sampled += 1;
            let since_enter = |ns: u64| ns.min(leave).saturating_sub(enter(e));
            let until_first = first_other
                .filter(|_| class == Some(Class::AllToOne) && e.rank == e.row.peer)
                .map(since_enter);
            if until_first.is_some() {
                row.first_ns.get_or_insert(0);
            }
            let of = For::Collective(key, until_first.unwrap_or(0));
            waits.take(e.call(), since_enter(until), of);
            row.last += u64::from(arrival(e) == latest);
            let after = leave.saturating_sub(latest.max(enter(e)));
            row.after_last_ns = row.after_last_ns.saturating_add(after);
        }
    }
    sites
}

/// Puts events into the run, window by window and rank by rank, with links numbered. Who waited for the lock of a
/// window got a message from the rank that released it.
pub(super) fn events(run: &mut Run, mut seen: Vec<Seen>, clocks: &Clocks, windows: &Windows) {
    seen.sort_by_key(|s| (s.window, s.rank));
    let mut locked: FxHashMap<EdgeKey, MessageEdge> = FxHashMap::default();
    for rows in seen.chunk_by(|a, b| a.window == b.window) {
        let number = rows.first().map_or(0, |s| s.window);
        let earliest = rows
            .iter()
            .map(|s| clocks.common(s.rank, s.row.enter_ns))
            .min()
            .unwrap_or(0);
        // Of one that is cut out of the run it matters how long after its begin each rank calls.
        let base = windows.begin(number).map_or(earliest, |b| b.min(earliest));
        let mut links = number_links(rows);
        let mut waits: FxHashMap<usize, Vec<(EventKind, u32, u32)>> = FxHashMap::default();
        for (waiter, holder, wait) in lock_waits(rows, clocks) {
            let (Some(to), Some(from)) = (rows.get(waiter), rows.get(holder)) else {
                continue;
            };
            let link = links.next();
            // A call that waited itself gives back at its end, which a message does not say: few libraries get locks
            // as late as that.
            let mut add = |at, kind, peer| waits.entry(at).or_default().push((kind, link, peer));
            add(holder, EventKind::Send, to.rank);
            add(waiter, EventKind::Recv, from.rank);
            let key = (
                from.rank,
                to.rank,
                from.ctx,
                CtxId::NONE,
                CtxId::NONE,
                to.ctx,
            );
            let edge = locked.entry(key).or_insert_with(|| MessageEdge {
                src: from.rank,
                dst: to.rank,
                send_ctx: from.ctx,
                post_ctx: CtxId::NONE,
                recv_ctx: to.ctx,
                ..Default::default()
            });
            edge.sampled += 1;
            edge.late_senders += 1;
            edge.late_sender_ns = edge.late_sender_ns.saturating_add(wait);
        }
        let mut track: Option<((u32, u16), Track)> = None;
        for (i, s) in rows.iter().enumerate() {
            let exact = Times {
                enter: clocks.common(s.rank, s.row.enter_ns).saturating_sub(base),
                busy: s.row.busy_ns,
                mpi: s.row.mpi_ns,
            };
            let of = (s.rank, s.thread);
            let times = match &mut track {
                _ if windows.exact => exact,
                Some((its, track)) if *its == of => track.next(s.row.first != 0, exact),
                _ => {
                    let (_, first) = track.insert((of, Track::new()));
                    first.next(s.row.first != 0, exact)
                }
            };
            let one = Event {
                window: s.window,
                rank: s.rank,
                thread: s.thread,
                ctx: s.ctx,
                func: s.func,
                kind: EventKind::from_code(s.row.kind).unwrap_or_default(),
                first_of_call: s.row.first != 0,
                link: links.of(s.row.id),
                peer: s.row.peer,
                bytes: s.row.bytes,
                busy_ns: times.busy,
                enter_ns: times.enter,
                mpi_ns: times.mpi,
            };
            if !access::is_one(s.row.kind) {
                run.events.push(one);
                continue;
            }
            let found = waits.get(&i).map_or(&[][..], Vec::as_slice);
            let nobody = (EventKind::Local, 0, u32::MAX);
            let first = found.first().unwrap_or(&nobody);
            for (n, (kind, link, peer)) in
                [first].into_iter().chain(found.iter().skip(1)).enumerate()
            {
                let time = if n == 0 {
                    (one.busy_ns, one.mpi_ns)
                } else {
                    (0, 0)
                };
                run.events.push(Event {
                    kind: *kind,
                    link: *link,
                    peer: *peer,
                    bytes: 0,
                    first_of_call: n == 0,
                    busy_ns: time.0,
                    mpi_ns: time.1,
                    ..one
                });
            }
        }
    }
    if !locked.is_empty() {
        run.messages.extend(locked.into_values());
        sort(&mut run.messages);
    }
}

/// Calls of one window that waited for a lock: their rows, those of the calls that released it, and how long.
fn lock_waits(rows: &[Seen], clocks: &Clocks) -> Vec<(usize, usize, u64)> {
    let of: Vec<usize> = (0..rows.len())
        .filter(|i| rows.get(*i).is_some_and(|s| access::is_one(s.row.kind)))
        .collect();
    let mut all: Vec<Access> = of
        .iter()
        .filter_map(|i| rows.get(*i))
        .map(|s| Access {
            kind: s.row.kind,
            caller: (s.rank, s.thread),
            window: s.row.id,
            target: s.row.peer,
            exclusive: s.row.bytes != 0,
            enter: clocks.common(s.rank, s.row.enter_ns),
            leave: clocks.common(s.rank, s.row.enter_ns.saturating_add(s.row.mpi_ns)),
        })
        .collect();
    access::fill_in(&mut all);
    let given_back = access::GivenBack::new(&all);
    let wait = |(waiter, call): (usize, &Access)| {
        let holder = given_back.waited_for(call)?;
        let until = all.get(holder)?.enter;
        Some((
            *of.get(waiter)?,
            *of.get(holder)?,
            until.saturating_sub(call.enter),
        ))
    };
    all.iter().enumerate().filter_map(wait).collect()
}

/// Dense numbers, from 1, for messages that are sent in the window and for collectives.
struct Links {
    of: FxHashMap<u64, u32>,
    last: u32,
}

impl Links {
    fn next(&mut self) -> u32 {
        self.last += 1;
        self.last
    }

    fn of(&self, id: u64) -> u32 {
        self.of.get(&id).copied().unwrap_or(0)
    }
}

fn number_links(rows: &[Seen]) -> Links {
    let mut links = Links {
        of: FxHashMap::default(),
        last: 0,
    };
    for s in rows {
        let origin = matches!(
            EventKind::from_code(s.row.kind),
            Some(EventKind::Send | EventKind::Collective | EventKind::CollectivePost)
        );
        if origin && s.row.id != 0 && !links.of.contains_key(&s.row.id) {
            let next = links.next();
            links.of.insert(s.row.id, next);
        }
    }
    links
}

#[cfg(test)]
mod tests;
