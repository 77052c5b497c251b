//! Waiting of every MPI call on every rank, from the messages and collectives that both ends sampled.
//!
//! A sampled message stands for all that the same call asked for: what was waited for it is brought up to the number
//! of those. Where a call starts several requests it is the number of those that were sent, or their bytes, that
//! tells; collectives that other calls complete are as many as were posted. No rank waited longer in a call
//! than it was in it.

use super::starts::{Started, Starts, started};
use crate::pag::RunView;
use crate::parallel::{CollectiveEdge, MessageLink};
use crate::topdown::VertexIx;
use headwater_model::run::{MpiCalls, Run, peer};
use headwater_mpi_abi as abi;
use rustc_hash::FxHashMap;

/// A vertex on a rank.
pub type At = (VertexIx, u32);

/// A message's or collective's share of waiting, brought up to the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scaled {
    /// The call that was waited for, where that is known.
    pub(crate) from: Option<At>,
    /// The call that waited.
    pub(crate) to: At,
    /// How many.
    pub(crate) count: u64,
    /// Their bytes.
    pub(crate) bytes: u64,
    /// Seconds that the receiver waited.
    pub(crate) late_sender: f64,
    /// Of a root's wait the part until the first of the others came.
    pub(crate) first: Option<f64>,
    /// Seconds that the sender waited, for the call that posted the receive.
    pub(crate) late_receiver: f64,
    /// The call that completed the send, in which its rank waited.
    pub(crate) done: At,
    /// The call that posted the receive.
    pub(crate) post: At,
    /// Index into the run's functions, of a collective.
    pub(crate) collective: Option<u16>,
}

/// What a row of calls is to messages.
#[derive(Clone, Copy, Default)]
pub(crate) struct Partners {
    /// Messages that it sends.
    pub(crate) sends: f64,
    /// Messages that it asks for.
    receives: f64,
}

/// Calls of a row that name one partner: how many messages they send, and how many they ask for.
pub(crate) fn partners(run: &Run, starts: &Starts, row: &MpiCalls, at: At) -> Partners {
    let Some(function) = abi::by_name(run.function(row.func)) else {
        return Partners::default();
    };
    let (count, is_one) = (row.count as f64, row.peer != peer::PROC_NULL);
    let (sends, receives) = match (function.class, started(run, row)) {
        (_, Some(Started::One)) if is_one => {
            let sent = starts.sent_part(row, at);
            (count * sent, count * (1.0 - sent))
        }
        (_, Some(_)) => (0.0, 0.0),
        (abi::Class::Send, _) if is_one => (count, 0.0),
        // It tells only whom it sends to.
        (abi::Class::SendRecv, _) => (if is_one { count } else { 0.0 }, count),
        (abi::Class::Send, _) => (0.0, 0.0),
        _ => (0.0, if is_one { count } else { 0.0 }),
    };
    Partners { sends, receives }
}

/// How many messages and collectives there were for each that was sampled.
struct Factors {
    calls: FxHashMap<At, Partners>,
    sampled: FxHashMap<At, Partners>,
    /// Bytes of calls that start several requests, all and sampled.
    several: FxHashMap<At, (u64, u64)>,
    /// By rank, function and communicator: collectives that other calls complete, all and sampled.
    posted: FxHashMap<(u32, u16, u16), (u64, u64)>,
    /// By rank: the same of persistent ones.
    persistent: FxHashMap<u32, (u64, u64)>,
}

/// When a function of the run is done, if it is a collective.
fn mode(run: &Run, func: u16) -> Option<abi::Mode> {
    let function = abi::by_name(run.function(func))?;
    function.is_collective().then_some(function.mode)
}

impl Factors {
    fn new(run: &Run, view: &RunView) -> Self {
        let starts = Starts::new(run, view);
        let mut this = Self {
            calls: FxHashMap::default(),
            sampled: FxHashMap::default(),
            several: FxHashMap::default(),
            posted: FxHashMap::default(),
            persistent: FxHashMap::default(),
        };
        for c in &run.calls {
            if mode(run, c.func) == Some(abi::Mode::Nonblocking) {
                let all = this.posted.entry((c.rank, c.func, c.comm)).or_default();
                all.0 = all.0.saturating_add(c.count);
            }
            let Some(v) = view.vertex(c.ctx) else {
                continue;
            };
            let at = (v, c.rank);
            match started(run, c) {
                Some(Started::Several) => this.several.entry(at).or_default().0 += c.bytes,
                Some(Started::Collective) => {
                    this.persistent.entry(c.rank).or_default().0 += c.count
                }
                _ => {}
            }
            let own = partners(run, &starts, c, at);
            let sum = this.calls.entry(at).or_default();
            sum.sends += own.sends;
            sum.receives += own.receives;
        }
        for m in &view.parallel.messages {
            this.sampled.entry((m.send, m.src)).or_default().sends += m.count as f64;
            this.sampled.entry((m.post, m.dst)).or_default().receives += m.count as f64;
            for at in [(m.send, m.src), (m.post, m.dst)] {
                if let Some(several) = this.several.get_mut(&at) {
                    several.1 = several.1.saturating_add(m.bytes);
                }
            }
        }
        for c in &view.parallel.collectives {
            match mode(run, c.func) {
                Some(abi::Mode::Nonblocking) => {
                    this.posted.entry((c.rank, c.func, c.comm)).or_default().1 += c.count;
                }
                Some(abi::Mode::Persistent) => {
                    this.persistent.entry(c.rank).or_default().1 += c.count
                }
                _ => this.sampled.entry((c.vertex, c.rank)).or_default().receives += c.count as f64,
            }
        }
        this
    }

