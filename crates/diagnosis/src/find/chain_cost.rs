//! What it costs that ranks compute in turn, each after the one that it waits for (pipelines, wavefronts).
//!
//! The price is what a stretch of the program takes beyond its slowest rank's computation in the replay with even work
//! ([`even_replay`](crate::measure::even_replay)), which neither uneven work nor scatter can explain. Stretches are the
//! epochs between synchronisations of all ranks, or parts of long ones, so that there are several to compare. Each
//! counts as far as the waits on its critical path come back in other stretches, by their seconds. The standard error
//! is that of a ratio estimate over stretches that end at the same call (Cochran 1977, "Sampling Techniques", chapter
//! 6, with section 2.6 for windows that hold much of the run), with that of the mean computation on the path.

use crate::measure::chain::{Jump, Stretch, critical_path, last_rank};
use crate::measure::even_replay::EvenReplay;
use crate::measure::replay::{Epoch, Played, Replay};
use headwater_dataflow::numbers::stats;
use headwater_model::run::{CtxId, Run};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Epochs from which on they are not cut into parts.
const ENOUGH: usize = 16;

/// Calls of the rank with the most of them that a part of an epoch has at the least.
const LEAST_CALLS: usize = 16;

/// A stretch of the program on all ranks.
pub struct Piece {
    /// Its calls; a part of an epoch of the replay with even work.
    pub epoch: Epoch,
    /// Its critical path there, backward.
    pub path: Vec<Stretch>,
    /// The call that ends it, if all ranks synchronise there.
    ends_at: CtxId,
    /// What it takes beyond its slowest rank's computation, as far as that comes back elsewhere, seconds.
    pub chain: f64,
    /// Mean computation of a rank, seconds.
    busy: f64,
}

/// A chain, or that there is none.
pub struct ChainCost {
    /// The replay that it was found in.
    pub even: EvenReplay,
    /// All stretches.
    pub pieces: Vec<Piece>,
    /// In how many stretches each wait on a critical path is.
    pub seen: FxHashMap<Jump, usize>,
    /// Seconds for each second of a rank's mean computation.
    pub per_busy: f64,
    /// Standard error of that.
    pub error: f64,
}

impl ChainCost {
    /// Looks at all windows of a run that were played as recorded; in the whole run a rank computes for `whole`
    /// seconds on the average.
    pub fn new(run: &Run, recorded: &Replay, whole: f64) -> Self {
        let even = EvenReplay::new(run);
        let mut pieces = pieces(&even.replay);
        let mut seen: FxHashMap<Jump, usize> = FxHashMap::default();
        for piece in &pieces {
            let mut jumps: Vec<Jump> = piece.path.iter().filter_map(|s| s.jump).collect();
            jumps.sort_unstable();
            jumps.dedup();
            jumps
                .into_iter()
                .for_each(|j| *seen.entry(j).or_default() += 1);
        }
        for piece in &mut pieces {
            piece.chain *= comes_back(&even.replay, piece, &seen) * regular(&even, piece);
        }
        // What is waited for less as recorded than with even work is not lost.
        let lost: f64 = pieces.iter().map(|p| p.chain).sum();
        let as_recorded: f64 = pieces.iter().map(|p| beyond(recorded, &p.epoch)).sum();
        if lost > as_recorded {
            let part = as_recorded / lost;
            pieces.iter_mut().for_each(|p| p.chain *= part);
        }
        let busy: f64 = pieces.iter().map(|p| p.busy).sum();
        let scatter = scatter(&pieces) * not_seen(busy, whole).sqrt();
        let of_means = of_means(&even, &pieces);
        let (per_busy, error) = match busy > 0.0 {
            true => (lost.min(as_recorded) / busy, scatter.hypot(of_means) / busy),
            false => (0.0, 0.0),
        };
        Self {
            even,
            pieces,
            seen,
            per_busy,
            error,
        }
    }
}

