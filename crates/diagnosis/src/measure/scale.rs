//! One run as the analysis sees it: its sizes, its phases, and what time means in it.
//!
//! Where ranks outnumber cores or other work takes the cores, wall time shows the scheduler. Then computation is
//! compared in CPU time (plus time asleep), time in the run queue is recorded separately, and the run time that shares
//! refer to is that of the same run with a core for each rank (DESIGN, "Graph, detection, root cause").

use crate::measure::binding::crowds;
use crate::measure::moving::{self, Moving};
use crate::measure::phases::Phases;
use crate::measure::replay::{self, Replay};
use crate::measure::same_team;
use crate::measure::transfer::{Transfer, transfers};
use crate::measure::waits::Waits;
use headwater_dataflow::algorithm::Interrupted;
use headwater_dataflow::numbers::stats;
use headwater_dataflow::run::{Recorded, period, threads};
use headwater_graph::{Key, Pag, RunView, TeamStretch, ThreadEdge, TopDown, VertexIx, sum_rows};
use headwater_model::diagnosis::ScaleSummary;
use headwater_model::run::{CtxId, Run};
use headwater_model::words::{self, ScaleUnit, Subject};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// One run with everything that is derived from it alone.
pub struct Scale {
    recorded: Recorded,
    /// Ranks.
    pub p: u32,
    /// Threads of each rank, where they are a part of the scale.
    pub threads_each: Option<u32>,
    /// What the figures of this scale and those that it is compared with count.
    unit: ScaleUnit,
    /// Ranks times threads: by how much larger the scale is than one thread.
    pub size: u32,
    /// Threads that computed at the same time, of all ranks together; at least one for each rank.
    pub threads: u32,
    /// Cores of all nodes together; 0 where unknown.
    pub cores: u32,
    /// Wall time between init and finalize of the slowest rank, seconds.
    pub wall: f64,
    /// Phases between synchronisations.
    pub phases: Phases,
    /// Busy seconds by phase, then rank.
    pub phase_busy: FxHashMap<u32, Vec<f64>>,
    /// Event windows, replayed in virtual time.
    pub replay: Replay,
    /// The factor that extrapolates seconds of the epochs to the run ([`Replay::per_run`]).
    pub per_run: Option<f64>,
    /// Which call on which rank waited for which.
    pub waits: Waits,
    /// CPU time that a sample represents, mean, seconds.
    pub period: f64,
    /// Time that moving data took, by MPI call vertex, seconds per rank.
    pub transfer: Vec<Transfer>,
    /// Uneven work that moves from rank to rank.
    pub moving: Vec<Moving>,
    /// Work of teams of threads, by team, rank, ends and thread.
    pub teams: Vec<TeamStretch>,
    /// The calls that begin teams, each with the call that represents its team.
    same_team: FxHashMap<VertexIx, VertexIx>,
    /// The inverse: by team, the calls that begin it, ascending.
    ways: FxHashMap<VertexIx, Vec<VertexIx>>,
    /// Keys of computation by vertex.
    keys_at: FxHashMap<VertexIx, Vec<u32>>,
    /// Share of all rank time, including that of their threads, that was waiting for a core.
    runq_share: f64,
}

const NANO: f64 = 1e-9;

impl Scale {
    /// The scales of runs that are compared, in the same order. If it is interrupted, its result is useless.
    pub fn all(runs: &[&Recorded], interrupted: Interrupted<'_>) -> Vec<Self> {
        let all = runs.par_iter().map(|r| Self::new(r, interrupted));
        let mut all: Vec<Self> = all.collect();
        let unit = ScaleUnit::of(all.iter().map(|s| (s.p, s.threads_each)));
        all.iter_mut().for_each(|s| s.unit = unit);
        all
    }

