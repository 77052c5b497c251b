//! Errors of operations on sets.

use headwater_graph::view::Table;

/// Why an operation on a set failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SetError {
    /// An attribute that does not exist; the second text lists those that do.
    #[error("there is no attribute {0}; there are {1}")]
    NoAttribute(String, String),
    /// Words where figures are needed.
    #[error("attribute {0} is words, and figures are needed")]
    NotFigures(String),
    /// Sets of different graphs.
    #[error("the sets are of different graphs ({0} and {1}); bring one to the other's view first")]
    OtherGraph(String, String),
    /// An expression that cannot be read: the expression, the column from 1 on, and what is wrong.
    #[error("expression \"{0}\", column {1}: {2}")]
    Expression(String, usize, String),
    /// An expression that cannot be evaluated.
    #[error("expression \"{0}\": {1}")]
    Kinds(String, String),
    /// The number of values is not the number of elements.
    #[error("metric {0} has {1} values for {2} elements")]
    Length(String, usize, usize),
}

impl SetError {
    pub(crate) fn no_attribute(name: &str, table: &Table) -> Self {
        Self::NoAttribute(name.to_string(), table.names().join(", "))
    }
}
