//! Delay cost: which computation causes the waiting of all ranks (Böhme et al. 2010; Scalasca).
//!
//! A rank waits for a late rank. Its delay is the time by which the late rank spent longer in each place than the
//! waiting rank since the two last met. A wait of `w` seconds is split over the places by `s·d(c)` with `d(c) = max(0,
//! own time of the late rank in c − the waiter's)`, `D = Σ d`, `W` the waiting of the late rank itself in the interval
//! and `s = min(w/(D+W), 1)`. The part that falls on those inner waits is carried on to the ranks that caused them; it
//! is the long-term part.
//!
//! Replayed windows have waits and intervals call by call, and they represent the run. Where there are no windows,
//! whole phases are compared rank by rank with the same formula.

use crate::find::candidate::Candidate;
use crate::measure::backtrack::structured;
use crate::measure::replay::{Epoch, Played, Replay};
use crate::measure::scale::Scale;
use crate::price::lateness::Lateness;
use headwater_dataflow::algorithm::{Ask, Interrupted};
use headwater_dataflow::flow::{Stage, StageResult, counted};
use headwater_graph::{Key, Pag, VertexIx};
use headwater_model::diagnosis::CauseClass;
use headwater_model::run::CtxId;
use rustc_hash::FxHashMap;

/// Seconds of waiting: either their number alone, or also where ranks waited.
pub trait Amount: Clone + Default {
    /// The part of a wait in call `at` that falls on each second of delay: its `own` share, and what it `inherited`
    /// from waits that it passed on, over `all` seconds.
    fn shared(own: f64, inherited: Option<&Self>, all: f64, at: CtxId) -> Self;

    /// Adds `seconds` times as much as `share`.
    fn add(&mut self, share: &Self, seconds: f64);
}

impl Amount for f64 {
    fn shared(own: f64, inherited: Option<&Self>, all: f64, _: CtxId) -> Self {
        own + inherited.copied().unwrap_or(0.0) / all
    }

    fn add(&mut self, share: &Self, seconds: f64) {
        *self += share * seconds;
    }
}

/// By late rank and by the MPI call after which it was late.
pub type Sums<A> = FxHashMap<(u32, CtxId), A>;

/// The delay costs of a run's windows.
pub struct Costs(Sums<f64>);

impl StageResult for Costs {
    const STAGE: Stage = Stage::new(&["delays", "delays"]);

    fn words(&self) -> String {
        counted(self.0.len(), "delay", "delays")
    }
}

/// A wait of call `at` of a rank for another one.
#[derive(Clone, Copy)]
struct Wait {
    rank: u32,
    at: u32,
    on: u32,
    on_at: u32,
    leave: f64,
    seconds: f64,
}

/// The delay costs of all windows.
pub fn in_windows(replay: &Replay, interrupted: Interrupted<'_>) -> Costs {
    Costs(sums(replay, interrupted))
}

/// The delay costs of all windows, as any amount. If it is interrupted, its result is useless.
pub fn sums<A: Amount>(replay: &Replay, interrupted: Interrupted<'_>) -> Sums<A> {
    let mut ask = Ask::new(interrupted);
    let mut costs = Sums::default();
    for epoch in &replay.epochs {
        if let Some(window) = replay.windows.get(epoch.window) {
            epoch_costs(window, epoch, &mut costs, &mut ask);
        }
    }
    costs
}

