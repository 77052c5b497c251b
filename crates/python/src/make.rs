//! Graphs that a user makes: of dictionaries, or of Arrow tables.

use crate::capsule;
use crate::error::raised;
use crate::set::Set;
use arrow::array::RecordBatch;
use headwater_dataflow::set;
use headwater_dataflow::set::Maker;
use headwater_graph::view::{Cell, Table, View, ViewKind};
use headwater_model::run::Header;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// Attributes of one new vertex or edge.
pub type Attributes = Vec<(String, Value)>;

/// A value that an attribute has.
#[derive(Clone, Debug)]
pub enum Value {
    Number(f64),
    Text(String),
}

/// Attributes as Python has them; None is none.
pub fn attributes(dict: &Bound<'_, PyDict>) -> PyResult<Attributes> {
    let mut all = Vec::new();
    for (name, value) in dict {
        let name: String = name.extract()?;
        if value.is_none() {
            continue;
        }
        let value = match (value.extract::<f64>(), value.extract::<String>()) {
            (Ok(x), _) => Value::Number(x),
            (_, Ok(text)) => Value::Text(text),
            _ => {
                let kind = value.get_type().name()?;
                return Err(raised(format!(
                    "attribute {name} is {kind}, and a figure or a word is needed"
                )));
            }
        };
        all.push((name, value));
    }
    Ok(all)
}

fn cells(attributes: &Attributes) -> impl Iterator<Item = (&str, Cell<'_>)> {
    attributes.iter().map(|(name, value)| {
        let cell = match value {
            Value::Number(x) => Cell::Number(*x),
            Value::Text(text) => Cell::Text(text),
        };
        (name.as_str(), cell)
    })
}

/// A set of all of a new graph.
pub fn made(vertices: &[Attributes], edges: &[(u32, u32, Attributes)]) -> set::Set {
    let mut maker = Maker::new();
    for vertex in vertices {
        maker.vertex(cells(vertex));
    }
    for (src, dst, edge) in edges {
        maker.edge(*src, *dst, cells(edge));
    }
    maker.finish()
}

/// A set of all of a new graph: attributes of vertices, and edges as (source, target, attributes) by the number of the
/// vertex from 0 on.
#[pyfunction]
#[pyo3(signature = (vertices, edges = None))]
pub fn make<'py>(
    vertices: Vec<Bound<'py, PyDict>>,
    edges: Option<Vec<(u32, u32, Bound<'py, PyDict>)>>,
) -> PyResult<Set> {
    let n = vertices.len();
    let vertices: Vec<Attributes> = vertices.iter().map(attributes).collect::<PyResult<_>>()?;
    let mut all = Vec::new();
    for (src, dst, edge) in edges.unwrap_or_default() {
        if src.max(dst) as usize >= n {
            return Err(raised(format!(
                "an edge goes from {src} to {dst}, and there are {n} vertices, from 0 on"
            )));
        }
        all.push((src, dst, attributes(&edge)?));
    }
    Ok(Set::new(made(&vertices, &all), None))
}

/// Columns of a batch, without a copy where they are figures that are all finite, or words by index.
fn table(batch: &RecordBatch, without: &[&str]) -> PyResult<Table> {
    let mut table = Table::new(batch.num_rows());
    let schema = batch.schema();
    for (field, array) in schema.fields().iter().zip(batch.columns()) {
        if !without.contains(&field.name().as_str()) {
            table.set(field.name(), capsule::column_of(field.name(), array)?);
        }
    }
    Ok(table)
}

/// The ends of edges.
fn ends(batch: &RecordBatch, name: &str) -> PyResult<Vec<u32>> {
    let missing = || {
        raised(format!(
            "argument edges: there is no column {name}; edges have src and dst, numbers of vertices from 0 on"
        ))
    };
    let column = batch.column_by_name(name).ok_or_else(missing)?;
    let column = capsule::column_of(name, column)?;
    let end = |row| {
        column
            .number(row)
            .filter(|v| *v >= 0.0 && *v <= f64::from(u32::MAX) && v.fract() == 0.0)
    };
    let all: Option<Vec<u32>> = (0..column.len())
        .map(|row| Some(end(row)? as u32))
        .collect();
    all.ok_or_else(|| {
        raised(format!(
            "argument edges: column {name} has values that are no number of a vertex"
        ))
    })
}

/// A set of all of a graph given as Arrow tables (of pyarrow, polars, pandas, DuckDB …): one row for each vertex, and
/// one for each edge with its ends as `src` and `dst`, numbers of vertices from 0 on.
///
/// Columns that come in one piece are taken as they are, without a copy, where they are 64-bit floats that are all
/// finite, or words as a dictionary with 32-bit indices; others are converted, and `src` and `dst` become the graph.
///
/// With `kind` parallel or top-down the graph can take the place of a run's view; `ranks` and `wall_seconds` are then
/// those of the run, by which passes judge what counts.
#[pyfunction]
#[pyo3(signature = (vertices, edges = None, *, kind = "made", ranks = 1, wall_seconds = 0.0, name = ""))]
pub fn from_arrow(
    vertices: &Bound<'_, PyAny>,
    edges: Option<&Bound<'_, PyAny>>,
    kind: &str,
    ranks: u32,
    wall_seconds: f64,
    name: &str,
) -> PyResult<Set> {
    let kind = match kind {
        "made" => ViewKind::Made,
        "parallel" => ViewKind::Parallel,
        "top-down" => ViewKind::TopDown,
        other => {
            return Err(raised(format!(
                "argument kind: there is no {other}; there are made, parallel, top-down"
            )));
        }
    };
    let vertices = table(&capsule::batch(vertices, "vertices")?, &[])?;
    let (src, dst, edges) = match edges {
        None => (Vec::new(), Vec::new(), Table::new(0)),
        Some(edges) => {
            let batch = capsule::batch(edges, "edges")?;
            let (src, dst) = (ends(&batch, "src")?, ends(&batch, "dst")?);
            (src, dst, table(&batch, &["src", "dst"])?)
        }
    };
    let n = vertices.len();
    let made = View::made(vertices, src, dst, edges);
    let made = made.ok_or_else(|| {
        raised(format!(
            "argument edges: an edge ends at a vertex that is not there; there are {n}, from 0 on"
        ))
    })?;
    let view = View {
        kind,
        header: Arc::new(Header {
            name: name.to_string(),
            ranks,
            wall_seconds,
            ..Header::default()
        }),
        ..made
    };
    Ok(Set::whole(&Arc::new(view), None))
}
