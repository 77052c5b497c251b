//! The path from the symptom, where the time shows, to the cause (ScalAna, Algorithm 1).
//!
//! Backtracking starts at the MPI call in which the other ranks wait and follows dependences backward: within a rank
//! through the calls before, between ranks along the message or collective that was waited for. Edges without a wait
//! are pruned. If event windows were recorded, it walks one real epoch, the one that passes most messages on its way to
//! the cause; otherwise it walks the sampled message edges with the most waiting.

use crate::find::candidate::{Candidate, ThreadStep};
use crate::find::class::{self, Seconds};
use crate::measure::backtrack::{Backtracking, Hop, is_collective};
use crate::measure::chain::{Stretch, critical_path, last_rank};
use crate::measure::replay::Epoch;
use crate::measure::scale::Scale;
use crate::measure::waits::At;
use headwater_dataflow::numbers::stats;
use headwater_graph::{Pag, TopDown, VertexIx};
use headwater_model::diagnosis::{Clock, Step};
use headwater_model::psg::VertexKind;
use headwater_model::rank::RankSet;
use headwater_mpi_abi::{self as abi, Mode};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A path has at most this many stretches.
const LONGEST: usize = 24;

/// At most this many epochs are searched for a path.
const TRIED: usize = 200;

/// An epoch must contain at least this share of the cause's longest computation to show its path.
const TYPICAL: f64 = 0.3;

/// A wait must take this share of an epoch for the path to count as longer by it.
const WORTH_TELLING: f64 = 0.1;

/// The steps from symptom to cause. The `seconds` of waits are means over the waiting ranks in the run.
pub fn steps(pag: &Pag, scale: &Scale, walks: &Backtracking, cause: &Candidate) -> Vec<Step> {
    let rows = WaitRows::new(scale, cause);
    let mut out = Vec::new();
    // Where the threads of all ranks lose the same, no rank waits for another one, and neither does a single rank.
    let alike = cause.team.is_some() && cause.ranks.len() as u32 >= scale.p;
    if alike || scale.p == 1 {
        out.extend(thread_steps(pag, cause));
        out.push(cause_step(pag, scale, cause));
        return out;
    }
    if let Some((epoch, path)) = through_windows(scale, cause) {
        if let Some(close) = closing_call(scale, epoch) {
            out.extend(rows.shared_wait(pag, scale, close, cause));
        }
        for stretch in &path {
            let Some(jump) = stretch.jump else { continue };
            if let Some(v) = scale.view().vertex(jump.at) {
                let seconds = rows.at(scale, jump.rank, v);
                let step = rows.wait(pag, scale, (jump.rank, v), jump.on, seconds);
                // Iterations without a synchronisation between them show the same waits again and again.
                if !out.contains(&step) {
                    out.push(step);
                }
            }
        }
    } else if let Some(symptom) = rows.longest(pag, scale, cause) {
        out.extend(rows.shared_wait(pag, scale, symptom, cause));
        for hop in through_graph(pag, scale, walks, symptom, cause) {
            // The step before already says that they wait in a collective.
            let said = hop.at.1 == symptom && is_collective(pag, symptom);
            if let (Some(on), false) = (hop.on, said) {
                out.push(rows.wait(pag, scale, hop.at, on, hop.seconds));
            }
        }
    }
    out.extend(rows.in_turn(pag, scale, cause, &out));
    out.extend(thread_steps(pag, cause));
    out.push(cause_step(pag, scale, cause));
    out
}

/// The calls in which the ranks of a chain wait for one another.
pub fn waits_of_chain(scale: &Scale, cause: &Candidate) -> Vec<VertexIx> {
    let calls = cause
        .after
        .iter()
        .filter_map(|ctx| scale.view().vertex(*ctx));
    let mut calls: Vec<VertexIx> = calls.collect();
    calls.sort_unstable();
    calls.dedup();
    calls
}

