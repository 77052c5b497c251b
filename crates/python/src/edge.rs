//! One edge: its attributes and its ends.

use crate::element::{Element, attribute, column, metrics, names, value};
use crate::vertex::{NOBODY, Vertex};
use headwater_graph::view::Cell;
use pyo3::prelude::*;

/// An edge of a view, in the way that time goes: from what is done first, or lets the other go on.
///
/// `e["wait"]` is an attribute, as of vertices; `e.src` and `e.dst` are its ends.
#[pyclass(frozen, module = "headwater")]
pub struct Edge(pub Element);

impl Edge {
    /// The vertex at one end, which remembers the other one.
    fn end(&self, here: &[u32], there: &[u32]) -> Vertex {
        let at = |all: &[u32]| all.get(self.0.row()).copied();
        let trail = &self.0.trail;
        Vertex(Element {
            view: self.0.view.clone(),
            origin: self.0.origin.clone(),
            index: at(here).unwrap_or(NOBODY),
            trail: at(there).map_or_else(|| trail.clone(), |v| trail.by(v)),
        })
    }
}

#[pymethods]
impl Edge {
    /// Its number in the view.
    #[getter]
    fn index(&self) -> u32 {
        self.0.index
    }

    /// The vertex where it begins.
    #[getter]
    pub fn src(&self) -> Vertex {
        let graph = &self.0.view.graph;
        self.end(graph.sources(), graph.targets())
    }

    /// The vertex where it ends.
    #[getter]
    pub fn dst(&self) -> Vertex {
        let graph = &self.0.view.graph;
        self.end(graph.targets(), graph.sources())
    }

    /// Names of the attributes that edges of its view have.
    fn keys(&self) -> Vec<String> {
        names(&self.0.view.edges)
    }

    /// Names of the figures that were measured of it.
    #[getter]
    fn metrics(&self) -> Vec<String> {
        metrics(&self.0.view.edges, self.0.row())
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        value(
            py,
            column(&self.0.view.edges, &attribute(key)?)?,
            self.0.row(),
        )
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|e| self.0.same(&e.get().0))
    }

    fn __hash__(&self) -> u64 {
        self.0.hash()
    }

    fn __repr__(&self) -> String {
        let kind = match self.0.view.edges.cell("kind", self.0.row()) {
            Cell::Text(text) => text,
            _ => "",
        };
        let at = |all: &[u32]| all.get(self.0.row()).copied().unwrap_or(0);
        let (src, dst) = (
            at(self.0.view.graph.sources()),
            at(self.0.view.graph.targets()),
        );
        format!("<Edge {} {kind} {src} -> {dst}>", self.0.index)
    }
}
