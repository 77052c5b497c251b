//! The way from the symptom, where the time shows, to the cause (ScalAna, Algorithm 1).
//!
//! Backtracking starts at the MPI call in which the other ranks wait and follows dependences
//! backward: within a rank through the calls before, between ranks along the message or collective
//! that was waited for. Edges without a wait are pruned. Where event windows were kept it walks one
//! real epoch, the one that passes most messages on its way to the cause; otherwise it walks the
//! sampled message edges with the most waiting.

use crate::cause::Candidate;
use crate::chain::{Stretch, critical_path, last_rank};
use crate::replay::Epoch;
use crate::scale::Scale;
use headwater_graph::{Pag, VertexIx};
use headwater_model::diagnosis::{CauseClass, Step};
use headwater_model::psg::VertexKind;
use headwater_model::rank::RankSet;
use headwater_model::run::CtxId;

/// Messages that a path follows at the most.
const LONGEST: usize = 24;

/// Epochs tried in search of a path.
const TRIED: usize = 200;

/// The steps from symptom to cause. `seconds` of waits are means over the waiting ranks in the run.
pub fn steps(pag: &Pag, scale: &Scale<'_>, cause: &Candidate) -> Vec<Step> {
    let mut out = Vec::new();
    if let Some((epoch, path)) = through_windows(scale, cause) {
        if let Some(close) = closing_call(scale, epoch) {
            out.extend(wait_step(pag, scale, close, cause));
        }
        for stretch in &path {
            let Some(jump) = stretch.jump else { continue };
            let Some(v) = scale.view.vertex(jump.at) else {
                continue;
            };
            let place = pag.place(v);
            let row = scale.view.mpi.dense(v, scale.p);
            let seconds = row.get(jump.rank as usize).copied().unwrap_or(0.0);
            out.push(Step {
                what: format!("waits in {} for rank {}", place.name, jump.on),
                ranks: [jump.rank].into_iter().collect(),
                place,
                seconds,
            });
        }
    } else if let Some(symptom) = largest_wait(pag, scale, cause) {
        out.extend(wait_step(pag, scale, symptom, cause));
    }
    out.push(cause_step(pag, cause));
    out
}

/// The epoch and critical path that reach the cause over the most messages.
fn through_windows<'s>(
    scale: &'s Scale<'_>,
    cause: &Candidate,
) -> Option<(&'s Epoch, Vec<Stretch>)> {
    let replay = &scale.replay;
    let mut best: Option<(&Epoch, Vec<Stretch>)> = None;
    for epoch in replay.epochs.iter().take(TRIED) {
        // Ranks that arrive together with the last one were all held up; each may show the longer way.
        let Some(last) = last_rank(replay, epoch) else {
            continue;
        };
        let mut starts = vec![last];
        starts.extend((0..scale.p).filter(|r| *r != last && arrives_with(scale, epoch, *r, last)));
        for start in starts {
            let mut path = critical_path(replay, epoch, start);
            if path.len() > LONGEST {
                continue;
            }
            let Some(end) = path.iter().position(|s| reaches(scale, epoch, s, cause)) else {
                continue;
            };
            path.truncate(end + 1);
            if let Some(s) = path.last_mut() {
                s.jump = None;
            }
            if best.as_ref().is_none_or(|(_, b)| path.len() > b.len()) {
                best = Some((epoch, path));
            }
        }
    }
    best
}

fn arrives_with(scale: &Scale<'_>, epoch: &Epoch, rank: u32, last: u32) -> bool {
    let arrival = |r: u32| {
        let end = epoch.calls.get(r as usize)?.1.checked_sub(1)?;
        scale
            .replay
            .windows
            .get(epoch.window)?
            .get(r as usize)?
            .get(end as usize)
            .map(|c| c.enter)
    };
    matches!((arrival(rank), arrival(last)), (Some(a), Some(b)) if b - a <= 0.05 * epoch.seconds)
}

