//! Errors as Python sees them: one exception, with the words that the command would print.

use headwater_model::printable::printable;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use std::fmt::Display;

create_exception!(
    headwater,
    Error,
    PyException,
    "What is wrong with a run, a set, a pass or a dataflow, in the words of the command line."
);

/// An error of one of the crates as an exception; names in it cannot drive a terminal.
pub fn raised(error: impl Display) -> PyErr {
    Error::new_err(printable(&error.to_string()).into_owned())
}

/// The same for a result.
pub trait OrRaise<T> {
    /// The value, or the exception.
    fn or_raise(self) -> PyResult<T>;
}

impl<T, E: Display> OrRaise<T> for Result<T, E> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(raised)
    }
}
