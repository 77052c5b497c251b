//! The critical path through a part of a replayed window.
//!
//! The path is followed backward from the rank that arrives last (Scalasca's critical path): at a wait it jumps to the
//! rank that was waited for. If there is a chain of ranks that compute in turn, a jump is a link of it: see
//! [`chain_cost`](crate::find::chain_cost).

use crate::measure::replay::{Epoch, Played, Replay};
use headwater_model::run::CtxId;

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

/// One stretch of a critical path: a rank, its calls on the path, and how the path leaves it backward.
#[derive(Clone, Debug, PartialEq)]
pub struct Stretch {
    /// Rank.
    pub rank: u32,
    /// Calls of that rank on the path, in program order: half-open range.
    pub calls: (u32, u32),
    /// Computation on the stretch, seconds.
    pub busy: f64,
    /// The jump to the next stretch, which is earlier in time.
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
    // The path starts after the wait of the closing synchronisation, which is not part of it.
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