/// The edges between threads that lead to the cause.
fn thread_steps(pag: &Pag, cause: &Candidate) -> Vec<Step> {
    let waits = cause.team.iter().flat_map(|t| &t.waits);
    let step = |wait: &ThreadStep| Step {
        what: wait.what.clone(),
        ranks: cause.ranks.iter().copied().collect(),
        place: pag.place(wait.vertex),
        seconds: wait.seconds,
        clock: wait.clock,
    };
    waits.map(step).collect()
}

/// The walk over the parallel view from `symptom` to the cause, up to there; empty if it goes elsewhere. It starts on
/// the rank that spends most time there, of the ranks outside the cause.
fn through_graph(
    pag: &Pag,
    scale: &Scale,
    walks: &Backtracking,
    symptom: VertexIx,
    cause: &Candidate,
) -> Vec<Hop> {
    let row = scale.view().mpi.dense(symptom, scale.p);
    let wait = |r: u32| row.get(r as usize).copied().unwrap_or(0.0);
    let longest = (0..scale.p)
        .filter(|r| !cause.ranks.contains(r))
        .reduce(|a, b| if wait(b) > wait(a) { b } else { a });
    let mut path = longest.map_or_else(Vec::new, |r| walks.path(pag, scale, r, symptom));
    let end = path.iter().position(|hop| ends_in(pag, hop, cause));
    path.truncate(end.unwrap_or(0));
    path
}

/// Whether a hop is computation of the cause.
pub fn ends_in(pag: &Pag, hop: &Hop, cause: &Candidate) -> bool {
    let (rank, v) = hop.at;
    hop.on.is_none()
        && cause.ranks.contains(&rank)
        && (pag.top.contains(cause.vertex, v)
            || v != TopDown::ROOT && pag.top.contains(v, cause.vertex))
}

/// The epoch and critical path that reach the cause over the most messages.
fn through_windows<'s>(scale: &'s Scale, cause: &Candidate) -> Option<(&'s Epoch, Vec<Stretch>)> {
    let replay = &scale.replay;
    let mut best: Option<(&Epoch, Vec<Stretch>)> = None;
    let mut most_shown = (0, 0.0);
    let epochs = || replay.epochs.iter().take(TRIED);
    let most = epochs()
        .map(|e| longest_computation(scale, e, cause))
        .fold(0.0, f64::max);
    // The end of a run, or of a window, also passes messages, but almost nothing happens there.
    for epoch in epochs().filter(|e| longest_computation(scale, e, cause) >= TYPICAL * most) {
        // Ranks that arrive together with the last one were all delayed; each of them may show the longer path.
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
            let shown = shown_waits(scale, epoch, &path);
            if best.is_none() || shown > most_shown {
                (best, most_shown) = (Some((epoch, path)), shown);
            }
        }
    }
    best
}

/// How much a path shows: the number of its jumps with a long wait, and the seconds of all waits.
fn shown_waits(scale: &Scale, epoch: &Epoch, path: &[Stretch]) -> (usize, f64) {
    let window = scale.replay.windows.get(epoch.window);
    let wait = |s: &Stretch| {
        let at = s.jump.and(s.calls.0.checked_sub(1))?;
        let call = window?.get(s.rank as usize)?.get(at as usize)?;
        Some(call.leave - call.enter)
    };
    let waits: Vec<f64> = path.iter().filter_map(wait).collect();
    let long = waits.iter().filter(|w| **w > WORTH_TELLING * epoch.seconds);
    (long.count(), waits.iter().sum())
}

/// The longest computation of the cause in an epoch, seconds.
fn longest_computation(scale: &Scale, epoch: &Epoch, cause: &Candidate) -> f64 {
    let window = scale.replay.windows.get(epoch.window);
    let of_rank = |r: &u32| {
        let (from, to) = *epoch.calls.get(*r as usize)?;
        let calls = window?.get(*r as usize)?.get(from as usize..to as usize)?;
        let at_cause = calls.iter().filter(|c| cause.after.contains(&c.after));
        at_cause.map(|c| c.busy).reduce(f64::max)
    };
    cause.ranks.iter().filter_map(of_rank).fold(0.0, f64::max)
}