    /// Derives what the analysis needs from a run. If it is interrupted, its result is useless.
    pub fn new(recorded: &Recorded, interrupted: Interrupted<'_>) -> Self {
        let (pag, run, view) = (recorded.pag(), recorded.run(), recorded.on_graph());
        let p = run.header.ranks;
        let threads_each = threads::of_scale(run);
        let phases = Phases::new(run);
        let mut phase_busy: FxHashMap<u32, Vec<f64>> = FxHashMap::default();
        for (key, of) in (0..).zip(&view.computation.keys) {
            let busy = phase_busy
                .entry(phases.after(of.after))
                .or_insert_with(|| vec![0.0; p as usize]);
            if let Some(row) = view.computation.busy.row(key) {
                row.add_to(busy);
            }
        }
        let cores = run.header.cores.iter().sum();
        let wall = run.ranks.iter().map(|r| r.wall_ns).max().unwrap_or(0) as f64 * NANO;
        let replay = replay::play(run, interrupted);
        let mut busy = vec![0.0; p as usize];
        for (_, row) in BTreeMap::from_iter(&phase_busy) {
            busy.iter_mut().zip(row).for_each(|(sum, b)| *sum += b);
        }
        let per_run = replay.per_run(&busy, wall);
        let waits = Waits::new(run, view, &replay, per_run);
        let moving = moving::of_run(run, &replay, &phases, &phase_busy);
        let same_team = same_team::find(pag, run, view);
        let mut ways: FxHashMap<VertexIx, Vec<VertexIx>> = FxHashMap::default();
        for (way, team) in &same_team {
            ways.entry(*team).or_default().push(*way);
        }
        ways.values_mut().for_each(|w| w.sort_unstable());
        let mut keys_at: FxHashMap<VertexIx, Vec<u32>> = FxHashMap::default();
        for (key, of) in (0..).zip(&view.computation.keys) {
            keys_at.entry(of.vertex).or_default().push(key);
        }
        let mut this = Self {
            recorded: recorded.clone(),
            p,
            threads_each,
            unit: ScaleUnit::of([(p, threads_each)]),
            size: words::scale_size(p, threads_each),
            threads: threads::concurrent(run).iter().sum(),
            cores,
            wall,
            phases,
            phase_busy,
            replay,
            per_run,
            waits,
            period: period(run, view),
            transfer: Vec::new(),
            moving,
            teams: same_team::joined(pag, &view.parallel.teams, &same_team),
            same_team,
            ways,
            keys_at,
            runq_share: threads::runq_share(run),
        };
        // Seconds extrapolated from windows are limited to the time that the run has for them.
        let (all, most) = (this.moving_seconds(), this.not_computing());
        if all > most {
            this.moving.iter_mut().for_each(|m| m.seconds *= most / all);
        }
        this.transfer = transfers(&this);
        this
    }

    /// The scale in words: `4 ranks`, `8 threads`.
    pub fn words(&self) -> String {
        words::scale(self.p, self.threads_each)
    }

    /// The scale as a figure.
    pub fn figure(&self) -> String {
        self.unit.figure(self.p, self.threads_each)
    }

