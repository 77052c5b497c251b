//! Leads from vertices to their edges and neighbours, and from edges to their ends.

use super::{Set, SetError};

/// Which edges of a vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Edges that enter it.
    In,
    /// Edges that leave it.
    Out,
    /// All.
    Both,
}

impl Set {
    /// Edges of the set's vertices, by vertex and then index. With `kind`, only those whose `type` or `kind`
    /// is that word.
    ///
    /// # Errors
    /// If a kind is given, but edges of this view have no kinds.
    pub fn incident(&self, direction: Direction, kind: Option<&str>) -> Result<Self, SetError> {
        let graph = &self.view.graph;
        let wanted = self.kind_test(kind)?;
        let mut seen = vec![false; graph.edges()];
        let mut edges = Vec::new();
        for &v in self.vertices.iter() {
            let (into, out) = match direction {
                Direction::In => (graph.in_edges(v), &[][..]),
                Direction::Out => (&[][..], graph.out_edges(v)),
                Direction::Both => (graph.in_edges(v), graph.out_edges(v)),
            };
            for &e in into.iter().chain(out) {
                if wanted(e) && !std::mem::replace(&mut seen[e as usize], true) {
                    edges.push(e);
                }
            }
        }
        Ok(self.with_elements(Vec::new(), edges).only_edges())
    }

    /// Whether an edge is of a kind.
    fn kind_test<'a>(
        &'a self,
        kind: Option<&'a str>,
    ) -> Result<impl Fn(u32) -> bool + 'a, SetError> {
        let table = &self.view.edges;
        let columns = [table.get("type"), table.get("kind")];
        if kind.is_some() && columns.iter().all(Option::is_none) {
            return Err(SetError::no_attribute("kind", table));
        }
        Ok(move |e: u32| {
            kind.is_none_or(|kind| {
                let mut known = columns.iter().flatten();
                known.any(|c| c.text(e as usize) == Some(kind))
            })
        })
    }

    /// Edges that enter the set's vertices.
    ///
    /// # Errors
    /// See [`Set::incident`].
    pub fn in_edges(&self, kind: Option<&str>) -> Result<Self, SetError> {
        self.incident(Direction::In, kind)
    }

    /// Edges that leave the set's vertices.
    ///
    /// # Errors
    /// See [`Set::incident`].
    pub fn out_edges(&self, kind: Option<&str>) -> Result<Self, SetError> {
        self.incident(Direction::Out, kind)
    }

    /// Vertices at the other ends of the set's vertices' edges.
    ///
    /// # Errors
    /// See [`Set::incident`].
    pub fn neighbours(&self, direction: Direction, kind: Option<&str>) -> Result<Self, SetError> {
        let into = match direction {
            Direction::Out => Vec::new(),
            _ => self.in_edges(kind)?.sources().vertices().to_vec(),
        };
        let out = match direction {
            Direction::In => Vec::new(),
            _ => self.out_edges(kind)?.targets().vertices().to_vec(),
        };
        Ok(Self::new(
            self.view.clone(),
            [into, out].concat(),
            Vec::new(),
        ))
    }

    fn ends(&self, all: &[u32]) -> Self {
        let ends = self.edges.iter().map(|e| all[*e as usize]).collect();
        Self::new(self.view.clone(), ends, Vec::new())
    }

    /// Where the set's edges begin.
    pub fn sources(&self) -> Self {
        self.ends(self.view.graph.sources())
    }

    /// Where the set's edges end.
    pub fn targets(&self) -> Self {
        self.ends(self.view.graph.targets())
    }
}
