//! One run as a flat attributed graph: numbered vertices and edges with columns (PerFlow, section 3).
//!
//! Sets are sets of vertices and edges of a [`View`]. Vertices and edges are tables, and the ends of edges are two
//! arrays. Figures over ranks stay available as rows ([`View::rows`]); data that belong to neither a vertex nor an edge
//! are in tables beside the graph. Views are shared and never change. A new metric makes a new view that shares the
//! rest. Elements of both views can be combined, because they have the same [`Adjacency`].

mod adjacency;
mod column;
mod extrapolate;
mod holders;
mod known;
mod parallel;
mod starts;
mod top_down;
mod waits;

pub use adjacency::Adjacency;
pub use column::{Cell, Column, Table, Words};
pub use known::{EdgeKind, EdgeType, unit};
pub use parallel::parallel;
pub use top_down::top_down;
pub use waits::{At, Waiting, waits};

use crate::columns::RankRows;
use headwater_model::run::Header;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the vertices of a view represent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ViewKind {
    /// Places in the program, summed up over ranks.
    TopDown,
    /// Places on single ranks or threads.
    Parallel,
    /// What an analysis made.
    #[default]
    Made,
}

impl ViewKind {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::TopDown => "top-down view",
            Self::Parallel => "parallel view",
            Self::Made => "made view",
        }
    }
}

/// A graph with attributes. See [`top_down`] and [`parallel`] for the columns.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// What the vertices are.
    pub kind: ViewKind,
    /// The run that it shows.
    pub header: Arc<Header>,
    /// Which vertices the edges join.
    pub graph: Arc<Adjacency>,
    /// Attributes of vertices.
    pub vertices: Table,
    /// Attributes of edges.
    pub edges: Table,
    /// Metrics over ranks, by vertex; a vertex of the parallel view is on one rank and has none.
    pub rows: BTreeMap<String, Arc<RankRows>>,
    /// Data of neither a vertex nor an edge: `ranks`; in a top-down view also `sizes` and `peers`; in a parallel view
    /// also `places` and `unheld`, which has waiting without a known rank or thread that was waited for.
    pub tables: BTreeMap<&'static str, Arc<Table>>,
}

impl View {
    /// A view of vertices and edges with given attributes; `None` if an edge ends at a vertex that is not there, or if
    /// the tables of ends and attributes of edges differ in length.
    pub fn made(vertices: Table, src: Vec<u32>, dst: Vec<u32>, edges: Table) -> Option<Self> {
        let whole = src.len() == edges.len();
        let graph = Adjacency::new(vertices.len(), src, dst).filter(|_| whole)?;
        Some(Self {
            graph: Arc::new(graph),
            vertices,
            edges,
            ..Self::default()
        })
    }

    /// Whether both have the same vertices and edges, so that their elements can be combined.
    pub fn shares_graph(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.graph, &other.graph)
    }

    /// A table beside the graph, by its name.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.get(name).map(|t| &**t)
    }
}