    /// Of calls that name one partner, by a figure of theirs; nothing where they also start several requests.
    fn by_calls(&self, at: At, figure: fn(&Partners) -> f64) -> Option<f64> {
        let of = |map: &FxHashMap<At, Partners>| map.get(&at).map_or(0.0, figure);
        let (calls, sampled) = (of(&self.calls), of(&self.sampled));
        let known = calls > 0.0 && sampled > 0.0 && !self.several.contains_key(&at);
        known.then(|| calls / sampled)
    }

    fn of_message(&self, m: &MessageLink) -> f64 {
        let (post, send) = ((m.post, m.dst), (m.send, m.src));
        // Nobody knows how many requests a call starts that starts several: the other end may tell, or the bytes.
        let by_bytes = || {
            let (all, sampled) = *self.several.get(&post)?;
            (sampled > 0).then(|| all as f64 / sampled as f64)
        };
        let known = self
            .by_calls(post, |p| p.receives)
            .or_else(|| self.by_calls(send, |p| p.sends))
            .or_else(by_bytes);
        known.unwrap_or(1.0).max(1.0)
    }

    fn of_collective(&self, run: &Run, c: &CollectiveEdge) -> f64 {
        let (all, sampled) = match mode(run, c.func) {
            Some(abi::Mode::Nonblocking) => self.posted.get(&(c.rank, c.func, c.comm)),
            Some(abi::Mode::Persistent) => self.persistent.get(&c.rank),
            _ => {
                let by_calls = self.by_calls((c.vertex, c.rank), |p| p.receives);
                return by_calls.unwrap_or(1.0).max(1.0);
            }
        }
        .copied()
        .unwrap_or_default();
        (all as f64 / (sampled as f64).max(1.0)).max(1.0)
    }
}

/// Everything that was waited for, in the order of the run's rows.
pub(crate) fn scaled(run: &Run, view: &RunView) -> Vec<Scaled> {
    let factors = Factors::new(run, view);
    let messages = view.parallel.messages.iter().map(|m| {
        let by = factors.of_message(m);
        Scaled {
            from: Some((m.send, m.src)),
            to: (m.recv, m.dst),
            count: (m.count as f64 * by).round() as u64,
            bytes: (m.bytes as f64 * by).round() as u64,
            late_sender: m.late_sender * by,
            first: None,
            late_receiver: m.late_receiver * by,
            done: (m.done, m.src),
            post: (m.post, m.dst),
            collective: None,
        }
    });
    let collectives = view.parallel.collectives.iter().map(|c| {
        let at = (c.vertex, c.rank);
        let by = factors.of_collective(run, c);
        let on = c.on.filter(|on| on.0 != c.rank);
        Scaled {
            from: on.map(|(rank, vertex)| (vertex, rank)),
            to: at,
            count: (c.count as f64 * by).round() as u64,
            bytes: 0,
            late_sender: c.wait * by,
            first: c.first.map(|f| f * by),
            late_receiver: 0.0,
            done: at,
            post: at,
            collective: Some(c.func),
        }
    });
    let mut all: Vec<Scaled> = messages.chain(collectives).collect();
    let spent = |(v, rank): At| view.mpi.row(v).map_or(0.0, |row| row.at(rank));
    let shares: FxHashMap<At, f64> = (waited(&all).into_iter())
        .map(|(at, seconds)| (at, (spent(at) / seconds).min(1.0)))
        .collect();
    let share = |at: At| shares.get(&at).copied().unwrap_or(1.0);
    for s in &mut all {
        s.late_sender *= share(s.to);
        s.first = s.first.map(|f| f * share(s.to));
        s.late_receiver *= share(s.done);
    }
    all
}

/// Waiting of one call for another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waiting {
    /// The call that waited.
    pub at: At,
    /// The call that was waited for.
    pub on: At,
    /// Seconds in the whole run.
    pub seconds: f64,
}

/// All waits for calls that are known, from sampled messages and collectives brought up to the run.
pub fn waits(run: &Run, view: &RunView) -> Vec<Waiting> {
    let of = |s: &Scaled| {
        let sender = s.from.map(|on| (s.to, on, s.late_sender));
        [sender, Some((s.done, s.post, s.late_receiver))]
    };
    let all = scaled(run, view);
    let waits = all.iter().flat_map(of).flatten();
    let some = waits.filter(|w| w.2 > 0.0);
    some.map(|(at, on, seconds)| Waiting { at, on, seconds })
        .collect()
}

/// Seconds waited in each call, those of which there are any.
fn waited(all: &[Scaled]) -> FxHashMap<At, f64> {
    let mut sums: FxHashMap<At, f64> = FxHashMap::default();
    for s in all {
        for (at, seconds) in [(s.to, s.late_sender), (s.done, s.late_receiver)] {
            if seconds > 0.0 {
                *sums.entry(at).or_default() += seconds;
            }
        }
    }
    sums
}

/// Seconds waited in each call on each rank, by vertex and rank.
pub(crate) fn by_call(run: &Run, view: &RunView) -> Vec<(VertexIx, u32, f64)> {
    let mut out: Vec<(VertexIx, u32, f64)> = waited(&scaled(run, view))
        .into_iter()
        .filter(|(at, _)| at.1 < run.header.ranks)
        .map(|(at, seconds)| (at.0, at.1, seconds))
        .collect();
    out.sort_unstable_by_key(|w| (w.0, w.1));
    out
}
