//! Waiting of every MPI call on every rank, from the messages and collectives that both ends sampled.
//!
//! A sampled message stands for all that the same call received: what was waited for it is brought up to
//! the number of those calls that could receive one. No rank waited longer in a call than it was in it.

use crate::pag::RunView;
use crate::topdown::VertexIx;
use headwater_model::run::{MpiCalls, Run, peer};
use headwater_mpi_abi as abi;
use rustc_hash::FxHashMap;

/// A vertex on a rank.
pub(crate) type At = (VertexIx, u32);

/// A message's or collective's share of waiting, brought up to the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scaled {
    /// The call that was waited for.
    pub(crate) from: At,
    /// The call that waited.
    pub(crate) to: At,
    /// How many.
    pub(crate) count: u64,
    /// Their bytes.
    pub(crate) bytes: u64,
    /// Seconds that the receiver waited.
    pub(crate) late_sender: f64,
    /// Seconds that the sender waited, for the call in the last field.
    pub(crate) late_receiver: f64,
    /// The call that posted the receive.
    pub(crate) post: At,
    /// Index into the run's functions, of a collective.
    pub(crate) collective: Option<u16>,
}

/// Whether calls of a row may wait for a message; a call that also sends tells only whom it sends to.
fn may_wait(run: &Run, row: &MpiCalls) -> bool {
    row.peer != peer::PROC_NULL
        || abi::by_name(run.function(row.func)).is_some_and(|f| f.class == abi::Class::SendRecv)
}

/// Everything that was waited for, in the order of the run's rows.
pub(crate) fn scaled(run: &Run, view: &RunView) -> Vec<Scaled> {
    let mut calls: FxHashMap<At, u64> = FxHashMap::default();
    for c in run.calls.iter().filter(|c| may_wait(run, c)) {
        if let Some(v) = view.vertex(c.ctx) {
            *calls.entry((v, c.rank)).or_default() += c.count;
        }
    }
    let mut sampled: FxHashMap<At, u64> = FxHashMap::default();
    for m in &view.parallel.messages {
        *sampled.entry((m.post, m.dst)).or_default() += m.count;
    }
    for c in &view.parallel.collectives {
        *sampled.entry((c.vertex, c.rank)).or_default() += c.count;
    }
    // A call that takes several messages is counted once for all of them.
    let factor = |at: At| {
        let of = |map: &FxHashMap<At, u64>| map.get(&at).copied().unwrap_or(0) as f64;
        (of(&calls) / of(&sampled).max(1.0)).max(1.0)
    };
    let messages = view.parallel.messages.iter().map(|m| {
        let by = factor((m.post, m.dst));
        Scaled {
            from: (m.send, m.src),
            to: (m.recv, m.dst),
            count: (m.count as f64 * by).round() as u64,
            bytes: (m.bytes as f64 * by).round() as u64,
            late_sender: m.late_sender * by,
            late_receiver: m.late_receiver * by,
            post: (m.post, m.dst),
            collective: None,
        }
    });
    let collectives = view.parallel.collectives.iter().map(|c| {
        let at = (c.vertex, c.rank);
        let by = factor(at);
        Scaled {
            from: c.on.map_or(at, |(rank, vertex)| (vertex, rank)),
            to: at,
            count: (c.count as f64 * by).round() as u64,
            bytes: 0,
            late_sender: c.wait * by,
            late_receiver: 0.0,
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
        s.late_receiver *= share(s.from);
    }
    all
}

/// Seconds waited in each call, those of which there are any.
fn waited(all: &[Scaled]) -> FxHashMap<At, f64> {
    let mut sums: FxHashMap<At, f64> = FxHashMap::default();
    for s in all {
        for (at, seconds) in [(s.to, s.late_sender), (s.from, s.late_receiver)] {
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
