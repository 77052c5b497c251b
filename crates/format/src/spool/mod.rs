//! The collector's spool: its layout, the merge of the ranks' data, and the way from it to a run.

mod access;
mod clock;
mod heading;
mod join;
pub mod layout;
pub mod merge;
mod parts;
mod python;
mod read;
mod regions;
mod renumber;
mod resources;
#[cfg(feature = "tables")]
mod running;
pub mod window_slots;
mod windows;
#[cfg(feature = "tables")]
mod write;

#[cfg(feature = "tables")]
pub(crate) use parts::doubt;
pub use parts::spool_files;
pub use read::read_spool;
#[cfg(feature = "tables")]
pub use running::{Recorder, recorders, went_on};
#[cfg(feature = "tables")]
pub use write::{RankRows, SpoolWriter};
