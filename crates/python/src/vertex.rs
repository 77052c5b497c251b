//! One vertex: its attributes, its edges and its neighbours (PerFlow, section 4.3.1).

use crate::element::{Element, attribute, column, metrics, names, value};
use crate::error::raised;
use crate::run::Origin;
use crate::set::{Around, Set};
use crate::trail::Trail;
use crate::wanted::direction;
use headwater_dataflow::pass;
use headwater_dataflow::pass::on_ranks;
use headwater_dataflow::set;
use headwater_graph::view::{Cell, ViewKind};
use headwater_model::printable::printable;
use pyo3::prelude::*;

/// No vertex.
pub const NOBODY: u32 = u32::MAX;

/// A vertex of a view: a place in the program, or one on a single rank or thread.
///
/// `v["time"]` is an attribute: a figure (NaN where it was not measured; seconds, bytes or a count, see
/// `headwater.unit`) or a word (None where there is none). Two are equal if they are the same of one graph.
#[pyclass(frozen, module = "headwater")]
pub struct Vertex(pub Element);

impl Vertex {
    /// A vertex of a set.
    pub fn of(set: &set::Set, origin: Option<&Origin>, index: u32) -> Self {
        Self(Element::of(set, origin, index, Trail::default()))
    }

    /// Whether it is one: the source of no edge is none.
    pub fn is_there(&self) -> bool {
        self.0.row() < self.0.view.graph.vertices()
    }

    /// A set of this vertex alone.
    fn alone(&self) -> set::Set {
        set::Set::new(self.0.view.clone(), vec![self.0.index], Vec::new())
    }

    fn set(&self, made: Result<set::Set, set::SetError>) -> PyResult<Set> {
        Ok(Set::new(made.map_err(raised)?, self.0.origin.clone()))
    }

    /// Its vertices in the view that has its edges: those of its place on all ranks.
    fn centres(&self) -> PyResult<set::Set> {
        let run = self.0.origin.as_ref().and_then(|o| o.of_view(&self.0.view));
        match run.filter(|_| self.0.view.kind == ViewKind::TopDown && self.is_there()) {
            Some(run) => {
                let all = set::Set::vertices_of(run.recorded.parallel());
                on_ranks(&self.alone(), &all).map_err(raised)
            }
            None => Ok(self.alone()),
        }
    }
}

#[pymethods]
impl Vertex {
    /// Its number in the view.
    #[getter]
    fn index(&self) -> u32 {
        self.0.index
    }

