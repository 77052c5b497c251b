//! The data types that every part of Headwater shares.
//!
//! *Comes in*: nothing; *goes out*: plain data types. This crate does no I/O, has no algorithm longer than a look-up,
//! and depends on no other crate of Headwater. The data pass through three types:
//!
//! * [`run::Run`] — what was recorded of one run: calling contexts, samples, compute segments, MPI
//!   calls, message edges, collective waits and event windows, one row per (rank, thread, …);
//! * [`psg::ModuleStructure`] — the structure of an executable or library: functions, loops,
//!   branches, calls, with source lines (the Program Structure Graph of ScalAna, section III-A);
//! * [`diagnosis::Diagnosis`] — the answer: causes, their price and their evidence; or [`report::Report`], the answer
//!   of every other analysis: tables under headings.
//!
//! Units: times are nanoseconds in recorded integers (`*_ns`) and seconds in figures for people (`f64`); sizes are
//! bytes; ranks are ranks of `MPI_COMM_WORLD`.

mod account;
pub mod dependence;
pub mod diagnosis;
pub mod excerpt;
pub mod files;
pub mod hash;
pub mod interpreters;
pub mod printable;
pub mod psg;
pub mod rank;
pub mod report;
pub mod run;
pub mod scalana;
pub mod words;

pub use rank::{Rank, RankSet};
