//! A top-down view as profiles use it: which vertices are places of their own, and which of them owns the time of each
//! other vertex.

use crate::set::Set;
use headwater_graph::view::Cell;
use headwater_model::report::Item;

/// What a vertex is to a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A function, or an inlined copy of one.
    Function,
    /// A loop: a place of its own in a tree.
    Loop,
    /// A call whose code was not analysed.
    Leaf,
    /// Anything else: its time belongs to what encloses it.
    Part,
}

fn role(kind: &str) -> Role {
    match kind {
        "function" | "inlined" => Role::Function,
        "loop" | "irreducible-loop" => Role::Loop,
        "mpi-call" | "external-call" | "thread-call" | "lock-call" => Role::Leaf,
        _ => Role::Part,
    }
}

/// A top-down view with what a profile needs, by vertex. Vertices outside of the set have no figures.
pub(super) struct Tree<'a> {
    set: &'a Set,
    pub role: Vec<Role>,
    pub parent: Vec<Option<usize>>,
    /// Own seconds.
    pub time: Vec<f64>,
    /// Seconds of all vertices.
    pub whole: f64,
}

impl<'a> Tree<'a> {
    pub fn new(set: &'a Set) -> Self {
        let all = || 0..set.view().vertices.len() as u32;
        let parent = |v: u32| match set.cell("parent", v) {
            // Parents come before their children; one that does not is ignored.
            Cell::Number(p) if (0.0..f64::from(v)).contains(&p) => Some(p as usize),
            _ => None,
        };
        let role = |v| match set.cell("type", v) {
            Cell::Text(kind) => role(kind),
            _ => Role::Part,
        };
        let mut out = Self {
            role: all().map(role).collect(),
            parent: all().map(parent).collect(),
            whole: 0.0,
            time: Vec::new(),
            set,
        };
        out.time = out.figures("time");
        out.whole = out.time.iter().sum();
        out
    }

    /// A metric of each vertex; 0 where it was not measured.
    pub fn figures(&self, metric: &str) -> Vec<f64> {
        let mut out = vec![0.0; self.parent.len()];
        for &v in self.set.vertices() {
            if let (Some(slot), Cell::Number(x)) =
                (out.get_mut(v as usize), self.set.cell(metric, v))
            {
                *slot = x;
            }
        }
        out
    }

    pub fn set(&self) -> &Set {
        self.set
    }

    pub fn text(&self, name: &str, v: usize) -> Option<String> {
        match self.set.cell(name, v as u32) {
            Cell::Text(text) => Some(text.to_string()),
            _ => None,
        }
    }

    /// The vertex itself and those that enclose it, innermost first.
    pub fn outwards(&self, v: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(Some(v), |v| self.parent[*v])
    }

    /// The function or call that owns the vertex's time.
    pub fn owner(&self, v: usize) -> usize {
        let is_owner = |v: &usize| matches!(self.role[*v], Role::Function | Role::Leaf);
        self.outwards(v).find(is_owner).unwrap_or(v)
    }

    /// Adds the figures of each vertex to those of the vertices around it.
    pub fn inclusive(&self, mut figures: Vec<f64>) -> Vec<f64> {
        for v in (0..figures.len()).rev() {
            if let Some(parent) = self.parent[v] {
                figures[parent] += figures[v];
            }
        }
        figures
    }

    /// A part of all time.
    pub fn share(&self, seconds: f64) -> Item {
        Item::from((self.whole > 0.0).then(|| seconds / self.whole))
    }
}

/// A tree for tests.
#[cfg(test)]
pub(super) mod made {
    use headwater_graph::view::{Column, Table, View, ViewKind};
    use std::sync::Arc;

    /// The program: `main` calls `solve`, which calls itself, and `MPI_Barrier`.
    pub fn view() -> Arc<View> {
        type Row = (&'static str, &'static str, Option<f64>, f64, f64);
        let rows: [Row; 9] = [
            ("function", "the program", None, 0.0, 0.0),
            ("function", "main", Some(0.0), 1.0, 0.0),
            ("loop", "main", Some(1.0), 2.0, 0.0),
            ("call", "solve", Some(2.0), 0.0, 0.0),
            ("function", "solve", Some(3.0), 3.0, 0.0),
            ("function", "solve", Some(4.0), 4.0, 0.0),
            ("branch", "solve", Some(5.0), 0.5, 0.0),
            ("mpi-call", "MPI_Barrier", Some(1.0), 9.0, 9.0),
            ("mpi-call", "MPI_Barrier", Some(2.0), 0.001, 0.001),
        ];
        let lines = || Column::known((0..9).map(f64::from).collect());
        let vertices = Table::new(rows.len())
            .with("type", Column::texts(rows.iter().map(|r| Some(r.0))))
            .with("name", Column::texts(rows.iter().map(|r| Some(r.1))))
            .with("parent", Column::numbers(rows.iter().map(|r| r.2)))
            .with("time", Column::known(rows.iter().map(|r| r.3).collect()))
            .with("mpi", Column::known(rows.iter().map(|r| r.4).collect()))
            .with("file", Column::texts(rows.iter().map(|_| Some("/a/b.c"))))
            .with("line", lines())
            .with("first_line", lines());
        let mut view = View::made(vertices, vec![], vec![], Table::new(0)).expect("a graph");
        view.kind = ViewKind::TopDown;
        Arc::new(view)
    }
}
