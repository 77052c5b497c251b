//! Recorded data at rest: the only place that knows bytes.
//!
//! *Comes in*: what the collector spooled (`spool`), or a recorded run's directory of Parquet tables
//! (`tables`, a feature that the collector is built without). *Goes out*: a
//! [`Run`](headwater_model::run::Run). Whatever the bytes are, reading them results in a value or a
//! [`FormatError`] that names the file and what to do; it never panics.

mod error;
pub mod spool;
#[cfg(feature = "tables")]
mod tables;

pub use error::FormatError;
#[cfg(feature = "tables")]
pub use tables::{
    Claim, Finished, HEADER_NAME, TRACE_NAME, VERSION, finish_run, format_document, is_finished,
    is_run, open_run, read_run, read_trace, recorders_of, run_bytes, write_run,
};
