//! Replays event windows in virtual time.
//!
//! In a window every MPI event of every rank was recorded. A replay with each rank on a core of its own and an ideal
//! network shows the waits that the *program's* order causes, whatever the scheduler of the measured machine did.
//! Virtual time advances by recorded computation. A receive completes when its message was sent, a collective when the
//! last rank arrived that the member needs. A rank arrives at a nonblocking collective where it posts it, and waits
//! where it completes it. (Wait states as in Böhme et al. 2010; the ideal network as in POP's serialisation
//! efficiency.)
//!
//! A window is cut into epochs by calls that synchronise all ranks. The time that an epoch takes beyond its slowest
//! rank's computation is *chain*: ranks that wait in turn.
//!
//! A window that is cut out of the run begins at one moment of real time. Before that, the scheduler may have let some
//! ranks run ahead, so the relation between the ranks' clocks is unknown at first: each has its own *origin*. When a
//! rank waits for another one, it takes over that rank's origin, and from then on its clock is known relative to it.
//! The length of that wait is unknown and not attributed to anyone. Waits between ranks of one origin are the
//! program's. Epochs begin when the last rank has changed its origin: in a bulk-synchronous program with the first
//! synchronisation of all ranks, in a pipeline when each rank has waited for the one before. They end when the first
//! rank has no event left. Events outside of epochs are not used.
//!
//! If each rank had a core of its own and clocks agree, no scheduler let any rank run ahead. Then the program
//! determines when ranks begin, so all have one origin from the first call on.

mod epochs;

pub use epochs::Epoch;

use epochs::cut_epochs;
use headwater_dataflow::algorithm::{Ask, Interrupted};
use headwater_dataflow::numbers::stats;
use headwater_dataflow::run::threads;
use headwater_model::run::{CtxId, Event, EventKind, Run};
use headwater_mpi_abi::{self as abi, Needs};
use rustc_hash::{FxHashMap, FxHashSet};

/// One MPI call of one rank in a window, replayed.
#[derive(Clone, Debug, PartialEq)]
pub struct Played {
    /// Call site.
    pub ctx: CtxId,
    /// The call that the rank left before it. For the first call of a window, whose predecessor is not recorded there,
    /// it is the call that it follows most often.
    pub after: CtxId,
    /// Index into the run's functions.
    pub func: u16,
    /// Computation before it, seconds.
    pub busy: f64,
    /// Virtual time of arrival, seconds.
    pub enter: f64,
    /// Virtual time of completion, seconds.
    pub leave: f64,
    /// The (rank, call) that it waited for, if there was a wait.
    pub waited_for: Option<(u32, u32)>,
}

/// All windows of a run, replayed.
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

    /// Waiting of all ranks together in all epochs, seconds.
    pub fn waited(&self) -> f64 {
        self.in_epochs()
            .filter(|(_, _, _, call)| call.waited_for.is_some())
            .map(|(_, _, _, call)| call.leave - call.enter)
            .sum()
    }

    /// The calls of all epochs, each with its window, rank and index in the window.
    pub fn in_epochs(&self) -> impl Iterator<Item = (&[Vec<Played>], u32, u32, &Played)> {
        self.epochs.iter().flat_map(|epoch| {
            let window = self
                .windows
                .get(epoch.window)
                .map_or(&[][..], Vec::as_slice);
            let ranks = (0..).zip(&epoch.calls).zip(window);
            ranks.flat_map(move |((rank, (from, to)), list)| {
                let calls = list.get(*from as usize..*to as usize).unwrap_or(&[]);
                (*from..)
                    .zip(calls)
                    .map(move |(at, call)| (window, rank, at, call))
            })
        })
    }

    /// The factor that extrapolates seconds of the epochs to the run, in which ranks compute `busy` seconds and run for
    /// `wall`: the ratio of the computation in the run to that in the epochs. It is limited so that ranks wait for no
    /// more than the time in which they do not compute. `None` without epochs.
    pub fn per_run(&self, busy: &[f64], wall: f64) -> Option<f64> {
        let in_windows = self.mean_busy();
        if in_windows <= 0.0 {
            return None;
        }
        let factor = stats::mean(busy) / in_windows;
        let not_computing: f64 = busy.iter().map(|b| (wall - b).max(0.0)).sum();
        let waited = self.waited() * factor;
        let known = wall > 0.0 && waited > not_computing;
        Some(if known {
            factor * not_computing / waited
        } else {
            factor
        })
    }

    /// Mean computation per rank in all epochs, seconds.
    pub fn mean_busy(&self) -> f64 {
        self.epochs.iter().map(|e| stats::mean(&e.busy)).sum()
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
    /// Clocks of ranks with the same origin can be compared.
    origin: u32,
}

/// How a window begins and ends in the run.
#[derive(Clone, Copy)]
struct Ends {
    /// All ranks begin together.
    together: bool,
    /// It is known when each rank begins.
    apart: bool,
    /// The ranks make no more calls after it.
    of_run: bool,
}

/// Smaller differences of virtual time are rounding, seconds.
const MOMENT: f64 = 1e-9;

/// The arrival of a rank: the rank, its call, and the time.
type Arrival = (u32, u32, f64);

/// An instance of a collective.
#[derive(Default)]
struct Instance {
    /// The function by which members arrive; that of the first of them.
    func: Option<u16>,
    /// Ranks that arrive at it within the window.
    members: FxHashSet<u32>,
    arrivals: FxHashMap<u32, Arrival>,
    /// The last arrival; of equal ones, the one that was replayed first.
    last: Option<Arrival>,
}

