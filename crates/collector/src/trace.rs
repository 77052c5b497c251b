//! Whole-run traces: every call of MPI with all its parameters, compressed while the program runs (the crate `trace`).
//!
//! A trace is recorded if the environment variable `HEADWATER_TRACE` is set.

mod calls;
mod gate;
pub mod keeper;
pub mod kept;
#[cfg(feature = "plain-log")]
mod plain_log;
mod process;
mod tracer;

pub use process::{UNFINISHED, begin, process};
pub use tracer::{Returned, Tracer};
