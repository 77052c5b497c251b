//! The runs, and where the time of each goes.

use crate::model::{PartKind, RunInfo, ScalePart, ScaleTimes};
use headwater_dataflow::Recorded;
use headwater_dataflow::run::threads;
use headwater_model::diagnosis::{Diagnosis, ScaleSummary, Scaling};
use headwater_model::words;

/// A run.
pub fn info(run: &Recorded, d: &Diagnosis) -> RunInfo {
    let recorded = run.run();
    let header = &recorded.header;
    let threads_each = threads::of_scale(recorded);
    let summary = d.scales.iter().find(|s| {
        (s.run.as_str(), s.ranks, s.threads_each)
            == (header.name.as_str(), header.ranks, threads_each)
    });
    let mut missing = header.missing.clone();
    missing.extend(run.unseen().cloned());
    missing.extend(run.stopped().cloned());
    RunInfo {
        name: header.name.clone(),
        ranks: header.ranks,
        scale: words::scale(header.ranks, threads_each),
        size: words::scale_size(header.ranks, threads_each),
        figure: ScaleSummary::unit(&d.scales).figure(header.ranks, threads_each),
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

fn part(kind: PartKind) -> &'static str {
    match kind {
        PartKind::Computation => "useful computation",
        PartKind::UnevenWork => "uneven work",
        PartKind::Serialisation => "serialisation",
        PartKind::Transfer => "transfer",
        PartKind::UnevenThreads => "uneven threads",
        PartKind::SerialPart => "serial part",
        PartKind::Scheduling => "scheduling and locks",
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
    let threads = e.threads.filter(|_| d.subject().is_process());
    match (threads, e.parallel, e.communication) {
        // Their efficiencies multiply too: the mean computation of a thread is the run time times all three.
        (Some(of), ..) => {
            let running = model * of.scheduling;
            let even = running * of.serialisation;
            let mean = even * of.load_balance;
            parts.push((PartKind::Computation, mean));
            parts.push((PartKind::UnevenThreads, even - mean));
            parts.push((PartKind::SerialPart, running - even));
            parts.push((PartKind::Scheduling, model - running));
        }
        (None, Some(parallel), Some(communication)) => {
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
        scale: s.words(),
        seconds: all,
        ideal_seconds: first.and_then(|first| ideal(s, first, d)),
        parts: parts
            .map(|(kind, seconds)| ScalePart {
                kind,
                words: part(kind).to_string(),
                seconds,
                share: share(seconds),
            })
            .collect(),
    }
}

/// The mean computation of the smallest scale, divided ideally.
fn ideal(s: &ScaleSummary, first: &ScaleSummary, d: &Diagnosis) -> Option<f64> {
    let of_threads = first.efficiencies.threads.map_or(1.0, |t| t.parallel);
    let base = first.model_seconds * first.efficiencies.parallel? * of_threads;
    let sizes = f64::from(first.size()) / f64::from(s.size().max(1));
    match d.scaling {
        Scaling::Strong => Some(base * sizes),
        Scaling::Weak => Some(base),
        Scaling::Single => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_model::diagnosis::{Efficiencies, ThreadEfficiencies};

    fn summary(ranks: u32, seconds: f64) -> ScaleSummary {
        ScaleSummary {
            run: String::new(),
            ranks,
            threads_each: None,
            threads: ranks,
            cores: 8,
            wall_seconds: seconds,
            model_seconds: seconds,
            runq_share: 0.0,
            efficiencies: Efficiencies::default(),
            startup_seconds: 0.0,
            window_share: None,
            window_events: None,
            replayed_share: None,
        }
    }

    fn diagnosis(scales: Vec<ScaleSummary>) -> Diagnosis {
        Diagnosis {
            schema: 1,
            program: String::new(),
            mpi_library: String::new(),
            scaling: Scaling::Strong,
            scaling_reason: String::new(),
            scaling_certain: true,
            headline: Vec::new(),
            notes: Vec::new(),
            scales,
            causes: Vec::new(),
            account: Default::default(),
            other_reading: None,
            non_scalable: Vec::new(),
            abnormal: Vec::new(),
            missing: Vec::new(),
        }
    }

    #[test]
    fn the_time_of_a_process_is_that_of_its_threads() {
        let of = |threads: u32, seconds: f64, load_balance: f64| ScaleSummary {
            threads_each: Some(threads),
            threads,
            efficiencies: Efficiencies {
                parallel: Some(1.0),
                communication: Some(1.0),
                threads: Some(ThreadEfficiencies {
                    parallel: load_balance * 0.8,
                    load_balance,
                    serialisation: 0.8,
                    scheduling: 1.0,
                }),
                ..Efficiencies::default()
            },
            ..summary(1, seconds)
        };
        let all = scales(&diagnosis(vec![of(1, 10.0, 1.0), of(4, 5.0, 0.5)]));
        let parts: Vec<(PartKind, f64)> =
            (all[1].parts.iter()).map(|p| (p.kind, p.seconds)).collect();
        let expected = [
            (PartKind::Computation, 2.0),
            (PartKind::UnevenThreads, 2.0),
            (PartKind::SerialPart, 1.0),
        ];
        assert_eq!(parts.len(), 3, "{parts:?}");
        for ((kind, seconds), (should_be, about)) in parts.iter().zip(expected) {
            assert_eq!(*kind, should_be);
            assert!((seconds - about).abs() < 1e-9, "{parts:?}");
        }
        // 8 seconds of useful computation on one thread, divided over four.
        assert!((all[1].ideal_seconds.unwrap() - 2.0).abs() < 1e-9);
        assert_eq!(all[1].scale, "4 threads");
    }

    #[test]
    fn the_parts_sum_to_the_run_time() {
        let s = ScaleSummary {
            cores: 2,
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
            ..summary(4, 10.0)
        };
        let d = diagnosis(vec![s.clone()]);
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
