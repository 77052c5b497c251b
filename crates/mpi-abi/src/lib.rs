//! What an MPI library looks like at run time, and the one table of MPI functions.
//!
//! *Comes in*: names and what was observed of a library; *goes out*: facts. [`FUNCTIONS`] says of each
//! MPI function what kind of call it is and what its arguments mean; wrappers are generated from it
//! and the analysis asks it. [`fields`] says which parameters of a call
//! a trace has. [`Abi`] says how a library represents handles, statuses and constants.
//! Nothing here calls MPI or looks a symbol up.

mod abi;
pub mod constants;
mod fields;
mod functions;
mod histograms;
mod libraries;
mod predefined;
mod replayable;

pub use abi::{Abi, Evidence, Family, recognise};
pub use fields::{Field, Form, Kind, Length, MOST_FIELDS, fields};
pub use functions::{Class, FUNCTIONS, FuncId, Function, Mode, Needs, Role, by_name, id_of};
pub use histograms::may_be_histograms;
pub use libraries::is_library;
pub use predefined::{FIRST_MADE, FIRST_MADE_COMM, Native, PREDEFINED, Predefined, predefined};
pub use replayable::{is_callback, may_be_left_out, replayable};
