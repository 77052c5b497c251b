//! Recorded runs in others' formats, for the tools that people already have.
//!
//! *Comes in*: [`Recorded`] runs, and what of them is wanted ([`Wanted`]). *Goes out*: bytes, written to
//! whatever writer the caller passes; this crate opens no file. The formats are rows of one table, [`ALL`].
//!
//! There are four kinds of them, by what they are made of: profiles from `stacks` (who spent how long in
//! which call path), timelines from `timeline` (the events of the windows that were recorded), graphs from
//! `selection` (vertices and edges of a view), tables from `sheet`. The same run results in the same bytes; what
//! was not measured is left out or null, never zero. A simulated run, which is no recorded one, is a timeline too
//! ([`Simulated`]). Formats of whole-run traces are in [`whole`]. Files of ScalAna ([`scalana`]) are a directory for each scale.

#![warn(missing_docs)]

mod dot;
mod ends;
mod error;
mod extrap;
mod firefox;
mod folded;
mod formats;
mod graphml;
mod hatchet;
mod perfetto;
mod pprof;
pub mod scalana;
mod selection;
mod sheet;
mod simulated;
mod speedscope;
mod stacks;
mod tables;
pub mod timeline;
mod wanted;
pub mod whole;

pub use ends::{Messages, Seen};
pub use error::ExportError;
pub use formats::{ALL, Format, Takes, by_name};
pub use headwater_dataflow::Recorded;
pub use simulated::{MessageEnd, Simulated, Slice};
pub use wanted::{Setting, Wanted, Which};
