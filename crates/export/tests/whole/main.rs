//! Whole-run traces in others' formats.

mod goal;
mod otf2;
mod simgrid;
mod traces;
