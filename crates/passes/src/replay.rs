//! Event windows played again in virtual time.
//!
//! In a window every MPI event of every rank was kept. Playing it with each rank on a core of its own
//! and an ideal network gives the waits that the *program's* order causes, whatever the scheduler of
//! the measured machine did: virtual time advances by recorded computation, a receive completes when
//! its message was sent, a collective when the last of those arrived whom the member needs. To one that is not
//! blocking a rank comes where it posts it, and it waits where it completes it. (Wait states as in Böhme et al.
//! 2010; the ideal network as in POP's serialisation efficiency.)
//!
//! A window is cut into epochs by calls that synchronise all ranks. What an epoch takes beyond its
//! slowest rank's computation is *chain*: ranks that wait in turn.

use crate::algorithm::{Ask, Interrupted};
use headwater_model::run::{CtxId, Event, EventKind, Run};
use headwater_mpi_abi::{self as abi, Needs};
use rustc_hash::{FxHashMap, FxHashSet};

/// One MPI call of one rank in a window, played.
#[derive(Clone, Debug, PartialEq)]
pub struct Played {
    /// Call site.
    pub ctx: CtxId,
    /// The call left before it. For the first of a window, which is not recorded there, it is the one
    /// that this call follows most often.
    pub after: CtxId,
    /// Index into the run's functions.
    pub func: u16,
    /// Computation before it, seconds.
    pub busy: f64,
    /// Virtual time of arrival, seconds.
    pub enter: f64,
    /// Virtual time of completion, seconds.
    pub leave: f64,
    /// The (rank, call) that was waited for, if there was a wait.
    pub waited_for: Option<(u32, u32)>,
}

/// A stretch between two synchronisations of all ranks, or a whole window without any.
#[derive(Clone, Debug, PartialEq)]
pub struct Epoch {
    /// Index into [`Replay::windows`].
    pub window: usize,
    /// Half-open range of calls of each rank; the last one is the closing synchronisation.
    pub calls: Vec<(u32, u32)>,
    /// Virtual duration, seconds.
    pub seconds: f64,
    /// Computation of each rank, seconds.
    pub busy: Vec<f64>,
    /// Whether a synchronisation of all ranks closes it.
    pub closed: bool,
}

impl Epoch {
    /// Duration beyond the slowest rank's computation, seconds.
    pub fn chain(&self) -> f64 {
        (self.seconds - crate::stats::max(&self.busy)).max(0.0)
    }
}

/// All windows of a run, played.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replay {
    /// By window, then rank: calls in order.
    pub windows: Vec<Vec<Vec<Played>>>,
    /// Epochs of all windows.
    pub epochs: Vec<Epoch>,
}

impl Replay {
    /// Chain seconds per second of mean computation, over all windows.
    pub fn chain_per_busy(&self) -> f64 {
        let chain: f64 = self.epochs.iter().map(Epoch::chain).sum();
        let busy = self.mean_busy();
        if busy > 0.0 { chain / busy } else { 0.0 }
    }

    /// Mean computation per rank in all epochs, seconds.
    pub fn mean_busy(&self) -> f64 {
        self.epochs
            .iter()
            .map(|e| crate::stats::mean(&e.busy))
            .sum()
    }
}

/// A call with its rows.
struct Call<'a> {
    rows: &'a [Event],
}

/// The clock of one rank.
#[derive(Clone, Copy, Default)]
struct Clock {
    next: usize,
    now: f64,
    arrived: bool,
}

/// A rank that has come, its call, and when.
type Arrival = (u32, u32, f64);

/// An instance of a collective.
#[derive(Default)]
struct Instance {
    /// The function that the members come to it by; that of the first of them.
    func: Option<u16>,
    /// Ranks that come to it within the window.
    members: FxHashSet<u32>,
    arrivals: FxHashMap<u32, Arrival>,
    /// Who came last; of several whoever was played first.
    last: Option<Arrival>,
}

impl Instance {
    fn comes(&mut self, arrival: Arrival) {
        self.arrivals.insert(arrival.0, arrival);
        if self.last.is_none_or(|last| arrival.2 > last.2) {
            self.last = Some(arrival);
        }
    }

    /// Of those whom a member needs the last that came, if one of them is of the window; `None` while one is to come.
    fn last_needed(&self, needs: Needs, rank: u32, root: u32) -> Option<Option<Arrival>> {
        match needs {
            Needs::Nobody => Some(None),
            Needs::Root if !self.members.contains(&root) => Some(None),
            Needs::Root => self.arrivals.get(&root).copied().map(Some),
            Needs::Lower => {
                let lower = self.members.iter().filter(|m| **m < rank);
                let come: Option<Vec<Arrival>> =
                    lower.map(|m| self.arrivals.get(m).copied()).collect();
                let later = |a: &Arrival, b: &Arrival| a.2.total_cmp(&b.2).then(b.0.cmp(&a.0));
                Some(come?.into_iter().max_by(later))
            }
            Needs::All if self.arrivals.len() < self.members.len() => None,
            Needs::All => Some(self.last),
        }
    }
}

