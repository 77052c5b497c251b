//! Union, intersection, difference and complement.

use super::{Set, SetError};
use headwater_graph::view::View;
use std::sync::Arc;

/// A view with the columns of both; those of the first where both have one.
fn joined(a: &Arc<View>, b: &Arc<View>) -> Arc<View> {
    if Arc::ptr_eq(a, b) {
        return a.clone();
    }
    let mut view: Option<View> = None;
    for (name, column) in b.vertices.columns() {
        if a.vertices.get(name).is_none() {
            let view = view.get_or_insert_with(|| View::clone(a));
            view.vertices.set(name, column.clone());
        }
    }
    for (name, column) in b.edges.columns() {
        if a.edges.get(name).is_none() {
            let view = view.get_or_insert_with(|| View::clone(a));
            view.edges.set(name, column.clone());
        }
    }
    view.map_or_else(|| a.clone(), Arc::new)
}

/// Which of `n` indices are held.
fn held(indices: &[u32], n: usize) -> Vec<bool> {
    let mut held = vec![false; n];
    for i in indices {
        held[*i as usize] = true;
    }
    held
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
        Ok(Self::of(&joined(&self.view, &other.view), vertices, edges))
    }

    /// Elements of either: this set's in its order, then those that only the other has.
    ///
    /// # Errors
    /// If the sets are of different graphs; so for the two below.
    pub fn union(&self, other: &Self) -> Result<Self, SetError> {
        self.with(other, |a, b, n| {
            let mine = held(a, n);
            let rest = b.iter().filter(|i| !mine[**i as usize]);
            a.iter().chain(rest).copied().collect()
        })
    }

    /// Elements of both, in this set's order.
    pub fn intersection(&self, other: &Self) -> Result<Self, SetError> {
        self.with(other, |a, b, n| {
            let theirs = held(b, n);
            a.iter().copied().filter(|i| theirs[*i as usize]).collect()
        })
    }

    /// Elements that the other does not have, in this set's order.
    pub fn difference(&self, other: &Self) -> Result<Self, SetError> {
        self.with(other, |a, b, n| {
            let theirs = held(b, n);
            a.iter().copied().filter(|i| !theirs[*i as usize]).collect()
        })
    }

    /// What the view has besides: vertices of a set of vertices, edges of a set of edges, both of both.
    pub fn complement(&self) -> Self {
        let others = |own: &[u32], n: usize| -> Vec<u32> {
            let own = held(own, n);
            (0..n as u32).filter(|i| !own[*i as usize]).collect()
        };
        let graph = &self.view.graph;
        let edges_alone = self.vertices.is_empty() && !self.edges.is_empty();
        let vertices = if edges_alone {
            Vec::new()
        } else {
            others(&self.vertices, graph.vertices())
        };
        let edges = if self.edges.is_empty() {
            Vec::new()
        } else {
            others(&self.edges, graph.edges())
        };
        self.with_elements(vertices, edges)
    }
}
