//! The module `headwater._headwater`: what Python needs of the crates, as classes and functions.
//!
//! *Comes in*: directories of recorded runs, Arrow tables, and Python's own functions as passes. *Goes out*: sets,
//! flows and reports. Passes and paradigms are those of the tables in `headwater-diagnosis`: this crate knows none of them
//! by name. The package around it, in `python/headwater`, makes functions with docstrings of what [`passes`] lists.
//!
//! All that takes time runs detached from the interpreter (`work`), so that other threads of Python go on and
//! an interrupt is seen. Errors are `headwater.Error` with the command's words. `unsafe` is in `capsule` alone.

mod algorithm;
mod capsule;
mod choose;
mod diagnosis;
mod edge;
mod element;
mod error;
mod export;
mod finding;
mod flow;
mod frame;
mod function;
mod items;
mod make;
mod metric;
mod pairs;
mod paradigm;
mod passes;
mod run;
mod set;
mod table;
mod trail;
mod value;
mod vertex;
mod wanted;
mod work;

use pyo3::prelude::*;

/// Sets, passes and dataflows at Rust's speed; the package `headwater` is what to import.
#[pymodule(gil_used = true)]
mod _headwater {
    #[pymodule_export]
    use super::algorithm::{lowest_common_ancestor, subgraph_matching};
    #[pymodule_export]
    use super::diagnosis::{Diagnosis, diagnose};
    #[pymodule_export]
    use super::edge::Edge;
    #[pymodule_export]
    use super::error::Error;
    #[pymodule_export]
    use super::export::{export, formats};
    #[pymodule_export]
    use super::finding::Finding;
    #[pymodule_export]
    use super::flow::Flow;
    #[pymodule_export]
    use super::make::{from_arrow, make};
    #[pymodule_export]
    use super::pairs::{Pairs, pairs};
    #[pymodule_export]
    use super::paradigm::{Report, analyse, paradigm_flow, paradigms};
    #[pymodule_export]
    use super::passes::{collectives, edge_words, passes, run_pass, unit};
    #[pymodule_export]
    use super::run::{Run, open_runs};
    #[pymodule_export]
    use super::set::Set;
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::value::kind_words;
    #[pymodule_export]
    use super::vertex::Vertex;
    #[pymodule_export]
    use super::wanted::gather;

    /// The version of this package.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