fn epoch_costs<A: Amount>(
    window: &[Vec<Played>],
    epoch: &Epoch,
    costs: &mut Sums<A>,
    ask: &mut Ask<'_>,
) {
    let begin = |rank: u32| epoch.calls.get(rank as usize).map_or(0, |c| c.0);
    let calls = |rank: u32, from: u32, to: u32| {
        let all = window.get(rank as usize).map_or(&[][..], Vec::as_slice);
        let range = from as usize..(to as usize).min(all.len());
        range.map(move |i| (i as u32, all[i].after, &all[i]))
    };
    let mut waits: Vec<Wait> = Vec::new();
    for (rank, &(from, to)) in (0..).zip(&epoch.calls) {
        for (at, _, call) in calls(rank, from, to) {
            if let Some((on, on_at)) = call.waited_for.filter(|w| w.1 >= begin(w.0)) {
                waits.push(Wait {
                    rank,
                    at,
                    on,
                    on_at,
                    leave: call.leave,
                    seconds: call.leave - call.enter,
                });
            }
        }
    }
    waits.sort_by(|a, b| {
        a.leave
            .total_cmp(&b.leave)
            .then((a.rank, a.at).cmp(&(b.rank, b.at)))
    });
    // Where the two ranks met before each wait: the first call after that, of the waiting and of the late rank.
    let mut met: FxHashMap<(u32, u32), (u32, u32)> = FxHashMap::default();
    let since: Vec<(u32, u32)> = waits
        .iter()
        .map(|w| {
            let (low, high) = (w.rank.min(w.on), w.rank.max(w.on));
            let known = met.entry((low, high)).or_insert((begin(low), begin(high)));
            let (here, there) = (w.at + 1, w.on_at + 1);
            if w.rank == low {
                std::mem::replace(known, (here, there))
            } else {
                let before = std::mem::replace(known, (there, here));
                (before.1, before.0)
            }
        })
        .collect();
    let mut carried: FxHashMap<(u32, u32), A> = FxHashMap::default();
    for (wait, (mine, theirs)) in waits.iter().zip(since).rev() {
        let mut longer: FxHashMap<CtxId, f64> = FxHashMap::default();
        let mut waiting = 0.0;
        for (index, after, call) in calls(wait.on, theirs, wait.on_at + 1) {
            if ask.ends() {
                return;
            }
            *longer.entry(after).or_default() += call.busy;
            if index < wait.on_at {
                waiting += call.leave - call.enter;
            }
        }
        for (_, after, call) in calls(wait.rank, mine, wait.at + 1) {
            if let Some(time) = longer.get_mut(&after) {
                *time -= call.busy;
            }
        }
        let mut longer: Vec<(CtxId, f64)> = longer.into_iter().filter(|l| l.1 > 0.0).collect();
        longer.sort_unstable_by_key(|l| l.0);
        let all = longer.iter().map(|l| l.1).sum::<f64>() + waiting;
        if all <= 0.0 {
            continue;
        }
        let at = calls(wait.rank, wait.at, wait.at + 1).next();
        let Some((_, _, call)) = at else { continue };
        let inherited = carried.get(&(wait.rank, wait.at));
        let share = A::shared((wait.seconds / all).min(1.0), inherited, all, call.ctx);
        for (after, delay) in longer {
            costs
                .entry((wait.on, after))
                .or_default()
                .add(&share, delay);
        }
        for (index, _, call) in calls(wait.on, theirs, wait.on_at) {
            let inner = call.leave - call.enter;
            if inner > 0.0 {
                let carried = carried.entry((wait.on, index)).or_default();
                carried.add(&share, inner);
            }
        }
    }
}

/// Seconds of waiting that a cause is to blame for, of all ranks together and in the whole run.
pub fn price(pag: &Pag, scale: &Scale, costs: &Costs, cause: &Candidate) -> f64 {
    let seen = |after: &CtxId| {
        cause
            .ranks
            .iter()
            .any(|r| costs.0.contains_key(&(*r, *after)))
    };
    // An event that happened once is in a window only by chance, and does not represent the run.
    let repeats = cause.class != CauseClass::OneOff;
    if let Some(factor) = scale.per_run
        && repeats
        && cause.after.iter().any(seen)
    {
        let data = &scale.view().computation;
        let places = std::iter::once(&cause.vertex).chain(&cause.twins);
        let places: Vec<VertexIx> = places.map(|v| structured(pag, *v)).collect();
        let inside = |part: &&(VertexIx, f64)| places.iter().any(|v| pag.top.contains(*v, part.0));
        let of_call = |after: &CtxId| {
            let keys = data.keys_where(|k| k.after == *after);
            let lateness = Lateness::new(pag, scale, *after, &keys);
            let of_rank = |rank: &u32| {
                let cost = costs.0.get(&(*rank, *after))?;
                let parts = lateness.parts(*rank);
                let here: f64 = parts.iter().filter(inside).map(|p| p.1).sum();
                Some(cost * here)
            };
            cause.ranks.iter().filter_map(of_rank).sum::<f64>()
        };
        let waited = factor * cause.after.iter().map(of_call).sum::<f64>();
        // At most the time that all ranks spent in MPI.
        let mpi = &scale.view().mpi;
        let spent: f64 = mpi.keys().filter_map(|v| mpi.row(v)).map(|r| r.sum()).sum();
        return waited.min(spent);
    }
    let mut phases: Vec<u32> = cause.after.iter().map(|a| scale.phases.after(*a)).collect();
    phases.sort_unstable();
    phases.dedup();
    phases
        .into_iter()
        .map(|phase| in_phase(pag, scale, cause, phase))
        .sum()
}

