//! Finds ranks that waited for a core although they had work.
//!
//! If all ranks wait alike, it is only a note. The delay of *some* ranks is a cause. So is the delay of ranks that are
//! bound to cores with more ranks than an even spread would put on each core, for the waiting beyond that. Where ranks
//! outnumber cores, every rank waits now and then, some by chance more than others: there only such binding is
//! reported.

use crate::find::candidate::{Candidate, Price};
use crate::find::finder::{Does, Finder};
use crate::measure::binding::crowds;
use crate::measure::inclusive::Inclusive;
use crate::measure::scale::Scale;
use headwater_dataflow::numbers::stats;
use headwater_graph::{Pag, TopDown};
use headwater_model::diagnosis::CauseClass;
use headwater_model::words::seconds as time;

/// Waiting for a core must add this share of a rank's computation to be reported.
const SHARE: f64 = 0.1;

/// A rank must wait this many times as long as the median rank to be reported, unless its binding explains it.
const BEYOND: f64 = 2.0;

/// How much more crowded than an even spread a rank's cores must be.
const CROWDED: f64 = 1.2;

/// The finder.
pub const FINDER: Finder = Finder {
    name: "preempted",
    about: "Ranks that were ready to run and had no core.",
    needs_alike: true,
    needs_charged: false,
    does: Does::Finds(|l| find(l.pag, l.last, l.least)),
};

/// Looks for ranks that could not run although they had work.
fn find(pag: &Pag, scale: &Scale, least: f64) -> Vec<Candidate> {
    let column = &scale.view().computation.runq;
    let runq = Inclusive::new(pag, scale.view(), column, &scale.keys());
    let busy = scale.busy();
    let Some(waits) = runq.row(TopDown::ROOT).map(<[f64]>::to_vec) else {
        return Vec::new();
    };
    let ratio: Vec<f64> = waits
        .iter()
        .zip(&busy)
        .map(|(w, b)| if *b > 0.0 { w / b } else { 0.0 })
        .collect();
    // Threads on each core if they were spread evenly; each then waits while the others on it compute.
    let even = if scale.outnumbers() {
        f64::from(scale.threads) / f64::from(scale.cores)
    } else {
        1.0
    };
    let borne = stats::lower_median(&ratio);
    let crowd = crowds(scale.run());
    // Waiting for each second of computation that is usual, and how many times that a rank must wait to be reported.
    let usual = |r: usize| match crowd[r] > CROWDED * even {
        true => (even - 1.0, CROWDED),
        false => (borne, BEYOND),
    };
    let beyond = |r: usize| waits[r] - usual(r).0 * busy[r];
    let kept: Vec<u32> = (0..scale.p)
        .filter(|&r| {
            let r = r as usize;
            let (seconds, factor) = usual(r);
            (!scale.outnumbers() || crowd[r] > CROWDED * even)
                && ratio[r] > SHARE.max(factor * seconds)
                && beyond(r) > 0.25 * least.max(stats::max(&waits) * 0.5)
        })
        .collect();
    let cost = kept.iter().map(|&r| beyond(r as usize)).fold(0.0, f64::max);
    if kept.is_empty() || cost < least {
        return Vec::new();
    }
    let vertex = runq.descend(pag, TopDown::ROOT, |row| {
        kept.iter().map(|&r| row[r as usize]).sum()
    });
    let mut cpus: Vec<&str> = kept
        .iter()
        .filter_map(|r| scale.run().ranks.iter().find(|i| i.rank == *r))
        .map(|i| i.cpus.as_str())
        .collect();
    cpus.sort_unstable();
    cpus.dedup();
    let mut evidence = vec![format!(
        "ready to run but without a core for up to {} more than ranks had to bear here, while computing for {}; the median rank in all for {}",
        time(cost),
        time(stats::mean_of(&busy, &kept)),
        time(stats::median(&waits)),
    )];
    if !cpus.is_empty() {
        evidence.push(format!(
            "allowed to run on core {} of {}",
            cpus.join(" or "),
            scale.cores
        ));
    }
    // How much ranks differ in it by chance: the ranks that nothing makes wait, or all ranks if these are too few.
    let others = (0..scale.p).filter(|r| !kept.contains(r));
    let mut alike: Vec<f64> = others.map(|r| beyond(r as usize)).collect();
    if alike.len() < 2 {
        alike = kept.iter().map(|r| beyond(*r as usize)).collect();
    }
    vec![Candidate {
        in_turn: false,
        price: Price::default(),
        error: stats::variance(&alike).sqrt(),
        team: None,
        twins: Vec::new(),
        class: CauseClass::Preempted,
        vertex,
        ranks: kept,
        cost,
        gain: cost,
        after: Vec::new(),
        evidence,
    }]
}