/// Whether a row of a window, of a call of `function`, tells that its rank comes to a collective. The calls that
/// complete what others posted do not.
pub fn comes_to_collective(e: &Event, function: Option<&abi::Function>) -> bool {
    match e.kind {
        EventKind::Collective => !function.is_some_and(|f| f.class.is_completing()),
        EventKind::CollectivePost => true,
        _ => false,
    }
}

/// Plays all windows of `run`; where it is interrupted, what it gives is of no use.
pub fn play(run: &Run, interrupted: Interrupted<'_>) -> Replay {
    let mut replay = Replay::default();
    let mut ask = Ask::new(interrupted);
    let before = usually_before(run);
    for window in run.events.chunk_by(|a, b| a.window == b.window) {
        play_window(run, window, &before, &mut replay, &mut ask);
    }
    replay
}

/// For each call the call that it follows most often; ties go to the smaller context.
fn usually_before(run: &Run) -> FxHashMap<CtxId, CtxId> {
    let mut counts: FxHashMap<(CtxId, CtxId), u64> = FxHashMap::default();
    for s in &run.segments {
        *counts.entry((s.to, s.from)).or_default() += s.count;
    }
    let mut sorted: Vec<((CtxId, CtxId), u64)> = counts.into_iter().collect();
    sorted.sort_unstable_by_key(|((to, from), n)| (*to, *n, std::cmp::Reverse(*from)));
    // The last of each call wins.
    sorted.into_iter().map(|(pair, _)| pair).collect()
}

fn play_window(
    run: &Run,
    events: &[Event],
    before: &FxHashMap<CtxId, CtxId>,
    replay: &mut Replay,
    ask: &mut Ask<'_>,
) {
    let p = run.header.ranks as usize;
    let mut calls: Vec<Vec<Call<'_>>> = (0..p).map(|_| Vec::new()).collect();
    // The analysis follows the first thread of each rank; others have no order with it here.
    for rank in events.chunk_by(|a, b| a.rank == b.rank) {
        let Some(list) = calls.get_mut(rank[0].rank as usize) else {
            continue;
        };
        let mut rest = rank;
        while let Some(first) = rest.first() {
            let len = 1 + rest[1..].iter().take_while(|e| !e.first_of_call).count();
            if first.thread == 0 {
                list.push(Call { rows: &rest[..len] });
            }
            rest = &rest[len..];
        }
    }
    let classes: Vec<Option<&'static abi::Function>> =
        run.functions.iter().map(|f| abi::by_name(f)).collect();
    let comes = |e: &Event| comes_to_collective(e, classes.get(e.func as usize).copied().flatten());
    let mut sends: FxHashMap<u32, Option<Arrival>> = FxHashMap::default();
    let mut instances: FxHashMap<u32, Instance> = FxHashMap::default();
    for e in events.iter().filter(|e| e.thread == 0 && e.link != 0) {
        if e.kind == EventKind::Send {
            sends.insert(e.link, None);
        } else if comes(e) {
            let instance = instances.entry(e.link).or_default();
            instance.func.get_or_insert(e.func);
            instance.members.insert(e.rank);
        }
    }
    let mut played: Vec<Vec<Played>> = calls.iter().map(|c| Vec::with_capacity(c.len())).collect();
    let mut clocks = vec![Clock::default(); p];
    let mut moved = true;
    while std::mem::take(&mut moved) {
        for rank in 0..p {
            while let Some(call) = calls[rank].get(clocks[rank].next) {
                if ask.ends() {
                    return;
                }
                let index = clocks[rank].next as u32;
                let rows = call.rows;
                if !clocks[rank].arrived {
                    clocks[rank].now += rows[0].busy_ns as f64 * 1e-9;
                    clocks[rank].arrived = true;
                    let now = clocks[rank].now;
                    let arrival = (rank as u32, index, now);
                    for e in rows.iter().filter(|e| e.link != 0) {
                        if e.kind == EventKind::Send {
                            sends.insert(e.link, Some(arrival));
                        } else if comes(e) {
                            instances.entry(e.link).or_default().comes(arrival);
                        }
                    }
                }
                let enter = clocks[rank].now;
                let Some((leave, waited_for)) =
                    complete(rows, rank as u32, enter, &sends, &instances, &classes)
                else {
                    break;
                };
                clocks[rank] = Clock {
                    next: index as usize + 1,
                    now: leave,
                    arrived: false,
                };
                let busy = rows[0].busy_ns as f64 * 1e-9;
                let after = match played[rank].last() {
                    Some(last) => last.ctx,
                    None => before.get(&rows[0].ctx).copied().unwrap_or(CtxId::NONE),
                };
                played[rank].push(Played {
                    ctx: rows[0].ctx,
                    after,
                    func: rows[0].func,
                    busy,
                    enter,
                    leave,
                    waited_for,
                });
                moved = true;
            }
        }
    }
    cut_epochs(run, &calls, &instances, &classes, played, replay);
}

