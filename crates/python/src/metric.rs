//! Attributes that a user gives to the vertices of a set, and metrics over ranks.

use crate::capsule;
use crate::error::{OrRaise, raised};
use crate::set::Set;
use headwater_dataflow::set;
use headwater_graph::view::Column;
use pyo3::prelude::*;
use pyo3::types::PyList;

/// The set with an attribute more, of a list, a column of Arrow's, or what a function says of each vertex.
pub fn with_metric(set: &Set, name: &str, values: &Bound<'_, PyAny>) -> PyResult<set::Set> {
    if values.is_callable() {
        let list = PyList::empty(values.py());
        for v in set.set.vertices() {
            list.append(values.call1((set.vertex(*v),))?)?;
        }
        return with_metric(set, name, &list);
    }
    let set = &set.set;
    if let Some(column) = capsule::column(values)? {
        let rows = 0..column.len();
        let made = match column {
            Column::Number(_) => {
                let values: Vec<Option<f64>> = rows.map(|i| column.number(i)).collect();
                set.with_metric(name, &values)
            }
            Column::Text(_) => {
                let words = rows.map(|i| column.text(i).map(str::to_string));
                set.with_words(name, &words.collect::<Vec<_>>())
            }
        };
        return made.or_raise();
    }
    if let Ok(figures) = values.extract::<Vec<Option<f64>>>() {
        return set.with_metric(name, &figures).or_raise();
    }
    match values.extract::<Vec<Option<String>>>() {
        Ok(words) => set.with_words(name, &words).or_raise(),
        Err(_) => Err(raised(format!(
            "metric {name}: figures are needed, or words, one for each vertex"
        ))),
    }
}

/// For each vertex a figure for each rank.
pub fn over_ranks(set: &set::Set, metric: &str) -> PyResult<Vec<Vec<f64>>> {
    let view = set.view();
    let Some(rows) = view.rows.get(metric) else {
        let known: Vec<&str> = view.rows.keys().map(String::as_str).collect();
        let known = match known.as_slice() {
            [] => "nothing".to_string(),
            known => known.join(", "),
        };
        return Err(raised(format!(
            "{metric} is not known over ranks; {known} is"
        )));
    };
    let ranks = view.header.ranks;
    let vertices = set.vertices().iter();
    Ok(vertices.map(|v| rows.dense(*v, ranks)).collect())
}