impl Instance {
    fn comes(&mut self, arrival: Arrival) {
        self.arrivals.insert(arrival.0, arrival);
        if self.last.is_none_or(|last| arrival.2 > last.2) {
            self.last = Some(arrival);
        }
    }

    /// The last arrival of the ranks that a member needs, if one of them is in the window; `None` while one of them has
    /// not arrived.
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

/// Whether a row of a window, of a call of `function`, shows that its rank arrives at a collective. Calls that complete
/// what others posted do not.
pub fn comes_to_collective(e: &Event, function: Option<&abi::Function>) -> bool {
    match e.kind {
        EventKind::Collective => !function.is_some_and(|f| f.class.is_completing()),
        EventKind::CollectivePost => true,
        _ => false,
    }
}

/// Largest uncertainty of the clocks, as a part of a window, with which recorded begins of ranks are used.
const CLOCKS: f64 = 0.01;

/// Replays all windows of `run` as they were recorded. If it is interrupted, its result is useless.
pub fn play(run: &Run, interrupted: Interrupted<'_>) -> Replay {
    let cores: u32 = run.header.cores.iter().sum();
    let crowded = cores == 0 || threads::is_crowded(run);
    // Clocks of several nodes that were not compared have no uncertainty either.
    let compared = run.header.nodes.len() < 2 || run.header.clock_error_seconds > 0.0;
    play_from(run, !crowded && compared, interrupted)
}

/// Replays all windows of `run`. With `on_clocks`, a rank begins at the recorded time; this does not apply to work
/// other than the recorded one.
pub fn play_from(run: &Run, on_clocks: bool, interrupted: Interrupted<'_>) -> Replay {
    let mut replay = Replay::default();
    let mut ask = Ask::new(interrupted);
    let before = usually_before(run);
    for window in run.events.chunk_by(|a, b| a.window == b.window) {
        let number = window.first().map_or(0, |e| e.window as usize);
        // A window that the header does not describe begins after a collective of all ranks.
        let said = run.header.windows.get(number);
        let together = said.is_none_or(|w| w.from_start);
        let length = said.map_or(0.0, |w| w.length_ns as f64 * 1e-9);
        let ends = Ends {
            together,
            apart: on_clocks && !together && run.header.clock_error_seconds <= CLOCKS * length,
            of_run: said.is_none_or(|w| w.to_end),
        };
        play_window(run, window, ends, &before, &mut replay, &mut ask);
    }
    replay
}

/// For each call, the call that it follows most often; ties go to the smaller context.
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
    ends: Ends,
    before: &FxHashMap<CtxId, CtxId>,
    replay: &mut Replay,
    ask: &mut Ask<'_>,
) {
    let p = run.header.ranks as usize;
    let mut calls: Vec<Vec<Call<'_>>> = (0..p).map(|_| Vec::new()).collect();
    // The analysis follows the first thread of each rank; the order of others relative to it is unknown here.
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
    let of_rank = |rank: u32| Clock {
        origin: if ends.together || ends.apart { 0 } else { rank },
        ..Clock::default()
    };
    let mut clocks: Vec<Clock> = (0..run.header.ranks).map(of_rank).collect();
    // By rank: its origin when it arrived at each call.
    let mut origins: Vec<Vec<u32>> = vec![Vec::new(); p];
    // When the last rank changed its origin.
    let mut in_step = 0.0f64;
    let mut moved = true;
    while std::mem::take(&mut moved) {
        for rank in 0..p {
            while let Some(call) = calls[rank].get(clocks[rank].next) {
                if ask.ends() {
                    return;
                }
                let index = clocks[rank].next as u32;
                let rows = call.rows;
                let mut busy = rows[0].busy_ns;
                if index == 0 && !ends.together {
                    // The rest of this computation was before the window.
                    busy = busy.min(rows[0].enter_ns);
                }
                if index == 0 && ends.apart && !clocks[rank].arrived {
                    clocks[rank].now = rows[0].enter_ns.saturating_sub(busy) as f64 * 1e-9;
                }
                let busy = busy as f64 * 1e-9;
                if !clocks[rank].arrived {
                    clocks[rank].now += busy;
                    clocks[rank].arrived = true;
                    let origin = clocks[rank].origin;
                    origins[rank].push(origin);
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
                let Some((leave, mut waited_for)) =
                    complete(rows, rank as u32, enter, &sends, &instances, &classes)
                else {
                    break;
                };
                let mut origin = clocks[rank].origin;
                let theirs =
                    waited_for.and_then(|(who, call)| origins[who as usize].get(call as usize));
                if let Some(theirs) = theirs.copied().filter(|o| *o != origin) {
                    (origin, waited_for) = (theirs, None);
                    in_step = in_step.max(leave);
                }
                clocks[rank] = Clock {
                    next: index as usize + 1,
                    now: leave,
                    arrived: false,
                    origin,
                };
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
    cut_epochs(
        run,
        &calls,
        &instances,
        &classes,
        (played, in_step, ends),
        replay,
    );
}

/// When a call that arrived at `enter` completes, and the (rank, call) that it waited for; `None` while it cannot
/// complete yet.
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
            // In a window, there is no wait for a message whose send is outside of it.
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

#[cfg(test)]
mod tests;
