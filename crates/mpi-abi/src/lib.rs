//! What an MPI library looks like at run time, and the one table of MPI functions.
//!
//! *Comes in*: names and what was observed of a library; *goes out*: facts. [`FUNCTIONS`] says of each
//! MPI function what kind of call it is and what its arguments mean; wrappers are generated from it
//! and the analysis asks it. [`Abi`] says how a library represents handles, statuses and constants.
//! Nothing here calls MPI or looks a symbol up.

mod abi;
mod functions;

pub use abi::{Abi, Evidence, Family, recognise};
pub use functions::{Class, FUNCTIONS, FuncId, Function, Mode, Needs, Role, by_name, id_of};