/// The epochs of a replay, cut into parts where there are few of them.
fn pieces(replay: &Replay) -> Vec<Piece> {
    let parts = ENOUGH.div_ceil(replay.epochs.len().max(1));
    let cut = replay.epochs.iter().flat_map(|e| cut(e, parts));
    let piece = |epoch: Epoch| {
        let epoch = Epoch {
            seconds: span(replay, &epoch),
            busy: busy(replay, &epoch),
            ..epoch
        };
        let path = last_rank(replay, &epoch).map(|rank| critical_path(replay, &epoch, rank));
        let last = epoch.calls.first().and_then(|c| c.1.checked_sub(1));
        let call = last.and_then(|last| calls(replay, &epoch, 0).get(last as usize));
        Piece {
            path: path.unwrap_or_default(),
            ends_at: call.filter(|_| epoch.closed).map_or(CtxId::NONE, |c| c.ctx),
            chain: epoch.chain(),
            busy: stats::mean(&epoch.busy),
            epoch,
        }
    };
    cut.map(piece).filter(|p| p.busy > 0.0).collect()
}

/// An epoch in as many parts as it has calls for, with the same share of each rank's calls in each.
fn cut(epoch: &Epoch, parts: usize) -> Vec<Epoch> {
    let most = epoch.calls.iter().map(|c| (c.1 - c.0) as usize).max();
    let parts = parts.min(most.unwrap_or(0) / LEAST_CALLS).max(1);
    let at = |&(from, to): &(u32, u32), part: usize| {
        from + (u64::from(to - from) * part as u64 / parts as u64) as u32
    };
    let one = |part| Epoch {
        calls: (epoch.calls.iter())
            .map(|c| (at(c, part), at(c, part + 1)))
            .collect(),
        closed: epoch.closed && part + 1 == parts,
        ..epoch.clone()
    };
    (0..parts).map(one).collect()
}

fn calls<'r>(replay: &'r Replay, epoch: &Epoch, rank: usize) -> &'r [Played] {
    let window = replay.windows.get(epoch.window);
    window.and_then(|w| w.get(rank)).map_or(&[], |calls| calls)
}

/// Computation of each rank in a part of an epoch, seconds.
fn busy(replay: &Replay, epoch: &Epoch) -> Vec<f64> {
    let of_rank = |(rank, &(from, to)): (usize, &(u32, u32))| {
        let own = calls(replay, epoch, rank).get(from as usize..to as usize);
        own.unwrap_or(&[]).iter().map(|c| c.busy).sum()
    };
    epoch.calls.iter().enumerate().map(of_rank).collect()
}

/// Seconds from when the last rank is done with what comes before a part of an epoch to when the last is with it.
fn span(replay: &Replay, epoch: &Epoch) -> f64 {
    let done = |end: fn(&(u32, u32)) -> u32| {
        let of_rank = |(rank, range): (usize, &(u32, u32))| {
            let last = calls(replay, epoch, rank).get(end(range).checked_sub(1)? as usize)?;
            Some(last.leave)
        };
        let all = epoch.calls.iter().enumerate().filter_map(of_rank);
        all.fold(0.0, f64::max)
    };
    done(|c| c.1) - done(|c| c.0)
}

/// What a part of an epoch takes in a replay beyond its slowest rank's computation, seconds.
fn beyond(replay: &Replay, epoch: &Epoch) -> f64 {
    (span(replay, epoch) - stats::max(&busy(replay, epoch))).max(0.0)
}

/// Seconds of the wait by which a stretch of a path was left.
fn waited(replay: &Replay, epoch: &Epoch, stretch: &Stretch) -> f64 {
    let at = stretch.calls.0.checked_sub(1);
    let call = at.and_then(|at| calls(replay, epoch, stretch.rank as usize).get(at as usize));
    call.map_or(0.0, |c| c.leave - c.enter)
}

/// Share of the waiting on a critical path in waits that other paths have too.
fn comes_back(replay: &Replay, piece: &Piece, seen: &FxHashMap<Jump, usize>) -> f64 {
    let (mut again, mut all) = (0.0, 0.0);
    for stretch in &piece.path {
        let Some(jump) = stretch.jump else { continue };
        let seconds = waited(replay, &piece.epoch, stretch);
        all += seconds;
        if seen.get(&jump).is_some_and(|n| *n > 1) {
            again += seconds;
        }
    }
    if all > 0.0 { again / all } else { 0.0 }
}

