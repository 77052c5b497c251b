//! The critical path (Böhme et al. 2012; Schmitt et al. 2017): the one chain of computation and messages that the run
//! time consists of.
//!
//! Where event windows were recorded, the path is followed backward in their replay from the last rank, and its seconds
//! are extrapolated to the run. Otherwise it consists of the slowest rank of each phase between synchronisations. A
//! rank's seconds on the path are divided over its places as its samples are. Where it works in a team of threads or
//! waits for one, the path is that of the slowest thread (`measure/team_path.rs`). *Imbalance* is the time of a vertex on
//! the path beyond the mean over ranks, or over the threads of teams: the run could be shorter by it if the vertex's work
//! were even.

use crate::measure::chain::{critical_path, last_rank};
use crate::measure::scale::Scale;
use crate::measure::team_path::{OfRanks, OnThread, through_teams};
use crate::measure::teams::Teams;
use headwater_dataflow::algorithm::Interrupted;
use headwater_dataflow::flow::{Gives, Kind, Pass, PassError};
use headwater_dataflow::numbers::stats;
use headwater_dataflow::pass::whole;
use headwater_dataflow::run::Recorded;
use headwater_dataflow::set::Set;
use headwater_graph::ThreadTime;
use headwater_model::rank::RankSet;
use headwater_model::run::CtxId;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    vec![
        Pass::new(
            "critical-path",
            "Vertices on the run's critical path, the most seconds first, with on_path, imbalance, path_ranks and path_threads.",
            |call| Ok(vec![critical(call.run(0)?, call.interrupted())?.into()]),
        )
        .takes("run", Kind::Run)
        .gives(Gives::Kind(Kind::TOP_DOWN)),
    ]
}

/// Seconds on the path, by rank and the call that the rank left before.
fn on_path(scale: &Scale) -> FxHashMap<(u32, CtxId), f64> {
    let mut out: FxHashMap<(u32, CtxId), f64> = FxHashMap::default();
    let in_windows = scale.replay.mean_busy();
    if in_windows > 0.0 {
        let factor = stats::mean(&scale.busy()) / in_windows;
        for epoch in &scale.replay.epochs {
            let Some(last) = last_rank(&scale.replay, epoch) else {
                continue;
            };
            let window = scale.replay.windows.get(epoch.window);
            for stretch in critical_path(&scale.replay, epoch, last) {
                let calls = window.and_then(|w| w.get(stretch.rank as usize));
                let (from, to) = (stretch.calls.0 as usize, stretch.calls.1 as usize);
                for call in calls.and_then(|c| c.get(from..to)).unwrap_or(&[]) {
                    *out.entry((stretch.rank, call.after)).or_default() += call.busy * factor;
                }
            }
        }
        bound(scale, &mut out);
        return out;
    }
    // The slowest rank of each phase.
    let slowest: FxHashMap<u32, u32> = scale
        .phase_busy
        .iter()
        .filter_map(|(phase, row)| {
            let all = (0..).zip(row.iter().copied());
            let most = all.reduce(|a: (u32, f64), b| if b.1 > a.1 { b } else { a })?;
            Some((*phase, most.0))
        })
        .collect();
    let data = &scale.view().computation;
    for (key, of) in (0..).zip(&data.keys) {
        if let (Some(rank), Some(row)) = (
            slowest.get(&scale.phases.after(of.after)),
            data.busy.row(key),
        ) {
            *out.entry((*rank, of.after)).or_default() += row.at(*rank);
        }
    }
    out
}

/// Limits the path: windows that are less even than the run result in a longer path than the run has. A rank is on the
/// path with at most what it computes in the run, and the whole path is at most as long as the run.
fn bound(scale: &Scale, path: &mut FxHashMap<(u32, CtxId), f64>) {
    let data = &scale.view().computation;
    let mut busy: FxHashMap<CtxId, Vec<f64>> = FxHashMap::default();
    for (key, of) in (0..).zip(&data.keys) {
        if let Some(row) = data.busy.row(key) {
            let sums = busy.entry(of.after);
            row.add_to(sums.or_insert_with(|| vec![0.0; scale.p as usize]));
        }
    }
    for ((rank, after), seconds) in path.iter_mut() {
        let of_rank = busy.get(after).and_then(|row| row.get(*rank as usize));
        *seconds = seconds.min(of_rank.copied().unwrap_or(0.0));
    }
    let mut sorted: Vec<((u32, CtxId), f64)> = path.iter().map(|(k, s)| (*k, *s)).collect();
    sorted.sort_unstable_by_key(|p| p.0);
    let (all, most) = (
        sorted.iter().map(|p| p.1).sum::<f64>(),
        scale.ideal_seconds(),
    );
    if all > most {
        path.values_mut().for_each(|s| *s *= most / all);
    }
}

/// The ranks and threads whose seconds at a place are on the path.
#[derive(Default)]
struct Who {
    ranks: BTreeSet<u32>,
    /// Threads that are not the ranks' own.
    threads: BTreeSet<u32>,
}

