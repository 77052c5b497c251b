//! Sets of vertices and edges (PerFlow, sections 4.2 and 4.3.1).

use crate::capsule;
use crate::edge::Edge;
use crate::error::{OrRaise, raised};
use crate::frame;
use crate::run::Origin;
use crate::vertex::{NOBODY, Vertex, attribute, value};
use crate::wanted::{direction, set_of};
use headwater_graph::view::{Column, View, ViewKind};
use headwater_passes::pass::same_places;
use headwater_passes::set::{self, Expr, SetError};
use pyo3::exceptions::{PyIndexError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList, PyString};
use std::sync::Arc;

/// Whose edges a set has, and the way that led there.
#[derive(Debug)]
pub struct Around {
    /// The vertices.
    pub centres: Arc<[u32]>,
    /// Vertices that were passed.
    pub trail: Arc<[u32]>,
}

/// Vertices and edges of one view, in an order, each once.
///
/// Iterating gives the vertices, then the edges. `V["time"]` is an attribute of all of them as a list, `V[0]` the first
/// element, `V[:5]` the first five. `|`, `&`, `-` and `~` are union, intersection, difference and complement. Sets
/// never change: every operation gives a new one. Polars, pandas, pyarrow and DuckDB read it as a table
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
    fn made(&self, made: Result<set::Set, SetError>) -> PyResult<Self> {
        let around = self.around.as_ref().map(|a| Around {
            centres: a.centres.clone(),
            trail: a.trail.clone(),
        });
        Ok(Self {
            set: made.or_raise()?,
            origin: self.origin.clone(),
            around,
        })
    }

    fn edges_alone(&self) -> bool {
        self.set.vertices().is_empty() && !self.set.edges().is_empty()
    }

    fn trail(&self) -> Arc<[u32]> {
        self.around
            .as_ref()
            .map_or_else(|| Arc::from([]), |a| a.trail.clone())
    }

    fn vertex(&self, index: u32) -> Vertex {
        Vertex {
            trail: self.trail(),
            ..Vertex::of(&self.set, self.origin.as_ref(), index)
        }
    }

    fn edge(&self, index: u32) -> Edge {
        Edge {
            view: self.set.view().clone(),
            origin: self.origin.clone(),
            index,
            trail: self.trail(),
        }
    }

    fn element<'py>(&self, py: Python<'py>, at: usize) -> PyResult<Bound<'py, PyAny>> {
        let vertices = self.set.vertices();
        if let Some(v) = vertices.get(at) {
            return Ok(Bound::new(py, self.vertex(*v))?.into_any());
        }
        match self.set.edges().get(at - vertices.len()) {
            Some(e) => Ok(Bound::new(py, self.edge(*e))?.into_any()),
            None => Err(PyIndexError::new_err("the set has fewer elements")),
        }
    }

    fn elements<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for at in 0..self.set.len() {
            list.append(self.element(py, at)?)?;
        }
        Ok(list)
    }

    /// Elements that Python's function says yes to.
    fn holds(&self, test: &Bound<'_, PyAny>) -> PyResult<set::Set> {
        let (mut vertices, mut edges) = (Vec::new(), Vec::new());
        for v in self.set.vertices() {
            if test.call1((self.vertex(*v),))?.is_truthy()? {
                vertices.push(*v);
            }
        }
        for e in self.set.edges() {
            if test.call1((self.edge(*e),))?.is_truthy()? {
                edges.push(*e);
            }
        }
        Ok(set::Set::new(self.set.view().clone(), vertices, edges))
    }

    fn filtered(&self, py: Python<'_>, expression: Result<Expr, SetError>) -> PyResult<Self> {
        let expression = expression.or_raise()?;
        self.made(py.detach(|| self.set.filter(&expression)))
    }
}

