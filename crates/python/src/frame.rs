//! Sets and tables as Arrow: columns are shared wherever they are what is wanted.

use crate::error::OrRaise;
use arrow::array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow::datatypes::{Field, Schema};
use headwater_dataflow::set::Set;
use headwater_graph::view::{Column, Table};
use headwater_model::report::{Item, Section, Unit};
use pyo3::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

/// Attributes of a set's vertices, or of its edges; those of a whole view are the view's own.
pub fn table_of(set: &Set, edges: bool) -> Table {
    let view = set.view();
    let whole = |elements: &[u32], n: usize| {
        elements.len() == n && elements.iter().zip(0..).all(|(e, i)| *e == i)
    };
    if !edges {
        return match whole(set.vertices(), view.graph.vertices()) {
            true => view.vertices.clone(),
            false => set.vertex_table(),
        };
    }
    if !whole(set.edges(), view.graph.edges()) {
        return set.edge_table();
    }
    let ends = |all: &[u32]| Column::known(all.iter().map(|v| f64::from(*v)).collect());
    let table = view.edges.clone().with("src", ends(view.graph.sources()));
    table.with("dst", ends(view.graph.targets()))
}

fn field(name: &str, array: &ArrayRef, unit: Option<&str>) -> Field {
    let field = Field::new(name, array.data_type().clone(), true);
    match unit {
        Some(unit) => field.with_metadata(HashMap::from([("unit".to_string(), unit.to_string())])),
        None => field,
    }
}

fn joined(fields: Vec<Field>, columns: Vec<ArrayRef>, rows: usize) -> PyResult<RecordBatch> {
    let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options).or_raise()
}

/// A table of attributes; the unit of a field is in its metadata.
pub fn batch(table: &Table) -> PyResult<RecordBatch> {
    let columns = table.columns().map(|(name, column)| {
        let array = column.array();
        (field(name, &array, table.unit(name)), array)
    });
    let (fields, arrays) = columns.unzip();
    joined(fields, arrays, table.len())
}

/// A table for people.
pub fn section_batch(section: &Section) -> PyResult<RecordBatch> {
    let columns = section.columns.iter().map(|heading| {
        let items = section.column(&heading.name).unwrap_or_default();
        let words = items.iter().any(|i| matches!(i, Item::Text(_)));
        let array: ArrayRef = if words {
            let word = |item: &&Item| match item {
                Item::Text(text) => Some(text.clone()),
                Item::Number(x) => Some(x.to_string()),
                Item::Missing => None,
            };
            Arc::new(items.iter().map(word).collect::<StringArray>())
        } else {
            let figure = |item: &&Item| match item {
                Item::Number(x) => Some(*x),
                _ => None,
            };
            Arc::new(items.iter().map(figure).collect::<Float64Array>())
        };
        let unit = match heading.unit {
            Unit::Seconds => Some("s"),
            Unit::Bytes => Some("B"),
            Unit::Count => Some("1"),
            Unit::None | Unit::Share | Unit::Ratio => None,
        };
        (field(&heading.name, &array, unit), array)
    });
    let (fields, arrays) = columns.unzip();
    joined(fields, arrays, section.rows.len())
}
