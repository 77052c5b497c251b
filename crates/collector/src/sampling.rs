//! Samples of CPU time: when they are due, their signal, and the counters that are read with them.

pub mod counters;
pub mod rate;
pub mod signal;
