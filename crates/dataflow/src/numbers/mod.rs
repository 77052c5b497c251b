//! Figures without a run: statistics of a row over ranks, and models over scales.

pub mod fit;
pub mod stats;