/// The expression that says that an attribute is a word that fits a pattern, a figure, or one of several.
fn is_value(name: &str, wanted: &Bound<'_, PyAny>) -> PyResult<Result<Expr, SetError>> {
    if let Ok(pattern) = wanted.extract::<String>() {
        return Ok(Ok(Expr::like(name, &pattern)));
    }
    if let Ok(figure) = wanted.extract::<f64>() {
        return Ok(Expr::parse(&format!("`{name}` == {figure:?}")));
    }
    let mut parts = Vec::new();
    for one in wanted.try_iter()? {
        let one = one?;
        parts.push(match one.extract::<String>() {
            Ok(word) if word.contains('"') => format!("`{name}` == '{word}'"),
            Ok(word) => format!("`{name}` == \"{word}\""),
            Err(_) => format!("`{name}` == {:?}", one.extract::<f64>()?),
        });
    }
    Ok(Expr::parse(&parts.join(" or ")))
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
        table.names().into_iter().map(str::to_string).collect()
    }

    /// Names of attributes that are figures measured of any of its vertices.
    #[getter]
    fn metrics(&self) -> Vec<String> {
        let table = &self.set.view().vertices;
        let known = |(name, column): &(&str, &Column)| {
            let figure = |v: &u32| column.number(*v as usize).is_some();
            let place = headwater_passes::pass::PLACES.contains(name);
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
        let mut out = self.made(Ok(self.set.clone()))?;
        match r#where {
            Some(test) if test.is_callable() => out = self.made(Ok(out.holds(test)?))?,
            Some(text) => out = out.filtered(py, Expr::parse(&text.extract::<String>()?))?,
            None => {}
        }
        for (name, wanted) in attributes.into_iter().flatten() {
            out = out.filtered(py, is_value(&name.extract::<String>()?, &wanted)?)?;
        }
        Ok(out)
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
        let mut out = self.made(Ok(self.set.clone()))?;
        let word = what.and_then(|w| w.extract::<String>().ok());
        let towards = word.as_deref().and_then(|w| direction(w).ok());
        match (what, towards) {
            (None, _) => {}
            (Some(_), Some(towards)) => {
                let Some(around) = &self.around else {
                    return Err(raised(
                        "select: only the edges of a vertex come into it or leave it; take v.es",
                    ));
                };
                let graph = &self.set.view().graph;
                let at = |all: &[u32], e: u32| around.centres.contains(&all[e as usize]);
                let keep = |e: &u32| match towards {
                    set::Direction::In => at(graph.targets(), *e),
                    set::Direction::Out => at(graph.sources(), *e),
                    set::Direction::Both => true,
                };
                let edges = self.set.edges().iter().copied().filter(keep).collect();
                out = self.made(Ok(set::Set::new(
                    self.set.view().clone(),
                    Vec::new(),
                    edges,
                )))?;
            }
            (Some(what), None) => out = out.filter(py, Some(what), None)?,
        }
        if let Some(wanted) = r#type {
            if out.set.vertices().is_empty() {
                let table = &out.set.view().edges;
                let wanted: String = wanted.extract()?;
                let is = |e: &u32| {
                    let mut columns = ["type", "kind"].into_iter().filter_map(|n| table.get(n));
                    columns.any(|c| c.text(*e as usize) == Some(wanted.as_str()))
                };
                let edges = out.set.edges().iter().copied().filter(is).collect();
                out = self.made(Ok(set::Set::new(
                    self.set.view().clone(),
                    Vec::new(),
                    edges,
                )))?;
            } else {
                out = out.filtered(py, is_value("type", wanted)?)?;
            }
        }
        match attributes {
            Some(_) => out.filter(py, None, attributes),
            None => Ok(out),
        }
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
        let sorted = py.detach(|| self.set.sort_by(&metric));
        self.made(sorted.map(|s| if ascending { s.reversed() } else { s }))
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
            let table = &group.view().vertices;
            let first = group.vertices().first().map_or(0, |v| *v as usize);
            let known = table
                .get(attribute)
                .is_some_and(|c| c.number(first).is_some() || c.text(first).is_some());
            let key = if known {
                value(py, table, attribute, first)?
            } else {
                py.None().into_bound(py)
            };
            dict.set_item(key, self.made(Ok(group))?)?;
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
        if values.is_callable() {
            let list = PyList::empty(values.py());
            for v in self.set.vertices() {
                list.append(values.call1((self.vertex(*v),))?)?;
            }
            return self.with_metric(name, &list);
        }
        if let Some(column) = capsule::column(values)? {
            let rows = 0..column.len();
            return self.made(match column {
                Column::Number(_) => {
                    let values: Vec<Option<f64>> = rows.map(|i| column.number(i)).collect();
                    self.set.with_metric(name, &values)
                }
                Column::Text(_) => {
                    let words = rows.map(|i| column.text(i).map(str::to_string));
                    self.set.with_words(name, &words.collect::<Vec<_>>())
                }
            });
        }
        if let Ok(figures) = values.extract::<Vec<Option<f64>>>() {
            return self.made(self.set.with_metric(name, &figures));
        }
        match values.extract::<Vec<Option<String>>>() {
            Ok(words) => self.made(self.set.with_words(name, &words)),
            Err(_) => Err(raised(format!(
                "metric {name}: figures are needed, or words, one for each vertex"
            ))),
        }
    }

    /// A metric over ranks: for each vertex of a top-down view a list with a figure for each rank.
    #[pyo3(signature = (metric = "time"))]
    fn over_ranks(&self, metric: &str) -> PyResult<Vec<Vec<f64>>> {
        let view = self.set.view();
        let Some(rows) = view.rows.get(metric) else {
            let known: Vec<&str> = view.rows.keys().map(String::as_str).collect();
            let known = if known.is_empty() {
                "nothing".to_string()
            } else {
                known.join(", ")
            };
            return Err(raised(format!(
                "{metric} is not known over ranks; {known} is"
            )));
        };
        let ranks = view.header.ranks;
        Ok(self
            .set
            .vertices()
            .iter()
            .map(|v| rows.dense(*v, ranks))
            .collect())
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

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.elements(py)?.try_iter()
    }

    fn __contains__(&self, element: &Bound<'_, PyAny>) -> bool {
        let shares = |view: &Arc<View>| self.set.view().shares_graph(view);
        if let Ok(v) = element.cast::<Vertex>() {
            return shares(&v.get().view) && self.set.vertices().contains(&v.get().index);
        }
        let edge = element.cast::<Edge>();
        edge.is_ok_and(|e| shares(&e.get().view) && self.set.edges().contains(&e.get().index))
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(at) = key.extract::<isize>() {
            let n = self.set.len() as isize;
            let at = if at < 0 { at + n } else { at };
            return match usize::try_from(at).ok().filter(|at| *at < self.set.len()) {
                Some(at) => self.element(py, at),
                None => Err(PyIndexError::new_err("the set has fewer elements")),
            };
        }
        if let Ok(slice) = key.cast::<pyo3::types::PySlice>() {
            let list = self.elements(py)?.as_any().get_item(slice)?;
            let (set, _) = set_of(&list, "elements")?;
            let set = set::Set::new(
                self.set.view().clone(),
                set.vertices().to_vec(),
                set.edges().to_vec(),
            );
            return Ok(Bound::new(py, self.made(Ok(set))?)?.into_any());
        }
        let Ok(name) = attribute(key) else {
            return Err(PyKeyError::new_err(key.clone().unbind()));
        };
        let list = PyList::empty(py);
        let view = self.set.view();
        if self.edges_alone() {
            for e in self.set.edges() {
                list.append(value(py, &view.edges, &name, *e as usize)?)?;
            }
        } else {
            self.set.column(&name).or_raise()?;
            for v in self.set.vertices() {
                list.append(value(py, &view.vertices, &name, *v as usize)?)?;
            }
        }
        Ok(list.into_any())
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

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (v, e) = (self.set.vertices().len(), self.set.edges().len());
        let mut out = format!("<Set of {v} vertices and {e} edges");
        if !self.run_name().is_empty() {
            out += &format!(" of {} ({})", self.run_name(), self.kind());
        }
        let names = PyList::empty(py);
        for v in self.set.vertices().iter().take(4) {
            names.append(PyString::new(py, &self.vertex(*v).called()))?;
        }
        let names: Vec<String> = names.extract()?;
        if !names.is_empty() {
            out += &format!(": {}{}", names.join(", "), if v > 4 { ", …" } else { "" });
        }
        Ok(out + ">")
    }
}

/// Pairs of vertices of two sets: of two runs, those that are the same place; of one graph, each with each.
#[pyfunction]
pub fn pairs(
    first: &Bound<'_, PyAny>,
    second: &Bound<'_, PyAny>,
) -> PyResult<Vec<(Vertex, Vertex)>> {
    let ((a, of_a), (b, of_b)) = (set_of(first, "first")?, set_of(second, "second")?);
    let pair = |v, w| {
        (
            Vertex::of(&a, of_a.as_ref(), v),
            Vertex::of(&b, of_b.as_ref(), w),
        )
    };
    if a.view().shares_graph(b.view()) {
        let each = a
            .vertices()
            .iter()
            .flat_map(|v| b.vertices().iter().map(|w| pair(*v, *w)));
        return Ok(each.collect());
    }
    let same = same_places(b.view(), a.view());
    let mut held = vec![false; b.view().graph.vertices()];
    b.vertices().iter().for_each(|v| held[*v as usize] = true);
    let place = |v: &u32| {
        let other = same.get(*v as usize).copied().flatten();
        other.filter(|w| held[*w as usize]).map(|w| pair(*v, w))
    };
    Ok(a.vertices().iter().filter_map(place).collect())
}