/// Whether a stretch computes at the cause on one of its ranks.
fn reaches(scale: &Scale<'_>, epoch: &Epoch, stretch: &Stretch, cause: &Candidate) -> bool {
    if !cause.ranks.contains(&stretch.rank) {
        return false;
    }
    let Some(calls) = scale
        .replay
        .windows
        .get(epoch.window)
        .and_then(|w| w.get(stretch.rank as usize))
    else {
        return false;
    };
    let largest = (stretch.calls.0..stretch.calls.1)
        .filter_map(|i| {
            let before: CtxId = i
                .checked_sub(1)
                .and_then(|b| calls.get(b as usize))
                .map_or(CtxId::NONE, |c| c.ctx);
            calls
                .get(i as usize)
                .map(|c| (c.busy, cause.after.contains(&before)))
        })
        .reduce(|a, b| if b.0 > a.0 { b } else { a });
    largest.is_some_and(|(busy, at_cause)| at_cause && busy > 0.2 * epoch.seconds)
}

/// The call that closes an epoch.
fn closing_call(scale: &Scale<'_>, epoch: &Epoch) -> Option<VertexIx> {
    let end = epoch.calls.first()?.1.checked_sub(1)?;
    let call = scale
        .replay
        .windows
        .get(epoch.window)?
        .first()?
        .get(end as usize)?;
    epoch.closed.then(|| scale.view.vertex(call.ctx)).flatten()
}

/// The MPI call in which ranks without the cause spend most time.
pub fn largest_wait(pag: &Pag, scale: &Scale<'_>, cause: &Candidate) -> Option<VertexIx> {
    let others = |v: VertexIx| waiting_seconds(scale, v, cause).0;
    let calls = scale.view.mpi.keys();
    let waits = |v: &VertexIx| {
        let name = pag.top.get(*v).mpi.as_deref().unwrap_or("");
        !matches!(name, "MPI_Init" | "MPI_Init_thread" | "MPI_Finalize")
            && pag.top.get(*v).kind == VertexKind::MpiCall
    };
    calls
        .filter(waits)
        .filter(|v| others(*v) > 0.0)
        .reduce(|a, b| if others(b) > others(a) { b } else { a })
}

/// Mean time in an MPI call of the ranks outside the cause (of all, if the cause is everywhere).
fn waiting_seconds(scale: &Scale<'_>, v: VertexIx, cause: &Candidate) -> (f64, RankSet) {
    let row = scale.view.mpi.dense(v, scale.p);
    let everywhere = cause.ranks.len() as u32 >= scale.p;
    let ranks: RankSet = (0..scale.p)
        .filter(|r| everywhere || !cause.ranks.contains(r))
        .collect();
    let values: Vec<f64> = ranks.as_slice().iter().map(|r| row[*r as usize]).collect();
    (crate::stats::mean(&values), ranks)
}

fn wait_step(pag: &Pag, scale: &Scale<'_>, v: VertexIx, cause: &Candidate) -> Option<Step> {
    let (seconds, ranks) = waiting_seconds(scale, v, cause);
    let place = pag.place(v);
    let what = format!("wait in {}", place.name);
    (v != cause.vertex).then_some(Step {
        what,
        ranks,
        place,
        seconds,
    })
}

fn cause_step(pag: &Pag, cause: &Candidate) -> Step {
    let what = match cause.class {
        CauseClass::LateSenderChain => "wait in turn, each for the one before",
        CauseClass::CollectiveAlgorithm | CauseClass::GrowingCommunication => "move data",
        CauseClass::Preempted => "compute, but are kept from their core",
        CauseClass::SystemCallOrIo => "are asleep in a system call",
        CauseClass::OneOff => "compute once for long",
        _ => "compute",
    };
    Step {
        what: what.to_string(),
        ranks: cause.ranks.iter().copied().collect(),
        place: pag.place(cause.vertex),
        seconds: cause.cost,
    }
}
