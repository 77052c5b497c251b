//! The part of a view that a graph shows: vertices of the ranks that are wanted, those with the most time.

use crate::error::ExportError;
use crate::wanted::{Wanted, Which};
use headwater_dataflow::Recorded;
use headwater_graph::view::View;
use std::sync::Arc;

/// Some vertices of a view, ascending, and the edges between them.
#[derive(Debug)]
pub(crate) struct Selection {
    pub(crate) view: Arc<View>,
    pub(crate) vertices: Vec<u32>,
    /// Edges, with both ends as vertices of the view.
    pub(crate) edges: Vec<(u32, u32, u32)>,
}

/// A rank and a thread of it, where the view distinguishes them, and their vertices.
pub(crate) type Flow = (Option<(u32, u32)>, Vec<u32>);

/// The view that is wanted.
pub(crate) fn view(run: &Recorded, wanted: &Wanted) -> Arc<View> {
    match wanted.view.unwrap_or_default() {
        Which::TopDown => run.top_down().clone(),
        Which::Parallel => run.parallel().clone(),
    }
}

impl Selection {
    /// The vertices that are wanted; at most `most` where nothing is said. Where there is such a bound, those with the
    /// most time are taken, and none without; of vertices with as much time the one with the smaller number, so that
    /// what is around a vertex is there.
    ///
    /// # Errors
    /// Ranks of a view that does not distinguish them.
    pub(crate) fn new(
        run: &Recorded,
        wanted: &Wanted,
        most: Option<usize>,
    ) -> Result<Self, ExportError> {
        let view = view(run, wanted);
        let rank = view.vertices.get("rank");
        if wanted.ranks.is_some() && rank.is_none() {
            return Err(ExportError::SummedUp);
        }
        let is_wanted = |v: &u32| {
            let rank = rank.and_then(|r| r.number(*v as usize));
            rank.is_none_or(|r| wanted.has_rank(r as u32))
        };
        let mut vertices: Vec<u32> = (0..view.vertices.len() as u32).filter(is_wanted).collect();
        if let Some(most) = wanted.vertices.or(most) {
            let weight = view.vertices.get("total").or(view.vertices.get("time"));
            let weight = |v: u32| weight.and_then(|w| w.number(v as usize)).unwrap_or(0.0);
            // No column holds a figure that is not finite.
            vertices.retain(|v| weight(*v) > 0.0);
            vertices.sort_by(|a, b| weight(*b).total_cmp(&weight(*a)).then(a.cmp(b)));
            vertices.truncate(most);
            vertices.sort_unstable();
        }
        let mut kept = vec![false; view.vertices.len()];
        for v in &vertices {
            kept[*v as usize] = true;
        }
        let is_kept = |v: u32| kept.get(v as usize).copied().unwrap_or(false);
        let graph = &view.graph;
        let edges = (0..).zip(graph.sources().iter().zip(graph.targets()));
        let edges = edges
            .filter(|(_, (a, b))| is_kept(**a) && is_kept(**b))
            .map(|(edge, (a, b))| (edge, *a, *b))
            .collect();
        Ok(Self {
            view,
            vertices,
            edges,
        })
    }

    /// The largest value of a column among the edges that are shown.
    pub(crate) fn most(&self, column: &str) -> f64 {
        let column = self.view.edges.get(column);
        let all = self.edges.iter();
        let values = all.filter_map(|(e, _, _)| column?.number(*e as usize));
        values.fold(0.0, f64::max)
    }

    /// What is shown, by rank and thread.
    pub(crate) fn flows(&self) -> Vec<Flow> {
        let number = |column: &str, v: u32| {
            let column = self.view.vertices.get(column)?;
            column.number(v as usize).map(|n| n as u32)
        };
        let of = |v: u32| Some((number("rank", v)?, number("thread", v).unwrap_or(0)));
        let mut all: Vec<(Option<(u32, u32)>, u32)> =
            self.vertices.iter().map(|v| (of(*v), *v)).collect();
        all.sort_unstable();
        let flows = all.chunk_by(|a, b| a.0 == b.0);
        flows
            .map(|f| (f[0].0, f.iter().map(|v| v.1).collect()))
            .collect()
    }
}