    /// What the figure counts.
    pub fn unit(&self) -> &'static str {
        self.unit.words()
    }

    /// Who computes in the program.
    pub fn subject(&self) -> Subject {
        Subject::new(self.p, self.threads_each, !self.run().is_without_mpi())
    }

    /// The recorded run.
    pub fn run(&self) -> &Run {
        self.recorded.run()
    }

    /// The run on the graph.
    pub fn view(&self) -> &RunView {
        self.recorded.on_graph()
    }

    /// Which of its threads no figure covers, in words, if there are any.
    pub fn unseen(&self) -> Option<&String> {
        self.recorded.unseen()
    }

    /// How long the machine stopped its cores, in words, if it did.
    pub fn stopped(&self) -> Option<&String> {
        self.recorded.stopped()
    }

    /// The calls that begin a team, ascending.
    pub fn ways(&self, team: VertexIx) -> &[VertexIx] {
        self.ways.get(&team).map_or(&[], |w| w)
    }

    /// The teams whose calls are around `v`, innermost first.
    pub fn teams_around<'b>(
        &'b self,
        pag: &'b Pag,
        v: VertexIx,
    ) -> impl Iterator<Item = VertexIx> + 'b {
        let around = pag.top.ancestors(v);
        around.filter_map(|a| self.same_team.get(&a).copied())
    }

    /// The rows of one team.
    pub fn team_rows(&self, team: VertexIx) -> &[TeamStretch] {
        let start = self.teams.partition_point(|t| t.team < team);
        let rest = self.teams.get(start..).unwrap_or(&[]);
        let end = rest.partition_point(|t| t.team == team);
        rest.get(..end).unwrap_or(&[])
    }

    /// The calls in which the threads of a team come together, whichever of a barrier's calls they are.
    pub fn meets(&self, team: VertexIx) -> FxHashSet<VertexIx> {
        let all = &self.view().parallel.teams;
        let own = self.ways(team).iter().flat_map(|way| {
            let start = all.partition_point(|t| t.team < *way);
            all.iter().skip(start).take_while(|t| t.team == *way)
        });
        own.map(|t| t.to).collect()
    }

    /// Waits of the ranks' own threads for other threads, except for locks.
    pub fn own_waits(&self) -> impl Iterator<Item = &ThreadEdge> {
        let callers = &self.view().threads;
        let edges = self.view().parallel.threads.iter();
        edges.filter(|e| !e.kind.is_lock() && callers.calls_mpi(e.rank, e.thread))
    }

    /// Whether threads outnumber cores.
    pub fn outnumbers(&self) -> bool {
        self.cores > 0 && self.threads > self.cores
    }

    /// Whether wall time shows the scheduler: threads outnumber cores and lacked them, or other work took them.
    pub fn is_crowded(&self) -> bool {
        ScaleSummary::crowds(self.threads, self.cores, self.runq_share())
    }

    /// Whether some ranks share a core, because there are too few cores or because ranks are bound so.
    pub fn shares_cores(&self) -> bool {
        let crowded = |c: &f64| *c > 1.0 + 1e-9;
        self.is_crowded() || crowds(self.run()).iter().any(crowded)
    }

    /// Busy seconds of each rank.
    pub fn busy(&self) -> Vec<f64> {
        let mut out = vec![0.0; self.p as usize];
        let mut phases: Vec<_> = self.phase_busy.iter().collect();
        phases.sort_by_key(|(phase, _)| **phase);
        for (_, row) in phases {
            out.iter_mut().zip(row).for_each(|(o, r)| *o += r);
        }
        out
    }

    /// Sum over phases of the slowest rank's computation: the run without any communication, seconds.
    pub fn busy_critical(&self) -> f64 {
        let mut each: Vec<(u32, f64)> = self
            .phase_busy
            .iter()
            .map(|(phase, row)| (*phase, stats::max(row)))
            .collect();
        each.sort_by_key(|e| e.0);
        each.into_iter().map(|e| e.1).sum()
    }

    /// Time lost because ranks wait in turn for one another although their work is even, seconds. It is extrapolated
    /// from the windows to the run, limited to the time in which the run's slowest rank does not compute.
    pub fn chain(&self) -> f64 {
        let busy = stats::mean(&self.busy());
        let left = self.not_computing() - self.moving_seconds();
        (self.replay.chain_per_busy() * busy).min(left.max(0.0))
    }

    /// Time lost because in each iteration other ranks are late, seconds.
    pub fn moving_seconds(&self) -> f64 {
        self.moving.iter().map(|m| m.seconds).sum()
    }

    /// The run time without the slowest rank's computation of each phase, seconds: no wait and no path can take longer.
    fn not_computing(&self) -> f64 {
        (self.wall - self.busy_critical()).max(0.0)
    }

    /// The part of the ranks' computation that is in the epochs of the windows; `None` without any.
    pub fn replayed_share(&self) -> Option<f64> {
        let in_windows = self.replay.mean_busy();
        let busy = stats::mean(&self.busy());
        (in_windows > 0.0 && busy > 0.0).then(|| (in_windows / busy).min(1.0))
    }

    /// The run time that shares refer to, seconds: the measured one if each rank had a core, otherwise that of the same
    /// run with a core for each rank.
    pub fn model_seconds(&self) -> f64 {
        if self.is_crowded() {
            self.ideal_seconds() + self.transfer_seconds()
        } else {
            self.wall
        }
    }

    /// The run on an ideal network, seconds.
    pub fn ideal_seconds(&self) -> f64 {
        let ideal = self.busy_critical() + self.moving_seconds() + self.chain();
        if self.is_crowded() {
            ideal
        } else {
            ideal.min(self.wall)
        }
    }

    /// Moving data, seconds per rank.
    pub fn transfer_seconds(&self) -> f64 {
        self.transfer.iter().map(|t| t.seconds).sum()
    }

    /// Share of all rank time, including that of their threads, that was waiting for a core.
    pub fn runq_share(&self) -> f64 {
        self.runq_share
    }

    /// Keys of the computation of one phase.
    pub fn keys_in(&self, phase: u32) -> Vec<u32> {
        (self.view().computation).keys_where(|k| self.phases.after(k.after) == phase)
    }

    /// All keys of computation.
    pub fn keys(&self) -> Vec<u32> {
        self.view().computation.keys_where(|_| true)
    }

    /// Standard error of the time of one of `ranks` in some keys, seconds. Time between two MPI calls is measured
    /// exactly, and so is the time after the last call, even if that call repeats; only its division over the places in
    /// between comes from counting samples.
    pub fn sampling_noise(&self, pag: &Pag, keys: &[u32], ranks: &[u32]) -> f64 {
        let period = self.period;
        let data = &self.view().computation;
        let variance = |(after, at_end): (CtxId, bool)| {
            let measured = |k: &Key| {
                k.after == after && pag.top.contains(TopDown::WINDDOWN, k.vertex) == at_end
            };
            let all = sum_rows(&data.busy, &data.keys_where(measured), self.p);
            let is_mine = |k: &u32| data.keys.get(*k as usize).is_some_and(measured);
            let mine: Vec<u32> = keys.iter().copied().filter(is_mine).collect();
            let here = sum_rows(&data.busy, &mine, self.p);
            let of_rank = |r: &u32| {
                let (all, here) = (*all.get(*r as usize)?, *here.get(*r as usize)?);
                let share = (here / all).clamp(0.0, 1.0);
                (all > 0.0).then(|| all * all.min(period) * share * (1.0 - share))
            };
            let each: Vec<f64> = ranks.iter().filter_map(of_rank).collect();
            stats::mean(&each)
        };
        let all = self.afters(keys).into_iter();
        let all = all.flat_map(|after| [(after, false), (after, true)]);
        all.map(variance).sum::<f64>().sqrt()
    }

    /// Keys of the computation in `v` and inside it.
    pub fn keys_inside(&self, pag: &Pag, v: VertexIx) -> Vec<u32> {
        if v == TopDown::ROOT {
            return self.keys();
        }
        let inside = pag.inside(v).filter_map(|v| self.keys_at.get(&v));
        let mut keys: Vec<u32> = inside.flatten().copied().collect();
        keys.sort_unstable();
        keys
    }

    /// The same for several vertices, ascending and each once.
    pub fn keys_inside_all(&self, pag: &Pag, vertices: &[VertexIx]) -> Vec<u32> {
        let inside = vertices.iter().flat_map(|v| self.keys_inside(pag, *v));
        let mut keys: Vec<u32> = inside.collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Contexts of the MPI calls of some keys, ascending and each once.
    pub fn afters(&self, keys: &[u32]) -> Vec<CtxId> {
        let key = |k: &u32| self.view().computation.keys.get(*k as usize);
        let mut all: Vec<CtxId> = keys.iter().filter_map(key).map(|k| k.after).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// Whether recording was paused equally often at all scales, so that all of them contain the same part of the program.
pub fn paused_alike<'a>(scales: impl IntoIterator<Item = &'a Scale>) -> bool {
    let scales = scales.into_iter();
    let mut times = scales.map(|s| s.run().header.pauses());
    let first = times.next().flatten();
    first.is_some() && times.all(|t| t == first)
}
