//! Whole-run traces: every event of every rank in order, in kilobytes.
//!
//! *Comes in*: the events of each thread, one by one, to a [`recorder::Recorder`]. *Goes out*: a [`trace::Trace`], which
//! is merged with those of other ranks, written to a file, and expanded again to the same events
//! ([`trace::Trace::events`]). The method is that of ScalaTrace II (Wu and Mueller, HPDC 2013).
//!
//! A trace may be lossy by choice: then some parameters are histograms ([`lossy`]).
//!
//! This crate is pure: it opens no file and knows no MPI. The collector carries it into the measured process, so its
//! memory is bounded and nothing in it panics.

pub mod align;
pub mod budget;
pub mod compress;
pub mod elastic;
pub mod expand;
pub mod file;
pub mod histogram;
pub mod identity;
pub mod likeness;
pub mod lossy;
mod merge;
pub mod open;
pub mod outliers;
pub mod ranks;
pub mod recorder;
pub mod text;
pub mod times;
pub mod trace;
pub mod vector;
pub mod work;
