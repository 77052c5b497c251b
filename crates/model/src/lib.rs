//! The words that every part of Headwater shares.
//!
//! *Comes in*: nothing; *goes out*: plain data types. This crate does no I/O, holds no algorithm
//! longer than a look-up, and depends on nothing of ours. Three nouns carry the data's way:
//!
//! * [`run::Run`] — what was recorded of one run: calling contexts, samples, compute segments, MPI
//!   calls, message edges, collective waits and event windows, one row per (rank, thread, …);
//! * [`psg::ModuleStructure`] — what an executable or library looks like: functions, loops,
//!   branches, calls, with source lines (the Program Structure Graph of ScalAna, section III-A);
//! * [`diagnosis::Diagnosis`] — the answer: causes, their price and their evidence; [`report::Report`], that of
//!   every other analysis: tables under headings.
//!
//! Units: times are nanoseconds in recorded integers (`*_ns`) and seconds in figures for people
//! (`f64`); sizes are bytes; ranks are ranks of `MPI_COMM_WORLD`.

mod account;
pub mod diagnosis;
pub mod excerpt;
pub mod printable;
pub mod psg;
pub mod rank;
pub mod report;
pub mod run;
pub mod words;

pub use rank::{Rank, RankSet};
