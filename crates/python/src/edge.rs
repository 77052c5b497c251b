//! One edge: its attributes and its ends.

use crate::run::Origin;
use crate::vertex::{Vertex, attribute, hash, metrics, value};
use headwater_graph::view::{Cell, View};
use pyo3::prelude::*;
use std::sync::Arc;

/// An edge of a view, in the way that time goes: from what is done first, or lets the other go on.
///
/// `e["wait"]` is an attribute, as of vertices; `e.src` and `e.dst` are its ends.
#[pyclass(frozen, module = "headwater")]
pub struct Edge {
    pub view: Arc<View>,
    pub origin: Option<Origin>,
    pub index: u32,
    pub trail: Arc<[u32]>,
}

impl Edge {
    /// The vertex at one end, which remembers the other one.
    fn end(&self, here: &[u32], there: &[u32]) -> Vertex {
        let at = |all: &[u32]| all.get(self.index as usize).copied();
        let passed = at(there).into_iter();
        Vertex {
            view: self.view.clone(),
            origin: self.origin.clone(),
            index: at(here).unwrap_or(crate::vertex::NOBODY),
            trail: self.trail.iter().copied().chain(passed).collect(),
        }
    }
}

#[pymethods]
impl Edge {
    /// Its number in the view.
    #[getter]
    fn index(&self) -> u32 {
        self.index
    }

    /// The vertex where it begins.
    #[getter]
    pub fn src(&self) -> Vertex {
        let graph = &self.view.graph;
        self.end(graph.sources(), graph.targets())
    }

    /// The vertex where it ends.
    #[getter]
    pub fn dst(&self) -> Vertex {
        let graph = &self.view.graph;
        self.end(graph.targets(), graph.sources())
    }

    /// Names of the attributes that edges of its view have.
    fn keys(&self) -> Vec<String> {
        self.view
            .edges
            .names()
            .into_iter()
            .map(str::to_string)
            .collect()
    }

    /// Names of the figures that were measured of it.
    #[getter]
    fn metrics(&self) -> Vec<String> {
        metrics(&self.view.edges, self.index as usize)
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        value(py, &self.view.edges, &attribute(key)?, self.index as usize)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let same = |e: &Bound<'_, Edge>| {
            let other = e.get();
            self.index == other.index && self.view.shares_graph(&other.view)
        };
        other.cast::<Edge>().is_ok_and(same)
    }

    fn __hash__(&self) -> u64 {
        // An edge is no vertex of its number.
        !hash(&self.view, self.index)
    }

    fn __repr__(&self) -> String {
        let kind = match self.view.edges.cell("kind", self.index as usize) {
            Cell::Text(text) => text,
            _ => "",
        };
        let at = |all: &[u32]| all.get(self.index as usize).copied().unwrap_or(0);
        let (src, dst) = (at(self.view.graph.sources()), at(self.view.graph.targets()));
        format!("<Edge {} {kind} {src} -> {dst}>", self.index)
    }
}
