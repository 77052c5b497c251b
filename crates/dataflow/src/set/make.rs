//! New metrics, vertices and edges (PerFlow, section 4.3.1: graph operations).

use super::{Expr, Set, SetError};
use headwater_graph::view::{Cell, Column, Table, View, unit};
use std::sync::Arc;

impl Set {
    /// Adds a metric: values for the set's vertices, in its order. Vertices outside the set have none, or keep their
    /// value of that name.
    ///
    /// # Errors
    /// If the number of values is not the number of vertices.
    pub fn with_metric(&self, name: &str, values: &[Option<f64>]) -> Result<Self, SetError> {
        self.with_metric_in(name, values, unit(name))
    }

    /// The same for a metric that was computed from another one, whose unit it has.
    ///
    /// # Errors
    /// As [`Set::with_metric`].
    pub fn with_metric_like(
        &self,
        name: &str,
        other: &str,
        values: &[Option<f64>],
    ) -> Result<Self, SetError> {
        self.with_metric_in(name, values, self.view.vertices.unit(other))
    }

    fn with_metric_in(
        &self,
        name: &str,
        values: &[Option<f64>],
        unit: Option<&'static str>,
    ) -> Result<Self, SetError> {
        self.fits(name, values.len())?;
        let old = self.view.vertices.get(name);
        let n = self.view.graph.vertices();
        let mut all: Vec<Option<f64>> = match old {
            Some(column) => (0..n).map(|v| column.number(v)).collect(),
            None => vec![None; n],
        };
        for (v, value) in self.vertices.iter().zip(values) {
            all[*v as usize] = *value;
        }
        Ok(self.with_column(name, Column::numbers(all), unit))
    }

    /// The same with words.
    ///
    /// # Errors
    /// If the number of words is not the number of vertices.
    pub fn with_words(&self, name: &str, words: &[Option<String>]) -> Result<Self, SetError> {
        self.fits(name, words.len())?;
        let n = self.view.graph.vertices();
        let mut all: Vec<Option<&str>> = match self.view.vertices.get(name) {
            Some(column) => (0..n).map(|v| column.text(v)).collect(),
            None => vec![None; n],
        };
        for (v, word) in self.vertices.iter().zip(words) {
            all[*v as usize] = word.as_deref();
        }
        Ok(self.with_column(name, Column::texts(all), None))
    }

    fn fits(&self, name: &str, values: usize) -> Result<(), SetError> {
        let n = self.vertices.len();
        if values == n {
            return Ok(());
        }
        Err(SetError::Length(name.to_string(), values, n))
    }

    /// The same set on a view with one more column; the column has a row for each vertex of the view.
    fn with_column(&self, name: &str, column: Column, unit: Option<&'static str>) -> Self {
        let mut view = View::clone(&self.view);
        view.vertices.set_in(name, column, unit);
        // Rows over ranks belong to the metric that had this name before.
        view.rows.remove(name);
        Self {
            view: Arc::new(view),
            ..self.clone()
        }
    }

    /// Adds a metric that is computed from others: `set.derive("waiting", "wait / mpi")`.
    ///
    /// # Errors
    /// If the expression cannot be read, names an attribute that does not exist, or is not a figure.
    pub fn derive(&self, name: &str, expression: &str) -> Result<Self, SetError> {
        let values = Expr::parse(expression)?.numbers(&self.view.vertices, &self.vertices)?;
        let values: Vec<Option<f64>> = values
            .into_iter()
            .map(|v| Some(v).filter(|v| v.is_finite()))
            .collect();
        self.with_metric(name, &values)
    }

