//! What ranks compute in turn, by place: what critical paths through a chain compute beyond what one rank computes
//! itself.
//!
//! What all ranks compute at the same time is on a path as often as on one rank. What they compute in turn is on the
//! path once for each of them. Samples divide the time after a call over places. They are those of the rank itself,
//! because the last rank of a chain sends nothing, so that more follows its receive than that of the others.

use crate::find::chain_cost::{ChainCost, Piece};
use crate::measure::inclusive::Inclusive;
use crate::measure::replay::Played;
use crate::measure::scale::Scale;
use headwater_graph::{Pag, VertexIx};
use headwater_model::run::CtxId;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The places of the computation after a call on a rank, and their shares of it.
type Shares = Vec<(VertexIx, f64)>;

/// Computation by place, on critical paths and on the mean rank.
pub struct InTurn {
    /// Seconds on paths and on the mean rank, by vertex, with all that is inside it.
    seconds: Inclusive,
    shares: FxHashMap<(CtxId, u32), Shares>,
}

impl InTurn {
    /// Sums up all stretches with a chain.
    pub fn new(pag: &Pag, scale: &Scale, cost: &ChainCost) -> Self {
        // By call and rank: computation on paths, and all computation.
        let mut after: BTreeMap<(CtxId, u32), (f64, f64)> = BTreeMap::new();
        let mut ranks = 1.0f64;
        for piece in cost.pieces.iter().filter(|p| p.chain > 0.0) {
            for stretch in &piece.path {
                for (call, seconds) in work(scale, cost, piece, stretch.rank, stretch.calls) {
                    after.entry((call, stretch.rank)).or_default().0 += seconds;
                }
            }
            ranks = ranks.max(piece.epoch.calls.len() as f64);
            for (rank, range) in (0..).zip(&piece.epoch.calls) {
                for (call, seconds) in work(scale, cost, piece, rank, *range) {
                    after.entry((call, rank)).or_default().1 += seconds;
                }
            }
        }
        let shares = shares(scale, after.keys());
        let mut values: Vec<(VertexIx, usize, f64)> = Vec::new();
        for (at, (on_paths, all)) in &after {
            for (v, share) in shares.get(at).into_iter().flatten() {
                values.push((*v, 0, share * on_paths));
                values.push((*v, 1, share * all / ranks));
            }
        }
        Self {
            seconds: Inclusive::of_columns(pag, 2, values),
            shares,
        }
    }

    /// The seconds of all places.
    pub fn seconds(&self) -> &Inclusive {
        &self.seconds
    }

    /// Seconds in turn of a row.
    pub fn weigh(row: &[f64]) -> f64 {
        match row {
            [on_paths, own] => (on_paths - own).max(0.0),
            _ => 0.0,
        }
    }

    /// Seconds in turn in a place.
    pub fn of(&self, v: VertexIx) -> f64 {
        self.seconds.row(v).map_or(0.0, Self::weigh)
    }

    /// The part of a place's computation on paths that is in turn.
    pub fn part(&self, v: VertexIx) -> f64 {
        match self.seconds.row(v) {
            Some(row @ [on_paths, _]) if *on_paths > 0.0 => Self::weigh(row) / on_paths,
            _ => 0.0,
        }
    }

    /// The part of a rank's computation after a call that is in turn.
    pub fn after(&self, call: CtxId, rank: u32) -> f64 {
        let shares = self.shares.get(&(call, rank)).into_iter().flatten();
        shares.map(|(v, share)| share * self.part(*v)).sum()
    }
}

/// How the computation after calls on ranks divides over places; where a rank has no samples, as it does over all
/// ranks.
fn shares<'k>(
    scale: &Scale,
    wanted: impl Iterator<Item = &'k (CtxId, u32)>,
) -> FxHashMap<(CtxId, u32), Shares> {
    let data = &scale.view().computation;
    let mut keys: FxHashMap<CtxId, Vec<u32>> = FxHashMap::default();
    for (key, of) in (0..).zip(&data.keys) {
        keys.entry(of.after).or_default().push(key);
    }
    // By call, made where it is needed.
    let mut of_calls: FxHashMap<CtxId, Shares> = FxHashMap::default();
    let divided = |(call, rank): &(CtxId, u32)| {
        let own = keys.get(call).map_or(&[][..], Vec::as_slice);
        let divide = |seconds: &dyn Fn(u32) -> f64| -> Shares {
            let all: f64 = own.iter().map(|k| seconds(*k)).sum();
            let one = |k: &u32| Some((data.keys.get(*k as usize)?.vertex, seconds(*k) / all));
            let some = own.iter().filter(|k| all > 0.0 && seconds(**k) > 0.0);
            some.filter_map(one).collect()
        };
        let of_rank = divide(&|k| data.busy.row(k).map_or(0.0, |row| row.at(*rank)));
        let of_all = || divide(&|k| data.busy.row(k).map_or(0.0, |row| row.sum()));
        let shares = if of_rank.is_empty() {
            of_calls.entry(*call).or_insert_with(of_all).clone()
        } else {
            of_rank
        };
        ((*call, *rank), shares)
    };
    wanted.map(divided).collect()
}

/// The calls of a rank in the window of a stretch, as played with even work.
pub fn calls<'r>(cost: &'r ChainCost, piece: &Piece, rank: u32) -> &'r [Played] {
    let window = cost.even.replay.windows.get(piece.epoch.window);
    let calls = window.and_then(|w| w.get(rank as usize));
    calls.map_or(&[], |calls| calls)
}

/// Computation before some calls of a rank, by the MPI call that precedes it, seconds.
pub fn work(
    scale: &Scale,
    cost: &ChainCost,
    piece: &Piece,
    rank: u32,
    (from, to): (u32, u32),
) -> Vec<(CtxId, f64)> {
    let own = calls(cost, piece, rank);
    let recorded = scale.replay.windows.get(piece.epoch.window);
    let recorded = recorded.and_then(|w| w.get(rank as usize));
    let one = |at: u32| {
        let call = own.get(at as usize)?;
        // The recorded window also knows the call that the rank left before the window.
        let after = recorded.and_then(|r| r.get(at as usize)).map(|c| c.after);
        Some((after.unwrap_or(call.after), call.busy))
    };
    (from..to).filter_map(one).collect()
}
