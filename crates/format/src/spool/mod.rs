//! The collector's spool: its layout, and the way from it to a run.

mod clock;
mod join;
pub mod layout;
mod read;

pub use read::{read_spool, spool_files};