/// When a call that arrived at `enter` completes and whom it waited for; `None` while it cannot yet.
fn complete(
    rows: &[Event],
    rank: u32,
    enter: f64,
    sends: &FxHashMap<u32, Option<Arrival>>,
    instances: &FxHashMap<u32, Instance>,
    classes: &[Option<&'static abi::Function>],
) -> Option<(f64, Option<(u32, u32)>)> {
    let mut leave = enter;
    let mut waited_for = None;
    let mut wait = |(who, call, when): Arrival| {
        if when > leave && who != rank {
            (leave, waited_for) = (when, Some((who, call)));
        }
    };
    for e in rows.iter().filter(|e| e.link != 0) {
        match e.kind {
            // A message whose send is outside the window was not waited for in it.
            EventKind::Recv => match sends.get(&e.link) {
                Some(Some(sent)) => wait(*sent),
                Some(None) => return None,
                None => {}
            },
            EventKind::Collective => {
                let Some(instance) = instances.get(&e.link) else {
                    continue;
                };
                let func = instance.func.and_then(|f| classes.get(f as usize));
                let class = func.copied().flatten().map(|f| f.class);
                let needs = class.map_or(Needs::All, |c| c.needs(rank == e.peer));
                if let Some(last) = instance.last_needed(needs, rank, e.peer)? {
                    wait(last);
                }
            }
            _ => {}
        }
    }
    Some((leave, waited_for))
}

/// Cuts a played window at the synchronisations of all ranks.
fn cut_epochs(
    run: &Run,
    calls: &[Vec<Call<'_>>],
    instances: &FxHashMap<u32, Instance>,
    classes: &[Option<&'static abi::Function>],
    played: Vec<Vec<Played>>,
    replay: &mut Replay,
) {
    let p = run.header.ranks as usize;
    let window = replay.windows.len();
    let is_cut = |call: &Call<'_>| {
        call.rows.iter().any(|e| {
            e.kind == EventKind::Collective
                && classes
                    .get(e.func as usize)
                    .copied()
                    .flatten()
                    .is_some_and(|c| c.is_synchronising())
                && instances.get(&e.link).is_some_and(|i| i.members.len() == p)
        })
    };
    let cuts: Vec<Vec<u32>> = played
        .iter()
        .zip(calls)
        .map(|(done, calls)| {
            (0..done.len())
                .filter(|i| is_cut(&calls[*i]))
                .map(|i| i as u32)
                .collect()
        })
        .collect();
    let closed = cuts.iter().map(Vec::len).min().unwrap_or(0);
    let mut push = |range: Vec<(u32, u32)>, closed: bool| {
        let busy: Vec<f64> = range
            .iter()
            .zip(&played)
            .map(|(&(a, b), list)| list[a as usize..b as usize].iter().map(|c| c.busy).sum())
            .collect();
        let start = |r: usize| {
            range[r]
                .0
                .checked_sub(1)
                .and_then(|i| played[r].get(i as usize))
                .map_or(0.0, |c| c.leave)
        };
        let end = |r: usize| {
            let (a, b) = range[r];
            if b > a {
                played[r][b as usize - 1].leave
            } else {
                start(r)
            }
        };
        let first = (0..p).map(start).fold(f64::INFINITY, f64::min);
        let last = (0..p).map(end).fold(0.0, f64::max);
        if busy.iter().any(|b| *b > 0.0) && last > first {
            replay.epochs.push(Epoch {
                window,
                calls: range,
                seconds: last - first,
                busy,
                closed,
            });
        }
    };
    for k in 0..closed {
        let range = cuts
            .iter()
            .map(|c| (if k == 0 { 0 } else { c[k - 1] + 1 }, c[k] + 1))
            .collect();
        push(range, true);
    }
    if closed == 0 && p > 0 {
        push(
            played.iter().map(|list| (0, list.len() as u32)).collect(),
            false,
        );
    }
    replay.windows.push(played);
}

#[cfg(test)]
mod tests;
