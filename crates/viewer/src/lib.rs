//! Recorded runs and their diagnosis as a page for browsers.
//!
//! *Comes in*: [`Recorded`](headwater_dataflow::Recorded) runs, their
//! [`Diagnosis`](headwater_model::diagnosis::Diagnosis), and a way to get source lines. *Goes out*: a [`model::Page`], which
//! the front end in `web/` draws. The crate opens no file and prints nothing; [`server`] has the only
//! sockets.

#![warn(missing_docs)]

pub mod document;
mod make;
pub mod model;
pub mod server;

pub use make::{Amounts, Besides, Extent, Subject, TOOL};
