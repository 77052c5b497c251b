//! Pairs of vertices of two sets, which are made one by one.

use crate::run::Origin;
use crate::vertex::Vertex;
use crate::wanted::set_of;
use headwater_dataflow::pass::same_places;
use headwater_dataflow::set;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Which vertices go together.
enum Which {
    /// Each of the first set with each of the second.
    Each,
    /// These.
    Those(Vec<(u32, u32)>),
}

/// Pairs of vertices of two sets: a sequence that has a length and a first one, and that can be gone over again. Each
/// pair is made when its turn comes.
#[pyclass(frozen, module = "headwater", sequence)]
pub struct Pairs {
    first: (set::Set, Option<Origin>),
    second: (set::Set, Option<Origin>),
    which: Which,
}

impl Pairs {
    fn pair(&self, at: usize) -> Option<(Vertex, Vertex)> {
        let (v, w) = match &self.which {
            Which::Those(pairs) => pairs.get(at).copied()?,
            Which::Each => {
                let n = self.second.0.vertices().len();
                let v = self.first.0.vertices().get(at.checked_div(n)?)?;
                (*v, *self.second.0.vertices().get(at % n)?)
            }
        };
        let vertex = |of: &(set::Set, Option<Origin>), v| Vertex::of(&of.0, of.1.as_ref(), v);
        Some((vertex(&self.first, v), vertex(&self.second, w)))
    }
}

#[pymethods]
impl Pairs {
    fn __len__(&self) -> usize {
        match &self.which {
            Which::Those(pairs) => pairs.len(),
            Which::Each => {
                let (n, m) = (
                    self.first.0.vertices().len(),
                    self.second.0.vertices().len(),
                );
                n.saturating_mul(m)
            }
        }
    }

    fn __iter__(this: Py<Self>) -> EachPair {
        let next = AtomicUsize::new(0);
        EachPair { of: this, next }
    }

    /// A pair by its number.
    fn __getitem__(&self, at: isize) -> PyResult<(Vertex, Vertex)> {
        let at = if at < 0 {
            at.saturating_add_unsigned(self.__len__())
        } else {
            at
        };
        let pair = usize::try_from(at).ok().and_then(|at| self.pair(at));
        pair.ok_or_else(|| PyIndexError::new_err("there are fewer pairs"))
    }

    fn __repr__(&self) -> String {
        format!("<Pairs: {}>", self.__len__())
    }
}

/// Goes over pairs.
#[pyclass(frozen, module = "headwater")]
pub struct EachPair {
    of: Py<Pairs>,
    next: AtomicUsize,
}

#[pymethods]
impl EachPair {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self) -> Option<(Vertex, Vertex)> {
        self.of
            .get()
            .pair(self.next.fetch_add(1, Ordering::Relaxed))
    }
}

/// Pairs of vertices of two sets: of two runs, those that are the same place; of one graph, each with each.
///
/// They are made one by one, so that also those of large sets take no room.
#[pyfunction]
pub fn pairs(first: &Bound<'_, PyAny>, second: &Bound<'_, PyAny>) -> PyResult<Pairs> {
    let (first, second) = (set_of(first, "first")?, set_of(second, "second")?);
    let (a, b) = (&first.0, &second.0);
    let which = if a.view().shares_graph(b.view()) {
        Which::Each
    } else {
        let same = same_places(b.view(), a.view());
        let mut in_set = vec![false; b.view().graph.vertices()];
        b.vertices().iter().for_each(|v| in_set[*v as usize] = true);
        let place = |v: &u32| {
            let other = same.get(*v as usize).copied().flatten();
            other.filter(|w| in_set[*w as usize]).map(|w| (*v, w))
        };
        Which::Those(a.vertices().iter().filter_map(place).collect())
    };
    Ok(Pairs {
        first,
        second,
        which,
    })
}
