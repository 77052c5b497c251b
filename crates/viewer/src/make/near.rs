//! The parallel view around a place: its vertices on some ranks, what comes before and after them, and whom they wait for.

use super::contexts::name;
use super::frames::Frames;
use super::short;
use crate::model::graph::{NearEdge, NearVertex, Neighbourhood};
use headwater_dataflow::Recorded;
use headwater_graph::view::{Cell, View};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Vertices that a drawing can have.
const MOST: usize = 80;

/// Vertices of the place itself.
const OWN: usize = 16;

/// Ranks above which the parallel view is too large to make for a page.
pub const RANKS: u32 = 4_096;

struct Near<'a> {
    view: &'a View,
    frames: &'a Frames,
}

impl Near<'_> {
    fn number(&self, column: &str, v: u32) -> f64 {
        let column = self.view.vertices.get(column);
        column.and_then(|c| c.number(v as usize)).unwrap_or(0.0)
    }

    fn frame(&self, v: u32) -> Option<u32> {
        self.frames.of(self.number("vertex", v) as u32)
    }

    fn edge(&self, column: &str, edge: u32) -> Option<f64> {
        self.view.edges.get(column)?.number(edge as usize)
    }

    /// Edges at a vertex, those with the longest waits first.
    fn edges(&self, v: u32) -> Vec<u32> {
        let graph = &self.view.graph;
        let both = graph.in_edges(v).iter().chain(graph.out_edges(v));
        let mut all: Vec<u32> = both.copied().collect();
        let weight = |e: &u32| self.edge("wait", *e).unwrap_or(0.0);
        all.sort_by(|a, b| weight(b).total_cmp(&weight(a)).then(a.cmp(b)));
        all
    }

    fn other(&self, edge: u32, v: u32) -> u32 {
        let graph = &self.view.graph;
        let end = |of: &[u32]| of.get(edge as usize).copied().unwrap_or(v);
        match (end(graph.sources()), end(graph.targets())) {
            (from, to) if from == v => to,
            (from, _) => from,
        }
    }
}

/// The parallel view around frames of one place. `ranks` are preferred; `steps` are the frames of each step of a path.
pub fn around(
    run: &Recorded,
    scale: u32,
    frames: &Frames,
    place: &[u32],
    ranks: &[u32],
    steps: &[Vec<u32>],
) -> Option<Neighbourhood> {
    if run.run().header.ranks > RANKS {
        return None;
    }
    let view: &View = run.parallel();
    let near = Near { view, frames };
    // Everything inside the place belongs to it.
    let inside = |frame: u32| {
        let mut around = std::iter::successors(Some(frame), |f| frames.parent(*f));
        around.any(|f| place.contains(&f))
    };
    let mut own: Vec<u32> = (0..view.vertices.len() as u32)
        .filter(|v| near.frame(*v).is_some_and(inside))
        .collect();
    let wanted = |v: &u32| ranks.contains(&(near.number("rank", *v) as u32));
    let weight = |v: &u32| near.number("time", *v) + near.number("wait", *v);
    own.sort_by(|a, b| {
        let by_weight = weight(b).total_cmp(&weight(a));
        wanted(b).cmp(&wanted(a)).then(by_weight).then(a.cmp(b))
    });
    let mut thinned = own.len() > OWN;
    own.truncate(OWN);
    let mut chosen: BTreeSet<u32> = own.iter().copied().collect();
    let mut ring = own.clone();
    'rings: for _ in 0..2 {
        let mut next = Vec::new();
        for v in ring {
            for edge in near.edges(v) {
                if chosen.len() >= MOST {
                    thinned = true;
                    break 'rings;
                }
                let other = near.other(edge, v);
                if chosen.insert(other) {
                    next.push(other);
                }
            }
        }
        ring = next;
    }
    let index: FxHashMap<u32, u32> = chosen.iter().copied().zip(0..).collect();
    let vertices: Vec<NearVertex> = chosen
        .iter()
        .filter_map(|v| {
            let frame = near.frame(*v)?;
            let step = steps.iter().position(|s| s.contains(&frame));
            Some(NearVertex {
                frame,
                rank: near.number("rank", *v) as u32,
                thread: near.number("thread", *v) as u32,
                name: frames.place(frame).map(name).unwrap_or_default(),
                seconds: short(near.number("time", *v)),
                wait_seconds: short(near.number("wait", *v)),
                is_place: inside(frame),
                step: step.map(|s| s as u32),
            })
        })
        .collect();
    if vertices.is_empty() || vertices.len() != chosen.len() {
        return None;
    }
    let graph = &view.graph;
    let ends = (0..).zip(graph.sources().iter().zip(graph.targets()));
    let edges = ends.filter_map(|(e, (from, to))| {
        let (from, to) = (*index.get(from)?, *index.get(to)?);
        let kind = match view.edges.cell("kind", e as usize) {
            Cell::Text(kind) => kind,
            _ => "",
        };
        Some(NearEdge {
            from,
            to,
            kind: kind.to_string(),
            count: near.edge("count", e),
            bytes: near.edge("bytes", e),
            wait_seconds: near.edge("wait", e).map(short),
            back: near.edge("back", e) == Some(1.0),
        })
    });
    Some(Neighbourhood {
        scale,
        frame: place.first().copied().unwrap_or(0),
        vertices,
        edges: edges.collect(),
        thinned,
    })
}
