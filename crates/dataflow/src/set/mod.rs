//! Sets: the values that flow between passes (PerFlow, sections 4.2 and 4.3.1).
//!
//! A [`Set`] is some vertices and some edges of one [`View`], in an order, each once. Operations make new sets and do
//! not change the view. Only operations that add a metric make a new view, which shares everything that did not change.
//! Sets of views with the same vertices and edges can be combined, and their metrics with them.

mod combine;
mod error;
mod eval;
mod expr;
mod glob;
mod make;
mod order;
mod reach;

pub use error::SetError;
pub use expr::Expr;
pub use glob::glob;
pub use make::Maker;
pub use reach::Direction;

use headwater_graph::view::{Cell, Column, Table, View};
use std::sync::Arc;

/// Vertices and edges of a view, in an order.
#[derive(Clone, Debug)]
pub struct Set {
    view: Arc<View>,
    vertices: Arc<[u32]>,
    edges: Arc<[u32]>,
    kinds: Kinds,
}

/// The kinds of elements of a set; a set that lost its last member remembers them.
#[derive(Clone, Copy, Debug)]
struct Kinds {
    vertices: bool,
    edges: bool,
}

impl Kinds {
    const VERTICES: Self = Self {
        vertices: true,
        edges: false,
    };
    const EDGES: Self = Self {
        vertices: false,
        edges: true,
    };

    /// The kinds of the members, or `other` if there are none.
    fn of(vertices: &[u32], edges: &[u32], other: Self) -> Self {
        let (vertices, edges) = (!vertices.is_empty(), !edges.is_empty());
        if vertices || edges {
            Self { vertices, edges }
        } else {
            other
        }
    }
}

impl Set {
    /// Makes a set of vertices and edges by their index. Indices that the view does not have and repeats are left out.
    /// An empty set is one of vertices.
    pub fn new(view: Arc<View>, vertices: Vec<u32>, edges: Vec<u32>) -> Self {
        let vertices = once(vertices, view.graph.vertices());
        let edges = once(edges, view.graph.edges());
        Self::of(&view, vertices, edges)
    }

    /// The same if the caller knows that each index exists and occurs once.
    pub(crate) fn of(view: &Arc<View>, vertices: Vec<u32>, edges: Vec<u32>) -> Self {
        Self {
            view: view.clone(),
            kinds: Kinds::of(&vertices, &edges, Kinds::VERTICES),
            vertices: vertices.into(),
            edges: edges.into(),
        }
    }

    /// All vertices of a view (`pag.V`).
    pub fn vertices_of(view: &Arc<View>) -> Self {
        Self::of(
            view,
            (0..view.graph.vertices() as u32).collect(),
            Vec::new(),
        )
    }

    /// All edges of a view (`pag.E`).
    pub fn edges_of(view: &Arc<View>) -> Self {
        Self::of(view, Vec::new(), (0..view.graph.edges() as u32).collect()).only_edges()
    }

    /// The view that the elements belong to.
    pub fn view(&self) -> &Arc<View> {
        &self.view
    }

    /// Vertices, in order.
    pub fn vertices(&self) -> &[u32] {
        &self.vertices
    }

    /// Edges, in order.
    pub fn edges(&self) -> &[u32] {
        &self.edges
    }

    /// Vertices and edges together.
    pub fn len(&self) -> usize {
        self.vertices.len() + self.edges.len()
    }

    /// Whether it has no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The vertices alone.
    pub fn only_vertices(&self) -> Self {
        Self {
            edges: Arc::from([]),
            kinds: Kinds::VERTICES,
            ..self.clone()
        }
    }

    /// The edges alone.
    pub fn only_edges(&self) -> Self {
        Self {
            vertices: Arc::from([]),
            kinds: Kinds::EDGES,
            ..self.clone()
        }
    }

    /// A set of other vertices and edges of the same view, which replace this set's.
    pub(crate) fn with_elements(&self, vertices: Vec<u32>, edges: Vec<u32>) -> Self {
        self.kept(Self::of(&self.view, vertices, edges))
    }

    /// Marks a set that was made from this set: if it is empty, it has the same kinds.
    fn kept(&self, mut made: Self) -> Self {
        made.kinds = Kinds::of(&made.vertices, &made.edges, self.kinds);
        made
    }

    /// Attributes of the vertices, in the set's order.
    pub fn vertex_table(&self) -> Table {
        self.view.vertices.take(&self.vertices)
    }

    /// Attributes of the edges, in the set's order, with the ends as `src` and `dst`.
    pub fn edge_table(&self) -> Table {
        let ends = |all: &[u32]| {
            let end = |e: &u32| all.get(*e as usize).map(|v| f64::from(*v));
            Column::numbers(self.edges.iter().map(end))
        };
        let mut table = self.view.edges.take(&self.edges);
        table.set("src", ends(self.view.graph.sources()));
        table.set("dst", ends(self.view.graph.targets()));
        table
    }

    /// An attribute of one of the view's vertices.
    pub fn cell(&self, attribute: &str, vertex: u32) -> Cell<'_> {
        self.view.vertices.cell(attribute, vertex as usize)
    }

    /// Figures of the set's vertices, in its order.
    ///
    /// # Errors
    /// If vertices have no such attribute, or it is words.
    pub fn numbers(&self, attribute: &str) -> Result<Vec<Option<f64>>, SetError> {
        let column = self.column(attribute)?;
        if let Column::Text(_) = column {
            return Err(SetError::NotFigures(attribute.to_string()));
        }
        let all = self.vertices.iter();
        Ok(all.map(|v| column.number(*v as usize)).collect())
    }

    /// A column of the view's vertices.
    ///
    /// # Errors
    /// If vertices have no such attribute.
    pub fn column(&self, attribute: &str) -> Result<&Column, SetError> {
        let column = self.view.vertices.get(attribute);
        column.ok_or_else(|| SetError::no_attribute(attribute, &self.view.vertices))
    }

    /// Whether two sets have the same elements in the same order.
    pub fn same(&self, other: &Self) -> bool {
        self.view.shares_graph(&other.view)
            && self.vertices == other.vertices
            && self.edges == other.edges
    }
}

/// Indices below `most`, each at its first position.
fn once(mut indices: Vec<u32>, most: usize) -> Vec<u32> {
    let mut seen = vec![false; most];
    indices.retain(|i| {
        seen.get_mut(*i as usize)
            .is_some_and(|seen| !std::mem::replace(seen, true))
    });
    indices
}