    /// What it is called: a function, or what a call calls.
    #[getter]
    fn name<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        value(py, column(&self.0.view.vertices, "name")?, self.0.row())
    }

    /// File and lines, as `file.c:10-20`; the module where no file is known.
    #[getter]
    fn location(&self) -> Option<String> {
        pass::location(&self.alone(), self.0.index)
    }

    /// Names of the attributes that vertices of its view have.
    fn keys(&self) -> Vec<String> {
        names(&self.0.view.vertices)
    }

    /// Names of the figures that were measured of it.
    #[getter]
    fn metrics(&self) -> Vec<String> {
        metrics(&self.0.view.vertices, self.0.row())
    }

    /// Its edges, those that were waited on longest first, then those that were gone most often.
    ///
    /// A vertex of a run's top-down view means its place on every rank: the edges are those of the parallel view.
    /// A vertex that was reached by an edge (`e.src`, `e.dst`) remembers the way: no edge leads back to a vertex of it,
    /// so that walks end.
    #[getter]
    fn es(&self, py: Python<'_>) -> PyResult<Set> {
        py.detach(|| {
            let centres = self.centres()?;
            let edges = centres
                .incident(set::Direction::Both, None)
                .map_err(raised)?;
            let view = centres.view();
            let figure = |name: &str, e: u32| view.edges.get(name)?.number(e as usize);
            let passed = |v: u32| self.0.trail.passed(v);
            let (src, dst) = (view.graph.sources(), view.graph.targets());
            // As in our own backtracking: the longest wait first, else what mostly comes before.
            let mut order: Vec<(bool, f64, f64, u32)> = (edges.edges().iter())
                .filter(|e| !passed(src[**e as usize]) && !passed(dst[**e as usize]))
                .map(|e| {
                    let most = |name| -figure(name, *e).unwrap_or(0.0);
                    let back = figure("back", *e) == Some(1.0);
                    (back, most("wait"), most("count"), *e)
                })
                .collect();
            order.sort_by(|a, b| {
                let figures = a.1.total_cmp(&b.1).then(a.2.total_cmp(&b.2));
                a.0.cmp(&b.0).then(figures).then(a.3.cmp(&b.3))
            });
            let edges = order.into_iter().map(|o| o.3).collect();
            let made = set::Set::new(view.clone(), Vec::new(), edges).only_edges();
            let around = Around {
                centres: centres.vertices().into(),
                trail: self.0.trail.clone(),
            };
            Ok(Set::new(made, self.0.origin.clone()).around(around))
        })
    }

    /// Edges that come into it; with `kind`, only those whose type or kind is that word.
    #[pyo3(signature = (kind = None))]
    fn in_edges(&self, kind: Option<&str>) -> PyResult<Set> {
        self.set(self.alone().in_edges(kind))
    }

    /// Edges that leave it.
    #[pyo3(signature = (kind = None))]
    fn out_edges(&self, kind: Option<&str>) -> PyResult<Set> {
        self.set(self.alone().out_edges(kind))
    }

    /// Vertices at the other ends of its edges; `direction` is in, out or both.
    #[pyo3(name = "neighbours", signature = (direction = "both", kind = None))]
    fn neighbours(&self, direction: &str, kind: Option<&str>) -> PyResult<Set> {
        self.set(self.alone().neighbours(self::direction(direction)?, kind))
    }

    /// The whole view that it is of, as a set.
    #[getter]
    fn pag(&self) -> Set {
        Set::whole(&self.0.view, self.0.origin.as_ref())
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let name = attribute(key)?;
        if matches!(name.as_str(), "debug-info" | "dbg-info") {
            return Ok(self.location().into_pyobject(py)?);
        }
        if !self.is_there() {
            return Ok(py.None().into_bound(py));
        }
        value(py, column(&self.0.view.vertices, &name)?, self.0.row())
    }

    fn __setitem__(&self, key: &str, _value: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(raised(format!(
            "{key} of a recorded vertex stays as it was; a set with a metric more is V.with_metric({key:?}, values)"
        )))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|v| self.0.same(&v.get().0))
    }

    fn __hash__(&self) -> u64 {
        self.0.hash()
    }

    fn __bool__(&self) -> bool {
        self.is_there()
    }

    fn __repr__(&self) -> String {
        if !self.is_there() {
            return "<no Vertex>".to_string();
        }
        let table = &self.0.view.vertices;
        let word = |name: &str| match table.cell(name, self.0.row()) {
            Cell::Text(text) => text.to_string(),
            Cell::Number(x) => x.to_string(),
            Cell::Missing => String::new(),
        };
        let mut out = format!("<Vertex {} {}", self.0.index, word("name"));
        if let Some(location) = self.location() {
            out += &format!(" {location}");
        }
        if self.0.view.kind == ViewKind::Parallel {
            out += &format!(" rank {}", word("rank"));
        }
        printable(&(out + ">")).into_owned()
    }
}

impl Vertex {
    /// Its name, for people.
    pub fn called(&self) -> String {
        let cell = |name| self.0.view.vertices.cell(name, self.0.row());
        match (cell("name"), cell("type")) {
            (Cell::Text(name), _) => name.to_string(),
            (_, Cell::Text(kind)) => kind.to_string(),
            _ => format!("vertex {}", self.0.index),
        }
    }
}
