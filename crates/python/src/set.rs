//! Sets of vertices and edges (PerFlow, sections 4.2 and 4.3.1).

use crate::choose;
use crate::edge::Edge;
use crate::element::{Element, attribute, column, names, value};
use crate::error::OrRaise;
use crate::items::{self, Elements};
use crate::run::Origin;
use crate::trail::Trail;
use crate::vertex::{NOBODY, Vertex};
use crate::wanted::{direction, set_of};
use crate::{capsule, frame, metric};
use headwater_dataflow::set;
use headwater_dataflow::set::SetError;
use headwater_graph::view::{Column, View, ViewKind};
use headwater_model::printable::printable;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::sync::Arc;

/// Whose edges a set has, and the way that led there.
#[derive(Clone, Debug)]
pub struct Around {
    /// The vertices.
    pub centres: Arc<[u32]>,
    /// Vertices that were passed.
    pub trail: Trail,
}

/// Vertices and edges of one view, in an order, each once.
///
/// Iterating yields the vertices, then the edges. `V["time"]` is an attribute of all of them as a list, `V[0]` the first
/// element, `V[:5]` the first five. `|`, `&`, `-` and `~` are union, intersection, difference and complement. Sets
/// never change: every operation returns a new one. Polars, pandas, pyarrow and DuckDB read it as a table
/// (`to_polars()`, `to_pandas()`, or anything that takes `__arrow_c_stream__`).
#[pyclass(frozen, module = "headwater")]
pub struct Set {
    pub set: set::Set,
    pub origin: Option<Origin>,
    pub around: Option<Around>,
}

impl Set {
    /// A set of the view of a run, or of one that was made.
    pub fn new(set: set::Set, origin: Option<Origin>) -> Self {
        Self {
            set,
            origin,
            around: None,
        }
    }

    /// All of a view.
    pub fn whole(view: &Arc<View>, origin: Option<&Origin>) -> Self {
        let all = |n: usize| (0..n as u32).collect();
        let graph = &view.graph;
        let set = set::Set::new(view.clone(), all(graph.vertices()), all(graph.edges()));
        Self::new(set, origin.cloned())
    }

    /// The same, whose edges are those of some vertices.
    pub fn around(self, around: Around) -> Self {
        Self {
            around: Some(around),
            ..self
        }
    }

    /// What was made of this set.
    pub fn made(&self, made: Result<set::Set, SetError>) -> PyResult<Self> {
        Ok(self.like(made.or_raise()?))
    }

    /// Another set of the same run, with edges of the same vertices.
    fn like(&self, set: set::Set) -> Self {
        Self {
            set,
            origin: self.origin.clone(),
            around: self.around.clone(),
        }
    }

    /// Whether it has edges and no vertices, so that its attributes are those of edges.
    pub fn edges_alone(&self) -> bool {
        self.set.vertices().is_empty() && !self.set.edges().is_empty()
    }

    fn one(&self, index: u32) -> Element {
        let trail = self.around.as_ref().map(|a| a.trail.clone());
        let trail = trail.unwrap_or_default();
        Element::of(&self.set, self.origin.as_ref(), index, trail)
    }

    /// A vertex of it.
    pub fn vertex(&self, index: u32) -> Vertex {
        Vertex(self.one(index))
    }

    /// An edge of it.
    pub fn edge(&self, index: u32) -> Edge {
        Edge(self.one(index))
    }
}

#[pymethods]
impl Set {
    /// A set of vertices and edges of one view, from a list of them (or of sets); of dictionaries, new vertices.
    #[new]
    fn from_list(elements: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (set, origin) = set_of(elements, "elements")?;
        Ok(Self::new(set, origin))
    }

