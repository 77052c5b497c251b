//! Sets, flows and general passes on runs and graphs made by hand.

mod algorithms;
mod built_in;
mod flows;
mod graphs;
#[path = "../support/programs.rs"]
mod programs;
mod resources;
mod sets;
#[path = "../support/mod.rs"]
#[allow(dead_code)] // each test uses its part
mod support;
mod views;