/// Seconds on the path by place: a rank's are divided over its places as its samples are.
fn on_places(scale: &Scale) -> OfRanks {
    let data = &scale.view().computation;
    let mut of_after: FxHashMap<CtxId, Vec<u32>> = FxHashMap::default();
    for (key, of) in (0..).zip(&data.keys) {
        of_after.entry(of.after).or_default().push(key);
    }
    let mut path = OfRanks::default();
    for ((rank, after), on_path) in on_path(scale) {
        let keys = of_after.get(&after).map_or(&[][..], Vec::as_slice);
        let at = |key: &u32| data.busy.row(*key).map_or(0.0, |r| r.at(rank));
        let busy: f64 = keys.iter().map(at).sum();
        for key in keys.iter().filter(|_| busy > 0.0) {
            path.insert((*key, rank), on_path * at(key) / busy);
        }
    }
    path
}

/// Seconds on the path of all threads, those of the ranks' own first, by vertex and rank.
fn on_threads(run: &Recorded, scale: &Scale, teams: &Teams) -> Vec<OnThread> {
    let mut path = on_places(scale);
    let threads = through_teams(run.pag(), scale, teams, &mut path);
    let keys = &scale.view().computation.keys;
    let own = path.into_iter().map(|((key, rank), seconds)| OnThread {
        vertex: keys.get(key as usize).map_or(0, |k| k.vertex),
        rank,
        thread: None,
        seconds,
    });
    let mut all: Vec<OnThread> = own.filter(|part| part.seconds > 0.0).collect();
    all.sort_by(|a, b| {
        let place = (a.vertex, a.rank).cmp(&(b.vertex, b.rank));
        place.then(a.seconds.total_cmp(&b.seconds))
    });
    all.extend(threads);
    all
}

/// Vertices on the critical path of a run, those with the most seconds on it first.
///
/// # Errors
/// If it is interrupted.
pub fn critical(run: &Recorded, interrupted: Interrupted<'_>) -> Result<Set, PassError> {
    let scale = whole(Scale::new(run, interrupted), interrupted)?;
    let teams = Teams::new(run.pag(), &scale);
    let n = run.top_down().graph.vertices();
    let mut seconds = vec![0.0; n];
    let mut who: FxHashMap<u32, Who> = FxHashMap::default();
    for part in on_threads(run, &scale, &teams) {
        if let Some(sum) = seconds.get_mut(part.vertex as usize) {
            *sum += part.seconds;
            let who = who.entry(part.vertex).or_default();
            who.ranks.insert(part.rank);
            who.threads.extend(part.thread.map(u32::from));
        }
    }
    let view = run.top_down();
    let mut vertices: Vec<u32> = who.keys().copied().collect();
    vertices.sort_unstable_by(|a, b| {
        let of = |v: &u32| seconds[*v as usize];
        of(b).total_cmp(&of(a)).then(a.cmp(b))
    });
    let whole: f64 = seconds.iter().sum();
    let busy = view.rows.get("busy");
    // Of all threads that could share the work, those of the largest team of each rank.
    let sizes: usize = teams.sizes(scale.p).iter().sum();
    let mean = |v: u32| {
        let of_threads = scale.view().threads.times_in(v);
        let calls = |t: &ThreadTime| scale.view().threads.calls_mpi(t.rank, t.thread);
        match of_threads.iter().all(calls) {
            true => {
                busy.and_then(|b| b.row(v)).map_or(0.0, |r| r.sum()) / f64::from(scale.p.max(1))
            }
            false => {
                of_threads.iter().map(|t| t.cpu + t.blocked).sum::<f64>() / sizes.max(1) as f64
            }
        }
    };
    let of = |figure: &dyn Fn(u32) -> f64| -> Vec<Option<f64>> {
        vertices.iter().map(|v| Some(figure(*v))).collect()
    };
    let own = |v: u32| seconds[v as usize];
    let on_path = of(&own);
    let share = of(&|v| own(v) / whole);
    let imbalance = of(&|v| (own(v) - mean(v)).max(0.0));
    let named = |of: fn(&Who) -> &BTreeSet<u32>| -> Vec<Option<String>> {
        let sets = vertices.iter().map(|v| who.get(v).map(of));
        sets.map(|set| {
            let set: RankSet = set?.iter().copied().collect();
            (!set.is_empty()).then(|| set.to_string())
        })
        .collect()
    };
    let (ranks, threads) = (named(|who| &who.ranks), named(|who| &who.threads));
    let set = Set::new(view.clone(), vertices, Vec::new());
    let set = set
        .with_metric("on_path", &on_path)?
        .with_metric("path_share", &share)?;
    Ok(set
        .with_metric("imbalance", &imbalance)?
        .with_words("path_ranks", &ranks)?
        .with_words("path_threads", &threads)?)
}
