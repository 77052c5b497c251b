//! The values that flow between passes, and their kinds.

use super::{Finding, Stage, StageResult};
use crate::run::Recorded;
use crate::set::Set;
use headwater_graph::view::ViewKind;
use headwater_model::report::Section;
use std::fmt;
use std::sync::Arc;

/// A value that flows from one pass to others. Copies share their contents.
#[derive(Clone, Debug)]
pub enum Value {
    /// A recorded run.
    Run(Recorded),
    /// Vertices and edges.
    Set(Set),
    /// A table for people.
    Section(Arc<Section>),
    /// A stage of a larger analysis.
    Finding(Finding),
}

/// Of which view a set is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Of {
    /// Any view.
    Any,
    /// This one.
    View(ViewKind),
}

/// The kind of an argument or output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A recorded run.
    Run,
    /// A set.
    Set(Of),
    /// A table for people.
    Section,
    /// A stage of a larger analysis.
    Finding(Stage),
}

impl Kind {
    /// A set of any view.
    pub const SET: Self = Self::Set(Of::Any);
    /// A set of a top-down view.
    pub const TOP_DOWN: Self = Self::Set(Of::View(ViewKind::TopDown));
    /// A set of a parallel view.
    pub const PARALLEL: Self = Self::Set(Of::View(ViewKind::Parallel));
    /// A set of a view that an analysis made.
    pub const MADE: Self = Self::Set(Of::View(ViewKind::Made));

    /// Whether a value of kind `given` fits here, as far as that is known before running.
    pub fn takes(self, given: Self) -> bool {
        match (self, given) {
            (Self::Set(a), Self::Set(b)) => a == b || a == Of::Any || b == Of::Any,
            (a, b) => a == b,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run => write!(f, "a run"),
            Self::Set(Of::Any) => write!(f, "a set"),
            Self::Set(Of::View(view)) => write!(f, "a set of a {}", view.words()),
            Self::Section => write!(f, "a table"),
            Self::Finding(stage) => write!(f, "{stage}"),
        }
    }
}

/// `1 cause`, `2 causes`.
pub fn counted(n: usize, one: &str, more: &str) -> String {
    let what = if n == 1 { one } else { more };
    format!("{n} {what}")
}

impl Value {
    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Run(_) => Kind::Run,
            Self::Set(set) => Kind::Set(Of::View(set.view().kind)),
            Self::Section(_) => Kind::Section,
            Self::Finding(finding) => Kind::Finding(finding.stage()),
        }
    }

    /// Whether both are the same elements of the same graph with equal metrics, the same run or finding, or equal
    /// tables.
    pub fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Run(a), Self::Run(b)) => a.digest() == b.digest(),
            (Self::Set(a), Self::Set(b)) => {
                let (x, y) = (a.view(), b.view());
                let alike = || x.vertices == y.vertices && x.edges == y.edges;
                a.same(b) && (Arc::ptr_eq(x, y) || alike())
            }
            (Self::Section(a), Self::Section(b)) => a == b,
            (Self::Finding(a), Self::Finding(b)) => a.number() == b.number(),
            _ => false,
        }
    }

    /// What it has, for people: `16 vertices`, `3 candidates`.
    pub fn words(&self) -> String {
        match self {
            Self::Run(run) => {
                let header = &run.run().header;
                let ranks = counted(header.ranks as usize, "rank", "ranks");
                format!("{}, {ranks}", header.name)
            }
            Self::Set(set) => {
                let vertices = counted(set.vertices().len(), "vertex", "vertices");
                match set.edges().len() {
                    0 => vertices,
                    n => format!("{vertices}, {}", counted(n, "edge", "edges")),
                }
            }
            Self::Section(section) => counted(section.rows.len(), "row", "rows"),
            Self::Finding(finding) => match finding.words() {
                "" => finding.stage().to_string(),
                words => words.to_string(),
            },
        }
    }

    /// The set, if it is one.
    pub fn set(&self) -> Option<&Set> {
        match self {
            Self::Set(set) => Some(set),
            _ => None,
        }
    }

    /// The table, if it is one.
    pub fn section(&self) -> Option<&Arc<Section>> {
        match self {
            Self::Section(section) => Some(section),
            _ => None,
        }
    }

    /// What was found, if it is of this type.
    pub fn found<T: StageResult>(&self) -> Option<&T> {
        match self {
            Self::Finding(finding) => finding.get(),
            _ => None,
        }
    }
}

impl From<Finding> for Value {
    fn from(finding: Finding) -> Self {
        Self::Finding(finding)
    }
}

impl From<Set> for Value {
    fn from(set: Set) -> Self {
        Self::Set(set)
    }
}

impl From<Section> for Value {
    fn from(section: Section) -> Self {
        Self::Section(Arc::new(section))
    }
}

impl From<Recorded> for Value {
    fn from(run: Recorded) -> Self {
        Self::Run(run)
    }
}
