//! A recorded run at rest: one directory with `run.json` and a Parquet file for each table.
//!
//! The schema is written once, in [`columns`]; writer, reader, `run.json` and the documentation are made
//! from it. `run.json` is written last, so a directory that has it is whole.

mod claim;
mod codec;
mod columns;
mod document;
mod events;
mod run;
mod trace;

pub use claim::Claim;
pub use document::format_document;
pub use run::{
    Finished, HEADER_NAME, VERSION, finish_run, is_finished, is_run, open_run, read_run,
    recorders_of, run_bytes, write_run,
};
pub use trace::{TRACE_NAME, read_trace};
