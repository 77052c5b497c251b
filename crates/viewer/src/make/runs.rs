//! The runs, and where the time of each goes.

use crate::model::{PartKind, RunInfo, ScalePart, ScaleTimes};
use headwater_dataflow::Recorded;
use headwater_model::diagnosis::{Diagnosis, ScaleSummary, Scaling};

/// A run.
pub fn info(run: &Recorded, d: &Diagnosis) -> RunInfo {
    let recorded = run.run();
    let header = &recorded.header;
    let summary = d
        .scales
        .iter()
        .find(|s| s.run == header.name && s.ranks == header.ranks);
    let mut missing = header.missing.clone();
    missing.extend(run.unseen().cloned());
    missing.extend(run.stopped().cloned());
    RunInfo {
        name: header.name.clone(),
        ranks: header.ranks,
        threads: summary.map_or(header.ranks, |s| s.threads),
        cores: summary.map_or(0, |s| s.cores),
        nodes: header.nodes.clone(),
        duration_seconds: header.wall_seconds,
        command: header.command.clone(),
        mpi_library: header.mpi_library.clone(),
        started_unix: Some(header.started_unix).filter(|t| *t > 0.0),
        recordings: header.recordings.max(1),
        imported: recorded.is_imported(),
        counters: header.counters.clone(),
        missing,
    }
}

/// Where the time of each scale goes.
pub fn scales(d: &Diagnosis) -> Vec<ScaleTimes> {
    let first = d.scales.first();
    d.scales.iter().map(|s| times(s, first, d)).collect()
}

fn words(kind: PartKind) -> &'static str {
    match kind {
        PartKind::Computation => "useful computation",
        PartKind::UnevenWork => "uneven work",
        PartKind::Serialisation => "serialisation",
        PartKind::Transfer => "transfer",
        PartKind::Communication => "serialisation and transfer",
        PartKind::WithoutCore => "without a core",
        PartKind::Unknown => "unknown",
    }
}

/// The parts follow from POP's efficiencies, which multiply: the slowest rank's computation is the run time times the
/// communication efficiency, and the mean computation is that times the load balance.
fn times(s: &ScaleSummary, first: Option<&ScaleSummary>, d: &Diagnosis) -> ScaleTimes {
    let (all, model) = (s.wall_seconds, s.model_seconds.min(s.wall_seconds));
    let e = &s.efficiencies;
    let mut parts: Vec<(PartKind, f64)> = Vec::new();
    match (e.parallel, e.communication) {
        (Some(parallel), Some(communication)) => {
            let slowest = model * communication;
            let mean = (model * parallel).min(slowest);
            parts.push((PartKind::Computation, mean));
            parts.push((PartKind::UnevenWork, slowest - mean));
            match e.serialisation.zip(e.transfer) {
                Some((_, transfer)) => {
                    let ideal = (model * transfer).clamp(slowest, model.max(slowest));
                    parts.push((PartKind::Serialisation, ideal - slowest));
                    parts.push((PartKind::Transfer, model - ideal));
                }
                None => parts.push((PartKind::Communication, model - slowest)),
            }
        }
        _ => parts.push((PartKind::Unknown, model)),
    }
    parts.push((PartKind::WithoutCore, all - model));
    let share = |seconds: f64| if all > 0.0 { seconds / all } else { 0.0 };
    let parts = parts.into_iter().filter(|(_, seconds)| *seconds > 0.0);
    ScaleTimes {
        ranks: s.ranks,
        seconds: all,
        ideal_seconds: first.and_then(|first| ideal(s, first, d)),
        parts: parts
            .map(|(kind, seconds)| ScalePart {
                kind,
                words: words(kind).to_string(),
                seconds,
                share: share(seconds),
            })
            .collect(),
    }
}

/// The mean computation of the smallest scale, divided ideally.
fn ideal(s: &ScaleSummary, first: &ScaleSummary, d: &Diagnosis) -> Option<f64> {
    let base = first.model_seconds * first.efficiencies.parallel?;
    let ranks = f64::from(first.ranks) / f64::from(s.ranks.max(1));
    match d.scaling {
        Scaling::Strong => Some(base * ranks),
        Scaling::Weak => Some(base),
        Scaling::Single => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_model::diagnosis::Efficiencies;

    #[test]
    fn the_parts_sum_to_the_run_time() {
        let s = ScaleSummary {
            run: String::new(),
            ranks: 4,
            threads_each: None,
            threads: 4,
            cores: 2,
            wall_seconds: 10.0,
            model_seconds: 8.0,
            runq_share: 0.2,
            efficiencies: Efficiencies {
                parallel: Some(0.5),
                load_balance: Some(0.625),
                communication: Some(0.8),
                serialisation: Some(0.9),
                transfer: Some(0.8 / 0.9),
                ..Efficiencies::default()
            },
            startup_seconds: 0.0,
            window_share: None,
            window_events: None,
            replayed_share: None,
        };
        let d = Diagnosis {
            schema: 1,
            program: String::new(),
            mpi_library: String::new(),
            scaling: Scaling::Strong,
            scaling_reason: String::new(),
            scaling_certain: true,
            headline: Vec::new(),
            notes: Vec::new(),
            scales: vec![s.clone()],
            causes: Vec::new(),
            account: Default::default(),
            other_reading: None,
            non_scalable: Vec::new(),
            abnormal: Vec::new(),
            missing: Vec::new(),
        };
        let all = scales(&d);
        let of = |kind| {
            let part = all[0].parts.iter().find(|p| p.kind == kind);
            part.map_or(0.0, |p| p.seconds)
        };
        assert!((of(PartKind::Computation) - 4.0).abs() < 1e-9);
        assert!((of(PartKind::UnevenWork) - 2.4).abs() < 1e-9);
        assert!((of(PartKind::WithoutCore) - 2.0).abs() < 1e-9);
        let sum: f64 = all[0].parts.iter().map(|p| p.seconds).sum();
        assert!((sum - 10.0).abs() < 1e-9);
        assert_eq!(all[0].ideal_seconds, Some(4.0));
        // Without efficiencies nothing is made up.
        let unknown = ScaleSummary {
            efficiencies: Efficiencies::default(),
            ..s
        };
        let d = Diagnosis {
            scales: vec![unknown],
            ..d
        };
        let kinds: Vec<PartKind> = scales(&d)[0].parts.iter().map(|p| p.kind).collect();
        assert_eq!(kinds, [PartKind::Unknown, PartKind::WithoutCore]);
    }
}
