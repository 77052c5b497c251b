//! Elements of a set one by one, by number and by slice, and an attribute of all of them.

use crate::edge::Edge;
use crate::element::{attribute, column, value};
use crate::error::OrRaise;
use crate::set::Set;
use crate::vertex::Vertex;
use headwater_dataflow::set;
use pyo3::exceptions::{PyIndexError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PySlice};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Goes over the elements of a set; each is made when its turn comes.
#[pyclass(frozen, module = "headwater")]
pub struct Elements {
    of: Py<Set>,
    next: AtomicUsize,
}

impl Elements {
    /// From the first element on.
    pub fn new(of: Py<Set>) -> Self {
        let next = AtomicUsize::new(0);
        Self { of, next }
    }
}

#[pymethods]
impl Elements {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        element(self.of.get(), py, at)
    }

    fn __length_hint__(&self) -> usize {
        let all = self.of.get().set.len();
        all.saturating_sub(self.next.load(Ordering::Relaxed))
    }
}

/// The element with a number: the vertices come first, then the edges.
fn element<'py>(set: &Set, py: Python<'py>, at: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
    let (vertices, edges) = (set.set.vertices(), set.set.edges());
    if let Some(v) = vertices.get(at) {
        return Ok(Some(Bound::new(py, set.vertex(*v))?.into_any()));
    }
    Ok(match edges.get(at - vertices.len()) {
        Some(e) => Some(Bound::new(py, set.edge(*e))?.into_any()),
        None => None,
    })
}

/// What is in brackets behind a set: a number, a slice or an attribute.
pub fn item<'py>(
    set: &Set,
    py: Python<'py>,
    key: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Ok(at) = key.extract::<isize>() {
        let n = set.set.len();
        let at = if at < 0 {
            at.saturating_add_unsigned(n)
        } else {
            at
        };
        let fewer = || PyIndexError::new_err("the set has fewer elements");
        let at = usize::try_from(at).map_err(|_| fewer())?;
        return element(set, py, at.min(n))?.ok_or_else(fewer);
    }
    if let Ok(slice) = key.cast::<PySlice>() {
        let part = set.made(Ok(sliced(set, slice)?))?;
        return Ok(Bound::new(py, part)?.into_any());
    }
    let Ok(name) = attribute(key) else {
        return Err(PyKeyError::new_err(key.clone().unbind()));
    };
    let view = set.set.view();
    let (table, rows) = match set.edges_alone() {
        true => (&view.edges, set.set.edges()),
        false => (&view.vertices, set.set.vertices()),
    };
    let column = column(table, &name)?;
    let list = PyList::empty(py);
    for row in rows {
        list.append(value(py, column, *row as usize)?)?;
    }
    Ok(list.into_any())
}

/// The elements that a slice takes.
fn sliced(set: &Set, slice: &Bound<'_, PySlice>) -> PyResult<set::Set> {
    let n = isize::try_from(set.set.len()).or_raise()?;
    let slice = slice.indices(n)?;
    let (vertices, edges) = (set.set.vertices(), set.set.edges());
    let (mut taken, mut taken_edges) = (Vec::new(), Vec::new());
    let mut at = slice.start;
    for _ in 0..slice.slicelength {
        let i = usize::try_from(at).or_raise()?;
        taken.extend(vertices.get(i));
        taken_edges.extend(i.checked_sub(vertices.len()).and_then(|e| edges.get(e)));
        at += slice.step;
    }
    let view = set.set.view().clone();
    Ok(set::Set::new(view, taken, taken_edges))
}

/// Whether an element is in a set.
pub fn contains(set: &Set, element: &Bound<'_, PyAny>) -> bool {
    let shares = |view| set.set.view().shares_graph(view);
    if let Ok(v) = element.cast::<Vertex>() {
        let v = &v.get().0;
        return shares(&v.view) && set.set.vertices().contains(&v.index);
    }
    let edge = element.cast::<Edge>();
    edge.is_ok_and(|e| {
        let e = &e.get().0;
        shares(&e.view) && set.set.edges().contains(&e.index)
    })
}