/// How much wider a range must be for a mean of few values, as Student's distribution has it for 95 of 100.
fn for_few(values: usize) -> f64 {
    const FIRST: [f64; 8] = [6.48, 2.20, 1.62, 1.42, 1.31, 1.25, 1.21, 1.18];
    let free = values.saturating_sub(1).max(1);
    let known = FIRST.get(free - 1).copied();
    known.unwrap_or(1.0 + 1.3 / free as f64)
}

/// Share of a run that no stretch was seen of; that it may differ from the others is what scatter says. `seen` and
/// `whole` are mean seconds of computation of a rank.
fn not_seen(seen: f64, whole: f64) -> f64 {
    if whole > 0.0 {
        (1.0 - seen / whole).clamp(0.0, 1.0)
    } else {
        1.0
    }
}

/// Standard error of the chain of all stretches together, seconds. A stretch that ends as no other one does may
/// be an exception: its error is as large as its chain.
fn scatter(pieces: &[Piece]) -> f64 {
    let mut alike: BTreeMap<CtxId, Vec<&Piece>> = BTreeMap::new();
    for piece in pieces {
        alike.entry(piece.ends_at).or_default().push(piece);
    }
    let variance = |group: Vec<&Piece>| {
        let n = group.len() as f64;
        let sum = |of: fn(&Piece) -> f64| group.iter().map(|p| of(p)).sum::<f64>();
        let ratio = sum(|p| p.chain) / sum(|p| p.busy);
        let squares = (group.iter()).map(|p| match group.len() {
            1 => p.chain.powi(2),
            _ => (p.chain - ratio * p.busy).powi(2),
        });
        squares.sum::<f64>() * n / (n - 1.0).max(1.0) * for_few(group.len()).powi(2)
    };
    alike.into_values().map(variance).sum::<f64>().sqrt()
}

/// The computation on a critical path: between which calls, and how often.
fn on_path(even: &EvenReplay, piece: &Piece) -> BTreeMap<(CtxId, CtxId), f64> {
    let mut times: BTreeMap<(CtxId, CtxId), f64> = BTreeMap::new();
    for stretch in &piece.path {
        let own = calls(&even.replay, &piece.epoch, stretch.rank as usize);
        let (from, to) = (stretch.calls.0 as usize, stretch.calls.1 as usize);
        let mut before = from.checked_sub(1).and_then(|i| own.get(i)).map(|c| c.ctx);
        for call in own.get(from..to).unwrap_or(&[]) {
            let after = before.unwrap_or(call.after);
            *times.entry((after, call.ctx)).or_default() += 1.0;
            before = Some(call.ctx);
        }
    }
    times
}

/// Share of the computation on a critical path that is about the same in each repetition. Of the rest, the replay with
/// even work says nothing: a rank that does many steps before a message and few before the next would wait there for
/// ranks that it never waits for.
fn regular(even: &EvenReplay, piece: &Piece) -> f64 {
    let (mut regular, mut all) = (0.0, 0.0);
    for (between, n) in on_path(even, piece) {
        let mean = even.mean(between);
        all += n * mean.seconds;
        if mean.is_regular {
            regular += n * mean.seconds;
        }
    }
    if all > 0.0 { regular / all } else { 1.0 }
}

/// Standard error of the length of all critical paths by that of the mean computation on them, seconds.
fn of_means(even: &EvenReplay, pieces: &[Piece]) -> f64 {
    let mut times: BTreeMap<(CtxId, CtxId), f64> = BTreeMap::new();
    for piece in pieces.iter().filter(|p| p.chain > 0.0) {
        for (between, n) in on_path(even, piece) {
            *times.entry(between).or_default() += n;
        }
    }
    let variance = |(between, n): (&(CtxId, CtxId), &f64)| n * n * even.mean(*between).variance;
    times.iter().map(variance).sum::<f64>().sqrt()
}
