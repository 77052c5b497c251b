//! What vertices and edges have in common: they are one row of a table of a view.

use crate::error::raised;
use crate::run::Origin;
use crate::trail::Trail;
use headwater_dataflow::pass;
use headwater_dataflow::set::Set;
use headwater_graph::view::{Cell, Column, Table, View};
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// One vertex or one edge of a view.
pub struct Element {
    pub view: Arc<View>,
    pub origin: Option<Origin>,
    pub index: u32,
    /// The way that led here.
    pub trail: Trail,
}

impl Element {
    /// One of the view of a set.
    pub fn of(set: &Set, origin: Option<&Origin>, index: u32, trail: Trail) -> Self {
        Self {
            view: set.view().clone(),
            origin: origin.cloned(),
            index,
            trail,
        }
    }

    /// Its row in its table.
    pub fn row(&self) -> usize {
        self.index as usize
    }

    /// Whether two are the same of one graph.
    pub fn same(&self, other: &Self) -> bool {
        self.index == other.index && self.view.shares_graph(&other.view)
    }

    /// A hash that is the same for the same of one graph.
    pub fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (Arc::as_ptr(&self.view.graph) as usize, self.index).hash(&mut hasher);
        hasher.finish()
    }
}

/// Names of a table's attributes.
pub fn names(table: &Table) -> Vec<String> {
    table.names().into_iter().map(str::to_string).collect()
}

/// Names of the figures that a row has, without those that say where it is.
pub fn metrics(table: &Table, row: usize) -> Vec<String> {
    let known = table
        .columns()
        .filter(|(name, column)| column.number(row).is_some() && !pass::PLACES.contains(name));
    known.map(|(name, _)| name.to_string()).collect()
}

/// The attribute that a key names: a word, or Python's own `type`, which PerFlow's listings write for it.
pub fn attribute(key: &Bound<'_, PyAny>) -> PyResult<String> {
    if key.is(key.py().get_type::<PyType>()) {
        return Ok("type".to_string());
    }
    key.extract()
}

/// The column of an attribute.
pub fn column<'a>(table: &'a Table, name: &str) -> PyResult<&'a Column> {
    table.get(name).ok_or_else(|| {
        let names = table.names().join(", ");
        raised(format!("there is no attribute {name}; there are {names}"))
    })
}

/// A value of a column as Python has it: a missing figure is NaN, so that it can be calculated with, and a missing
/// word None.
pub fn value<'py>(py: Python<'py>, column: &Column, row: usize) -> PyResult<Bound<'py, PyAny>> {
    Ok(match (column.cell(row), column) {
        (Cell::Number(x), _) => x.into_pyobject(py)?.into_any(),
        (Cell::Text(text), _) => text.into_pyobject(py)?.into_any(),
        (Cell::Missing, Column::Number(_)) => f64::NAN.into_pyobject(py)?.into_any(),
        (Cell::Missing, Column::Text(_)) => py.None().into_bound(py),
    })
}
