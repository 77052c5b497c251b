//! Replays event windows in virtual time.
//!
//! In a window every MPI event of every rank was recorded. A replay with each rank on a core of its own and an ideal
//! network shows the waits that the *program's* order causes, whatever the scheduler of the measured machine did.
//! `headwater-simulate` runs the window (`window.rs`); this file follows whose clocks can be compared.
//!
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
mod window;

pub use epochs::Epoch;

use epochs::cut_epochs;
use headwater_dataflow::algorithm::{Ask, Interrupted};
use headwater_dataflow::numbers::stats;
use headwater_dataflow::run::threads;
use headwater_model::run::{CtxId, Event, EventKind, Run};
use headwater_mpi_abi as abi;
use headwater_simulate::{Done, Error, Network, Options, Visitor, simulate};
use rustc_hash::FxHashMap;
use window::Window;

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
    let window = Window::of(run, events);
    let mut interrupted = false;
    let mut seen = Seen::new(&window, ends, before);
    let steps = window.program(ends, || {
        interrupted |= ask.ends();
        interrupted
    });
    let options = Options {
        critical_path: false,
    };
    // Ranks that wait for what is not in the window go no further, which is no error.
    let _: Result<_, Error> = simulate(steps, &Network::Ideal, options, &mut seen);
    let (played, in_step) = (seen.played, seen.in_step);
    if !interrupted {
        cut_epochs(run, &window, (played, in_step, ends), replay);
    }
}

/// What is seen of a window's calls, with the origins of the ranks' clocks.
struct Seen<'a> {
    window: &'a Window<'a>,
    ends: Ends,
    before: &'a FxHashMap<CtxId, CtxId>,
    /// By rank: its origin when it arrived at each call, up to the next one. Clocks of ranks with the same origin can be
    /// compared.
    origins: Vec<Vec<u32>>,
    played: Vec<Vec<Played>>,
    /// When the last rank changed its origin.
    in_step: f64,
}

impl<'a> Seen<'a> {
    fn new(window: &'a Window<'a>, ends: Ends, before: &'a FxHashMap<CtxId, CtxId>) -> Self {
        let first = |rank: u32| if ends.together || ends.apart { 0 } else { rank };
        let origins = (0..).zip(&window.calls).map(|(r, _)| vec![first(r)]);
        let lengths = window.calls.iter().map(Vec::len);
        Self {
            window,
            ends,
            before,
            origins: origins.collect(),
            played: lengths.map(Vec::with_capacity).collect(),
            in_step: 0.0,
        }
    }
}

impl Visitor for &mut Seen<'_> {
    fn done(&mut self, done: &Done) {
        if done.is_compute() {
            return;
        }
        let (rank, at) = (done.rank as usize, done.call as usize);
        let Some(call) = self.window.calls[rank].get(at) else {
            return;
        };
        let mut origin = self.origins[rank][at];
        let cause = done.waited_for.map(|w| (w.rank, w.call as u32));
        let theirs = cause.and_then(|(who, call)| self.origins[who as usize].get(call as usize));
        let other = theirs.copied().filter(|o| *o != origin);
        if let Some(theirs) = other {
            origin = theirs;
            self.in_step = self.in_step.max(done.leave);
        }
        self.origins[rank].push(origin);
        let (ctx, func) = (call.rows[0].ctx, call.rows[0].func);
        let after = match self.played[rank].last() {
            Some(last) => last.ctx,
            None => self.before.get(&ctx).copied().unwrap_or(CtxId::NONE),
        };
        self.played[rank].push(Played {
            ctx,
            after,
            func,
            busy: call.busy(at, self.ends),
            enter: done.enter,
            leave: done.leave,
            waited_for: cause.filter(|_| other.is_none()),
        });
    }
}

#[cfg(test)]
mod tests;