    /// Of which view it is: top-down, parallel or made.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.set.view().kind {
            ViewKind::TopDown => "top-down",
            ViewKind::Parallel => "parallel",
            ViewKind::Made => "made",
        }
    }

    /// Name of the run whose view it is of.
    #[getter]
    fn run_name(&self) -> &str {
        &self.set.view().header.name
    }

    /// Ranks of the run.
    #[getter]
    fn ranks(&self) -> u32 {
        self.set.view().header.ranks
    }

    /// Names of attributes: those of vertices, or of edges if it has edges alone.
    #[getter]
    fn attributes(&self) -> Vec<String> {
        let view = self.set.view();
        let table = if self.edges_alone() {
            &view.edges
        } else {
            &view.vertices
        };
        names(table)
    }

    /// Names of attributes that are figures measured of any of its vertices.
    #[getter]
    fn metrics(&self) -> Vec<String> {
        let table = &self.set.view().vertices;
        let known = |(name, column): &(&str, &Column)| {
            let figure = |v: &u32| column.number(*v as usize).is_some();
            let place = headwater_dataflow::pass::PLACES.contains(name);
            !place && self.set.vertices().iter().any(figure)
        };
        table
            .columns()
            .filter(known)
            .map(|(n, _)| n.to_string())
            .collect()
    }

    /// Names of metrics that are known over ranks.
    #[getter]
    fn ranked(&self) -> Vec<String> {
        self.set.view().rows.keys().cloned().collect()
    }

    /// Its vertices alone.
    #[getter]
    fn vertices(&self) -> PyResult<Self> {
        self.made(Ok(self.set.only_vertices()))
    }

    /// Its edges alone.
    #[getter]
    fn edges(&self) -> PyResult<Self> {
        self.made(Ok(self.set.only_edges()))
    }

    /// Its vertices alone, as of a run.
    #[getter(V)]
    fn all_vertices(&self) -> PyResult<Self> {
        self.vertices()
    }

    /// Its edges alone, as of a run.
    #[getter(E)]
    fn all_edges(&self) -> PyResult<Self> {
        self.edges()
    }

    /// The whole view that it is of, as a set of vertices and edges.
    #[getter]
    fn pag(&self) -> Self {
        Self::whole(self.set.view(), self.origin.as_ref())
    }

    /// Elements for which all that is said holds, in order.
    ///
    /// `where` is an expression over attributes (`time > 0.1 and type in ("loop", "branch")`) or a function of an
    /// element; by name, an attribute must be a word that fits a pattern (`name="MPI_*"`), a figure, or one of a list.
    #[pyo3(signature = (r#where = None, **attributes))]
    fn filter(
        &self,
        py: Python<'_>,
        r#where: Option<&Bound<'_, PyAny>>,
        attributes: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        Ok(self.like(choose::filter(self, py, r#where, attributes)?))
    }

    /// As `filter`, in PerFlow's way: of edges, `type` is that of either `type` or `kind`, and `IN_EDGE` and
    /// `OUT_EDGE` are those that come into, or leave, the vertex whose edges they are.
    #[pyo3(signature = (what = None, *, r#type = None, **attributes))]
    fn select(
        &self,
        py: Python<'_>,
        what: Option<&Bound<'_, PyAny>>,
        r#type: Option<&Bound<'_, PyAny>>,
        attributes: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let word = what.and_then(|w| w.extract::<String>().ok());
        let mut out = match word.and_then(|w| choose::towards(self, &w)) {
            Some(edges) => self.like(edges?),
            None => self.like(choose::filter(self, py, what, None)?),
        };
        if let Some(wanted) = r#type {
            out = self.like(choose::of_type(&out.set, py, wanted)?);
        }
        Ok(self.like(choose::filter(&out, py, None, attributes)?))
    }

    /// Vertices by a metric, the largest first (words from A to Z); those without it come last.
    #[pyo3(signature = (metric, ascending = false))]
    fn sort_by(
        &self,
        py: Python<'_>,
        metric: &Bound<'_, PyAny>,
        ascending: bool,
    ) -> PyResult<Self> {
        let metric = attribute(metric)?;
        let sort = match ascending {
            true => set::Set::sort_ascending,
            false => set::Set::sort_by,
        };
        self.made(py.detach(|| sort(&self.set, &metric)))
    }

    /// The first `n` vertices, and the first `n` edges.
    fn top(&self, n: usize) -> PyResult<Self> {
        self.made(Ok(self.set.top(n)))
    }

    /// The other way round.
    fn reversed(&self) -> PyResult<Self> {
        self.made(Ok(self.set.reversed()))
    }

    /// A set of the vertices with each value of an attribute, by that value; None for those without.
    fn group<'py>(&self, py: Python<'py>, attribute: &str) -> PyResult<Bound<'py, PyDict>> {
        let groups = py.detach(|| self.set.group(attribute)).or_raise()?;
        let dict = PyDict::new(py);
        for (_, group) in groups {
            let column = column(&group.view().vertices, attribute)?;
            let first = group.vertices().first().map_or(0, |v| *v as usize);
            let known = column.number(first).is_some() || column.text(first).is_some();
            let key = match known {
                true => value(py, column, first)?,
                false => py.None().into_bound(py),
            };
            dict.set_item(key, self.like(group))?;
        }
        Ok(dict)
    }

    /// A set of the vertices of each class, by what `of` says of a vertex.
    fn classify<'py>(
        &self,
        py: Python<'py>,
        of: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let classes = PyDict::new(py);
        for v in self.set.vertices() {
            let class = of.call1((self.vertex(*v),))?;
            match classes.get_item(&class)? {
                Some(known) => known.cast::<PyList>()?.append(*v)?,
                None => classes.set_item(class, PyList::new(py, [*v])?)?,
            }
        }
        for (class, vertices) in classes.iter().collect::<Vec<_>>() {
            let vertices: Vec<u32> = vertices.extract()?;
            let set = set::Set::new(self.set.view().clone(), vertices, Vec::new());
            classes.set_item(class, self.made(Ok(set))?)?;
        }
        Ok(classes)
    }

    /// Elements of either; `|` too.
    fn union(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.made(self.set.union(&set_of(other, "other")?.0))
    }

    /// Elements of both; `&` too.
    fn intersection(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.made(self.set.intersection(&set_of(other, "other")?.0))
    }

    /// Elements that the other does not have; `-` too.
    fn difference(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.made(self.set.difference(&set_of(other, "other")?.0))
    }

    /// What the view has besides: vertices of a set of vertices, edges of a set of edges; `~` too.
    fn complement(&self) -> PyResult<Self> {
        self.made(Ok(self.set.complement()))
    }

    /// Edges that come into its vertices; with `kind`, only those whose type or kind is that word.
    #[pyo3(signature = (kind = None))]
    fn in_edges(&self, kind: Option<&str>) -> PyResult<Self> {
        self.made(self.set.in_edges(kind))
    }

    /// Edges that leave its vertices.
    #[pyo3(signature = (kind = None))]
    fn out_edges(&self, kind: Option<&str>) -> PyResult<Self> {
        self.made(self.set.out_edges(kind))
    }

    /// Vertices at the other ends of its vertices' edges; `direction` is in, out or both.
    #[pyo3(signature = (direction = "both", kind = None))]
    fn neighbours(&self, direction: &str, kind: Option<&str>) -> PyResult<Self> {
        self.made(self.set.neighbours(self::direction(direction)?, kind))
    }

    /// Vertices where its edges begin.
    fn sources(&self) -> PyResult<Self> {
        self.made(Ok(self.set.sources()))
    }

    /// Vertices where its edges end.
    fn targets(&self) -> PyResult<Self> {
        self.made(Ok(self.set.targets()))
    }

    /// Where its first edge begins; of no edge no vertex, which has no edges either.
    #[getter]
    fn src(&self) -> Vertex {
        let first = self.set.edges().first().map(|e| self.edge(*e).src());
        first.unwrap_or_else(|| self.vertex(NOBODY))
    }

    /// Where its first edge ends.
    #[getter]
    fn dst(&self) -> Vertex {
        let first = self.set.edges().first().map(|e| self.edge(*e).dst());
        first.unwrap_or_else(|| self.vertex(NOBODY))
    }

    /// The same set with a metric more, worked out from others: `V.derive("waiting", "wait / mpi")`.
    fn derive(&self, py: Python<'_>, name: &str, expression: &str) -> PyResult<Self> {
        self.made(py.detach(|| self.set.derive(name, expression)))
    }

    /// The same set with an attribute more: for each vertex a figure or a word (None where there is none), as a list, an
    /// Arrow array, or a function of the vertex.
    fn with_metric(&self, name: &str, values: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(self.like(metric::with_metric(self, name, values)?))
    }

    /// A metric over ranks: for each vertex of a top-down view a list with a figure for each rank.
    #[pyo3(signature = (metric = "time"))]
    fn over_ranks(&self, metric: &str) -> PyResult<Vec<Vec<f64>>> {
        metric::over_ranks(&self.set, metric)
    }

    /// Whether it has the same elements of the same graph in the same order.
    fn same(&self, other: &Self) -> bool {
        self.set.same(&other.set)
    }

    /// The set as a stream of Arrow, without a copy where all of a view is in it.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // Readers cast by themselves what they want otherwise.
        let _ = requested_schema;
        let table = py.detach(|| frame::table_of(&self.set, self.edges_alone()));
        capsule::stream(py, frame::batch(&table)?)
    }

    fn __len__(&self) -> usize {
        self.set.len()
    }

    fn __iter__(this: Py<Self>) -> Elements {
        Elements::new(this)
    }

    fn __contains__(&self, element: &Bound<'_, PyAny>) -> bool {
        items::contains(self, element)
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        items::item(self, py, key)
    }

    fn __or__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.union(other)
    }

    fn __and__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.intersection(other)
    }

    fn __sub__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.difference(other)
    }

    fn __invert__(&self) -> PyResult<Self> {
        self.complement()
    }

    fn __repr__(&self) -> String {
        let (v, e) = (self.set.vertices().len(), self.set.edges().len());
        let mut out = format!("<Set of {v} vertices and {e} edges");
        if !self.run_name().is_empty() {
            out += &format!(" of {} ({})", self.run_name(), self.kind());
        }
        let first = self.set.vertices().iter().take(4);
        let first: Vec<String> = first.map(|v| self.vertex(*v).called()).collect();
        if !first.is_empty() {
            out += &format!(": {}{}", first.join(", "), if v > 4 { ", …" } else { "" });
        }
        printable(&(out + ">")).into_owned()
    }
}
