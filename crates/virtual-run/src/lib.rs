//! A whole-run trace as a program in virtual time.
//!
//! *Comes in*: a trace. *Goes out*: a [`Recorded`], which knows the communicators, the places and what cannot be
//! simulated, and gives the steps of each thread of each rank as often as needed ([`Recorded::program`]). Nothing is
//! expanded as a whole: steps are made while they are simulated.
//!
//! Computation between two calls is the CPU time that the rank spent there, divided over its executions as their mean.
//! Calls take the time that the network gives them. What was decided when the run was recorded stays so: which message a
//! wildcard received, which request a test completed. A network can be fitted to the recorded times of calls
//! ([`Recorded::fit`]). This crate does no I/O.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod changing;
mod comms;
mod contexts;
mod fit;
mod handles;
mod neighbours;
mod notes;
mod places;
mod program;
mod ranks;
mod recorded;
mod shape;
mod steps;
mod survey;

pub use changing::Changing;
pub use contexts::{Fill, Happening};
pub use fit::NotFitted;
pub use notes::{Note, Notes};
pub use places::{Place, Places};
pub use program::Run;
pub use recorded::{NotSimulated, Recorded};