/// The formula on one phase, with the cause's slowest rank as the late one.
fn in_phase(pag: &Pag, scale: &Scale, cause: &Candidate, phase: u32) -> f64 {
    let Some(total) = scale.phase_busy.get(&phase) else {
        return 0.0;
    };
    let time = |r: &u32| total.get(*r as usize).copied().unwrap_or(0.0);
    let slowest = cause.ranks.iter().copied();
    let Some(late) = slowest.reduce(|a, b| if time(&b) > time(&a) { b } else { a }) else {
        return 0.0;
    };
    let mut delay = vec![0.0; total.len()];
    let mut here = vec![0.0; total.len()];
    longer(scale, phase, late, |of, longer| {
        let mut places = std::iter::once(&cause.vertex).chain(&cause.twins);
        let inside = places.any(|v| pag.top.contains(*v, of.vertex));
        for (r, longer) in longer.iter().enumerate().take(delay.len()) {
            delay[r] += longer;
            here[r] += if inside { *longer } else { 0.0 };
        }
    });
    let waits = total.iter().map(|t| (time(&late) - t).max(0.0));
    let each = waits.zip(delay.into_iter().zip(here));
    each.filter(|(_, (all, _))| *all > 0.0)
        .map(|(wait, (all, here))| (wait / all).min(1.0) * here)
        .sum()
}

/// Calls `report` for each computation of a phase with the seconds by which rank `late` is longer in it than each rank.
pub fn longer(scale: &Scale, phase: u32, late: u32, mut report: impl FnMut(&Key, &[f64])) {
    let data = &scale.view().computation;
    for key in scale.keys_in(phase) {
        let (Some(row), Some(of)) = (data.busy.row(key), data.keys.get(key as usize)) else {
            continue;
        };
        let mut own = vec![0.0; scale.p as usize];
        row.add_to(&mut own);
        let longest = row.at(late);
        own.iter_mut()
            .for_each(|own| *own = (longest - *own).max(0.0));
        report(of, &own);
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use headwater_dataflow::algorithm::NEVER;

    /// A call of context `ctx` after one of the context before.
    pub fn call(ctx: u32, busy: f64, enter: f64, leave: f64, on: Option<(u32, u32)>) -> Played {
        Played {
            ctx: CtxId(ctx),
            after: CtxId(ctx - 1),
            func: 0,
            busy,
            enter,
            leave,
            waited_for: on,
        }
    }

    /// A replay of one window.
    pub fn replay(window: Vec<Vec<Played>>) -> Replay {
        let epoch = Epoch {
            window: 0,
            calls: window.iter().map(|c| (0, c.len() as u32)).collect(),
            seconds: 0.0,
            busy: vec![],
            closed: false,
            whole: true,
        };
        Replay {
            windows: vec![window],
            epochs: vec![epoch],
        }
    }

    #[test]
    fn a_wait_falls_on_what_the_late_rank_did_longer() {
        // Rank 0 computes 1 s and sends, rank 1 computes 0.2 s and receives.
        let costs = in_windows(
            &replay(vec![
                vec![call(1, 1.0, 1.0, 1.0, None)],
                vec![call(1, 0.2, 0.2, 1.0, Some((0, 0)))],
            ]),
            NEVER,
        );
        let costs = costs.0;
        assert_eq!(costs.len(), 1);
        assert!((costs[&(0, CtxId(0))] - 0.8).abs() < 1e-9);
    }

    #[test]
    fn waits_that_were_passed_on_fall_on_their_origin() {
        // Rank 0 is late, rank 1 waits for it and then makes rank 2 wait: all 1.6 s come from rank 0,
        // but for the little that rank 1 computes itself after its wait.
        let costs = in_windows(
            &replay(vec![
                vec![call(1, 1.0, 1.0, 1.0, None)],
                vec![
                    call(1, 0.2, 0.2, 1.0, Some((0, 0))),
                    call(2, 0.1, 1.1, 1.1, None),
                ],
                vec![call(1, 0.2, 0.2, 1.1, Some((1, 1)))],
            ]),
            NEVER,
        );
        let costs = costs.0;
        let origin = costs[&(0, CtxId(0))];
        let own = costs[&(1, CtxId(1))];
        assert!((origin - (0.8 + 0.8)).abs() < 1e-9, "{origin}");
        assert!((own - 0.1).abs() < 1e-9, "{own}");
    }
}
