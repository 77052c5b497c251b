//! Uneven computation told by the MPI calls around it, where the program's places have no names.
//!
//! Segments between two calls are measured exactly, so that they need no samples and no structure.

use crate::cause::Candidate;
use crate::scale::Scale;
use crate::stats::{self, stands_out, two_groups};
use headwater_graph::{Pag, VertexIx};
use headwater_model::diagnosis::CauseClass;
use headwater_model::run::CtxId;
use headwater_model::words;
use std::collections::BTreeMap;

/// Busy seconds of each rank before the MPI call `to`, whatever call it left.
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

/// Segments in which ranks stand out; `least` is the smallest gain worth telling, seconds.
pub fn find(pag: &Pag, scale: &Scale, threshold: f64, least: f64) -> Vec<Candidate> {
    let mut ends: BTreeMap<VertexIx, Vec<CtxId>> = BTreeMap::new();
    for s in &scale.run().segments {
        if let Some(to) = scale.view().vertex(s.to) {
            let from = ends.entry(to).or_default();
            if !from.contains(&s.from) {
                from.push(s.from);
            }
        }
    }
    let of_end = |(to, mut after): (VertexIx, Vec<CtxId>)| {
        after.sort_unstable();
        let row = before(scale, to);
        let groups = two_groups(&row)?;
        let few = 2 * groups.upper.len() <= row.len();
        let level = if few { groups.low } else { stats::mean(&row) };
        let phase = scale.phases.after(*after.first()?);
        let busy = scale.phase_busy.get(&phase)?;
        let gain = (groups.high - level).min(stats::max(busy) - stats::mean(busy));
        if !stands_out(&groups, threshold, 0.0) || gain < least {
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
            words::takers(groups.upper.len(), scale.p, groups.high),
            words::seconds(groups.low),
        )];
        Some(Candidate {
            in_turn: false,
            error: 0.0,
            team: None,
            twins: Vec::new(),
            class: CauseClass::UnevenWork,
            vertex: to,
            ranks: groups.upper,
            cost: gain,
            gain,
            after,
            evidence,
        })
    };
    ends.into_iter().filter_map(of_end).collect()
}
