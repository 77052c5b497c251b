//! Recorded runs as an analysis takes them: checked, comparable between ranks and scales, and joined on a graph.
//!
//! `together` checks whether runs can be analysed together. `files` makes calls that concern files work of their
//! ranks. `pauses` finds pauses that are waits for threads. `cores` sets aside waits for threads without a core,
//! `sleeping` sleep that cannot be, and `stopped` the time in which the machine stopped a core. `recorded` joins the
//! runs on a graph and makes their views.

mod called;
mod computed;
mod cores;
mod files;
mod pauses;
mod recorded;
mod sleeping;
mod stopped;
pub mod threads;
pub mod together;

pub use recorded::{Recorded, clean, copy, period};
pub use together::{RunError, same_program};