fn arrives_with(scale: &Scale, epoch: &Epoch, rank: u32, last: u32) -> bool {
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
fn reaches(scale: &Scale, epoch: &Epoch, stretch: &Stretch, cause: &Candidate) -> bool {
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
        .filter_map(|i| calls.get(i as usize))
        .map(|c| (c.busy, cause.after.contains(&c.after)))
        .reduce(|a, b| if b.0 > a.0 { b } else { a });
    largest.is_some_and(|(busy, at_cause)| at_cause && busy > 0.2 * epoch.seconds)
}

/// The call that closes an epoch.
fn closing_call(scale: &Scale, epoch: &Epoch) -> Option<VertexIx> {
    let end = epoch.calls.first()?.1.checked_sub(1)?;
    let call = scale
        .replay
        .windows
        .get(epoch.window)?
        .first()?
        .get(end as usize)?;
    epoch
        .closed
        .then(|| scale.view().vertex(call.ctx))
        .flatten()
}

/// Seconds of waiting by call and rank: replayed ones if there are any, otherwise time in the call.
struct WaitRows {
    rows: FxHashMap<VertexIx, Vec<f64>>,
    clock: Clock,
}

impl WaitRows {
    fn new(scale: &Scale, cause: &Candidate) -> Self {
        // With a core for each rank, no rank waits for ranks that have to share one.
        let clock = match class::of(cause.class).seconds {
            Seconds::WaitsForCore => Clock::Wall,
            _ => scale.waits.clock,
        };
        let rows = match clock {
            Clock::Virtual => scale.waits.rows(),
            Clock::Cpu | Clock::Wall => {
                let mpi = &scale.view().mpi;
                mpi.keys().map(|v| (v, mpi.dense(v, scale.p))).collect()
            }
        };
        Self { rows, clock }
    }

    fn row(&self, scale: &Scale, v: VertexIx) -> Vec<f64> {
        let row = self.rows.get(&v).cloned();
        row.unwrap_or_else(|| vec![0.0; scale.p as usize])
    }

    fn at(&self, scale: &Scale, rank: u32, v: VertexIx) -> f64 {
        let row = self.row(scale, v);
        row.get(rank as usize).copied().unwrap_or(0.0)
    }

    /// Mean time in an MPI call of the ranks outside the cause (of all, if the cause is everywhere).
    fn of_others(&self, scale: &Scale, v: VertexIx, cause: &Candidate) -> (f64, RankSet) {
        let everywhere = cause.ranks.len() as u32 >= scale.p;
        let ranks: RankSet = (0..scale.p)
            .filter(|r| everywhere || !cause.ranks.contains(r))
            .collect();
        (stats::mean_of(&self.row(scale, v), ranks.as_slice()), ranks)
    }

    /// The MPI call in which ranks without the cause wait longest.
    fn longest(&self, pag: &Pag, scale: &Scale, cause: &Candidate) -> Option<VertexIx> {
        let others = |v: VertexIx| self.of_others(scale, v, cause).0;
        let waits = |v: &VertexIx| {
            let name = pag.top.get(*v).mpi.as_deref().unwrap_or("");
            !matches!(name, "MPI_Init" | "MPI_Init_thread" | "MPI_Finalize")
                && pag.top.get(*v).kind == VertexKind::MpiCall
        };
        let mut calls: Vec<VertexIx> = self.rows.keys().copied().filter(waits).collect();
        calls.sort_unstable();
        calls
            .into_iter()
            .filter(|v| others(*v) > 0.0)
            .reduce(|a, b| if others(b) > others(a) { b } else { a })
    }

    /// The step of the ranks outside the cause, in the call where the time shows.
    fn shared_wait(
        &self,
        pag: &Pag,
        scale: &Scale,
        v: VertexIx,
        cause: &Candidate,
    ) -> Option<Step> {
        let (seconds, ranks) = self.of_others(scale, v, cause);
        let place = pag.place(v);
        let verb = if ranks.len() == 1 { "waits" } else { "wait" };
        let of = posted_collective(scale, v).map_or_else(String::new, |f| format!(" for {f}"));
        (v != cause.vertex).then_some(Step {
            what: format!("{verb} in {}{of}", place.name),
            ranks,
            place,
            seconds,
            clock: self.clock,
        })
    }

    /// Where the ranks of a chain wait for one another, unless an earlier step says so: the longest wait first.
    fn in_turn(&self, pag: &Pag, scale: &Scale, cause: &Candidate, said: &[Step]) -> Vec<Step> {
        if class::of(cause.class).seconds != Seconds::WaitsInTurn {
            return Vec::new();
        }
        let mean = |v: VertexIx| stats::mean_of(&self.row(scale, v), &cause.ranks);
        let step = |v: VertexIx| Step {
            what: format!("wait in {}, each for the one before", pag.place(v).name),
            ranks: cause.ranks.iter().copied().collect(),
            place: pag.place(v),
            seconds: mean(v),
            clock: self.clock,
        };
        let mut steps: Vec<Step> = waits_of_chain(scale, cause).into_iter().map(step).collect();
        steps.retain(|s| !said.iter().any(|other| other.place == s.place));
        steps.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        steps
    }

    fn wait(&self, pag: &Pag, scale: &Scale, (rank, v): At, on: u32, seconds: f64) -> Step {
        let place = pag.place(v);
        let to = posted_collective(scale, v);
        let to = to.map_or_else(String::new, |f| format!(" to reach {f}"));
        Step {
            what: format!("waits in {} for rank {on}{to}", place.name),
            ranks: [rank].into_iter().collect(),
            place,
            seconds,
            clock: self.clock,
        }
    }
}

/// The collective for which ranks wait most in a call that completes what other calls posted; `None` if they wait more
/// for messages. Of collectives with equal waits it is the one with the smaller index.
fn posted_collective(scale: &Scale, v: VertexIx) -> Option<&str> {
    let run = scale.run();
    let links = &scale.view().parallel;
    let is_posted = |func: u16| {
        let function = abi::by_name(run.function(func));
        function.is_some_and(|f| f.mode != Mode::Blocking)
    };
    let mut waits: BTreeMap<u16, f64> = BTreeMap::new();
    for c in links.collectives.iter().filter(|c| c.vertex == v) {
        *waits.entry(c.func).or_default() += c.wait;
    }
    let most = waits
        .into_iter()
        .reduce(|a, b| if b.1 > a.1 { b } else { a });
    let (func, waited) = most.filter(|m| is_posted(m.0))?;
    let messages = links.messages.iter().filter(|m| m.recv == v);
    let for_messages: f64 = messages.map(|m| m.late_sender).sum();
    (waited > for_messages).then(|| run.function(func))
}

fn cause_step(pag: &Pag, scale: &Scale, cause: &Candidate) -> Step {
    // The words for many ranks, and for one.
    let [many, one] = class::of(cause.class).does;
    Step {
        what: if cause.ranks.len() == 1 { one } else { many }.to_string(),
        ranks: cause.ranks.iter().copied().collect(),
        place: pag.place(cause.vertex),
        seconds: cause.cost,
        clock: cause_clock(scale, cause),
    }
}

/// The clock of the seconds of a cause.
pub fn cause_clock(scale: &Scale, cause: &Candidate) -> Clock {
    match class::of(cause.class).seconds {
        Seconds::WaitsInTurn => scale.waits.clock,
        Seconds::MovingData => Clock::Wall,
        Seconds::Computation | Seconds::WaitsOfThreads | Seconds::WaitsForCore => Clock::Cpu,
    }
}
