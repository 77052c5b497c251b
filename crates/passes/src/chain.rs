//! Ranks that can only start when the one before has finished (pipelines, wavefronts).
//!
//! Played in virtual time, an epoch that takes longer than its slowest rank's computation has ranks
//! waiting in turn. The critical path through it (FACTS "critical path") is followed backward from
//! the last rank; each jump along a message is a link of the chain, and the receive that is jumped
//! from most, weighted by the computation behind it, is the place. Scatter between iterations makes
//! such jumps too, but not the same ones each time: a chain must be regular.

use crate::cause::Candidate;
use crate::replay::{Epoch, Played, Replay};
use crate::scale::Scale;
use headwater_graph::VertexIx;
use headwater_model::diagnosis::CauseClass;
use headwater_model::run::CtxId;
use rustc_hash::FxHashMap;

/// Share of run time that the chain must cost at the least: below, it is hard to tell from scatter.
const LEAST_SHARE: f64 = 0.1;

/// Share of epochs in which a link must come back for the chain to be regular.
const REGULAR: f64 = 0.5;

/// A jump of the critical path from a waiting call to the call that it waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Jump {
    /// Rank that waited.
    pub rank: u32,
    /// Where it waited.
    pub at: CtxId,
    /// Rank that it waited for.
    pub on: u32,
}

/// One stretch of a critical path: a rank, the calls it passes backward, and how it was left.
#[derive(Clone, Debug, PartialEq)]
pub struct Stretch {
    /// Rank.
    pub rank: u32,
    /// Calls of that rank on the path, in program order: half-open range.
    pub calls: (u32, u32),
    /// Computation on the stretch, seconds.
    pub busy: f64,
    /// The jump to the next stretch, which lies before this one.
    pub jump: Option<Jump>,
}

/// The critical path of an epoch backward from `rank`'s last call.
pub fn critical_path(replay: &Replay, epoch: &Epoch, rank: u32) -> Vec<Stretch> {
    let empty: Vec<Played> = Vec::new();
    let calls_of = |r: u32| {
        replay
            .windows
            .get(epoch.window)
            .and_then(|w| w.get(r as usize))
            .unwrap_or(&empty)
    };
    let begin_of = |r: u32| epoch.calls.get(r as usize).map_or(0, |c| c.0);
    let mut rank = rank;
    let mut at = epoch.calls.get(rank as usize).map_or(0, |c| c.1);
    // The closing synchronisation's own wait is where the path starts, not a part of it.
    let mut skip_wait = epoch.closed;
    let mut path: Vec<Stretch> = Vec::new();
    let longest: usize = epoch.calls.iter().map(|c| (c.1 - c.0) as usize).sum();
    while path.len() <= longest {
        let (calls, begin, end) = (calls_of(rank), begin_of(rank), at);
        let mut busy = 0.0;
        let mut jump = None;
        while at > begin {
            let Some(call) = calls.get(at as usize - 1) else {
                break;
            };
            let skipped = std::mem::take(&mut skip_wait);
            let waited = call.waited_for.filter(|_| !skipped);
            if let Some((on, index)) = waited.filter(|(on, index)| *index >= begin_of(*on)) {
                jump = Some((
                    Jump {
                        rank,
                        at: call.ctx,
                        on,
                    },
                    index,
                ));
                break;
            }
            busy += call.busy;
            at -= 1;
        }
        path.push(Stretch {
            rank,
            calls: (at, end),
            busy,
            jump: jump.map(|j| j.0),
        });
        let Some((jump, index)) = jump else { break };
        (rank, at) = (jump.on, index + 1);
        // The call that sent did not wait for its own message.
        skip_wait = true;
    }
    path
}

/// The rank that arrives last at the end of an epoch.
pub fn last_rank(replay: &Replay, epoch: &Epoch) -> Option<u32> {
    let arrival = |r: usize| {
        let end = epoch.calls.get(r)?.1.checked_sub(1)?;
        replay
            .windows
            .get(epoch.window)?
            .get(r)?
            .get(end as usize)
            .map(|c| if epoch.closed { c.enter } else { c.leave })
    };
    (0..epoch.calls.len())
        .filter_map(|r| Some((r as u32, arrival(r)?)))
        .reduce(|best, next| if next.1 > best.1 { next } else { best })
        .map(|b| b.0)
}

/// Looks for a chain at one scale.
pub fn find(scale: &Scale, model_seconds: f64, least: f64) -> Vec<Candidate> {
    let total = scale.chain();
    if total < least.max(LEAST_SHARE * model_seconds) {
        return Vec::new();
    }
    let replay = &scale.replay;
    let mut seen: FxHashMap<Jump, u32> = FxHashMap::default();
    let mut weight: FxHashMap<CtxId, f64> = FxHashMap::default();
    let (mut epochs, mut hops) = (0u32, 0usize);
    for epoch in replay.epochs.iter().filter(|e| e.chain() > 0.1 * e.seconds) {
        let Some(rank) = last_rank(replay, epoch) else {
            continue;
        };
        let path = critical_path(replay, epoch, rank);
        epochs += 1;
        let mut behind = 0.0;
        for stretch in path.iter().rev() {
            behind += stretch.busy;
        }
        let mut mine: Vec<Jump> = Vec::new();
        for stretch in &path {
            behind -= stretch.busy;
            if let Some(jump) = stretch.jump {
                hops += 1;
                *weight.entry(jump.at).or_default() += behind;
                mine.push(jump);
            }
        }
        mine.sort_unstable();
        mine.dedup();
        mine.into_iter()
            .for_each(|j| *seen.entry(j).or_default() += 1);
    }
    // What was seen once has not come back, in however few epochs.
    let often = (REGULAR * f64::from(epochs)).max(f64::from(epochs.min(2)));
    let regular = seen.values().filter(|n| f64::from(**n) >= often).count();
    if epochs == 0 || regular * 2 < seen.len() || regular == 0 {
        return Vec::new();
    }
    // One rank that once waited for one other is late, not in turn; between two there is no more.
    let links = hops as f64 / f64::from(epochs);
    if epochs == 1 && links < 2.0f64.min(f64::from(scale.p) - 1.0) {
        return Vec::new();
    }
    let mut by_vertex: FxHashMap<VertexIx, f64> = FxHashMap::default();
    for (ctx, w) in weight {
        if let Some(v) = scale.view().vertex(ctx) {
            *by_vertex.entry(v).or_default() += w;
        }
    }
    let best = by_vertex
        .into_iter()
        .reduce(|a, b| if (b.1, a.0) > (a.1, b.0) { b } else { a });
    let Some((vertex, _)) = best else {
        return Vec::new();
    };
    let in_chain: Vec<&Jump> = seen
        .iter()
        .filter(|(_, n)| f64::from(**n) >= often)
        .map(|(j, _)| j)
        .collect();
    let mut ranks: Vec<u32> = in_chain.iter().flat_map(|j| [j.rank, j.on]).collect();
    ranks.sort_unstable();
    ranks.dedup();
    vec![Candidate {
        in_turn: false,
        error: 0.0,
        team: None,
        twins: Vec::new(),
        class: CauseClass::LateSenderChain,
        vertex,
        cost: total,
        gain: total,
        after: Vec::new(),
        evidence: vec![format!(
            "in {epochs} epochs the last rank waits through {:.1} messages in turn on the average; {} of {} such links come back in most epochs",
            links,
            regular,
            seen.len()
        )],
        ranks,
    }]
}
