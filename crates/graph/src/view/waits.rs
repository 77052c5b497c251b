//! Waiting in every MPI call on every rank, from the messages and collectives that were sampled at both ends.
//!
//! Waiting for the sampled ones is extrapolated to all of them (`extrapolate.rs`), at most to the exact time that the
//! rank spent in that call.

use super::extrapolate::Factors;
use crate::pag::RunView;
use crate::topdown::VertexIx;
use headwater_model::run::Run;
use rustc_hash::FxHashMap;

/// A vertex on a rank.
pub type At = (VertexIx, u32);

/// Waiting at messages or collectives of one kind, extrapolated to the run.
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
    /// The part of a root's wait until the first of the others came.
    pub(crate) first: Option<f64>,
    /// Seconds that the sender waited, for the call that posted the receive.
    pub(crate) late_receiver: f64,
    /// The call that completed the send, in which its rank waited.
    pub(crate) done: At,
    /// The call that posted the receive.
    pub(crate) post: At,
    /// For a collective: index into the run's functions.
    pub(crate) collective: Option<u16>,
}

/// All waiting, in the order of the run's rows.
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

/// All waits for known calls, from sampled messages and collectives, extrapolated to the run.
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

/// Seconds waited in each call that has any waiting.
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
