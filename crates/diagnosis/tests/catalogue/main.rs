//! All built-in passes and paradigms on runs made by hand.

mod bad_input;
mod communication;
mod documented;
mod extrapolated;
mod interrupted;
mod paradigms;
#[path = "../../../dataflow/tests/support/programs.rs"]
mod programs;
#[path = "../support/mod.rs"]
#[allow(dead_code)] // each test uses its part
mod support;
mod waits;
