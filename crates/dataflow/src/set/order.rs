//! Sorting, the first elements, groups and classes.

use super::{Set, SetError};
use headwater_graph::view::{Cell, Column};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::cmp::Ordering;

/// The larger first, or the smaller if `ascending`; a missing value last.
fn compared(a: f64, b: f64, ascending: bool) -> Ordering {
    match (a.is_nan(), b.is_nan()) {
        (false, false) if ascending => a.total_cmp(&b),
        (false, false) => b.total_cmp(&a),
        (a, b) => a.cmp(&b),
    }
}

impl Set {
    /// The vertices sorted by a metric, the largest first (words from A to Z); those without it come last, and equal
    /// ones stay in their order. Edges do not change.
    ///
    /// # Errors
    /// If vertices have no such attribute.
    pub fn sort_by(&self, metric: &str) -> Result<Self, SetError> {
        self.sorted(metric, false)
    }

    /// The same with the smallest first; words are also from A to Z, and missing values also last.
    ///
    /// # Errors
    /// If vertices have no such attribute.
    pub fn sort_ascending(&self, metric: &str) -> Result<Self, SetError> {
        self.sorted(metric, true)
    }

    fn sorted(&self, metric: &str, ascending: bool) -> Result<Self, SetError> {
        let column = self.column(metric)?;
        let mut order: Vec<u32> = (0..self.vertices.len() as u32).collect();
        match column {
            Column::Number(_) => {
                let value = |v: &u32| column.number(*v as usize).unwrap_or(f64::NAN);
                let values: Vec<f64> = self.vertices.par_iter().map(value).collect();
                order.par_sort_unstable_by(|a, b| {
                    compared(values[*a as usize], values[*b as usize], ascending).then(a.cmp(b))
                });
            }
            Column::Text(_) => {
                let word = |i: u32| column.text(self.vertices[i as usize] as usize);
                order.sort_by(|a, b| match (word(*a), word(*b)) {
                    (Some(a), Some(b)) => a.cmp(b),
                    (a, b) => a.is_none().cmp(&b.is_none()),
                });
            }
        }
        let vertices = order.iter().map(|i| self.vertices[*i as usize]).collect();
        Ok(self.with_elements(vertices, self.edges.to_vec()))
    }

    /// The elements in reverse order.
    pub fn reversed(&self) -> Self {
        let back = |all: &[u32]| all.iter().rev().copied().collect();
        self.with_elements(back(&self.vertices), back(&self.edges))
    }

    /// The first `n` vertices, and the first `n` edges.
    pub fn top(&self, n: usize) -> Self {
        let first = |all: &[u32]| all[..n.min(all.len())].to_vec();
        self.with_elements(first(&self.vertices), first(&self.edges))
    }

    /// Groups vertices by the value of an attribute, in the order in which values first occur. The last group, whose
    /// value is `None`, has the vertices without one.
    ///
    /// # Errors
    /// If vertices have no such attribute.
    pub fn group(&self, attribute: &str) -> Result<Vec<(Option<String>, Self)>, SetError> {
        let column = self.column(attribute)?;
        let mut index: FxHashMap<u64, usize> = FxHashMap::default();
        let mut groups: Vec<(Option<String>, Vec<u32>)> = Vec::new();
        let mut rest = Vec::new();
        for &v in self.vertices.iter() {
            // Words by their code, figures by their bits: only the first vertex of a group needs a new entry.
            let (key, word) = match (column, column.cell(v as usize)) {
                (Column::Text(w), Cell::Text(text)) => {
                    (w.code(v as usize).unwrap_or(0) as u64, text.to_string())
                }
                (_, Cell::Number(x)) => (x.to_bits(), x.to_string()),
                _ => {
                    rest.push(v);
                    continue;
                }
            };
            let next = groups.len();
            let at = *index.entry(key).or_insert(next);
            if at == next {
                groups.push((Some(word), Vec::new()));
            }
            groups[at].1.push(v);
        }
        if !rest.is_empty() {
            groups.push((None, rest));
        }
        let set = |(name, vertices)| (name, self.with_elements(vertices, Vec::new()));
        Ok(groups.into_iter().map(set).collect())
    }

    /// Groups vertices by the result of `class`, in the order in which classes first occur.
    pub fn classify<C: PartialEq>(&self, class: impl Fn(u32) -> C) -> Vec<(C, Self)> {
        let mut classes: Vec<(C, Vec<u32>)> = Vec::new();
        for &v in self.vertices.iter() {
            let of = class(v);
            match classes.iter_mut().find(|c| c.0 == of) {
                Some(known) => known.1.push(v),
                None => classes.push((of, vec![v])),
            }
        }
        let set = |(class, vertices)| (class, self.with_elements(vertices, Vec::new()));
        classes.into_iter().map(set).collect()
    }
}
