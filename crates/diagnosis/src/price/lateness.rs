//! Divides a rank's lateness after a call over places: by what it computes there longer than the others. Causes and
//! delay costs are priced by this one division.

use crate::measure::backtrack::structured;
use crate::measure::scale::Scale;
use headwater_dataflow::numbers::stats;
use headwater_graph::{Pag, TopDown, VertexIx, sum_rows};
use headwater_model::run::CtxId;
use std::collections::BTreeMap;

/// What ranks compute in one place.
struct Place {
    vertex: VertexIx,
    /// Seconds by rank.
    row: Vec<f64>,
    median: f64,
}

/// Where ranks compute after a call.
pub struct Lateness {
    places: Vec<Place>,
    /// The call itself.
    call: VertexIx,
}

impl Lateness {
    /// The places of the computation after call `after`; `keys` are the keys of that computation.
    pub fn new(pag: &Pag, scale: &Scale, after: CtxId, keys: &[u32]) -> Self {
        let data = &scale.view().computation;
        let mut of_place: BTreeMap<VertexIx, Vec<u32>> = BTreeMap::new();
        for key in keys {
            if let Some(of) = data.keys.get(*key as usize) {
                let vertex = structured(pag, of.vertex);
                of_place.entry(vertex).or_default().push(*key);
            }
        }
        let place = |(vertex, keys): (VertexIx, Vec<u32>)| {
            let row = sum_rows(&data.busy, &keys, scale.p);
            let median = stats::median(&row);
            Place {
                vertex,
                row,
                median,
            }
        };
        Self {
            places: of_place.into_iter().map(place).collect(),
            call: scale.view().vertex(after).unwrap_or(TopDown::ROOT),
        }
    }

    /// Places with their parts of a rank's lateness: by what the rank computes there beyond the median of all ranks,
    /// or, if that is nothing, by all that it computes. If a rank computes nothing there, the call itself makes it
    /// late.
    pub fn parts(&self, rank: u32) -> Vec<(VertexIx, f64)> {
        let own = |p: &Place| p.row.get(rank as usize).copied().unwrap_or(0.0);
        let divided = |of: &dyn Fn(&Place) -> f64| -> Vec<(VertexIx, f64)> {
            let all: f64 = self.places.iter().map(of).sum();
            let part = |p: &Place| (p.vertex, of(p) / all);
            let parts = self.places.iter().map(part);
            parts.filter(|p| p.1 > 0.0).collect()
        };
        let beyond = divided(&|p| (own(p) - p.median).max(0.0));
        let parts = if beyond.is_empty() {
            divided(&own)
        } else {
            beyond
        };
        if parts.is_empty() {
            return vec![(self.call, 1.0)];
        }
        parts
    }
}