    /// Elements for which an expression holds, in order: `time > 0.1 and name ~ "MPI_*"`. It is evaluated for vertices
    /// with their attributes and for edges with theirs; if a kind of element does not have one of the attributes, the
    /// expression holds for none of that kind.
    ///
    /// # Errors
    /// If the expression cannot be read, or names an attribute that no element of the set can have.
    pub fn filter(&self, expression: &Expr) -> Result<Self, SetError> {
        let keep = |table: &Table, indices: &[u32]| -> Result<Vec<u32>, SetError> {
            let holds = expression.holds(table, indices)?;
            let kept = indices.iter().zip(holds).filter(|(_, h)| *h);
            Ok(kept.map(|(i, _)| *i).collect())
        };
        let vertices = keep(&self.view.vertices, &self.vertices);
        if !self.kinds.edges {
            return Ok(self.with_elements(vertices?, Vec::new()));
        }
        let edges = keep(&self.view.edges, &self.edges);
        if !self.kinds.vertices {
            return Ok(self.with_elements(Vec::new(), edges?));
        }
        match (vertices, edges) {
            (Err(e), Err(_)) => Err(e),
            (v, e) => Ok(self.with_elements(v.unwrap_or_default(), e.unwrap_or_default())),
        }
    }
}

/// A graph in the making: vertices and edges with attributes that are added one by one.
#[derive(Clone, Debug, Default)]
pub struct Maker {
    vertices: Vec<Attributes>,
    edges: Vec<(u32, u32, Attributes)>,
}

type Attributes = Vec<(String, Owned)>;

#[derive(Clone, Debug)]
enum Owned {
    Number(f64),
    Text(String),
}

fn owned<'a>(attributes: impl IntoIterator<Item = (&'a str, Cell<'a>)>) -> Attributes {
    let own = |(name, cell): (&str, Cell<'_>)| {
        let value = match cell {
            Cell::Missing => return None,
            Cell::Number(x) => Owned::Number(x),
            Cell::Text(t) => Owned::Text(t.to_string()),
        };
        Some((name.to_string(), value))
    };
    attributes.into_iter().filter_map(own).collect()
}

fn table<'a>(rows: impl Iterator<Item = &'a Attributes> + Clone) -> Table {
    let mut names: Vec<(&str, bool)> = Vec::new();
    for (name, value) in rows.clone().flatten() {
        if !names.iter().any(|n| n.0 == name) {
            names.push((name, matches!(value, Owned::Text(_))));
        }
    }
    let mut out = Table::new(rows.clone().count());
    for (name, text) in names {
        let value = |row: &'a Attributes| {
            let found = row.iter().rev().find(|a| a.0 == name);
            found.map(|a| &a.1)
        };
        let column = if text {
            Column::texts(rows.clone().map(|r| match value(r) {
                Some(Owned::Text(t)) => Some(t.clone()),
                Some(Owned::Number(x)) => Some(x.to_string()),
                None => None,
            }))
        } else {
            Column::numbers(rows.clone().map(|r| match value(r) {
                Some(Owned::Number(x)) => Some(*x),
                _ => None,
            }))
        };
        out.set(name, column);
    }
    out
}

impl Maker {
    /// A graph without vertices.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a vertex with attributes, and returns its index. The kind of an attribute is that of its first value.
    pub fn vertex<'a>(&mut self, attributes: impl IntoIterator<Item = (&'a str, Cell<'a>)>) -> u32 {
        self.vertices.push(owned(attributes));
        self.vertices.len() as u32 - 1
    }

    /// Adds an edge; an edge to a vertex that does not exist is ignored.
    pub fn edge<'a>(
        &mut self,
        src: u32,
        dst: u32,
        attributes: impl IntoIterator<Item = (&'a str, Cell<'a>)>,
    ) {
        if (src.max(dst) as usize) < self.vertices.len() {
            self.edges.push((src, dst, owned(attributes)));
        }
    }

    /// The graph, as a set of all its elements.
    pub fn finish(&self) -> Set {
        let vertices = table(self.vertices.iter());
        let edges = table(self.edges.iter().map(|e| &e.2));
        let src: Vec<u32> = self.edges.iter().map(|e| e.0).collect();
        let dst = self.edges.iter().map(|e| e.1).collect();
        let n = (self.vertices.len() as u32, src.len() as u32);
        // Ends are checked when an edge is added.
        let view = Arc::new(View::made(vertices, src, dst, edges).unwrap_or_default());
        Set::new(view, (0..n.0).collect(), (0..n.1).collect())
    }
}
