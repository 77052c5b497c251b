//! Union, intersection, difference and complement.

use super::{Set, SetError};
use headwater_graph::view::{Column, Table, View};
use std::sync::Arc;

/// Two tables that are combined.
struct Both<'a> {
    first: &'a Table,
    second: &'a Table,
    /// By row: `Some` if the element is in the result and in the second set; the value says whether the first set has
    /// it too.
    of_second: Vec<Option<bool>>,
}

impl<'a> Both<'a> {
    fn new(tables: [&'a Table; 2], mine: &[u32], theirs: &[u32], kept: &[u32]) -> Self {
        let [first, second] = tables;
        let (mine, theirs) = (
            membership(mine, first.len()),
            membership(theirs, first.len()),
        );
        let mut of_second = vec![None; first.len()];
        for i in kept.iter().map(|i| *i as usize).filter(|i| theirs[*i]) {
            of_second[i] = Some(mine[i]);
        }
        Self {
            first,
            second,
            of_second,
        }
    }

    /// The columns that the first table does not have, or not with these cells. The cell of an element of the result
    /// comes from the set that has it, from the first if both do; if it is missing there, from the other. For elements
    /// outside the result, and where one set has figures and the other words, it is that of the first.
    fn columns(&self) -> Vec<(&'a str, Column)> {
        let changed = |(name, theirs): (&'a str, &'a Column)| {
            let Some(mine) = self.first.get(name) else {
                return Some((name, theirs.clone()));
            };
            if mine.shares(theirs) {
                return None;
            }
            let from = |i: usize| match self.of_second.get(i) {
                Some(Some(false)) => [theirs, mine],
                Some(Some(true)) => [mine, theirs],
                _ => [mine, mine],
            };
            let rows = 0..self.first.len();
            let column = match (mine, theirs) {
                (Column::Number(_), Column::Number(_)) => {
                    Column::numbers(rows.map(|i| from(i).into_iter().find_map(|c| c.number(i))))
                }
                (Column::Text(_), Column::Text(_)) => {
                    Column::texts(rows.map(|i| from(i).into_iter().find_map(|c| c.text(i))))
                }
                _ => return None,
            };
            (column != *mine).then_some((name, column))
        };
        self.second.columns().filter_map(changed).collect()
    }
}

/// Unit of a column of the first table, or of the second if the first does not have it.
fn unit_of(first: &Table, second: &Table, name: &str) -> Option<&'static str> {
    let has = first.get(name).map_or(second, |_| first);
    has.unit(name)
}

/// A view with the attributes of both sets for the vertices and edges of the result.
fn joined(a: &Set, b: &Set, vertices: &[u32], edges: &[u32]) -> Arc<View> {
    if Arc::ptr_eq(&a.view, &b.view) {
        return a.view.clone();
    }
    let (first, second) = (&a.view, &b.view);
    let tables = [&first.vertices, &second.vertices];
    let vertices = Both::new(tables, &a.vertices, &b.vertices, vertices).columns();
    let edges = Both::new([&first.edges, &second.edges], &a.edges, &b.edges, edges).columns();
    if vertices.is_empty() && edges.is_empty() {
        return first.clone();
    }
    let mut view = View::clone(first);
    for (name, column) in vertices {
        // A column that only one view has keeps its figures over ranks; a mixed column has none.
        let rows = second.rows.get(name);
        match rows.filter(|_| first.vertices.get(name).is_none()) {
            Some(rows) => view.rows.insert(name.to_string(), rows.clone()),
            None => view.rows.remove(name),
        };
        let unit = unit_of(&first.vertices, &second.vertices, name);
        view.vertices.set_in(name, column, unit);
    }
    for (name, column) in edges {
        let unit = unit_of(&first.edges, &second.edges, name);
        view.edges.set_in(name, column, unit);
    }
    Arc::new(view)
}

/// By index up to `n`: whether it is in `indices`.
fn membership(indices: &[u32], n: usize) -> Vec<bool> {
    let mut is_member = vec![false; n];
    for i in indices {
        is_member[*i as usize] = true;
    }
    is_member
}

impl Set {
    fn with(
        &self,
        other: &Self,
        keep: impl Fn(&[u32], &[u32], usize) -> Vec<u32>,
    ) -> Result<Self, SetError> {
        if !self.view.shares_graph(&other.view) {
            let name = |s: &Self| format!("{} of {}", s.view.kind.words(), s.view.header.name);
            return Err(SetError::OtherGraph(name(self), name(other)));
        }
        let graph = &self.view.graph;
        let vertices = keep(&self.vertices, &other.vertices, graph.vertices());
        let edges = keep(&self.edges, &other.edges, graph.edges());
        let view = joined(self, other, &vertices, &edges);
        Ok(self.kept(Self::of(&view, vertices, edges)))
    }

    /// Elements of either set: this set's in its order, then those that only the other has. An element has the
    /// attributes of the set that has it. An element of both has those of this set, or those of the other where they
    /// are missing here.
    ///
    /// # Errors
    /// If the sets are of different graphs. This also applies to [`Set::intersection`] and [`Set::difference`].
    pub fn union(&self, other: &Self) -> Result<Self, SetError> {
        self.with(other, |a, b, n| {
            let mine = membership(a, n);
            let rest = b.iter().filter(|i| !mine[**i as usize]);
            a.iter().chain(rest).copied().collect()
        })
    }

    /// Elements of both, in this set's order.
    pub fn intersection(&self, other: &Self) -> Result<Self, SetError> {
        self.with(other, |a, b, n| {
            let theirs = membership(b, n);
            a.iter().copied().filter(|i| theirs[*i as usize]).collect()
        })
    }

    /// Elements that the other does not have, in this set's order.
    pub fn difference(&self, other: &Self) -> Result<Self, SetError> {
        self.with(other, |a, b, n| {
            let theirs = membership(b, n);
            a.iter().copied().filter(|i| !theirs[*i as usize]).collect()
        })
    }

    /// The view's other elements: vertices for a set of vertices, edges for a set of edges, both for a set of both. A
    /// set that lost its last member still has the kind that it had.
    pub fn complement(&self) -> Self {
        let others = |of: bool, own: &[u32], n: usize| -> Vec<u32> {
            if !of {
                return Vec::new();
            }
            let own = membership(own, n);
            (0..n as u32).filter(|i| !own[*i as usize]).collect()
        };
        let graph = &self.view.graph;
        let vertices = others(self.kinds.vertices, &self.vertices, graph.vertices());
        let edges = others(self.kinds.edges, &self.edges, graph.edges());
        self.with_elements(vertices, edges)
    }
}
