//! Reports uneven computation by the MPI calls around it, if the program's places have no names.
//!
//! Segments between two calls are measured exactly, so this needs no samples and no structure.

use crate::find::candidate::{Candidate, Candidates, Price};
use crate::find::finder::Look;
use crate::find::imbalance;
use crate::measure::late::Late;
use crate::measure::scale::Scale;
use crate::measure::timing::{self, Timing};
use crate::measure::unnamed;
use headwater_dataflow::numbers::stats;
use headwater_graph::{Pag, VertexIx};
use headwater_model::diagnosis::CauseClass;
use headwater_model::run::CtxId;
use headwater_model::words;
use std::collections::BTreeMap;

/// Busy seconds of each rank before the MPI call `to`, whatever call the rank left before.
pub fn before(scale: &Scale, to: VertexIx) -> Vec<f64> {
    let mut row = vec![0.0; scale.p as usize];
    for s in &scale.run().segments {
        if scale.view().vertex(s.to) == Some(to)
            && let Some(slot) = row.get_mut(s.rank as usize)
        {
            *slot += s.busy_ns() as f64 * 1e-9;
        }
    }
    row
}

/// The finder whose candidates it refines.
pub const OF: &str = imbalance::FINDER.name;

/// Puts segments in the stead of uneven work at single addresses, where the program's places have no names: the
/// addresses have a part of the work that the calls around them show completely.
pub fn refine(l: &Look<'_>, found: &mut Candidates) {
    if !l.scales.ranks_alike() || unnamed::main(&l.scales.runs(), &l.pag.structures).is_none() {
        return;
    }
    let whole = find(l.pag, l.last, l.least);
    let covered = |c: &Candidate| {
        let same_call = |w: &Candidate| w.after.iter().any(|a| c.after.contains(a));
        c.class == CauseClass::UnevenWork && whole.iter().any(same_call)
    };
    found.found.retain(|c| !covered(c));
    found.found.extend(whole);
}

/// Segments in which some ranks are late; `least` is the smallest gain worth reporting, seconds.
fn find(pag: &Pag, scale: &Scale, least: f64) -> Vec<Candidate> {
    let mut ends: BTreeMap<VertexIx, Vec<CtxId>> = BTreeMap::new();
    for s in &scale.run().segments {
        if let Some(to) = scale.view().vertex(s.to) {
            let from = ends.entry(to).or_default();
            if !from.contains(&s.from) {
                from.push(s.from);
            }
        }
    }
    let timing = Timing::new(scale);
    let compared = ends.len() as f64;
    let of_end = |(to, mut after): (VertexIx, Vec<CtxId>)| {
        after.sort_unstable();
        let row = before(scale, to);
        let (slowest, mean) = (stats::max(&row), stats::mean(&row));
        let first: Vec<bool> = row.iter().map(|v| *v >= 0.5 * (mean + slowest)).collect();
        let late = Late::new(&row, &first)?;
        let phase = scale.phases.after(*after.first()?);
        let busy = scale.phase_busy.get(&phase)?;
        let gain = (late.high - late.level).min(stats::max(busy) - stats::mean(busy));
        let family = late.choices(row.len()) * compared;
        let noise = late.high * timing.noise(&late.alike(&row), row.len(), &after);
        if late.excess <= timing::above_chance(family) * noise || gain < least {
            return None;
        }
        let call = |ctx: &CtxId| {
            let place = pag.place(scale.view().vertex(*ctx)?);
            Some(format!("{} ({})", place.name, words::location(&place)))
        };
        let first = after.first().and_then(call);
        let last = pag.place(to);
        let evidence = vec![format!(
            "between {} and {} ({}): {}, the others {}",
            first.unwrap_or_else(|| "the start".to_string()),
            last.name,
            words::location(&last),
            words::takers(late.ranks.len(), scale.p, late.high),
            words::seconds(late.low),
        )];
        Some(Candidate {
            in_turn: false,
            price: Price::default(),
            error: noise * (gain / late.excess).min(1.0),
            team: None,
            twins: Vec::new(),
            class: CauseClass::UnevenWork,
            vertex: to,
            ranks: late.ranks,
            cost: gain,
            gain,
            after,
            evidence,
        })
    };
    ends.into_iter().filter_map(of_end).collect()
}
