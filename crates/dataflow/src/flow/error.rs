//! Errors of a dataflow and of its passes; every message names the pass and the argument.

use super::Kind;
use crate::set::SetError;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// An error of the caller's own pass, which the caller gets back unchanged.
#[derive(Clone)]
pub struct OwnError {
    /// What went wrong, in words.
    pub text: String,
    /// The error.
    pub error: Arc<dyn Any + Send + Sync>,
}

impl fmt::Debug for OwnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OwnError({})", self.text)
    }
}

impl PartialEq for OwnError {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.error, &other.error)
    }
}

/// Why a pass could not do its work.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PassError {
    /// An error of a set operation.
    #[error(transparent)]
    Set(#[from] SetError),
    /// An argument that is wrong: its name, what is wrong.
    #[error("argument {0}: {1}")]
    Argument(String, String),
    /// Anything else.
    #[error("{0}")]
    Failed(String),
    /// An error of the caller's own.
    #[error("{}", .0.text)]
    Own(OwnError),
    /// The caller interrupted it.
    #[error("interrupted")]
    Interrupted,
}

/// Why a dataflow cannot run, or did not finish.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FlowError {
    /// A pass that does not exist.
    #[error("there is no pass {0}; there are {1}")]
    NoPass(String, String),
    /// An argument that nothing flows into.
    #[error("pass {0}, argument {1}: nothing is given; it needs {2}")]
    NotGiven(String, String, Kind),
    /// More arguments than the pass has.
    #[error("pass {0} takes {1} sets, tables or runs, and {2} are given")]
    TooMany(String, usize, usize),
    /// An argument of the wrong kind: pass, argument, what it needs, what it gets, from which pass.
    #[error("pass {0}, argument {1}: it needs {2} and is given {3} by {4}")]
    WrongKind(String, String, Kind, Kind, String),
    /// An output that the pass does not have.
    #[error("pass {0}, argument {1}: output number {4} of {2} is asked for; it has {3}")]
    NoSuchOutput(String, String, String, usize, usize),
    /// A parameter that the pass does not have.
    #[error("pass {0} has no parameter {1}; it has {2}")]
    NoParameter(String, String, String),
    /// A parameter of the wrong kind, or a figure out of range: pass, argument, what it needs, what it gets.
    #[error("pass {0}, argument {1}: {2} is needed, and not {3}")]
    WrongParameter(String, String, String, String),
    /// Passes that need each other.
    #[error(
        "the passes {0} go in a circle, so none can be the first; repeat a flow of its own instead"
    )]
    Cycle(String),
    /// An input that the caller did not give.
    #[error("input {0} of the dataflow {1} is not given; it needs {2}")]
    NoInput(String, String, Kind),
    /// An input of the wrong kind.
    #[error("input {0} of the dataflow {1} needs {2} and is given {3}")]
    WrongInput(String, String, Kind, Kind),
    /// An output of the dataflow that does not exist.
    #[error("the dataflow {0} has no output {1}; it has {2}")]
    NoOutput(String, String, String),
    /// A repeated flow that has no outputs, or more outputs than inputs.
    #[error(
        "the dataflow {0} cannot be repeated: it needs one output or more, and as many inputs or more, but has {1} and {2}"
    )]
    NotRepeatable(String, usize, usize),
    /// An argument without members where some are needed: pass, argument, what it needs, the pass that it comes from.
    #[error("pass {0}, argument {1}: it needs {2} with members, and the result of {3} is empty")]
    Empty(String, String, Kind, String),
    /// What is wrong with an argument: pass, argument, what.
    #[error("pass {0}, argument {1}: {2}")]
    Argument(String, String, String),
    /// A pass that failed.
    #[error("pass {0}: {1}")]
    Pass(String, PassError),
    /// A pass that returns other things than it declares.
    #[error("pass {0} returned {1} instead of {2}; this is an error in the pass")]
    Broken(String, String, String),
    /// A saved flow that cannot be read.
    #[error("the saved dataflow cannot be read: {0}")]
    Saved(String),
    /// The caller interrupted it.
    #[error("interrupted")]
    Interrupted,
}
