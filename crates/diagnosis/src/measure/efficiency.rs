//! Computes efficiencies in the words of the POP project, from useful computation per rank.
//!
//! Useful computation is CPU time plus time asleep outside MPI. Where ranks outnumber cores, the run time is that of
//! the same run with a core for each rank (see [`crate::measure::scale`]).

use crate::measure::lock_groups;
use crate::measure::processor;
use crate::measure::scale::{self, Scale};
use crate::measure::scaling;
use crate::measure::teams::Teams;
use crate::measure::thread_efficiency;
use crate::measure::useful;
use headwater_dataflow::numbers::stats;
use headwater_graph::Pag;
use headwater_model::diagnosis::{Efficiencies, ScaleSummary, Scaling};

/// One scale with its teams.
pub struct WithTeams<'a> {
    scale: &'a Scale,
    teams: &'a Teams,
    /// By rank: seconds that it would wait for locks beyond what was recorded, with a core for each thread.
    unmet: Vec<f64>,
}

impl<'a> WithTeams<'a> {
    /// The scale on its graph.
    pub fn new(pag: &Pag, scale: &'a Scale, teams: &'a Teams) -> Self {
        Self {
            scale,
            teams,
            unmet: lock_groups::unmet(pag, scale, teams),
        }
    }
}

/// Summarises each scale; the first is the base of the scaling efficiencies, where scales can be compared.
pub fn summaries(scales: &[WithTeams], scaling: Scaling) -> Vec<ScaleSummary> {
    let compared = scales.len() > 1 && scale::paused_alike(scales.iter().map(|s| s.scale));
    let base = scales.first().map(|s| s.scale).filter(|_| compared);
    let of_scale = |scale: &WithTeams| summary(scale, base, scaling);
    scales.iter().map(of_scale).collect()
}

/// `a` divided by `b`; `None` unless `b` is above zero.
fn ratio(a: f64, b: f64) -> Option<f64> {
    (b > 0.0).then(|| a / b)
}

/// A share of time, limited to 0 to 1 against rounding and noise.
fn share(a: f64, b: f64) -> Option<f64> {
    ratio(a, b).map(|s| s.clamp(0.0, 1.0))
}

/// Part of the run time that is in event windows, and events in them, mean over ranks.
fn windows(scale: &Scale) -> Option<(f64, f64)> {
    let header = &scale.run().header;
    let lengths = header.windows.iter().map(|w| w.length_ns);
    let length = lengths.fold(0, u64::saturating_add);
    let share = share(length as f64 * 1e-9, scale.wall)?;
    let events = scale.run().events.len() as f64 / f64::from(scale.p.max(1));
    (length > 0).then_some((share, events))
}

fn summary(of: &WithTeams, base: Option<&Scale>, scaling: Scaling) -> ScaleSummary {
    let WithTeams {
        scale,
        teams,
        unmet,
    } = of;
    let recorded = scale.busy();
    let busy: Vec<f64> = recorded.iter().zip(unmet).map(|(b, u)| b + u).collect();
    let (mean, max) = (stats::mean(&busy), stats::max(&busy));
    let longer = max - stats::max(&recorded);
    let (time, ideal) = (
        scale.model_seconds() + longer,
        scale.ideal_seconds() + longer,
    );
    let parallel = share(mean, time);
    let threads = thread_efficiency::of_scale(scale, teams, unmet);
    // Serialisation needs the order of events: without windows it is unknown, not perfect.
    let known = !scale.replay.epochs.is_empty();
    // It is more than 1 where less work or better caches make ranks faster than their number, so it is not a share.
    // With several threads, what they lose is in their own efficiencies, so here only what all of them compute counts.
    let computation_scaling = base.and_then(|base| {
        let should = scaling::ideal(scaling, useful::each(base), base.size, scale.size);
        ratio(should, useful::each(scale))
    });
    let of_threads = threads.map_or(1.0, |t| t.parallel);
    let factors = base.map(|base| processor::factors(scale, base, scaling));
    let factors = factors.unwrap_or_default();
    let startup: Vec<f64> = scale
        .run()
        .ranks
        .iter()
        .map(|r| r.before_init_wall_ns as f64 * 1e-9)
        .collect();
    let windows = windows(scale);
    ScaleSummary {
        run: scale.run().header.name.clone(),
        ranks: scale.p,
        threads_each: scale.threads_each,
        threads: scale.threads,
        cores: scale.cores,
        wall_seconds: scale.wall,
        model_seconds: time,
        runq_share: scale.runq_share(),
        // Ranks that miss different parts of the program have no meaningful mean.
        efficiencies: if !scale.run().header.paused_alike() {
            Efficiencies::default()
        } else {
            Efficiencies {
                parallel,
                load_balance: share(mean, max),
                communication: share(max, time),
                serialisation: known.then(|| share(max, ideal)).flatten(),
                transfer: known.then(|| share(ideal, time)).flatten(),
                computation_scaling,
                instruction_scaling: factors.instructions,
                ipc_scaling: factors.ipc,
                frequency_scaling: factors.frequency,
                threads,
                global: (computation_scaling.zip(parallel)).map(|(c, p)| c * p * of_threads),
            }
        },
        startup_seconds: stats::mean(&startup),
        window_share: windows.map(|w| w.0),
        window_events: windows.map(|w| w.1),
        replayed_share: scale.replayed_share(),
    }
}
